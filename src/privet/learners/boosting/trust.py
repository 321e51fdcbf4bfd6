"""How two models are weighed by noisy rows by cell of both their scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from privet.learners.boosting.loss import Labels, Loss
from privet.learners.boosting.numbers import WIDTH, Numbers

SURE = 1.65
"""Deviations by which the weight of a start must be above nothing: of worthless ones one in twenty is."""

LARGEST_WEIGHT = 1.5

POWER = 3
"""Of what either model tells alone, by which their weights are likely to be, before both are seen."""

OWN_SPREAD = 0.3
"""Standard deviation of the weight that a model of these rows should have alone, about 1."""

SPREAD = 0.4
"""Standard deviation of the weights about that; less of the one that alone tells less."""

STEPS = 30


@dataclass(frozen=True)
class Trust:
    """Weights of the start's scores and of those that the rows taught, and what is added to their sum."""

    start: float
    own: float
    shift: float
    is_clear: bool

    @property
    def accepted(self) -> bool:
        """Whether the start alone clearly tells the label, and adds to what the rows taught."""
        return self.is_clear and self.start > 0


def weighed(places: np.ndarray, noisy: np.ndarray, sd: float, loss: Loss) -> Trust:
    """Weights by the noisy table: of either model alone, and then of both, about what that makes likely.

    Parameters
    ----------
    places : (cells, 2)
        Scores of either model in every cell.
    noisy : (cells, columns)
        Rows by label, or below and above the second model's number, or by contrast of several labels.
    sd : float
        Of the noise.
    loss : Loss
    """
    contrasts = noisy.shape[1] == 1
    centre = np.zeros(2) if contrasts else places.mean(axis=0)
    around, free = places - centre, np.full((len(places), 1), 0.0 if contrasts else 1.0)

    def likely(of: np.ndarray, prior: np.ndarray, *spread: float) -> tuple[np.ndarray, float]:
        known, wide = np.append(centre[1], prior), np.array([1.0, *spread])
        design = np.hstack([free, of])
        if isinstance(loss, Numbers):
            return _least_squares(design, known, wide, _numbers(noisy, around[:, 1], sd, loss), loss)
        return _likeliest(design, known, wide, _labels(noisy, sd, loss), loss)

    start, sure = likely(around[:, [0]], np.zeros(1), 1.0)
    # What the rows taught is as bold as it should be, about.
    own, _ = likely(around[:, [1]], np.ones(1), OWN_SPREAD)
    told = np.maximum([start[1], own[1]], 0.0) ** 2 * around.var(axis=0)
    part = told**POWER / max(float((told**POWER).sum()), 1e-30)
    # What hardly tells anything alone will not tell much beside another.
    spread = np.minimum(1.0, np.sqrt(told / max(float(told.max()), 1e-30)) + 0.01)
    theta, _ = likely(around, part * [start[1], own[1]], *SPREAD * spread)
    weights = np.clip(theta[1:], 0.0, LARGEST_WEIGHT)
    shift = 0.0 if contrasts else float(theta[0] - weights @ centre)
    return Trust(float(weights[0]), float(weights[1]), shift, bool(start[1] > SURE * sure))


@dataclass(frozen=True)
class _Answer:
    """What every cell says: rows, or sums for rows, and the variance of its noise."""

    cells: slice
    own: np.ndarray
    others: np.ndarray
    variance: float
    times: int


def _labels(noisy: np.ndarray, sd: float, loss: Labels) -> _Answer:
    if noisy.shape[1] == 2:
        return _Answer(slice(None), noisy[:, 1], noisy[:, 0], sd**2, 1)
    # Contrasts: a row in a cell has what one in the mirrored cell has not; it is there for each other label.
    upper = slice((len(noisy) + 1) // 2, None)
    return _Answer(upper, noisy[upper, 0], noisy[::-1][upper, 0], sd**2, loss.n_labels - 1)


def _numbers(noisy: np.ndarray, scores: np.ndarray, sd: float, loss: Numbers) -> _Answer:
    """Sums of what numbers are above the centre, and rows: residuals are about the second model's scores."""
    rows, unit = np.maximum(noisy.sum(axis=1), 0.0), loss.gradient_unit
    return _Answer(
        slice(None), (noisy[:, 1] - noisy[:, 0]) * unit + rows * scores, rows, 2 * (sd * unit) ** 2, 1
    )


def _likeliest(
    design: np.ndarray, prior: np.ndarray, spread: np.ndarray, answer: _Answer, loss: Labels
) -> tuple[np.ndarray, float]:
    """Weights by steps of weighted least squares about a prior, and the deviation of the first one."""
    design, theta = design[answer.cells], prior.copy()
    rows = np.maximum(answer.own + answer.others, 0.0)
    for _ in range(STEPS):
        share, slope = loss.share_of(design @ theta)
        sampling = answer.times * rows * share * (1 - share)
        pull = rows * slope / (sampling + answer.variance * (share**2 + (1 - share) ** 2))
        curvature = (design * (pull * rows * slope)[:, None]).T @ design
        excess = design.T @ (pull * ((1 - share) * answer.own - share * answer.others))
        move = np.linalg.solve(curvature + np.diag(spread**-2), excess - (theta - prior) / spread**2)
        theta = theta + move / max(1.0, float(np.abs(move).max()))
    return theta, _deviation(curvature)


def _least_squares(
    design: np.ndarray, prior: np.ndarray, spread: np.ndarray, answer: _Answer, loss: Numbers
) -> tuple[np.ndarray, float]:
    """The same of a number."""
    rows = answer.others
    pull = rows / np.maximum(answer.variance + rows * (loss.gradient_unit / WIDTH) ** 2, 1e-12)
    curvature = (design * (pull * rows)[:, None]).T @ design
    excess = design.T @ (pull * (answer.own + rows * (prior[0] - design @ prior)))
    return prior + np.linalg.solve(curvature + np.diag(spread**-2), excess), _deviation(curvature)


def _deviation(curvature: np.ndarray) -> float:
    """Of the first weight, the constant being free where anything is said of it."""
    known = curvature[1, 1] - curvature[0, 1] ** 2 / max(curvature[0, 0], 1e-12)
    return 1 / sqrt(max(float(known), 1e-12))
