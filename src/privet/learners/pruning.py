"""Pruning: counts of inner nodes from what was released, and subtrees that do not pay; post-processing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from privet.learners.growing import numbered
from privet.structure import MultiwayTrees


def children_of(trees: MultiwayTrees, n_children: np.ndarray) -> list[tuple[int, slice]]:
    """Every split with the slice of its children, parents before children; −1 children in a leaf."""
    return [
        (int(node), slice(int(trees.child[node]), int(trees.child[node] + n_children[node])))
        for node in np.flatnonzero(trees.view >= 0)
    ]


def corrected_counts(
    families: list[tuple[int, slice]], rows: np.ndarray, leaf_counts: np.ndarray
) -> np.ndarray:
    """Label counts of every node that agree with each other (Friedman and Schuster 2010, algorithm 3).

    Parameters
    ----------
    families : list of (int, slice)
    rows : float (nodes,)
        Noisy numbers of rows. From the root down, children share what their parent has.
    leaf_counts : float (nodes, labels)
        Noisy label counts of leaves, anything elsewhere. They share what their leaf has; an inner node has
        the sum of its leaves.

    Returns
    -------
    float (nodes, labels)
    """
    kept = np.maximum(rows, 0.0)
    for node, children in families:
        kept[children] = kept[node] * _shares(kept[children])
    counts = kept[:, None] * _shares(np.maximum(leaf_counts, 0.0))
    for node, children in reversed(families):
        counts[node] = counts[children].sum(axis=0)
    return counts


def pessimistic_errors(counts: np.ndarray, certainty: float) -> np.ndarray:
    """Rows that a node would mislabel at worst, at a certainty: the upper limit of a binomial share."""
    rows = counts.sum(axis=1)
    errors = rows - counts.max(axis=1)
    return np.asarray(rows * betaincinv(errors + 1, np.maximum(rows - errors, 1e-9), 1 - certainty))


def prune_by_errors(families: list[tuple[int, slice]], counts: np.ndarray, certainty: float) -> np.ndarray:
    """Splits that become leaves, for their subtrees would mislabel no fewer rows (C4.5)."""
    errors = pessimistic_errors(counts, certainty)
    pruned = np.zeros(len(counts), bool)
    for node, children in reversed(families):
        below = errors[children].sum()
        pruned[node] = errors[node] <= below
        errors[node] = min(errors[node], below)
    return pruned


def prune_by_gini(families: list[tuple[int, slice]], counts: np.ndarray) -> np.ndarray:
    """Splits above leaves that become leaves, for they are no less pure (Fletcher and Islam 2015, eq. 27)."""
    known = np.maximum(counts, 0.0)
    impurity = 1 - (_shares(known) ** 2).sum(axis=1)
    rows, inner = known.sum(axis=1), np.zeros(len(counts), bool)
    inner[[node for node, _ in families]] = True
    pruned = np.zeros(len(counts), bool)
    for node, children in reversed(families):
        if not inner[children].any():
            pruned[node] = impurity[node] <= _shares(rows[children]) @ impurity[children]
            inner[node] = not pruned[node]
    return pruned


def without(
    trees: MultiwayTrees, families: list[tuple[int, slice]], pruned: np.ndarray
) -> tuple[MultiwayTrees, np.ndarray]:
    """The trees without what lies below pruned splits, and the nodes that are left."""
    kept = np.zeros(len(trees.view), bool)
    kept[trees.roots] = True
    for node, children in families:
        kept[children] = kept[node] and not pruned[node]
    place = np.cumsum(kept) - 1
    leaf = (trees.view < 0) | pruned
    view = np.where(leaf, -1, trees.view).astype(np.int32)
    threshold = np.where(leaf, 0, trees.threshold).astype(np.uint16)
    child = np.where(leaf, 0, place[np.where(leaf, 0, trees.child)])
    left = np.flatnonzero(kept)
    return numbered(
        replace(
            trees, roots=place[trees.roots], view=view[left], threshold=threshold[left], child=child[left]
        )
    ), left


def _shares(weights: np.ndarray) -> np.ndarray:
    """Shares of a sum over the last axis; equal ones where it is 0."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[-1])
