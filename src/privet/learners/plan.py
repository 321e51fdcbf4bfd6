"""What a fit would do, told from public quantities before anything is paid for.

Every estimator has ``plan(schema, n_rows)``. It rests on the functions that the fit itself plans with, so
that the two cannot drift apart; where a fit plans from a *noisy* number of rows, this is the plan
of ``n_rows``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.notebook import facts_html, plural
from privet.privacy import Budget, Charge, in_sequence
from privet.schema import Schema
from privet.theory import Bound

QUANTILES = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Leaves:
    """What the leaves of a tree can be expected to hold, and what they need.

    Attributes
    ----------
    rows : float (101,)
        Expected rows of a leaf at the quantiles 0, 0.01, …, 1 of all leaves, if rows are spread evenly over
        the public ranges. Real rows are not: more leaves are empty then, and others fuller.
    least : float
        Rows below which a leaf is too thin to speak: even if all agree on a label, noise outvotes them
        more often than one time in six; or a sparse release shows them less often than every other time.
    why : str
        What so many rows just do.
    """

    rows: np.ndarray
    least: float
    why: str = "just outvote the noise"

    @classmethod
    def of(cls, expected: np.ndarray, least: float, why: str = why) -> Leaves:
        """From the expected rows of every leaf."""
        return cls(np.quantile(expected, QUANTILES), least, why)

    @property
    def thin(self) -> float:
        """Share of the leaves that are too thin to speak."""
        return float(np.interp(self.least, self.rows, QUANTILES, left=0.0, right=1.0))


@dataclass(frozen=True)
class StatedBound:
    """A bound of theory: its name, what it says here, and its value where its assumptions hold."""

    name: str
    says: str
    value: Bound | None = None


@dataclass(frozen=True, repr=False)
class FitPlan:
    """What an estimator would ask and build.

    Attributes
    ----------
    learner : str
    budget : Budget
    n_rows : float
    questions : sequence of Charge
        In the order of the fit.
    facts : dict
        Sizes, by name, in the order a reader wants them.
    leaves : Leaves or None
    bounds : sequence of StatedBound
    """

    learner: str
    budget: Budget
    n_rows: float
    questions: Sequence[Charge]
    facts: Mapping[str, int | float | str]
    leaves: Leaves | None = None
    bounds: Sequence[StatedBound] = ()

    def shares(self) -> list[tuple[str, int, float, float | None]]:
        """Question, how often it is asked at one price, its part of the budget, and its noise."""
        return [
            (charge.question, times, times * self._share(charge), charge.noise_sd)
            for charge, times in Counter(self.questions).items()
        ]

    def rows(self) -> list[tuple[str, str]]:
        """Names and values, in the order a reader wants them: the questions, then what follows."""
        asked = [
            (name, f"{_times(n)}{share:.1%} of the budget{_noise(sd)}")
            for name, n, share, sd in self.shares()
        ]
        return [("learner", self.learner), ("budget", str(self.budget)), *asked, *self.told()]

    def told(self) -> list[tuple[str, str]]:
        """Sizes, what the leaves come to, and bounds, as text."""
        facts: dict[str, int | float | str] = {"rows": round(self.n_rows), **self.facts}
        if self.leaves is not None:
            facts["expected rows of the median leaf"] = float(self.leaves.rows[50])
            facts["rows that a leaf needs to speak"] = self.leaves.least
            facts["leaves too thin to speak"] = f"{self.leaves.thin:.0%}"
        bounds = [(bound.name, bound.says) for bound in self.bounds]
        return [(name, _text(value)) for name, value in facts.items()] + bounds

    def __repr__(self) -> str:
        return f"<FitPlan: {self.learner}, {self.budget}, {plural(len(self.questions), 'question')}>"

    def _repr_html_(self) -> str:
        return facts_html("What a fit would ask", self.rows())

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows()) + 2
        return "\n".join(f"{name:<{width}}{value}" for name, value in self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        leaves = self.leaves
        return {
            "learner": self.learner,
            "budget": str(self.budget),
            "questions": [{**charge.to_dict(), "noise_sd": charge.noise_sd} for charge in self.questions],
            "facts": {"rows": self.n_rows, **self.facts},
            "leaves": leaves and {"rows": leaves.rows.tolist(), "least": leaves.least, "thin": leaves.thin},
            "bounds": [
                {
                    "name": b.name,
                    "says": b.says,
                    "value": b.value and dict(b.value._asdict(), terms=dict(b.value.terms)),
                }
                for b in self.bounds
            ],
        }

    def _share(self, charge: Charge) -> float:
        """In the unit in which the plan fills its budget: with a δ a plan may all the same be pure."""
        total, cost = in_sequence(planned.cost for planned in self.questions), charge.cost
        if total.epsilon is not None and total.epsilon <= self.budget.epsilon:
            assert cost.epsilon is not None
            return float(cost.epsilon / self.budget.epsilon)
        return float(cost.priced(self.budget.accounting).rho / self.budget.rho)


def public_rows(schema: Schema, n_rows: float | None) -> float:
    """Number of rows to plan for: the one given, within the schema's bound, or that bound."""
    if n_rows is None and schema.max_rows is None:
        raise QuestionError(
            "a plan needs a number of rows, and the schema states none.",
            "give n_rows: what is publicly known, or a guess. Never count private rows for it.",
        )
    if n_rows is not None and (isinstance(n_rows, bool) or not n_rows >= 1):
        raise QuestionError("n_rows must be at least 1.")
    return min(float(n) for n in (n_rows, schema.max_rows) if n is not None)


def _times(n: int) -> str:
    return f"{n} times, " if n > 1 else ""


def _noise(sd: float | None) -> str:
    return "" if sd is None else f", noise ± {_text(sd)}"


def _text(value: int | float | str) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
