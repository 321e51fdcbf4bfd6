"""Grow random complete trees from random numbers. Sees no rows."""

from __future__ import annotations

import numpy as np

from privet.compiled import compiled_with_room, run

FEW_NODES = 1 << 10
"""Nodes for which waking another thread would take longer than drawing them."""


def grow_complete(
    views: np.ndarray,
    sizes: np.ndarray,
    depth: int,
    within_node: bool,
    numbers: np.ndarray,
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Views and thresholds of random complete trees.

    Parameters
    ----------
    views : int (trees, features)
        View under which a tree looks at a feature.
    sizes : int (features,)
        Number of codes of each feature under any of its views.
    depth : int
    within_node : bool
        Draw thresholds from the range a node can still hold, and pass over a feature that has
        only one code left there; otherwise from the whole range.
    numbers : float (2, trees, 2**depth)
        Uniform in [0, 1): they choose feature and threshold.
    weights : float (features,), optional
        Positive: how likely a feature is chosen, against those that can still be split; by default all
        are alike.

    Returns
    -------
    view, threshold : uint16 (trees, 2**depth)
    """
    shape = (len(views), 1 << depth)
    view, threshold = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16)
    weights = np.ones(len(sizes)) if weights is None else weights
    arrays = (views.astype(np.int64), sizes.astype(np.int64), weights, within_node, numbers, view, threshold)
    run(_grow, len(views), -(-FEW_NODES >> depth), *arrays)
    return view, threshold


@compiled_with_room
def _grow(first_tree, last_tree, views, sizes, weights, within_node, numbers, view, threshold):  # type: ignore[no-untyped-def]
    n_nodes, width = view.shape[1], len(sizes)
    for t in range(first_tree, last_tree):
        # One more than there are nodes: the root is written down even where it is a leaf.
        low, high = np.zeros((n_nodes + 1, width), np.int32), np.zeros((n_nodes + 1, width), np.int32)
        for j in range(width):
            high[1, j] = sizes[j]
        for node in range(1, n_nodes):
            usable = 0.0
            for j in range(width):
                if high[node, j] - low[node, j] > 1:
                    usable += weights[j]
            chosen, cut = -1, np.int64(0)
            if usable > 0:
                left = numbers[0, t, node] * usable
                for j in range(width):
                    if left >= 0 and high[node, j] - low[node, j] > 1:
                        chosen = j
                        left -= weights[j]
                first = low[node, chosen] if within_node else 0
                last = high[node, chosen] if within_node else sizes[chosen]
                cut = first + 1 + np.int64(numbers[1, t, node] * (last - first - 1))
                view[t, node], threshold[t, node] = views[t, chosen], cut
            # A node that nothing can split sends every row to its second child: threshold 0.
            if 2 * node >= n_nodes:
                continue  # its children are leaves
            for j in range(width):
                for child in (2 * node, 2 * node + 1):
                    low[child, j], high[child, j] = low[node, j], high[node, j]
            if chosen >= 0 and within_node:
                high[2 * node, chosen] = cut
                low[2 * node + 1, chosen] = cut
