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

import numpy as np

from privet.errors import QuestionError
from privet.kernels.gradients import Grid
from privet.privacy.budget import Cost
from privet.privacy.samplers import MAX_SIGMA_SQUARED
from privet.schema import Schema
from privet.structure import Additive, Bins

LABEL_ROWS = "rows by label"
BIN_ROWS = "rows by bin and label of every feature"
BIN_GRADIENTS = "sums of gradients by bin"
LEAF_ROWS = "rows by leaf of oblivious trees"
LEAF_GRADIENTS = "sums of gradients by leaf of oblivious trees"

FINEST = 14
"""Most fraction bits of a gradient: its rounding is then far below any noise."""


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
    while norm == 2 and bits > 1 and n_blocks * clip * 4**bits / (2 * cost.rho) > MAX_SIGMA_SQUARED / 4:
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


def check_bins(bins: Bins, schema: Schema) -> None:
    """Refuse bins under which a row could be in two bins of a feature, or in none."""
    views, sizes = bins.views, np.diff(bins.first)
    lengths = [feature.n_codes for feature in schema.features]
    starts = np.cumsum([0, *lengths])
    fits = (
        np.array_equal(views.source, np.arange(len(lengths)))
        and np.array_equal(views.start, starts[:-1])
        and len(views.table) == starts[-1]
        and bins.first[0] == 0
        and all(
            views.table[a:b].max() < size for a, b, size in zip(starts[:-1], starts[1:], sizes, strict=True)
        )
    )
    if not fits:
        raise QuestionError("these bins do not fit the schema.", "give every code of a feature one bin.")


def check_additive(additive: Additive, schema: Schema) -> None:
    """Refuse trees under which a row could be in two leaves, or in none."""
    check_bins(additive.bins, schema)
    n_labels = len(schema.label.values)
    shapes_fit = additive.shapes.shape == (additive.bins.n_bins, additive.n_scores)
    scores_fit = additive.n_scores == (1 if n_labels <= 2 else n_labels)
    turns_fit = additive.turns.shape == (additive.bins.n_bins, additive.n_trees)
    if not (shapes_fit and scores_fit and turns_fit):
        raise QuestionError("these shapes and trees do not fit each other.")
    furthest = sum(additive.turns[where].max(axis=0).astype(int) for where in additive.bins.slices)
    if np.any(furthest >= additive.leaves.shape[1]):
        raise QuestionError("these trees send rows beyond their leaves.")


def check_asked(asked: np.ndarray, n_blocks: int) -> None:
    """Refuse a feature asked twice: its bins would change by twice a row's gradient."""
    if len(np.unique(asked)) != len(asked) or not len(asked) or asked.min() < 0 or asked.max() >= n_blocks:
        raise QuestionError("ask each feature once at most, and one at least.")
