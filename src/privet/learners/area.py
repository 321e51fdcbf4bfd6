"""The area under the ROC curve from noisy rows by score and label: all post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

LEAST_BINS, MOST_BINS = 8, 256


class Area(NamedTuple):
    """An area, its variances from noise and from sampling, and how far the bins can have moved it."""

    value: float
    noise: float
    sampling: float
    tied: float


UNKNOWN = Area(0.5, 0.25, 0.0, 0.0)


def n_bins(smaller: float, scale: float) -> int:
    """How many bins weigh ties against noise of a scale, where the smaller side has so many rows.

    With b bins about 1/2b of the area is tied, and the noise of b counts moves it by about
    √b·scale/rows: both are in balance near b = (rows/(2·scale))^⅔.
    """
    wanted = max(smaller / (2 * scale), 0.0) ** (2 / 3)
    return int(np.clip(wanted, LEAST_BINS, MOST_BINS))


def gathered(noisy_rows: np.ndarray, bins: int) -> np.ndarray:
    """Bin of every cell such that bins hold about equally many of the rows by cell."""
    below = isotonic_regression(np.cumsum(noisy_rows) - noisy_rows / 2, y_min=0)
    if below[-1] <= 0:
        below = np.arange(len(below)) + 1.0
    return np.minimum((below / below[-1] * bins).astype(np.int64), bins - 1)


def area(others: np.ndarray, own: np.ndarray, variances: tuple[float, float]) -> Area:
    """Area under the curve of a label, from noisy rows by bin of its score: without it, and with it.

    Pairs in the same bin count half, and all of that is an error that the bins may have made. Counts
    are taken as they are, negative ones too: noise then cancels. The sampling error is that of DeLong,
    DeLong and Clarke-Pearson (1988), for rows in bins.
    """
    n_others, n_own = float(others.sum()), float(own.sum())
    if min(n_others, n_own) < 1:
        return UNKNOWN
    beaten = (np.cumsum(others) - others / 2) / n_others  # share of the others below a row of a bin
    beating = 1 - (np.cumsum(own) - own / 2) / n_own
    value = float((own * beaten).sum() / n_own)
    sides = ((others, n_others, beating, variances[0]), (own, n_own, beaten, variances[1]))
    noise = sum(variance * ((places - value) ** 2).sum() / n**2 for _, n, places, variance in sides)
    sampling = sum((rows * (places - value) ** 2).sum() / n**2 for rows, n, places, _ in sides)
    tied = (own * others).sum() / (2 * n_own * n_others)
    return Area(value, float(noise), max(float(sampling), 0.0), max(float(tied), 0.0))


def mean_area(areas: Sequence[Area], width: float) -> tuple[float, float]:
    """Mean of several labels' areas, and half the width of its interval.

    Noise is independent from label to label. Sampling errors and ties may go together: those of the
    mean are no larger than their mean.
    """
    n = len(areas)
    noise = sqrt(sum(a.noise for a in areas)) / n
    sampling = sum(sqrt(a.sampling) for a in areas) / n
    margin = width * hypot(noise, sampling) + sum(a.tied for a in areas) / n
    return min(max(sum(a.value for a in areas) / n, 0.0), 1.0), margin
