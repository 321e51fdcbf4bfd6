"""The edges of a service: odd texts, strangers at the door, what goes wrong, tables that are taken back."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

import httpx
import numpy as np
import pytest

from houses import ADA, COUNT, OLGA, QUICK, SCHEMA, finish, make_house, serving
from privet import Budget, MajorityForestClassifier
from privet.errors import PrivetError, QuestionError
from privet.model.steps import steps
from privet.service import clock, jobs, members, people, plans, processes, tables, verifying, work
from privet.service.house import House
from privet.service.refusals import Conflict, NotFound, ServiceError, TooLarge, TooSoon
from privet.service.runner import Runner
from privet.structure import LeafVotes, MultiwayTrees, Views

HALF, ZERO = "\ud800", "a\0b"


@pytest.fixture
def house(tmp_path):
    found = make_house(tmp_path / "house")
    yield found
    found.close()


@pytest.mark.parametrize("text", [HALF, ZERO])
def test_text_that_no_database_keeps_is_refused(house, text):
    contract = SCHEMA.to_dict()
    contract["features"][0]["name"] = HALF
    for ask in (
        lambda: tables.table(house, ADA, text),
        lambda: people.grant(house, OLGA, text, None, "a-key-of-olga"),
        lambda: people.create_people(house, OLGA, "more", None, text),
        lambda: members.add_member(house, OLGA, "eve", "analyst", text),
        lambda: tables.register(house, OLGA, "odd", "patients", "file:patients.csv", contract),
    ):
        with pytest.raises(PrivetError, match=r"kept|half of a character"):
            ask()
    assert [table.name for table in tables.tables(house, OLGA)] == ["visits"]


def test_what_goes_wrong_is_told_by_its_kind_alone_and_the_connection_stays(house, monkeypatch, capfd):
    def wrong(*_):
        raise RuntimeError("a row's value")

    secret, _ = members.make_token(house, ADA, "test")
    with (
        serving(house, run=False) as address,
        httpx.Client(base_url=address, headers={"authorization": f"Bearer {secret}"}) as client,
    ):
        monkeypatch.setattr(tables, "tables", wrong)
        for _ in range(3):
            told = client.get("/api/v1/tables")
            assert told.status_code == 500 and "a row's value" not in told.text
        assert client.get("/api/v1/me").status_code == 200
    assert "a row's value" not in "".join(capfd.readouterr())


def test_strangers_are_let_in_slowly_and_write_nothing(house, monkeypatch):
    site = {"sec-fetch-site": "same-origin", "accept": "text/html"}
    with serving(house, run=False) as address, httpx.Client(base_url=address, headers=site) as stranger:
        link = members.make_link(house, members.CONSOLE, "ada")
        with monkeypatch.context() as patched:
            patched.setattr(house, "write", None)
            told = [stranger.post("/enter", data={"secret": "guessed"}).status_code for _ in range(20)]
            assert told == [401] * 20 and stranger.get("/jobs").status_code == 429
        assert stranger.post("/enter", data={"secret": link}).status_code == 303


def test_models_are_looked_at_a_few_at_a_time(house, monkeypatch):
    monkeypatch.setattr(processes, "PATIENCE", 0.1)
    monkeypatch.setattr(processes, "LOOKS", threading.BoundedSemaphore(1))
    with processes.LOOKS, pytest.raises(TooSoon):
        processes.looked_at(house, processes.MAGIC)


def test_a_table_is_taken_back_once_its_jobs_are_over(house):
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    with pytest.raises(Conflict, match="not over"):
        tables.withdraw(house, OLGA, "visits")
    finish(house, ADA, job.id)
    tables.withdraw(house, OLGA, "visits")
    with pytest.raises(NotFound):
        jobs.submit(house, ADA, "visits", COUNT, "another-key")
    assert not any(house.copies.iterdir()) and jobs.job(house, ADA, job.id).state == jobs.RELEASED
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0.1
    view = tables.register(house, OLGA, "visits", "patients", "file:patients.csv", SCHEMA.to_dict())
    assert view.state == tables.READY


def test_a_table_that_took_the_name_of_another_is_not_asked_at_its_price(house, monkeypatch):
    people.create_people(house, OLGA, "others", Budget(9))
    people.set_cap(house, OLGA, "others", "ada", Budget(1))

    def priced(*asked, really=jobs.priced_request):
        found = really(*asked)
        tables.withdraw(house, OLGA, "visits")
        tables.register(house, OLGA, "visits", "others", "file:patients.csv", SCHEMA.to_dict())
        return found

    monkeypatch.setattr(jobs, "priced_request", priced)
    with pytest.raises(Conflict, match="another table"):
        jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    assert not jobs.jobs(house, ADA) and people.purse(house, ADA, "patients").own.spent["epsilon"] == 0


def test_a_database_is_named_by_all_of_its_path(house, tmp_path):
    (house.data / "house.toml").write_text('[sources]\nduck = "duckdb:///clinic.db"\n')
    again = House(house.data, QUICK)
    with pytest.raises(ServiceError, match="part of its path"):
        tables.place(again, "duck:visits")
    again.close()


def test_a_house_with_given_times_is_not_measured(house, monkeypatch):
    monkeypatch.setattr(clock, "run_measure", None)
    assert clock.measure(house) == (QUICK.start_seconds, QUICK.row_seconds)


def test_an_answer_that_is_there_before_its_time_is_not_even_read(house, monkeypatch):
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    working = Runner(house)
    until = time.monotonic() + 60
    while not jobs.stored(house, jobs.FINISHED) and time.monotonic() < until:
        working.step()
        time.sleep(0.05)
    read = []
    monkeypatch.setattr(house, "read", lambda *a, read_=house.read: read.append(read_(*a)) or read[-1])
    for ask in (
        lambda: jobs.job(house, ADA, job.id),
        lambda: jobs.jobs(house, ADA)[0],
        lambda: jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada"),
    ):
        assert ask().state == jobs.RUNNING and '"answer"' not in json.dumps(read)
    house.clock.ahead += 2 * job.seconds
    assert jobs.job(house, ADA, job.id).answer["answers"]


def test_an_answer_is_no_longer_than_a_page(house):
    params = {"epsilon": "0.1", "columns": ["age", "town", "ill"], "bins": 100}
    asked = {"kind": "ask", "what": "noisy_column_rows", "params": params}
    assert not plans.plan(house, ADA, "visits", asked).refusals
    groups = {"kind": "ask", "what": "noisy_moments"}
    groups["params"] = {"epsilon": "0.1", "column": "age", "by": ["town", "ill"]}
    assert not plans.plan(house, ADA, "visits", groups).refusals
    contract = SCHEMA.to_dict()
    contract["features"][0] |= {"upper": 60_000}
    tables.register(house, OLGA, "wide", "patients", "file:patients.csv", contract)
    with pytest.raises(QuestionError, match="numbers at most"):
        plans.plan(house, ADA, "wide", {**asked, "params": {**params, "bins": 5000}})


@pytest.fixture
def brought(house, tmp_path):
    """Brings a forest of so many trees, as Ada does; its id."""

    def bring(n_trees: int) -> str:
        forest = MajorityForestClassifier(epsilon=1, n_trees=n_trees, max_depth=1, schema=SCHEMA)
        file = tmp_path / f"{n_trees}.privet"
        forest.fit(house.tables / "patients.csv").model_.save(file)
        return verifying.upload(house, ADA, file.read_bytes())

    return bring


def test_the_time_of_a_score_covers_the_model_that_is_scored(house, brought):
    house.settings = replace(house.settings, start_seconds=1e-3, row_seconds=1e-5)

    def seconds(n_trees: int, metric: str) -> int:
        score = {"kind": "score", "what": metric, "params": {"epsilon": "0.1", "model": brought(n_trees)}}
        return plans.plan(house, ADA, "visits", score).seconds

    small, large = seconds(1, "accuracy"), seconds(1000, "accuracy")
    assert large - small >= SCHEMA.max_rows * 1000 * 1e-5
    assert seconds(1000, "auc") > large  # asked twice


def test_a_model_that_is_brought_is_no_larger_than_what_can_be_fitted_here(house, brought, monkeypatch):
    with pytest.raises(TooLarge, match="trees at most"):
        brought(work.MOST_TREES + 1)
    monkeypatch.setattr(verifying, "MOST_STEPS", 100)
    with pytest.raises(TooLarge, match="100 steps a row"):
        brought(40)
    assert not any(house.uploads.iterdir())


def test_steps_of_a_model_are_those_of_its_longest_paths():
    views = Views.of(1)
    chain = MultiwayTrees(
        views,
        np.array([0, 1]),
        np.array([0, -1, -1, 0, -1, -1], np.int32),
        np.array([5, 0, 0, 9, 0, 0], np.uint16),
        np.array([2, 0, 1, 4, 2, 3]),
    )
    assert steps(LeafVotes(chain, np.zeros((4, 2)))) == 1 + 2 + 2 * 3
