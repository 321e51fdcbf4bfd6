"""The core of the wall: charge first, read then, and let only noise out.

Nothing else in the product calls an engine. Questions are methods of classes built on this one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from privet.engines import Batch, Engine
from privet.errors import DataError, QuestionError
from privet.privacy.bits import Bits, SecureBits
from privet.privacy.budget import Cost, Number, in_sequence
from privet.privacy.charges import PLANS, Charge, Receipt
from privet.privacy.ledger import Account
from privet.privacy.margins import noise_margin
from privet.privacy.mechanisms import (
    exponential,
    gaussian_counts,
    laplace_counts,
    permute_and_flip,
    selection_rate,
)
from privet.privacy.samplers import check_rate, check_variance
from privet.schema import Schema

COINS = 1 << 20
"""Candidates among which is chosen at a time: their coins need little memory."""

PERMUTE_AND_FLIP, EXPONENTIAL = "permute-and-flip", "exponential"


@dataclass(frozen=True)
class NoisyCounts:
    """Counts with noise, and the noise's law: ``laplace`` (scale) or ``gaussian`` (variance)."""

    values: np.ndarray
    law: str
    parameter: Fraction

    def margin(self, confidence: float = 0.95) -> int:
        """Each count lies within this many rows of the exact one, with that probability."""
        return noise_margin(self.law, self.parameter, confidence)


class Wall:
    """Rows, the account that pays for them, and the only way to reach them."""

    __slots__ = (
        *("_account", "_asked", "_bits", "_engine", "_instead", "_planned", "_process", "_receipt"),
        *("_schema", "_unsettled"),
    )

    def __init__(self, engine: Engine, schema: Schema, account: Account, bits: Bits | None = None) -> None:
        self._schema = schema
        self._engine = engine
        self._account = account
        self._bits: Bits = bits or SecureBits()
        self._asked: list[Charge] = []
        self._planned: list[Charge] = []
        self._instead: list[Charge] = []
        self._unsettled = False
        self._process = os.getpid()
        self._receipt: Receipt | None = None

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise QuestionError("protected rows cannot be copied or pickled.", "pass the object itself.")

    @property
    def schema(self) -> Schema:
        """The public contract under which rows are read."""
        return self._schema

    @property
    def account_name(self) -> str:
        """Name of the data set that pays."""
        return self._account.name

    @property
    def batch_name(self) -> str | None:
        """Name of the disjoint batch that pays, if it is one."""
        return self._account.batch_name

    @property
    def asked(self) -> tuple[Charge, ...]:
        """What has been asked through this object, in order."""
        return tuple(self._asked)

    @property
    def receipt(self) -> Receipt | None:
        """Where the last charge stands in the ledger."""
        return self._receipt

    @property
    def private(self) -> bool:
        """False where the noise can be repeated, as in studies and tests."""
        return self._bits.private

    def reserve(self, plan: Sequence[Charge], instead: Sequence[Charge] = ()) -> None:
        """Charge a whole plan before its first question, or refuse it whole.

        The questions that follow must be those of the plan, in its order and at no higher cost.
        What is planned and not asked stays spent. Of two plans that begin alike, answers may decide
        which is followed: see `settle`.
        """
        plans = list(plan), list(instead)
        self._receipt = self._account.reserve(plans[0], self.schema.fingerprint, plans[1])
        self._planned, self._instead = plans
        self._unsettled = bool(self._instead)
        self._process = os.getpid()

    def settle(self, instead: bool) -> None:
        """Go on with the plan that was reserved, or with the one to be followed instead of it.

        Privacy
        -------
        Answers so far may decide which, also between a plan that is within (ε, δ) by its sum in ε and one
        that is by its sum in ρ. Proof: *Either accounting*.
        """
        if not self._unsettled or self._receipt is None:
            raise QuestionError("there are no two plans to settle between.", "reserve both first.")
        other = bool(instead)
        self._account.settle(self._receipt, PLANS[other])
        self._planned, self._instead = self._instead if other else self._planned, []
        self._unsettled = False

    def refine(self, plan: Sequence[Charge]) -> None:
        """Replace what is left of the plan by questions that cost no more than it.

        Privacy
        -------
        Whatever the answers so far, the questions left cost no more than was reserved for them: the
        two compose in sequence. Proof: *Sequence*.
        """
        if self._unsettled:
            raise QuestionError("there are two plans to settle between.", "settle first.")
        wanted, left = in_sequence(c.cost for c in plan), in_sequence(c.cost for c in self._planned)
        if plan and _exceeds(wanted, left):
            raise QuestionError(f"{left} is left of the plan, not {wanted}.", "plan within what is left.")
        self._planned = list(plan)

    def _ask(self, charge: Charge, kernel: Callable[[Batch], Any]) -> Any:
        """Charge, then read. The only place where rows are reached."""
        if not self._planned:
            self.reserve([charge])
        if os.getpid() != self._process:
            raise QuestionError("this plan was paid for by another process.", "protect the rows in each.")
        planned = self._planned.pop(0)
        if self._unsettled and (not self._instead or self._instead.pop(0) != planned):
            raise QuestionError("two plans are reserved and differ in this question.", "settle first.")
        same = (planned.question, planned.composition) == (charge.question, charge.composition)
        if not same or _exceeds(charge.cost, planned.cost):
            raise QuestionError(
                f"the plan has {planned.question!r} at {planned.cost} next, "
                f"not {charge.question!r} at {charge.cost}.",
                "ask what was planned, in its order.",
            )
        try:
            exact_answer = self._engine.sum(kernel)
        except DataError:
            if not self._asked and self._receipt is not None:
                self._account.ledger._cancel(self._receipt, "the table does not fit its schema")
                self._planned, self._instead, self._unsettled, self._receipt = [], [], False, None
            raise
        self._asked.append(charge)
        return exact_answer

    def _with_noise(self, exact_counts: np.ndarray, sensitivity: int, cost: Cost) -> NoisyCounts:
        """Laplace noise by L1 sensitivity where the cost is pure, else Gaussian by squared L2 sensitivity."""
        if cost.epsilon is not None:
            scale = sensitivity / cost.epsilon
            return NoisyCounts(laplace_counts(exact_counts, scale, self._bits), "laplace", scale)
        variance = sensitivity / (2 * cost.rho)
        return NoisyCounts(gaussian_counts(exact_counts, variance, self._bits), "gaussian", variance)

    def _choose(self, exact_counts: np.ndarray, epsilon: Fraction) -> np.ndarray:
        return self._select(exact_counts, selection_rate(epsilon, Fraction(1), monotone=True))

    def _select(self, exact_scores: np.ndarray, rate: Fraction, law: str = PERMUTE_AND_FLIP) -> np.ndarray:
        """Choose along the last axis, by the higher scores."""
        mechanism = exponential if law == EXPONENTIAL else permute_and_flip
        flat = exact_scores.reshape(-1, exact_scores.shape[-1])
        step = max(1, COINS // flat.shape[1])
        parts = [flat[first : first + step] for first in range(0, len(flat), step)]
        chosen = [mechanism(part, rate, self._bits) for part in parts]
        return np.concatenate(chosen).reshape(exact_scores.shape[:-1])


def check_noise(sensitivity: int, cost: Cost) -> None:
    """Refuse, before anything is charged, noise that could not be drawn."""
    if cost.epsilon is not None:
        check_rate(cost.epsilon / sensitivity)
    else:
        check_variance(sensitivity / (2 * cost.rho))


def cost_of(epsilon: Number | None, rho: Number | None, sensitivity: int = 1) -> Cost:
    """Cost of an answer, read once from what the caller gave."""
    if (epsilon is None) == (rho is None):
        raise QuestionError("give either epsilon or rho.")
    cost = Cost.pure(epsilon) if epsilon is not None else Cost.zcdp(rho or 0)
    check_noise(sensitivity, cost)
    return cost


def pure(cost: Cost) -> Fraction:
    """The ε of a cost that is known to have one."""
    assert cost.epsilon is not None
    return cost.epsilon


def _exceeds(asked: Cost, planned: Cost) -> bool:
    if asked.epsilon is None or planned.epsilon is None:
        return asked.epsilon is not planned.epsilon or asked.rho > planned.rho
    return asked.epsilon > planned.epsilon or asked.rho > planned.rho
