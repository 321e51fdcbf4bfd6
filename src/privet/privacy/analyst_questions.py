"""Questions of analysts: counts, tables, most frequent items and quantiles, under a condition and by group.

This is the layer of Friedman and Schuster 2010, usable without any learner. Conditions are text over the
schema (`privet.data.condition`); a question that does not fit the schema is refused before it is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from privet.data.axis import Axis, cell_value, read_axes
from privet.data.condition import Condition, find_column, read_condition
from privet.engines import Batch
from privet.errors import QuestionError, display
from privet.privacy.answers import NoisyChoices, NoisyTable
from privet.privacy.budget import Cost, Number, exact, positive
from privet.privacy.charges import Charge
from privet.privacy.mechanisms import selection_rate
from privet.privacy.samplers import check_rate
from privet.privacy.selection import bounded_range_epsilon
from privet.privacy.wall import EXPONENTIAL, PERMUTE_AND_FLIP, NoisyCounts, Wall, cost_of, pure
from privet.schema import Continuous, Scalar

MAX_TABLE = 1 << 24
"""Cells of a table: every one of them gets its noise."""

LONGEST = 300
"""Characters of a list of conditions that the ledger keeps."""

MAX_CANDIDATES = 10_000
FINEST = 10**6
"""Largest denominator of a quantile's share."""

Columns = str | Sequence[str]


class AnalystQuestions(Wall):
    """What can be asked of columns."""

    __slots__ = ()

    def noisy_count(
        self, where: str | None = None, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> NoisyCounts:
        """Number of rows, or of those that fulfil a condition such as ``"age >= 37 and town = north"``.

        Privacy
        -------
        ε-DP or ρ-zCDP; sensitivity 1. Proof: *Discrete Laplace*, *Discrete Gaussian*.
        """
        condition = self._condition(where)
        charge = Charge(_asked("number of rows", (), where), cost_of(epsilon, rho, 1))
        exact_rows = self._ask(charge, _counter((), condition))
        return self._with_noise(exact_rows.reshape(1), 1, charge.cost)

    def noisy_column_rows(
        self,
        columns: Columns,
        where: str | None = None,
        *,
        bins: int = 10,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisyTable:
        """Rows by the values of one or several columns, empty cells included.

        A range is cut into ``bins`` equal bins. Missing and unknown values have a cell of their own, so
        that every row is in one cell.

        Privacy
        -------
        ε-DP or ρ-zCDP over the whole table; a row is in one cell at most, so both sensitivities are 1.
        Proof: *Discrete Laplace*, *Discrete Gaussian*.
        """
        axes = self._axes(columns, bins)
        condition = self._condition(where)
        charge = Charge(_asked("number of rows", axes, where), cost_of(epsilon, rho, 1))
        exact_rows = self._ask(charge, _counter(axes, condition))
        noisy = self._with_noise(exact_rows, 1, charge.cost)
        return NoisyTable(noisy.values, noisy.law, noisy.parameter, *_named(axes))

    def choose(
        self,
        candidates: Sequence[str],
        where: str | None = None,
        *,
        least: bool = False,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisyChoices:
        """Of some conditions, the one that most (or least) rows fulfil. They may overlap.

        Privacy
        -------
        ε-DP, or ρ-zCDP by the exponential mechanism. A row adds at most one to the count of each
        candidate and never takes one away: sensitivity 1, monotone. Proof: *Permute-and-flip*,
        *Exponential*.
        """
        listed = _candidates(candidates)
        conditions = [read_condition(text, self.schema) for text in listed]
        condition = self._condition(where)
        choice = _selection(epsilon, rho)
        word = "fewest" if least else "most"
        question = f"which of {len(listed)} conditions {word} rows fulfil: {_shortened('; '.join(listed))}"
        exact_rows = self._ask(_grouped(question, (), where, choice.cost), _scorer(conditions, condition))
        chosen = self._select(-exact_rows if least else exact_rows, choice.rate, choice.law)
        return NoisyChoices(_picked(listed, chosen), (), (), choice.law, choice.rate, len(listed))

    def choose_item(
        self,
        column: str,
        by: Columns = (),
        where: str | None = None,
        *,
        least: bool = False,
        bins: int = 10,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisyChoices:
        """Most (or least) frequent value of a column, in every group that other columns make.

        Values are those of the schema, or ``bins`` equal bins of a range; rows whose value is missing
        or unknown are not counted. A group that is empty says any value.

        Privacy
        -------
        ε-DP, or ρ-zCDP by the exponential mechanism, over all groups together: a row is in one group and
        changes one count there, by one. Counts, and counts with a minus, are monotone. Proof: *Most or
        least frequent item*.
        """
        *groups, items = self._axes([*_listed(by), column], bins)
        condition = self._condition(where)
        choice = _selection(epsilon, rho)
        question = f"{'least' if least else 'most'} frequent {column}"
        charge = _grouped(question, groups, where, choice.cost)
        exact_counts = self._ask(charge, _counter([*groups, items], condition))[..., : items.n_values]
        chosen = self._select(-exact_counts if least else exact_counts, choice.rate, choice.law)
        values = _picked(items.cells[: items.n_values], chosen)
        return NoisyChoices(values, *_named(groups), choice.law, choice.rate, items.n_values)

    def noisy_quantile(
        self,
        column: str,
        at: Number,
        by: Columns = (),
        where: str | None = None,
        *,
        bins: int = 10,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisyChoices:
        """The value of a column below which a share ``at`` of its rows lies, in every group.

        It is chosen among all cells of the column's public range. Its score is the number of rows by which it
        misses the share, so that `NoisyChoices.margin` is in rows too. Missing values are not counted, and a
        group that is empty says any value.

        Privacy
        -------
        ε-DP, or ρ-zCDP by the exponential mechanism, over all groups together. The score's sensitivity is
        max(at, 1 − at), and it is not monotone. Proof: *Quantile*.
        """
        share = _share(at)
        _, feature = find_column(column, self.schema)
        if not isinstance(feature, Continuous):
            raise QuestionError(f"{column!r} has no quantiles.", "ask for its most frequent value.")
        groups = self._axes([*_listed(by), column], bins)[:-1]
        (cells,) = read_axes(column, self.schema, feature.n_cells)
        condition = self._condition(where)
        units = share.denominator
        choice = _selection(epsilon, rho, max(share, 1 - share) * units, monotone=False)
        _check_size([*groups, cells])
        question = f"quantile {display(share)} of {column}"
        charge = _grouped(question, groups, where, choice.cost)
        exact_rows = self._ask(charge, _counter([*groups, cells], condition))
        exact_scores = quantile_scores(exact_rows[..., : feature.n_cells], share)
        chosen = self._select(exact_scores, choice.rate, choice.law)
        values = np.vectorize(lambda cell: cell_value(feature, cell), [object])(chosen)
        return NoisyChoices(values, *_named(groups), choice.law, choice.rate, feature.n_cells, units)

    def _axes(self, columns: Columns, bins: int) -> list[Axis]:
        axes = read_axes(columns, self.schema, bins)
        _check_size(axes)
        return list(axes)

    def _condition(self, where: str | None) -> Condition | None:
        return None if where is None else read_condition(where, self.schema)


class Choice(NamedTuple):
    """How a selection is paid for and drawn."""

    cost: Cost
    law: str
    rate: Fraction


def _selection(
    epsilon: Number | None, rho: Number | None, sensitivity: Fraction = Fraction(1), monotone: bool = True
) -> Choice:
    """Permute-and-flip for an ε; for a ρ the exponential mechanism, of which bounded range asks less.

    There ε²/8 = ρ. The root is rounded down, so that no more than ρ is charged.
    """
    if (epsilon is None) == (rho is None):
        raise QuestionError("give either epsilon or rho.")
    if epsilon is not None:
        cost, law = Cost.pure(epsilon), PERMUTE_AND_FLIP
    else:
        root = bounded_range_epsilon(positive(rho or 0, "rho"))
        cost, law = Cost.pure(root, bounded_range=True), EXPONENTIAL
    rate = selection_rate(pure(cost), sensitivity, monotone)
    check_rate(rate)
    return Choice(cost, law, rate)


def quantile_scores(exact_rows: np.ndarray, share: Fraction) -> np.ndarray:
    """Minus the rows by which each cell misses a share, in units of 1/denominator of a row.

    A cell misses it by as many rows as must lie elsewhere for the share to fall into the cell: those
    below it beyond the share, or those above it beyond the rest.
    """
    up_to = np.cumsum(exact_rows, axis=-1)
    wanted = share.numerator * up_to[..., -1:]
    too_high = share.denominator * (up_to - exact_rows) - wanted
    too_low = wanted - share.denominator * up_to
    return -np.maximum(np.maximum(too_high, too_low), 0)


def _counter(axes: Sequence[Axis], condition: Condition | None) -> Callable[[Batch], np.ndarray]:
    """Kernel that counts the rows meant by a condition in the cells of a table."""
    shape = tuple(len(axis.cells) for axis in axes)

    def kernel(batch: Batch) -> np.ndarray:
        cell = np.zeros(len(batch.labels), np.int64)
        for axis in axes:
            cell = cell * len(axis.cells) + axis.cells_of(*batch[:2])
        if condition is not None:
            cell = cell[condition.holds(*batch[:2])]
        return np.bincount(cell, minlength=prod(shape)).reshape(shape)

    return kernel


def _scorer(candidates: Sequence[Condition], condition: Condition | None) -> Callable[[Batch], np.ndarray]:
    """Kernel that counts the rows meant by each candidate, among those meant by a condition."""

    def kernel(batch: Batch) -> np.ndarray:
        among = True if condition is None else condition.holds(*batch[:2])
        return np.array([np.count_nonzero(c.holds(*batch[:2]) & among) for c in candidates])

    return kernel


def _check_size(axes: Sequence[Axis]) -> None:
    if prod(len(axis.cells) for axis in axes) > MAX_TABLE:
        raise QuestionError(
            f"this table has more than {MAX_TABLE:,} cells.", "name fewer columns, or take fewer bins."
        )


def _listed(columns: Columns) -> list[str]:
    return [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else list(columns)


def _named(axes: Sequence[Axis]) -> tuple[tuple[str, ...], tuple[tuple[Scalar, ...], ...]]:
    return tuple(axis.name for axis in axes), tuple(axis.cells for axis in axes)


def _candidates(candidates: Sequence[str]) -> list[str]:
    listed = [] if isinstance(candidates, str) or not isinstance(candidates, Iterable) else list(candidates)
    if not 1 <= len(listed) <= MAX_CANDIDATES:
        raise QuestionError(
            f"give a list of 1 to {MAX_CANDIDATES:,} conditions to choose from.",
            'say ["age < 30", "age >= 30"].',
        )
    return listed


def _picked(values: Sequence[Any], chosen: np.ndarray) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return np.asarray(out[chosen])


def _share(at: Number) -> Fraction:
    share = exact(at, "at")
    if not 0 < share < 1 or share.denominator > FINEST:
        raise QuestionError(
            "a quantile's share lies between 0 and 1, with six digits at most.", "0.5 is the median."
        )
    return share


def _asked(question: str, axes: Sequence[Axis], where: str | None) -> str:
    """What the ledger keeps of a question."""
    by = f" by {', '.join(axis.name for axis in axes)}" if axes else ""
    return f"{question}{by}" + (f" where {' '.join(where.split())}" if where is not None else "")


def _grouped(question: str, groups: Sequence[Axis], where: str | None, cost: Cost) -> Charge:
    composition = f"parallel over {', '.join(axis.name for axis in groups)}" if groups else "sequence"
    return Charge(_asked(question, groups, where), cost, composition)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
