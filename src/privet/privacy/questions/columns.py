"""Questions about columns: counts, tables, most frequent items and quantiles, by condition and by group.

This is the layer of Friedman and Schuster 2010, usable without any learner. Conditions are text over the
schema (`privet.data.condition`); a question that does not fit the schema is refused before it is charged.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from privet.answers import NoisyChoices, NoisyCounts, NoisyTable
from privet.checks import Number, exact
from privet.data.axis import Axis, cell_value, read_axes
from privet.data.condition import find_column, read_condition
from privet.engines import Batch
from privet.errors import QuestionError, display
from privet.kernels.criteria import quantile_scores
from privet.privacy.budget import Cost
from privet.privacy.charges import Charge
from privet.privacy.laws import ScoreChange
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Question, Terms
from privet.schema import Continuous, Label, Schema, Target

MAX_TABLE = 1 << 24
"""Cells of a table: every one of them gets its noise."""

LONGEST = 300
"""Characters of a list of conditions that the ledger keeps."""

MAX_CANDIDATES = 10_000
FINEST = 10**6
"""Largest denominator of a quantile's share."""

Columns = str | Sequence[str]


class OfColumns(Question[Any]):
    """What is asked of the rows that a condition means, counted in the cells of some columns.

    The last of its axes is what is asked about where something is chosen; those before it make groups.
    """

    text = "number of rows"
    predicts = (Label, Target)
    where: str | None = None

    def words(self) -> str:
        """What is asked."""
        return self.text

    def axes(self, schema: Schema) -> Sequence[Axis]:
        """Columns whose cells are counted."""
        return ()

    def groups(self, schema: Schema) -> Sequence[Axis]:
        """Columns by whose cells the answer comes out."""
        return self.axes(schema)

    def check(self, schema: Schema) -> None:
        if prod(axis.n_cells for axis in self.axes(schema)) > MAX_TABLE:
            raise QuestionError(
                f"this table has more than {MAX_TABLE:,} cells.", "name fewer columns, or take fewer bins."
            )
        if self.where is not None:
            read_condition(self.where, schema)

    def charge(self, schema: Schema, cost: Cost) -> Charge:
        names, change = ", ".join(axis.name for axis in self.groups(schema)), self.change(cost)
        where = "" if self.where is None else f" where {' '.join(self.where.split())}"
        text = self.words() + (f" by {names}" if names else "") + where
        parallel = f"parallel over {names}" if names and isinstance(change, ScoreChange) else "sequence"
        return Charge(text, cost, parallel, type(self), change)

    def conditions(self) -> Iterable[str]:
        """Conditions that its tally decides."""
        return () if self.where is None else (self.where,)

    def looks_at(self, schema: Schema) -> Iterable[int]:
        columns = {axis.column for axis in self.axes(schema)}
        return columns.union(*(read_condition(text, schema).columns for text in self.conditions()))

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        axes, cell = self.axes(terms.schema), np.zeros(len(batch.labels), np.int64)
        for axis in axes:
            cell = cell * axis.n_cells + axis.cells_of(*batch[:2])
        if self.where is not None:
            cell = cell[read_condition(self.where, terms.schema).holds(*batch[:2])]
        shape = tuple(axis.n_cells for axis in axes)
        return np.bincount(cell, minlength=prod(shape)).reshape(shape)

    def chosen(self, values: Any, n: int, chosen: Any, terms: Terms, units: int = 1) -> NoisyChoices:
        """A choice of some values in every group."""
        groups = self.groups(terms.schema)
        names, cells = tuple(axis.name for axis in groups), tuple(axis.cells for axis in groups)
        listed = np.fromiter(values, object, n)
        return NoisyChoices(np.asarray(listed[chosen]), names, cells, *terms.law, n, units)


@dataclass(frozen=True)
class RowCount(OfColumns):
    """Number of rows, or of those that fulfil a condition such as ``"age >= 37 and town = north"``.

    Privacy
    -------
    ε-DP or ρ-zCDP; sensitivity 1. Proof: *Discrete Laplace*, *Rounded Gaussian*.
    """

    method = "noisy_count"
    where: str | None = None

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisyCounts:
        return NoisyCounts(mechanisms.add(exact.reshape(1), terms.law), *terms.law)


@dataclass(frozen=True)
class ColumnRows(OfColumns):
    """Rows by the values of one or several columns, empty cells included.

    A range is cut into ``bins`` equal bins. Missing and unknown values have a cell of their own, so
    that every row is in one cell.

    Privacy
    -------
    ε-DP or ρ-zCDP over the whole table; a row is in one cell at most, so both sensitivities are 1.
    Proof: *Discrete Laplace*, *Rounded Gaussian*.
    """

    method = "noisy_column_rows"
    columns: Columns
    where: str | None = None
    bins: int = 10

    def axes(self, schema: Schema) -> Sequence[Axis]:
        return read_axes(self.columns, schema, self.bins)

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisyTable:
        axes = self.axes(terms.schema)
        names, cells = tuple(axis.name for axis in axes), tuple(axis.cells for axis in axes)
        return NoisyTable(mechanisms.add(exact, terms.law), *terms.law, names, cells)


@dataclass(frozen=True)
class Choice(OfColumns):
    """Of some conditions, the one that most (or least) rows fulfil. They may overlap.

    Privacy
    -------
    ε-DP, or ρ-zCDP by the exponential mechanism. A row adds at most one to the count of each
    candidate and never takes one away: sensitivity 1, monotone. Proof: *Permute-and-flip*,
    *Exponential*.
    """

    method = "choose"
    candidates: Sequence[str]
    where: str | None = None
    least: bool = False

    def words(self) -> str:
        word, listed = "fewest" if self.least else "most", "; ".join(self.candidates)
        shown = listed if len(listed) <= LONGEST else listed[:LONGEST] + "…"
        return f"which of {len(self.candidates)} conditions {word} rows fulfil: {shown}"

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> ScoreChange:
        return ScoreChange()

    def check(self, schema: Schema) -> None:
        if not isinstance(self.candidates, tuple) or not 1 <= len(self.candidates) <= MAX_CANDIDATES:
            raise QuestionError(
                f"give a list of 1 to {MAX_CANDIDATES:,} conditions to choose from.",
                'say ["age < 30", "age >= 30"].',
            )
        for text in self.candidates:
            read_condition(text, schema)
        super().check(schema)

    def conditions(self) -> Iterable[str]:
        return *self.candidates, *super().conditions()

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        asked = [self.candidates, () if self.where is None else (self.where,)]
        candidates, among = ([read_condition(t, terms.schema).holds(*batch[:2]) for t in ts] for ts in asked)
        return np.array([np.count_nonzero(np.all([holds, *among], axis=0)) for holds in candidates])

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisyChoices:
        chosen = mechanisms.choose(-exact if self.least else exact, terms.law)
        return self.chosen(self.candidates, len(self.candidates), chosen, terms)


@dataclass(frozen=True)
class ItemChoice(OfColumns):
    """Most (or least) frequent value of a column, in every group that other columns make.

    Values are those of the schema, or ``bins`` equal bins of a range; rows whose value is missing
    or unknown are not counted. A group that is empty says any value.

    Privacy
    -------
    ε-DP, or ρ-zCDP by the exponential mechanism, over all groups together: a row is in one group and
    changes one count there, by one. Counts, and counts with a minus, are monotone. Proof: *Most or
    least frequent item*.
    """

    method = "choose_item"
    column: str
    by: Columns = ()
    where: str | None = None
    least: bool = False
    bins: int = 10

    def words(self) -> str:
        return f"{'least' if self.least else 'most'} frequent {self.column}"

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> ScoreChange:
        return ScoreChange()

    def axes(self, schema: Schema) -> Sequence[Axis]:
        return read_axes([*_listed(self.by), self.column], schema, self.bins)

    def groups(self, schema: Schema) -> Sequence[Axis]:
        return self.axes(schema)[:-1]

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisyChoices:
        items = self.axes(terms.schema)[-1]
        counts = exact[..., : items.n_values]
        chosen = mechanisms.choose(-counts if self.least else counts, terms.law)
        return self.chosen(items.cells[: items.n_values], items.n_values, chosen, terms)


@dataclass(frozen=True)
class Quantile(OfColumns):
    """The value of a column below which a share ``at`` of its rows lies, in every group.

    It is chosen among all cells of the column's public range. Its score is the number of rows by which it
    misses the share, so that `NoisyChoices.margin` is in rows too. Missing values are not counted, and a
    group that is empty says any value.

    Privacy
    -------
    ε-DP, or ρ-zCDP by the exponential mechanism, over all groups together. The score's sensitivity is
    max(at, 1 − at), and it is not monotone. Proof: *Quantile*.
    """

    method = "noisy_quantile"
    column: str
    at: Number
    by: Columns = ()
    where: str | None = None
    bins: int = 10

    @property
    def share(self) -> Fraction:
        """The share, exactly."""
        share = exact(self.at, "at")
        if not 0 < share < 1 or share.denominator > FINEST:
            raise QuestionError(
                "a quantile's share lies between 0 and 1, with six digits at most.", "0.5 is the median."
            )
        return share

    def words(self) -> str:
        return f"quantile {display(self.share)} of {self.column}"

    def change(self, cost: Cost, *sizes: Any) -> ScoreChange:  # type: ignore[override]
        return ScoreChange(max(self.share, 1 - self.share) * self.share.denominator, monotone=False)

    def axes(self, schema: Schema) -> Sequence[Axis]:
        return *self.groups(schema), *read_axes(self.column, schema, self._feature(schema).n_cells)

    def groups(self, schema: Schema) -> Sequence[Axis]:
        by = _listed(self.by)
        if self.column in by:
            raise QuestionError(f"column {self.column!r} is named twice.", "name each once.")
        return read_axes(by, schema, self.bins)

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisyChoices:
        feature = self._feature(terms.schema)
        chosen = mechanisms.choose(quantile_scores(exact[..., : feature.n_cells], self.share), terms.law)
        values = (cell_value(feature, cell) for cell in range(feature.n_cells))
        return self.chosen(values, feature.n_cells, chosen, terms, self.share.denominator)

    def _feature(self, schema: Schema) -> Continuous:
        _, feature = find_column(self.column, schema)
        if not isinstance(feature, Continuous):
            raise QuestionError(f"{self.column!r} has no quantiles.", "ask for its most frequent value.")
        return feature


def _listed(columns: Columns) -> Sequence[str]:
    return columns if isinstance(columns, tuple) else (columns,)
