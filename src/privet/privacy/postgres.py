"""A ledger in PostgreSQL, for several hosts: one writer at a time holds the head's row.

A transaction that writes locks the only row of ``head`` before it looks at anything (``SELECT … FOR UPDATE``)
and at READ COMMITTED sees all that was committed before it had the lock; the chain is serial, so a stricter
level would only add retries. One that reads sees one state of everything (REPEATABLE READ). A commit is on
the server's disk when it returns, unless ``synchronous_commit`` was turned off there. A password has no place
in an address: it comes from PGPASSWORD or PGPASSFILE.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privet.errors import BudgetError, LedgerUnavailable, PrivetError

SCHEME = "postgresql://"
SETTING_UP = 7261_0001
"""Of an advisory lock that is held while tables are made, before there is a head to lock."""

CHUNK = 2000


class Postgres:
    """See `privet.privacy.store.Store`."""

    number_type = "BIGINT PRIMARY KEY"
    head = "SELECT number, hash FROM head"
    head_for_update = f"{head} FOR UPDATE"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            raise PrivetError("PostgreSQL needs psycopg.", "pip install 'privet[postgresql]'") from None
        self.place = address.partition("?")[0]
        self._address, self._driver = address, psycopg
        self._connect()

    def begin(self, writing: bool) -> None:
        """See `Store`."""
        if self._db.closed:
            self._connect()
        status = self._driver.pq.TransactionStatus
        if self._db.info.transaction_status != status.IDLE:
            raise BudgetError(
                "this ledger is in the middle of a transaction.", "ask the transaction, not the ledger."
            )
        with self._refusing():
            if writing:
                self._db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                if not self.has_table("head"):
                    self._db.execute("SELECT pg_advisory_xact_lock(%s)", (SETTING_UP,))
            else:
                self._db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        """See `Store`."""
        with self._refusing():
            self._db.execute("COMMIT")

    def roll_back(self) -> None:
        """See `Store`."""
        if not self._db.closed:
            with self._refusing():
                self._db.rollback()

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See `Store`."""
        with self._refusing():
            done = self._db.execute(sql.replace("?", "%s"), tuple(values), prepare=True)
            return [] if done.description is None else done.fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """See `Store`."""
        # A cursor of the server: a ledger of years is not held in memory.
        with self._refusing(), self._db.cursor(name="privet") as rows:
            rows.itersize = CHUNK
            yield from rows.execute(sql.replace("?", "%s"), tuple(values))

    def has_table(self, name: str) -> bool:
        """See `Store`."""
        return self.execute("SELECT to_regclass(?)::text", (name,))[0][0] is not None

    def back_up(self, path: Path) -> None:
        """See `Store`."""
        raise BudgetError("a ledger in PostgreSQL is copied by its own tools.", "use pg_dump.")

    def close(self) -> None:
        """See `Store`."""
        self._db.close()

    def _connect(self) -> None:
        with self._refusing():
            self._db = self._driver.connect(self._address, autocommit=True, application_name="privet")
            weakref.finalize(self, self._db.close)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Errors in our words."""
        try:
            yield
        except self._driver.IntegrityError as error:
            name = getattr(error.diag, "constraint_name", None)
            raise BudgetError(f"this cannot be written beside the ledger ({name}).") from None
        except self._driver.Error as error:
            raise LedgerUnavailable(
                f"the ledger {self.place!r} cannot be used now ({type(error).__name__}).",
                "see that the server runs and lets you in, and try again.",
            ) from None
