"""What a fit lowers where a number is to be predicted: squared residuals, clipped at a width that is found.

Scores are told in deviations of the number about its mean, so that one prior of shapes and leaves fits all
targets; what is asked about and released is told in the target's own unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from privet.answers import NoisySums
from privet.learners.boosting.bins import Margin, Totals, truncated_normal
from privet.learners.boosting.shapes import Start
from privet.learners.purse import Purse, sd_of
from privet.model import AdditiveNumbers, PrivacyCard
from privet.model.numbers import ResidualSizes
from privet.privacy import Charge
from privet.privacy.question import Question
from privet.privacy.questions.numbers import (
    BinResiduals,
    BinTargetRows,
    LeafResiduals,
    ResidualRows,
    TargetRows,
)
from privet.schema import Schema
from privet.structure import Additive, Bins

UNKNOWN_DEVIATION = 0.3
"""Of the target, in halves of its range, while it is not known."""

QUANTILE = 0.75
WIDTH_BY_QUANTILE = 1.22
"""The clip, by the quantile of the residuals' sizes: 1.4 deviations of normal ones."""

WIDTH = 1.4
"""The clip in deviations."""

NOT_ASKED = ResidualSizes(np.zeros(0), np.zeros(0))

EDGES_AN_OCTAVE, OCTAVES = 2, 12
"""Of sizes of residuals, from the whole range down."""

WIDTH_SHARES = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 25))
"""What a question of the residuals' sizes may have: the first that is clear enough."""

CLEAR_WIDTH = 25
"""Rows by deviation of a cell's noise from which on sizes of residuals are told."""

FEWEST_PASSES = 8
"""Questions after the labels, when their number is limited, of which these may be some."""


def width_share(purse: Purse, n_rows: float, loss: Any, passes: int | None) -> Fraction:
    """Share of each question of the residuals' sizes; 0 for labels, or where the answer would be noise."""
    if not loss.finds_width or (passes is not None and passes < FEWEST_PASSES):
        return Fraction(0)
    for share in WIDTH_SHARES:
        if n_rows >= CLEAR_WIDTH * sd_of(ResidualRows.plan(purse.cost(share))):
            return share
    return Fraction(0)


def width_charges(purse: Purse, share: Fraction) -> list[Charge]:
    """One such question, if it is asked."""
    return [ResidualRows.plan(purse.cost(share))] if share else []


@dataclass(frozen=True)
class NumberStart(Start):
    """Where boosting starts: the mean of the target, in the place of class shares.

    Attributes
    ----------
    width : float
        What the clip of the first answer is, in units of scores.
    shift : float
        How far the centre of that answer was above the intercept.
    """

    width: float
    shift: float

    def gradients(self, margin: Margin) -> tuple[np.ndarray, np.ndarray]:
        """Sums of residuals by bin at the start, centred, and the variance of their noise."""
        below, above = margin.rows.T
        sums = (self.width * (above - below) + self.shift * (above + below))[:, None]
        variance = 2 * self.width**2 * margin.variance
        return sums - margin.shares[:, None] * sums.sum(axis=0), variance


@dataclass(frozen=True)
class Numbers:
    """Half the squared residual of a number, clipped. See `Labels`.

    Attributes
    ----------
    schema : Schema
    centre : float
        Number that is the first intercept.
    width : float
        At which residuals are clipped.
    unit : float
        Deviation of the number that is a score of 1.
    sizes : ResidualSizes
        What was last heard of the residuals.
    """

    schema: Schema
    centre: float
    width: float
    unit: float
    sizes: ResidualSizes = NOT_ASKED

    n_labels: ClassVar[int] = 0
    n_columns: ClassVar[int] = 2
    label_kind: ClassVar[type[Question[Any]]] = TargetRows
    bin_kind: ClassVar[type[Question[Any]]] = BinTargetRows
    shape_kind: ClassVar[type[BinResiduals]] = BinResiduals
    leaf_kind: ClassVar[type[LeafResiduals]] = LeafResiduals
    share_error: ClassVar[float] = 0.025
    balance: ClassVar[float] = 1.0
    finds_width: ClassVar[bool] = True
    clip: ClassVar[float] = 0.5
    curvature: ClassVar[float] = 1.0

    @classmethod
    def of(cls, schema: Schema) -> Numbers:
        """Before anything is known: about the middle of the public range, as wide as it."""
        target = schema.target
        first, last = target.value(0), target.value(target.n_cells - 1)
        half = (last - first) / 2
        return cls(schema, first + half, half, half * UNKNOWN_DEVIATION)

    @property
    def gradient_unit(self) -> float:
        """What a sum of residuals is worth as it is answered: widths in units."""
        return self.width / self.unit

    def label_rows(self) -> Question[Any]:
        """The question that opens a fit."""
        return TargetRows(self._constant(), self.width)

    def bin_rows(self, bins: Bins) -> Question[Any]:
        """The question of some cells."""
        return BinTargetRows(self._constant(bins), self.width)

    def bin_gradients(self, additive: Additive, asked: list[int]) -> Question[NoisySums]:
        """The question of a pass over shapes."""
        return BinResiduals(self.released(additive), asked, self.width)

    def leaf_gradients(self, additive: Additive, n_trees: int) -> Question[NoisySums]:
        """The question of a pass over trees."""
        return LeafResiduals(self.released(additive), n_trees, self.width)

    def width_rows(self, additive: Additive | None) -> Question[Any]:
        """The question of how large residuals are."""
        asked = self._constant() if additive is None else self.released(additive)
        return ResidualRows(asked, self.edges.tolist())

    @property
    def edges(self) -> np.ndarray:
        """Sizes of residuals at which cells end."""
        target = self.schema.target
        steps = np.arange(EDGES_AN_OCTAVE * OCTAVES, -1, -1) / EDGES_AN_OCTAVE
        return np.asarray((target.upper - target.lower) * 2.0**-steps)

    def mean(self, totals: Totals, n_rows: float) -> tuple[float, float]:
        """Mean of the target by the rows below and above the centre, and its standard deviation."""
        below, above = totals.rows
        sd = max(sqrt(2) * totals.sd / n_rows, 1e-9)
        mean, variance = truncated_normal((above - below) / n_rows, sd, -1.0, 1.0)
        return self.centre + self.width * mean, self.width * sqrt(variance)

    def start(self, totals: Totals, n_rows: float) -> NumberStart:
        """Where boosting starts."""
        mean, sd = self.mean(totals, n_rows)
        return NumberStart(
            shares=np.ones(1),
            intercept=np.array([mean / self.unit]),
            curvature=self.curvature,
            variance=np.array([(sd / self.unit) ** 2]),
            width=self.gradient_unit,
            shift=(self.centre - mean) / self.unit,
        )

    def released(self, additive: Additive) -> Additive:
        """A model as it is asked about, and released: in the target's own unit."""
        return replace(
            additive,
            intercept=self.unit * additive.intercept,
            shapes=self.unit * additive.shapes,
            leaves=self.unit * additive.leaves,
        )

    def model(
        self, additive: Additive, bin_shares: np.ndarray, bands: np.ndarray, schema: Schema, card: PrivacyCard
    ) -> AdditiveNumbers:
        """What is released."""
        told = self.released(additive)
        return AdditiveNumbers(told, bin_shares, self.unit * bands, schema, card, self.sizes)

    def told(self, totals: Totals, n_rows: float) -> Numbers:
        """The same: a mean is as hard to tell wherever it is."""
        return self

    def about(self, totals: Totals, n_rows: float) -> Numbers:
        """The same about the noisy mean; its width is a guess."""
        return replace(self, centre=self.mean(totals, n_rows)[0], width=2 * self.unit)

    def recast(self, totals: Totals, before: Numbers) -> Totals:
        """Totals that were asked about another centre, which has since become their mean."""
        half = totals.rows.sum() / 2
        return Totals(np.array([half, half]), totals.sd * before.width / self.width)

    def of_deviation(self) -> Numbers:
        """The same, its unit the deviation that the width tells."""
        return replace(self, unit=self.width / WIDTH)

    def narrowed(self, noisy_rows: np.ndarray, sd: float) -> Numbers:
        """The same with the clip that the sizes of residuals tell."""
        edges = self.edges
        below = np.maximum.accumulate(np.cumsum(noisy_rows[:-1]))
        share = below / max(noisy_rows.sum(), below[-1], 1.0)
        quantile = float(np.exp(np.interp(QUANTILE, share, np.log(edges))))
        sizes = ResidualSizes(edges, noisy_rows[:-1].astype(float))
        return replace(self, width=WIDTH_BY_QUANTILE * quantile, sizes=sizes)

    def _constant(self, bins: Bins | None = None) -> Additive:
        """The centre alone, over some bins."""
        sizes = [1] * len(self.schema.features)
        if bins is None:
            bins = Bins.of([np.zeros(f.n_codes, np.int64) for f in self.schema.features], sizes)
        return Additive(
            bins,
            np.array([float(self.centre)]),
            np.zeros((bins.n_bins, 1)),
            np.zeros((0, 1), np.int32),
            np.zeros((bins.n_bins, 0), np.uint8),
            np.zeros((0, 2, 1)),
        )
