"""Main effects: a shape for every feature, from the noisy counts and then from noisy gradients.

A shape has a Gaussian prior: smooth over the positions of an ordered feature's bins, independent over
the others. Every answer is a measurement of known noise, and a shape's step is its posterior mean: it is
shrunk exactly as far as the noise demands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from privet.learners.boosting_bins import Margin

SHAPE_SCALE = 0.55
"""Prior standard deviation of a shape."""

SHAPE_LENGTH = 0.6
"""Distance, in shares of the rows, over which a shape forgets itself."""

LONGEST_STEP = 0.6
LEFT_OVER = 0.7
"""A step should take this share of what a full one would."""


@dataclass(frozen=True)
class Start:
    """Where boosting starts: the class shares and the curvature of the loss there.

    Attributes
    ----------
    shares : (labels,)
    intercept : (scores,)
    curvature : float
        Mean second derivative of a row's loss.
    """

    shares: np.ndarray
    intercept: np.ndarray
    curvature: float

    @classmethod
    def of(cls, shares: np.ndarray) -> Start:
        """Start at class shares."""
        if len(shares) > 2:
            logs = np.log(shares)
            return cls(shares, logs - logs.mean(), float((shares * (1 - shares)).mean()))
        rarer = min(float(shares.min()), 0.5)
        p = rarer / (2 * (1 - rarer))
        score = unlinked(float(shares[-1]))
        return cls(shares, np.array([score]), max((1 - rarer) * p * (1 - p), 0.03))

    def gradients(self, margin: Margin) -> tuple[np.ndarray, np.ndarray]:
        """Sums of gradients by bin at the start, centred, and the variance of their noise."""
        rows = margin.rows
        if len(self.intercept) == 1:
            p = 1 / (1 + np.exp(-self.intercept[0]))
            up, down = min(1 - p, 0.5), -min(p, 0.5)
            sums = (up * rows[:, -1] + down * rows[:, 0])[:, None]
            variance = (up**2 + down**2) * margin.variance
        else:
            sums = rows - rows.sum(axis=1, keepdims=True) * self.shares
            variance = (1 - 1 / len(self.shares)) * margin.variance
        return sums - margin.shares[:, None] * sums.sum(axis=0), variance


def unlinked(share: float) -> float:
    """Score of two labels at which the half-clipped loss expects a share of the second label."""
    share = min(max(share, 1e-4), 1 - 1e-4)
    p = 1 - 0.5 * (1 - share) / share if share >= 0.5 else 0.5 * share / (1 - share)
    return float(np.log(p / (1 - p)))


def prior_covariance(margin: Margin) -> np.ndarray:
    """Prior covariance of a shape over its bins."""
    distance = np.abs(margin.order[:, None] - margin.order[None])
    related = np.where(np.isnan(distance), 0.0, np.exp(-np.nan_to_num(distance) / SHAPE_LENGTH))
    np.fill_diagonal(related, 1.0)
    return SHAPE_SCALE**2 * related


def posterior_map(margin: Margin, curvature: float, variance: np.ndarray | float) -> np.ndarray:
    """Matrix that takes noisy sums of gradients to the posterior mean of a shape."""
    weight = margin.mass * curvature
    gain = weight[:, None] * prior_covariance(margin)
    return np.asarray(np.linalg.solve(gain * weight + np.diag(variance + weight), gain).T)


@dataclass(frozen=True)
class Shapes:
    """Shapes as the noisy counts alone give them, and each feature's energy, its mean square."""

    values: list[np.ndarray]
    energy: np.ndarray


def first_shapes(margins: Sequence[Margin], start: Start) -> Shapes:
    """Posterior means of the shapes, one feature at a time."""
    values = []
    for margin in margins:
        sums, variance = start.gradients(margin)
        values.append(posterior_map(margin, start.curvature, variance) @ sums)
    energy = np.array([m.shares @ (v**2).sum(axis=1) for m, v in zip(margins, values, strict=True)])
    return Shapes(values, energy)


def started(shapes: Shapes, overlap: float) -> list[np.ndarray]:
    """Shapes shrunk for what they repeat of each other."""
    effective = shapes.energy.sum() ** 2 / max((shapes.energy**2).sum(), 1e-12)
    return [value / (1 + (effective - 1) * overlap) for value in shapes.values]


def intercept_step(noisy_sum: np.ndarray, variance: float, weight: float) -> np.ndarray:
    """Half a Newton step of the intercept, shrunk: prior deviation one, noise of the whole stage."""
    return 0.5 * noisy_sum * weight / (weight**2 + variance)


class ShapeSteps:
    """The steps of a stage, whose length may adapt.

    Parameters
    ----------
    margins : of the asked features
    curvature : float
    sd : float
        Noise of one pass.
    passes : int
    step : float
    adapt : bool
    """

    def __init__(
        self, margins: Sequence[Margin], curvature: float, sd: float, passes: int, step: float, adapt: bool
    ) -> None:
        self._margins = margins
        self._sd = sd
        self._step = step
        self._adapt = adapt
        self._maps = [posterior_map(m, curvature, sd**2 / passes) for m in margins]
        sizes = np.array([len(m.mass) for m in margins])
        self._weights = (1 / sizes) / (1 / sizes).sum()
        self.sum_variance = sd**2 / (1 / sizes).sum()
        self._last: tuple[list[np.ndarray], float, float] | None = None

    def take(self, noisy_blocks: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Pooled sum of all gradients, and a step of every asked shape."""
        pooled = sum(w * block.sum(axis=0) for w, block in zip(self._weights, noisy_blocks, strict=True))
        centred = [
            block - (block.sum(axis=0) - pooled) / len(block) - margin.shares[:, None] * pooled
            for block, margin in zip(noisy_blocks, self._margins, strict=True)
        ]
        if self._adapt:
            self._change_length(centred)
        steps = [self._step * (m @ block) for m, block in zip(self._maps, centred, strict=True)]
        n_scores = noisy_blocks[0].shape[1]
        bias = self._step * self._sd**2 * sum(np.trace(m) for m in self._maps) * n_scores
        self._last = (steps, _inner(steps, centred) - bias, self._sd * sqrt(_inner(steps, steps)))
        return np.asarray(pooled), steps

    def _change_length(self, centred: list[np.ndarray]) -> None:
        """Secant: the slope left along the last step says how long it should have been."""
        if self._last is None:
            return
        steps, before, sd = self._last
        if before <= 0:
            return
        left, left_sd = _inner(steps, centred) / before, sd / before
        trust = 1 / (1 + (left_sd / 0.3) ** 2)
        factor = LEFT_OVER / max(1 - left, 0.15) if left < 1 else 1.5
        self._step = min(self._step * float(np.clip(factor**trust, 1 / 3, 2)), LONGEST_STEP)


def _inner(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> float:
    return float(sum((x * y).sum() for x, y in zip(a, b, strict=True)))
