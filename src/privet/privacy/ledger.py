"""Who was asked what, by whom, and what it cost: an append-only chain of events, and its running totals.

A charge is checked against the totals and appended to the chain in one transaction of the only writer, so
that two processes never spend the same money, and a process killed at any step leaves either the whole
charge or none of it. The totals follow from the events alone; `Ledger.verify` works them out anew. Where the
package cryptography is there, each event is signed with the ledger's key (Ed25519), which lies beside the
ledger in a file that its owner alone may read, or wherever ``key`` says. Without the package, and in memory,
the chain is not signed, and `Ledger.signed` says so.

How a service charges
---------------------
An account stands for people; an analyst has a cap on it. Whatever is to be there exactly if the charge is,
goes into the same transaction, with tables of the service's own in the ledger's database::

    ledger = Ledger("people.ledger")
    ledger.create("patients", Budget(1), schema, {"ada": Budget("0.5")})
    with ledger.transaction() as at_once:
        receipt = at_once.charge(
            "patients", plan, analyst="ada", key=key, learner="BoostingClassifier", schema=schema.fingerprint
        )
        at_once.execute("INSERT INTO job (key, charge) VALUES (?, ?)", (key, receipt.number))

The same request with the same key of the same analyst has the same receipt and is charged once
(`Ledger.charged` finds it); another request with it raises `KeyReused`. `BudgetExceeded` and every other
refusal is an event in the history, though the transaction that it ended is rolled back. `Transaction.settle`
says which of two plans is followed, `Transaction.give_back` returns a charge for which no row was read.
A ledger serves many threads; each transaction has it alone. Another thread or process waits its turn.

Proof note: ``docs/proofs/composition.md``, *The ledger*.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

from privet.errors import BudgetError, PrivetError
from privet.privacy.book import Book, key_of
from privet.privacy.budget import Budget, Cost
from privet.privacy.chain import Event, Head, Row, tampered
from privet.privacy.charges import Charge, Receipt
from privet.privacy.postgres import SCHEME, Postgres
from privet.privacy.store import Sqlite
from privet.privacy.totals import State, Totals, check_declared
from privet.privacy.transaction import Transaction
from privet.schema import Schema

LOG = logging.getLogger("privet")
"""Tells what a ledger in a file tells too."""

_INHERITED: list[Book] = []
"""Connections of a parent process: a child must neither use nor close them."""


class Ledger:
    """A ledger in a file, in PostgreSQL, or in memory if no path is given.

    Parameters
    ----------
    path : str or Path, optional
        Of a file; or ``postgresql://HOST/DATABASE``, which several hosts may use that have the same key.
    key : str or Path, optional
        File of the key that signs; by default ``PATH.key``. It is made where there is none.

    Examples
    --------
    >>> ledger = Ledger()
    >>> census = ledger.create("census", Budget(1))
    >>> receipt = census.reserve([Charge("how many rows", Cost.pure(0.25))])
    >>> census.spent().epsilon
    Fraction(1, 4)
    """

    def __init__(self, path: str | Path | None = None, key: str | Path | None = None) -> None:
        self._address = path if isinstance(path, str) and path.startswith(SCHEME) else None
        if self._address is not None and key is None:
            raise BudgetError("a ledger in PostgreSQL needs a key.", "name its file: key=FILE.")
        self.path = None if path is None or self._address is not None else Path(path)
        self._key_path = None if key is None else Path(key)
        self._lock = RLock()
        self._connect()

    def __repr__(self) -> str:
        return f"<Ledger: {self.path or ('in memory' if self._in_memory else 'in PostgreSQL')}>"

    def _connect(self) -> None:
        self._process = os.getpid()
        if self._address is not None:
            self._book = Book(Postgres(self._address), self._key_path)
        else:
            self._book = Book(Sqlite(self.path), None if self.path is None else self._key_file(self.path))

    def _key_file(self, path: Path) -> Path:
        return self._key_path or path.with_name(path.name + ".key")

    @property
    def _in_memory(self) -> bool:
        return self.path is None and self._address is None

    def close(self) -> None:
        """Close the file."""
        self._book.store.close()

    def __deepcopy__(self, memo: object) -> Ledger:
        # A copy of an accountant would not see what is spent through the original.
        return self

    def __reduce__(self) -> tuple[type[Ledger], tuple[str, str]]:
        # Another process opens the same file anew; where there is none, it would spend a copy.
        if self._address is not None:
            assert self._key_path is not None
            return type(self), (self._address, str(self._key_path.absolute()))
        if self.path is None:
            raise BudgetError("a ledger in memory cannot be sent elsewhere.", "give the ledger a file.")
        return type(self), (str(self.path.absolute()), str(self._key_file(self.path).absolute()))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the ledger as its only writer; all or nothing of what is done is kept, and refusals are."""
        with self._lock:
            self._check_process()
            at_once = Transaction(self._book)
            try:
                with self._book.writing():
                    yield at_once
                    at_once.note_refusals()
            except BaseException:
                if at_once.refusals:
                    with suppress(PrivetError), self._book.writing():
                        at_once.note_refusals()
                raise

    @contextmanager
    def _reading(self) -> Iterator[Totals]:
        with self._lock:
            self._check_process()
            with self._book.reading() as totals:
                yield totals

    def create(
        self,
        account: str,
        budget: Budget,
        schema: Schema | None = None,
        analysts: Mapping[str, Budget] | None = None,
    ) -> Account:
        """Set the budget of some people, once, the schema to ask under, and the caps of analysts.

        Without a schema the first question's is kept. Whether a table fits a schema is told for
        nothing, so whoever may choose the schema could ask of the rows through it.
        """
        with self.transaction() as at_once:
            at_once.create(account, budget, schema, analysts)
        return Account(self, account)

    def account(self, name: str) -> Account:
        """Return the account of some people."""
        self.state(name)
        return Account(self, name)

    def grant(self, account: str, budget: Budget, schema: Schema | None = None) -> None:
        """Replace a budget by another, and the schema if one is given."""
        with self.transaction() as at_once:
            at_once.grant(account, budget, schema)

    def set_cap(self, account: str, analyst: str, cap: Budget | None) -> None:
        """Set the most that an analyst may spend of an account, in all; with None they may ask nothing more.

        Caps share out the budget, which all analysts have together: working together they gain nothing.
        """
        with self.transaction() as at_once:
            at_once.set_cap(account, analyst, cap)

    def declare_batch(self, account: str, batch: str) -> None:
        """Declare that a batch holds people of whom no other batch holds any.

        The declaration is the owner's, who knows the people: nothing can check it. It is kept in the ledger.
        Whoever asks can name a batch only once it is declared.
        """
        with self.transaction() as at_once:
            at_once.declare_batch(account, batch)

    def reserve(
        self,
        account: str,
        charges: Sequence[Charge],
        batch: str | None = None,
        schema: str | None = None,
        instead: Sequence[Charge] = (),
        **who: str | None,
    ) -> Receipt:
        """Charge a whole plan, or nothing of it. On disk when this returns.

        Where ``instead`` is given too, answers may decide which of the two plans is followed. Both must
        fit. Until `settle` says which it is, the dearer of them counts, in ε and in ρ. For ``analyst``,
        ``learner`` and ``key`` see `Transaction.charge`.
        """
        with self.transaction() as at_once:
            receipt = at_once.charge(account, charges, batch=batch, schema=schema, instead=instead, **who)
        self._log(
            "charged %r as event %d: %s", account, receipt.number, "; ".join(c.question for c in charges)
        )
        return receipt

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say which of two plans is followed: ``charges`` or ``instead``."""
        with self.transaction() as at_once:
            at_once.settle(receipt, plan)

    def _cancel(self, receipt: Receipt, reason: str) -> None:
        """Give a charge back. Only the wall may, and only when nothing was answered."""
        with self.transaction() as at_once:
            at_once.give_back(receipt, reason)
        self._log("gave event %d back: %s", receipt.number, reason)

    def _log(self, text: str, *facts: object) -> None:
        # Of a ledger in memory nothing is told: whether a run of a selection took place is nobody's to know.
        if self.path is not None:
            LOG.info(text, *facts)

    def charged(self, account: str, key: str, analyst: str | None = None) -> Receipt | None:
        """The receipt of what an analyst was charged with a key, if anything was and was not given back."""
        with self._reading() as totals:
            found = self._book.find_key(account, str(key_of({"key": key, "analyst": analyst})))
            if found is None or found[1].number in totals.state(account).closed:
                return None
        return Receipt(account, found[1].number, found[1].hash, found[1].signature)

    def state(self, account: str) -> State:
        """Budget and spending of an account."""
        with self._reading() as totals:
            return deepcopy(totals.state(account))

    def accounts(self) -> list[str]:
        """Names of the accounts, oldest first."""
        with self._reading() as totals:
            return list(totals.accounts)

    def history(self, account: str, after: int = 0, most: int | None = None) -> list[Event]:
        """Events of an account, oldest first: all, or at most so many that come after a number.

        Each follows from the event before it in the ledger; `verify` checks the whole chain.
        """
        with self._reading():
            return self._book.history(account, after, most)

    def holds(self, receipt: Receipt) -> bool:
        """Whether a receipt's event is in this ledger, unchanged."""
        with self._reading():
            found = self._book.find(receipt.number)
        return found is not None and (found[0]["account"], found[0]["hash"]) == (
            receipt.account,
            receipt.hash,
        )

    def events(self) -> list[Event]:
        """Read and verify all events."""
        with self._reading():
            return list(self._book.events())

    def rows(self) -> list[Row]:
        """All events as they are stored, each checked against the one before."""
        with self._reading():
            return [row for row, _ in self._book.checked_rows()]

    def hash_at(self, number: int) -> str | None:
        """The hash of an event, if there is one of that number."""
        with self._reading():
            found = self._book.find(number)
        return None if found is None else found[1].hash

    def head(self) -> Head:
        """Where the chain ends now, signed: for a witness elsewhere."""
        with self._reading():
            return self._book.head()

    @property
    def signed(self) -> bool:
        """Whether the chain is signed."""
        return bool(self.head().key)

    def verify(self) -> Head:
        """Replay all events; check links, totals and the last signature; return where the chain ends."""
        with self._reading() as totals:
            if self._book.replay() != totals:
                raise tampered(totals.number)
            head = self._book.head()
        if head.key and head.number and not head.holds:
            raise tampered(head.number)
        return head

    def back_up(self, path: str | Path) -> Head:
        """Copy the ledger, as it stands between two charges, to a new file; return where the copy ends.

        The copy is verified. It is for reading, and for when the ledger itself is lost: whoever goes on with
        an older copy spends again what was spent since, so its owner first grants that much less.
        """
        if Path(path).exists():
            raise BudgetError(f"{str(path)!r} is there already.", "name a new file.")
        with self._lock:
            self._check_process()
            self._book.store.back_up(Path(path))
        return Ledger(path, None if self.path is None else self._key_file(self.path)).verify()

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read from the ledger's database, tables of your own included."""
        with self._reading():
            return self._book.store.execute(sql, values)

    def _check_process(self) -> None:
        """A forked child must not share a connection, nor spend a copy of what is in memory."""
        if os.getpid() == self._process:
            return
        if self._in_memory:
            raise BudgetError(
                "a ledger in memory cannot be used in another process.", "give the ledger a file."
            )
        _INHERITED.append(self._book)
        self._connect()


@dataclass(frozen=True)
class Account:
    """The account of some people, or of one disjoint batch of them; also of an analyst or learner."""

    ledger: Ledger
    name: str
    batch_name: str | None = None
    analyst: str | None = None
    learner: str | None = None

    def __repr__(self) -> str:
        batch = f", batch {self.batch_name!r}" if self.batch_name else ""
        return f"<Account: {self.name!r}{batch} in {self.ledger!r}>"

    def batch(self, name: str) -> Account:
        """Account of a batch that the owner declared disjoint from all others: it costs in parallel."""
        check_declared(self.ledger.state(self.name), self.name, name)
        return replace(self, batch_name=name)

    def by(self, analyst: str) -> Account:
        """The same account, charged on behalf of an analyst, within their cap."""
        return replace(self, analyst=analyst)

    def reserve(
        self,
        charges: Sequence[Charge],
        schema: str | None = None,
        instead: Sequence[Charge] = (),
        learner: str | None = None,
    ) -> Receipt:
        """Charge a whole plan, or nothing of it; with ``instead``, one plan or the other."""
        who = {"analyst": self.analyst, "learner": learner or self.learner}
        return self.ledger.reserve(self.name, charges, self.batch_name, schema, instead, **who)

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say which of the two plans of a charge is followed."""
        self.ledger.settle(receipt, plan)

    def give_back(self, receipt: Receipt, reason: str) -> None:
        """Return a charge for which nothing was answered. Only the wall knows."""
        self.ledger._cancel(receipt, reason)

    @property
    def budget(self) -> Budget:
        """Budget of the account."""
        return self.ledger.state(self.name).budget

    @property
    def accounting(self) -> str:
        """How costs with a δ add up on it: ``zcdp`` or ``gdp``."""
        return self.budget.accounting

    def spent(self) -> Cost:
        """What has been spent on the people of this account."""
        return self.ledger.state(self.name).spent(self.batch_name)
