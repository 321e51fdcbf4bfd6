"""Exact counts of rows by leaf and label: only the wall may call these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.compiled import compiled, run
from privet.kernels.route import route, route_assigned, stretches
from privet.structure import CompleteTrees, LevelTrees, MultiwayTrees

SHARED_VISITS = 1 << 14
"""Counts for which waking another thread takes as long as counting them."""

MOST_ROWS = 1 << 30
"""Rows counted in 32 bits, which cannot overflow: a tree's counts then stay in the first cache."""


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
    codes, n_rows = np.ascontiguousarray(codes), codes.shape[1]
    # Leaves of multi-way trees are numbered over all trees: these share one table of counts.
    n_tables = structure.n_trees if isinstance(structure, CompleteTrees) else 1
    shape = (n_tables, structure.n_leaves, n_labels)
    counts: Any = 0
    for begin in range(0, max(n_rows, 1), MOST_ROWS):
        narrow = np.zeros(shape, np.int32)
        for first, last in stretches(structure, min(n_rows - begin, MOST_ROWS)):
            leaves = route(structure, codes, begin + first, begin + last)
            grain = -(-SHARED_VISITS // max(last - first, 1))
            run(_count, structure.n_trees, grain, leaves, labels, begin + first, narrow)
        wide = narrow.astype(np.int64)
        counts = counts + wide if begin else wide
    return counts if isinstance(structure, CompleteTrees) else counts[0]


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


@compiled
def _count(first, last, leaves, labels, offset, counts):  # type: ignore[no-untyped-def]
    """Add one to ``counts[tree, leaf, label]``; a tree belongs to one thread, so none collide."""
    n_labels = np.uint64(counts.shape[2])
    for t in range(first, last):
        # Flat and unsigned: no check for negative indices, one multiplication.
        cells, leaf = counts[t if len(counts) > 1 else 0].reshape(-1), leaves[t]
        for i in range(leaves.shape[1]):
            cells[np.uint64(leaf[i]) * n_labels + np.uint64(labels[offset + i])] += 1
