"""What a question is: a value that states its price, counts rows exactly, and lets only noise out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from types import NoneType
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from privet.answers import Law, NoisyCounts
from privet.checks import Number
from privet.engines import Batch, Engine
from privet.errors import QuestionError
from privet.noise.bits import RowDraws
from privet.privacy.budget import Cost, bounded_range_epsilon, positive
from privet.privacy.charges import Charge
from privet.privacy.laws import Change, ScoreChange
from privet.privacy.mechanisms import Mechanisms
from privet.schema import Label, Schema, Target
from privet.soundness import check_sound
from privet.structure import STRUCTURES

Answer = TypeVar("Answer")
PLAIN = (NoneType, bool, int, float, str)


@dataclass(frozen=True)
class Terms:
    """What a question was paid for on: all but the rows that its answer may depend on.

    Attributes
    ----------
    schema : Schema
    cost : Cost
    law : Law
        Of the noise.
    draws : RowDraws
        What each row draws for itself, under a key of this question alone.
    again : bool
        Whether the plan has further questions, for which rows are read again.
    """

    schema: Schema
    cost: Cost
    law: Law
    draws: RowDraws
    again: bool = False


class Question(Generic[Answer]):
    """Base of all questions. Each is a frozen dataclass whose fields are plain values and structures.

    The wall takes a copy of it, asks `check`, then `charge`, pays, and only then reads rows: `read`
    gives the exact answer, `release` is the only code that sees it.
    """

    method: ClassVar[str]
    """Name under which `Protected` asks it."""

    text: ClassVar[str] = ""
    """What the ledger calls it, with places for its `sizes`."""

    composition: ClassVar[str] = "sequence"

    has_delta: ClassVar[bool] = False
    """Whether it keeps its cost but for a δ of its own."""

    predicts: ClassVar[tuple[type[Label | Target], ...]] = (Label,)
    """What a schema may predict for this to be asked: a tally of labels would misread cells of a target."""

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> Change | ScoreChange | None:
        """The most that one person moves the answer; a first size says how many cells count one row."""
        cells = sizes[0] if sizes else 1
        return Change(cells, cells)

    @classmethod
    def plan(cls, cost: Cost, *sizes: Any) -> Charge:
        """The charge, from the cost and the sizes alone: for plans made before the question is known."""
        return Charge(cls.text.format(*sizes), cost, cls.composition, cls, cls.change(cost, *sizes))

    def sizes(self, schema: Schema) -> tuple[Any, ...]:
        """What `change` and the text depend on."""
        return ()

    def copied(self) -> Self:
        """The same question of copies: see `taken`."""
        return type(self)(*(taken(getattr(self, field.name)) for field in fields(self)))  # type: ignore[arg-type]

    def check_predicted(self, schema: Schema) -> None:
        """Refuse a schema that predicts something else."""
        if not isinstance(schema.label, self.predicts):
            _ = schema.target if Target in self.predicts else schema.classes

    def check(self, schema: Schema) -> None:
        """Refuse what does not fit the schema, while that is free."""
        for field in fields(self):  # type: ignore[arg-type]
            kind = type(getattr(self, field.name))
            if field.type in STRUCTURES and kind is not field.type:
                raise QuestionError(f"{field.name} is of another kind.", f"give {field.type.__name__}.")
            if kind in STRUCTURES:
                check_sound(getattr(self, field.name), schema)

    def charge(self, schema: Schema, cost: Cost) -> Charge:
        """What it is called, what it costs, and the most that one person moves its answer."""
        return self.plan(cost, *self.sizes(schema))

    def rehearse(self, terms: Terms, mechanisms: Mechanisms) -> None:
        """Try on no rows whatever could fail, while that is free."""

    def looks_at(self, schema: Schema) -> Iterable[int] | None:
        """Places of the features that its tally looks at, None where it may be any; others are not read."""
        return None

    def tally(self, batch: Batch, terms: Terms) -> Any:
        """Exact answer about a batch; those of several batches are added up."""
        raise NotImplementedError

    def read(self, rows: Engine, terms: Terms) -> Any:
        """Exact answer about all rows."""
        return rows.sum(Tally(self, terms))

    def release(self, exact: Any, terms: Terms, mechanisms: Mechanisms) -> Answer:
        """What comes out: nothing but what a mechanism let through."""
        raise NotImplementedError


@dataclass(frozen=True)
class Tally:
    """What an engine applies to batches of rows: a value, so that it can travel to where rows lie."""

    question: Question[Any]
    terms: Terms
    more: tuple[Any, ...] = ()
    """What else the question's own `tally` takes."""

    @property
    def columns(self) -> tuple[int, ...] | None:
        """Places of the features that must be read."""
        places = self.question.looks_at(self.terms.schema)
        return None if places is None else tuple(sorted(set(places) - {len(self.terms.schema.features)}))

    @property
    def again(self) -> bool:
        """Whether rows are read again after this."""
        return self.terms.again

    def __call__(self, batch: Batch) -> Any:
        """Exact answer about a batch."""
        return self.question.tally(batch, self.terms, *self.more)


class Counts(Question[NoisyCounts]):
    """A question whose answer is whole numbers, each with noise, zeros too."""

    def release(self, exact: Any, terms: Terms, mechanisms: Mechanisms) -> NoisyCounts:
        """See `Question.release`."""
        return NoisyCounts(mechanisms.add(exact, terms.law), *terms.law)


def pure_only(cost: Cost) -> Fraction:
    """The ε of a cost, or a refusal where only an ε can pay."""
    if cost.epsilon is None:
        raise QuestionError("this question is asked for an epsilon alone.", "give epsilon, not rho.")
    return cost.epsilon


def cost_of(
    question: Question[Any],
    schema: Schema,
    epsilon: Number | None,
    rho: Number | None,
    delta: Number | None = None,
) -> Cost:
    """Cost of an answer, read once from what the caller gave.

    A choice for a ρ is one by the exponential mechanism, which has a price in ε as well.
    """
    if (epsilon is None) == (rho is None):
        raise QuestionError("give either epsilon or rho.")
    if delta is not None and not question.has_delta:
        raise QuestionError("this question has no delta of its own.", "leave it out.")
    cost = Cost.pure(epsilon) if epsilon is not None else Cost.zcdp(rho or 0)
    if question.has_delta:
        cost = cost.with_delta(delta or 0)
    if epsilon is not None:
        return cost
    change = question.charge(schema, cost).change
    if isinstance(change, Change):
        return replace(cost, gaussian=True)
    if isinstance(change, ScoreChange) and change.shares == 1:
        return Cost.pure(bounded_range_epsilon(positive(rho or 0, "rho")), bounded_range=True)
    return cost


def one_of(kind: type, kinds: Iterable[type]) -> bool:
    """Whether a type is itself one of some: a type may say of itself that it equals any other."""
    return any(kind is known for known in kinds)


def taken(value: Any) -> Any:
    """A copy of what was handed in, of known types alone: checked and used is then one and the same.

    A subclass could bring code along, and an array or a list could change between two readings. Nothing that
    a value says of its own type is believed.
    """
    kind = type(value)
    if kind is Fraction:
        return Fraction(int(value.numerator), int(value.denominator))  # its parts can be written into
    if one_of(kind, PLAIN):
        return value
    if kind is np.ndarray and value.dtype.kind in "biufU":
        return np.array(value)
    if issubclass(kind, np.number | np.bool_):
        return np.generic.item(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if kind is list or kind is tuple:
        return tuple(map(taken, tuple(value)))
    if one_of(kind, STRUCTURES):
        return kind(*(taken(getattr(value, field.name)) for field in fields(kind)))
    raise QuestionError(
        f"a question cannot hold a {kind.__name__}.", "give numbers, text, lists, arrays, trees or bins."
    )
