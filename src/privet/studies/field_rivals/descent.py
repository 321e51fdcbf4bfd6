"""Logistic regression by full batches of noisy gradients, told what nobody may know.

Rows are one-hot codes of a few bins. Bins, steps, rate and clip are those of the best mean over the *test*
folds, for every table and budget, and nobody pays for that, nor for the number of rows: an unfair rival on
purpose, beside which a learner that chooses nothing by rows must not look bad.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from privet.schema import Continuous, Schema
from privet.studies.field_rivals import Task, zcdp

N_BINS, STEPS, RATES, CLIPS = (8, 16), (1, 4, 16), (1.0, 4.0, 16.0), (0.5, 1.0)
Setting = tuple[int, int, float, float]
"""Bins, steps, rate, clip."""


def settings() -> Iterator[Setting]:
    """All that are tried."""
    yield from product(N_BINS, STEPS, RATES, CLIPS)


def one_hot(features: np.ndarray, schema: Schema, n_bins: int) -> csr_array:
    """A column a bin or category, and one of ones: rows of norm 1."""
    columns = [np.ones(features.shape[1])]
    for row, feature in zip(features, schema.features, strict=True):
        known = row
        if isinstance(feature, Continuous):
            known = np.where(row < feature.n_cells, row.astype(np.int64) * n_bins // feature.n_cells, n_bins)
        columns += [known == value for value in np.unique(known)]
    return csr_array(np.column_stack(columns) / np.sqrt(1 + len(features)))


def descended(
    inputs: csr_array, task: Task, epsilon: float, delta: float, steps: int, rate: float, clip: float
) -> np.ndarray:
    """Shares of the labels for the rows that are asked about, after full-batch descent."""
    random, rows = task.random, inputs[task.train]
    targets = np.eye(task.n_labels)[task.labels[task.train]]
    weights = np.zeros((inputs.shape[1], task.n_labels))
    first = 1 if task.n_labels == 2 else 0
    # A row's norm is 1, and its L1 norm the root of its number of ones.
    if delta:
        draw, scale = random.normal, clip * np.sqrt(steps / (2 * zcdp(epsilon, delta)))
    else:
        draw, scale = random.laplace, clip * rows[[0]].sum() * steps / epsilon
    for _ in range(steps):
        residuals = _clipped(targets - _shares(rows @ weights), clip, 2 if delta else 1)
        sums = rows.T @ residuals + draw(scale=scale, size=weights.shape)
        weights[:, first:] += rate / len(task.train) * sums[:, first:]
    return _shares(inputs[task.test] @ weights)


def _clipped(residuals: np.ndarray, clip: float, norm: int) -> np.ndarray:
    """Residuals no longer than the clip; of two labels the second alone is learnt from."""
    if residuals.shape[1] == 2:
        return np.clip(residuals, -clip, clip)
    length = np.linalg.norm(residuals, ord=norm, axis=1, keepdims=True)
    return residuals * np.minimum(1, clip / np.maximum(length, 1e-12))


def _shares(scores: np.ndarray) -> np.ndarray:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)
