"""Shares of labels, or a number, for every row: one way from codes to predictions, for models and the wall.

A row's shares follow from its own codes alone, whatever the other rows are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.compiled import quiet
from privet.kernels.score import score
from privet.kernels.vote import vote
from privet.schema import Scalar, Target
from privet.structure import LeafVotes, Predictor, Scored, Weighed

SHARPNESS = 2.0
"""Trees agree with each other more than chance; their mean is too timid by about this factor in log-odds."""

LEAST_SHARE = 1e-3

RARE = 0.05
"""A label of fewer rows is not moved as far, since noise alone multiplies its share."""


@quiet
def row_shares(predictor: Scored, codes: np.ndarray, n_labels: int) -> np.ndarray:
    """Share of each label for each row, ``(rows, labels)``; ``codes`` is ``(features, rows)``."""
    if isinstance(predictor, Weighed):
        return normalised(row_shares(predictor.predictor, codes, n_labels) * predictor.odds)
    if isinstance(predictor, LeafVotes):
        votes = vote(predictor.trees, codes, predictor.values)
        return vote_shares(votes, predictor.trees.n_trees, predictor.prior)
    return probabilities(score(predictor, codes), n_labels)


@quiet
def row_numbers(predictor: Predictor, codes: np.ndarray, target: Target) -> np.ndarray:
    """Number for each row, ``(rows,)``, within the public range; an undefined one is its lower end."""
    if isinstance(predictor, LeafVotes):
        found = vote(predictor.trees, codes, predictor.values)[:, 0] / predictor.trees.n_trees
    else:
        found = score(predictor, codes)[:, 0]
    return np.where(found == found, np.clip(found, target.lower, target.upper), target.lower)


@quiet
def to_choose(predictor: Scored, shares: np.ndarray) -> np.ndarray:
    """Shares as they are compared to name a label."""
    return shares * predictor.choice if isinstance(predictor, Weighed) else shares


def best_labels(shares: np.ndarray, values: Sequence[Scalar]) -> np.ndarray:
    """Position of each row's best label; of equals the one that sorts first, as scikit-learn has it."""
    order = np.argsort(np.array(values))
    return np.asarray(order[shares[:, order].argmax(axis=1)])


@quiet
def log_shares(shares: np.ndarray) -> np.ndarray:
    """Logarithms of shares; of a share of zero −∞."""
    return np.asarray(np.log(shares))


@quiet
def decisions(shares: np.ndarray) -> np.ndarray:
    """Log-odds of the second of two labels, ``(rows,)``; of any other number the logarithm of each share."""
    logs = log_shares(shares)
    return logs[:, 1] - logs[:, 0] if shares.shape[1] == 2 else logs


@quiet
def vote_shares(votes: np.ndarray, n_trees: int, prior: np.ndarray | None = None) -> np.ndarray:
    """Shares of the labels from the sum of what the trees say, ``(rows, labels)``."""
    if prior is None:
        return normalised(np.maximum(votes, 0))
    mean = np.maximum(votes / n_trees, LEAST_SHARE)
    away = np.log((mean + RARE) / (np.maximum(prior, 0) + RARE))
    logs = np.log(mean) + (SHARPNESS - 1) * away
    return normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))


@quiet
def probabilities(scores: np.ndarray, n_labels: int) -> np.ndarray:
    """Probabilities of the labels from an additive model's scores, ``(rows, labels)``.

    One score belongs to the half-clipped logistic loss, at whose minimum the share s of the second
    label and p = 1/(1 + e^−score) satisfy s = ½/(3/2 − p) from p = ½ on, and s = p/(p + ½) below.
    """
    if scores.shape[1] > 1:
        return normalised(np.exp(scores - scores.max(axis=1, keepdims=True)))
    if n_labels == 1:
        return np.ones(scores.shape)
    p = 1 / (1 + np.exp(-np.clip(scores[:, 0], -500, 500)))
    second = np.where(p >= 0.5, 0.5 / (1.5 - p), p / (p + 0.5))
    return np.stack([1 - second, second], axis=1)


@quiet
def normalised(weights: np.ndarray) -> np.ndarray:
    """Weights as shares of their sum over the last axis; equal shares where that is not positive."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[-1])
