"""Exact scores of the splits that open leaves may take: only the wall may call these.

Scores are integers, computed in integers. Adding a row to a leaf changes the score of each of its splits
in one child alone, and never in the better direction for one split and the worse for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from privet.compiled import compiled, part, run
from privet.kernels.route import route
from privet.kernels.walk import Kept, leaf_numbers
from privet.structure import MultiwayTrees, Splits, Views

MAX, GINI, INFORMATION_GAIN = 0, 1, 2
SCALE = 31
"""Bits of a weight: products of two of them fit into 64 bits."""

NOWHERE = -1
"""Score of a split that may not be taken has no meaning; its mass is 0."""

FEW = 1 << 15
"""Codes for which waking another thread would take longer than counting."""

WORST = np.int64(np.iinfo(np.int64).min)

WORD = 32
LOWEST_BIT = np.zeros(WORD, np.int64)
LOWEST_BIT[[((1 << bit) * 0x077CB531 & 0xFFFFFFFF) >> 27 for bit in range(WORD)]] = np.arange(WORD)


@dataclass(frozen=True)
class Scoring:
    """How counts become scores and scores become weights.

    Attributes
    ----------
    criterion : int
    fraction_bits : int
        A unit of gini is 2**−fraction_bits rows.
    entropy : int64 (rows + 1,)
        Convex stand-in for k·log2(k), in units; only information gain looks at it.
    fine, coarse : int64 (2**shift,), int64 (…,)
        Upper bounds of exp(−rate·gap)·2**SCALE by the low and the high digit of a gap.
    shift : int
        Bits of the low digit.
    """

    criterion: int
    fraction_bits: int
    entropy: np.ndarray
    fine: np.ndarray
    coarse: np.ndarray
    shift: int


class Routed(NamedTuple):
    """Rows of a batch and the leaves they fall into: ``leaves`` is ``(trees, rows)``."""

    codes: np.ndarray
    labels: np.ndarray
    leaves: np.ndarray


@dataclass(frozen=True)
class LeafRows:
    """Rows of all batches, leaf by leaf: those of a leaf are ``order[start[leaf]:start[leaf + 1]]``.

    ``labels`` stand in that order, ``codes`` do not. ``totals`` are rows by leaf and label.
    """

    codes: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    start: np.ndarray
    totals: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of rows: exact, hence private."""
        return int(self.codes.shape[1])


def route_batch(trees: MultiwayTrees, codes: np.ndarray, labels: np.ndarray, kept: Kept = None) -> Routed:
    """Where the rows of a batch fall."""
    return Routed(codes, labels, leaf_numbers(trees, codes, kept))


def count_rows(trees: MultiwayTrees, codes: np.ndarray, kept: Kept = None) -> np.ndarray:
    """Rows by leaf, ``(leaves,)``."""
    return np.bincount(leaf_numbers(trees, codes, kept).ravel(), minlength=trees.n_leaves)


def by_leaf(routed: Sequence[Routed], asked: np.ndarray, n_labels: int) -> LeafRows:
    """Rows by leaf; those in leaves that are not ``asked`` are left out."""
    codes = routed[0].codes if len(routed) == 1 else np.concatenate([r.codes for r in routed], axis=1)
    labels = np.concatenate([r.labels for r in routed])
    leaves = np.concatenate([r.leaves for r in routed], axis=1)
    counts = np.bincount(leaves.ravel(), minlength=len(asked)) * asked
    start = np.concatenate([[0], np.cumsum(counts)])
    order, ordered = np.empty(start[-1], np.int32), np.empty(start[-1], labels.dtype)
    totals = np.zeros((len(asked), n_labels), np.int64)
    arrays = (leaves, labels, asked, start[:-1].copy(), order, ordered, totals)
    run(_list_rows, len(leaves), -(-FEW // max(leaves.shape[1], 1)), *arrays)
    return LeafRows(codes, ordered, order, start, totals)


def count_splits(
    trees: MultiwayTrees,
    splits: Splits,
    sizes: np.ndarray,
    codes: np.ndarray,
    labels: np.ndarray,
    n_labels: int,
) -> np.ndarray:
    """Rows by leaf, code of every choice and label, ``(leaves, sum of sizes, labels)``.

    ``sizes`` are the numbers of codes of the choices. What a leaf may not take is not counted.
    """
    first = np.concatenate([[0], np.cumsum(sizes)])
    out = np.zeros((trees.n_leaves, first[-1], n_labels), np.int64)
    allowed = splits.allowed
    for leaf in route(trees, codes).astype(np.int64):
        for choice, view in enumerate(splits.view):
            counted = allowed[leaf, choice]
            cell = (leaf * sizes[choice] + _shown(trees.views, view, codes)) * n_labels + labels
            shape = (trees.n_leaves, sizes[choice], n_labels)
            counts = np.bincount(cell[counted], minlength=int(np.prod(shape))).reshape(shape)
            out[:, first[choice] : first[choice + 1]] += counts
    return out


def score_splits(
    rows: LeafRows, views: Views, splits: Splits, n_labels: int, scoring: Scoring
) -> tuple[np.ndarray, np.ndarray]:
    """Best score of every choice of every leaf, and the weight of its thresholds relative to it.

    Returns
    -------
    best, mass : int64 (leaves, choices)
        ``mass`` adds up, over the thresholds of a choice, an upper bound of exp(−rate·gap)·2**SCALE, the
        gap being to the best score of that choice. It is 0 where a leaf may not take the choice.
    """
    best = np.full(splits.lowest.shape, NOWHERE, np.int64)
    mass = np.zeros(splits.lowest.shape, np.int64)
    arrays = _arrays(rows, views, splits, scoring)
    room = partial(_tallies, _n_codes(rows, views), n_labels)
    run(_score, len(splits.view), -(-FEW // max(rows.n_rows, 1)), best, mass, *arrays, room=room)
    return best, mass


def find_thresholds(
    rows: LeafRows, views: Views, splits: Splits, n_labels: int, scoring: Scoring,
    leaves: np.ndarray, choices: np.ndarray, points: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Threshold under each of ``points`` of the mass of a choice of a leaf.

    Returns
    -------
    int64 (3, leaves asked)
        The threshold, its gap to the best score, and how far into its own weight the point lies.
    """
    out = np.empty((3, len(leaves)), np.int64)
    arrays = _arrays(rows, views, splits, scoring)
    asked = (leaves.astype(np.int64), choices.astype(np.int64), points.astype(np.int64))
    room = partial(_tallies, _n_codes(rows, views), n_labels)
    run(_find, len(leaves), -(-FEW // max(rows.n_rows, 1)), *asked, out, *arrays, room=room)
    return out


def _n_codes(rows: LeafRows, views: Views) -> int:
    """More than any code that is seen of a row."""
    return max(int(np.iinfo(rows.codes.dtype).max), int(views.table.max(initial=0))) + 1


def _tallies(n_codes: int, n_labels: int) -> tuple[np.ndarray, ...]:
    """Room for the tallies of a leaf, and for its ranges of thresholds."""
    counts, present = np.zeros((n_codes, n_labels), np.int32), np.zeros(n_codes // WORD + 1, np.int64)
    left, right = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    return counts, present, left, right, np.empty(n_codes + 2, np.int64), np.empty(n_codes + 1, np.int64)


def _arrays(rows: LeafRows, views: Views, splits: Splits, scoring: Scoring) -> Any:
    return (
        rows.codes, rows.labels, rows.order, rows.start, rows.totals,
        views.source[splits.view], views.start[splits.view], views.table, splits.lowest, splits.highest,
        scoring.criterion, scoring.fraction_bits, scoring.entropy,
        scoring.fine, scoring.coarse, scoring.shift,
    )  # fmt: skip


def _shown(views: Views, view: int, codes: np.ndarray) -> np.ndarray:
    shown = codes[views.source[view]].astype(np.int64)
    return shown if views.start[view] < 0 else views.table[views.start[view] + shown].astype(np.int64)


@compiled
def _list_rows(first, last, leaves, labels, asked, place, order, ordered, totals):  # type: ignore[no-untyped-def]
    """A tree belongs to one thread, and its leaves to no other tree, so none collide."""
    for t in range(first, last):
        for i in range(leaves.shape[1]):
            leaf = leaves[t, i]
            if asked[leaf]:
                order[place[leaf]] = i
                ordered[place[leaf]] = labels[i]
                totals[leaf, labels[i]] += 1
                place[leaf] += 1


@compiled
def child_score(counts, n, criterion, fraction_bits, entropy):  # type: ignore[no-untyped-def]
    """What one child adds to the score of a split; ``n`` is the sum of its counts."""
    if criterion == MAX:
        most = np.int64(0)
        for c in range(len(counts)):
            most = max(most, counts[c])
        return most
    if criterion == INFORMATION_GAIN:
        total = -entropy[n]
        for c in range(len(counts)):
            total += entropy[counts[c]]
        return total
    if n == 0:
        return np.int64(0)
    rest = n * n
    for c in range(len(counts)):
        rest -= counts[c] * counts[c]
    whole = rest // n
    return -((whole << fraction_bits) + ((rest - whole * n) << fraction_bits) // n)


@part
def _weight(gap, fine, coarse, shift):  # type: ignore[no-untyped-def]
    """Upper bound of exp(−rate·gap)·2**SCALE, at least 1."""
    high = gap >> shift
    if high >= len(coarse):
        return np.int64(1)
    return (fine[gap & ((1 << shift) - 1)] * coarse[high] + ((1 << SCALE) - 1)) >> SCALE


@part
def _tally(codes, labels, order, first, last, source, start, table, counts, present):  # type: ignore[no-untyped-def]
    """Rows of a leaf by code and label; a bit for every code that is present."""
    for i in range(first, last):
        row = order[i]
        code = np.int64(codes[source, row])
        if start >= 0:
            code = np.int64(table[start + code])
        counts[code, labels[i]] += 1
        present[code >> 5] |= 1 << (code & 31)


@part
def _next_code(present, word):  # type: ignore[no-untyped-def]
    """Lowest code whose bit is set, the bit being taken away; −1 if there is none."""
    while word < len(present) and present[word] == 0:
        word += 1
    if word == len(present):
        return np.int64(-1), word
    bits = present[word]
    lowest = bits & -bits
    present[word] = bits ^ lowest
    return WORD * word + LOWEST_BIT[((lowest * 0x077CB531) & 0xFFFFFFFF) >> 27], word


@part
def _score_children(counts, present, child, criterion, fraction_bits, entropy):  # type: ignore[no-untyped-def]
    """Score of a split with a child for every code; leaves the tallies empty."""
    total, word = np.int64(0), np.int64(0)
    while True:
        code, word = _next_code(present, word)
        if code < 0:
            return total
        n = np.int64(0)
        for c in range(len(child)):
            child[c] = counts[code, c]
            n += child[c]
            counts[code, c] = 0
        total += child_score(child, n, criterion, fraction_bits, entropy)


@part
def _score_thresholds(  # type: ignore[no-untyped-def]
    counts, present, totals, lowest, highest, left, right, criterion, fraction_bits, entropy, begin, score
):  # fmt: skip
    """Ranges of thresholds with one score: their begins and scores, and the best; empties the tallies."""
    n_left, n_right, top = np.int64(0), np.int64(0), WORST
    for c in range(len(totals)):
        left[c], right[c] = 0, totals[c]
        n_right += totals[c]
    ranges, next_, word = 0, lowest, np.int64(0)
    while True:
        code, word = _next_code(present, word)
        last = highest if code < 0 else min(code, highest)
        if next_ <= last:
            begin[ranges] = next_
            score[ranges] = child_score(left, n_left, criterion, fraction_bits, entropy) + child_score(
                right, n_right, criterion, fraction_bits, entropy
            )
            top = max(top, score[ranges])
            ranges += 1
            next_ = last + 1
        if code < 0:
            begin[ranges] = highest + 1
            return ranges, top
        for c in range(len(left)):
            moved = np.int64(counts[code, c])
            left[c] += moved
            right[c] -= moved
            n_left += moved
            n_right -= moved
            counts[code, c] = 0


@compiled
def _score(  # type: ignore[no-untyped-def]
    begin_choice, end_choice, counts, present, left, right, begin, score,
    best, mass, codes, labels, order, starts, totals, source, start, table, lowest, highest,
    criterion, fraction_bits, entropy, fine, coarse, shift,
):  # fmt: skip
    """Best score and mass of every choice in every leaf; a choice belongs to one thread."""
    for choice in range(begin_choice, end_choice):
        for leaf in range(len(best)):
            low, high = lowest[leaf, choice], highest[leaf, choice]
            if low > high:
                continue
            first, last = starts[leaf], starts[leaf + 1]
            _tally(codes, labels, order, first, last, source[choice], start[choice], table, counts, present)
            if high == 0:
                best[leaf, choice] = _score_children(counts, present, left, criterion, fraction_bits, entropy)
                mass[leaf, choice] = 1 << SCALE
                continue
            ranges, top = _score_thresholds(
                counts, present, totals[leaf], low, high, left, right,
                criterion, fraction_bits, entropy, begin, score,
            )  # fmt: skip
            total = np.int64(0)
            for r in range(ranges):
                total += (begin[r + 1] - begin[r]) * _weight(top - score[r], fine, coarse, shift)
            best[leaf, choice], mass[leaf, choice] = top, total


@compiled
def _find(  # type: ignore[no-untyped-def]
    begin_point, end_point, counts, present, left, right, begin, score,
    leaves, choices, points, out, codes, labels, order, starts, totals, source, start, table, lowest, highest,
    criterion, fraction_bits, entropy, fine, coarse, shift,
):  # fmt: skip
    for k in range(begin_point, end_point):
        leaf, choice, point = leaves[k], choices[k], points[k]
        first, last = starts[leaf], starts[leaf + 1]
        _tally(codes, labels, order, first, last, source[choice], start[choice], table, counts, present)
        ranges, top = _score_thresholds(
            counts, present, totals[leaf], lowest[leaf, choice], highest[leaf, choice], left, right,
            criterion, fraction_bits, entropy, begin, score,
        )  # fmt: skip
        for r in range(ranges):
            weight = _weight(top - score[r], fine, coarse, shift)
            size = (begin[r + 1] - begin[r]) * weight
            if point < size:
                out[0, k] = begin[r] + point // weight
                out[1, k] = top - score[r]
                out[2, k] = point % weight
                break
            point -= size
