"""Lumberjack: deep random trees, cut back by private heavy hitters.

Lebeda, Erb, Cebere and Bellet 2026, *Better differentially private random forests through heavy hitter
detection in trees*, of which the abstract and summaries are known here. Large random trees are drawn
without looking at labels; an (ε, δ) search for heavy nodes, by noisy binary searches over the height whose
answers hold for nodes above or below, has an error of the root of the logarithm of the height; nodes of too
few rows are pruned.

Not known, and ours: how many trees, how deep, how features are drawn, how the budget is shared, where
thresholds lie, how leaves vote. Here trees share the budget in zCDP; of each, a part searches and the rest
counts labels of rows by the deepest heavy node on their path. Nodes that no row visits are never heavy:
what δ is for. Trees, height and shares are chosen among twelve settings on six of the tables.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from privet.studies.field_rivals import DELTA, Learn, Task, shared, zcdp

TREES, HEIGHT, FOR_SEARCH = 25, 12, 0.6


def learn(task: Task, epsilon: float) -> np.ndarray:
    """Mean shares of all trees."""
    random = task.random
    rho = zcdp(epsilon, DELTA / 2) / TREES
    rows = np.concatenate([task.train, task.test])
    total = np.zeros((len(task.test), task.n_labels))
    for _ in range(TREES):
        nodes = _grown(task.codes[rows], task.tops, task.categorical, random)
        kept = _heavy(nodes, len(task.train), FOR_SEARCH * rho, random)
        total += _told(nodes, kept, task, (1 - FOR_SEARCH) * rho, random)
    return total / TREES


def _grown(
    codes: np.ndarray, tops: np.ndarray, categorical: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Nodes that every row passes, ``(HEIGHT + 1, rows)``: splits are drawn for visited nodes alone.

    Feature and threshold are uniform in what the path leaves, categories in an order of the tree's own.
    """
    n, width = codes.shape
    moved = np.empty((n, width), np.int64)
    for feature, top in enumerate(tops):
        order = random.permutation(top + 1) if categorical[feature] else np.arange(top + 1)
        moved[:, feature] = order[codes[:, feature]]
    low, high = np.zeros((1, width), np.int64), tops[None].astype(np.int64)
    nodes = np.zeros((HEIGHT + 1, n), np.int64)
    for depth in range(HEIGHT):
        here = nodes[depth]
        weight = np.where(low < high, random.random(low.shape), -1)
        feature = weight.argmax(axis=1)
        each = np.arange(len(low))
        at = low[each, feature] + (
            random.random(len(low)) * (high[each, feature] - low[each, feature])
        ).astype(np.int64)
        right = moved[np.arange(n), feature[here]] > at[here]
        seen, nodes[depth + 1] = np.unique(2 * here + right, return_inverse=True)
        parent, side = seen // 2, seen % 2
        low, high = low[parent], high[parent]
        new = np.arange(len(seen))
        low[new, feature[parent]] = np.where(side, at[parent] + 1, low[new, feature[parent]])
        high[new, feature[parent]] = np.where(side, high[new, feature[parent]], at[parent])
    return nodes


def _heavy(nodes: np.ndarray, learnt: int, rho: float, random: np.random.Generator) -> np.ndarray:
    """How deep the path of every row is kept: a binary search a row, whose tests rows of a node share."""
    rounds = int(np.ceil(np.log2(HEIGHT + 1)))
    sigma = np.sqrt(rounds / (2 * rho))
    least = 1 + sigma * norm.isf(DELTA / 2 / rounds)
    low, high = np.zeros(nodes.shape[1], np.int64), np.full(nodes.shape[1], HEIGHT)
    while (low < high).any():
        middle = (low + high + 1) // 2
        for depth in np.unique(middle[low < high]):
            tested = np.flatnonzero((low < high) & (middle == depth))
            here = nodes[depth, tested]
            counts = np.bincount(nodes[depth, :learnt], minlength=nodes[depth].max() + 1)
            noisy = counts + random.normal(scale=sigma, size=len(counts))
            passes = ((noisy > least) & (counts > 0))[here]
            low[tested] = np.where(passes, depth, low[tested])
            high[tested] = np.where(passes, high[tested], depth - 1)
        _spread(nodes, low, high)
    return low


def _spread(nodes: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Let rows that share a node know what the others' tests told of it and of nodes above."""
    for depth in range(1, len(nodes)):
        is_heavy = np.zeros(nodes[depth].max() + 1, bool)
        is_heavy[nodes[depth, low >= depth]] = True
        np.maximum(low, np.where(is_heavy[nodes[depth]], depth, 0), out=low)
    np.maximum(high, low, out=high)


def _told(
    nodes: np.ndarray, kept: np.ndarray, task: Task, rho: float, random: np.random.Generator
) -> np.ndarray:
    """Shares of the rows that are asked about: noisy counts of the rows that end at the same node."""
    last = kept * (nodes.max() + 1) + nodes[kept, np.arange(nodes.shape[1])]
    _, group = np.unique(last, return_inverse=True)
    learnt = len(task.train)
    cells = group[:learnt] * task.n_labels + task.labels[task.train]
    counts = np.bincount(cells, minlength=(group.max() + 1) * task.n_labels).reshape(-1, task.n_labels)
    noisy = counts + random.normal(scale=np.sqrt(1 / (2 * rho)), size=counts.shape)
    return shared(noisy)[group[learnt:]]


LEARNERS: dict[str, Learn] = {"Lumberjack": learn}
