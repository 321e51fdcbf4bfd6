"""Where rows stand in trees that grow: they go on from where they stood when the trees were smaller."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from privet.kernels.route import roots, walk_down
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
    goes_on = before is not None and _has_grown_from(trees, before[0])
    nodes = before[1] if before is not None and goes_on else roots(trees, codes.shape[1])
    leaves = np.empty_like(nodes)
    walk_down(trees, codes, 0, nodes, leaves)
    if kept is not None:
        # A copy: the caller may write into the arrays, and rows would then stand where no way leads.
        is_same = before is not None and goes_on and len(trees.view) == len(before[0].view)
        kept["nodes"] = before if is_same else (deepcopy(trees), nodes)
    return leaves


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
