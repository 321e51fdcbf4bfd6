"""Scores that are means of the rows' losses: one question each."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

from privet.answers import NoisyCounts
from privet.learners.score_estimate import WIDTH, Estimate
from privet.privacy import Cost, Protected
from privet.privacy.questions.scores import LOSSES, Losses
from privet.structure import Scored


def accuracy(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Share of rows whose label is predicted."""
    value, low, high, rows, _ = _asked(protected, predictor, "errors", epsilon)
    return Estimate(1 - value, 1 - high, 1 - low, rows)


def log_loss(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Mean log loss, each cut at 7 nats."""
    return _asked(protected, predictor, "log loss", epsilon)


def brier(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Mean of half the squared distance of the shares from the label."""
    return _asked(protected, predictor, "squared error", epsilon)


def _asked(protected: Protected, predictor: Scored, loss: str, epsilon: Fraction) -> Estimate:
    return mean_loss(protected.ask(Losses(predictor, loss), Cost.pure(epsilon)), loss)


def mean_loss(noisy: NoisyCounts, loss: str) -> Estimate:
    """Mean loss of the rows, from the three sums that the wall answers."""
    return mean_of(noisy, *LOSSES[loss])


def mean_of(noisy: NoisyCounts, bound: int, largest: float) -> Estimate:
    """The same of losses with a bound, in units and as it is."""
    losses, rest, squares = noisy.values.astype(float).tolist()
    total = losses + rest
    if total < bound:
        return Estimate.about(largest / 2, largest / 2, 0.0)
    mean, rows = min(max(losses / total, 0.0), 1.0), total / bound
    noise = noisy.variance * ((1 - mean) ** 2 + mean**2) / total**2
    # Nothing within [0, 1] spreads wider than zeros and ones, two of each being added to be on the safe side.
    safe = (mean * rows + 2) / (rows + 4)
    spread = (
        safe * (1 - safe) if bound == 1 else min(max(8 * squares / total - mean**2, 0), safe * (1 - safe))
    )
    return Estimate.about(largest * mean, largest * WIDTH * sqrt(noise + spread / rows), rows)
