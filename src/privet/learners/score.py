"""Scores of a released model, asked of held-out rows at a price: they are people too.

A further metric is a function of protected rows, a predictor and an ε, and its line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from privet.errors import QuestionError
from privet.learners.score_estimate import Estimate
from privet.learners.score_labels import balanced_accuracy, calibration_error, f1
from privet.learners.score_losses import accuracy, brier, log_loss
from privet.learners.score_numbers import absolute_error, r_squared, root_squared_error
from privet.learners.score_ranks import auc, average_precision
from privet.privacy import Protected
from privet.privacy.questions.scores import LOSSES
from privet.schema import Label, Schema, Target
from privet.structure import Scored


@dataclass(frozen=True)
class Metric:
    """A score by its question.

    Attributes
    ----------
    ask : callable
        Asks protected rows about a predictor, for an ε.
    lowest, highest : float
        What it can be.
    is_loss : bool
        Whether less is better.
    predicts : Label or Target
        Of which models it is a score.
    """

    ask: Callable[[Protected, Any, Fraction], Estimate]
    lowest: float = 0.0
    highest: float = 1.0
    is_loss: bool = False
    predicts: type[Label | Target] = Label


METRICS: Mapping[str, Metric] = {
    "accuracy": Metric(accuracy),
    "balanced_accuracy": Metric(balanced_accuracy),
    "f1": Metric(f1),
    "log_loss": Metric(log_loss, highest=LOSSES["log loss"][1], is_loss=True),
    "brier": Metric(brier, is_loss=True),
    "calibration_error": Metric(calibration_error, is_loss=True),
    "auc": Metric(auc),
    "average_precision": Metric(average_precision),
    "r2": Metric(r_squared, lowest=-inf, predicts=Target),
    "mae": Metric(absolute_error, highest=inf, is_loss=True, predicts=Target),
    "rmse": Metric(root_squared_error, highest=inf, is_loss=True, predicts=Target),
}


def check_metric(metric: str, schema: Schema | None = None) -> None:
    """Refuse what is not a metric, or not one of what a schema predicts."""
    among = [m for m in METRICS if schema is None or isinstance(schema.label, METRICS[m].predicts)]
    if not isinstance(metric, str) or metric not in METRICS:
        raise QuestionError(f"there is no metric {metric!r}.", f"metrics are {', '.join(among)}.")
    if metric not in among:
        raise QuestionError(f"{metric} is no score of what this schema predicts.", f"use {', '.join(among)}.")


def usual_metric(schema: Schema) -> str:
    """What is scored if nothing is said: accuracy of labels, R² of numbers."""
    return next(name for name, metric in METRICS.items() if isinstance(schema.label, metric.predicts))


def ask_score(protected: Protected, predictor: Scored, metric: str, epsilon: Fraction) -> Estimate:
    """Ask protected rows for a score; its interval is cut to what it can be."""
    of = METRICS[metric]
    asked = of.ask(protected, predictor, epsilon)
    return asked._replace(low=max(asked.low, of.lowest), high=min(asked.high, of.highest))


def larger_is_better(metric: str, value: float) -> float:
    """A score that is larger where it is better."""
    return -value if METRICS[metric].is_loss else value
