"""Where a ledger lies: the least that it asks of a database, and SQLite's answer to it.

SQLite writes ahead (``journal_mode=WAL``) and syncs each commit to disk (``synchronous=FULL``), so that a
charge is there once its commit returns, whatever is killed afterwards. One writer at a time holds the
file from `begin` to `commit`.
"""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from privet.errors import BudgetError, LedgerTampered, LedgerUnavailable

WAIT_SECONDS = 60.0


class Store(Protocol):
    """A database that holds one ledger, and whatever else is to be committed with it."""

    place: str
    """Its address, for people."""
    number_type: str
    """How it declares the numbers of events."""
    head: str
    head_for_update: str
    """How the head is read; to write, it is locked till the transaction ends."""

    def begin(self, writing: bool) -> None:
        """Start a transaction; as the only writer, if it is to write."""

    def commit(self) -> None:
        """End it; all of it is on disk when this returns."""

    def roll_back(self) -> None:
        """End it, if there is one, and leave nothing of it."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement with ``?`` for each value; its rows, if it has any."""

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The same, row by row."""

    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""

    def back_up(self, path: Path) -> None:
        """Copy all of it, between two transactions, to a file that is not there yet."""

    def close(self) -> None:
        """Let it go."""


class Sqlite:
    """A ledger in a file, or in memory."""

    number_type = "INTEGER PRIMARY KEY AUTOINCREMENT"
    head = head_for_update = "SELECT number, hash FROM head"

    def __init__(self, path: Path | None) -> None:
        self.place = ":memory:" if path is None else str(path)
        with self._refusing(opening=True):
            self._db = sqlite3.connect(
                self.place, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._db.close)  # Python 3.13 warns of what nobody closed
            if path is not None:
                self._write_ahead()

    def begin(self, writing: bool) -> None:
        """See `Store`."""
        if self._db.in_transaction:
            raise BudgetError(
                "this ledger is in the middle of a transaction.", "ask the transaction, not the ledger."
            )
        with self._refusing():
            self._db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")

    def commit(self) -> None:
        """See `Store`."""
        with self._refusing():
            self._db.execute("COMMIT")

    def roll_back(self) -> None:
        """See `Store`."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See `Store`."""
        with self._refusing():
            return self._db.execute(sql, tuple(values)).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """See `Store`."""
        with self._refusing():
            yield from self._db.execute(sql, tuple(values))

    def has_table(self, name: str) -> bool:
        """See `Store`."""
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (name,)))

    def back_up(self, path: Path) -> None:
        """See `Store`."""
        with self._refusing(), closing(sqlite3.connect(path)) as copy:
            self._db.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """See `Store`."""
        self._db.close()

    def _write_ahead(self) -> None:
        """Change the file's mode once; SQLite does not wait here for others that do the same."""
        patience = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=FULL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > patience:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _refusing(self, opening: bool = False) -> Iterator[None]:
        """Errors in our words: what cannot be used may be later; what is no database was never a ledger."""
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise BudgetError(f"this cannot be written beside the ledger ({error}).") from None
        except (sqlite3.OperationalError, sqlite3.ProgrammingError) as error:
            told, hint = f"the ledger {self.place!r} cannot be used now", "another process may hold it"
            if opening:
                told, hint = f"cannot open the ledger {self.place!r}", "check the path"
            raise LedgerUnavailable(f"{told} ({error}).", f"{hint}: try again.") from None
        except sqlite3.DatabaseError as error:
            told = f"cannot open the ledger {self.place!r} ({error})."
            raise LedgerTampered(told, "check that it is a ledger, or restore a copy.") from None
