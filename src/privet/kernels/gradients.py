"""Exact counts and sums of bounded whole gradients by bin and by leaf: only the wall may call these.

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
from typing import Any

import numba
import numpy as np

from privet.kernels.score import BLOCK, bin_arrays, load_bins, packed_turns, row_leaves
from privet.structure import Additive, Bins

Kept = dict[str, Any] | None
"""What is kept of a batch: values by name, beside a copy or a digest of what they were made from."""


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
    """

    fraction_bits: int
    norm: int
    bound: int


def count_bins(bins: Bins, codes: np.ndarray, labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Rows by bin of every feature and label, ``(bins, labels)``."""
    out = np.zeros((bins.n_bins, n_labels), np.int64)
    views = bins.views
    _count_bins(codes, labels, views.source, views.start, views.table, bins.first, out)
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
    out = np.zeros((_parts(codes), n_trees, additive.leaves.shape[1]), np.int64)
    _count_leaves(leaf_numbers, out)
    return np.asarray(out.sum(axis=0))


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
    out = np.zeros((_parts(codes), additive.bins.n_bins, additive.n_scores), np.int64)
    scores = _settled_scores(additive, 0, codes, kept) + additive.intercept
    _sum_bins(codes, labels, scores, additive.bins.first, asked.astype(np.int64), *_limits(grid), out)
    return np.asarray(out.sum(axis=0))


def sum_gradients_by_leaf(
    additive: Additive, n_trees: int, codes: np.ndarray, labels: np.ndarray, grid: Grid, kept: Kept = None
) -> np.ndarray:
    """Sums of gradients by leaf of the last ``n_trees`` trees, ``(trees, leaves, scores)``."""
    additive, codes = _binned(additive, codes, kept)
    scores = _settled_scores(additive, n_trees, codes, kept)
    leaf_numbers = _leaves(additive, additive.turns[:, -n_trees:], codes, kept)
    leaves = additive.leaves[-n_trees:]
    out = np.zeros((_parts(codes), *leaves.shape), np.int64)
    _sum_leaves(leaf_numbers, labels, scores, additive.intercept, leaves, *_limits(grid), out)
    return np.asarray(out.sum(axis=0))


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
    out = np.empty((len(sizes), codes.shape[1]), np.uint8 if sizes.max() <= 256 else np.uint16)
    for row, feature, start in zip(out, views.source, views.start, strict=True):
        row[:] = views.table[start:][codes[feature]]
    return Bins.of([np.arange(size) for size in sizes], sizes.tolist()), out


def _leaves(additive: Additive, turns: np.ndarray, codes: np.ndarray, kept: Kept) -> np.ndarray:
    """Leaf of every row in each of some trees, ``(rows, trees)``, and in some that are not there."""

    def find() -> np.ndarray:
        words = packed_turns(turns)
        packed = np.empty((codes.shape[1], words.shape[1]), np.uint64)
        _pack_leaves(codes, *bin_arrays(additive), words, packed)
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
        _add_shapes(codes, additive.bins.first, additive.shapes, scores)
    if done < n_settled:
        turns, leaves = additive.turns[:, done:n_settled], additive.leaves[done:n_settled]
        scores = scores.copy()
        _add_scores(_leaves(additive, turns, codes, kept), leaves, scores)
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


def _limits(grid: Grid) -> tuple[float, float, int, int]:
    unit = float(1 << grid.fraction_bits)
    return unit, (grid.bound if grid.norm == 1 else grid.bound**0.5) / unit, grid.norm, grid.bound


def _parts(codes: np.ndarray) -> int:
    """Threads that each have sums of their own."""
    return max(1, min(numba.get_num_threads(), codes.shape[1] // BLOCK))


@numba.njit(cache=True)
def row_gradient(score, label, unit, clip, norm, bound, real, out):  # type: ignore[no-untyped-def]
    """Gradient of a row's clipped log-likelihood in whole units; never beyond the bound.

    Rounding to the nearest unit, infinities and undefined scores can each break a bound that holds
    for real numbers. Hence the last step: take units from the largest entry until the bound holds.
    """
    if len(score) == 1:
        _binary_gradient(score[0], label, clip, real)
    else:
        _softmax_gradient(score, label, clip, norm, real)
    most = np.int64(bound) if norm == 1 else np.int64(np.sqrt(np.float64(bound)))
    total = np.int64(0)
    for k in range(len(out)):
        value = np.floor(real[k] * unit + 0.5)
        # Compare as a float: what is undefined or too large has no integer form.
        whole = np.int64(min(max(value, -float(most)), float(most))) if value == value else np.int64(0)
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


@numba.njit(cache=True)
def _binary_gradient(score, label, clip, out):  # type: ignore[no-untyped-def]
    p = 1.0 / (1.0 + np.exp(-score))
    g = 1.0 - p if label == 1 else -p
    out[0] = min(max(g, -clip), clip)


@numba.njit(cache=True)
def _softmax_gradient(score, label, clip, norm, out):  # type: ignore[no-untyped-def]
    top = score[0]
    for k in range(1, len(score)):
        top = max(top, score[k])
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


@numba.njit(parallel=True, cache=True)
def _count_bins(codes, labels, source, start, table, first, out):  # type: ignore[no-untyped-def]
    """A feature belongs to one thread, so none collide."""
    for j in numba.prange(len(source)):
        for i in range(codes.shape[1]):
            out[first[j] + table[start[j] + codes[source[j], i]], labels[i]] += 1


@numba.njit(parallel=True, cache=True)
def _pack_leaves(codes, source, start, table, first, turns, packed):  # type: ignore[no-untyped-def]
    n_rows = codes.shape[1]
    for b in numba.prange((n_rows + BLOCK - 1) // BLOCK):
        block = np.empty((BLOCK, len(source)), np.int64)
        row = b * BLOCK
        rows = min(n_rows, row + BLOCK) - row
        load_bins(codes, source, start, table, first, row, rows, block)
        for i in range(rows):
            row_leaves(block[i], turns, packed[row + i])


@numba.njit(parallel=True, cache=True)
def _count_leaves(leaf, out):  # type: ignore[no-untyped-def]
    n_rows, parts = len(leaf), len(out)
    for part in numba.prange(parts):
        for row in range(part * BLOCK, n_rows, parts * BLOCK):
            for t in range(out.shape[1]):
                counts = out[part, t]
                for i in range(row, min(n_rows, row + BLOCK)):
                    counts[leaf[i, t]] += 1


@numba.njit(parallel=True, cache=True)
def _add_shapes(bins, first, shapes, scores):  # type: ignore[no-untyped-def]
    n_rows = len(scores)
    for b in numba.prange((n_rows + BLOCK - 1) // BLOCK):
        for j in range(len(bins)):
            values = shapes[first[j] : first[j + 1]]
            for i in range(b * BLOCK, min(n_rows, (b + 1) * BLOCK)):
                for k in range(scores.shape[1]):
                    scores[i, k] += values[bins[j, i], k]


@numba.njit(parallel=True, cache=True)
def _add_scores(leaf, leaves, scores):  # type: ignore[no-untyped-def]
    n_rows = len(leaf)
    for b in numba.prange((n_rows + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        _add_trees(leaf[first : first + BLOCK], leaves, scores[first : first + BLOCK])


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def _add_gradients(cell, gradients, out):  # type: ignore[no-untyped-def]
    if out.shape[1] == 1:
        sums, ones = out[:, 0], gradients[:, 0]
        for i in range(len(cell)):
            sums[cell[i]] += ones[i]
    else:
        for i in range(len(cell)):
            for k in range(out.shape[1]):
                out[cell[i], k] += gradients[i, k]


@numba.njit(parallel=True, cache=True)
def _sum_bins(  # type: ignore[no-untyped-def]
    bins, labels, scores, first, asked, unit, clip, norm, bound, out
):  # fmt: skip
    n_rows, parts, n_scores = bins.shape[1], len(out), scores.shape[1]
    for part in numba.prange(parts):
        real, gradients = np.empty(n_scores), np.empty((BLOCK, n_scores), np.int64)
        for row in range(part * BLOCK, n_rows, parts * BLOCK):
            last = min(n_rows, row + BLOCK)
            for i in range(row, last):
                row_gradient(scores[i], labels[i], unit, clip, norm, bound, real, gradients[i - row])
            for j in asked:
                _add_gradients(bins[j, row:last], gradients, out[part, first[j] : first[j + 1]])


@numba.njit(parallel=True, cache=True)
def _sum_leaves(  # type: ignore[no-untyped-def]
    leaf, labels, scores, intercept, leaves, unit, clip, norm, bound, out
):  # fmt: skip
    n_rows, parts, n_scores = len(leaf), len(out), scores.shape[1]
    for part in numba.prange(parts):
        total, real = np.empty((BLOCK, n_scores)), np.empty(n_scores)
        gradients = np.empty((BLOCK, n_scores), np.int64)
        for row in range(part * BLOCK, n_rows, parts * BLOCK):
            last = min(n_rows, row + BLOCK)
            rows = last - row
            total[:rows] = scores[row:last] + intercept
            _add_trees(leaf[row:last], leaves, total[:rows])
            for i in range(rows):
                row_gradient(total[i], labels[row + i], unit, clip, norm, bound, real, gradients[i])
            for t in range(len(leaves)):
                _add_gradients(leaf[row:last, t], gradients, out[part, t])
