"""What comes out of the wall: noisy numbers and choices, and what their noise allows to say of them.

Plain values for whoever reads them. How far noise may carry an answer is read off its law alone, so it
tells nothing about rows; the noise itself is drawn elsewhere, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from privet.errors import QuestionError
from privet.noise.samplers import ADDITIVE, smallest
from privet.schema import Scalar

PERMUTE_AND_FLIP, EXPONENTIAL = "permute-and-flip", "exponential"


class Law(NamedTuple):
    """A law of noise and its parameter: ``laplace`` (scale), ``gaussian`` (variance), a choice (rate)."""

    name: str
    parameter: Fraction

    @property
    def variance(self) -> float:
        """Variance of additive noise."""
        return ADDITIVE[self.name].variance(float(self.parameter))

    def margin(self, confidence: float = 0.95) -> int:
        """Smallest k such that additive noise lies within ±k with that probability or a larger one."""
        return ADDITIVE[self.name].margin(float(self.parameter), _rest(confidence))

    def gap(self, n_candidates: int, confidence: float = 0.95) -> int:
        """Smallest g such that, whatever the scores, no candidate is more than g ahead of the chosen one.

        This holds with that probability. The worst case is a single best candidate and all others equally
        far, g + 1, behind it. *Selection margin* in ``docs/proofs/mechanisms.md``.
        """
        rest, others = _rest(confidence), n_candidates - 1

        def missed(gap: int) -> float:
            odds = math.exp(-float(self.parameter) * (gap + 1))
            if not odds:
                return 0.0
            if self.name == EXPONENTIAL:
                return others * odds / (1 + others * odds)
            return 1 + math.expm1(n_candidates * math.log1p(-odds)) / (n_candidates * odds)

        return smallest(lambda gap: missed(gap) <= rest)


@dataclass(frozen=True)
class NoisyCounts:
    """Counts with noise, and the noise's law: ``laplace`` (scale) or ``gaussian`` (variance)."""

    values: np.ndarray
    law: str
    parameter: Fraction

    @property
    def variance(self) -> float:
        """Variance of the noise on each count."""
        return Law(self.law, self.parameter).variance

    def margin(self, confidence: float = 0.95) -> int:
        """Each count lies within this many rows of the exact one, with that probability."""
        return Law(self.law, self.parameter).margin(confidence)


@dataclass(frozen=True)
class NoisySums:
    """Sums with noise, and the standard deviation of that noise."""

    values: np.ndarray
    sd: float


@dataclass(frozen=True)
class NoisyTable(NoisyCounts):
    """Counts with noise by the cells of some columns, one axis of ``values`` a column.

    Examples
    --------
    >>> table = NoisyTable(np.array([7, 3]), "laplace", Fraction(2), ("ill",), (("no", "yes"),))
    >>> list(table.rows()), table.margin()
    ([('no', 7), ('yes', 3)], 6)
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[Scalar, ...], ...]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The cells one by one: their names, then the noisy count."""
        return _rows(self.cells, self.values)


@dataclass(frozen=True)
class NoisyMoments:
    """Rows shared out by where their number lies in a public range, with noise; and what follows from that.

    Attributes
    ----------
    values : int64 (…, 3)
        For each group the units of (1 − p)², 2p(1 − p) and p², where p is a number's place in the range.
    law, parameter :
        Of the noise on each of them: see `Law`.
    columns, cells : tuple
        Names of the columns that make the groups, and of their cells.
    ends : tuple of float
        The numbers at p = 0 and p = 1.
    units : int
        Units of a row.
    """

    values: np.ndarray
    law: str
    parameter: Fraction
    columns: tuple[str, ...]
    cells: tuple[tuple[Scalar, ...], ...]
    ends: tuple[float, float]
    units: int

    def count(self, confidence: float = 0.95) -> Ranged:
        """Rows that have a number."""
        return self._linear(np.ones(3), confidence)

    def sum(self, confidence: float = 0.95) -> Ranged:
        """Sum of the numbers."""
        low, high = self.ends
        return self._linear(np.array([low, (low + high) / 2, high]), confidence)

    def mean(self, confidence: float = 0.95) -> Ranged:
        """Their mean; where too few rows are there to say, the middle of the range, and all of it."""
        low, high = self.ends
        found, (least, most) = self._ratio(np.array([0, 0.5, 1]), confidence)
        return Ranged(*(low + (high - low) * part for part in (found, least, most)))

    def variance(self, confidence: float = 0.95) -> Ranged:
        """Their variance, as of all rows there are."""
        scale = (self.ends[1] - self.ends[0]) ** 2
        mean, (low, high) = self._ratio(np.array([0, 0.5, 1]), confidence)
        square, (least, most) = self._ratio(np.array([0, 0, 1]), confidence)
        ends = np.clip([least - high**2, most - low**2], 0, 0.25)
        return Ranged(*(scale * np.clip(part, 0, 0.25) for part in (square - mean**2, *ends)))

    def rows(self, statistic: str, confidence: float = 0.95) -> Iterator[tuple[Any, ...]]:
        """The groups one by one: the names of their cells, then a statistic, and its lower and upper end."""
        told: Ranged = getattr(self, statistic)(confidence)
        ends = zip(*(part.ravel().tolist() for part in told), strict=True)
        return ((*names, *parts) for names, parts in zip(product(*self.cells), ends, strict=True))

    def _margin(self, confidence: float) -> int:
        """Within which all three numbers of a group lie, with that probability."""
        return Law(self.law, self.parameter).margin(1 - _rest(confidence) / 3)

    def _linear(self, weights: np.ndarray, confidence: float) -> Ranged:
        # A row is rounded to units: by one in each column at most.
        found, size = self.values @ weights / self.units, np.abs(weights).sum() / self.units
        rows = (
            np.maximum(self.values.sum(axis=-1) / self.units, 0) + 3 * self._margin(confidence) / self.units
        )
        margin = size * (self._margin(confidence) + rows * (np.ptp(weights) > 0))
        return Ranged(found, found - margin, found + margin)

    def _ratio(
        self, weights: np.ndarray, confidence: float
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """A weighted mean of the three columns, from 0 to 1, and its ends: it is monotone in each of them."""
        margin, parts = self._margin(confidence), []
        for corner in [(0, 0, 0), *product((-1, 1), repeat=3)]:
            at = np.maximum(self.values + margin * np.array(corner), 0)
            total = at.sum(axis=-1)
            parts.append(np.where(total > 0, at @ weights / np.maximum(total, 1), np.nan))
        empty = np.isnan(parts).any(axis=0)
        corners, rounding = np.array(parts[1:]), 2 / self.units
        low = np.where(empty, 0.0, np.maximum(corners.min(axis=0) - rounding, 0))
        high = np.where(empty, 1.0, np.minimum(corners.max(axis=0) + rounding, 1))
        middle = np.where(np.isnan(parts[0]), weights.sum() / 3, parts[0])
        return middle, (low, high)


class Ranged(NamedTuple):
    """Numbers by group, and the ends of the ranges in which they lie with some probability."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class NoisyChoices:
    """Something chosen for every group: the cells of some columns, or everyone where there are none.

    Attributes
    ----------
    values : array
        What was chosen, one axis a column.
    columns, cells : tuple
        Names of the columns that make the groups, and of their cells.
    law : str
        ``permute-and-flip`` or ``exponential``.
    rate : Fraction
        Exponent per unit of score.
    n_candidates : int
    units : int
        Units of score that make a row.
    """

    values: np.ndarray
    columns: tuple[str, ...]
    cells: tuple[tuple[Scalar, ...], ...]
    law: str
    rate: Fraction
    n_candidates: int
    units: int = 1

    @property
    def value(self) -> Any:
        """What was chosen, where everyone is one group."""
        return self.values.item()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The groups one by one: the names of their cells, then what was chosen."""
        return _rows(self.cells, self.values)

    def margin(self, confidence: float = 0.95) -> int:
        """Rows by which the best candidate may be ahead of the chosen one, with that probability."""
        return -(-Law(self.law, self.rate).gap(self.n_candidates, confidence) // self.units)


@dataclass(frozen=True)
class NoisyCells:
    """Cells of one tree whose noisy count reached a public threshold; a cell is leaf × labels + label."""

    cells: np.ndarray
    values: np.ndarray
    threshold: int
    scale: Fraction


@dataclass(frozen=True)
class CommonKeys:
    """Values that many people share, and their noisy numbers of rows.

    Attributes
    ----------
    keys : tuple of (int, str)
        Place of a feature in the schema, and a value's text; sorted.
    values : int64 array
        Rows that have it, with noise; at least ``threshold``.
    threshold : int
    law, parameter :
        Of the noise: see `Law`.
    """

    keys: tuple[tuple[int, str], ...]
    values: np.ndarray
    threshold: int
    law: str
    parameter: Fraction

    def of(self, feature: int) -> list[tuple[str, int]]:
        """Values of one feature with their noisy rows, most frequent first."""
        found = [(text, int(n)) for (j, text), n in zip(self.keys, self.values, strict=True) if j == feature]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True)
class ChosenSplits:
    """The choice of every leaf, −1 where it may take none, and its threshold, 0 where it has none."""

    choice: np.ndarray
    threshold: np.ndarray


class BestRun(NamedTuple):
    """Which candidate won, what it made, and the score that made it win."""

    candidate: int
    made: Any
    score: float


def sparse_threshold(n_cells: int, scale: Fraction, false_cells: int) -> int:
    """Smallest public threshold that keeps about ``false_cells`` of the empty cells, or fewer.

    A float may choose it: any threshold of at least 1 gives the same privacy.
    """
    wanted = math.log(max(n_cells, 1)) - math.log(max(false_cells, 1))
    return max(1, math.ceil(wanted * float(scale)))


def _rows(cells: tuple[tuple[Scalar, ...], ...], values: np.ndarray) -> Iterator[tuple[Any, ...]]:
    pairs = zip(product(*cells), values.ravel().tolist(), strict=True)
    return ((*names, value) for names, value in pairs)


def _rest(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise QuestionError("a confidence lies between 0 and 1.", "say, 0.95.")
    return 1 - confidence
