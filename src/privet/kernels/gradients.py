"""Exact counts and sums of bounded whole gradients by bin and by leaf: only the wall may call these.

A row's gradient is a vector of integers whose norm never exceeds a bound, whatever the scores are:
the bound is enforced on the integers themselves, after rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from privet.kernels.score import (
    BLOCK,
    bin_arrays,
    load_bins,
    packed_turns,
    row_leaves,
    row_scores,
    value_arrays,
)
from privet.structure import Additive, Bins


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


def count_leaves_of_last(additive: Additive, n_trees: int, codes: np.ndarray) -> np.ndarray:
    """Rows by leaf of the last ``n_trees`` trees, ``(trees, leaves)``."""
    turns = packed_turns(additive.turns[:, -n_trees:])
    n_leaves = additive.leaves.shape[1]
    out = np.zeros((_parts(codes), n_trees * n_leaves), np.int64)
    _count_leaves(codes, *bin_arrays(additive), turns, n_trees, n_leaves, out)
    return out.sum(axis=0).reshape(n_trees, n_leaves)


def sum_gradients_by_bin(
    additive: Additive, asked: np.ndarray, codes: np.ndarray, labels: np.ndarray, grid: Grid
) -> np.ndarray:
    """Sums of gradients by bin of the ``asked`` features, ``(bins, scores)``; other bins stay zero."""
    return _summed(additive, asked, codes, labels, grid, additive.bins.n_bins)


def sum_gradients_by_leaf(
    additive: Additive, n_trees: int, codes: np.ndarray, labels: np.ndarray, grid: Grid
) -> np.ndarray:
    """Sums of gradients by leaf of the last ``n_trees`` trees, ``(trees, leaves, scores)``."""
    n_leaves = additive.leaves.shape[1]
    sums = _summed(additive, np.zeros(0, np.int64), codes, labels, grid, n_trees * n_leaves)
    return sums.reshape(n_trees, n_leaves, additive.n_scores)


def _summed(
    additive: Additive, asked: np.ndarray, codes: np.ndarray, labels: np.ndarray, grid: Grid, n_cells: int
) -> np.ndarray:
    n_scores, n_leaves = additive.n_scores, additive.leaves.shape[1]
    # Flat where a row has one score: `_add` then has no inner loop.
    out = np.zeros(
        (_parts(codes), n_cells) if n_scores == 1 else (_parts(codes), n_cells, n_scores), np.int64
    )
    unit = float(1 << grid.fraction_bits)
    clip = (grid.bound if grid.norm == 1 else grid.bound**0.5) / unit
    arrays = (*bin_arrays(additive), *value_arrays(additive), additive.n_trees, n_leaves)
    _sum(codes, labels, *arrays, asked.astype(np.int64), unit, clip, grid.norm, grid.bound, out)
    return out.sum(axis=0).reshape(n_cells, n_scores)


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
def _count_leaves(codes, source, start, table, first, turns, n_trees, n_leaves, out):  # type: ignore[no-untyped-def]
    n_rows, parts = codes.shape[1], len(out)
    for part in numba.prange(parts):
        block = np.empty((BLOCK, len(source)), np.int64)
        packed = np.empty(turns.shape[1], np.uint64)
        leaf = packed.view(np.uint8)
        for row in range(part * BLOCK, n_rows, parts * BLOCK):
            rows = min(n_rows, row + BLOCK) - row
            load_bins(codes, source, start, table, first, row, rows, block)
            for i in range(rows):
                row_leaves(block[i], turns, packed)
                for t in range(n_trees):
                    out[part, t * n_leaves + leaf[t]] += 1


@numba.njit(cache=True)
def _add(cell, gradient, out):  # type: ignore[no-untyped-def]
    if out.ndim == 1:
        out[cell] += gradient[0]
    else:
        for k in range(len(gradient)):
            out[cell, k] += gradient[k]


@numba.njit(parallel=True, cache=True)
def _sum(  # type: ignore[no-untyped-def]
    codes, labels, source, start, table, first, turns, intercept, shapes, leaves, n_trees, n_leaves,
    asked, unit, clip, norm, bound, out,
):  # fmt: skip
    """By bin of the asked features; where none is asked, by leaf of as many last trees as fit."""
    n_rows, parts = codes.shape[1], len(out)
    last_trees = out.shape[1] // n_leaves
    for part in numba.prange(parts):
        block = np.empty((BLOCK, len(source)), np.int64)
        packed = np.empty(turns.shape[1], np.uint64)
        leaf = packed.view(np.uint8)
        scores, real = np.empty(len(intercept)), np.empty(len(intercept))
        gradient = np.empty(len(intercept), np.int64)
        for row in range(part * BLOCK, n_rows, parts * BLOCK):
            rows = min(n_rows, row + BLOCK) - row
            load_bins(codes, source, start, table, first, row, rows, block)
            for i in range(rows):
                row_leaves(block[i], turns, packed)
                row_scores(block[i], intercept, shapes, leaves, n_trees, n_leaves, leaf, scores)
                row_gradient(scores, labels[row + i], unit, clip, norm, bound, real, gradient)
                for j in range(len(asked)):
                    _add(block[i, asked[j]], gradient, out[part])
                if len(asked) == 0:
                    for t in range(last_trees):
                        cell = t * n_leaves + leaf[n_trees - last_trees + t]
                        _add(cell, gradient, out[part])
