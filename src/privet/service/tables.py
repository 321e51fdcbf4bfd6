"""Tables: registered by an owner by an address, checked and copied once, and asked under rules.

An address never comes from an analyst. ``file:NAME`` is a file or a folder below the house's own folder of
tables, with links resolved; ``SOURCE:TABLE`` is a table of a database that the house's settings name. A
misfit is told to the owner when the table is registered; jobs read the copy alone, so no later job fails for
a row. Analysts see name, schema, rules and an invented sample: never the address, the number of rows, or what
the check said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from privet.checks import exact, whole
from privet.data import read_address
from privet.errors import PrivetError, SchemaError
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.schema import Schema
from privet.service import fresh
from privet.service import sample as samples
from privet.service.house import House, one
from privet.service.journal import note
from privet.service.people import Purse, purse, visible
from privet.service.processes import checked_copy
from privet.service.refusals import Conflict, Forbidden, ServiceError, no_such, storable
from privet.service.who import Who, require

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
CHECKING, READY, MISFIT = "checking", "ready", "misfit"
COLUMNS = "name, people, address, schema, rules, state, told, copy, made, checked"
LONGEST_SCHEMA = 1 << 20
LEARNERS = tuple(dict.fromkeys([*CLASSIFIERS, *REGRESSORS]))


@dataclass(frozen=True)
class Rules:
    """What analysts may ask of a table, besides their caps.

    Attributes
    ----------
    learners : list of str or None
        Those that may be fitted; None for all.
    asks, scores : bool
        Whether questions without a model, and scores of models, may be asked.
    most_epsilon : str or None
        The most ε of one job.
    most_delta : str
        The most δ of one job.
    cooldown : int
        Seconds between two jobs of an analyst.
    approval_above : str or None
        Jobs of more ε wait for an owner; None for no approval, 0 for approval of all.
    """

    learners: tuple[str, ...] | None = None
    asks: bool = True
    scores: bool = True
    most_epsilon: str | None = None
    most_delta: str = "0"
    cooldown: int = 0
    approval_above: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Rules:
        """Read rules, checked."""
        known = set(cls.__dataclass_fields__)
        if not isinstance(data, Mapping) or set(data) - known:
            raise ServiceError(f"rules are {', '.join(sorted(known))}.", "leave out what does not matter.")
        rules = cls(**data)
        if rules.learners is not None:
            listed = tuple(rules.learners) if isinstance(rules.learners, list | tuple) else ("",)
            if not all(name in LEARNERS for name in listed):
                raise ServiceError("there is no such learner.", f"learners are {', '.join(LEARNERS)}.")
            rules = replace(rules, learners=listed)
        if type(rules.asks) is not bool or type(rules.scores) is not bool:
            raise ServiceError("asks and scores are true or false.")
        cooldown = whole(rules.cooldown, "cooldown", 0, 366 * 24 * 3600, "give seconds.")
        return replace(
            rules,
            cooldown=cooldown,
            most_epsilon=_number(rules.most_epsilon, "most_epsilon"),
            most_delta=_number(rules.most_delta, "most_delta") or "0",
            approval_above=_number(rules.approval_above, "approval_above"),
        )


@dataclass(frozen=True)
class Listed:
    """A table as it is kept. ``address``, ``told``, ``copy`` are for owners alone."""

    name: str
    people: str
    address: str
    schema: Schema
    rules: Rules
    state: str
    told: str
    copy: str
    made: int
    checked: int | None


@dataclass(frozen=True)
class TableView:
    """A table as somebody may see it.

    Attributes
    ----------
    name, people, state : str
    schema : Schema
    rules : Rules
    purse : Purse
        What may be spent, as they may see it.
    address, told : str or None
        For owners alone.
    """

    name: str
    people: str
    state: str
    schema: Schema
    rules: Rules
    purse: Purse
    address: str | None = None
    told: str | None = None


def tables(house: House, who: Who) -> list[TableView]:
    """All tables that somebody may know of."""
    require(who, "read", "own")
    return [_view(house, who, each) for each in _all(house) if _visible(house, who, each)]


def table(house: House, who: Who, name: str) -> TableView:
    """One of them; hidden ones are not there."""
    return _view(house, who, listed(house, who, name))


def sample(house: House, who: Who, name: str, n: int = 20) -> list[dict[str, Any]]:
    """Invented rows, drawn from the schema alone: every value as likely as any other, and no person's."""
    return samples.invented(listed(house, who, name).schema, whole(n, "n", 1, 10_000, "say, 20."))


def listed(house: House, who: Who, name: str) -> Listed:
    """A table as it is kept, if somebody may know of it."""
    require(who, "read", "own")
    row = one(house.read(f"SELECT {COLUMNS} FROM listed WHERE name = ?", name))
    found = None if row is None else _read(row)
    if found is None or not _visible(house, who, found):
        raise no_such("table", name)
    return found


def register(
    house: House, who: Who, name: str, people: str, address: str, schema: Any, rules: Any = None
) -> TableView:
    """Register a table: it is checked and copied now, and can be asked when this returns with ``ready``.

    A table that does not fit its schema stays, as ``misfit``, with what is wrong told to owners: mend it and
    `refresh`.
    """
    require(who, "own")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ServiceError("a table's name is 1 to 64 of a–z, 0–9, _ and -.", "say, patients.")
    contract, allowed = read_schema(schema), Rules.from_dict({} if rules is None else rules)
    purse(house, who, people)
    place(house, address)
    row = (name, people, address, json.dumps(contract.to_dict()), json.dumps(allowed.to_dict()), CHECKING)
    with house.write() as at_once:
        if at_once.execute("SELECT 1 FROM listed WHERE name = ?", (name,)):
            raise Conflict(f"there is a table {name!r} already.", "choose another name, or refresh it.")
        at_once.execute(
            f"INSERT INTO listed ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, '', '', ?, NULL)", (*row, house.now())
        )
        note(house, at_once, who.name, "table registered", f"{name} of {people}: {address}")
    return refresh(house, who, name)


def refresh(house: House, who: Who, name: str) -> TableView:
    """Check and copy a table anew. Until the new copy is there, jobs read the one before."""
    require(who, "own")
    found = listed(house, who, name)
    copy = f"{name}-{fresh.name()}"
    target = house.copies / f"{copy}.parquet"
    try:
        lies = place(house, found.address)
        rows = checked_copy(house, lies.address, lies.readable, lies.network, found.schema, target)
        state, told = READY, f"{rows:,} {found.schema.counted} fit the schema."
    except PrivetError as error:
        state, told, copy = MISFIT, f"{error.message} {error.hint}".strip(), ""
    with house.write() as at_once:
        # As it is now: another refresh may have ended meanwhile.
        ((before,),) = at_once.execute("SELECT copy FROM listed WHERE name = ?", (name,))
        shown = READY if before else state
        at_once.execute(
            "UPDATE listed SET state = ?, told = ?, copy = ?, checked = ? WHERE name = ?",
            (shown, told, copy or before, house.now(), name),
        )
        note(house, at_once, who.name, "table checked", f"{name}: {state}")
    if copy and before:
        # Jobs that run hold a link of their own to it.
        (house.copies / f"{before}.parquet").unlink(missing_ok=True)
    return table(house, who, name)


def withdraw(house: House, who: Who, name: str) -> None:
    """Take a table back: its copy goes and its name is free; what was charged and released stays."""
    require(who, "own")
    listed(house, who, name)
    with house.write() as at_once:
        copy = one(at_once.execute("SELECT copy FROM listed WHERE name = ?", (name,)))
        asked = "SELECT 1 FROM job WHERE listed = ? AND state IN ('waiting', 'queued', 'running')"
        if at_once.execute(asked, (name,)):
            raise Conflict(f"jobs on {name!r} are not over.", "cancel them, or wait for them.")
        at_once.execute("DELETE FROM listed WHERE name = ?", (name,))
        note(house, at_once, who.name, "table withdrawn", name)
    if copy is not None and copy[0]:
        (house.copies / f"{copy[0]}.parquet").unlink(missing_ok=True)


def set_rules(house: House, who: Who, name: str, rules: Any) -> TableView:
    """Replace the rules of a table: what waits or runs already is not judged anew."""
    require(who, "own")
    listed(house, who, name)
    allowed = Rules.from_dict(rules)
    with house.write() as at_once:
        text = json.dumps(allowed.to_dict())
        at_once.execute("UPDATE listed SET rules = ? WHERE name = ?", (text, name))
        note(house, at_once, who.name, "rules set", f"{name}: {text}")
    return table(house, who, name)


def read_schema(data: Any) -> Schema:
    """A schema that a service can ask under: it has a public bound on the number of rows."""
    text = json.dumps(data, ensure_ascii=False)
    if len(text) > LONGEST_SCHEMA:
        raise SchemaError("this schema is too long.", "list fewer categories.")
    if not storable(text):
        raise SchemaError("a schema is text: half of a character is none.", "write its names anew.")
    schema = Schema.from_dict(data)
    if schema.max_rows is None:
        raise SchemaError(
            "a served table needs max_rows: sizes, times and plans follow from it.",
            "state the most rows that it may ever have, publicly.",
        )
    return schema


class Place(NamedTuple):
    """Where rows lie, for the process that copies them: what it must see, and whether by the network."""

    address: str
    readable: tuple[Path, ...]
    network: bool = False


def place(house: House, address: str) -> Place:
    """Where an address leads: ``file:NAME`` below the folder of tables, or ``SOURCE:TABLE`` of a database."""
    if not isinstance(address, str) or not address.isprintable() or len(address) > 1000:
        raise ServiceError("an address is a line of text.", "say, file:patients.csv.")
    kind, _, rest = address.partition(":")
    if kind == "file" and rest:
        return Place(_file(house, rest), (house.tables.resolve(),))
    source = house.settings.sources.get(kind)
    if source is None or not rest:
        known = ", ".join(["file:", *(f"{name}:" for name in house.settings.sources)])
        raise ServiceError("an address begins with what the house knows.", f"one of {known}")
    # What is asked for is a table's name, never a query: nothing else goes into the address.
    found = f"{source}{'&' if '?' in source else '?'}{urlencode({'table': rest})}"
    path = read_address(found).path
    if path is not None and not path.is_absolute():
        raise ServiceError("house.toml names this database by a part of its path.", "write all of it.")
    return Place(found, () if path is None else (path.resolve(),), path is None)


def _file(house: House, rest: str) -> str:
    """A path below the folder of tables, links resolved; refused where anything in it ends elsewhere."""
    root = house.tables.resolve()
    found = (root / rest).resolve()
    if not found.is_relative_to(root) or found == root:
        raise Forbidden("this address leads out of the folder of tables.", "put the file below it.")
    inside = [found, *(found.rglob("*") if found.is_dir() else ())]
    if not all(each.resolve().is_relative_to(root) for each in inside):
        raise Forbidden("this address leads out of the folder of tables.", "put the file below it.")
    if not found.exists():
        raise ServiceError("there is no such file in the folder of tables.", "check the address.")
    return str(found)


def copy_of(house: House, found: Listed) -> Path:
    """The copy that jobs of a table read."""
    if not found.copy:
        raise Conflict(f"the table {found.name!r} is not ready.", "its owner is told why.")
    return house.copies / f"{found.copy}.parquet"


def _all(house: House) -> list[Listed]:
    return [_read(row) for row in house.read(f"SELECT {COLUMNS} FROM listed ORDER BY name")]


def _visible(house: House, who: Who, found: Listed) -> bool:
    return who.may("own") or (bool(found.copy) and visible(house, who, found.people))


def _view(house: House, who: Who, found: Listed) -> TableView:
    state = found.state if who.may("own") or not found.copy else READY
    view = TableView(
        found.name, found.people, state, found.schema, found.rules, purse(house, who, found.people)
    )
    return replace(view, address=found.address, told=found.told) if who.may("own") else view


def _read(row: tuple[Any, ...]) -> Listed:
    schema, rules = Schema.from_dict(json.loads(row[3])), Rules.from_dict(json.loads(row[4]))
    name, people, address, _, _, state, told, copy, made, checked = row
    return Listed(name, people, address, schema, rules, state, told, copy, made, checked)


def _number(value: Any, name: str) -> str | None:
    if value is None:
        return None
    number = exact(value, name)
    if not 0 <= number <= 10**6:
        raise ServiceError(f"{name} must lie between 0 and 1,000,000.")
    return str(value)
