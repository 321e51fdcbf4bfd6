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
