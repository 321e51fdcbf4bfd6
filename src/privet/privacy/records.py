"""What of a ledger goes elsewhere: signed statements, heads for a witness, copies.

A *statement* shows the events of one account, and of all other events nothing but a hash: whoever has it
follows the chain to its signed end and adds up the account by himself. A *witness* is a file of signed heads
in another place: a ledger that was put back to an older copy of itself, or replaced by another one, does not
have them all. Proof note: ``docs/proofs/composition.md``, *The ledger*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from privet.errors import LedgerTampered, ModelFileError
from privet.privacy.chain import GENESIS, VERSION, Event, Head, Row, hash_of, linked_unseen, opened
from privet.privacy.ledger import Ledger
from privet.privacy.totals import State, Totals

KIND = "privet statement 1"


def statement(ledger: Ledger, account: str) -> dict[str, Any]:
    """All events of an account, the hashes of all others, and the signed end of the chain."""
    ledger.state(account)
    events, last, key = [], Row(0, "", GENESIS, ""), ledger.head().key
    for row in ledger.rows():
        body = json.loads(row.body)
        shown = body["account"] == account or body.get("version", 1) < VERSION
        events.append(
            {"body": row.body, "hash": row.hash} if shown else {"unseen": hash_of(row.body), "hash": row.hash}
        )
        last = row
    head = Head(last.number, last.hash, last.signature, key)
    return {"kind": KIND, "account": account, "head": asdict(head), "events": events}


def read_statement(data: Mapping[str, Any], key: str | None = None) -> tuple[State, Head]:
    """What an account comes to by a statement, and the end of the chain; refused where it does not hold.

    Parameters
    ----------
    data : dict
        See `statement`.
    key : str, optional
        The ledger's public key, if it is known from elsewhere: a statement names its own.
    """
    try:
        account, head = data["account"], Head(**data["head"])
        totals = _followed(data["events"], account)
        state = totals.state(account)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ModelFileError("this is no statement of a ledger.", "ask for another.") from None
    if (totals.number, totals.hash) != (head.number, head.hash) or not head.holds:
        raise LedgerTampered("this statement does not end in a signed head.", "ask for another.")
    if key is not None and key != head.key:
        raise LedgerTampered("this statement was signed by another key.", "ask the ledger's owner.")
    return state, head


def write_head(ledger: Ledger, witness: str | Path) -> Head:
    """Append the signed end of the chain to a witness file, which lies elsewhere."""
    head = ledger.head()
    with Path(witness).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(head)) + "\n")
    return head


def read_heads(witness: str | Path) -> list[Head]:
    """The heads of a witness file."""
    try:
        lines = Path(witness).read_text(encoding="utf-8").splitlines()
        return [Head(**json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError, TypeError):
        raise ModelFileError("this is no witness file.", "give the one that heads were written to.") from None


def check_witness(ledger: Ledger, heads: Iterable[Head]) -> int:
    """Refuse a ledger that lacks any head that a witness saw; return how many there were."""
    seen, key = 0, ledger.head().key
    for head in heads:
        seen += 1
        if head.number and (ledger.hash_at(head.number) != head.hash or head.key not in ("", key)):
            raise LedgerTampered(
                f"a witness saw another event {head.number} than this ledger has.",
                "an older copy was put in its place, or another ledger: restore the newest.",
            )
    return seen


def _followed(events: Iterable[Mapping[str, Any]], account: str) -> Totals:
    totals, shown = Totals(), {}
    for number, each in enumerate(events, start=1):
        if "unseen" in each:
            if linked_unseen(totals.hash, each["unseen"]) != each["hash"]:
                raise LedgerTampered(f"this statement was edited at event {number}.", "ask for another.")
            totals.number, totals.hash = number, each["hash"]
            continue
        event: Event = opened(Row(number, each["body"], each["hash"], ""), totals.hash)
        shown[number] = event
        totals.follow(event, shown.__getitem__)
    return totals
