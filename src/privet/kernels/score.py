"""Scores of rows under an additive model: codes in, sums of released values out."""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.compiled import compiled, part, run
from privet.structure import Additive

BLOCK = 512
"""Rows whose bins stay in the first cache."""

LANES = 8
"""Trees whose leaf numbers share a 64-bit word; one addition serves all of them."""

FourArrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def score(additive: Additive, codes: np.ndarray) -> np.ndarray:
    """Scores of every row, ``(rows, scores)``; ``codes`` is ``(features, rows)``."""
    out = np.empty((codes.shape[1], additive.n_scores), np.float64)
    n_leaves = additive.leaves.shape[1]
    arrays = (codes, *bin_arrays(additive), *value_arrays(additive), additive.n_trees, n_leaves, out)
    run(_score, len(out), BLOCK, *arrays, room=partial(_room, additive))
    return out


def _room(additive: Additive) -> tuple[np.ndarray, ...]:
    """Bins of a block of rows, and leaf numbers of one row, also as words."""
    packed = np.empty(-(-additive.n_trees // LANES), np.uint64)
    return block_of_bins(additive), packed, packed.view(np.uint8)


def block_of_bins(additive: Additive) -> np.ndarray:
    """Room for what `load_bins` loads."""
    return np.empty((BLOCK, len(additive.bins.views.source)), np.int64)


def bin_arrays(additive: Additive) -> FourArrays:
    """What `load_bins` needs to know of a model."""
    views = additive.bins.views
    return views.source, views.start, views.table, additive.bins.first


def value_arrays(additive: Additive) -> FourArrays:
    """What `row_leaves` and `row_scores` need to know of a model; flat where a row has one score."""
    wide = (-1,) if additive.n_scores == 1 else (-1, additive.n_scores)
    values = additive.intercept, additive.shapes.reshape(wide), additive.leaves.reshape(wide)
    return packed_turns(additive.turns), *values


def packed_turns(turns: np.ndarray) -> np.ndarray:
    """Turns of eight trees in a word: their sums stay below 256, so no lane spills into the next."""
    padded = np.zeros((len(turns), -(-turns.shape[1] // LANES) * LANES), np.uint8)
    padded[:, : turns.shape[1]] = turns
    return padded.view(np.uint64)


@part
def load_bins(codes, source, start, table, first, row, rows, block):  # type: ignore[no-untyped-def]
    """Bins of some rows, row after row."""
    for j in range(len(source)):
        base = start[j]
        for i in range(rows):
            block[i, j] = first[j] + table[base + codes[source[j], row + i]]


@part
def row_leaves(bins, turns, packed):  # type: ignore[no-untyped-def]
    """Leaf of a row in every tree, eight trees a word."""
    for word in range(len(packed)):
        packed[word] = turns[bins[0], word]
    for j in range(1, len(bins)):
        turn = turns[bins[j]]
        for word in range(len(packed)):
            packed[word] += turn[word]


@part
def row_scores(bins, intercept, shapes, leaves, n_trees, n_leaves, leaf, out):  # type: ignore[no-untyped-def]
    """Scores of a row: always added in the same order, whatever the other rows are."""
    if shapes.ndim == 1:
        # Four sums, so that one addition need not wait for the last.
        a, b, c, d = intercept[0], 0.0, 0.0, 0.0
        for j in range(len(bins)):
            a += shapes[bins[j]]
        last = n_trees - n_trees % 4
        for t in range(0, last, 4):
            start = t * n_leaves
            a += leaves[start + leaf[t]]
            b += leaves[start + n_leaves + leaf[t + 1]]
            c += leaves[start + 2 * n_leaves + leaf[t + 2]]
            d += leaves[start + 3 * n_leaves + leaf[t + 3]]
        for t in range(last, n_trees):
            a += leaves[t * n_leaves + leaf[t]]
        out[0] = (a + b) + (c + d)
    else:
        for k in range(len(out)):
            out[k] = intercept[k]
        for j in range(len(bins)):
            for k in range(len(out)):
                out[k] += shapes[bins[j], k]
        for t in range(n_trees):
            for k in range(len(out)):
                out[k] += leaves[t * n_leaves + leaf[t], k]


@compiled
def _score(  # type: ignore[no-untyped-def]
    begin, end, block, packed, leaf,
    codes, source, start, table, first, turns, intercept, shapes, leaves, n_trees, n_leaves, out,
):  # fmt: skip
    for row in range(begin, end, BLOCK):
        rows = min(end - row, BLOCK)
        load_bins(codes, source, start, table, first, row, rows, block)
        for i in range(rows):
            row_leaves(block[i], turns, packed)
            row_scores(block[i], intercept, shapes, leaves, n_trees, n_leaves, leaf, out[row + i])
