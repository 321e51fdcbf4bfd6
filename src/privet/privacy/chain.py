"""The chain of a ledger's events: each hash covers all before it, and a signature covers the hash.

An event's hash is H(hash before, H(body)): whoever is shown the H(body) of an event can follow the chain
through it, and learns nothing of it, for every body contains fresh secret bits. Events of version 1 have
H(hash before, body), and keep it.

The signature stops whoever can write to the ledger and does not have its key. It does not tell that the
ledger was replaced by an older copy of itself: a witness does, see `privet.privacy.records`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from privet.errors import LedgerTampered
from privet.keys import PrivateKey, public_key, signed_by

Event = Mapping[str, Any]

GENESIS = "privet ledger 1"
VERSION = 2


class Row(NamedTuple):
    """An event as it is stored."""

    number: int
    body: str
    hash: str
    signature: str


@dataclass(frozen=True)
class Head:
    """Where a chain ends: the number of events, the hash of the last, and its signature by a public key."""

    number: int
    hash: str
    signature: str = ""
    key: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is signed by the key that it names."""
        return bool(self.key) and signed_by(self.key, _bytes(self.signature), _sealed(self.number, self.hash))


def written(event: Mapping[str, Any]) -> str:
    """The body of an event, with the time, and with secret bits so that no hash can be recomputed."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    stamp = {"time": now, "salt": secrets.token_hex(16), "version": VERSION}
    return json.dumps({**event, **stamp}, sort_keys=True)


def linked(previous: str, body: str, version: int = VERSION) -> str:
    """The hash of an event after another."""
    return _hash(f"{previous}\n{_hash(body) if version >= VERSION else body}")


def linked_unseen(previous: str, hash_of_body: str) -> str:
    """The hash of an event of which nothing is shown."""
    return _hash(f"{previous}\n{hash_of_body}")


def hash_of(body: str) -> str:
    """What may be shown of an event whose body may not."""
    return _hash(body)


def opened(row: Row, previous: str) -> dict[str, Any]:
    """The event of a row, after its link to the one before was checked."""
    try:
        event = json.loads(row.body)
        whole = row.hash == linked(previous, row.body, event.get("version", 1))
    except (ValueError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise tampered(row.number)
    return {**event, "number": row.number, "hash": row.hash}


def sign(key: PrivateKey, number: int, digest: str) -> str:
    """The signature of an event, and of all before it."""
    return str(key.sign(_sealed(number, digest)).hex())


def check_signature(public: str, row: Row) -> None:
    """Refuse an event that was not signed by the ledger's key."""
    if not Head(row.number, row.hash, row.signature, public).holds:
        raise LedgerTampered(
            f"event {row.number} of the ledger was not signed by its key.",
            "restore it from a copy; until then nothing can be charged.",
        )


def check_own(public: str, key: PrivateKey) -> None:
    """Refuse a key that is not the ledger's."""
    if public_key(key) != public:
        raise LedgerTampered(
            f"the ledger was signed by the key {public[:16]}…, not by this one ({public_key(key)[:16]}…).",
            "give the key that it was made with, or restore the ledger from a copy.",
        )


def tampered(place: int) -> LedgerTampered:
    """What is said of a chain that does not hold."""
    return LedgerTampered(
        f"the ledger was edited or cut at event {place}.",
        "restore it from a copy; until then nothing can be charged.",
    )


def _sealed(number: int, digest: str) -> bytes:
    return f"PRIVET LEDGER {VERSION}\n{number}\n{digest}".encode()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _bytes(signature: str) -> bytes:
    try:
        return bytes.fromhex(signature)
    except ValueError:
        return b""
