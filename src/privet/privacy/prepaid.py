"""Who pays for what a wall is asked: an account, a plan that was paid before, or nobody who asks the price.

Proof note: ``docs/proofs/composition.md``, *Paid before*.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from threading import Lock
from typing import Any, NamedTuple, NoReturn, Protocol

from privet.errors import BudgetError, BudgetExceeded, QuestionError
from privet.privacy.budget import ZCDP
from privet.privacy.charges import PLANS, Charge, Receipt


class Payer(Protocol):
    """What a wall asks of who pays. An `Account` of a ledger is one."""

    @property
    def name(self) -> str:
        """The people who are asked about."""

    @property
    def batch_name(self) -> str | None:
        """The disjoint batch of them, if it is one."""

    @property
    def accounting(self) -> str:
        """How costs with a δ add up: ``zcdp`` or ``gdp``."""

    def batch(self, name: str) -> Any:
        """Who pays for a declared batch."""

    def reserve(
        self, charges: Sequence[Charge], schema: str | None = None, instead: Sequence[Charge] = ()
    ) -> Receipt:
        """Charge a whole plan, or nothing of it; with ``instead``, one plan or the other."""

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say which of the two plans of a charge is followed."""

    def give_back(self, receipt: Receipt, reason: str) -> None:
        """Return a charge for which nothing was answered."""


class Quote(NamedTuple):
    """What somebody would reserve: a plan, and the one that answers may have followed instead."""

    charges: tuple[Charge, ...]
    instead: tuple[Charge, ...] = ()


class Prepaid:
    """An account that accepts exactly one plan, once: that for which a receipt was given before.

    It knows no ledger, so that it can be handed to a process that must not reach one. Nothing is ever given
    back by it, and which of two plans was followed it notes for whoever keeps the ledger.

    Parameters
    ----------
    name : str
        The people who were charged.
    receipt : Receipt
    quote : Quote
        What was charged.
    schema : str
        Fingerprint of the schema under which it was.
    accounting : str
        How costs add up on the account that was charged.
    """

    batch_name = None

    def __init__(
        self, name: str, receipt: Receipt, quote: Quote, schema: str, accounting: str = ZCDP
    ) -> None:
        self.name = name
        self.accounting = accounting
        self.receipt = receipt
        self.settled: str | None = None
        self.used = False
        self._process, self._lock = os.getpid(), Lock()
        self._quote = _told(quote.charges), _told(quote.instead)
        self._schema = schema

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        # A copy would not know that the plan was answered.
        raise QuestionError("a plan that was paid for cannot be copied.", "pass the object itself.")

    def reserve(
        self, charges: Sequence[Charge], schema: str | None = None, instead: Sequence[Charge] = ()
    ) -> Receipt:
        """See `Payer`: the plan that was paid, and no other."""
        if os.getpid() != self._process:
            raise QuestionError("this plan was paid for by another process.", "hand it over before it forks.")
        with self._lock:  # of several walls in threads of their own, one is answered
            if self.used or (_told(charges), _told(instead)) != self._quote or schema != self._schema:
                raise _refusal(self.name)
            self.used = True
        return self.receipt

    def settle(self, receipt: Receipt, plan: str) -> None:
        """See `Payer`."""
        if receipt != self.receipt or plan not in PLANS or self.settled is not None:
            raise BudgetError("there is no such choice left to settle.")
        self.settled = plan

    def give_back(self, receipt: Receipt, reason: str) -> None:
        """See `Payer`: what was paid before stays paid."""

    def batch(self, name: str) -> NoReturn:
        """See `Payer`."""
        raise BudgetError("a plan that was paid before has no batches.", "plan for the batch.")


class Quoting:
    """An account that pays for nothing, and notes what it was asked to pay."""

    batch_name = None

    def __init__(self, name: str, accounting: str = ZCDP) -> None:
        self.name = name
        self.accounting = accounting
        self.quotes: list[Quote] = []

    def reserve(
        self, charges: Sequence[Charge], schema: str | None = None, instead: Sequence[Charge] = ()
    ) -> Receipt:
        """See `Payer`: noted and refused."""
        self.quotes.append(Quote(tuple(charges), tuple(instead)))
        raise _refusal(self.name)

    def settle(self, receipt: Receipt, plan: str) -> None:
        """See `Payer`: nothing was ever charged."""

    give_back = settle
    batch = Prepaid.batch


def _told(charges: Sequence[Charge]) -> list[dict[str, Any]]:
    return [charge.to_dict() for charge in charges]


def _refusal(name: str) -> BudgetExceeded:
    nothing = Fraction(0)
    return BudgetExceeded(name, "epsilon", Fraction(1), nothing, Fraction(1))
