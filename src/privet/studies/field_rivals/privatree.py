"""PrivaTree: one tree of private histograms.

Vos et al. 2023, *Differentially-private decision trees and provable robustness to data poisoning*. Bins at
private quantiles; on every level a noisy histogram of each feature by label, of whose cuts the one of least
Gini impurity is taken; leaves choose their label by permute-and-flip. Leaves get what they need to be right
with probability 0.99, at most half; histograms and quantiles share the rest evenly.

In the authors' code every feature's histogram (and quantiles) has the whole share of its level, though all
look at the same rows, and the exact number of rows sets the shares: it claims ε and keeps none. ``kept``
divides each share by the number of features instead. Theirs are joint quantiles, here one after the other
by halves; they refuse categories of several labels, which are ordered here by the share of the last label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from privet.studies.field_rivals import Learn, Task, gini_mass

DEPTH, BINS = 4, 10
SUCCESS, MOST_FOR_LEAVES = 0.99, 0.5


@dataclass(frozen=True)
class Budgets:
    """What quantiles, one histogram of a level, and a leaf have."""

    quantiles: float
    histogram: float
    leaf: float


def learn(task: Task, epsilon: float, kept: bool) -> np.ndarray:
    """Shares of the labels: all of a leaf's for its label."""
    features = task.codes.shape[1] if kept else 1
    random, budgets = task.random, _budgets(epsilon, len(task.train), task.n_labels, features)
    bins, counts = _binned(task, budgets.quantiles, random)
    shares = np.zeros((len(task.test), task.n_labels))
    waiting = [(task.train, np.arange(len(task.test)), 0)]
    while waiting:
        rows, asked, depth = waiting.pop()
        cut = None
        # As published a node of one label alone is split no further, which the tree's shape then tells.
        pure = not kept and len(np.unique(task.labels[rows])) < 2
        if depth < DEPTH and not pure:
            cut = _best_cut(bins[rows], task.labels[rows], counts, task, budgets.histogram, random)
        if cut is None:
            tally = np.bincount(task.labels[rows], minlength=task.n_labels)
            shares[asked, _flip(tally, budgets.leaf, random)] = 1
            continue
        feature, left = cut
        for side in (True, False):
            there = left[bins[task.test[asked], feature]] == side
            waiting.append((rows[left[bins[rows, feature]] == side], asked[there], depth + 1))
    return shares


def _budgets(epsilon: float, rows: int, n_labels: int, features: int) -> Budgets:
    """Their shares: leaves first."""

    def error(p: float) -> float:
        return 2 * np.log(1 / p) * (1 - (1 - (1 - p) ** n_labels) / (n_labels * p))

    worst = -minimize_scalar(lambda p: -error(p), bounds=(0, 1), method="bounded").fun
    leaf = min(MOST_FOR_LEAVES * epsilon, worst * 2**DEPTH / (rows * (1 - SUCCESS)))
    share = (epsilon - leaf) / (DEPTH + 1) / features
    return Budgets(share, share, leaf)


def _binned(task: Task, epsilon: float, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All rows in bins, and how many bins every feature has."""
    bins, counts = task.codes.astype(np.int64), task.tops + 1
    for feature in np.flatnonzero(~task.categorical & (task.tops >= BINS)):
        column, top = task.codes[task.train, feature], int(task.tops[feature])
        cuts = np.unique(_quantiles(np.bincount(column, minlength=top + 1), epsilon, random))
        bins[:, feature], counts[feature] = np.searchsorted(cuts, bins[:, feature]), len(cuts) + 1
    return bins, counts


def _quantiles(counts: np.ndarray, epsilon: float, random: np.random.Generator) -> list[int]:
    """Cuts between codes, found by halving the ranks: every level's ranges are of other rows."""
    levels = int(np.ceil(np.log2(BINS)))

    def between(low: int, high: int, first: int, last: int) -> list[int]:
        if last - first < 2 or high - low < 2:
            return []
        middle = (first + last) // 2
        below, part = np.cumsum(counts[low:high])[:-1], (middle - first) / (last - first)
        scores = -np.abs(below - part * counts[low:high].sum())
        at = low + int(np.argmax(scores * epsilon / levels / 2 + random.gumbel(size=len(scores))))
        return [*between(low, at + 1, first, middle), at, *between(at + 1, high, middle, last)]

    return between(0, len(counts), 0, BINS)


def _best_cut(
    bins: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray,
    task: Task,
    epsilon: float,
    random: np.random.Generator,
) -> tuple[int, np.ndarray] | None:
    """The feature, and which of its bins go left; nothing where noise leaves no cut."""
    best, found = np.inf, None
    for feature, n_bins in enumerate(counts):
        cells = np.bincount(bins[:, feature] * task.n_labels + labels, minlength=n_bins * task.n_labels)
        p = 1 - np.exp(-epsilon)
        noise = random.geometric(p, len(cells)) - random.geometric(p, len(cells))
        noisy = np.maximum(cells + noise, 0).reshape(n_bins, task.n_labels).astype(float)
        order = np.arange(n_bins)
        if task.categorical[feature]:
            total = noisy.sum(axis=1)
            order = np.argsort(np.divide(noisy[:, -1], total, out=np.full(n_bins, 0.5), where=total > 0))
        below = np.cumsum(noisy[order], axis=0)
        above = below[-1] - below
        fits = (below.sum(axis=1) >= 1) & (above.sum(axis=1) >= 1)
        if fits.any():
            mass = (gini_mass(below) + gini_mass(above)) / max(below[-1].sum(), 1)
            at = int(np.argmin(np.where(fits, mass, np.inf)))
            if mass[at] < best:
                left = np.zeros(n_bins, bool)
                left[order[: at + 1]] = True
                best, found = mass[at], (feature, left)
    return found


def _flip(counts: np.ndarray, epsilon: float, random: np.random.Generator) -> int:
    """Permute-and-flip, as the largest of counts with exponential noise."""
    return int(np.argmax(counts + random.exponential(1 / epsilon, len(counts))))


LEARNERS: dict[str, Learn] = {
    "PrivaTree": partial(learn, kept=True),
    "PrivaTree as published": partial(learn, kept=False),
}
