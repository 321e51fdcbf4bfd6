"""Charges: the questions of a plan as they are paid for and written down.

Proof note: ``docs/proofs/composition.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privet.answers import Law
from privet.errors import QuestionError
from privet.privacy.budget import DELTA_UNITS, UNITS, ZCDP, Cost, in_sequence
from privet.privacy.chain import Event
from privet.privacy.laws import OF_ITS_OWN, Change, ScoreChange, law_of, noise_sd

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

    def __post_init__(self) -> None:
        # While it is planned: nothing is charged for it then.
        if self.cost.gaussian and isinstance(self.change, ScoreChange):
            hint = "ask for it in epsilon (delta=0), or of an account that adds up in zCDP."
            raise QuestionError("a choice has no Gaussian noise, which this account adds up.", hint)

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
            **({"noise": "gaussian"} if cost.gaussian else {}),
            **({"delta": _decimal(cost.delta_units, DELTA_UNITS)} if cost.delta_units else {}),
            "composition": self.composition,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Charge:
        """Read a charge back; fractions of older ledgers are rounded up to the grid."""
        epsilon = data["epsilon"]
        cost = Cost(
            None if epsilon is None else _units(epsilon, UNITS),
            _units(data["rho"], UNITS**2),
            _units(data.get("delta", "0"), DELTA_UNITS),
            data.get("noise") == "gaussian",
        )
        return cls(data["question"], cost, data["composition"])


@dataclass(frozen=True)
class Receipt:
    """Proof that a charge is in a ledger: its place in the chain, the chain's hash there, and a signature.

    The hash contains fresh secret bits. The signature is empty where the ledger is not signed.
    """

    account: str
    number: int
    hash: str
    signature: str = ""


def plan_costs(event: Event, plans: Mapping[int, str], accounting: str = ZCDP) -> list[Cost]:
    """Cost of the plan that a charge stands for; of both where there are two and nothing is settled."""
    return [
        in_sequence(Charge.from_dict(each).cost.priced(accounting) for each in plan)
        for plan in plans_of(event, plans)
    ]


def plans_of(event: Event, plans: Mapping[int, str]) -> list[Sequence[Mapping[str, Any]]]:
    """The plan that a charge stands for, as it was written down; both where nothing is settled."""
    followed = plans.get(event.get("number", 0))
    return [event[name] for name in PLANS if name in event and followed in (None, name)]


def settled(events: Sequence[Event]) -> dict[int, str]:
    """Plan that is followed, by number of the charge, where there were two."""
    return {e["number_settled"]: e["plan"] for e in events if e["kind"] == "settle"}


def cancelled(events: Sequence[Event]) -> set[int]:
    """Numbers of the charges that were given back."""
    return {e["number_cancelled"] for e in events if e["kind"] == "cancel"}


def _decimal(units: int, of_one: int) -> str:
    """A whole number of units as a decimal number, exactly."""
    whole, rest = divmod(units, of_one)
    digits = f"{rest:0{len(str(of_one)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def _units(text: str, of_one: int) -> int:
    """The least whole number of units that is not below what a ledger of any age states."""
    whole, _, rest = text.partition(".")
    places = len(str(of_one)) - 1
    if len(rest) <= places and (whole + rest).isdecimal():
        return int(whole + rest.ljust(places, "0"))
    return math.ceil(Fraction(text) * of_one)
