"""Scores of the labels that are named, and of how far shares can be believed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import erf, exp, pi, sqrt

import numpy as np

from privet.answers import NoisyCounts
from privet.learners.score_estimate import WIDTH, CurvePoint, Estimate, margin_of
from privet.privacy import Cost, Protected
from privet.privacy.questions.scores import PredictedRows, Reliability
from privet.structure import Scored

UNIT = float(Reliability.change(Cost.pure(1)).l1)
"""What a row adds to the sums of shares."""


def f1(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """F1 of the second of two labels, or the mean over more."""
    return _asked(protected, predictor, epsilon, mean_f1)


def balanced_accuracy(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Mean over the labels of the share of their rows that is predicted right."""
    return _asked(protected, predictor, epsilon, mean_recall)


def _asked(
    protected: Protected, predictor: Scored, epsilon: Fraction, score: Callable[[np.ndarray], np.ndarray]
) -> Estimate:
    noisy = protected.ask(PredictedRows(predictor), Cost.pure(epsilon))
    rows = noisy.values.astype(float)
    margin = margin_of(score, rows, np.full(rows.shape, noisy.variance))
    return Estimate.about(float(score(rows[None])[0]), margin, max(float(rows.sum()), 0.0))


def mean_f1(rows: np.ndarray) -> np.ndarray:
    """F1, ``(tables,)``, of rows by predicted label and label, ``(tables, labels, labels)``."""
    rows = np.maximum(rows, 0)
    right = np.diagonal(rows, axis1=1, axis2=2)
    either = rows.sum(axis=1) + rows.sum(axis=2)
    values = 2 * right / np.maximum(either, 1.0)
    return np.asarray(values[:, 1] if values.shape[1] == 2 else values.mean(axis=1))


def mean_recall(rows: np.ndarray) -> np.ndarray:
    """Balanced accuracy, ``(tables,)``, of the same; of labels that have rows."""
    rows = np.maximum(rows, 0)
    of_label = rows.sum(axis=1)
    recall = np.diagonal(rows, axis1=1, axis2=2) / np.maximum(of_label, 1.0)
    there = of_label >= 1
    return np.asarray((recall * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1))


def calibration_error(protected: Protected, predictor: Scored, epsilon: Fraction) -> Estimate:
    """Mean difference over ten equal bins between the share that is told and that of rows as told."""
    return reliability(protected.ask(Reliability(predictor), Cost.pure(epsilon)))


def reliability(noisy: NoisyCounts) -> Estimate:
    """Calibration curve, and its error, from shares by bin.

    Noise makes differences larger than they are: each is taken for the one whose noise would leave so much.
    """
    sums, variance = noisy.values / UNIT, noisy.variance / UNIT**2
    rows, total = np.maximum(sums.sum(axis=(1, 2)), 0.0), float(sums.sum())
    if total < 1:
        return Estimate(0.5, 0.0, 1.0, 0.0)
    n = np.maximum(rows, 1.0)
    predicted = np.clip(sums[:, :, 1].sum(axis=1) / n, 0, 1)
    observed = np.clip(sums[:, 1].sum(axis=1) / n, 0, 1)
    # Rows as told miss what their shares lack of one; the others are told what they should not be.
    difference = sums[:, 1, 0] - sums[:, 0, 1]
    spread = np.maximum(predicted * (1 - predicted), observed * (1 - observed))
    sd = np.sqrt(2 * variance + n * np.minimum(spread + 1 / n, 0.25))
    value = sum(map(_without_noise, np.abs(difference), sd)) / total
    width = WIDTH * sqrt(float((sd**2).sum()))
    size = float(np.abs(difference).sum())
    low, high = (size - sqrt(2 / pi) * float(sd.sum()) - width) / total, (size + width) / total
    edges = np.linspace(0, 1, len(sums) + 1).tolist()
    points = zip(edges, edges[1:], predicted, observed, WIDTH * sd / n, rows, strict=False)
    return Estimate(
        min(float(value), 1.0), low, high, total, [CurvePoint(*map(float, point)) for point in points]
    )


def _without_noise(size: float, sd: float) -> float:
    """Size whose mean with normal noise is the one that was seen; 0 where noise alone makes as much."""
    low, high = 0.0, size
    for _ in range(40):
        middle = (low + high) / 2
        ratio = middle / sd
        mean = sd * sqrt(2 / pi) * exp(-(ratio**2) / 2) + middle * erf(ratio / sqrt(2))
        low, high = (middle, high) if mean < size else (low, middle)
    return low
