"""How much each feature's splits tell labels apart in a forest, as far as noise lets it be seen."""

from __future__ import annotations

import numpy as np

from privet.model.rules import Trees, n_children, share_variance
from privet.schema import Schema
from privet.structure import CompleteTrees

HEARD = 2.0
"""Deviations of its noise that the rows of a child must reach to be heard."""


def split_gains(trees: Trees, counts: np.ndarray, variance: np.ndarray, schema: Schema) -> np.ndarray:
    """Share of all that splits tell apart, by feature: see `told_apart`."""
    return as_shares(told_apart(trees, counts, variance, schema))


def as_shares(gains: np.ndarray) -> np.ndarray:
    """Gains as shares of their sum, all zero where nothing is told apart."""
    return np.asarray(gains / max(float(gains.sum()), 1e-12))


def told_apart(trees: Trees, counts: np.ndarray, variance: np.ndarray, schema: Schema) -> np.ndarray:
    """How much the splits on each feature tell apart.

    A split tells apart what the label shares of its children differ from each other, squared and weighted by
    rows (the fall of the Gini index); what noise adds to that on average is taken off.

    Parameters
    ----------
    counts, variance :
        Of every node, ``(trees, nodes, labels)`` and ``(nodes,)`` of complete trees, ``(nodes, labels)`` and
        ``(nodes,)`` of others.
    """
    total = np.zeros(len(schema.features))
    if isinstance(trees, CompleteTrees):
        n = trees.n_leaves
        children = counts[:, 2 : 2 * n].reshape(trees.n_trees, n - 1, 2, -1)
        gain = _between(children, variance[2 : 2 * n].reshape(n - 1, 2))
        np.add.at(total, trees.views.source[trees.view[:, 1:n]], gain)
    else:
        for node in np.flatnonzero(trees.view >= 0):
            first = int(trees.child[node])
            below = slice(first, first + n_children(trees, schema, int(node)))
            total[trees.views.source[trees.view[node]]] += _between(counts[below], variance[below])
    return np.maximum(total, 0)


def _between(counts: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """What children ``(…, children, labels)`` differ by, as far as they are not lost in their noise."""
    n_labels = counts.shape[-1]
    rows = counts.sum(axis=-1).astype(float)
    heard = rows > HEARD * np.sqrt(n_labels * variance) + 1
    shares = np.clip(counts / np.where(heard, rows, 1.0)[..., None], 0, 1)
    rows = np.where(heard, rows, 0.0)
    part = rows / np.maximum(rows.sum(axis=-1, keepdims=True), 1.0)
    mean = (part[..., None] * shares).sum(axis=-2, keepdims=True)
    apart = (rows[..., None] * (shares - mean) ** 2).sum(axis=(-2, -1))
    noise = (
        share_variance(shares, n_labels, np.asarray(variance)[..., None]).sum(axis=-1)
        / np.maximum(rows, 1.0) ** 2
    )
    return np.asarray(apart - (rows * (1 - part) * noise).sum(axis=-1))
