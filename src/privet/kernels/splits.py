"""Exact scores of the splits that open leaves may take: only the wall may call these.

Scores are integers, computed in integers. Adding a row to a leaf changes the score of each of its splits
in one child alone, and never in the better direction for one split and the worse for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

CODE, ROWS = np.uint64(48), np.uint64(32)
"""Where in a word the code and the label begin; below them is a number of rows."""

LABELS, MOST_ROWS = 0xFFFF, np.uint64(0xFFFFFFFF)

SQUARED = 1 << 31
"""Rows from which their square may not fit into 64 bits."""

LOOSE = 1 << 22
"""Words that are not worth bringing together."""

SPARE = 1 << 8
"""Words of a pair beyond its cells: a cell of more than 2³² rows has several."""

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


@dataclass(frozen=True)
class Pairs:
    """Leaves and choices whose rows are counted side by side; a leaf's pairs stand one after the other."""

    leaf: np.ndarray
    choice: np.ndarray

    def __len__(self) -> int:
        return len(self.leaf)

    def __getitem__(self, part: slice) -> Pairs:
        return Pairs(self.leaf[part], self.choice[part])


class Run(NamedTuple):
    """Rows of pairs by code and label, as words: those of pair ``p`` are ``start[:, p]`` to ``end[:, p]``.

    A word is a code, a label and a number of rows. The same code and label may have several words.
    """

    start: np.ndarray
    end: np.ndarray
    words: np.ndarray

    @property
    def size(self) -> int:
        """Number of words."""
        return int((self.end - self.start).sum())


@dataclass(frozen=True)
class Cells:
    """Rows of pairs by code and label, as runs of words that add up.

    Attributes
    ----------
    runs : tuple of Run
    sizes : int64 (pairs,)
        Cells that each pair has: its codes times the labels.
    table : (int, int)
        Codes and labels of a table that has room for any pair.
    """

    runs: tuple[Run, ...]
    sizes: np.ndarray
    table: tuple[int, int]

    def __add__(self, other: Cells) -> Cells:
        runs = (*self.runs, *other.runs)
        # As long as they double, a word is moved a few times in all.
        if sum(run.size for run in runs[1:]) > max(runs[0].size, LOOSE):
            runs = (_compact(_joined(runs), self.sizes, self.table),)
        return replace(self, runs=runs)

    @property
    def run(self) -> Run:
        """All words in one run."""
        return _joined(self.runs)


def count_rows(trees: MultiwayTrees, codes: np.ndarray, kept: Kept = None) -> np.ndarray:
    """Rows by leaf, ``(leaves,)``."""
    return np.bincount(leaf_numbers(trees, codes, kept).ravel(), minlength=trees.n_leaves)


def count_labels(
    trees: MultiwayTrees, codes: np.ndarray, labels: np.ndarray, n_labels: int, kept: Kept = None
) -> np.ndarray:
    """Rows by leaf and label, ``(leaves, labels)``."""
    cell = leaf_numbers(trees, codes, kept).astype(np.int64) * n_labels + labels
    return np.bincount(cell.ravel(), minlength=trees.n_leaves * n_labels).reshape(-1, n_labels)


def count_pairs(
    trees: MultiwayTrees,
    view: np.ndarray,
    sizes: np.ndarray,
    pairs: Pairs,
    codes: np.ndarray,
    labels: np.ndarray,
    n_labels: int,
    kept: Kept = None,
) -> Cells:
    """Rows of pairs of a leaf and a choice by code and label; a choice has a ``view`` of so many codes."""
    asked = np.zeros(trees.n_leaves, bool)
    asked[pairs.leaf] = True
    trees_asked = np.unique(trees.tree_of[trees.view < 0][_in_order(trees)][asked])
    leaves = leaf_numbers(trees, codes, kept)[trees_asked]
    rows = np.bincount(leaves.ravel(), minlength=len(asked)) * asked
    first = np.concatenate([[0], np.cumsum(rows)])
    order, ordered = np.empty(first[-1], np.int32), np.empty(first[-1], labels.dtype)
    listed = (leaves, labels, asked, first[:-1].copy(), order, ordered)
    run(_list_rows, len(leaves), -(-FEW // max(leaves.shape[1], 1)), *listed)
    views, source = trees.views, trees.views.source[view].astype(np.int64)
    table = max(int(np.iinfo(codes.dtype).max), int(views.table.max(initial=0))) + 1, n_labels
    n_cells = sizes[pairs.choice] * n_labels
    words, start, end = _room(rows[pairs.leaf], n_cells)
    seen = (codes, ordered, order, first, source, views.start[view], views.table)
    asked_of = (pairs.leaf, pairs.choice, n_cells)
    room = partial(_tallies, *table, np.int32)
    arrays = (*asked_of, *seen, start[0], end[0], words)
    run(_count_cells, len(pairs), _grain(words, len(pairs)), *arrays, room=room)
    # Of no pairs, for nothing: so that it is not compiled from a certain number of rows on.
    _compact(Run(start[:, :0], end[:, :0], words[:0]), n_cells[:0], (0, n_labels))
    return Cells((Run(start, end, words),), n_cells, table)


def _in_order(trees: MultiwayTrees) -> np.ndarray:
    """Place among the nodes that are leaves of each leaf's number."""
    return np.argsort(trees.child[trees.view < 0])


def _room(n_words: np.ndarray, n_cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for the words of pairs: an array, where each pair's begin, and where its room ends."""
    ends = np.cumsum(np.minimum(n_words, n_cells + SPARE))
    start = np.concatenate([[0], ends])[None, :-1].astype(np.int64)
    return np.empty(int(ends[-1]) if len(ends) else 0, np.uint64), start, ends[None].astype(np.int64)


def _tallies(n_codes: int, n_labels: int, kind: type[np.int32 | np.int64]) -> tuple[np.ndarray, ...]:
    """Room for the tallies of a pair; 32 bits hold those of a batch."""
    return np.zeros((n_codes, n_labels), kind), np.zeros(n_codes // WORD + 1, np.int64)


def _ranges(n_codes: int, n_labels: int) -> tuple[np.ndarray, ...]:
    """Room for the tallies of a pair, for two children, and for ranges of thresholds."""
    left, right = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    begin, score = np.empty(n_codes + 2, np.int64), np.empty(n_codes + 1, np.int64)
    return *_tallies(n_codes, n_labels, np.int64), left, right, begin, score


def _joined(runs: Sequence[Run]) -> Run:
    """Several runs as one."""
    if len(runs) == 1:
        return runs[0]
    offset = np.cumsum([0, *(len(run.words) for run in runs)])[:-1]
    start, end = (np.concatenate([run[i] + at for run, at in zip(runs, offset, strict=True)]) for i in (0, 1))
    return Run(start, end, np.concatenate([run.words for run in runs]))


def _compact(loose: Run, n_cells: np.ndarray, table: tuple[int, int]) -> Run:
    """The same rows, with one word for each code and label of a pair."""
    words, start, end = _room((loose.end - loose.start).sum(axis=0), n_cells)
    room = partial(_tallies, *table, np.int64)
    arrays = (*loose, start[0], end[0], words)
    run(_compact_cells, len(n_cells), _grain(words, len(n_cells)), *arrays, room=room)
    return Run(start, end, words)


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


def score_pairs(
    cells: Cells, pairs: Pairs, totals: np.ndarray, splits: Splits, scoring: Scoring
) -> tuple[np.ndarray, np.ndarray]:
    """Best score of every pair of a leaf and a choice, and the weight of its thresholds relative to it.

    Parameters
    ----------
    cells : Cells
        Rows of the pairs by code and label.
    totals : int64 (leaves, labels)

    Returns
    -------
    best, mass : int64 (pairs,)
        ``mass`` adds up, over the thresholds of a choice, an upper bound of exp(−rate·gap)·2**SCALE, the
        gap being to the best score of that choice.
    """
    best, mass = np.empty((2, len(pairs)), np.int64)
    arrays = _arrays(cells, pairs, totals, splits, scoring)
    run(
        _score,
        len(pairs),
        _grain(arrays[2], len(pairs)),
        best,
        mass,
        *arrays,
        room=partial(_ranges, *cells.table),
    )
    return best, mass


def find_thresholds(
    cells: Cells, pairs: Pairs, totals: np.ndarray, splits: Splits, scoring: Scoring,
    asked: np.ndarray, points: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Threshold under each of ``points`` of the mass of a pair; ``asked`` are their places among the pairs.

    Returns
    -------
    int64 (3, points)
        The threshold, its gap to the best score, and how far into its own weight the point lies.
    """
    out = np.empty((3, len(asked)), np.int64)
    arrays = _arrays(cells, pairs, totals, splits, scoring)
    where = (asked.astype(np.int64), points.astype(np.int64))
    run(
        _find,
        len(asked),
        _grain(arrays[2], len(pairs)),
        *where,
        out,
        *arrays,
        room=partial(_ranges, *cells.table),
    )
    return out


def _grain(words: np.ndarray, n_pairs: int) -> int:
    """Pairs that together have words worth another thread."""
    return -(-FEW * n_pairs // max(len(words), 1))


def _arrays(cells: Cells, pairs: Pairs, totals: np.ndarray, splits: Splits, scoring: Scoring) -> Any:
    return (
        *cells.run, pairs.leaf, pairs.choice, totals, splits.lowest, splits.highest,
        scoring.criterion, scoring.fraction_bits, scoring.entropy,
        scoring.fine, scoring.coarse, scoring.shift,
    )  # fmt: skip


def _shown(views: Views, view: int, codes: np.ndarray) -> np.ndarray:
    shown = codes[views.source[view]].astype(np.int64)
    return shown if views.start[view] < 0 else views.table[views.start[view] + shown].astype(np.int64)


@compiled
def _list_rows(first, last, leaves, labels, asked, place, order, ordered):  # type: ignore[no-untyped-def]
    """A tree belongs to one thread, and its leaves to no other tree, so none collide."""
    for t in range(first, last):
        for i in range(leaves.shape[1]):
            leaf = leaves[t, i]
            if asked[leaf]:
                order[place[leaf]] = i
                ordered[place[leaf]] = labels[i]
                place[leaf] += 1


@part
def _divided(c, n):  # type: ignore[no-untyped-def]
    """Quotient and remainder of c·(n − c) by n, digit by digit of c: within 64 bits to n = 2**45."""
    whole, rest = np.int64(0), np.int64(0)
    for place in (30, 15, 0):
        rest = (rest << 15) + ((c >> place) & 0x7FFF) * (n - c)
        whole, rest = (whole << 15) + rest // n, rest % n
    return whole, rest


@compiled
def child_score(counts, n, criterion, fraction_bits, entropy):  # type: ignore[no-untyped-def]
    """What one child adds to the score of a split; ``n`` is the sum of its counts."""
    if criterion == MAX:
        most = np.int64(0)
        for c in range(len(counts)):
            most = counts[c] if counts[c] > most else most
        return most
    if criterion == INFORMATION_GAIN:
        total = -entropy[n]
        for c in range(len(counts)):
            total += entropy[counts[c]]
        return total
    if n == 0:
        return np.int64(0)
    if n < SQUARED:
        rest = n * n
        for c in range(len(counts)):
            rest -= counts[c] * counts[c]
        whole, rest = rest // n, rest % n
    else:
        whole, rest = np.int64(0), np.int64(0)
        for c in range(len(counts)):
            share, left = _divided(counts[c], n)
            rest += left
            whole, rest = whole + share + rest // n, rest % n
    return -((whole << fraction_bits) + (rest << fraction_bits) // n)


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
def _add_words(start, end, words, pair, counts, present):  # type: ignore[no-untyped-def]
    """Rows of a pair by code and label; a bit for every code that is present."""
    for r in range(len(start)):
        for i in range(start[r, pair], end[r, pair]):
            word = words[i]
            code, label = np.int64(word >> CODE), np.int64(word >> ROWS) & LABELS
            counts[code, label] += np.int64(word & MOST_ROWS)
            present[code >> 5] |= 1 << (code & 31)


@part
def _list_cells(counts, present, words, at, end):  # type: ignore[no-untyped-def]
    """Write a word for every cell that holds rows, or several for very many; leaves the tallies empty."""
    word = np.int64(0)
    while True:
        code, word = _next_code(present, word)
        if code < 0:
            return at
        for c in range(counts.shape[1]):
            left = np.int64(counts[code, c])
            counts[code, c] = 0
            while left > 0 and at < end:
                rows = left if left < np.int64(MOST_ROWS) else np.int64(MOST_ROWS)
                words[at] = (np.uint64(code) << CODE) | (np.uint64(c) << ROWS) | np.uint64(rows)
                left -= rows
                at += 1


@compiled
def _count_cells(  # type: ignore[no-untyped-def]
    begin_pair, end_pair, counts, present,
    leaves, choices, n_cells, codes, labels, order, starts, source, start, table, begin, end, words,
):  # fmt: skip
    """Words of every pair, which belongs to one thread; ``end`` says at first where its room ends."""
    for pair in range(begin_pair, end_pair):
        leaf, choice, at = leaves[pair], choices[pair], begin[pair]
        first, last = starts[leaf], starts[leaf + 1]
        if last - first >= n_cells[pair]:
            _tally(codes, labels, order, first, last, source[choice], start[choice], table, counts, present)
            end[pair] = _list_cells(counts, present, words, at, end[pair])
            continue
        # Fewer rows than cells: a word for each row takes no more room, and no table.
        line, shift = codes[source[choice]], start[choice]
        for i in range(first, last):
            code = np.uint64(line[order[i]] if shift < 0 else table[shift + line[order[i]]])
            words[at] = (code << CODE) | (np.uint64(labels[i]) << ROWS) | np.uint64(1)
            at += 1
        end[pair] = at


@compiled
def _compact_cells(  # type: ignore[no-untyped-def]
    begin_pair, end_pair, counts, present, starts, ends, loose, begin, end, words
):  # fmt: skip
    for pair in range(begin_pair, end_pair):
        _add_words(starts, ends, loose, pair, counts, present)
        end[pair] = _list_cells(counts, present, words, begin[pair], end[pair])


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
        last = highest if code < 0 or code > highest else code
        if next_ <= last:
            begin[ranges] = next_
            score[ranges] = child_score(left, n_left, criterion, fraction_bits, entropy) + child_score(
                right, n_right, criterion, fraction_bits, entropy
            )
            top = score[ranges] if score[ranges] > top else top
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
    begin_pair, end_pair, counts, present, left, right, begin, score,
    best, mass, starts, ends, words, leaves, choices, totals, lowest, highest,
    criterion, fraction_bits, entropy, fine, coarse, shift,
):  # fmt: skip
    """Best score and mass of every pair; a pair belongs to one thread."""
    for pair in range(begin_pair, end_pair):
        leaf, choice = leaves[pair], choices[pair]
        low, high = lowest[leaf, choice], highest[leaf, choice]
        _add_words(starts, ends, words, pair, counts, present)
        if high == 0:
            best[pair] = _score_children(counts, present, left, criterion, fraction_bits, entropy)
            mass[pair] = 1 << SCALE
            continue
        ranges, top = _score_thresholds(
            counts, present, totals[leaf], low, high, left, right,
            criterion, fraction_bits, entropy, begin, score,
        )  # fmt: skip
        total = np.int64(0)
        for r in range(ranges):
            total += (begin[r + 1] - begin[r]) * _weight(top - score[r], fine, coarse, shift)
        best[pair], mass[pair] = top, total


@compiled
def _find(  # type: ignore[no-untyped-def]
    begin_point, end_point, counts, present, left, right, begin, score,
    asked, points, out, starts, ends, words, leaves, choices, totals, lowest, highest,
    criterion, fraction_bits, entropy, fine, coarse, shift,
):  # fmt: skip
    for k in range(begin_point, end_point):
        pair, point = asked[k], points[k]
        leaf, choice = leaves[pair], choices[pair]
        _add_words(starts, ends, words, pair, counts, present)
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
