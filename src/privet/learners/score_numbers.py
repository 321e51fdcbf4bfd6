"""Scores of models of numbers: how large errors are is asked first, then their sums up to about there."""

from __future__ import annotations

from fractions import Fraction
from math import inf, sqrt

import numpy as np

from privet.learners.boosting.numbers import constant
from privet.learners.score_estimate import Estimate
from privet.learners.score_losses import mean_of
from privet.privacy import Charge, Cost, Protected
from privet.privacy.questions.errors import BOUND, ErrorRows, ErrorSums
from privet.privacy.questions.numbers import TargetRows
from privet.schema import Target
from privet.structure import Predictor

SIZES_SHARE = Fraction(1, 5)
"""Share of the budget that finds how large errors are, and of R² the mean of the numbers."""

OCTAVES, AN_OCTAVE = 12, 2
CLEAR = 3
"""Rows beyond an error, in deviations of their noise, from which on that error is not cut."""


def r_squared(protected: Protected, predictor: Predictor, epsilon: Fraction) -> Estimate:
    """One less the mean squared error by that of the mean."""
    sizes, sums = SIZES_SHARE * epsilon / 3, (1 - SIZES_SHARE) * epsilon / 2
    target = protected.schema.target
    first, last = target.value(0), target.value(target.n_cells - 1)
    middle = constant(protected.schema, (first + last) / 2)
    half = (last - first) / 2
    looked, summed = _looked(sizes), _summed(sums)
    protected.reserve([TargetRows.plan(Cost.pure(sizes)), looked, looked, summed, summed])
    below, above = protected.ask(TargetRows(middle, half), Cost.pure(sizes)).values
    mean = (first + last) / 2 + half * float(np.clip((above - below) / max(above + below, 1), -1, 1))
    widths = [_width(protected, each, sizes) for each in (predictor, constant(protected.schema, mean))]
    models = zip((predictor, constant(protected.schema, mean)), widths, strict=True)
    left, all_ = (_mean(protected, each, 2, width, sums) for each, width in models)
    if all_.value <= 0 or all_.noisy_rows < 1:
        return Estimate(0.0, -inf, inf, all_.noisy_rows)
    ratio = left.value / all_.value
    off = sqrt(left.margin**2 + (ratio * all_.margin) ** 2) / all_.value
    return Estimate.about(1 - ratio, off, (left.noisy_rows + all_.noisy_rows) / 2)


def absolute_error(protected: Protected, predictor: Predictor, epsilon: Fraction) -> Estimate:
    """Mean absolute error, in the target's unit."""
    return _error(protected, predictor, 1, epsilon)


def root_squared_error(protected: Protected, predictor: Predictor, epsilon: Fraction) -> Estimate:
    """Root of the mean squared error, in the target's unit."""
    value, low, high, rows, _ = _error(protected, predictor, 2, epsilon)
    return Estimate(sqrt(max(value, 0)), sqrt(max(low, 0)), sqrt(max(high, 0)), rows)


def _error(protected: Protected, predictor: Predictor, power: int, epsilon: Fraction) -> Estimate:
    sizes, sums = SIZES_SHARE * epsilon, (1 - SIZES_SHARE) * epsilon
    protected.reserve([_looked(sizes), _summed(sums)])
    return _mean(protected, predictor, power, _width(protected, predictor, sizes), sums)


def _looked(epsilon: Fraction) -> Charge:
    return ErrorRows.plan(Cost.pure(epsilon))


def _summed(epsilon: Fraction) -> Charge:
    return ErrorSums.plan(Cost.pure(epsilon))


def _width(protected: Protected, predictor: Predictor, epsilon: Fraction) -> float:
    """An error that next to no rows exceed, by their noisy sizes."""
    edges = _edges(protected.schema.target)
    noisy = protected.ask(ErrorRows(predictor, edges), Cost.pure(epsilon))
    beyond = np.cumsum(noisy.values[::-1])[::-1][1:]
    sd = sqrt(noisy.variance) * np.sqrt(np.arange(len(edges), 0, -1))
    clear = np.flatnonzero(beyond > CLEAR * sd)
    return edges[min(int(clear[-1]) + 1, len(edges) - 1)] if len(clear) else edges[-1]


def _mean(
    protected: Protected, predictor: Predictor, power: int, width: float, epsilon: Fraction
) -> Estimate:
    """Mean of the errors to a power, each cut at a width."""
    noisy = protected.ask(ErrorSums(predictor, power, width), Cost.pure(epsilon))
    return mean_of(noisy, BOUND, width**power)


def _edges(target: Target) -> list[float]:
    steps = np.arange(OCTAVES * AN_OCTAVE, -1, -1) / AN_OCTAVE
    return [float(edge) for edge in (target.upper - target.lower) * 2.0**-steps]
