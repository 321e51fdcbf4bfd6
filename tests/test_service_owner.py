"""``privet owner`` and ``privet verify``: a house kept from the command line, from nothing to a statement."""

from __future__ import annotations

import json
import re

import pytest

from houses import ADA, COUNT, OLGA, QUICK, SCHEMA, finish, write_rows
from privet.cli.main import main
from privet.service import jobs, models, people
from privet.service.house import House

RULES = ("--most-epsilon", "0.5", "--approval-above", "0.2", "--cooldown", "0")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own; what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA.to_dict()))

    def command(*arguments, code=0):
        assert main([*arguments]) == code, arguments
        return capsys.readouterr().out

    return command


def set_up(run, tmp_path):
    """The commands of the documentation."""
    run("owner", "member", "house", "olga", "--role", "owner")
    run("owner", "member", "house", "ada", "--role", "analyst")
    run("owner", "people", "house", "patients", "--epsilon", "3", "--delta", "1e-6", "--finding", "1e-7")
    told = run("owner", "cap", "house", "patients", "ada", "--epsilon", "1", "--delta", "1e-6")
    assert "ada" in told
    write_rows(tmp_path / "house" / "tables" / "patients.csv")
    table = ("--people", "patients", "--address", "file:patients.csv", "--schema", "schema.json")
    assert "500 rows fit" in run("owner", "table", "house", "visits", *table)
    run("owner", "rules", "house", "visits", *RULES)


def test_a_house_is_kept_from_the_command_line(run, tmp_path):
    set_up(run, tmp_path)
    assert re.fullmatch(r"[\w-]{43}\s*", run("owner", "token", "house", "ada"))
    assert run("owner", "link", "house", "ada").startswith("http://127.0.0.1:8000/enter/")
    house = House(tmp_path / "house", QUICK)
    fit = {"kind": "fit", "what": "majority-forest", "params": {"epsilon": "0.3", "n_trees": 2}}
    waits = jobs.submit(house, ADA, "visits", fit, "a-key-of-ada")
    assert waits.id in run("owner", "jobs", "house", "--state", "waiting")
    assert "queued" in run("owner", "approve", "house", waits.id)
    house.clock = type("Clock", (), {"ahead": 0.0, "__call__": lambda self: waits.made + self.ahead})()
    finish(house, ADA, waits.id)
    model = models.model_entry(house, ADA, waits.id).file
    run("owner", "witness", "house", "heads")
    assert "holds" in run("verify", str(model), "--house", "house", "--witness", "heads")
    run("owner", "statement", "house", "patients", "--out", "told.json")
    assert "ada" in run("verify", "told.json")
    refused = jobs.submit(house, ADA, "visits", {**fit, "params": {"epsilon": "0.4"}}, "another-key")
    assert "refused" in run("owner", "approve", "house", refused.id, "--refuse", "--note", "not now")
    jobs.submit(house, ADA, "visits", COUNT, "one-more-key")
    run("owner", "withdraw", "house", "visits", code=1)
    house.close()
    assert "FAILS" not in run("owner", "check", "house")


def test_people_are_asked_in_gaussian_differential_privacy_where_their_owner_says_so(run, tmp_path):
    budget = ("--epsilon", "1", "--delta", "1e-6", "--accounting", "gdp")
    told = run("owner", "people", "house", "staff", *budget)
    assert "Gaussian differential privacy" in told
    run("owner", "grant", "house", "staff", "--epsilon", "2", "--delta", "1e-6")
    house = House(tmp_path / "house", QUICK)
    assert people.purse(house, OLGA, "staff").accounting == "gdp"
    assert house.ledger.state("staff").budget.accounting == "gdp"
    house.close()
    run("owner", "people", "house", "others", "--epsilon", "1", "--accounting", "rdp", code=2)


def test_an_older_copy_in_its_place_is_found_by_a_witness(run, tmp_path):
    set_up(run, tmp_path)
    run("owner", "backup", "house", "older.db")
    house = House(tmp_path / "house", QUICK)
    jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    house.close()
    run("owner", "witness", "house", "heads")
    private = tmp_path / "house" / "private"
    (private / "house.db").write_bytes((tmp_path / "older.db").read_bytes())
    for left in ("house.db-wal", "house.db-shm"):
        (private / left).unlink(missing_ok=True)
    (tmp_path / "none.privet").write_bytes(b"")
    told = run("verify", "none.privet", "--house", "house", "--witness", "heads", code=5)
    assert re.search(r"witness\W+FAILS", told) and re.search(r"chain\W+holds", told)
