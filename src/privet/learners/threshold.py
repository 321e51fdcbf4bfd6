"""A threshold between two labels, chosen from noisy rows by score: all post-processing of two questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from privet.errors import QuestionError
from privet.learners.score_ranks import asked_rows
from privet.privacy import Protected
from privet.privacy.questions.scores import SCORE_EDGES
from privet.structure import Scored


def _f1(right: np.ndarray, wrong: np.ndarray, own: float, others: float) -> np.ndarray:
    return 2 * right / np.maximum(right + wrong + own, 1.0)


def _accuracy(right: np.ndarray, wrong: np.ndarray, own: float, others: float) -> np.ndarray:
    return (right + others - wrong) / max(own + others, 1.0)


def _balanced(right: np.ndarray, wrong: np.ndarray, own: float, others: float) -> np.ndarray:
    return (right / max(own, 1.0) + 1 - wrong / max(others, 1.0)) / 2


AIMS: Mapping[str, Callable[[np.ndarray, np.ndarray, float, float], np.ndarray]] = {
    "f1": _f1,
    "balanced_accuracy": _balanced,
    "accuracy": _accuracy,
}
"""What a threshold may make largest, by rows above it with and without the second label, and all of both."""


def check_aim(metric: str) -> None:
    """Refuse what no threshold is chosen by."""
    if not isinstance(metric, str) or metric not in AIMS:
        raise QuestionError(f"no threshold is chosen by {metric!r}.", f"by {', '.join(AIMS)}.")


def ask_threshold(protected: Protected, predictor: Scored, metric: str, epsilon: Fraction) -> float:
    """Ask protected rows for the threshold that a metric is largest at."""
    rows, _, bins = asked_rows(protected, predictor, epsilon)
    return best_threshold(rows[0], bins, metric)


def best_threshold(noisy_rows: np.ndarray, bins: np.ndarray, metric: str) -> float:
    """The edge between two bins at which a metric is largest, of noisy rows without and with the label.

    ``bins`` has the bin of every cell; bins ascend with the share.
    """
    if len(noisy_rows) < 2:
        return 0.5
    # Rows above each edge: what lies below the first bin's end is not above any threshold.
    above = np.maximum(np.cumsum(noisy_rows[::-1], axis=0)[::-1], 0.0)[1:]
    others, own = np.maximum(noisy_rows.sum(axis=0), 1.0)
    last = np.searchsorted(bins, np.arange(len(noisy_rows) - 1), side="right") - 1
    values = AIMS[metric](np.minimum(above[:, 1], own), np.minimum(above[:, 0], others), own, others)
    return float(SCORE_EDGES[np.clip(last[int(np.argmax(values))], 0, len(SCORE_EDGES) - 1)])
