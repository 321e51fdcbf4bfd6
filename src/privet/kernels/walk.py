"""Where rows stand in trees that grow: they go on from where they stood when the trees were smaller."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numba
import numpy as np

from privet.kernels.route import FEW
from privet.structure import MultiwayTrees

Kept = dict[str, Any] | None
"""What is kept of a batch between questions: the trees last asked about, and the nodes of their rows."""


def leaf_numbers(trees: MultiwayTrees, codes: np.ndarray, kept: Kept = None) -> np.ndarray:
    """Leaf of every row in every tree, ``(trees, rows)``: what `route` returns, in 32 bits.

    A row stands in a leaf of the trees that were asked about before. Where the new trees have the same splits
    above it, its way to that leaf is the same, and it goes on from there.
    """
    # Taken out while rows walk: if they are stopped on their way, none of them is where the trees kept say.
    before = None if kept is None else kept.pop("nodes", None)
    if before is not None and _has_grown_from(trees, before[0]):
        nodes = before[1]
    else:
        nodes = np.repeat(trees.roots.astype(np.int32)[:, None], codes.shape[1], axis=1)
    views = trees.views
    walk = _walk_on if nodes.size > FEW else _walk_on_few
    walk(codes, views.source, views.start, views.table, trees.view, trees.threshold, trees.child, nodes)
    if kept is not None:
        # A copy: the caller may write into the arrays, and rows would then stand where no way leads.
        kept["nodes"] = (deepcopy(trees), nodes)
    return trees.child.astype(np.int32)[nodes]


def _has_grown_from(trees: MultiwayTrees, before: MultiwayTrees) -> bool:
    """Whether all splits of smaller trees are still there."""
    n_nodes, inner = len(before.view), before.view >= 0
    if n_nodes > len(trees.view) or not np.array_equal(trees.roots, before.roots):
        return False
    pairs = [
        (trees.views.source, before.views.source),
        (trees.views.start, before.views.start),
        (trees.views.table, before.views.table),
        (trees.view[:n_nodes][inner], before.view[inner]),
        (trees.threshold[:n_nodes][inner], before.threshold[inner]),
        (trees.child[:n_nodes][inner], before.child[inner]),
    ]
    return all(np.array_equal(new, old) for new, old in pairs)


@numba.njit(cache=True)
def _walk_row(codes, source, start, table, view, threshold, child, nodes, row):  # type: ignore[no-untyped-def]
    for t in range(nodes.shape[0]):
        node = nodes[t, row]
        while view[node] >= 0:
            code = np.int64(codes[source[view[node]], row])
            if start[view[node]] >= 0:
                code = np.int64(table[start[view[node]] + code])
            cut = np.int64(threshold[node])
            node = child[node] + (code if cut == 0 else np.int64(code >= cut))
        nodes[t, row] = node


@numba.njit(parallel=True, cache=True)
def _walk_on(codes, source, start, table, view, threshold, child, nodes):  # type: ignore[no-untyped-def]
    for row in numba.prange(nodes.shape[1]):
        _walk_row(codes, source, start, table, view, threshold, child, nodes, row)


@numba.njit(cache=True)
def _walk_on_few(codes, source, start, table, view, threshold, child, nodes):  # type: ignore[no-untyped-def]
    for row in range(nodes.shape[1]):
        _walk_row(codes, source, start, table, view, threshold, child, nodes, row)
