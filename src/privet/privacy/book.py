"""A ledger's tables: read and verify what came since, append what comes, and sign it.

A process keeps the totals in memory, with the number and the hash that they stand at. Before it writes it
reads what others appended since, checks that each event follows from the one before, and that the newest
is signed. It believes no total but those that it works out itself, and those of a checkpoint that the
ledger's key signed: one is written every few hundred events, so that a long ledger opens quickly. Nothing
vouches for a checkpoint of a ledger without a key; all events are then replayed when it is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privet.errors import BudgetError, LedgerTampered, QuestionError
from privet.keys import PrivateKey, can_sign, load_key, new_key, public_key
from privet.privacy.chain import (
    GENESIS,
    Event,
    Head,
    Row,
    check_own,
    check_signature,
    linked,
    opened,
    sign,
    tampered,
    written,
)
from privet.privacy.charges import Receipt
from privet.privacy.store import Store
from privet.privacy.totals import Find, Totals

CHECKPOINT_EVERY = 500
"""Events: so many are replayed at most when a signed ledger is opened."""

COLUMNS = {"signature": "TEXT NOT NULL DEFAULT ''", "account": "TEXT", "key": "TEXT"}
"""What version 2 keeps beside the events of version 1."""

TABLES = (
    "CREATE TABLE head (one INTEGER PRIMARY KEY, number INTEGER NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE checkpoint (one INTEGER PRIMARY KEY, totals TEXT NOT NULL, signature TEXT NOT NULL)",
    "CREATE UNIQUE INDEX event_key ON event (account, key) WHERE key IS NOT NULL",
    "CREATE INDEX event_account ON event (account, number)",
)
ROW = "SELECT number, body, hash, signature FROM event"


class Book:
    """The tables of one ledger in a store."""

    def __init__(self, store: Store, key_file: Path | None) -> None:
        self.store = store
        self.key_file = key_file
        self._private: PrivateKey | None = None
        self._totals: Totals | None = None
        self._checkpoint = 0
        if not store.has_table("head"):
            self._set_up()

    @contextmanager
    def writing(self) -> Iterator[Totals]:
        """Hold the ledger as its only writer; what was appended is on disk when this ends well."""
        self.store.begin(writing=True)
        before = -1
        try:
            totals = self.now(writing=True)
            before = totals.number
            yield totals
            self._write_checkpoint(totals)
            self.store.commit()
        except BaseException:
            if self._totals is not None and self._totals.number != before:
                self._totals = None  # it has what is rolled back now
            self.store.roll_back()
            raise

    @contextmanager
    def reading(self) -> Iterator[Totals]:
        """Look at the ledger as it stands at one moment."""
        self.store.begin(writing=False)
        try:
            yield self.now()
        finally:
            self.store.roll_back()

    def now(self, writing: bool = False) -> Totals:
        """The totals at the end of the chain, after a check of what was appended since the last look."""
        ((number, digest),) = self.store.execute(self.store.head_for_update if writing else self.store.head)
        totals, self._totals = self._totals or self._start(), None
        if totals.number > number:
            raise LedgerTampered(
                f"the ledger ends at event {number}, and had {totals.number} when it was last looked at.",
                "an older copy was put in its place: restore the newest.",
            )
        row = None
        for row in self._rows(totals.number):
            self._follow(totals, row)
        if (totals.number, totals.hash) != (number, digest):
            raise tampered(totals.number + 1)
        if row is not None and totals.key:
            check_signature(totals.key, row)
            self._check_key_beside(totals)
        self._totals = totals
        return totals

    def append(self, event: Event) -> Receipt:
        """Add an event to the end of the chain, within `writing`."""
        totals = self._totals
        assert totals is not None
        private = self._key(totals)
        if private is not None and not totals.key:
            event = {**event, "key_of_ledger": public_key(private)}
            self._sign_earlier(private)
        number, body = totals.number + 1, written(event)
        digest = linked(totals.hash, body)
        signature = sign(private, number, digest) if private is not None else ""
        row = (number, body, digest, signature, event["account"], key_of(event))
        self.store.execute(
            "INSERT INTO event (number, body, hash, signature, account, key) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        self.store.execute("UPDATE head SET number = ?, hash = ?", (number, digest))
        totals.follow({**event, "number": number, "hash": digest}, self._finder(totals))
        return Receipt(event["account"], number, digest, signature)

    def find(self, number: int) -> tuple[Event, Row] | None:
        """The event of a number, its own hash and signature checked; None if there is none."""
        return self._found(number, self._totals.key if self._totals else "")

    def find_key(self, account: str, key: str) -> tuple[Event, Row] | None:
        """The charge that was made with a key."""
        rows = self.store.execute("SELECT number FROM event WHERE account = ? AND key = ?", (account, key))
        return self.find(int(rows[0][0])) if rows else None

    def history(self, account: str, after: int, most: int | None) -> list[Event]:
        """Events of an account, oldest first; each follows from the one before it in the ledger."""
        limit = "" if most is None else f" LIMIT {int(most)}"
        rows = self.store.execute(
            "SELECT e.number, e.body, e.hash, e.signature, p.hash FROM event e"
            " LEFT JOIN event p ON p.number = e.number - 1"
            f" WHERE e.account = ? AND e.number > ? ORDER BY e.number{limit}",
            (account, after),
        )
        return [opened(Row(*row[:4]), row[4] or GENESIS) for row in rows]

    def events(self) -> Iterator[Event]:
        """All events, oldest first, each checked against the one before."""
        return (event for _, event in self.checked_rows())

    def checked_rows(self) -> Iterator[tuple[Row, Event]]:
        """The same with the rows that they stand in."""
        previous = GENESIS
        for row in self._rows(0):
            yield row, opened(row, previous)
            previous = row.hash

    def head(self) -> Head:
        """The end of the chain."""
        assert self._totals is not None
        number, key = self._totals.number, self._totals.key
        rows = self.store.execute(f"{ROW} WHERE number = ?", (number,))
        return Head(number, self._totals.hash, rows[0][3] if rows else "", key)

    def replay(self) -> Totals:
        """The totals worked out from all events anew, and what is kept beside each event checked."""
        totals = Totals()
        columns = "number, body, hash, signature, account, key"
        for *row, account, key in self.store.stream(f"SELECT {columns} FROM event ORDER BY number"):
            event = self._follow(totals, Row(*row))
            if (account, key) != (event["account"], key_of(event)):
                raise tampered(totals.number)
        return totals

    def _follow(self, totals: Totals, row: Row) -> Event:
        """Count a row's event, the next one."""
        if row.number != totals.number + 1:
            raise tampered(totals.number + 1)
        event = opened(row, totals.hash)
        totals.follow(event, self._finder(totals))
        return event

    def _finder(self, totals: Totals) -> Find:
        def find(number: int) -> Event:
            found = self._found(number, totals.key)
            if found is None:
                raise tampered(number)
            return found[0]

        return find

    def _found(self, number: int, key: str) -> tuple[Event, Row] | None:
        rows = self.store.execute(f"{ROW} WHERE number IN (?, ?) ORDER BY number", (number - 1, number))
        if not rows or rows[-1][0] != number:
            return None
        row = Row(*rows[-1])
        event = opened(row, rows[0][2] if len(rows) > 1 else GENESIS)
        if key:
            check_signature(key, row)
        return event, row

    def _rows(self, after: int) -> Iterator[Row]:
        rows = self.store.stream(f"{ROW} WHERE number > ? ORDER BY number", (after,))
        return (Row(*row) for row in rows)

    def _start(self) -> Totals:
        """Totals to go on from: those of the last checkpoint, or none."""
        for text, signature in self.store.execute("SELECT totals, signature FROM checkpoint"):
            totals = Totals.from_dict(json.loads(text))
            check_signature(totals.key, Row(totals.number, "", _digest(text), signature))
            self._checkpoint = totals.number
            self._check_key_beside(totals)
            return totals
        return Totals()

    def _write_checkpoint(self, totals: Totals) -> None:
        private = self._private
        if private is None or totals.number < self._checkpoint + CHECKPOINT_EVERY:
            return
        text = json.dumps(totals.to_dict())
        self.store.execute("DELETE FROM checkpoint")
        signature = sign(private, totals.number, _digest(text))
        self.store.execute("INSERT INTO checkpoint VALUES (1, ?, ?)", (text, signature))
        self._checkpoint = totals.number

    def _key(self, totals: Totals) -> PrivateKey | None:
        """The key to sign with: that of the ledger; a new one where it has none and can have one."""
        if self._private is None and self.key_file is not None and can_sign():
            if self.key_file.exists() or totals.key:
                self._private = self._loaded(self.key_file)
            else:
                self._private = new_key(self.key_file)
        if totals.key:
            if self._private is None:
                raise BudgetError(
                    "this ledger is signed, and its key is not here.", "give it: Ledger(..., key=FILE)."
                )
            check_own(totals.key, self._private)
        return self._private

    def _loaded(self, file: Path) -> PrivateKey:
        try:
            return load_key(file)
        except QuestionError as error:
            raise BudgetError(
                f"this ledger is signed, and its key cannot be used: {error.message}",
                "who has no key can look at the ledger, and charge nothing.",
            ) from None

    def _check_key_beside(self, totals: Totals) -> None:
        """Whoever signs a whole new ledger has not the key that lies beside the old one."""
        if self._private is None and self.key_file is not None and os.access(self.key_file, os.R_OK):
            self._private = self._loaded(self.key_file)
        if self._private is not None:
            check_own(totals.key, self._private)

    def _sign_earlier(self, private: PrivateKey) -> None:
        """Sign what was written before there was a key."""
        for number, digest in self.store.execute("SELECT number, hash FROM event"):
            row = (sign(private, number, digest), number)
            self.store.execute("UPDATE event SET signature = ? WHERE number = ?", row)

    def _set_up(self) -> None:
        """Make the tables; a ledger of version 1 is checked whole, kept as it is, and added to."""
        self.store.begin(writing=True)
        try:
            if not self.store.has_table("head"):
                self._make_tables()
            self.store.commit()
        finally:
            self.store.roll_back()

    def _make_tables(self) -> None:
        older = self.store.has_table("event")
        if older:
            for name, kind in COLUMNS.items():
                self.store.execute(f"ALTER TABLE event ADD COLUMN {name} {kind}")
        else:
            columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
            first = f"number {self.store.number_type}, body TEXT NOT NULL, hash TEXT NOT NULL"
            self.store.execute(f"CREATE TABLE event ({first}, {columns})")
        for statement in TABLES:
            self.store.execute(statement)
        totals = Totals()
        for row in self._rows(0):
            event = self._follow(totals, row)
            self.store.execute(
                "UPDATE event SET account = ? WHERE number = ?", (event["account"], row.number)
            )
        self.store.execute("INSERT INTO head VALUES (1, ?, ?)", (totals.number, totals.hash))
        if older:
            self._check_uncut(totals)
            self._totals = totals
            self.append({"kind": "migrated", "account": ""})

    def _check_uncut(self, totals: Totals) -> None:
        """Version 1 kept the number of events with the table."""
        last = self.store.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        if (last[0][0] if last else 0) != totals.number:
            raise tampered(totals.number + 1)


def key_of(event: Event) -> str | None:
    """What a charge's key is stored as: keys of two analysts never meet."""
    key = event.get("key")
    return None if key is None else f"{event.get('analyst') or ''}\n{key}"


def _digest(text: str) -> str:
    return hashlib.sha256(f"checkpoint\n{text}".encode()).hexdigest()
