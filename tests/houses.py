"""A house with an invented table, an owner and two analysts, and a clock that tests move."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import uvicorn

from privet import Budget, Categorical, Continuous, Label, Schema
from privet.service import jobs, members, people, tables
from privet.service.config import Settings
from privet.service.house import House
from privet.service.runner import Runner
from privet.service.serve import listen
from privet.service.web import make_app
from privet.service.who import ANALYST, OWNER, ROLES, Who

SCHEMA = Schema(
    [
        Continuous("age", 0, 120, integer=True),
        Categorical("town", ["north", "south", "west"]),
    ],
    Label("ill", ["no", "yes"]),
    max_rows=2000,
)
OLGA = Who("olga", OWNER, ROLES[OWNER])
ADA = Who("ada", ANALYST, ROLES[ANALYST])
BOB = Who("bob", ANALYST, ROLES[ANALYST])
QUICK = Settings(start_seconds=60, row_seconds=1e-12)
COUNT = {"kind": "ask", "what": "noisy_count", "params": {"epsilon": "0.1", "where": "age > 60"}}


class Clock:
    """The time, and what a test adds to it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def write_rows(path: Path, n: int = 500, seed: int = 5, **more: object) -> None:
    """Some rows that fit the schema."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(0, 121, n),
        "town": rng.choice(["north", "south", "west"], n),
        "ill": rng.choice(["no", "yes"], n),
    }
    pa_csv.write_csv(pa.table({**columns, **more}), path)


def make_house(folder: Path, settings: Settings = QUICK, rules=None) -> House:
    """People with ε = 1, of whom Ada may have 0.6 and Bob 0.6; a table of them."""
    house = House(folder, settings, Clock())
    for who in (OLGA, ADA, BOB):
        members.add_member(house, members.CONSOLE, who.name, who.role)
    people.create_people(house, OLGA, "patients", Budget(1))
    for name in ("ada", "bob"):
        people.set_cap(house, OLGA, "patients", name, Budget("0.6"))
    write_rows(house.tables / "patients.csv")
    tables.register(house, OLGA, "visits", "patients", "file:patients.csv", SCHEMA.to_dict(), rules)
    return house


def finish(house: House, who: Who, id: str, patience: float = 60.0) -> jobs.Job:
    """Run what is in the queue till a job is over; when it has run, its time is let pass."""
    runner = Runner(house)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        runner.step()
        found = jobs.job(house, who, id)
        if found.state not in (jobs.QUEUED, jobs.RUNNING):
            return found
        # Only now: a job that still runs would be over its time.
        if id in [stored for stored, _, _ in jobs.stored(house, jobs.FINISHED)]:
            house.clock.ahead += 2 * found.seconds
        time.sleep(0.05)
    raise AssertionError(f"job {id} is not over")


@contextmanager
def serving(house: House, run: bool = True) -> Iterator[str]:
    """Serve a house on loopback; its address."""
    taken = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(house, run), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        house.close()


@contextmanager
def hurried(house: House) -> Iterator[None]:
    """Let time pass for jobs that have run, while something waits for them."""
    over = threading.Event()

    def hurry() -> None:
        while not over.wait(0.1):
            for _, started, due in jobs.stored(house, jobs.FINISHED):
                if due > house.now():
                    house.clock.ahead += due - started

    thread = threading.Thread(target=hurry)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
