"""Verify: is a model what it says, and is it paid for? Four questions, each answered by itself.

A model file may come from anybody: it is read by a process that is shut in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from tempfile import NamedTemporaryFile
from typing import Any

from privet.errors import ModelFileError, PrivetError
from privet.model.card import stated
from privet.privacy import Budget, Charge, in_sequence
from privet.privacy.chain import Head
from privet.privacy.records import check_witness, read_heads, statement
from privet.service import fresh
from privet.service.house import House
from privet.service.journal import check_notes, note
from privet.service.models import released_entry
from privet.service.people import purse
from privet.service.processes import looked_at
from privet.service.refusals import Forbidden, TooLarge
from privet.service.who import Who, require
from privet.service.work import MOST_STEPS, MOST_TREES

LARGEST, MOST_UPLOADS = 64 << 20, 100


@dataclass(frozen=True)
class Check:
    """A question about a model, and the answer in words; ``holds`` is None where it cannot be told."""

    name: str
    holds: bool | None
    told: str


@dataclass(frozen=True)
class Verdict:
    """All checks of a model, and its card as the file states it, if it could be read."""

    checks: Sequence[Check]
    card: Mapping[str, Any] | None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return all(check.holds is not False for check in self.checks)


def verify(house: House, who: Who, model: bytes, heads: Sequence[Head] = ()) -> Verdict:
    """Verify a model file against the ledger, and the ledger against its key and what a witness saw."""
    require(who, "read", "submit", "own", "audit")
    if len(model) > LARGEST:
        raise TooLarge("a model has 64 MB at most.", "give a smaller one.")
    try:
        card = looked_at(house, model)["card"]
    except PrivetError as error:
        return Verdict([Check("whole", False, error.message), *_ledger(house, who, heads)], None)
    checks = [Check("whole", True, "The file is as it was written."), *_charge(house, who, card, model)]
    return Verdict([*checks, *_ledger(house, who, heads)], card)


def read_witness(data: bytes) -> list[Head]:
    """The heads of a witness file that somebody brought."""
    with NamedTemporaryFile() as file:
        file.write(data[:LARGEST])
        file.flush()
        try:
            heads = read_heads(file.name)
        except RecursionError:
            heads = [Head(-1, "")]
    if not all(_sound(head) for head in heads):
        raise ModelFileError("this is no witness file.", "give the one that heads were written to.")
    return heads


def _sound(head: Head) -> bool:
    texts = all(isinstance(each, str) for each in (head.hash, head.signature, head.key))
    return texts and type(head.number) is int and 0 <= head.number < 1 << 60


def upload(house: House, who: Who, model: bytes) -> str:
    """Keep a model that a member brought, to be scored at a price; its id."""
    require(who, "submit")
    if len(model) > LARGEST:
        raise TooLarge("a model has 64 MB at most.", "give a smaller one.")
    ((kept,),) = house.read("SELECT count(*) FROM upload WHERE member = ?", who.name)
    if kept >= MOST_UPLOADS:
        raise Forbidden(f"a member brings {MOST_UPLOADS} models at most.", "ask the owner.")
    looked = looked_at(house, model)
    if looked["trees"] > MOST_TREES or looked["steps"] > MOST_STEPS:
        # How long a row takes, and how much memory a few of them, must not be for its author to choose.
        raise TooLarge(
            f"a model that is scored has {MOST_TREES:,} trees at most, and {MOST_STEPS:,} steps a row.",
            "bring one with fewer trees.",
        )
    id = "u" + fresh.name()
    (house.uploads / f"{id}.privet").write_bytes(model)
    with house.write() as at_once:
        row = (id, who.name, house.now(), len(model))
        at_once.execute("INSERT INTO upload (id, member, made, size) VALUES (?, ?, ?, ?)", row)
        note(house, at_once, who.name, "model brought", id)
    return id


def signed_statement(house: House, who: Who, people: str) -> dict[str, Any]:
    """The statement of an account: see `privet.privacy.records`; for owners and officers."""
    require(who, "own", "audit")
    purse(house, who, people)
    return statement(house.ledger, people)


def signed_head(house: House, who: Who) -> dict[str, Any]:
    """Where the chain ends now."""
    require(who, "read", "own", "audit")
    return asdict(house.ledger.head())


def check_house(house: House, who: Who) -> list[Check]:
    """Replay the ledger and the audit log from their beginnings."""
    require(who, "own", "audit")
    return [*_ledger(house, who, ()), _tried("audit log", lambda: f"{check_notes(house):,} lines hold.")]


def _charge(house: House, who: Who, card: Mapping[str, Any], model: bytes) -> list[Check]:
    """Whether the card's receipt is a charge of this ledger, and the card says what was charged."""
    people, receipt = str(card.get("account")), str(card.get("receipt"))
    try:
        purse(house, who, people)
    except PrivetError:
        return [Check("charged", None, "The people that it names are not among yours.")]
    found = house.read("SELECT number FROM event WHERE account = ? AND hash = ?", people, receipt)
    event = house.ledger.history(people, int(found[0][0]) - 1, 1)[0] if found else {}
    if event.get("kind") != "charge":
        return [Check("charged", False, "Its receipt is no charge of this ledger.")]
    if event["number"] in house.ledger.state(people).closed:
        return [Check("charged", False, f"Charge {event['number']} was given back.")]
    try:
        asked = in_sequence(Charge.from_dict(each).cost for each in card["questions"])
        plans = [event[name] for name in ("charges", "instead") if name in event]
        costs = [in_sequence(Charge.from_dict(each).cost for each in plan) for plan in plans]
        covered = any(not asked.exceeds(cost) for cost in costs)
        promised = Budget(stated(card["epsilon"]), stated(card["delta"]))
    except (PrivetError, LookupError, TypeError, ValueError, AttributeError):
        return [Check("charged", False, "The questions of its card cannot be read.")]
    told = f"Charge {event['number']} covers all that its card says was asked ({asked})."
    if not covered or card.get("schema") is None:
        told = f"Its card says that more was asked ({asked}) than charge {event['number']} paid for."
    elif not any(promised.allows(cost) for cost in costs):
        covered, told = False, f"Its card promises ({promised}) more than charge {event['number']} says."
    private = card.get("private") is True
    return [
        Check("charged", covered, told),
        _released(house, event["number"], model),
        Check("promise", private, "It claims its promise." if private else "It claims no promise."),
    ]


def _released(house: House, charge: int, model: bytes) -> Check:
    """Whether these are the bytes that the job of a charge released."""
    rows = house.read("SELECT id FROM job WHERE charge = ?", charge)
    files = [found.file for (id,) in rows if (found := released_entry(house, id)) is not None]
    if not files:
        return Check("released", None, "This house has no model of that charge to compare it with.")
    same = any(file.read_bytes() == model for file in files)
    told = "These are the bytes that were released." if same else "Other bytes were released for that charge."
    return Check("released", same, told)


def _ledger(house: House, who: Who, heads: Sequence[Head]) -> list[Check]:
    def chain() -> str:
        head = house.ledger.verify()
        return f"{head.number:,} events follow from one another to the head."

    checks = []
    if who.may("audit"):  # a replay of years takes a while, and nothing is charged meanwhile
        checks.append(_tried("chain", chain))
    else:
        checks.append(Check("chain", None, "Officers and owners have it replayed from its beginning."))
    head = house.ledger.head()
    told = f"By the key {head.key[:16]}…" if head.key else "This ledger has no key."
    checks.append(Check("signed", head.holds if head.key else None, told))
    if heads:
        checks.append(_tried("witness", lambda: f"{check_witness(house.ledger, heads)} heads are in it."))
    return checks


def _tried(name: str, check: Any) -> Check:
    try:
        return Check(name, True, check())
    except PrivetError as error:
        return Check(name, False, error.message)
