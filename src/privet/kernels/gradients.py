"""Exact counts and sums of bounded whole gradients by bin and by leaf: only the wall may call these.

The gradient of a label is that of its clipped log-likelihood; that of a number is its residual, clipped.

A row's gradient is a vector of integers whose norm never exceeds a bound, whatever the scores are:
the bound is enforced on the integers themselves, after rounding.

Where a batch is asked again and again, what earlier questions worked out of its rows is kept: their
bins, their leaves in the trees that are asked, and their scores under the part of a model that no longer
changes. These are functions of one row and of released values, computed by the same steps in the same order
whether they are kept or not, so a row's gradient does not depend on that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privet.compiled import compiled, part, run, total
from privet.kernels.score import BLOCK, bin_arrays, block_of_bins, load_bins, packed_turns, row_leaves, score
from privet.structure import Additive, Bins

FEW = 1 << 15
"""Rows for which waking another thread would take longer than counting them."""

Kept = dict[str, Any] | None
"""What is kept of a batch: values by name, beside a copy or a digest of what they were made from."""


class Numbers(NamedTuple):
    """How cells of a target are numbers, and how residuals are gradients: all in widths of the clip.

    Attributes
    ----------
    first : float
        Number of the first cell.
    step : float
        From one cell to the next.
    per_score : float
        What a score of 1 is; 0 where there are labels and no numbers.
    """

    first: float
    step: float
    per_score: float


LABELS = Numbers(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Grid:
    """Fixed-point grid of a row's gradient, and the bound it is clipped to.

    Attributes
    ----------
    fraction_bits : int
        A unit is 2**−fraction_bits.
    norm : int
        1 or 2.
    bound : int
        Most that the L1 norm, or the *squared* L2 norm, of a row's gradient can be, in units.
    numbers : Numbers
        Where a number is to be predicted.
    """

    fraction_bits: int
    norm: int
    bound: int
    numbers: Numbers = LABELS


def count_bins(bins: Bins, codes: np.ndarray, labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Rows by bin of every feature and label, ``(bins, labels)``."""
    out = np.zeros((bins.n_bins, n_labels), np.int64)
    views = bins.views
    arrays = (codes, labels, views.source, views.start, views.table, bins.first, out)
    run(_count_bins, len(views.source), -(-FEW // max(len(labels), 1)), *arrays)
    return out


def count_leaves_of_last(
    additive: Additive, n_trees: int, codes: np.ndarray, kept: Kept = None
) -> np.ndarray:
    """Rows by leaf of the last ``n_trees`` trees, ``(trees, leaves)``."""
    additive, codes = _binned(additive, codes, kept)
    if kept is not None:
        # New trees: bring the scores up to date while the leaves of the old ones are still kept.
        _settled_scores(additive, n_trees, codes, kept)
    leaf_numbers = _leaves(additive, additive.turns[:, -n_trees:], codes, kept)
    return total(_count_leaves, codes.shape[1], BLOCK, (n_trees, additive.leaves.shape[1]), leaf_numbers)


def sum_gradients_by_bin(
    additive: Additive,
    asked: np.ndarray,
    codes: np.ndarray,
    labels: np.ndarray,
    grid: Grid,
    kept: Kept = None,
) -> np.ndarray:
    """Sums of gradients by bin of the ``asked`` features, ``(bins, scores)``; other bins stay zero."""
    additive, codes = _binned(additive, codes, kept)
    scores = _settled_scores(additive, 0, codes, kept)
    no_leaf = np.empty((codes.shape[1], 0), np.uint8)
    arrays = (codes, additive.bins.first, asked.astype(np.int64), no_leaf, additive.leaves[:0])
    return _summed(additive, additive.bins.n_bins, arrays, labels, scores, grid)


def sum_gradients_by_leaf(
    additive: Additive, n_trees: int, codes: np.ndarray, labels: np.ndarray, grid: Grid, kept: Kept = None
) -> np.ndarray:
    """Sums of gradients by leaf of the last ``n_trees`` trees, ``(trees, leaves, scores)``."""
    additive, codes = _binned(additive, codes, kept)
    scores = _settled_scores(additive, n_trees, codes, kept)
    leaf_numbers = _leaves(additive, additive.turns[:, -n_trees:], codes, kept)
    leaves = additive.leaves[-n_trees:]
    arrays = (codes, additive.bins.first, np.empty(0, np.int64), leaf_numbers, leaves)
    return _summed(additive, n_trees * leaves.shape[1], arrays, labels, scores, grid).reshape(leaves.shape)


def _summed(
    additive: Additive, n_sums: int, arrays: Any, labels: np.ndarray, scores: np.ndarray, grid: Grid
) -> np.ndarray:
    n = additive.n_scores
    arrays = (*arrays, labels, scores, additive.intercept, *_limits(grid))

    def room() -> tuple[np.ndarray, ...]:
        """Scores of a block of rows, a gradient before it is rounded, and the block's gradients."""
        return np.empty((BLOCK, n)), np.empty(n), np.empty((BLOCK, n), np.int64)

    return total(_sum, len(labels), BLOCK, (n_sums, n), *arrays, room=room)


def _binned(additive: Additive, codes: np.ndarray, kept: Kept) -> tuple[Additive, np.ndarray]:
    """Codes replaced by bins, which are small numbers with small tables, and a model that reads them."""
    known = None if kept is None else kept.get("bins")
    if known is None or not _equal(known[0], additive.bins):
        known = (None, *_to_bins(additive.bins, codes))
        if kept is not None:
            for name in ("leaves", "scores"):  # they were made from the other bins
                kept.pop(name, None)
            # A copy: the caller may write into the arrays.
            kept["bins"] = (deepcopy(additive.bins), *known[1:])
    return replace(additive, bins=known[1]), known[2]


def _equal(bins: Bins, other: Bins) -> bool:
    arrays = [(b.views.source, b.views.start, b.views.table, b.first) for b in (bins, other)]
    return all(map(np.array_equal, *arrays))


def _to_bins(bins: Bins, codes: np.ndarray) -> tuple[Bins, np.ndarray]:
    views, sizes = bins.views, np.diff(bins.first)
    out = np.empty((len(sizes), codes.shape[1]), codes.dtype)
    for row, feature, start in zip(out, views.source, views.start, strict=True):
        row[:] = views.table[start:][codes[feature]]
    return Bins.of([np.arange(size) for size in sizes], sizes.tolist()), out


def _leaves(additive: Additive, turns: np.ndarray, codes: np.ndarray, kept: Kept) -> np.ndarray:
    """Leaf of every row in each of some trees, ``(rows, trees)``, and in some that are not there."""

    def find() -> np.ndarray:
        words = packed_turns(turns)
        packed = np.empty((codes.shape[1], words.shape[1]), np.uint64)
        room, arrays = (lambda: (block_of_bins(additive),)), (codes, *bin_arrays(additive), words, packed)
        run(_pack_leaves, len(packed), BLOCK, *arrays, room=room)
        return packed.view(np.uint8)

    return np.asarray(_from_kept(kept, "leaves", _digest(turns), find))


def _settled_scores(additive: Additive, n_last: int, codes: np.ndarray, kept: Kept) -> np.ndarray:
    """Scores under all but the intercept and the last trees, which change from question to question.

    Trees are added one after the other, so that scores under the first of them, if they were kept, lead
    to the same sum as a new start.
    """
    n_settled = additive.n_trees - n_last
    known = kept.get("scores", ()) if kept else ()
    if known and known[2] <= n_settled and known[0] == _first_digest(additive, known[2]):
        scores, done = known[1], known[2]
    else:
        scores, done = np.zeros((codes.shape[1], additive.n_scores)), 0
        run(_add_shapes, len(scores), BLOCK, codes, additive.bins.first, additive.shapes, scores)
    if done < n_settled:
        turns, leaves = additive.turns[:, done:n_settled], additive.leaves[done:n_settled]
        scores = scores.copy()
        run(_add_scores, len(scores), BLOCK, _leaves(additive, turns, codes, kept), leaves, scores)
    if kept is not None:
        kept["scores"] = (_first_digest(additive, n_settled), scores, n_settled)
    return scores


def _first_digest(additive: Additive, n_trees: int) -> bytes:
    return _digest(additive.shapes, additive.turns[:, :n_trees], additive.leaves[:n_trees])


def _from_kept(kept: Kept, name: str, key: bytes, make: Callable[[], np.ndarray]) -> Any:
    if kept is None:
        return make()
    if kept.get(name, (None,))[0] != key:
        kept[name] = (key, make())
    return kept[name][1]


def _digest(*arrays: np.ndarray) -> bytes:
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode() + np.ascontiguousarray(array).data)
    return digest.digest()


def cells_of_pair(
    first: Additive, second: Additive, edges: tuple[np.ndarray, np.ndarray], codes: np.ndarray
) -> np.ndarray:
    """Cell of each row by its score under two models of one score each; it is in one, whatever the scores."""
    scores = score(first, codes)[:, 0], score(second, codes)[:, 0]
    return _cells_of(scores, edges)


def cells_of_contrasts(
    first: Additive,
    second: Additive,
    edges: tuple[np.ndarray, np.ndarray],
    codes: np.ndarray,
    labels: np.ndarray,
) -> np.ndarray:
    """The same by how far its own label's score is above each other label's, ``(rows, labels − 1)``."""
    rows, n_labels = np.arange(len(labels)), first.n_scores
    others = (labels[:, None].astype(np.int64) + np.arange(1, n_labels)) % n_labels
    with np.errstate(all="ignore"):
        above = [
            scores[rows, labels][:, None] - scores[rows[:, None], others]
            for scores in (score(first, codes), score(second, codes))
        ]
    return _cells_of((above[0], above[1]), edges)


def _cells_of(values: tuple[np.ndarray, np.ndarray], edges: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    # What is undefined sorts behind all edges: into the last cells.
    across, along = (np.searchsorted(e, v, side="right") for v, e in zip(values, edges, strict=True))
    return np.asarray(across * (len(edges[1]) + 1) + along)


def whole_residuals(additive: Additive, codes: np.ndarray, labels: np.ndarray, grid: Grid) -> np.ndarray:
    """Residuals of the rows in whole units of a grid, never beyond its bound, ``(rows,)``."""
    units = np.floor(residuals(additive, codes, labels, grid.numbers) * float(1 << grid.fraction_bits) + 0.5)
    # Cut as floats: what is undefined or infinite has no integer form.
    return np.where(units == units, np.clip(units, -grid.bound, grid.bound), 0).astype(np.int64)


def residuals(
    additive: Additive, codes: np.ndarray, labels: np.ndarray, numbers: Numbers, kept: Kept = None
) -> np.ndarray:
    """How far the number of each row is above its score, in widths, ``(rows,)``; not clipped."""
    additive, codes = _binned(additive, codes, kept)
    scores = _settled_scores(additive, 0, codes, kept)[:, 0] + additive.intercept[0]
    with np.errstate(all="ignore"):
        return np.asarray(numbers.first + numbers.step * labels - numbers.per_score * scores)


def _limits(grid: Grid) -> tuple[float, float, int, int, Numbers]:
    unit = float(1 << grid.fraction_bits)
    clip = (grid.bound if grid.norm == 1 else grid.bound**0.5) / unit
    return unit, clip, grid.norm, grid.bound, grid.numbers


@part
def row_gradient(score, label, unit, clip, norm, bound, numbers, real, out):  # type: ignore[no-untyped-def]
    """Gradient of a row's clipped loss in whole units; never beyond the bound.

    Rounding to the nearest unit, infinities and undefined scores can each break a bound that holds
    for real numbers. Hence the last step: take units from the largest entry until the bound holds.
    """
    if numbers.per_score > 0:
        residual = numbers.first + numbers.step * label - numbers.per_score * score[0]
        real[0] = _clipped(residual, clip) if residual == residual else 0.0
    elif len(score) == 1:
        _binary_gradient(score[0], label, clip, real)
    else:
        _softmax_gradient(score, label, clip, norm, real)
    most = np.int64(bound) if norm == 1 else np.int64(np.sqrt(np.float64(bound)))
    total = np.int64(0)
    for k in range(len(out)):
        value = np.floor(real[k] * unit + 0.5)
        # Compare as a float: what is undefined or too large has no integer form.
        whole = np.int64(_clipped(value, float(most))) if value == value else np.int64(0)
        out[k] = whole
        total += abs(whole) if norm == 1 else whole * whole
    while total > bound:
        largest = 0
        for k in range(1, len(out)):
            if abs(out[k]) > abs(out[largest]):
                largest = k
        size = abs(out[largest])
        out[largest] += -1 if out[largest] > 0 else 1
        total -= 1 if norm == 1 else 2 * size - 1


@part
def _clipped(value, most):  # type: ignore[no-untyped-def]
    return -most if value < -most else most if value > most else value


@part
def _binary_gradient(score, label, clip, out):  # type: ignore[no-untyped-def]
    p = 1.0 / (1.0 + np.exp(-score))
    g = 1.0 - p if label == 1 else -p
    out[0] = _clipped(g, clip)


@part
def _softmax_gradient(score, label, clip, norm, out):  # type: ignore[no-untyped-def]
    top = score[0]
    for k in range(1, len(score)):
        top = score[k] if score[k] > top else top
    total = 0.0
    for k in range(len(score)):
        out[k] = np.exp(score[k] - top)
        total += out[k]
    size = 0.0
    for k in range(len(score)):
        out[k] = (1.0 if k == label else 0.0) - out[k] / total
        size += abs(out[k]) if norm == 1 else out[k] * out[k]
    size = size if norm == 1 else np.sqrt(size)
    if size > clip:
        for k in range(len(score)):
            out[k] *= clip / size


@compiled
def _count_bins(begin, end, codes, labels, source, start, table, first, out):  # type: ignore[no-untyped-def]
    """A feature belongs to one thread, so none collide."""
    for j in range(begin, end):
        # Cut first: what is left to index with is unsigned, and needs no check for a negative number.
        line, bins, counts = codes[source[j]], table[start[j] :], out[first[j] :]
        for i in range(len(line)):
            counts[bins[line[i]], labels[i]] += 1


@compiled
def _pack_leaves(begin, end, block, codes, source, start, table, first, turns, packed):  # type: ignore[no-untyped-def]
    for row in range(begin, end, BLOCK):
        rows = min(end - row, BLOCK)
        load_bins(codes, source, start, table, first, row, rows, block)
        for i in range(rows):
            row_leaves(block[i], turns, packed[row + i])


@compiled
def _count_leaves(begin, end, sums, leaf):  # type: ignore[no-untyped-def]
    for row in range(begin, end, BLOCK):
        for t in range(len(sums)):
            counts = sums[t]
            for i in range(row, min(end, row + BLOCK)):
                counts[leaf[i, t]] += 1


@compiled
def _add_shapes(begin, end, bins, first, shapes, scores):  # type: ignore[no-untyped-def]
    for row in range(begin, end, BLOCK):
        for j in range(len(bins)):
            values = shapes[first[j] : first[j + 1]]
            for i in range(row, min(end, row + BLOCK)):
                for k in range(scores.shape[1]):
                    scores[i, k] += values[bins[j, i], k]


@compiled
def _add_scores(begin, end, leaf, leaves, scores):  # type: ignore[no-untyped-def]
    for row in range(begin, end, BLOCK):
        last = min(end, row + BLOCK)
        _add_trees(leaf[row:last], leaves, scores[row:last])


@part
def _add_trees(leaf, leaves, scores):  # type: ignore[no-untyped-def]
    """Tree after tree: its values then stay in the first cache."""
    for t in range(len(leaves)):
        if scores.shape[1] == 1:
            values, sums = leaves[t, :, 0], scores[:, 0]
            for i in range(len(scores)):
                sums[i] += values[leaf[i, t]]
        else:
            for i in range(len(scores)):
                for k in range(scores.shape[1]):
                    scores[i, k] += leaves[t, leaf[i, t], k]


@part
def _add_gradients(cell, gradients, out):  # type: ignore[no-untyped-def]
    if out.shape[1] == 1:
        sums, ones = out[:, 0], gradients[:, 0]
        for i in range(len(cell)):
            sums[cell[i]] += ones[i]
    else:
        for i in range(len(cell)):
            for k in range(out.shape[1]):
                out[cell[i], k] += gradients[i, k]


@compiled
def _sum(  # type: ignore[no-untyped-def]
    begin, end, sums, scored, real, gradients,
    bins, first, asked, leaf, leaves, labels, scores, intercept, unit, clip, norm, bound, numbers,
):  # fmt: skip
    """Sums by bin of the asked features, or by leaf of the trees that are added to the scores."""
    n_scores, n_leaves = scores.shape[1], leaves.shape[1]
    for row in range(begin, end, BLOCK):
        last = min(end, row + BLOCK)
        settled, label = scores[row:last], labels[row:last]
        for i in range(len(label)):
            for k in range(n_scores):
                scored[i, k] = settled[i, k] + intercept[k]
        _add_trees(leaf[row:last], leaves, scored[: last - row])
        for i in range(len(label)):
            row_gradient(scored[i], label[i], unit, clip, norm, bound, numbers, real, gradients[i])
        for j in asked:
            _add_gradients(bins[j, row:last], gradients, sums[first[j] : first[j + 1]])
        for t in range(len(leaves)):
            _add_gradients(leaf[row:last, t], gradients, sums[t * n_leaves : (t + 1) * n_leaves])
