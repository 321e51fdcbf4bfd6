"""Charges, and what the events of a ledger leave of an account.

Proof note: ``docs/proofs/composition.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privet.answers import Law
from privet.errors import BudgetError, BudgetExceeded, QuestionError, UnknownAccount, display
from privet.privacy.budget import (
    DELTA_UNITS,
    NOTHING,
    UNITS,
    Budget,
    Cost,
    epsilon_of,
    in_parallel,
    in_sequence,
)
from privet.privacy.laws import OF_ITS_OWN, Change, ScoreChange, law_of, noise_sd

Event = Mapping[str, Any]
NONE = Fraction(0)
PLANS = ("charges", "instead")
"""The plans of a charge: the one, and the other that may be followed instead of it."""


@dataclass(frozen=True)
class Charge:
    """One question of a plan: what kind it is, what it costs, and how far one person moves its answer.

    A charge without a kind, such as one read from a ledger, or a rest that is planned later, cannot be
    asked. What the ledger keeps is the text, the cost, and how the parts of the question compose.

    Attributes
    ----------
    question : str
        For people and the ledger; nothing is decided by it.
    cost : Cost
    composition : str
    kind : type, optional
        The class of the question.
    change : Change or ScoreChange, optional
    """

    question: str
    cost: Cost
    composition: str = "sequence"
    kind: type | None = field(default=None, compare=False)
    change: Change | ScoreChange | None = field(default=None, compare=False)

    @property
    def noise_sd(self) -> float | None:
        """Standard deviation of the noise on a number of the answer; None where the answer is a choice."""
        return noise_sd(self.change, self.cost) if isinstance(self.change, Change) else None

    @property
    def law(self) -> Law:
        """The law of the noise, or a refusal of noise that could not be drawn."""
        epsilon, change = self.cost.epsilon, self.change
        if epsilon is not None and 2 * self.cost.rho < epsilon**2 and not isinstance(change, ScoreChange):
            # ε²/8 in ρ pays for a choice whose range is bounded, and for nothing else.
            raise QuestionError("this costs ε²/2 in ρ.", "make the cost with Cost.pure(epsilon).")
        if not self.cost.rho_units or epsilon == 0:
            raise QuestionError("nothing is answered at no cost.", "give an epsilon or a rho above 0.")
        return OF_ITS_OWN if change is None else law_of(change, self.cost)

    def to_dict(self) -> dict[str, Any]:
        """Return what a ledger keeps as plain data, numbers as text."""
        cost = self.cost
        return {
            "question": self.question,
            "epsilon": None if cost.epsilon_units is None else _decimal(cost.epsilon_units, UNITS),
            "rho": _decimal(cost.rho_units, UNITS**2),
            **({"delta": _decimal(cost.delta_units, DELTA_UNITS)} if cost.delta_units else {}),
            "composition": self.composition,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Charge:
        """Read a charge back; fractions of older ledgers are rounded up to the grid."""
        epsilon = data["epsilon"]
        pure, own = None if epsilon is None else Fraction(epsilon), Fraction(data.get("delta", 0))
        cost = Cost.rounded_up(pure, Fraction(data["rho"]), own)
        return cls(data["question"], cost, data["composition"])


@dataclass(frozen=True)
class Receipt:
    """Proof that a charge is in a ledger: its place in the chain and the chain's hash there."""

    account: str
    number: int
    hash: str


@dataclass
class State:
    """An account as its events leave it."""

    budget: Budget
    everyone: Cost = NOTHING
    batches: dict[str, Cost] = field(default_factory=dict)
    schema: str | None = None

    def spent(self, batch: str | None = None) -> Cost:
        """What the most exposed person has cost, or a person of one batch."""
        if batch is not None:
            return in_sequence([self.everyone, self.batches[batch]])
        return in_sequence([self.everyone, in_parallel(self.batches.values())])


def state_of(events: Sequence[Event], account: str) -> State:
    """An account after all events, or a refusal where it has none."""
    state: State | None = None
    given_back, plans = cancelled(events), settled(events)
    for event in events:
        if event["account"] != account:
            continue
        if event["kind"] in ("budget", "grant"):
            budget = Budget(*(Fraction(event.get(name, 0)) for name in ("epsilon", "delta", "finding")))
            state = replace(state, budget=budget) if state else State(budget)
            state.schema = event["schema"] or state.schema
        elif state is not None and event["kind"] == "batch":
            state.batches[event["batch"]] = NOTHING
        elif state is not None and event["kind"] == "charge":
            state.schema = state.schema or event["schema"]
            if event["number"] not in given_back:
                # The dearer of two plans, in ε and in ρ: the maximum, as if of disjoint people.
                _add(state, event["batch"], in_parallel(plan_costs(event, plans)))
    if state is None:
        raise UnknownAccount(
            f"no budget has been set for {account!r}.",
            "its owner sets one with `privet budget create` or Ledger.create.",
        )
    return state


def _add(state: State, batch: str | None, cost: Cost) -> None:
    # Batches that nobody declared, of ledgers older than that, are charged to everyone.
    if batch is None or batch not in state.batches:
        state.everyone = in_sequence([state.everyone, cost])
    else:
        state.batches[batch] = in_sequence([state.batches[batch], cost])


def plan_costs(event: Event, plans: Mapping[int, str]) -> list[Cost]:
    """Cost of the plan that a charge stands for; of both where there are two and nothing is settled."""
    return [in_sequence(Charge.from_dict(each).cost for each in plan) for plan in plans_of(event, plans)]


def plans_of(event: Event, plans: Mapping[int, str]) -> list[Sequence[Mapping[str, Any]]]:
    """The plan that a charge stands for, as it was written down; both where nothing is settled."""
    followed = plans.get(event["number"])
    return [event[name] for name in PLANS if name in event and followed in (None, name)]


def settled(events: Sequence[Event]) -> dict[int, str]:
    """Plan that is followed, by number of the charge, where there were two."""
    return {e["number_settled"]: e["plan"] for e in events if e["kind"] == "settle"}


def cancelled(events: Sequence[Event]) -> set[int]:
    """Numbers of the charges that were given back."""
    return {e["number_cancelled"] for e in events if e["kind"] == "cancel"}


def charge_of(events: Sequence[Event], receipt: Receipt) -> Event:
    """The charge of a receipt, unless it was given back."""
    found = events[receipt.number - 1 : receipt.number]
    known = [(e["account"], e["hash"], e["kind"]) for e in found]
    if known != [(receipt.account, receipt.hash, "charge")] or receipt.number in cancelled(events):
        raise BudgetError("there is no such charge in the ledger.")
    return found[0]


def check_declared(state: State, account: str, batch: str | None) -> None:
    """Refuse a batch that the owner has not declared to hold people of no other batch."""
    if batch is not None and batch not in state.batches:
        raise BudgetError(
            f"batch {batch!r} of {account!r} was never declared disjoint.",
            "its owner declares it with Ledger.declare_batch or `privet budget declare`.",
        )


def check_fits(state: State, account: str, cost: Cost, batch: str | None) -> None:
    """Refuse a cost that does not fit on top of what the same people have cost already."""
    budget, spent = state.budget, state.spent(batch)
    if budget.allows(in_sequence([spent, cost])):
        return
    in_rho = budget.delta - budget.finding
    if not in_rho and cost.epsilon is None:
        raise BudgetError(
            f"{account!r} has a budget in pure ε, and this needs a δ.",
            "set delta=0, or ask the owner for a budget with a δ.",
        )
    if not in_rho and spent.epsilon is None:
        raise BudgetError(
            f"{account!r} has been asked questions that need a δ, and its budget has none now.",
            "its owner can grant a budget with a δ.",
        )
    own = budget.finding - spent.delta
    if cost.delta > own:
        raise BudgetError(
            f"{account!r} has delta={display(max(own, NONE))} left to find values with, not "
            f"{display(cost.delta)}.",
            "its owner sets a part of delta aside for that: Budget(epsilon, delta, finding).",
        )
    left = max(budget.rho - spent.rho, Fraction(0))
    if cost.epsilon is not None and spent.epsilon is not None:
        pure = max(budget.epsilon - spent.epsilon, Fraction(0))
        if pure or not left:
            raise BudgetExceeded(account, "epsilon", cost.epsilon, pure, budget.epsilon)
    fits = f"{epsilon_of(left, in_rho)} or less with delta={display(budget.delta)}"
    raise BudgetExceeded(account, "rho", cost.rho, left, budget.rho, fits)


def _decimal(units: int, of_one: int) -> str:
    """A whole number of units as a decimal number, exactly."""
    whole, rest = divmod(units, of_one)
    digits = f"{rest:0{len(str(of_one)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
