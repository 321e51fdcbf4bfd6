"""Noisy counts of a tree made consistent, for those who look at it.

No node has fewer rows than none, and children add up to their parent. It is worked out of what was released,
asks nothing, and lies closer to the truth than sums of noisy leaves do. What a model says of a row stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privet.model.rules import Trees
from privet.model.tree import children
from privet.schema import Schema
from privet.structure import CompleteTrees

Told = Callable[[int], tuple[np.ndarray, float]]
"""Counts of a node, one of each kind, and the variance of the noise of one."""


def consistent(
    trees: Trees, place: int, schema: Schema, counts: np.ndarray, variance: np.ndarray, alike: bool
) -> Told:
    """What the nodes of a tree hold: numbers that could be those of rows.

    From the root down, the rows of a node are shared out among its children, as near to their noisy counts as
    can be.

    Parameters
    ----------
    trees, place : trees, and which of them
    schema : Schema
    counts : (trees, nodes, kinds) of complete trees, (nodes, kinds) of others
        Noisy, of every node.
    variance : (nodes,)
        Of the noise of one count.
    alike : bool
        Whether all trees counted all rows, each with noise of its own, and inner nodes are sums over leaves:
        all of them together tell how many rows there are.
    """
    root, held = _root(trees, place, counts)
    first, noise = held[root], float(variance[root])
    if alike:
        first, noise = _together(trees, counts, variance)
    known = {root: (np.maximum(first, 0.0), noise)}

    def told(node: int) -> tuple[np.ndarray, float]:
        if node not in known:
            above = node // 2 if isinstance(trees, CompleteTrees) else int(trees.parent[node])
            total, noise = told(above)
            below = children(trees, schema, above)
            shared = shared_out(total, held[below], variance[below])
            left = _left(noise, variance[below]) if alike else variance[below]
            known.update(zip(below, zip(shared, left.tolist(), strict=True), strict=True))
        return known[node]

    return told


def shared_out(total: np.ndarray, counts: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Numbers of at least zero that add up to a total, each as near to its noisy count as noise asks.

    >>> shared_out(np.array([10.0]), np.array([[13.0], [-5.0]]), np.ones(2)).ravel().tolist()
    [10.0, 0.0]
    """
    weights = np.maximum(variance, 1e-12)[:, None]
    ratio = counts / weights
    order = np.argsort(-ratio, axis=0, kind="stable")
    # Those with the most rows for their noise stay; all others are none.
    excess = np.cumsum(np.take_along_axis(counts, order, 0), axis=0) - total
    cut = excess / np.cumsum(weights[:, 0][order], axis=0)
    last = np.maximum((np.take_along_axis(ratio, order, 0) > cut).sum(axis=0) - 1, 0)
    return np.asarray(np.maximum(counts - np.take_along_axis(cut, last[None], 0) * weights, 0.0))


def _root(trees: Trees, place: int, counts: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of a tree's root, and counts by the numbers of its nodes."""
    if isinstance(trees, CompleteTrees):
        return 1, counts[place]
    return int(trees.roots[place]), counts


def _together(trees: Trees, counts: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, float]:
    """What the roots of all trees say together."""
    if isinstance(trees, CompleteTrees):
        roots, each = counts[:, 1], np.full(trees.n_trees, variance[1])
    else:
        roots, each = counts[trees.roots], variance[trees.roots]
    noise = np.maximum(each, 1e-12)
    return np.average(roots, axis=0, weights=1 / noise), float(1 / (1 / noise).sum())


def _left(above: float, variance: np.ndarray) -> np.ndarray:
    """Noise of children that add up to their parent; that none is below zero lowers it further."""
    share = variance / max(float(variance.sum()), 1e-12)
    return np.asarray(variance * (1 - share) + share**2 * above)
