"""DiPriMe: forests of private medians.

Consul and Williamson 2020, *Differentially private median forests for regression and classification*. Rows
are parted among the trees, so that each has the whole ε. Half of it goes to splits, evenly to all levels; a
level takes the private medians of some features drawn at random, then chooses among these by how pure they
leave the labels. Leaves say noisy counts of the labels, from the other half.

The authors' code gives each of the candidates' medians the whole share that medians have, and draws a leaf
without rows otherwise than one that has some; here medians divide their share, and every leaf is noisy.
Categories are halved in a random order rather than over all of their subsets, of which there are too many.
Trees, depth and candidates are chosen among twelve settings on six of the tables.
"""

from __future__ import annotations

import numpy as np

from privet.studies.field_rivals import Learn, Task, gini_mass, shared

TREES, DEPTH, CANDIDATES, FOR_SPLITS = 10, 3, 4, 0.5


def learn(task: Task, epsilon: float) -> np.ndarray:
    """Mean shares of all trees."""
    random = task.random
    parts = random.integers(0, TREES, len(task.train))
    return np.mean([_tree(task, task.train[parts == tree], epsilon, random) for tree in range(TREES)], axis=0)


def _tree(task: Task, train: np.ndarray, epsilon: float, random: np.random.Generator) -> np.ndarray:
    codes = np.empty(task.codes.shape, np.int64)
    for feature, top in enumerate(task.tops):
        order = random.permutation(top + 1) if task.categorical[feature] else np.arange(top + 1)
        codes[:, feature] = order[task.codes[:, feature]]
    shares = np.empty((len(task.test), task.n_labels))
    whole = (np.zeros(len(task.tops), np.int64), task.tops.astype(np.int64))
    waiting = [(train, np.arange(len(task.test)), whole, 0)]
    while waiting:
        rows, asked, (low, high), depth = waiting.pop()
        cut = None
        if depth < DEPTH and (low < high).any():
            share = FOR_SPLITS * epsilon / DEPTH
            cut = _cut(codes[rows], task.labels[rows], task.n_labels, (low, high), share, random)
        if cut is None:
            counts = np.bincount(task.labels[rows], minlength=task.n_labels)
            noise = random.laplace(scale=1 / ((1 - FOR_SPLITS) * epsilon), size=len(counts))
            shares[asked] = shared(counts + noise)
            continue
        feature, at = cut
        for is_left in (True, False):
            there = (codes[task.test[asked], feature] <= at) == is_left
            bounds = low.copy(), high.copy()
            bounds[1 if is_left else 0][feature] = at if is_left else at + 1
            of = rows[(codes[rows, feature] <= at) == is_left]
            waiting.append((of, asked[there], bounds, depth + 1))
    return shares


def _cut(
    codes: np.ndarray,
    labels: np.ndarray,
    n_labels: int,
    bounds: tuple[np.ndarray, np.ndarray],
    epsilon: float,
    random: np.random.Generator,
) -> tuple[int, int]:
    """A feature and the last code that goes left."""
    low, high = bounds
    open_features = np.flatnonzero(low < high)
    chosen = random.permutation(open_features)[:CANDIDATES]
    cuts = [
        _median(codes[:, f], int(low[f]), int(high[f]), epsilon / 2 / len(chosen), random) for f in chosen
    ]
    parts = np.array([[_counts(labels, codes[:, f] <= at, n_labels, s) for s in (True, False)]
                      for f, at in zip(chosen, cuts, strict=True)], float)  # fmt: skip
    # A row moves the rows that are mislabelled by guessing (Gini) by less than 2.
    scores = -gini_mass(parts).sum(axis=1)
    best = int(np.argmax(scores * epsilon / 2 / (2 * 2) + random.gumbel(size=len(chosen))))
    return int(chosen[best]), cuts[best]


def _counts(labels: np.ndarray, is_left: np.ndarray, n_labels: int, side: bool) -> np.ndarray:
    return np.bincount(labels[is_left == side], minlength=n_labels)


def _median(column: np.ndarray, low: int, high: int, epsilon: float, random: np.random.Generator) -> int:
    """The exponential mechanism over cuts, by how evenly they part the rows."""
    below = np.cumsum(np.bincount(column - low, minlength=high - low + 1))[:-1]
    scores = -np.abs(2 * below - len(column))
    return low + int(np.argmax(scores * epsilon / 2 + random.gumbel(size=len(scores))))


LEARNERS: dict[str, Learn] = {"DiPriMe": learn}
