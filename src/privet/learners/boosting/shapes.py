"""Main effects: a shape for every feature, from the noisy counts and then from noisy gradients.

A shape has a Gaussian prior: smooth over the positions of an ordered feature's bins, independent over
the others. Every answer is a measurement of known noise, and a shape's step is its posterior mean: it is
shrunk exactly as far as the noise demands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from privet.learners.boosting.bins import Margin

SHAPE_SCALES = (0.03, 0.1, 0.25, 0.55)
SCALE_ODDS = (0.05, 0.05, 0.15, 0.75)
"""Prior standard deviations of a shape, and how likely each is before any answer."""

SHAPE_LENGTH = 0.6
"""Distance, in shares of the rows, over which a shape forgets itself."""

LONGEST_SHIFT = 2.0
"""Of the intercept after one answer."""

INTERCEPT_DRIFT = 0.1
"""By how much the right intercept may move while other parts of the model change: at most as far."""

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
    variance : (scores,)
        Of the intercept, from the noise of the shares.
    """

    shares: np.ndarray
    intercept: np.ndarray
    curvature: float
    variance: np.ndarray

    @classmethod
    def of(cls, shares: np.ndarray, sd: float) -> Start:
        """Start at class shares that have a standard deviation."""
        variance = np.minimum((sd / (shares * (1 - shares) + 1e-9)) ** 2, 1.0)
        if len(shares) > 2:
            logs = np.log(shares)
            return cls(shares, logs - logs.mean(), float((shares * (1 - shares)).mean()), variance)
        # Of a share that is uncertain the larger: a curvature that is too small makes steps too long.
        rarer = min(float(shares.min()) + sd, 0.5)
        p = rarer / (2 * (1 - rarer))
        score = unlinked(float(shares[-1]))
        return cls(shares, np.array([score]), (1 - rarer) * p * (1 - p), variance[:1])

    @property
    def slopes(self) -> tuple[float, float]:
        """Clipped gradients of a row of the first of two labels, and of the second."""
        p = 1 / (1 + np.exp(-float(self.intercept[0])))
        return -min(p, 0.5), min(1 - p, 0.5)

    def scale_odds(self, logs: np.ndarray) -> np.ndarray:
        """Odds of the scales of every shape, ``(features, scales)``, by their evidence: one for all."""
        told = logs.sum(axis=0)
        odds = np.exp(told - told.max()) * SCALE_ODDS
        return np.tile(odds / odds.sum(), (len(logs), 1))

    def gradients(self, margin: Margin) -> tuple[np.ndarray, np.ndarray]:
        """Sums of gradients by bin at the start, centred, and the variance of their noise."""
        if margin.sums is not None:
            return margin.sums - margin.shares[:, None] * margin.sums.sum(axis=0), margin.variance
        rows = margin.rows
        if len(self.intercept) == 1:
            down, up = self.slopes
            sums = (up * rows[:, -1] + down * rows[:, 0])[:, None]
            variance = (up**2 + down**2) * margin.variance
        else:
            sums = rows - rows.sum(axis=1, keepdims=True) * self.shares
            variance = (1 - 1 / len(self.shares)) * margin.variance
        return sums - margin.shares[:, None] * sums.sum(axis=0), variance


def linked(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of the second of two labels that the half-clipped loss expects at scores, and its slope there."""
    p = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    slope = 0.5 * p * (1 - p)
    upper = p >= 0.5
    share = np.where(upper, 0.5 / (1.5 - p), p / (p + 0.5))
    return share, slope / np.where(upper, 1.5 - p, p + 0.5) ** 2


def unlinked(share: float) -> float:
    """Score of two labels at which the half-clipped loss expects a share of the second label."""
    share = min(max(share, 1e-4), 1 - 1e-4)
    p = 1 - 0.5 * (1 - share) / share if share >= 0.5 else 0.5 * share / (1 - share)
    return float(np.log(p / (1 - p)))


@dataclass(frozen=True)
class ShapePrior:
    """What is believed of a shape, less its mean over the rows: deviations ``scale`` times a unit prior's.

    ``related`` holds the covariances of an ordered feature's bins, and the variances alone where bins are
    independent, so that features with many categories cost no more than their number. The mean is the
    intercept's to say: of a bin that nearly all rows are in, next to nothing can be left.
    """

    weight: np.ndarray
    related: np.ndarray

    @classmethod
    def of(cls, margin: Margin, curvature: float) -> ShapePrior:
        """Prior of a feature's shape, and the curvature in each of its bins."""
        weight, shares = margin.mass * curvature, margin.shares
        if np.isnan(margin.order).all():
            return cls(weight, (1 - shares) ** 2 + shares @ shares - shares**2)
        distance = np.abs(margin.order[:, None] - margin.order[None])
        related = np.where(np.isnan(distance), 0.0, np.exp(-np.nan_to_num(distance) / SHAPE_LENGTH))
        np.fill_diagonal(related, 1.0)
        with_mean = related @ shares
        return cls(weight, related - with_mean - with_mean[:, None] + shares @ with_mean)

    def posterior_map(self, scale: float, variance: np.ndarray | float) -> np.ndarray:
        """Take noisy sums of gradients to the posterior mean of a shape: a matrix, or its diagonal."""
        spread = variance + self.weight
        if self.related.ndim == 1:
            gain = scale**2 * self.related * self.weight
            return np.asarray(gain / (gain * self.weight + spread))
        gain = scale**2 * self.weight[:, None] * self.related
        return np.asarray(np.linalg.solve(gain * self.weight + np.diag(spread), gain).T)

    def log_evidence(self, scale: float, variance: np.ndarray, sums: np.ndarray) -> float:
        """Log-likelihood of noisy sums of gradients, up to a constant."""
        spread = variance + self.weight
        n_free = max(sums.shape[1] - 1, 1)
        if self.related.ndim == 1:
            total = (scale**2 * self.related * self.weight**2 + spread)[:, None]
            return float(-0.5 * (sums**2 / total).sum() - 0.5 * n_free * np.log(total).sum())
        covariance = scale**2 * self.weight[:, None] * self.related * self.weight + np.diag(spread)
        root = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(root, sums)
        return float(-0.5 * (whitened**2).sum() - n_free * np.log(np.diag(root)).sum())

    def band(self, scale: float, variance: np.ndarray | float) -> np.ndarray:
        """Posterior standard deviation of a shape's values."""
        known = self.posterior_map(scale, variance)
        if self.related.ndim == 1:
            return np.asarray(scale * np.sqrt(self.related * (1 - known * self.weight)))
        learnt = np.einsum("ij,j,ji->i", known, self.weight, self.related)
        return np.asarray(scale * np.sqrt(np.maximum(np.diag(self.related) - learnt, 0.0)))


def applied(known: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """A matrix, or a diagonal, times sums of gradients."""
    return np.asarray(known @ sums if known.ndim == 2 else known[:, None] * sums)


def _diagonal(known: np.ndarray) -> np.ndarray:
    return np.diag(known) if known.ndim == 2 else known


@dataclass(frozen=True)
class Shapes:
    """Shapes as the noisy counts alone give them.

    Attributes
    ----------
    values : list of (bins, scores)
    energy : (features,)
        Mean square of each shape.
    scales : (features,)
        Prior deviations under which they were found.
    """

    values: list[np.ndarray]
    energy: np.ndarray
    scales: np.ndarray

    def stronger(self, share: float) -> list[int]:
        """Features whose shape has at least a share of the largest energy."""
        return [int(j) for j in np.flatnonzero(self.energy >= share * self.energy.max())]


def first_shapes(margins: Sequence[Margin], start: Start) -> Shapes:
    """Posterior means of the shapes, one feature at a time."""
    priors = [ShapePrior.of(margin, start.curvature) for margin in margins]
    answers = [start.gradients(margin) for margin in margins]
    logs = np.array(
        [
            [prior.log_evidence(scale, variance, sums) for scale in SHAPE_SCALES]
            for prior, (sums, variance) in zip(priors, answers, strict=True)
        ]
    )
    # Roots of the mean squared scales, after what the noisy counts say of them.
    scales = np.sqrt(start.scale_odds(logs) @ np.square(SHAPE_SCALES))
    values = [
        margin.centred(applied(prior.posterior_map(scale, variance), sums))
        for margin, prior, scale, (sums, variance) in zip(margins, priors, scales, answers, strict=True)
    ]
    energy = np.array([m.shares @ (v**2).sum(axis=1) for m, v in zip(margins, values, strict=True)])
    return Shapes(values, energy, scales)


def start_length(shapes: Shapes, overlap: float) -> float:
    """Share of the shapes to start with: less, the more of them there are that may repeat each other."""
    effective = shapes.energy.sum() ** 2 / max((shapes.energy**2).sum(), 1e-12)
    return float(1 / (1 + (effective - 1) * overlap))


class Step(NamedTuple):
    """A step of some shapes, and the slope that it was taken along.

    Attributes
    ----------
    moves : list of (bins, scores)
    sums : list of (bins, scores)
        Gradients before it.
    length : float
        Share of what each shape alone would have moved.
    slope : float
        Gradients times moves, less what their noise adds to it.
    sd : float
        Noise of the slope along the moves in the next answer.
    """

    moves: list[np.ndarray]
    sums: list[np.ndarray]
    length: float
    slope: float
    sd: float


def first_step(
    margins: Sequence[Margin], start: Start, shapes: Shapes, asked: Sequence[int], length: float, sd: float
) -> Step:
    """The start itself, as a step of the shapes that are asked next, with noise ``sd``."""
    moves, before, slope = [], [], 0.0
    for j in asked:
        sums, variance = start.gradients(margins[j])
        known = ShapePrior.of(margins[j], start.curvature).posterior_map(shapes.scales[j], variance)
        moves.append(length * shapes.values[j])
        before.append(sums)
        bias = (_diagonal(known) * variance).sum() * sums.shape[1]
        slope += float((sums * moves[-1]).sum() - length * bias)
    return Step(moves, before, length, slope, sd * sqrt(_inner(moves, moves)))


class InterceptFilter:
    """Steps of the intercept: a Kalman filter of what is still wrong with it.

    A pooled sum of gradients divided by the curvature of all rows measures the error with known noise.

    Parameters
    ----------
    start : Start
    n_rows : float
    moved : float
        How far scores are from the intercept alone.
    """

    def __init__(self, start: Start, n_rows: float, moved: float) -> None:
        self._variance = start.variance
        self._moved = moved
        # The Hessian diag(p) − p·pᵀ of several labels sends g/p to g, since the entries of g sum to 0.
        several = len(start.intercept) > 1
        self._per_row = start.shares if several else np.array([start.curvature])
        self._weight = n_rows * self._per_row

    def step(self, noisy_sum: np.ndarray, sum_variance: float, moved: float, unit: float) -> np.ndarray:
        """Change of the intercept after an answer, after which other parts of the model move too.

        Where gradients are told in units, those of rows without a rare label are mostly less than half
        of one: nothing is left of them, and the label seems more frequent than it is.
        """
        self._variance = self._variance + min(INTERCEPT_DRIFT, self._moved) ** 2
        self._moved = moved
        rounded = np.minimum(unit / 2 / self._per_row, 1.0) ** 2
        trusted = self._variance / (self._variance + sum_variance / self._weight**2 + rounded**2)
        # At most half a Newton step: the curvature was taken at the start.
        gain = np.minimum(trusted, 0.5)
        self._variance = (1 - gain) * self._variance
        return np.asarray(gain * noisy_sum / self._weight)

    def settle(self, noisy_sum: np.ndarray, sum_variance: float) -> np.ndarray:
        """Change of the intercept after an answer at the end, when shapes may have shifted it."""
        variance = self._variance + self._moved**2
        spread = variance + sum_variance / self._weight**2 + 1 / self._weight
        return np.clip(variance / spread * noisy_sum / self._weight, -LONGEST_SHIFT, LONGEST_SHIFT)


class ShapeSteps:
    """The steps of a stage, whose length may adapt.

    The slope that is left along the last step says how long it should have been. Where it points back, shapes
    that repeat each other have gone too far together: the part that was too much is taken back.

    Parameters
    ----------
    margins : of the asked features
    last : Step
        How their shapes started.
    curvature : float
    scales : of the asked features
    sd : float
        Noise of one pass.
    passes : int
    step : float
    adapt : bool
    """

    def __init__(
        self,
        margins: Sequence[Margin],
        last: Step,
        curvature: float,
        scales: np.ndarray,
        sd: float,
        passes: int,
        step: float,
        adapt: bool,
    ) -> None:
        self._margins = margins
        self._sd = sd
        self._step = step
        self._adapt = adapt
        priors = [ShapePrior.of(margin, curvature) for margin in margins]
        self._maps = [
            prior.posterior_map(scale, sd**2 / passes) for prior, scale in zip(priors, scales, strict=True)
        ]
        sizes = np.array([len(m.mass) for m in margins])
        self._weights = (1 / sizes) / (1 / sizes).sum()
        self.sum_variance = sd**2 / (1 / sizes).sum()
        self._last, self._first = last, True

    def take(self, noisy_blocks: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Pooled sum of all gradients, and a step of every asked shape."""
        pooled = sum(w * block.sum(axis=0) for w, block in zip(self._weights, noisy_blocks, strict=True))
        centred = [
            block - (block.sum(axis=0) - pooled) / len(block) - margin.shares[:, None] * pooled
            for block, margin in zip(noisy_blocks, self._margins, strict=True)
        ]
        back, earlier = self._look_back(centred), self._last
        # Gradients where the rest of the last step ends: between those before it and those after.
        centred = [
            (1 - back) * after + back * before for before, after in zip(earlier.sums, centred, strict=True)
        ]
        moves = [
            self._step * margin.centred(applied(known, block))
            for margin, known, block in zip(self._margins, self._maps, centred, strict=True)
        ]
        n_scores = noisy_blocks[0].shape[1]
        bias = self._step * self._sd**2 * sum(_diagonal(m).sum() for m in self._maps) * n_scores
        slope = _inner(moves, centred) - bias
        self._last = Step(moves, centred, self._step, slope, self._sd * sqrt(_inner(moves, moves)))
        return np.asarray(pooled), [
            move - back * last for move, last in zip(moves, earlier.moves, strict=True)
        ]

    def spread(self, moves: Sequence[np.ndarray]) -> float:
        """Deviation over the rows of the sum of some moves, were they independent."""
        return spread([margin.shares for margin in self._margins], moves)

    def _look_back(self, centred: list[np.ndarray]) -> float:
        """Secant: change the length by the slope that is left; the part of the last step to take back."""
        last, first = self._last, self._first
        self._first = False
        if last.slope <= 0:
            return 0.0
        left, left_sd = _inner(last.moves, centred) / last.slope, last.sd / last.slope
        trust = 1 / (1 + (left_sd / 0.3) ** 2)
        factor = LEFT_OVER / max(1 - left, 0.15) if left < 1 else 1.5
        wanted = min(last.length * float(np.clip(factor**trust, 1 / 3, 2)), LONGEST_STEP)
        if left < 0:
            self._step = min(self._step, wanted)
            return trust * left / (left - 1)
        if self._adapt and not first:
            self._step = wanted
        return 0.0


def spread(shares: Sequence[np.ndarray], moves: Sequence[np.ndarray]) -> float:
    """Deviation over the rows of the sum of some moves, were they independent."""
    return sqrt(sum(part @ (move**2).mean(axis=1) for part, move in zip(shares, moves, strict=True)))


def _inner(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> float:
    return float(sum((x * y).sum() for x, y in zip(a, b, strict=True)))
