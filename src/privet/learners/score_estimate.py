"""What a score is told by: a value, an interval, and what noise and sampling do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np

WIDTH = log(20) / sqrt(2)
"""Standard deviations on either side of an interval: 95 % of Laplace noise, and more of a normal error."""

DRAWS = 400
"""Times that noise and sample are drawn anew for an interval."""


class CurvePoint(NamedTuple):
    """A bin of a calibration curve.

    Attributes
    ----------
    lower, upper : float
        Shares that are in the bin.
    predicted, observed : float
        Mean share that was told, and share of the rows that were as told.
    margin : float
        What noise and sample do to the difference of these two, on either side, in 95 % of cases.
    noisy_rows : float
    """

    lower: float
    upper: float
    predicted: float
    observed: float
    margin: float
    noisy_rows: float


class Estimate(NamedTuple):
    """A score, the ends of its interval, and about how many rows it was asked of."""

    value: float
    low: float
    high: float
    noisy_rows: float
    curve: Sequence[CurvePoint] = ()

    @property
    def margin(self) -> float:
        """The further end of the interval from the value."""
        return max(self.high - self.value, self.value - self.low)

    @classmethod
    def about(cls, value: float, margin: float, noisy_rows: float) -> Estimate:
        """A score in the middle of its interval."""
        return cls(value, value - margin, value + margin, noisy_rows)


def margin_of(score: Callable[[np.ndarray], np.ndarray], counts: np.ndarray, variance: np.ndarray) -> float:
    """Half the width of an interval of a function of noisy counts, such as holds in 95 % of cases.

    Noise and sample are drawn anew about the counts, by a generator of our own: after the wall, this is
    arithmetic, and the same for the same answer.

    Parameters
    ----------
    score : callable
        Of counts with one more axis before theirs: a value for each.
    counts, variance : arrays of one form
        Noisy rows, and the variance of their noise.
    """
    random, rows = np.random.default_rng(0), np.maximum(counts, 0)
    noise = random.laplace(0, 1, (DRAWS, *counts.shape)) * np.sqrt(variance / 2)
    sample = random.normal(0, 1, (DRAWS, *counts.shape)) * np.sqrt(rows)
    return float(np.quantile(np.abs(score(counts + noise + sample) - score(counts[None])), 0.95))
