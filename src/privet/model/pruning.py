"""Which nodes of complete trees speak over their noise, and who answers where none does.

It follows from released counts: nothing is asked, and counts added later can bring branches back.
"""

from __future__ import annotations

import numpy as np

SPEAKING = 1.0
"""Deviations of its noise that the noisy rows of a node must pass for it to be kept."""


def node_counts(counts: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts of every node, ``(trees, nodes, labels)``, and the variance of their noise, ``(nodes,)``.

    Nodes are numbered as in complete trees: 1 is the root, the leaves come last, 0 is not used.
    """
    levels = [counts]
    while levels[0].shape[1] > 1:
        levels.insert(0, levels[0][:, 0::2] + levels[0][:, 1::2])
    unused = np.zeros_like(levels[0])
    leaves_below = np.concatenate(
        [[0], *(np.full(level.shape[1], counts.shape[1] // level.shape[1]) for level in levels)]
    )
    return np.concatenate([unused, *levels], axis=1), variance * leaves_below


def kept_nodes(counts: np.ndarray, variance: float) -> np.ndarray:
    """Whether each node speaks over its noise, or one below it does, ``(trees, nodes)``; a root always.

    A sum carries the noise of all leaves in it, so that a branch may drown in noise that one of its leaves
    passes: nodes are kept from the leaves up.
    """
    sums, noise = node_counts(counts, variance)
    kept = np.asarray(sums.sum(axis=2) > SPEAKING * np.sqrt(counts.shape[2] * noise))
    first = counts.shape[1]
    while first > 1:
        first //= 2
        kept[:, first : 2 * first] |= (
            kept[:, 2 * first : 4 * first : 2] | kept[:, 2 * first + 1 : 4 * first : 2]
        )
    kept[:, :2] = False, True
    return kept


def ends(kept: np.ndarray) -> np.ndarray:
    """Nodes that are kept while nothing below them is: the leaves of the pruned trees."""
    found, n_leaves = kept.copy(), kept.shape[1] // 2
    found[:, 1:n_leaves] &= ~(kept[:, 2::2] | kept[:, 3::2])
    return found


def pruned_counts(counts: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Counts of every leaf as its nearest kept node has them, spread evenly over the leaves of that node."""
    sums, leaves_below = node_counts(counts, 1.0)
    spread = sums / np.maximum(leaves_below, 1)[:, None]
    found, first = spread[:, 1:2], 1
    while first < counts.shape[1]:
        first *= 2
        level = slice(first, 2 * first)
        found = np.where(kept[:, level, None], spread[:, level], np.repeat(found, 2, axis=1))
    return found
