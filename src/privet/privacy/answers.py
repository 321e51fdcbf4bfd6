"""What analysts get: noisy numbers and choices, by group, and what their noise allows to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from privet.privacy.margins import selection_margin
from privet.privacy.wall import NoisyCounts
from privet.schema import Scalar


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
        return -(-selection_margin(self.law, self.n_candidates, self.rate, confidence) // self.units)


def _rows(cells: tuple[tuple[Scalar, ...], ...], values: np.ndarray) -> Iterator[tuple[Any, ...]]:
    pairs = zip(product(*cells), values.ravel().tolist(), strict=True)
    return ((*names, value) for names, value in pairs)
