"""The audit log: who did what, chained by hashes, so that no line can be dropped or changed unseen.

It says what was done to the service: members, tokens, tables, rules, approvals, sign-ins. What was asked of
people, and what it cost, the ledger says. ``note`` is called in the transaction of what it tells of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from privet.errors import LedgerTampered
from privet.privacy import Transaction
from privet.service.house import House
from privet.service.who import Who, require

GENESIS = "privet audit log"
COLUMNS = "number, made, who, what, about, hash"


@dataclass(frozen=True)
class Note:
    """A line of the audit log."""

    number: int
    made: int
    who: str
    what: str
    about: str
    hash: str


def note(house: House, at_once: Transaction, who: str, what: str, about: str = "") -> None:
    """Add a line, within a transaction."""
    last = at_once.execute("SELECT number, hash FROM noted ORDER BY number DESC LIMIT 1")
    number, before = last[0] if last else (0, GENESIS)
    line = (int(number) + 1, house.now(), who, what, about)
    row = (*line, _linked(before, line))
    at_once.execute(f"INSERT INTO noted ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row)


def notes(house: House, who: Who, before: int | None = None, most: int = 200) -> list[Note]:
    """Lines of the log, newest first; for owners and officers."""
    require(who, "audit")
    last = 1 << 62 if before is None else before
    rows = house.read(
        f"SELECT {COLUMNS} FROM noted WHERE number < ? ORDER BY number DESC LIMIT ?",
        last,
        most,
    )
    return [Note(*row) for row in rows]


def check_notes(house: House) -> int:
    """Follow the whole chain; return its length, or raise `LedgerTampered`."""
    before, number = GENESIS, 0
    for *line, digest in house.read(f"SELECT {COLUMNS} FROM noted ORDER BY number"):
        number += 1
        if line[0] != number or digest != _linked(before, tuple(line)):
            raise LedgerTampered(f"the audit log was edited or cut at line {number}.", "restore a copy.")
        before = digest
    return number


def _linked(before: str, line: tuple[object, ...]) -> str:
    return hashlib.sha256(f"{before}\n{json.dumps(line)}".encode()).hexdigest()
