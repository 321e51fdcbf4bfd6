"""Interactions: rounds of random oblivious trees whose leaves are fitted to noisy gradients."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from privet.learners.boosting.bins import Margin
from privet.learners.boosting.loss import Loss
from privet.learners.boosting.plan import Plan
from privet.learners.purse import Purse
from privet.structure import Additive, Bins

AVERAGED = 0.75
"""How far the noise of a round's trees averages out: between not at all (0) and wholly (1)."""

LEAST_SCALE, LEAST_OF_NUMBERS = 0.3, 0.1
SCALE_FACTOR = 4.0
FAVOUR = 2.5
"""Power of a feature's relative energy by which the next round favours it."""

INERTIA = 2.0
"""Levels of average energy that every feature is given beforehand."""


def draw_trees(
    bins: Bins,
    margins: Sequence[Margin],
    shapes: Sequence[np.ndarray],
    weights: np.ndarray,
    n_trees: int,
    depth: int,
    random: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Features and turns of random trees.

    A level's feature is drawn by weight, its cut at a random quantile of the noisy rows. Bins without
    an order are put into that of their shape, for several labels seen from a random direction.
    """
    features = random.choice(len(weights), size=(n_trees, depth), p=weights).astype(np.int32)
    turns = np.zeros((bins.n_bins, n_trees), np.uint8)
    for tree in range(n_trees):
        for level in range(depth):
            j = features[tree, level]
            right = _right_bins(margins[j], shapes[j], random)
            turns[bins.slices[j].start + right, tree] |= np.uint8(1 << (depth - 1 - level))
    return features, turns


def _right_bins(margin: Margin, shape: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Bins on the far side of a random cut."""
    order = np.arange(len(shape))
    if np.isnan(margin.order).any():
        direction = random.random_sample(shape.shape[1]) - 0.5 if shape.shape[1] > 1 else np.ones(1)
        height = shape @ direction
        order = np.lexsort((height, _place(margin)))
    quantile = np.cumsum(margin.shares[order])[:-1]
    cut = int(np.argmin(np.abs(quantile - random.uniform(0.1, 0.9)))) if len(quantile) else -1
    return order[cut + 1 :] if cut >= 0 else order[:0]


def _place(margin: Margin) -> np.ndarray:
    """Position of ordered bins; bins without one share a place after them."""
    return np.nan_to_num(margin.order, nan=2.0)


def extended(additive: Additive, features: np.ndarray, turns: np.ndarray) -> Additive:
    """Return a model with more trees, whose leaves say nothing yet."""
    leaves = np.zeros((len(features), 1 << features.shape[1], additive.n_scores))
    return Additive(
        additive.bins,
        additive.intercept,
        additive.shapes,
        np.concatenate([additive.features.reshape(-1, features.shape[1]), features]),
        np.concatenate([additive.turns, turns], axis=1),
        np.concatenate([additive.leaves.reshape(-1, *leaves.shape[1:]), leaves]),
    )


class LeafSteps:
    """The steps of one round of trees.

    Parameters
    ----------
    noisy_rows : (trees, leaves)
    n_rows : float
    sd : float
        Noise of one pass.
    plan : Plan
    purse : Purse
    loss : Loss
    """

    def __init__(
        self, noisy_rows: np.ndarray, n_rows: float, sd: float, plan: Plan, purse: Purse, loss: Loss
    ) -> None:
        n_trees, n_leaves = noisy_rows.shape
        rows = np.maximum(noisy_rows, 0.15 * n_rows / n_leaves)
        self.shares = rows / rows.sum(axis=1, keepdims=True)
        self._weight = rows[..., None] * loss.curvature
        self._part = loss.balance
        self._sd = sd
        self._plan = plan
        averaged = n_trees ** ((AVERAGED - 1) / 2) / sqrt(plan.tree_passes)
        if purse.pure:
            averaged *= plan.tree_passes / (plan.tree_passes + 0.5)
        self._variance = (sd * averaged) ** 2
        self._scale: float | None = None
        self._least = LEAST_OF_NUMBERS if loss.finds_width else LEAST_SCALE
        self._velocity = np.zeros((n_trees, n_leaves, 1))

    def take(self, noisy_sums: np.ndarray, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pooled sum of all gradients, and a step of every leaf."""
        pooled = noisy_sums.sum(axis=1).mean(axis=0)
        excess = noisy_sums.sum(axis=1, keepdims=True) - pooled
        centred = noisy_sums - excess / noisy_sums.shape[1] - self.shares[..., None] * pooled
        if self._scale is None:
            self._scale = self._prior_scale(centred)
        plan, weight, scale = self._plan, self._weight, self._scale**2
        # Shrunk as what is likely to be seen, in steps that are safe wherever rows are.
        seen = self._part * weight
        gain = self._part * seen * scale / (seen**2 * scale + self._variance + seen)
        pull = plan.pull * (self._variance / weight + 1) / scale
        force = plan.tree_step / len(leaves) * gain * (centred - pull * leaves)
        self._velocity = plan.momentum * self._velocity + force
        return pooled, self._velocity

    def _prior_scale(self, centred: np.ndarray) -> float:
        """Deviation of the leaves: what the first answer shows beyond noise and sampling."""
        if not self._plan.adapt_scale:
            return self._plan.tree_scale
        n_leaves, n_scores = centred.shape[1:]
        energy = (centred**2).sum(axis=2) / max(n_scores - 1, 1)
        weight = self._part * self._weight[..., 0]
        noise = self._sd**2 + weight
        trust = noise**-2
        excess = (trust * weight**2 * (energy - noise * (1 - 1 / n_leaves))).sum()
        found = sqrt(max(excess / (trust * weight**4).sum(), 0.0))
        return float(np.clip(SCALE_FACTOR * found, self._least, self._plan.tree_scale))


def level_energy(leaves: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Squared jump across each level's cut, weighted by rows, ``(trees, depth)``."""
    n_trees, n_leaves, n_scores = leaves.shape
    energies = []
    for before in [1 << level for level in range(n_leaves.bit_length() - 1)]:
        halves = leaves.reshape(n_trees, before, 2, -1, n_scores)
        parts = shares.reshape(n_trees, before, 2, -1)
        jump = ((halves[:, :, 0] - halves[:, :, 1]) ** 2).sum(axis=-1)
        weight = parts[:, :, 0] * parts[:, :, 1] / (parts[:, :, 0] + parts[:, :, 1] + 1e-12)
        energies.append((weight * jump).sum(axis=(1, 2)))
    return np.stack(energies, axis=1) + 1e-12


def favoured(weights: np.ndarray, features: np.ndarray, energy: np.ndarray) -> np.ndarray:
    """Weights of the features for the next round, by what this one's levels found."""
    total, levels = np.zeros(len(weights)), np.zeros(len(weights))
    np.add.at(total, features, energy)
    np.add.at(levels, features, 1.0)
    mean = energy.mean()
    relative = (total + INERTIA * mean) / (levels + INERTIA) / mean
    raised = weights * relative**FAVOUR
    return np.asarray(raised / raised.sum())
