"""Scores of how rows are ranked, from noisy rows by bin of the score and label: all post-processing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privet.errors import QuestionError
from privet.learners.area import area, gathered, mean_area, n_bins
from privet.learners.score_estimate import WIDTH, Estimate, margin_of
from privet.privacy import Cost, Protected
from privet.privacy.question import pure_only
from privet.privacy.questions.scores import ScoreRows
from privet.structure import Scored

CELL_SHARE = Fraction(1, 5)
"""Share of the budget that finds where the scores lie, before their bins are asked."""

WITHIN = (np.arange(8) + 0.5) / 8
"""Places within a bin at which its precision is averaged."""


def asked_rows(
    protected: Protected, predictor: Scored, epsilon: Fraction
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Noisy rows by bin of each ranked label's share, without and with it; variances; bin of each cell.

    Two questions in sequence: the first finds where the scores lie.
    """
    n_labels = protected.schema.n_labels
    first, second = Cost.pure(epsilon * CELL_SHARE), Cost.pure(epsilon * (1 - CELL_SHARE))
    protected.reserve([ScoreRows.plan(first, n_labels), ScoreRows.plan(second, n_labels)])
    cells = protected.ask(ScoreRows(predictor), first).values
    smaller = (cells.sum(axis=1) / [1, n_labels - 1]).min(axis=1).mean()
    scale = float((1 if n_labels == 2 else 2) / pure_only(second))
    bins = gathered(cells.sum(axis=(0, 2)), n_bins(smaller, scale))
    noisy = protected.ask(ScoreRows(predictor, bins), second)
    # Rows that have the label were counted once for every other label.
    weights = np.array([1, n_labels - 1])
    return noisy.values / weights, noisy.variance / weights**2, bins


def auc(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Area under the ROC curve; of more than two labels the mean over them."""
    _check_ranked(protected, "ROC curve")
    rows, variances, _ = asked_rows(protected, predictor, epsilon)
    pair = float(variances[0]), float(variances[1])
    value, margin = mean_area([area(of[:, 0], of[:, 1], pair) for of in rows], WIDTH)
    return Estimate.about(value, margin, _n_rows(rows))


def average_precision(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Mean precision over rows that have the label, from the highest score down; of more labels the mean."""
    _check_ranked(protected, "precision and recall")
    rows, variances, _ = asked_rows(protected, predictor, epsilon)
    value = float(mean_precision(rows[None])[0])
    ties = [abs(float(mean_precision(rows[None], order)[0]) - value) for order in (0.0, 1.0)]
    margin = margin_of(mean_precision, rows, np.broadcast_to(variances, rows.shape)) + max(ties)
    return Estimate.about(value, margin, _n_rows(rows))


def mean_precision(rows: np.ndarray, order: float | None = None) -> np.ndarray:
    """Average precision, mean over labels, ``(tables,)``, of rows ``(tables, labels, bins, 2)``.

    Counts are taken as they are, negative ones too: noise then cancels. Rows of one bin are in random order;
    with ``order`` 0 those that have the label come first, with 1 last.
    """
    falling = rows[:, :, ::-1]
    above = np.cumsum(falling, axis=2) - falling
    own = above[..., 1, None] + WITHIN * falling[..., 1, None]
    others = above[..., 0, None] + (WITHIN if order is None else order) * falling[..., 0, None]
    precision = np.clip(own / np.maximum(own + others, 1.0), 0, 1).mean(axis=-1)
    total = np.maximum(rows[..., 1].sum(axis=2), 1.0)
    return np.asarray(np.clip((falling[..., 1] * precision).sum(axis=2) / total, 0, 1).mean(axis=1))


def _n_rows(rows: np.ndarray) -> float:
    return max(float(rows.sum()) / len(rows), 0.0)


def _check_ranked(protected: Protected, what: str) -> None:
    if protected.schema.n_labels < 2:
        raise QuestionError(f"one label alone has no {what}.", "ask for the accuracy.")
