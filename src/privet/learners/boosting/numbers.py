"""What a fit lowers where a number is to be predicted: squared residuals, clipped at a width that is found.

Scores are told in deviations of the number about its mean, so that one prior of shapes and leaves fits all
targets; what is asked about and released is told in the target's own unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, log2, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import erf

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

UNKNOWN_DEVIATION = 0.2
"""Of the target, in halves of its range, while it is not known."""

QUANTILE = 0.75
WIDTH_BY_QUANTILE = 1.22
"""The clip, by the quantile of the residuals' sizes: 1.4 deviations of normal ones."""

WIDTH = 1.4
"""The clip in deviations."""

STRONG, WEAK = (0.05, 0.1, 0.25, 0.6), (0.5, 0.3, 0.15, 0.05)
"""Odds of the scales of shapes that matter, and of those of most features where there are many."""

ALL_STRONG, PRIOR_FEATURES, ROUNDS = 3, 3, 5
"""Features that may matter, weight of the odds that follow, and how often they are brought up to date."""

CLEAR_SIZES = 100
"""Rows by deviation of a cell's noise from which on their sizes speak for themselves."""

TAIL_FACTORS, MOST_LOST = (1.0, 1.4, 2.0, 2.8), 0.3
"""Wider clips, and the share of the residuals' squares that may lie beyond one."""

NORMAL = 0.8134
"""Error function of it: the quantile of a normal law."""

SPREAD, SPREAD_AFTER = 0.5, 0.25
"""How far the logarithm of the quantile may be from a guess, and from what was last heard."""

NOT_ASKED = ResidualSizes(np.zeros(0), np.zeros(0))

EDGES_AN_OCTAVE, OCTAVES = 2, 12
"""Of sizes of residuals, from the whole range down."""

WIDTH_SHARES = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 15))
"""What a question of the residuals' sizes may have: the first that is clear enough."""

LATER_WIDTH = WIDTH_SHARES[1]
"""The most of one after the first; where as much is needed, only the last is asked."""

CLEAR_WIDTH, LEAST_WIDTH = 25, 10
"""Rows by deviation of a cell's noise that are plenty for sizes of residuals, and too few below."""

MEAN_ERROR, MOST_MEAN = 0.07, Fraction(3, 20)
"""Error of the mean, in deviations, beyond which it is asked again, and the most share of that question."""

FEWEST_PASSES = 8
"""Questions after the labels, when their number is limited, of which these may be some."""


def width_share(purse: Purse, n_rows: float, loss: Any, passes: int | None) -> Fraction:
    """Share of each question of the residuals' sizes; 0 for labels, or where the answer would be noise."""
    if not loss.finds_width or (passes is not None and passes < FEWEST_PASSES):
        return Fraction(0)
    for share, least in zip(WIDTH_SHARES, (CLEAR_WIDTH, CLEAR_WIDTH, LEAST_WIDTH), strict=True):
        if n_rows >= least * sd_of(ResidualRows.plan(purse.cost(share))):
            return share
    return Fraction(0)


def mean_share(purse: Purse, n_rows: float, loss: Numbers, error: float) -> Fraction:
    """Share of one more question about the mean, whose error is known; 0 where that is small enough."""
    if error <= MEAN_ERROR * loss.unit:
        return Fraction(0)
    per_row = sqrt(2) * loss.width / (MEAN_ERROR * loss.unit * n_rows)
    wanted = per_row / purse.strength * (sqrt(2) if purse.pure else 1)
    return min(Fraction(wanted if purse.pure else wanted**2).limit_denominator(1000), MOST_MEAN)


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

    def scale_odds(self, logs: np.ndarray) -> np.ndarray:
        """Odds of the scales of every shape, by their evidence: each its own, under odds that all share.

        Of many features few can move a number much: all together move it by a deviation.
        """
        n_features = len(logs)
        strong = min(ALL_STRONG / n_features, 1.0)
        first = strong * np.array(STRONG) + (1 - strong) * np.array(WEAK)
        shared, likely = first, np.exp(logs - logs.max(axis=1, keepdims=True))
        for _ in range(ROUNDS):
            odds = likely * shared
            odds /= odds.sum(axis=1, keepdims=True)
            shared = (PRIOR_FEATURES * first + odds.sum(axis=0)) / (PRIOR_FEATURES + n_features)
        return odds

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
    reach : (float, float), optional
        Between which numbers most lie, where that is a small part of the public range.
    """

    schema: Schema
    centre: float
    width: float
    unit: float
    sizes: ResidualSizes = NOT_ASKED
    reach: tuple[float, float] | None = None

    n_labels: ClassVar[int] = 0
    n_columns: ClassVar[int] = 2
    label_kind: ClassVar[type[Question[Any]]] = TargetRows
    bin_kind: ClassVar[type[Question[Any]]] = BinTargetRows
    shape_kind: ClassVar[type[BinResiduals]] = BinResiduals
    leaf_kind: ClassVar[type[LeafResiduals]] = LeafResiduals
    share_error: ClassVar[float] = 0.04
    clear_error: ClassVar[float] = 1.0
    balance: ClassVar[float] = 1.0
    finds_width: ClassVar[bool] = True
    clip: ClassVar[float] = 0.5
    curvature: ClassVar[float] = 1.0

    @classmethod
    def of(cls, schema: Schema, reach: tuple[float, float] | None = None) -> Numbers:
        """Before anything is known: about the middle of the range, or of where numbers lie, and as wide."""
        target = schema.target
        first, last = reach or (target.value(0), target.value(target.n_cells - 1))
        half = (last - first) / 2
        return cls(schema, first + half, half, half * UNKNOWN_DEVIATION, reach=reach)

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
        low, high = self.reach or (target.lower, target.upper)
        octaves = OCTAVES + round(log2((target.upper - target.lower) / (high - low)))
        steps = np.arange(EDGES_AN_OCTAVE * octaves, -1, -1) / EDGES_AN_OCTAVE
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

    def facts(self, totals: Totals, n_rows: float) -> dict[str, Any]:
        """What a card says of the numbers: nothing, their range is on the schema."""
        return {}

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
        return replace(self, centre=self.mean(totals, n_rows)[0], width=WIDTH * self.unit)

    def recast(self, totals: Totals, before: Numbers) -> Totals:
        """Totals that were asked about another centre, which has since become their mean."""
        half = totals.rows.sum() / 2
        return Totals(np.array([half, half]), totals.sd * before.width / self.width)

    def further(
        self, purse: Purse, n_rows: float, sd: float, passes: int | None
    ) -> tuple[list[Charge], Fraction]:
        """What would be asked next, if numbers spread as they are guessed to, and the share of it."""
        share = width_share(purse, n_rows, self, passes)
        if not share:
            return [], share
        asked = Totals(np.array([n_rows / 2, n_rows / 2]), sd)
        about = self.about(asked, n_rows)
        again = mean_share(purse, n_rows, about, about.mean(about.recast(asked, self), n_rows)[1])
        means = [self.label_kind.plan(purse.cost(again))] if again else []
        return [*width_charges(purse, share), *means], share + again

    def of_deviation(self) -> Numbers:
        """The same, its unit the deviation that the width tells."""
        return replace(self, unit=self.width / WIDTH)

    def narrowed(self, noisy_rows: np.ndarray, sd: float, n_rows: float) -> Numbers:
        """The same with the clip that the sizes of residuals tell."""
        edges, rows = self.edges, noisy_rows.astype(float)
        if rows.sum() < CLEAR_SIZES * sd:
            spread = SPREAD_AFTER if len(self.sizes.rows) else SPREAD
            rows = likely_sizes(rows, sd, n_rows, edges, self.width / WIDTH_BY_QUANTILE, spread)
        below = np.maximum.accumulate(np.cumsum(rows[:-1]))
        share = below / max(rows.sum(), below[-1], 1.0)
        quantile = float(np.exp(np.interp(QUANTILE, share, np.log(edges))))
        width = WIDTH_BY_QUANTILE * quantile
        if rows.sum() >= CLEAR_SIZES * sd:
            width *= tail_factor(np.where(rows > 3 * sd, rows, 0.0)[:-1], edges, width)
        return replace(self, width=width, sizes=ResidualSizes(edges, rows[:-1]))

    def _constant(self, bins: Bins | None = None) -> Additive:
        return constant(self.schema, self.centre, bins)


def constant(schema: Schema, number: float, bins: Bins | None = None) -> Additive:
    """A model that says one number, over some bins."""
    if bins is None:
        codes = [np.zeros(f.n_codes, np.int64) for f in schema.features]
        bins = Bins.of(codes, [1] * len(codes))
    return Additive(
        bins,
        np.array([float(number)]),
        np.zeros((bins.n_bins, 1)),
        np.zeros((0, 1), np.int32),
        np.zeros((bins.n_bins, 0), np.uint8),
        np.zeros((0, 2, 1)),
    )


def tail_factor(noisy_rows: np.ndarray, edges: np.ndarray, width: float) -> float:
    """How much wider than ``width`` residuals are cut, where few large ones carry most of their squares."""
    sizes = np.sqrt(edges * np.append(edges[0] / 2, edges[:-1]))
    squares = noisy_rows @ sizes**2
    for factor in TAIL_FACTORS:
        lost = noisy_rows @ np.maximum(sizes - factor * width, 0) ** 2
        if lost <= MOST_LOST * squares:
            return factor
    return TAIL_FACTORS[-1]


def likely_sizes(
    noisy_rows: np.ndarray, sd: float, n_rows: float, edges: np.ndarray, guess: float, spread: float
) -> np.ndarray:
    """Rows by size of residual where noise is large: the mean of some laws, by how likely they are.

    ``guess`` is about the quantile that sets the clip, ``spread`` how far its logarithm may be from there.
    """
    sizes = edges[-1] * np.exp2(-np.arange(0, log2(edges[-1] / edges[0]), 1 / 8))
    at = edges / sizes[:, None]
    laws = np.concatenate([erf(at * NORMAL), -np.expm1(-at * log(4))])  # normal, double exponential
    cells = n_rows * np.diff(laws, axis=1, prepend=0, append=1)
    variance = sd**2 + cells
    logs = -0.5 * ((noisy_rows - cells) ** 2 / variance + np.log(variance)).sum(axis=1)
    logs -= np.log1p(np.tile(np.log(sizes / guess) / spread, 2) ** 2)
    odds = np.exp(logs - logs.max())
    return np.asarray(odds @ cells / odds.sum())
