"""Who was asked what, and what it cost: an append-only, hash-chained list of events in SQLite.

Nothing is stored but events; budgets and what is left of them are worked out by reading all events,
each time anew, inside the transaction that adds the next. Two processes therefore never see the same
money, and a process killed at any step leaves either the whole charge or none of it.

Proof note: ``docs/proofs/composition.md``.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from privet.errors import BudgetError, LedgerTampered
from privet.privacy import charges as rules
from privet.privacy.budget import Budget, Cost, in_sequence
from privet.privacy.charges import Charge, Event, Receipt, State
from privet.schema import Schema

GENESIS = "privet ledger 1"
WAIT_SECONDS = 60.0


class Ledger:
    """A ledger in a file, or in memory if no path is given.

    Examples
    --------
    >>> ledger = Ledger()
    >>> census = ledger.create("census", Budget(1))
    >>> receipt = census.reserve([Charge("how many rows", Cost.pure(0.25))])
    >>> census.spent().epsilon
    Fraction(1, 4)
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = RLock()
        self._connect()

    def _connect(self) -> None:
        self._process = os.getpid()
        try:
            self._db = sqlite3.connect(
                self.path or ":memory:", timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            # EXTRA also syncs the folder after a commit, so that a power cut cannot undo it.
            self._db.execute("PRAGMA synchronous=EXTRA")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS event (number INTEGER PRIMARY KEY AUTOINCREMENT,"
                " body TEXT NOT NULL, hash TEXT NOT NULL)"
            )
        except sqlite3.DatabaseError as error:
            # What cannot be opened now may be opened later; what is no database was never a ledger.
            kind = BudgetError if isinstance(error, sqlite3.OperationalError) else LedgerTampered
            raise kind(
                f"cannot open the ledger {str(self.path)!r} ({error}).",
                "check the path and that it is a ledger.",
            ) from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __deepcopy__(self, memo: object) -> Ledger:
        # A copy of an accountant would not see what is spent through the original.
        return self

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        # Another process opens the same file anew; where there is none, it would spend a copy.
        if self.path is None:
            raise BudgetError("a ledger in memory cannot be sent elsewhere.", "give the ledger a file.")
        return type(self), (str(self.path.absolute()),)

    def create(self, account: str, budget: Budget, schema: Schema | None = None) -> Account:
        """Set the budget of a data set, once, and the schema under which it may be asked.

        Without a schema the first question's is kept. Whether a table fits a schema is told for
        nothing, so whoever may choose the schema could ask of the rows through it.
        """
        with self._writing() as events:
            if any(e["account"] == account and e["kind"] == "budget" for e in events):
                raise BudgetError(f"{account!r} already has a budget.", "grant more with `grant`.")
            self._append(events, _budget_event("budget", account, budget, schema))
        return Account(self, account)

    def account(self, name: str) -> Account:
        """Return a data set's account."""
        self.state(name)
        return Account(self, name)

    def grant(self, account: str, budget: Budget, schema: Schema | None = None) -> None:
        """Replace the budget of a data set by another, and its schema if one is given."""
        with self._writing() as events:
            rules.state_of(events, account)
            self._append(events, _budget_event("grant", account, budget, schema))

    def declare_batch(self, account: str, batch: str) -> None:
        """Declare that a batch holds people of whom no other batch holds any.

        The declaration is the owner's, who knows the people: nothing can check it. It is kept in the ledger.
        Whoever asks can name a batch only once it is declared.
        """
        if not isinstance(batch, str) or not batch.strip():
            raise BudgetError("a batch needs a name.", "say, spring.")
        with self._writing() as events:
            if batch not in rules.state_of(events, account).batches:
                event = {"kind": "batch", "account": account, "batch": batch}
                self._append(events, event)

    def reserve(
        self,
        account: str,
        charges: Sequence[Charge],
        batch: str | None = None,
        schema: str | None = None,
        instead: Sequence[Charge] = (),
    ) -> Receipt:
        """Charge a whole plan, or nothing of it. On disk when this returns.

        Where ``instead`` is given too, answers may decide which of the two plans is followed. Both must
        fit. Until `settle` says which it is, the dearer of them counts, in ε and in ρ.
        """
        plans = [list(charges)]
        if other := list(instead):
            plans.append(other)
        with self._writing() as events:
            state = rules.state_of(events, account)
            rules.check_declared(state, account, batch)
            if None not in (schema, state.schema) and schema != state.schema:
                raise BudgetError(
                    f"{account!r} is asked under another schema than this one.",
                    "use the owner's schema; only the owner can grant another.",
                )
            for plan in plans:
                rules.check_fits(state, account, in_sequence(c.cost for c in plan), batch)
            event = {"kind": "charge", "account": account, "batch": batch, "schema": schema}
            listed = [[charge.to_dict() for charge in plan] for plan in plans]
            return self._append(events, event | dict(zip(rules.PLANS, listed, strict=False)))

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say which of two plans is followed: ``charges`` or ``instead``."""
        with self._writing() as events:
            charged = rules.charge_of(events, receipt)
            if (
                plan not in rules.PLANS
                or rules.PLANS[1] not in charged
                or receipt.number in rules.settled(events)
            ):
                raise BudgetError("there is no such choice left to settle.")
            number = {"number_settled": receipt.number, "plan": plan}
            self._append(events, {"kind": "settle", "account": receipt.account, **number})

    def _cancel(self, receipt: Receipt, reason: str) -> None:
        """Give a charge back. Only the wall may, and only when nothing was answered."""
        with self._writing() as events:
            rules.charge_of(events, receipt)
            given_back = {"number_cancelled": receipt.number, "reason": reason}
            self._append(events, {"kind": "cancel", "account": receipt.account} | given_back)

    def state(self, account: str) -> State:
        """Budget and spending of a data set."""
        return rules.state_of(self.events(), account)

    def accounts(self) -> list[str]:
        """Names of the data sets that have a budget."""
        return [e["account"] for e in self.events() if e["kind"] == "budget"]

    def history(self, account: str) -> list[Event]:
        """All events of a data set, oldest first."""
        return [event for event in self.events() if event["account"] == account]

    def holds(self, receipt: Receipt) -> bool:
        """Whether a receipt's event is in this ledger, unchanged."""
        event = self.events()[receipt.number - 1 : receipt.number]
        return bool(event) and event[0]["hash"] == receipt.hash

    def events(self) -> list[Event]:
        """Read and verify all events."""
        with self._holding("BEGIN") as events:
            return events

    def _writing(self) -> AbstractContextManager[list[Event]]:
        """Hold the only write lock, with all events read under it."""
        return self._holding("BEGIN IMMEDIATE")

    @contextmanager
    def _holding(self, begin: str) -> Iterator[list[Event]]:
        """A transaction, with all events read and verified inside it."""
        with self._lock:
            self._check_process()
            try:
                self._db.execute(begin)
                events = _verified(self._db)
            except sqlite3.OperationalError as error:
                self._roll_back()
                raise BudgetError(
                    f"the ledger cannot be used now ({error}).",
                    "another process may hold it: wait and try again.",
                ) from None
            except sqlite3.DatabaseError as error:
                raise LedgerTampered(f"the ledger cannot be read ({error}).", "restore a copy.") from None
            except LedgerTampered:
                self._roll_back()
                raise
            try:
                yield events
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _check_process(self) -> None:
        """A forked child must not share a connection, nor spend a copy of what is in memory."""
        if os.getpid() == self._process:
            return
        if self.path is None:
            raise BudgetError(
                "a ledger in memory cannot be used in another process.", "give the ledger a file."
            )
        self._connect()

    def _append(self, events: list[Event], event: Event) -> Receipt:
        # With fresh secret bits no hash can be recomputed from what is public: a receipt tells nothing.
        stamp = {"time": datetime.now(UTC).isoformat(timespec="seconds"), "salt": secrets.token_hex(16)}
        body = json.dumps({**event, **stamp}, sort_keys=True)
        digest = _digest(events[-1]["hash"] if events else GENESIS, body)
        row = self._db.execute("INSERT INTO event (body, hash) VALUES (?, ?)", (body, digest))
        return Receipt(event["account"], int(row.lastrowid or 0), digest)


@dataclass(frozen=True)
class Account:
    """The account of one data set, or of one disjoint batch of it, in a ledger."""

    ledger: Ledger
    name: str
    batch_name: str | None = None

    def batch(self, name: str) -> Account:
        """Account of a batch that the owner declared disjoint from all others: it costs in parallel."""
        rules.check_declared(self.ledger.state(self.name), self.name, name)
        return Account(self.ledger, self.name, name)

    def reserve(
        self, charges: Sequence[Charge], schema: str | None = None, instead: Sequence[Charge] = ()
    ) -> Receipt:
        """Charge a whole plan, or nothing of it; with ``instead``, one plan or the other."""
        return self.ledger.reserve(self.name, charges, self.batch_name, schema, instead)

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say which of the two plans of a charge is followed."""
        self.ledger.settle(receipt, plan)

    @property
    def budget(self) -> Budget:
        """Budget of the data set."""
        return self.ledger.state(self.name).budget

    def spent(self) -> Cost:
        """What has been spent on the people of this account."""
        return self.ledger.state(self.name).spent(self.batch_name)


def _verified(db: sqlite3.Connection) -> list[Event]:
    rows = db.execute("SELECT number, body, hash FROM event ORDER BY number").fetchall()
    last = db.execute("SELECT seq FROM sqlite_sequence WHERE name='event'").fetchone()
    previous = GENESIS
    events: list[Event] = []
    for place, (number, body, digest) in enumerate(rows, start=1):
        if number != place or digest != _digest(previous, body):
            raise _tampered(place)
        events.append({**json.loads(body), "number": number, "hash": digest})
        previous = digest
    if (last[0] if last else 0) != len(rows):
        raise _tampered(len(rows) + 1)
    return events


def _budget_event(kind: str, account: str, budget: Budget, schema: Schema | None) -> Event:
    numbers = {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}
    if budget.finding:
        numbers["finding"] = str(budget.finding)
    return {"kind": kind, "account": account, **numbers, "schema": schema and schema.fingerprint}


def _digest(previous: str, body: str) -> str:
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def _tampered(place: int) -> LedgerTampered:
    return LedgerTampered(
        f"the ledger was edited or cut at event {place}.",
        "restore it from a copy; until then nothing can be charged.",
    )
