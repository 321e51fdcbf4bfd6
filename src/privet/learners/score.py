"""Scores of a released model, asked of held-out rows at a price: they are people too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import log, sqrt
from typing import NamedTuple

from privet.answers import NoisyCounts
from privet.errors import QuestionError
from privet.learners.area import area, gathered, mean_area, n_bins
from privet.privacy import Cost, Protected
from privet.privacy.question import pure_only
from privet.privacy.questions.scores import LOSSES, Losses, ScoreRows
from privet.structure import Predictor

WIDTH = log(20) / sqrt(2)
"""Standard deviations on either side of an interval: 95 % of Laplace noise, and more of a normal error."""

CELL_SHARE = Fraction(1, 5)
"""Share of the budget that finds where the scores lie, before their bins are asked."""


class Estimate(NamedTuple):
    """A score, half the width of its interval, and about how many rows it was asked of."""

    value: float
    margin: float
    noisy_rows: float


def check_metric(metric: str) -> None:
    """Refuse what is not a metric."""
    if not isinstance(metric, str) or metric not in METRICS:
        raise QuestionError(f"there is no metric {metric!r}.", f"metrics are {', '.join(METRICS)}.")


def ask_score(protected: Protected, predictor: Predictor, metric: str, epsilon: Fraction) -> Estimate:
    """Ask protected rows for a score."""
    return METRICS[metric](protected, predictor, epsilon)


def _accuracy(protected: Protected, predictor: Predictor, epsilon: Fraction) -> Estimate:
    errors = _loss(protected, predictor, "errors", epsilon)
    return errors._replace(value=1 - errors.value)


def _log_loss(protected: Protected, predictor: Predictor, epsilon: Fraction) -> Estimate:
    return _loss(protected, predictor, "log loss", epsilon)


def _loss(protected: Protected, predictor: Predictor, loss: str, epsilon: Fraction) -> Estimate:
    return mean_loss(protected.ask(Losses(predictor, loss), Cost.pure(epsilon)), loss)


def mean_loss(noisy: NoisyCounts, loss: str) -> Estimate:
    """Mean loss of the rows, from the three sums that the wall answers."""
    bound, largest = LOSSES[loss]
    losses, rest, squares = noisy.values.astype(float).tolist()
    total = losses + rest
    if total < bound:
        return Estimate(largest / 2, largest / 2, 0.0)
    mean, rows = min(max(losses / total, 0.0), 1.0), total / bound
    noise = noisy.variance * ((1 - mean) ** 2 + mean**2) / total**2
    # Nothing within [0, 1] spreads wider than zeros and ones, two of each being added to be on the safe side.
    safe = (mean * rows + 2) / (rows + 4)
    spread = (
        safe * (1 - safe) if bound == 1 else min(max(8 * squares / total - mean**2, 0), safe * (1 - safe))
    )
    return Estimate(largest * mean, largest * WIDTH * sqrt(noise + spread / rows), rows)


def _auc(protected: Protected, predictor: Predictor, epsilon: Fraction) -> Estimate:
    n_labels = protected.schema.n_labels
    if n_labels < 2:
        raise QuestionError("one label alone has no ROC curve.", "ask for the accuracy.")
    first, second = Cost.pure(epsilon * CELL_SHARE), Cost.pure(epsilon * (1 - CELL_SHARE))
    protected.reserve([ScoreRows.plan(first, n_labels), ScoreRows.plan(second, n_labels)])
    cells = protected.ask(ScoreRows(predictor), first).values
    smaller = (cells.sum(axis=1) / [1, n_labels - 1]).min(axis=1).mean()
    scale = float((1 if n_labels == 2 else 2) / pure_only(second))
    bins = gathered(cells.sum(axis=(0, 2)), n_bins(smaller, scale))
    noisy = protected.ask(ScoreRows(predictor, bins), second)
    variance = noisy.variance
    # Rows that have the label were counted once for every other label.
    rows, variances = noisy.values / [1, n_labels - 1], (variance, variance / (n_labels - 1) ** 2)
    value, margin = mean_area([area(of[:, 0], of[:, 1], variances) for of in rows], WIDTH)
    return Estimate(value, margin, max(float(rows.sum()) / len(rows), 0.0))


METRICS: Mapping[str, Callable[[Protected, Predictor, Fraction], Estimate]] = {
    "accuracy": _accuracy,
    "log_loss": _log_loss,
    "auc": _auc,
}
