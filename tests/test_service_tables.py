"""Tables by their addresses, rules, approvals, time and settings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from houses import ADA, BOB, COUNT, OLGA, QUICK, SCHEMA, finish, make_house, write_rows
from privet import Budget
from privet.errors import BudgetError, PrivetError, QuestionError, SchemaError
from privet.privacy.questions import QUESTIONS
from privet.service import clock, jobs, journal, members, models, people, plans, tables
from privet.service.config import Settings, read_settings
from privet.service.house import House
from privet.service.processes import Measured
from privet.service.refusals import Conflict, Forbidden, NotFound, TooSoon
from privet.service.told import told
from privet.service.work import Request, estimator

CONTRACT = SCHEMA.to_dict()
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    found = make_house(tmp_path_factory.mktemp("house") / "house")
    yield found
    found.close()


def register(house, name, address):
    return tables.register(house, OLGA, name, "patients", address, CONTRACT)


@pytest.mark.parametrize(
    "address",
    [
        "file:../private/house.db",
        "file:/etc/passwd",
        "file:link.csv",
        "file:folder",
        "file:.",
        "file:a/../..",
    ],
)
def test_an_address_leads_nowhere_else(house, address):
    link = house.tables / "link.csv"
    if not link.exists():
        link.symlink_to("/etc/passwd")
        (house.tables / "folder").mkdir()
        (house.tables / "folder" / "rows.csv").symlink_to(house.private / "house.db")
    with pytest.raises(Forbidden, match="out of the folder"):
        register(house, "elsewhere", address)


@pytest.mark.parametrize(
    "address", ["patients.csv", "http://169.254.169.254/", "duckdb:///x?table=t", "file:", 3]
)
def test_an_address_names_a_known_place(house, address):
    with pytest.raises(PrivetError, match="address"):
        register(house, "elsewhere", address)


def test_a_misfit_is_told_to_the_owner_when_it_is_registered_and_to_nobody_else(house):
    path = house.tables / "odd.csv"
    write_rows(path, 50)
    with path.open("a") as file:
        file.write("50,north,perhaps\n")
    view = register(house, "odd", "file:odd.csv")
    assert view.state == tables.MISFIT and "ill" in view.told and "perhaps" not in view.told
    with pytest.raises(NotFound):
        tables.table(house, ADA, "odd")
    write_rows(path, 50)
    assert tables.refresh(house, OLGA, "odd").state == tables.READY
    path.unlink()
    seen = tables.table(house, ADA, "odd")
    assert seen.state == tables.READY and seen.address is None and seen.told is None
    done = finish(house, ADA, jobs.submit(house, ADA, "odd", COUNT, "odd-key-of-ada").id)
    assert done.state == jobs.RELEASED


def test_max_rows_must_be_stated_and_kept(house):
    with pytest.raises(SchemaError, match="max_rows"):
        tables.register(
            house, OLGA, "endless", "patients", "file:patients.csv", {**CONTRACT, "max_rows": None}
        )
    view = tables.register(
        house, OLGA, "narrow", "patients", "file:patients.csv", {**CONTRACT, "max_rows": 100}
    )
    assert view.state == tables.MISFIT and "max_rows" in view.told and "500" not in view.told


def test_a_table_of_a_database_is_copied_by_the_name_of_its_source(tmp_path, postgres):
    duckdb = pytest.importorskip("duckdb")
    house = make_house(tmp_path / "house")
    frame = pd.read_csv(house.tables / "patients.csv")
    with duckdb.connect(tmp_path / "clinic.db") as database:
        database.execute("CREATE TABLE visits AS SELECT * FROM frame")
    postgres.write(frame, "visits")
    sources = {"clinic": f"duckdb:///{tmp_path / 'clinic.db'}", "warehouse": postgres.address()}
    house.settings = replace(house.settings, sources=sources)
    for source in sources:
        view = register(house, source, f"{source}:visits")
        assert view.state == tables.READY, view.told
    (tmp_path / "clinic.db").unlink()
    asked = plans.plan(house, ADA, "clinic", COUNT)
    assert not asked.refusals
    hostile = register(house, "hostile", 'clinic:visits" UNION SELECT * FROM secrets')
    assert hostile.state == tables.MISFIT
    house.close()


def test_rules_are_kept(tmp_path):
    rules = {"learners": ["boosting"], "asks": False, "most_epsilon": "0.2", "approval_above": 0.1}
    house = make_house(tmp_path / "house", rules=rules)
    asked = {
        "nobody may ask": COUNT,
        "count-forest may not": {"kind": "fit", "what": "count-forest", "params": {"epsilon": 0.1}},
        "at most here": {"kind": "fit", "what": "boosting", "params": {"epsilon": 0.3}},
        "δ=0": {"kind": "fit", "what": "boosting", "params": {"epsilon": 0.1, "delta": 1e-9}},
    }
    for number, (why, request) in enumerate(asked.items()):
        assert why in " ".join(plans.plan(house, ADA, "visits", request).refusals)
        refused = jobs.submit(house, ADA, "visits", request, f"refused-{number}")
        assert refused.state == jobs.REFUSED and why in refused.told and refused.charge is None
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0
    fit = {"kind": "fit", "what": "boosting", "params": {"epsilon": 0.15}}
    assert plans.plan(house, ADA, "visits", fit).needs_approval
    first, second = (jobs.submit(house, ADA, "visits", fit, f"waiting-{n}") for n in range(2))
    assert first.state == second.state == jobs.WAITING
    assert [job.id for job in jobs.approvals(house, OLGA)] == [first.id, second.id]
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == pytest.approx(0.3)
    with pytest.raises(Forbidden):
        jobs.decide(house, ADA, first.id, True)
    assert jobs.decide(house, OLGA, first.id, False, "too much").told == "Refused by the owner. too much"
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == pytest.approx(0.15)
    assert jobs.decide(house, OLGA, second.id, True).state == jobs.QUEUED
    for act in (
        lambda: jobs.decide(house, OLGA, second.id, False),
        lambda: jobs.cancel(house, ADA, first.id),
    ):
        with pytest.raises(Conflict):
            act()
    assert jobs.cancel(house, ADA, second.id).state == jobs.CANCELLED
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0
    tables.set_rules(house, OLGA, "visits", {"cooldown": 60})
    house.clock.ahead += 100
    jobs.submit(house, ADA, "visits", COUNT, "first-of-two")
    with pytest.raises(TooSoon) as refused:
        jobs.submit(house, ADA, "visits", COUNT, "second-of-two")
    assert 0 < refused.value.seconds <= 60
    assert jobs.submit(house, ADA, "visits", COUNT, "first-of-two").state == jobs.QUEUED
    assert jobs.submit(house, BOB, "visits", COUNT, "first-of-two").member == "bob"
    house.close()


@pytest.mark.parametrize(
    "request_",
    [
        {"kind": "fit", "what": "count-forest", "params": {"epsilon": 1, "n_trees": 10**5, "max_depth": 20}},
        {"kind": "fit", "what": "boosting", "params": {"epsilon": float("inf")}},
        {"kind": "fit", "what": "count-forest", "params": {"epsilon": "inf"}},
        {"kind": "fit", "what": "boosting", "params": {"epsilon": -1}},
        {"kind": "fit", "what": "boosting", "params": {"epsilon": 1, "account": "x"}},
        {"kind": "fit", "what": "boosting", "params": {"epsilon": 1, "schema": "from-data"}},
        {"kind": "ask", "what": "noisy_leaf_rows", "params": {"epsilon": 1}},
        {"kind": "ask", "what": "noisy_count", "params": {"epsilon": 1, "where": "("}},
        {"kind": "ask", "what": "__class__", "params": {}},
        {"kind": "score", "what": "accuracy", "params": {"epsilon": 1, "model": "../x"}},
        {"kind": "run", "what": "boosting", "params": {}},
        ["fit"],
    ],
)
def test_a_hostile_request_is_refused_before_it_costs(house, request_):
    before = house.ledger.head().number
    with pytest.raises(PrivetError):
        jobs.submit(house, ADA, "visits", request_, "a-hostile-key")
    assert house.ledger.head().number == before


def test_a_price_agreed_to_is_kept(house):
    with pytest.raises(Forbidden, match="price agreed to"):
        jobs.submit(house, ADA, "visits", COUNT, "agreed-key", max_cost=0.01)


def test_time_follows_from_the_plan_and_max_rows_alone(house):
    fit = {"kind": "fit", "what": "boosting", "params": {"epsilon": 0.1}}
    times = {plans.plan(house, ADA, "visits", fit).seconds for _ in range(3)}
    assert len(times) == 1
    assert [clock.rounded(value) for value in (0.1, 1, 1.1, 4, 8.5, 21, 90)] == [1, 1, 2, 5, 10, 30, 100]
    assert [clock.release(100, 10, at) for at in (100, 110, 111, 120, 130, 141)] == [
        110,
        110,
        120,
        120,
        140,
        140,
    ]


def test_questions_that_are_more_work_for_a_row_have_more_time():
    tree = estimator(Request("fit", "greedy-tree", {"epsilon": 1}), SCHEMA).plan(SCHEMA)
    chosen = sum(charge.kind is QUESTIONS["choose_split"] for charge in tree.questions)
    work = len(tree.questions) + (clock.SLOW["choose_split"] - 1) * chosen
    width = 4 * (len(SCHEMA.features) + 1)
    assert chosen and clock.size(tree, SCHEMA)[0] == work * (width + tree.facts["depth at most"] + 1)
    assert clock.SLOW.keys() <= QUESTIONS.keys()


def test_what_a_process_needs_to_start_is_not_taken_for_the_time_of_rows(tmp_path, monkeypatch):
    told = iter([Measured(30, 20, 9), Measured(4, 1, 9), Measured(2, 1 + 9e-9 * clock.MANY, 9)])
    monkeypatch.setattr(clock, "run_measure", lambda house, n_rows: next(told))
    house = House(tmp_path / "house")
    assert clock.measure(house) == pytest.approx((4, 1e-9))
    house.close()


def test_this_machine_is_measured_once(tmp_path):
    house = House(tmp_path / "house")
    start, row = clock.measure(house)
    assert 0.1 < start < 300 and 0 < row < 1e-5 and clock.measure(house) == (start, row)
    house.close()


def test_settings_are_read_from_the_house(tmp_path):
    (tmp_path / "house.toml").write_text('slots = 3\n[sources]\nclinic = "duckdb:///x.db"\n')
    found = read_settings(tmp_path, QUICK)
    assert found.slots == 3 and found.sources == {"clinic": "duckdb:///x.db"}
    assert read_settings(tmp_path / "nowhere") == Settings()
    for wrong in ("slots = 0", "slots = true", "sloths = 3", "slots", "[openid]\nissuer = 3"):
        (tmp_path / "house.toml").write_text(wrong)
        with pytest.raises(QuestionError):
            read_settings(tmp_path)


def test_the_audit_log_holds_and_an_edited_one_does_not(tmp_path):
    house = make_house(tmp_path / "house")
    members.close_member(house, OLGA, "bob")
    told = [line.what for line in journal.notes(house, OLGA)]
    assert told[0] == "member closed" and "table registered" in told and "cap set" in told
    assert journal.check_notes(house) == len(told)
    with house.write() as at_once:
        at_once.execute("UPDATE noted SET who = 'nobody' WHERE number = 3")
    with pytest.raises(BudgetError, match="line 3"):
        journal.check_notes(house)
    house.close()


def test_a_house_in_postgresql_is_kept_as_one_in_a_file(tmp_path, postgres):
    place = replace(QUICK, ledger=postgres.empty())
    house, other = make_house(tmp_path / "house", place), House(tmp_path / "house", place)
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    assert jobs.submit(other, ADA, "visits", COUNT, "a-key-of-ada").id == job.id
    assert members.tokens(other, OLGA) == [] and jobs.jobs(other, ADA)
    assert finish(house, ADA, job.id).state == jobs.RELEASED
    house.ledger.verify()
    house.close()
    other.close()


def test_an_account_in_gdp_is_planned_and_charged_in_it(tmp_path):
    house = make_house(tmp_path / "house")
    people.create_people(house, OLGA, "staff", Budget(1, "1e-6", accounting="gdp"))
    people.set_cap(house, OLGA, "staff", "ada", Budget("0.9", "1e-6", accounting="gdp"))
    rules = {"most_delta": "1e-6"}
    tables.register(house, OLGA, "shifts", "staff", "file:patients.csv", CONTRACT, rules)
    fit = {"kind": "fit", "what": "count-forest", "params": {"epsilon": "0.5", "delta": "1e-6", "n_trees": 3}}
    planned = plans.plan(house, ADA, "shifts", fit)
    assert not planned.refusals
    job = jobs.submit(house, ADA, "shifts", fit, "a-fit-in-gdp")
    spent = people.purse(house, ADA, "staff").own.spent["rho"]
    assert spent == pytest.approx(planned.rho) and job.state == jobs.QUEUED
    assert finish(house, ADA, job.id).state == jobs.RELEASED
    house.close()


def test_moments_are_told_with_their_ranges(house):
    params = {"epsilon": "0.05", "column": "age", "by": "town"}
    asked = {"kind": "ask", "what": "noisy_moments", "params": params}
    done = finish(house, ADA, jobs.submit(house, ADA, "visits", asked, "moments-of-ada").id)
    assert done.state == jobs.RELEASED
    north = done.answer["answers"][0]
    assert (
        north["town"] == "north" and north["mean"]["low"] <= north["mean"]["value"] <= north["mean"]["high"]
    )


def test_what_a_schema_leaves_open_is_found_by_jobs_at_the_price_that_was_planned(tmp_path):
    house = make_house(tmp_path / "house")
    contract = {
        "features": [
            {"name": "age", "type": "continuous", "integer": True},
            {"name": "town", "type": "categorical"},
        ],
        "label": CONTRACT["label"],
        "max_rows": 2000,
    }
    people.create_people(house, OLGA, "staff", Budget(3, "1e-4", "1e-5"))
    people.set_cap(house, OLGA, "staff", "ada", Budget(3, "1e-4", "1e-5"))
    view = tables.register(
        house, OLGA, "shifts", "staff", "file:patients.csv", contract, {"most_delta": "1e-4"}
    )
    assert view.state == tables.READY and len(tables.sample(house, ADA, "shifts", 30)) == 30
    pure = {"kind": "fit", "what": "count-forest", "params": {"epsilon": "2", "n_trees": 3}}
    with pytest.raises(PrivetError):
        jobs.submit(house, ADA, "shifts", pure, "lists-need-a-delta")
    assert people.purse(house, ADA, "staff").own.spent["rho"] == 0
    fit = {**pure, "params": {**pure["params"], "delta": "1e-5"}}
    planned = plans.plan(house, ADA, "shifts", fit)
    assert not planned.refusals and any("many people share" in each.question for each in planned.asked)
    job = finish(house, ADA, jobs.submit(house, ADA, "shifts", fit, "an-open-fit").id)
    assert job.state == jobs.RELEASED and job.cost == planned.cost
    found = models.model_of(house, ADA, job.id).schema
    assert not found.open_features and set(found.features[1].names) == {"north", "south", "west"}
    score = {"kind": "score", "what": "accuracy", "params": {"epsilon": "0.3", "model": job.id}}
    scored = finish(house, ADA, jobs.submit(house, ADA, "shifts", score, "a-score-of-it").id)
    assert scored.state == jobs.RELEASED and 0 <= scored.answer["value"] <= 1
    other = {**score, "params": {"epsilon": "0.3", "model": job.id}}
    with pytest.raises(SchemaError, match="another schema"):
        jobs.submit(house, ADA, "visits", other, "of-other-columns")
    house.close()


def test_what_is_not_finite_is_told_as_nothing():
    assert told({"high": float("inf"), "low": float("nan"), "value": 1.5}) == {
        "high": None,
        "low": None,
        "value": 1.5,
    }


def test_a_sample_follows_from_the_schema_alone(house, tmp_path):
    other = make_house(tmp_path / "house")
    write_rows(other.tables / "patients.csv", 40, seed=9)
    tables.refresh(other, OLGA, "visits")
    rows = tables.sample(other, ADA, "visits", 200)
    assert rows == tables.sample(house, BOB, "visits", 200)
    assert {row["town"] for row in rows} == {"north", "south", "west", None}
    assert all(row["age"] is None or 0 <= row["age"] <= 120 for row in rows)
    other.close()


def test_the_comparison_names_tests_that_are_there():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "compared.md").read_text()))
    there = set(re.findall(r"def (test_\w+)", "".join(f.read_text() for f in (ROOT / "tests").glob("*.py"))))
    assert len(named) > 10 and named <= there
