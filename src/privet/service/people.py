"""People and their budgets: an account of the ledger stands for people, however many tables tell of them.

What an analyst may see of it is their own cap and what is left *for them*: the lesser of what is left of the
cap and of the total. An owner and an officer see everyone's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privet.privacy import ZCDP, Budget, Charge, Cost, State, Transaction, in_sequence
from privet.privacy.chain import Head
from privet.privacy.totals import Totals, budget_of
from privet.service.house import House, one
from privet.service.journal import note
from privet.service.refusals import Conflict, OtherRequest, ServiceError, check_text, no_such
from privet.service.who import Who, require

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
CHUNK, MOST_POINTS = 1000, 600


@dataclass(frozen=True)
class Money:
    """What may be spent, is spent and is left, by unit: ``epsilon``, and ``rho`` where there is a δ.

    ``None`` for an ε where something was asked that has no price in ε; ρ counts then.
    """

    delta: float
    budget: Mapping[str, float]
    spent: Mapping[str, float | None]
    left: Mapping[str, float | None]

    @classmethod
    def of(cls, budget: Budget, spent: Cost) -> Money:
        """From a budget and what was spent of it."""
        limits = {"epsilon": budget.epsilon} | ({"rho": budget.rho} if budget.delta else {})
        used = {"epsilon": spent.epsilon, "rho": spent.rho}
        left: dict[str, float | None] = {}
        for unit, limit in limits.items():
            of = used[unit]
            left[unit] = None if of is None else float(max(limit - of, Fraction(0)))
        return cls(
            float(budget.delta),
            {unit: float(limit) for unit, limit in limits.items()},
            {unit: None if (of := used[unit]) is None else float(of) for unit in limits},
            left,
        )

    def least(self, other: Money) -> dict[str, float | None]:
        """What is left of both."""
        units = self.left.keys() & other.left.keys()
        return {unit: _least(self.left[unit], other.left[unit]) for unit in sorted(units)}


@dataclass(frozen=True)
class Purse:
    """An account as somebody may see it.

    Attributes
    ----------
    people : str
    about : str
    own : Money or None
        Of who looks: their cap; None where they have none (owners are under none).
    left : dict
        What they could spend now, by unit.
    total : Money or None
        Of everyone; for owners and officers alone.
    analysts : dict of Money
        Each one's, for owners and officers alone; None where nothing may be asked any more.
    accounting : str
        How costs with a δ add up: ``zcdp``, or ``gdp``, where ρ is half of μ².
    """

    people: str
    about: str
    own: Money | None
    left: Mapping[str, float | None]
    total: Money | None = None
    analysts: Mapping[str, Money | None] | None = None
    accounting: str = ZCDP


def create_people(house: House, who: Who, name: str, budget: Budget, about: str = "") -> Purse:
    """Name people and set the most that may ever be learnt of any one of them, by all analysts together."""
    require(who, "own")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ServiceError("a name is 1 to 64 of a–z, 0–9, _ and -.", "say, patients.")
    check_text(about, "what is said about people", 2000)
    with house.write() as at_once:
        if at_once.execute("SELECT 1 FROM people WHERE name = ?", (name,)):
            raise Conflict(f"there are people {name!r} already.", "grant them another budget.")
        at_once.create(name, budget)
        row = (name, about, house.now())
        at_once.execute("INSERT INTO people (name, about, made) VALUES (?, ?, ?)", row)
        note(house, at_once, who.name, "people named", f"{name}: {budget}")
    return purse(house, who, name)


def grant(house: House, who: Who, people: str, budget: Budget, key: str) -> Purse:
    """Replace the total by another, once for each key: what was spent stays spent."""
    require(who, "own")
    _check(house, who, people)
    request = f"grant {people} {budget.epsilon} {budget.delta}" + f" {budget.finding}" * bool(budget.finding)
    with house.write() as at_once:
        if first_time(at_once, who, key, request):
            at_once.grant(people, budget)
            note(house, at_once, who.name, "budget granted", f"{people}: {budget}")
    return purse(house, who, people)


def first_time(at_once: Transaction, who: Who, key: str, request: str) -> bool:
    """Whether a key is new; False for the same request again, refused for another."""
    found = one(at_once.execute("SELECT request FROM done WHERE member = ? AND key = ?", (who.name, key)))
    if found is None:
        at_once.execute("INSERT INTO done (member, key, request) VALUES (?, ?, ?)", (who.name, key, request))
    elif found[0] != request:
        raise OtherRequest("this key was used for another request.", "take a new key for a new request.")
    return found is None


def set_cap(house: House, who: Who, people: str, analyst: str, cap: Budget | None) -> Purse:
    """Let an analyst see the tables of some people and spend up to a cap; with None, nothing more."""
    require(who, "own")
    _check(house, who, people)
    if cap is not None and not house.read("SELECT 1 FROM member WHERE name = ?", analyst):
        raise no_such("member", analyst)
    with house.write() as at_once:
        at_once.set_cap(people, analyst, cap)
        note(house, at_once, who.name, "cap set", f"{people}: {analyst} {cap or 'nothing more'}")
    return purse(house, who, people)


def purse(house: House, who: Who, people: str) -> Purse:
    """An account as somebody may see it; hidden where they have no cap on it."""
    about, state = _check(house, who, people), house.ledger.state(people)
    total = Money.of(state.budget, state.spent())
    if who.may("own") or who.may("audit"):
        each = {
            name: None if analyst.cap is None else Money.of(analyst.cap, analyst.spending.on())
            for name, analyst in sorted(state.analysts.items())
        }
        return Purse(people, about, None, total.left, total, each, state.budget.accounting)
    own = _own(state, who)
    return Purse(people, about, own, own.least(total), accounting=state.budget.accounting)


def accounts(house: House, who: Who) -> list[Purse]:
    """All accounts that somebody may see."""
    names = [name for (name,) in house.read("SELECT name FROM people ORDER BY name")]
    return [purse(house, who, name) for name in names if visible(house, who, name)]


def visible(house: House, who: Who, people: str) -> bool:
    """Whether somebody may know of some people: owners, officers, and analysts who have, or had, a cap."""
    if who.may("own") or who.may("audit"):
        return True
    known = house.ledger.state(people).analysts.get(who.name)
    return known is not None and known.cap is not None


@dataclass(frozen=True)
class Entry:
    """An event of the ledger as somebody may see it; what others asked is hidden from an analyst."""

    number: int
    time: str
    kind: str
    who: str
    what: str
    cost: str
    learner: str
    hash: str


def ledger(house: House, who: Who, people: str, after: int = 0, most: int = 500) -> list[Entry]:
    """Events of an account: all of them for owners and officers, an analyst's own for an analyst."""
    _check(house, who, people)
    found: list[Entry] = []
    for event in _events(house, people, after):
        if _may_see(house, who, event):
            found.append(_entry(event))
        if len(found) == most:
            break
    return found


def last_page(house: House, who: Who, people: str, before: int = 1 << 60, most: int = 500) -> int:
    """After which event the last so many events of an account begin that come before another."""
    _check(house, who, people)
    rows = house.read(
        "SELECT number FROM event WHERE account = ? AND number <= ? ORDER BY number DESC LIMIT 1 OFFSET ?",
        *(people, before, most - 1),
    )
    return int(rows[0][0]) - 1 if rows else 0


def _events(house: House, people: str, after: int = 0) -> Iterator[Mapping[str, Any]]:
    """Events of an account, a few at a time: others are charged meanwhile."""
    while events := house.ledger.history(people, after, CHUNK):
        yield from events
        after = events[-1]["number"]


def _may_see(house: House, who: Who, event: Mapping[str, Any]) -> bool:
    """Whether somebody may see an event: an analyst's are what they were charged, and what came of it."""
    if who.may("own") or who.may("audit"):
        return True
    charge = event.get("number_cancelled", event.get("number_settled"))
    if charge is not None:
        return bool(house.read("SELECT 1 FROM job WHERE charge = ? AND member = ?", charge, who.name))
    return bool(event.get("analyst") == who.name)


@dataclass
class Burnt:
    """What a picture of an account's spending was drawn from, to go on from there."""

    totals: Totals = field(default_factory=Totals)
    points: list[dict[str, Any]] = field(default_factory=list)
    every: int = 1
    since: int = 0
    last: list[dict[str, Any]] = field(default_factory=list)


def burn(house: House, who: Who, people: str) -> list[dict[str, Any]]:
    """What was spent over time, by analyst: events with the running sum, a few hundred for a picture."""
    require(who, "own", "audit")
    _check(house, who, people)
    with house.drawing:
        burnt, event = house.burnt.setdefault(people, Burnt()), None
        for event in _events(house, people, burnt.totals.number):
            burnt.totals.follow(event, lambda number: house.ledger.history(people, number - 1, 1)[0])
            burnt.since += 1
            if burnt.since >= burnt.every:
                burnt.points.append(_point(burnt.totals.accounts[people], event))
                burnt.since = 0
            if len(burnt.points) > MOST_POINTS:
                burnt.points, burnt.every = burnt.points[::2], 2 * burnt.every
        if event is not None:
            burnt.last = [_point(burnt.totals.accounts[people], event)]
        numbers = [each["number"] for each in burnt.points[-1:]]
        return [*burnt.points, *(each for each in burnt.last if each["number"] not in numbers)]


def _point(state: State, event: Mapping[str, Any]) -> dict[str, Any]:
    spent = {
        name: Money.of(each.cap or state.budget, each.spending.on()).spent
        for name, each in sorted(state.analysts.items())
    }
    total = Money.of(state.budget, state.spent())
    when = {"number": event["number"], "time": event["time"]}
    return {**when, "budget": total.budget, "spent": total.spent, "analysts": spent}


def head(house: House, who: Who) -> Head:
    """Where the chain of the whole ledger ends, signed: for a witness elsewhere."""
    require(who, "read", "audit", "own")
    return house.ledger.head()


def _entry(event: Mapping[str, Any]) -> Entry:
    kind, charges = event["kind"], event.get("charges", [])
    what, cost = event.get("reason", ""), ""
    if kind == "charge":
        what = "; ".join(dict.fromkeys(charge["question"] for charge in charges))
        cost = _cost(charges)
    elif kind == "refused":
        cost = _cost([event["asked"]])
    elif kind in ("budget", "grant", "cap") and event.get("epsilon") is not None:
        cost = str(budget_of(event))
    elif kind in ("cancel", "settle"):
        what = f"of {event.get('number_cancelled', event.get('number_settled'))} {what}".strip()
    return Entry(
        *(event["number"], event["time"], kind, event.get("analyst") or "", what, cost),
        *(event.get("learner") or "", event["hash"]),
    )


def _cost(charges: list[Mapping[str, Any]]) -> str:
    return str(in_sequence(Charge.from_dict(each).cost for each in charges))


def _own(state: State, who: Who) -> Money:
    known = state.analysts[who.name]
    assert known.cap is not None
    return Money.of(known.cap, known.spending.on())


def _check(house: House, who: Who, people: str) -> str:
    """What is said about people whom somebody may know of."""
    found = one(house.read("SELECT about FROM people WHERE name = ?", people))
    if found is None or not visible(house, who, people):
        raise no_such("account", people)
    return str(found[0])


def _least(one_of: float | None, other: float | None) -> float | None:
    return None if one_of is None or other is None else min(one_of, other)
