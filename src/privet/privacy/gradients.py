"""Questions of boosting: counts by bin, and sums of bounded gradients by bin and by leaf.

One row adds to one bin of every asked feature, or to one leaf of every asked tree: *blocks* of the
answer. In each block it changes one count by one, or the sums by its own gradient, a vector of
integers whose norm is bounded. With F fixed by earlier answers no other row's gradient changes.

Proof note: ``docs/proofs/gradients.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, sqrt
from operator import index

import numpy as np

from privet.errors import QuestionError
from privet.kernels.gradients import Grid
from privet.privacy.budget import Cost
from privet.privacy.samplers import MAX_SIGMA_SQUARED
from privet.structure import Additive

LABEL_ROWS = "rows by label"
BIN_ROWS = "rows by bin and label of every feature"
BIN_GRADIENTS = "sums of gradients by bin"
LEAF_ROWS = "rows by leaf of oblivious trees"
LEAF_GRADIENTS = "sums of gradients by leaf of oblivious trees"

FINEST = 14
"""Most fraction bits of a gradient: its rounding is then far below any noise."""


GRID_VARIANCE = 1 << 26
"""Variance of the noise, in units, that is fine enough: tables of wider noise take long to make."""

WIDEST_SD = sqrt(MAX_SIGMA_SQUARED)
"""Standard deviation of the widest Gaussian noise on a count."""


@dataclass(frozen=True)
class NoisySums:
    """Sums of gradients with noise, and the standard deviation of that noise."""

    values: np.ndarray
    sd: float


def gradient_clip(n_labels: int, norm: int) -> Fraction:
    """Bound on a row's gradient: of its L1 norm, or of its squared L2 norm.

    Two labels: ½, half of what the gradient of the log-likelihood can reach; the loss that this
    clips is still proper. More labels: as large as the gradient is at equal scores.
    """
    if n_labels <= 2:
        return Fraction(1, 2) if norm == 1 else Fraction(1, 4)
    return (2 if norm == 1 else 1) * (1 - Fraction(1, n_labels))


def gradient_grid(n_labels: int, n_blocks: int, cost: Cost) -> Grid:
    """Finest grid on which the noise that a cost asks for can be drawn."""
    norm = 1 if cost.epsilon is not None else 2
    clip = gradient_clip(n_labels, norm)
    bits = FINEST
    while norm == 2 and bits > 1 and n_blocks * clip * 4**bits / (2 * cost.rho) > GRID_VARIANCE:
        bits -= 1
    return Grid(bits, norm, floor(clip * 2 ** (norm * bits)))


def noise_sd(n_blocks: int, clip: Fraction, cost: Cost) -> float:
    """Standard deviation of the noise on one number of an answer.

    ``clip`` bounds what one row changes in a block: in L1 norm where the cost is pure, in squared L2
    norm where it is not.
    """
    if cost.epsilon is not None:
        return sqrt(2) * float(n_blocks * clip / cost.epsilon)
    return sqrt(n_blocks * clip / (2 * cost.rho))


def check_asked(asked: np.ndarray, n_blocks: int) -> None:
    """Refuse a feature asked twice: its bins would change by twice a row's gradient."""
    fits = asked.ndim == 1 and len(asked) and asked.min() >= 0 and asked.max() < n_blocks
    if not fits or len(np.unique(asked)) != len(asked):
        raise QuestionError("ask each feature once at most, and one at least.")


def last_trees(n_trees: int, additive: Additive) -> int:
    """How many of the last trees are asked, as a plain integer, or a refusal."""
    number = index(n_trees)
    if not 1 <= number <= additive.n_trees:
        raise QuestionError(f"ask for 1 to {additive.n_trees} of the last trees, not {number}.")
    return number
