"""How a column is cut into cells for tables of counts: categories, label values, or bins of a range."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import floor

import numpy as np

from privet.checks import whole
from privet.data.condition import find_column
from privet.errors import QuestionError
from privet.schema import Categorical, Continuous, Feature, Label, Scalar, Schema

MISSING, OTHER = "(missing)", "(other)"


@dataclass(frozen=True)
class Axis:
    """Cells of one column; every code is in one, and the first ``n_values`` of them hold values.

    Attributes
    ----------
    name : str
    column : int
        Its place in the schema; the label or target stands behind the features.
    cell : int64 array
        Cell of each code.
    n_values : int
        The cell behind them, if there is one, holds the rows whose value is missing or unknown.
    n_cells : int
    named : callable
        Works out `cells`: a range has tens of thousands, and who counts needs no names.
    """

    name: str
    column: int
    cell: np.ndarray
    n_values: int
    n_cells: int
    named: Callable[[], tuple[Scalar, ...]] = field(repr=False)

    @property
    def cells(self) -> tuple[Scalar, ...]:
        """Name of each cell: a category or label value, or the text of a bin."""
        return self.named()

    def cells_of(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Cell of each row."""
        return self.cell[labels if self.column == len(features) else features[self.column]]


def read_axes(names: str | Sequence[str], schema: Schema, bins: int) -> tuple[Axis, ...]:
    """Columns by name, ranges cut into ``bins`` bins that are equal but for a cell."""
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    twice = [name for i, name in enumerate(listed) if name in listed[:i]]
    if twice:
        raise QuestionError(f"column {twice[0]!r} is named twice.", "name each once.")
    bins = whole(bins, "bins", 1)
    return tuple(_axis(name, *find_column(name, schema), bins) for name in listed)


def cell_value(feature: Continuous, cell: int) -> Scalar:
    """The middle of a cell of a range, or the integer that it stands for; of days and moments as text."""
    middle = feature.edge(cell) / 2 + feature.edge(cell + 1) / 2
    return feature.shown(floor(middle) if feature.integer else middle)


def _axis(name: str, column: int, feature: Feature | Label, bins: int) -> Axis:
    if isinstance(feature, Continuous):
        if feature.is_open and bins < feature.n_cells:
            raise QuestionError(f"the range of {name!r} is open.", "find it first, or ask for a quantile.")
        n_bins = min(bins, feature.n_cells)
        cell = np.append(np.arange(feature.n_cells) * n_bins // feature.n_cells, n_bins)
        return Axis(name, column, cell, n_bins, n_bins + 1, partial(_bin_names, feature, n_bins))
    if isinstance(feature, Categorical):
        if feature.is_open:
            raise QuestionError(
                f"the values of {name!r} are open.", "ask which are common, and go on with them."
            )
        n_values = len(feature.categories)
        cell = np.minimum(np.arange(feature.n_codes), n_values)
        return Axis(name, column, cell, n_values, n_values + 1, lambda: (*feature.categories, OTHER))
    n_values = len(feature.values)
    return Axis(name, column, np.arange(n_values), n_values, n_values, lambda: tuple(feature.values))


def _bin_names(feature: Continuous, n_bins: int) -> tuple[str, ...]:
    return *(_bin_name(feature, i, n_bins) for i in range(n_bins)), MISSING


def _bin_name(feature: Continuous, number: int, n_bins: int) -> str:
    """Its first and last value if it holds integers, else its edges, of which the lower one belongs to it."""
    first, behind = (-(-i * feature.n_cells // n_bins) for i in (number, number + 1))
    if not feature.integer:
        return f"{_edge(feature, first)} to {_edge(feature, behind)}"
    low, high = cell_value(feature, first), cell_value(feature, behind - 1)
    return f"{low}" if low == high else f"{low} to {high}"


def _edge(feature: Continuous, cell: int) -> str:
    told = feature.shown(feature.edge(cell))
    return told if isinstance(told, str) else f"{told:g}"
