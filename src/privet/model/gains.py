"""How much each feature's splits tell labels apart in a forest, as far as noise lets it be seen."""

from __future__ import annotations

import numpy as np

from privet.model.counts import CountForest, node_counts
from privet.model.rules import n_children, share_variance
from privet.schema import Schema
from privet.structure import CompleteTrees, MultiwayTrees

HEARD = 2.0
"""Deviations of its noise that the rows of every child of a split must reach for the split to count."""


def split_gains(
    trees: CompleteTrees | MultiwayTrees, counts: np.ndarray, variance: np.ndarray, schema: Schema
) -> np.ndarray:
    """Share of all that splits tell apart, by feature.

    A split tells apart what the label shares of its children differ from each other, squared and weighted by
    rows (the fall of the Gini index); what noise adds to that on average is taken off.

    Parameters
    ----------
    counts : noisy, of every node
        ``(trees, nodes, labels)`` for complete trees, ``(nodes, labels)`` for others.
    variance : ``(nodes,)``
    """
    total = np.zeros(len(schema.features))
    if isinstance(trees, CompleteTrees):
        n = trees.n_leaves
        children = counts[:, 2 : 2 * n].reshape(trees.n_trees, n - 1, 2, -1)
        gain = _told_apart(children, variance[2 : 2 * n].reshape(n - 1, 2))
        np.add.at(total, trees.views.source[trees.view[:, 1:n]], gain)
    else:
        for node in np.flatnonzero(trees.view >= 0):
            first = int(trees.child[node])
            below = slice(first, first + n_children(trees, schema, int(node)))
            total[trees.views.source[trees.view[node]]] += _told_apart(counts[below], variance[below])
    total = np.maximum(total, 0)
    return total / max(float(total.sum()), 1e-12)


def forest_gains(model: CountForest) -> np.ndarray:
    """The gains of a count forest, whose inner nodes are sums of its leaves."""
    return split_gains(model.trees, *node_counts(model.counts, model.variance), model.schema)


def _told_apart(counts: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """What children ``(…, children, labels)`` differ by; 0 where one of them is lost in its noise."""
    n_labels = counts.shape[-1]
    rows = counts.sum(axis=-1).astype(float)
    heard = (rows > HEARD * np.sqrt(n_labels * variance) + 1).all(axis=-1)
    rows = np.maximum(rows, 1.0)
    shares = np.clip(counts / rows[..., None], 0, 1)
    part = rows / rows.sum(axis=-1, keepdims=True)
    mean = (part[..., None] * shares).sum(axis=-2, keepdims=True)
    apart = (rows[..., None] * (shares - mean) ** 2).sum(axis=(-2, -1))
    noise = share_variance(shares, n_labels, np.asarray(variance)[..., None]).sum(axis=-1) / rows**2
    return np.asarray(np.where(heard, apart - (rows * (1 - part) * noise).sum(axis=-1), 0.0))
