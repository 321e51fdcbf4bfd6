"""Questions of boosting where a number is to be predicted: soft rows, residuals by bin and leaf, their sizes.

A row's residual is what its number is above the score of a released model. Divided by a public width and cut
to −1 … 1 it is a gradient like any other: whole units, whose bound is enforced on the integers.

Proof note: ``docs/proofs/gradients.md``, *Residuals*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite
from typing import ClassVar

import numpy as np

from privet.answers import NoisySums
from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels import gradients as kernel
from privet.kernels.count import count_leaves
from privet.privacy.budget import Cost
from privet.privacy.laws import Change, noise_sd
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Counts, Question, Terms
from privet.privacy.questions.boosting import BinGradients, Gradients, LeafGradients, gradient_grid
from privet.schema import Label, Schema, Target
from privet.structure import Additive, CompleteTrees

HALF = 8
"""Units of half a row, where rows are shared out by leaf."""

MOST_CELLS = 1024
"""Of a histogram of residuals."""


class Residuals:
    """Gradients that are residuals: by ``width``, cut to −1 … 1."""

    predicts: ClassVar[tuple[type[Label | Target], ...]] = (Target,)
    width: float

    def check(self, schema: Schema) -> None:
        super().check(schema)  # type: ignore[misc]
        numbers_by(schema, self.width)

    def grid(self, terms: Terms) -> kernel.Grid:
        """Grid of the residuals that were paid for."""
        numbers = numbers_by(terms.schema, self.width)
        return replace(super().grid(terms), numbers=numbers)  # type: ignore[misc]


@dataclass(frozen=True)
class BinResiduals(Residuals, BinGradients):
    """Sums of the rows' clipped residuals, in widths, by bin of some features, ``(bins, 1)``.

    Bins of features that are not asked are zero.

    Privacy
    -------
    ε-DP or ρ-zCDP over all asked features together. Proof: *Sums of gradients*, *Residuals*.
    """

    method = "noisy_bin_residuals"
    text = "sums of residuals by bin"
    width: float

    def sizes(self, schema: Schema) -> tuple[int, int]:
        return len(self.features), 0


@dataclass(frozen=True)
class LeafResiduals(Residuals, LeafGradients):
    """Sums of the rows' clipped residuals, in widths, by leaf of the last trees, ``(trees, leaves, 1)``.

    Privacy
    -------
    ε-DP or ρ-zCDP over all asked trees together. Proof: *Sums of gradients*, *Residuals*.
    """

    method = "noisy_leaf_residuals"
    text = "sums of residuals by leaf of oblivious trees"
    width: float

    def sizes(self, schema: Schema) -> tuple[int, int]:
        return self.n_trees, 0


class SoftRows(Residuals, Gradients):
    """Rows that are each shared out between two columns, *below* and *above*, by their clipped residual r.

    A row adds (1 − r)/2 to the first and (1 + r)/2 to the second: the columns add up to rows, and their
    difference is the sum of the residuals. The size is the number of blocks, by default one.
    """

    additive: Additive

    @staticmethod
    def change(cost: Cost, *sizes: int) -> Change:
        return Gradients.change(cost, sum(sizes) or 1, 0)

    def grid(self, terms: Terms) -> kernel.Grid:
        """Grid on which a residual of 1 is b, half a row: b − r and b + r are whole, and not negative."""
        n_blocks = sum(self.sizes(terms.schema)) or 1
        bits = gradient_grid(0, n_blocks, terms.cost).fraction_bits - 1
        return kernel.Grid(bits, 1, 1 << bits, numbers_by(terms.schema, self.width))

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        additive, grid = self.additive, self.grid(terms)
        every, no_labels = np.arange(len(additive.bins.slices)), np.zeros(len(batch.labels), np.uint8)
        sums = kernel.sum_gradients_by_bin(additive, every, batch.features, batch.labels, grid)[:, 0]
        rows = kernel.count_bins(additive.bins, batch.features, no_labels, 1)[:, 0] * grid.bound
        return np.stack([rows - sums, rows + sums], axis=1)


@dataclass(frozen=True)
class TargetRows(SoftRows):
    """Rows below and above a model's score, ``(2,)``.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row adds 1 in L1 norm, and no more in squared L2 norm. Proof: *Residuals*.
    """

    method = "noisy_target_rows"
    text = "rows by the number to predict"
    additive: Additive
    width: float

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        return np.asarray(super().tally(batch, terms)[self.additive.bins.slices[0]].sum(axis=0))


@dataclass(frozen=True)
class BinTargetRows(SoftRows):
    """Rows below and above a model's score by bin of every feature, ``(bins, 2)``.

    Privacy
    -------
    ε-DP or ρ-zCDP over all features together; a row adds 1 in L1 norm to one bin a feature, and no more in
    squared L2 norm. Proof: *Residuals*.
    """

    method = "noisy_bin_target_rows"
    text = "rows by bin and number to predict of every feature"
    additive: Additive
    width: float

    def sizes(self, schema: Schema) -> tuple[int]:
        return (len(schema.features),)


@dataclass(frozen=True)
class ResidualRows(Counts):
    """Rows by the absolute size of their residual under a model, ``(edges + 1,)``.

    ``edges`` are where cells end, ascending, in the target's own unit; the last cell has no end.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row is in one cell, so both sensitivities are 1. Proof: *Residuals*.
    """

    method = "noisy_residual_rows"
    text = "rows by size of their residual"
    predicts = (Target,)
    additive: Additive
    edges: Sequence[float]

    def check(self, schema: Schema) -> None:
        super().check(schema)
        numbers_by(schema, 1.0)
        check_edges(self.edges)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        numbers = numbers_by(terms.schema, 1.0)
        sizes = np.abs(kernel.residuals(self.additive, *batch[:2], numbers, batch.kept))
        # What is undefined sorts behind all edges: into the last cell.
        cells = np.searchsorted(np.array(self.edges, float), sizes, side="right")
        return np.bincount(cells, minlength=len(self.edges) + 1)


@dataclass(frozen=True)
class LeafTargetRows(Question[NoisySums]):
    """Rows below and above a number by leaf of every tree, ``(trees, leaves, 2)``, empty leaves included.

    A row is shared out by its clipped residual about ``centre``, as in `SoftRows`, in sixteenths.

    Privacy
    -------
    ε-DP or ρ-zCDP over all trees together; a row adds 1 in L1 norm to one leaf a tree, and no more in
    squared L2 norm. Proof: *Residuals*.
    """

    method = "noisy_leaf_target_rows"
    text = "rows by leaf and number to predict of {} trees"
    predicts = (Target,)
    structure: CompleteTrees
    centre: float
    width: float

    @staticmethod
    def change(cost: Cost, *sizes: int) -> Change:
        return Change(2 * HALF * sizes[0], 4 * HALF**2 * sizes[0], 0.5 / HALF)

    def check(self, schema: Schema) -> None:
        super().check(schema)
        numbers_by(schema, self.width)
        if type(self.centre) not in (int, float) or not isfinite(self.centre):
            raise QuestionError("a centre is a number.", "give one in the target's own unit.")

    def sizes(self, schema: Schema) -> tuple[int]:
        return (self.structure.n_trees,)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        parts = 2 * HALF
        above = halves_above(terms.schema.target, self.centre, self.width)[batch.labels]
        rows = count_leaves(self.structure, batch.features, above, parts + 1)
        return rows @ np.stack([np.arange(parts, -1, -1), np.arange(parts + 1)], axis=1)

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisySums:
        change = self.change(terms.cost, self.structure.n_trees)
        return NoisySums(mechanisms.add(exact, terms.law) * change.unit, noise_sd(change, terms.cost))


def halves_above(target: Target, centre: float, width: float) -> np.ndarray:
    """How much of a row lies above a number, by its own cell: 0 to ``2 * HALF``, whatever these are."""
    residual = (target.value(np.arange(target.n_cells, dtype=float)) - centre) / width
    return (HALF + np.clip(np.rint(HALF * np.clip(residual, -1, 1)), -HALF, HALF)).astype(np.uint16)


def check_edges(edges: Sequence[float]) -> None:
    """Refuse what are no edges of cells."""
    if not edges or len(edges) >= MOST_CELLS or {*map(type, edges)} - {int, float}:
        raise QuestionError(f"give 1 to {MOST_CELLS - 1} edges, which are numbers.")
    if not all(map(isfinite, edges)) or any(b <= a for a, b in pairwise(edges)):
        raise QuestionError("edges are finite and ascend.", "sort them, each once.")


def numbers_by(schema: Schema, width: float) -> kernel.Numbers:
    """Numbers of the target's cells in widths; a width that is none is refused."""
    target = schema.target
    if target.is_open:
        raise QuestionError(f"the range of {target.name!r} is open.", "find it first.")
    if type(width) not in (int, float) or not isfinite(width) or not width > 0 or not isfinite(1 / width):
        raise QuestionError("a width is a positive number.", "give one in the target's own unit.")
    return kernel.Numbers(target.value(0) / width, target.width / width, 1 / width)
