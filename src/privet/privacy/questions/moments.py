"""Mean, sum and variance of a column with a public range, by group, from one noisy question.

Proof note: ``docs/proofs/mechanisms.md``, *Moments*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privet.answers import NoisyMoments
from privet.data.axis import Axis, read_axes
from privet.data.condition import find_column
from privet.errors import QuestionError
from privet.privacy.budget import Cost
from privet.privacy.charges import Charge
from privet.privacy.laws import Change
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Terms
from privet.privacy.questions.boosting import gradient_grid
from privet.privacy.questions.columns import Columns, OfColumns
from privet.schema import Continuous, Moment, Schema

LARGEST = 1e100
"""Of a bound: sums over all rows, and squares of them, are far from the largest float."""

LEAST_FINE = Fraction(1, 10**4)
"""Least ε whose noise can be drawn in the finest units."""


@dataclass(frozen=True)
class Moments(OfColumns):
    """How many rows have a number in a column, its sum, mean and variance, by group.

    A row whose number lies at a share p of the public range is shared out among three columns, (1 − p)²,
    2p(1 − p) and p²: they add up to rows, and the moments of p follow from them. Missing values are left out.

    Privacy
    -------
    ε-DP or ρ-zCDP over all groups together; a row adds 1 in L1 norm to one group, in whole units, and no more
    in squared L2 norm. Proof: *Moments*.
    """

    method = "noisy_moments"
    column: str
    by: Columns = ()
    where: str | None = None
    bins: int = 10

    def words(self) -> str:
        return f"mean, sum and variance of {self.column}"

    def charge(self, schema: Schema, cost: Cost) -> Charge:
        units = row_units(cost)
        return replace(super().charge(schema, cost), change=Change(units, units**2, 1 / units))

    def axes(self, schema: Schema) -> Sequence[Axis]:
        return *self.groups(schema), *read_axes(self.column, schema, self._feature(schema).n_cells)

    def groups(self, schema: Schema) -> Sequence[Axis]:
        by = self.by if isinstance(self.by, tuple) else (self.by,)
        if self.column in by:
            raise QuestionError(f"column {self.column!r} is named twice.", "name each once.")
        return read_axes(by, schema, self.bins)

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> NoisyMoments:
        feature, units = self._feature(terms.schema), row_units(terms.cost)
        shared_out = exact[..., : feature.n_cells] @ row_shares(feature.n_cells, units)
        groups = self.groups(terms.schema)
        names, cells = tuple(axis.name for axis in groups), tuple(axis.cells for axis in groups)
        half = 0.0 if feature.integer and feature.width == 1 else feature.width / 2
        ends = feature.edge(0) + half, feature.edge(feature.n_cells) - (half or 1)
        return NoisyMoments(mechanisms.add(shared_out, terms.law), *terms.law, names, cells, ends, units)

    def _feature(self, schema: Schema) -> Continuous:
        _, feature = find_column(self.column, schema)
        if not isinstance(feature, Continuous) or isinstance(feature, Moment):
            raise QuestionError(f"{self.column!r} holds no numbers.", "ask for its most frequent value.")
        if feature.is_open:
            raise QuestionError(f"the range of {self.column!r} is open.", "state bounds, or ask a quantile.")
        if max(abs(feature.lower), abs(feature.upper)) > LARGEST:
            raise QuestionError(
                f"the range of {self.column!r} is too wide for its squares.", "state bounds within ±1e100."
            )
        return feature


def row_units(cost: Cost) -> int:
    """Units that a row is made of: fine, as far as the noise that a cost asks for can be drawn."""
    if cost.epsilon is None:
        return 1 << gradient_grid(0, 1, cost).fraction_bits
    return 1 << (30 if cost.epsilon >= LEAST_FINE else 14)


def row_shares(n_cells: int, units: int) -> np.ndarray:
    """How the units of a row in each cell are shared out among three columns: none negative, none lost."""
    place = np.arange(n_cells) / max(n_cells - 1, 1)
    high = np.rint(place**2 * units).astype(np.int64)
    middle = np.minimum(np.rint(2 * place * (1 - place) * units).astype(np.int64), units - high)
    return np.stack([units - high - middle, middle, high], axis=1)
