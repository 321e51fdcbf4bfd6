"""Questions of boosting: counts by bin, and sums of bounded gradients by bin and by leaf.

One row adds to one bin of every asked feature, or to one leaf of every asked tree: *blocks* of the
answer. In each block it changes one count by one, or the sums by its own gradient, a vector of
integers whose norm is bounded. With the model fixed by earlier answers no other row's gradient changes.

Proof note: ``docs/proofs/gradients.md``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from privet.answers import NoisySums
from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels import gradients as kernel
from privet.privacy.budget import Cost
from privet.privacy.laws import Change, noise_sd
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Counts, Question, Terms
from privet.schema import Label, Schema, Target
from privet.structure import Additive, Bins

FINEST = 14
"""Most fraction bits of a gradient: its rounding is then far below any noise."""

GRID_VARIANCE = 1 << 26
"""Variance of the noise, in units, that is fine enough: tables of wider noise take long to make."""


@dataclass(frozen=True)
class LabelRows(Counts):
    """Rows by label.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row has one label, so both sensitivities are 1. Proof: *Discrete Laplace*,
    *Rounded Gaussian*.
    """

    method = "noisy_label_rows"
    text = "rows by label"

    def looks_at(self, schema: Schema) -> Iterable[int]:
        return ()

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        return np.bincount(batch.labels, minlength=terms.schema.n_labels)


@dataclass(frozen=True)
class BinRows(Counts):
    """Rows by bin and label of every feature, ``(bins, labels)``.

    Privacy
    -------
    ε-DP or ρ-zCDP over all features together; a row is in one bin a feature, so the L1 sensitivity
    and the squared L2 sensitivity are the number of features. Proof: *Sums of gradients*.
    """

    method = "noisy_bin_rows"
    text = "rows by bin and label of every feature"
    bins: Bins

    def sizes(self, schema: Schema) -> tuple[int]:
        return (len(schema.features),)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        return kernel.count_bins(self.bins, batch.features, batch.labels, terms.schema.n_labels)


class Gradients(Question[NoisySums]):
    """Sums of the rows' clipped gradients by the places of some blocks; sizes are blocks and labels."""

    @staticmethod
    def change(cost: Cost, *sizes: int) -> Change:
        """In each block a row's gradient is within the grid's bound, in the norm of the noise.

        The other norm follows: of whole numbers the L1 norm is at most the squared L2 norm, and that at
        most the square of the L1 norm.
        """
        n_blocks, n_labels = sizes
        grid = gradient_grid(n_labels, n_blocks, cost)
        l2_squared = grid.bound**2 if grid.norm == 1 else grid.bound
        return Change(n_blocks * grid.bound, n_blocks * l2_squared, 0.5**grid.fraction_bits)

    def grid(self, terms: Terms) -> kernel.Grid:
        """Grid of the gradients that were paid for."""
        n_blocks, n_labels = self.sizes(terms.schema)
        return gradient_grid(n_labels, n_blocks, terms.cost)

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisySums:
        change = self.change(terms.cost, *self.sizes(terms.schema))
        return NoisySums(mechanisms.add(exact, terms.law) * change.unit, noise_sd(change, terms.cost))


@dataclass(frozen=True)
class BinGradients(Gradients):
    """Sums of the rows' clipped gradients by bin of some features, ``(bins, scores)``.

    Bins of features that are not asked are zero.

    Privacy
    -------
    ε-DP or ρ-zCDP over all asked features together. Proof: *Sums of gradients*.
    """

    method = "noisy_bin_gradients"
    text = "sums of gradients by bin"
    additive: Additive
    features: Sequence[int]

    def check(self, schema: Schema) -> None:
        super().check(schema)
        asked, known = self.features, set(range(len(schema.features)))
        # A feature asked twice: its bins would change by twice a row's gradient.
        if {*map(type, asked)} != {int} or not known.issuperset(asked) or len(set(asked)) != len(asked):
            raise QuestionError("ask each feature once at most, and one at least.")

    def sizes(self, schema: Schema) -> tuple[int, int]:
        return len(self.features), schema.n_labels

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        asked = np.array(self.features, np.int64)
        return kernel.sum_gradients_by_bin(self.additive, asked, *batch[:2], self.grid(terms), batch.kept)

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisySums:
        bins, values = self.additive.bins, np.zeros(exact.shape)
        rows = np.concatenate([np.arange(bins.n_bins)[bins.slices[j]] for j in self.features])
        noisy = super().release(exact[rows], terms, mechanisms)
        values[rows] = noisy.values
        return NoisySums(values, noisy.sd)


class OfLastTrees:
    """What is asked of the last trees of a model."""

    additive: Additive
    n_trees: int

    def check(self, schema: Schema) -> None:
        super().check(schema)  # type: ignore[misc]
        if type(self.n_trees) is not int or not 1 <= self.n_trees <= self.additive.n_trees:
            raise QuestionError(
                f"ask for 1 to {self.additive.n_trees} of the last trees, not {self.n_trees}."
            )


@dataclass(frozen=True)
class LeafRows(OfLastTrees, Counts):
    """Rows by leaf of the last trees of a model, ``(trees, leaves)``.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row is in one leaf a tree, so the L1 sensitivity and the squared L2
    sensitivity are the number of trees. Proof: *Sums of gradients*.
    """

    method = "noisy_leaf_rows"
    text = "rows by leaf of oblivious trees"
    predicts = (Label, Target)
    additive: Additive
    n_trees: int

    def sizes(self, schema: Schema) -> tuple[int]:
        return (self.n_trees,)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        return kernel.count_leaves_of_last(self.additive, self.n_trees, batch.features, batch.kept)


@dataclass(frozen=True)
class LeafGradients(OfLastTrees, Gradients):
    """Sums of the rows' clipped gradients by leaf of the last trees, ``(trees, leaves, scores)``.

    Privacy
    -------
    ε-DP or ρ-zCDP over all asked trees together. Proof: *Sums of gradients*.
    """

    method = "noisy_leaf_gradients"
    text = "sums of gradients by leaf of oblivious trees"
    additive: Additive
    n_trees: int

    def sizes(self, schema: Schema) -> tuple[int, int]:
        return self.n_trees, schema.n_labels

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        asked = self.additive, self.n_trees, *batch[:2], self.grid(terms)
        return kernel.sum_gradients_by_leaf(*asked, batch.kept)


def gradient_clip(n_labels: int, norm: int) -> Fraction:
    """Bound on a row's gradient: of its L1 norm, or of its squared L2 norm.

    A number, which has no labels: 1, since its residual is told in widths of the clip. Two labels: ½, half
    of what the gradient of the log-likelihood can reach; the loss that this clips is still proper. More
    labels: as large as the gradient is at equal scores.
    """
    if n_labels == 0:
        return Fraction(1)
    if n_labels <= 2:
        return Fraction(1, 2) if norm == 1 else Fraction(1, 4)
    return (2 if norm == 1 else 1) * (1 - Fraction(1, n_labels))


def gradient_grid(n_labels: int, n_blocks: int, cost: Cost) -> kernel.Grid:
    """Finest grid on which the noise that a cost asks for can be drawn."""
    norm = 1 if cost.epsilon is not None else 2
    clip = gradient_clip(n_labels, norm)
    bits = FINEST
    while norm == 2 and bits > 1 and n_blocks * clip * 4**bits / (2 * cost.rho) > GRID_VARIANCE:
        bits -= 1
    return kernel.Grid(bits, norm, floor(clip * 2 ** (norm * bits)))
