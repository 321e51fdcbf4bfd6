"""Jobs, and the only ways in which their state may move.

::

    waiting ──approved──► queued ──► running ──► finished ··clock··► released
       │                    │           ├──────► (failed ··clock··► failed)
       └─refused, cancelled─┘           └──────► lost

A job, its key and its charge are one transaction: ``waiting`` (for an owner) and ``queued`` (for a slot) are
charged. Only from there a job may be refused or cancelled with its charge given back, for no row was read. It
is run at most once: ``running`` is on disk before its process starts, and a job found ``running`` by a
service that starts anew is adopted if its result file is whole, and else ``lost``. ``finished`` says that the
result is there; what anybody is shown of it is ``running`` until its clock (`privet.service.clock`) says
``released``, or ``failed``. Every change is ``UPDATE … WHERE state = …``: states never go back.

Nor may anything else tell that it is there before: which of two plans was followed goes into the ledger when
the clock has run (``tell_settled``), and a job is cancelled in the same words whether it has ended or not.

``submit``, ``cancel``, ``decide``, ``jobs`` and ``job`` are what pages and programs call; the runner
(`privet.service.runner`) alone calls ``claim``, ``settle`` and ``tell_settled``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.checks import exact
from privet.errors import BudgetError, LedgerUnavailable
from privet.privacy import Quote, Receipt, Transaction
from privet.schema import Schema
from privet.service import clock, fresh
from privet.service.house import House, one
from privet.service.journal import note
from privet.service.members import CONSOLE
from privet.service.models import model_entry
from privet.service.plans import (
    Priced,
    check_cooldown,
    check_rules,
    chosen,
    needs_approval,
    priced_request,
)
from privet.service.refusals import Conflict, Forbidden, OtherRequest, ServiceError, check_text, no_such
from privet.service.tables import Listed, copy_of, listed
from privet.service.who import Who, require
from privet.service.work import Request, read_request

WAITING, QUEUED, RUNNING, FINISHED = "waiting", "queued", "running", "finished"
RELEASED, REFUSED, FAILED, LOST, CANCELLED = "released", "refused", "failed", "lost", "cancelled"
STATES = (WAITING, QUEUED, RUNNING, RELEASED, REFUSED, FAILED, LOST, CANCELLED)
"""As anybody is shown them."""
ENDED_BY_CLOCK = (RUNNING, RELEASED, FAILED)
"""Which of these `FINISHED` is shown as."""

COLUMNS = (
    "id, number, member, listed, people, request, key, cost, epsilon, seconds, state, told, charge, receipt,"
    " made, started, due, outcome, settled, decided"
)
SHOWN = COLUMNS.replace("outcome", "CASE WHEN due <= ? THEN outcome ELSE '' END")
"""What is read to be shown: how long that takes must not tell of an answer that is there before its time."""
KEY = re.compile(r"[\x21-\x7e]{8,90}")
FAILURE = "The job failed. What it cost stays spent, for rows were read."
LOSS = "The service stopped while the job ran. It is never run again; what it cost stays spent."


@dataclass(frozen=True)
class Job:
    """A job as somebody may see it, now.

    Attributes
    ----------
    id, number : str, int
        ``number`` counts its member's own jobs.
    member, table, people : str
    request : Request
    cost, epsilon : str
        What was charged, for people, and the ε that was named.
    state : str
        One of `STATES`.
    told : str
        Why it was refused, failed or was lost.
    seconds : int
        D: after which the answer comes once it has started.
    made, started, due : int or None
        Times; ``due`` is when the answer is expected, known once it runs.
    charge : int or None
        Number of its charge in the ledger.
    receipt : Receipt or None
    answer : dict or None
        Of questions and scores, once released; a fit has a model of the job's id.
    """

    id: str
    number: int
    member: str
    table: str
    people: str
    request: Request
    key: str
    cost: str
    epsilon: str
    seconds: int
    state: str
    told: str
    charge: int | None
    receipt: Receipt | None
    made: int
    started: int | None
    due: int | None
    answer: Mapping[str, Any] | None
    decided: str

    @property
    def has_model(self) -> bool:
        """Whether there is a model to look at."""
        return self.state == RELEASED and self.request.kind == "fit"

    @property
    def may_cancel(self) -> bool:
        """Whether cancelling does anything."""
        return self.state in (WAITING, QUEUED, RUNNING)


def submit(house: House, who: Who, name: str, data: Any, key: str, max_cost: Any = None) -> Job:
    """Submit a request: charged at once, or refused whole; with a key that was used, the job of that key.

    Parameters
    ----------
    house : House
    who : Who
    name : str
        The table.
    data : dict
        See `privet.service.work`.
    key : str
        Of the caller's own choice, for this request alone: 8 to 90 signs without spaces.
    max_cost : number, optional
        The ε agreed to; a request that names more is refused.
    """
    require(who, "submit")
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise ServiceError("a job needs a key: 8 to 90 signs, no spaces.", "send Idempotency-Key: a UUID.")
    request = read_request(data)
    if (earlier := _with_key(house, who, name, request, key)) is not None:
        return earlier
    found = listed(house, who, name)
    copy_of(house, found)
    priced = priced_request(house, who, found, data)
    if max_cost is not None and priced.request.epsilon > exact(max_cost, "max_cost"):
        raise Forbidden("this costs more than the price agreed to.", "plan again, and agree to the price.")
    with house.write() as at_once:
        if not at_once.execute("SELECT 1 FROM job WHERE member = ? AND key = ?", (who.name, key)):
            _enter(house, at_once, who, found, priced, key)
    entered = _with_key(house, who, name, request, key)
    assert entered is not None
    return entered


def jobs(house: House, who: Who, table: str | None = None, state: str | None = None) -> list[Job]:
    """Own jobs, newest first; an owner sees all."""
    require(who, "read", "submit", "own")
    stored = sorted({state or "", *((FINISHED,) if state in ENDED_BY_CLOCK else ())})
    rows = house.read(
        f"SELECT {SHOWN} FROM job WHERE (member = ? OR 1 = ?) AND (listed = ? OR 1 = ?)"
        f" AND (state IN ({', '.join('?' * len(stored))}) OR 1 = ?)"
        " ORDER BY made DESC, number DESC LIMIT 1000",
        *(
            house.now(),
            who.name,
            int(who.may("own")),
            table or "",
            int(table is None),
            *stored,
            int(state is None),
        ),
    )
    found = [_read(house, row) for row in rows]
    return [job for job in found if table in (None, job.table) and state in (None, job.state)]


def job(house: House, who: Who, id: str) -> Job:
    """One of them; others' are not there."""
    require(who, "read", "submit", "own")
    row = one(house.read(f"SELECT {SHOWN} FROM job WHERE id = ?", house.now(), id))
    found = None if row is None else _read(house, row)
    if found is None or (found.member != who.name and not who.may("own")):
        raise no_such("job", id)
    return found


def cancel(house: House, who: Who, id: str) -> Job:
    """Cancel a job. Before it runs its charge is given back; then charge and slot stay."""
    require(who, "submit", "own")
    found = job(house, who, id)
    with house.write() as at_once:
        # As it is shown: whether the process has ended is not to be learnt from what cancelling says.
        runs = (RUNNING, FINISHED) if found.may_cancel else ()
        if _move(at_once, id, (WAITING, QUEUED), CANCELLED):
            _give_back(at_once, found, "cancelled before a row was read")
        elif not _move(at_once, id, runs, CANCELLED, "Cancelled while it ran: the charge stays."):
            raise Conflict("this job is over.", "nothing is left to cancel.")
        elif found.due is not None:
            at_once.execute("UPDATE job SET due = ? WHERE id = ?", (found.due, id))
        note(house, at_once, who.name, "job cancelled", id)
    return job(house, who, id)


def decide(house: House, who: Who, id: str, approved: bool, remark: str = "") -> Job:
    """Approve a job that waits, or refuse it: its charge is given back then."""
    require(who, "own")
    found = job(house, who, id)
    check_text(remark, "a remark", 2000)
    decided = json.dumps({"by": who.name, "approved": approved, "remark": remark, "time": house.now()})
    with house.write() as at_once:
        told = "" if approved else f"Refused by the owner. {remark}".strip()
        if not _move(at_once, id, (WAITING,), QUEUED if approved else REFUSED, told):
            raise Conflict("this job does not wait.", "it was decided, or cancelled.")
        at_once.execute("UPDATE job SET decided = ? WHERE id = ?", (decided, id))
        if not approved:
            _give_back(at_once, found, "refused by the owner")
        note(house, at_once, who.name, "job approved" if approved else "job refused", id)
    return job(house, who, id)


def approvals(house: House, who: Who) -> list[Job]:
    """Jobs that wait for an owner, oldest first."""
    require(who, "own")
    return jobs(house, who, state=WAITING)[::-1]


def claim(house: House) -> Job | None:
    """The oldest job in the queue, now ``running``: on disk before anything is done for it."""
    with house.write() as at_once:
        row = one(
            at_once.execute(f"SELECT {COLUMNS} FROM job WHERE state = ? ORDER BY made, id LIMIT 1", (QUEUED,))
        )
        if row is None:
            return None
        started = house.now()
        _move(at_once, row[0], (QUEUED,), RUNNING)
        due = started + int(row[9])
        at_once.execute("UPDATE job SET started = ?, due = ? WHERE id = ?", (started, due, row[0]))
    return _read(house, _row(house, row[0]))


def settle(house: House, id: str, outcome: str, settled: str, finished: float, answer: str = "") -> None:
    """Keep what a process left: `RELEASED`, `FAILED` or `LOST`; what was settled; when it is to be shown."""
    with house.write() as at_once:
        row = one(at_once.execute(f"SELECT {COLUMNS} FROM job WHERE id = ?", (id,)))
        if row is None or row[17]:
            return
        due = clock.release(int(row[15] or 0), int(row[9]), finished)
        body = json.dumps({"state": outcome, "answer": json.loads(answer) if answer else None})
        at_once.execute(
            "UPDATE job SET outcome = ?, settled = ?, due = ? WHERE id = ?", (body, settled, due, id)
        )
        _move(at_once, id, (RUNNING,), LOST if outcome == LOST else FINISHED, LOSS if outcome == LOST else "")


def tell_settled(house: House) -> None:
    """Tell the ledger which of two plans was followed, of the jobs whose answers are shown by now.

    The ledger's end and what is left of a cap are seen by analysts: an event at the time when a job ended
    would tell that time, and so of rows. Till then the dearer plan counts.
    """
    due = "state = ? AND settled <> ? AND due <= ?"
    if not house.read(f"SELECT 1 FROM job WHERE {due}", FINISHED, "", house.now()):
        return
    with house.write() as at_once:
        for row in at_once.execute(f"SELECT {COLUMNS} FROM job WHERE {due}", (FINISHED, "", house.now())):
            kept = _receipt(row)
            if kept is not None and kept.number in at_once.state(kept.account).open:
                at_once.settle(kept, row[18])
            at_once.execute("UPDATE job SET settled = ? WHERE id = ?", ("", row[0]))


def stored(house: House, *states: str) -> list[tuple[str, int, int]]:
    """Ids of jobs that are in some states as they are stored, when they started, and when they are due."""
    marks = ", ".join("?" * len(states))
    rows = house.read(f"SELECT id, started, due FROM job WHERE state IN ({marks})", *states)
    return [(id, int(started or 0), int(due or 0)) for id, started, due in rows]


def taken(house: House) -> int:
    """Slots that are taken: a job has its slot till its clock says so, however it ended."""
    rows = house.read(
        "SELECT count(*) FROM job WHERE started IS NOT NULL AND (state = ? OR (due > ? AND state <> ?))",
        *(RUNNING, house.now(), LOST),
    )
    return int(rows[0][0])


def overdue(house: House, id: str) -> bool:
    """Whether a job has run for as long as any may."""
    _, started, needed = house.read("SELECT state, started, seconds FROM job WHERE id = ?", id)[0]
    return house.now() >= started + clock.LATER[-1] * needed


def scored_file(house: House, model: str) -> Path:
    """Where the model lies that a job scores."""
    return model_entry(house, CONSOLE, model).file


def _enter(house: House, at_once: Transaction, who: Who, found: Listed, priced: Priced, key: str) -> None:
    """Charge a job and write it down, or write down its refusal."""
    now = one(at_once.execute("SELECT people, schema FROM listed WHERE name = ?", (found.name,)))
    if now is None:
        raise no_such("table", found.name)  # withdrawn a moment ago
    if now[0] != found.people or Schema.from_dict(json.loads(now[1])) != found.schema:
        raise Conflict(f"another table is called {found.name!r} now.", "plan again.")
    check_cooldown(house, who, found, at_once.execute)
    ((number,),) = at_once.execute("SELECT count(*) FROM job WHERE member = ?", (who.name,))
    request, id, charge, receipt, told = priced.request, fresh.name(), None, "", ""
    quote = _payable(at_once, who, found, priced)
    cost = priced.dearer(quote)
    state = WAITING if needs_approval(who, request, cost, found.rules) else QUEUED
    try:
        check_rules(who, request, cost, found.rules)
        paid = at_once.charge(
            found.people,
            quote.charges,
            analyst=who.analyst,
            learner=request.what,
            key=f"{who.name} {key}",
            schema=found.schema.declared.fingerprint,
            instead=quote.instead,
        )
        charge, receipt = paid.number, json.dumps([paid.account, paid.number, paid.hash, paid.signature])
    except LedgerUnavailable:
        raise
    except (BudgetError, Forbidden) as refusal:
        state, told = REFUSED, f"{refusal.message} {refusal.hint}".strip()
    row = (
        *(id, number + 1, who.name, found.name, found.people, request.text, key, str(cost)),
        *(str(request.epsilon), priced.seconds, state, told, charge, receipt, house.now(), None, None),
        *("", "", ""),
    )
    marks = ", ".join("?" * len(row))
    at_once.execute(f"INSERT INTO job ({COLUMNS}) VALUES ({marks})", row)


def _payable(at_once: Transaction, who: Who, found: Listed, priced: Priced) -> Quote:
    """The first quote that what is left can pay; if none, the first, for the ledger to refuse."""
    try:
        return chosen(priced, at_once.state(found.people), found, who)
    except BudgetError:
        return priced.offered[0]


def _with_key(house: House, who: Who, name: str, request: Request, key: str) -> Job | None:
    """The job of a key that was used for the same request."""
    shown = f"SELECT {SHOWN} FROM job WHERE member = ? AND key = ?"
    row = one(house.read(shown, house.now(), who.name, key))
    if row is None:
        return None
    if (row[3], row[5]) != (name, request.text):
        raise OtherRequest("this key was used for another request.", "take a new key for a new request.")
    return _read(house, row)


def _row(house: House, id: str) -> tuple[Any, ...]:
    (row,) = house.read(f"SELECT {COLUMNS} FROM job WHERE id = ?", id)
    return row


def _read(house: House, row: tuple[Any, ...]) -> Job:
    """A job as it is shown now."""
    (id, number, member, table, people, request, key, cost, epsilon, needed, state, told, charge, _, made) = (
        row[:15]
    )
    started, due, outcome, _, decided = row[15:]
    answer = None
    if state == FINISHED:
        over = bool(outcome) and house.now() >= due
        left: dict[str, Any] = json.loads(outcome) if over else {"state": RUNNING}
        state = left["state"]
        answer = left["answer"] if state == RELEASED else None
        told = FAILURE if state == FAILED else told
    elif state == RUNNING and house.now() >= due:
        due = clock.release(started, needed, house.now() + 1)
    return Job(
        *(id, number, member, table, people, Request(**json.loads(request)), key, cost, epsilon, needed),
        *(state, told, charge, _receipt(row), made, started, due, answer, decided),
    )


def _receipt(row: tuple[Any, ...]) -> Receipt | None:
    return Receipt(*json.loads(row[13])) if row[13] else None


def _move(at_once: Transaction, id: str, before: tuple[str, ...], state: str, told: str = "") -> bool:
    """Move a job on, if it is where it is taken to be."""
    row = one(at_once.execute("SELECT state FROM job WHERE id = ?", (id,)))
    if row is None or row[0] not in before:
        return False
    at_once.execute(
        "UPDATE job SET state = ?, told = ? WHERE id = ? AND state = ?", (state, told, id, row[0])
    )
    return True


def _give_back(at_once: Transaction, found: Job, reason: str) -> None:
    assert found.receipt is not None
    at_once.give_back(found.receipt, reason)
