"""Exact counts of rows by leaf and label: only the wall may call these."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from privet.kernels.route import route, route_assigned
from privet.structure import CompleteTrees, LevelTrees, MultiwayTrees

CHUNK = 32_768
"""Rows routed at a time: their leaf numbers stay in cache until they are counted."""


def count_leaves(
    structure: CompleteTrees | MultiwayTrees, codes: np.ndarray, labels: np.ndarray, n_labels: int
) -> np.ndarray:
    """Rows by leaf and label.

    Returns
    -------
    int64 array
        ``(trees, leaves, labels)`` of complete trees, ``(leaves, labels)`` of multi-way trees, whose
        leaves are numbered over all trees.
    """
    n_rows, n_leaves = codes.shape[1], structure.n_leaves
    shared = isinstance(structure, MultiwayTrees)
    # Half as wide where no count can overflow: a tree's counts then stay in the first cache.
    narrow = np.int32 if n_rows < 1 << 31 else np.int64
    counts = np.zeros((1 if shared else structure.n_trees, n_leaves, n_labels), narrow)
    for first in range(0, n_rows, CHUNK):
        leaves = route(structure, codes[:, first : first + CHUNK])
        _count(leaves, labels[first : first + CHUNK], counts, shared)
    return (counts[0] if shared else counts).astype(np.int64)


def count_assigned(
    structure: CompleteTrees, codes: np.ndarray, labels: np.ndarray, n_labels: int, tree: np.ndarray
) -> np.ndarray:
    """Rows by leaf and label, ``(trees, leaves, labels)``, each row counted in its own tree alone."""
    shape = (structure.n_trees, structure.n_leaves, n_labels)
    cell = route_assigned(structure, codes, tree).astype(np.int64)
    cell += tree.astype(np.int64) * structure.n_leaves
    cell *= n_labels
    cell += labels
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True)
class SparseCounts:
    """Rows by cell where they are not zero: sorted cell numbers of each tree, and counts."""

    cells: list[np.ndarray]
    counts: list[np.ndarray]

    def __add__(self, other: SparseCounts) -> SparseCounts:
        both = zip(self.cells, self.counts, other.cells, other.counts, strict=True)
        merged = [_merge(np.append(a, c), np.append(b, d)) for a, b, c, d in both]
        return SparseCounts([cells for cells, _ in merged], [counts for _, counts in merged])


def count_cells(structure: LevelTrees, codes: np.ndarray, labels: np.ndarray, n_labels: int) -> SparseCounts:
    """Rows by cell, a cell being ``leaf × labels + label``, of trees too large to materialise."""
    leaves = route(structure, codes)
    pairs = [np.unique(row * n_labels + labels, return_counts=True) for row in leaves]
    return SparseCounts([cells for cells, _ in pairs], [counts for _, counts in pairs])


def _merge(cells: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    distinct, position = np.unique(cells, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, position, counts)
    return distinct, total


@numba.njit(parallel=True, cache=True)
def _count(leaves, labels, counts, shared):  # type: ignore[no-untyped-def]
    """Add one to ``counts[tree, leaf, label]``; a tree belongs to one thread, so none collide."""
    n_trees, rows = leaves.shape
    if shared:
        for t in range(n_trees):
            for i in range(rows):
                counts[0, leaves[t, i], labels[i]] += 1
    else:
        n_labels = np.uint64(counts.shape[2])
        for t in numba.prange(n_trees):
            # Flat and unsigned: no check for negative indices, one multiplication.
            cells, leaf = counts[t].reshape(-1), leaves[t]
            for i in range(rows):
                cells[np.uint64(leaf[i]) * n_labels + np.uint64(labels[i])] += 1
