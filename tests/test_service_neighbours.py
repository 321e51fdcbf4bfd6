"""Two neighbouring tables: the same states, times, messages and sizes; only what has noise may differ."""

from __future__ import annotations

import json
import re
import time

import httpx
import pytest

from houses import ADA, COUNT, OLGA, QUICK, SCHEMA, serving, write_rows
from privet import Budget
from privet.service import clock, jobs, members, people, runner, tables
from privet.service.house import House
from privet.service.runner import Runner

FIT = {
    "kind": "fit",
    "what": "majority-forest",
    "params": {"epsilon": "0.1", "n_trees": 2, "max_depth": 2, "random_state": 1},
}
REQUESTS = [
    COUNT,
    FIT,
    {**COUNT, "params": {"epsilon": "0.5"}},
    {"kind": "ask", "what": "none", "params": {}},
]
EPOCH = 1_800_000_000


class Still:
    """A time that tests move."""

    def __init__(self) -> None:
        self.time = EPOCH

    def __call__(self) -> float:
        return self.time


def transcript(folder, slower, extra):
    """All that an analyst is told, request by request, with names and noise masked."""
    still = Still()
    house = House(folder, QUICK, still)
    for who in (OLGA, ADA):
        members.add_member(house, members.CONSOLE, who.name, who.role)
    people.create_people(house, OLGA, "patients", Budget(1))
    people.set_cap(house, OLGA, "patients", "ada", Budget("0.4"))
    write_rows(house.tables / "patients.csv", 300)
    if extra:
        with (house.tables / "patients.csv").open("a") as file:
            file.write(extra)
    tables.register(house, OLGA, "visits", "patients", "file:patients.csv", SCHEMA.to_dict())
    secret, _ = members.make_token(house, ADA, "notebook")
    working, told = Runner(house), []
    headers = {"authorization": f"Bearer {secret}"}
    with (
        serving(house, run=False) as address,
        httpx.Client(base_url=address, headers=headers, timeout=60) as client,
    ):

        def ask(method, path, **more):
            answer = client.request(method, f"/api/v1{path}", **more)
            text = masked(answer.text)
            loose = ("date", "location", *(("content-length",) if '"answer":0' in text else ()))
            kept = {k: masked(v) for k, v in answer.headers.items() if k not in loose}
            told.append((method, masked(path), answer.status_code, kept, text))
            return answer.json() if "json" in answer.headers["content-type"] else {}

        for path in ("/tables", "/tables/visits", "/tables/visits/sample", "/tables/nothing"):
            ask("GET", path)
        for number, request in enumerate(REQUESTS):
            ask("POST", "/tables/visits/plans", json=request)
            headers = {"idempotency-key": f"key-number-{number}"}
            job = ask("POST", "/tables/visits/jobs", json=request, headers=headers).get("id", "none")
            work(house, working, still, job, slower)
            for _ in range(4):
                ask("GET", f"/jobs/{job}")
                ask("GET", f"/models/{job}/file")
                ask("GET", "/jobs")
                still.time += QUICK_SECONDS // 3
            still.time += 2 * QUICK_SECONDS
            for what in ("", "/card", "/file", "/receipt"):
                ask("GET", f"/models/{job}{what}")
        for number, spoil in enumerate((cancel, damage)):
            headers = {"idempotency-key": f"key-that-ends-badly-{number}"}
            job = ask("POST", "/tables/visits/jobs", json=COUNT, headers=headers)["id"]
            spoil(house, working, still, ask, job, slower)
            for _ in range(4):
                ask("GET", f"/jobs/{job}")
                ask("GET", "/jobs")
                still.time += QUICK_SECONDS // 3
            still.time += 2 * QUICK_SECONDS
        ask("GET", "/people/patients")
        ask("GET", "/people/patients/ledger")
    return told


QUICK_SECONDS = clock.rounded(clock.SAFETY * QUICK.start_seconds)


def cancel(house, working, still, ask, job, slower):
    """Cancel a job while it runs; where rows are quick it has ended by then, which is not to be seen."""
    working.step()
    if not slower:
        work(house, working, still, job, 0)
    ask("DELETE", f"/jobs/{job}")
    working.step()  # stops it, if there is something to stop
    ask("DELETE", f"/jobs/{job}")


def damage(house, working, still, ask, job, slower):
    """Let a job fail: sooner where rows are quick."""
    (copy,) = house.copies.iterdir()
    copy.write_bytes(b"no table")
    work(house, working, still, job, slower)


def work(house, working, still, job, slower):
    """Run a job; one that is slower ends later by the time of the house."""
    until = time.monotonic() + 60
    begun = still.time
    while jobs.stored(house, jobs.QUEUED, jobs.RUNNING) and time.monotonic() < until:
        working.step()
        if jobs.stored(house, jobs.RUNNING):
            still.time = begun + slower
        time.sleep(0.02)
    still.time = begun


def masked(text):
    """Without what is fresh in every house, and without the values that have noise."""
    text = re.sub(r"[0-9a-f]{16,}", lambda found: f"<{len(found[0])}>", text)
    text = re.sub(r'"answer":-?\d+', '"answer":0', text)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "<time>", text)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return transcript(tmp_path_factory.mktemp("one") / "house", 0, "")


@pytest.mark.parametrize("extra", ["119,moon,yes\n"])
def test_neighbouring_tables_give_the_same_transcript(one, extra, tmp_path):
    other = transcript(tmp_path / "house", 40, extra)
    for here, there in zip(one, other, strict=True):
        if here[1].endswith("/file") and here[2] == 200:
            here, there = here[:4], there[:4]
        assert here[-1] == there[-1] and here == there


def test_a_clock_that_follows_the_work_is_seen(one, tmp_path, monkeypatch):
    monkeypatch.setattr(runner.jobs.clock, "release", lambda started, needed, finished: int(finished))
    other = transcript(tmp_path / "house", 40, "")
    assert json.dumps(one) != json.dumps(other)
