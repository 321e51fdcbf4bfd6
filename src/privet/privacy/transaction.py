"""What can be done to a ledger at once: checked against the totals, and appended to the chain.

Proof note: ``docs/proofs/composition.md``, *The ledger*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from privet.errors import BudgetError, KeyReused
from privet.privacy.book import Book, key_of
from privet.privacy.budget import Budget, Cost, in_parallel
from privet.privacy.chain import Event, Row
from privet.privacy.charges import PLANS, Charge, Receipt, plan_costs
from privet.privacy.totals import State, budget_event, check_charge, check_declared
from privet.schema import Schema

LONGEST_NAME = 200


class Transaction:
    """The ledger in the hand of its only writer, and all that is to be committed together.

    Made by `Ledger.transaction`. Where the block ends without an error all of it is on disk; where it does
    not, nothing is, but for what was refused, which the history keeps in any case.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self.refusals: list[Event] = []

    def state(self, account: str) -> State:
        """Budget and spending of an account, as they are within this transaction."""
        return self._book.now().state(account)

    def create(
        self,
        account: str,
        budget: Budget,
        schema: Schema | None = None,
        analysts: Mapping[str, Budget] | None = None,
    ) -> None:
        """See `Ledger.create`."""
        if account in self._book.now().accounts:
            raise BudgetError(f"{account!r} already has a budget.", "grant more with `grant`.")
        check_name(account, "an account")
        self._book.append(budget_event("budget", account, budget, schema=schema and schema.fingerprint))
        for name, cap in (analysts or {}).items():
            self.set_cap(account, name, cap)

    def grant(self, account: str, budget: Budget, schema: Schema | None = None) -> None:
        """See `Ledger.grant`."""
        budget = replace(budget, accounting=self.state(account).budget.accounting)
        self._book.append(budget_event("grant", account, budget, schema=schema and schema.fingerprint))

    def set_cap(self, account: str, analyst: str, cap: Budget | None) -> None:
        """See `Ledger.set_cap`."""
        budget = self.state(account).budget
        check_name(analyst, "an analyst")
        if cap is None:
            self._book.append({"kind": "cap", "account": account, "analyst": analyst, "epsilon": None})
            return
        if cap.epsilon > budget.epsilon or cap.delta > budget.delta or cap.finding > budget.finding:
            raise BudgetError(
                f"the cap of {analyst!r} ({cap}) is above the budget of {account!r} ({budget}).",
                "a cap shares out what there is; grant more first.",
            )
        self._book.append(budget_event("cap", account, cap, analyst=analyst))

    def declare_batch(self, account: str, batch: str) -> None:
        """See `Ledger.declare_batch`."""
        if not isinstance(batch, str) or not batch.strip():
            raise BudgetError("a batch needs a name.", "say, spring.")
        if batch not in self.state(account).batches:
            self._book.append({"kind": "batch", "account": account, "batch": batch})

    def charge(
        self,
        account: str,
        charges: Sequence[Charge],
        *,
        analyst: str | None = None,
        learner: str | None = None,
        key: str | None = None,
        batch: str | None = None,
        schema: str | None = None,
        instead: Sequence[Charge] = (),
    ) -> Receipt:
        """Charge a whole plan, or nothing of it, on behalf of an analyst, once for each key.

        Parameters
        ----------
        account : str
        charges : sequence of Charge
        analyst : str, optional
            Who asks; it must fit their cap too. None is the owner.
        learner : str, optional
            What asks, for the history.
        key : str, optional
            Of the analyst's own choice: the same request with the same key is charged once, and has the same
            receipt; another request with it is refused (`KeyReused`), and so is one whose charge was given
            back: its receipt would pay for nothing.
        batch : str, optional
        schema : str, optional
            Fingerprint of the schema to ask under.
        instead : sequence of Charge
            A second plan, see `Ledger.reserve`.
        """
        plans = [list(charges), *([other] if (other := list(instead)) else [])]
        event: dict[str, Any] = {"kind": "charge", "account": account, "batch": batch, "schema": schema}
        for what, name in (("analyst", analyst), ("learner", learner), ("key", key)):
            if name is not None:
                event[what] = check_name(name, f"the name of the {what}" if what != "key" else "a key")
        event |= dict(zip(PLANS, [[each.to_dict() for each in plan] for plan in plans], strict=False))
        state = self.state(account)
        if key is not None and (found := self._book.find_key(account, str(key_of(event)))):
            return _same(event, *found, state)
        costs = plan_costs(event, {}, state.budget.accounting)
        try:
            check_declared(state, account, batch)
            _check_schema(state, account, schema)
            for cost in costs:
                check_charge(state, account, cost, batch, analyst)
        except BudgetError as refusal:
            self._refuse(event, in_parallel(costs), refusal)
            raise
        return self._book.append(event)

    def settle(self, receipt: Receipt, plan: str) -> None:
        """See `Ledger.settle`."""
        self._charge_of(receipt)
        if plan not in PLANS or receipt.number not in self.state(receipt.account).open:
            raise BudgetError("there is no such choice left to settle.")
        number = {"number_settled": receipt.number, "plan": plan}
        self._book.append({"kind": "settle", "account": receipt.account, **number})

    def give_back(self, receipt: Receipt, reason: str) -> None:
        """Give a charge back: only where no row was read for it, and nothing answered."""
        charged = self._charge_of(receipt)
        if PLANS[1] in charged and receipt.number not in self.state(receipt.account).open:
            raise BudgetError("this charge was settled, so it was answered.", "it stays spent.")
        given_back = {"number_cancelled": receipt.number, "reason": reason}
        self._book.append({"kind": "cancel", "account": receipt.account} | given_back)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement on the ledger's database, with ``?`` for each value, in this very transaction.

        For tables of your own, which must have other names than ``event``, ``head`` and ``checkpoint``.
        """
        return self._book.store.execute(sql, values)

    def note_refusals(self) -> None:
        """Write down what was refused."""
        while self.refusals:
            self._book.append(self.refusals.pop(0))

    def _charge_of(self, receipt: Receipt) -> Event:
        """The charge of a receipt, unless it was given back."""
        found = self._book.find(receipt.number)
        event = found[0] if found else {}
        known = [event.get(name) for name in ("account", "hash", "kind")]
        if known != [receipt.account, receipt.hash, "charge"] or (
            receipt.number in self.state(receipt.account).closed
        ):
            raise BudgetError("there is no such charge in the ledger.")
        return event

    def _refuse(self, event: Event, cost: Cost, refusal: BudgetError) -> None:
        kept = {name: event[name] for name in ("account", "batch", "analyst", "learner") if name in event}
        asked = Charge(f"{len(event['charges'])} questions", cost).to_dict()
        self.refusals.append({"kind": "refused", **kept, "asked": asked, "reason": refusal.message})


def check_name(name: object, what: str) -> str:
    """Refuse a name that could be mistaken for another, or for none."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise BudgetError(
            f"{what} must be 1 to {LONGEST_NAME} printable characters.", "give a name such as spring."
        )
    return name


def _same(event: Event, charged: Event, row: Row, state: State) -> Receipt:
    """The receipt of what was charged with a key, if that was the same request and was not given back."""
    added = {"number", "hash", "time", "salt", "version", "key_of_ledger"}
    if {name: value for name, value in charged.items() if name not in added} != event:
        raise KeyReused(
            f"the key {event['key']!r} was used for another request.", "take a new key for a new request."
        )
    if row.number in state.closed:
        raise KeyReused(
            f"what was charged with the key {event['key']!r} was given back.", "take a new key to ask again."
        )
    return Receipt(event["account"], row.number, row.hash, row.signature)


def _check_schema(state: State, account: str, schema: str | None) -> None:
    if None not in (schema, state.schema) and schema != state.schema:
        raise BudgetError(
            f"{account!r} is asked under another schema than this one.",
            "use the owner's schema; only the owner can grant another.",
        )
