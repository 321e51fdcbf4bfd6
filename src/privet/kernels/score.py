"""Scores of rows under an additive model: codes in, sums of released values out."""

from __future__ import annotations

import numba
import numpy as np

from privet.structure import Additive

FourArrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

BLOCK = 512
"""Rows whose bins stay in the first cache."""


def score(additive: Additive, codes: np.ndarray) -> np.ndarray:
    """Scores of every row, ``(rows, scores)``; ``codes`` is ``(features, rows)``."""
    out = np.empty((codes.shape[1], additive.n_scores), np.float64)
    _score(codes, *bin_arrays(additive), *value_arrays(additive), out)
    return out


def bin_arrays(additive: Additive) -> FourArrays:
    """What `load_bins` needs to know of a model."""
    views = additive.bins.views
    return views.source, views.start, views.table, additive.bins.first


def value_arrays(additive: Additive) -> FourArrays:
    """What `row_scores` needs to know of a model."""
    return additive.intercept, additive.shapes, additive.turns, additive.leaves


@numba.njit(cache=True)
def load_bins(codes, source, start, table, first, row, rows, block):  # type: ignore[no-untyped-def]
    """Bins of some rows, row after row."""
    for j in range(len(source)):
        base = start[j]
        for i in range(rows):
            block[i, j] = first[j] + table[base + codes[source[j], row + i]]


@numba.njit(cache=True)
def row_leaves(bins, turns, leaf):  # type: ignore[no-untyped-def]
    """Leaf of a row in every tree."""
    leaf[:] = turns[bins[0]]
    for j in range(1, len(bins)):
        turn = turns[bins[j]]
        for t in range(len(leaf)):
            leaf[t] += turn[t]


@numba.njit(cache=True)
def row_scores(bins, intercept, shapes, leaf, leaves, out):  # type: ignore[no-untyped-def]
    """Scores of a row: always added in the same order, whatever the other rows are."""
    if len(out) == 1:
        total = intercept[0]
        for j in range(len(bins)):
            total += shapes[bins[j], 0]
        for t in range(len(leaf)):
            total += leaves[t, leaf[t], 0]
        out[0] = total
    else:
        out[:] = intercept
        for j in range(len(bins)):
            for k in range(len(out)):
                out[k] += shapes[bins[j], k]
        for t in range(len(leaf)):
            for k in range(len(out)):
                out[k] += leaves[t, leaf[t], k]


@numba.njit(parallel=True, cache=True)
def _score(codes, source, start, table, first, intercept, shapes, turns, leaves, out):  # type: ignore[no-untyped-def]
    n_rows = codes.shape[1]
    for b in numba.prange((n_rows + BLOCK - 1) // BLOCK):
        row = b * BLOCK
        rows = min(n_rows, row + BLOCK) - row
        block = np.empty((BLOCK, len(source)), np.int64)
        leaf = np.empty(turns.shape[1], np.uint8)
        load_bins(codes, source, start, table, first, row, rows, block)
        for i in range(rows):
            row_leaves(block[i], turns, leaf)
            row_scores(block[i], intercept, shapes, leaf, leaves, out[row + i])
