import json

import numpy as np
import pytest

from privet.cli import demo
from privet.cli.main import main
from privet.cli.population import SCHEMA, invent_people, write_people
from privet.data.outside import outside_counts

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def short(monkeypatch):
    """A demo of few people and few fits."""
    monkeypatch.setattr(demo, "PATIENTS", 6_000)
    monkeypatch.setattr(demo, "FRESH", 2_000)
    monkeypatch.setattr(demo, "REPEATS", 2)
    monkeypatch.setattr(demo, "EPSILONS", (0.001, 3.0))


def test_people_fit_their_schema(tmp_path):
    write_people(invent_people(3_000, seed=5), tmp_path / "people.csv")
    counts = outside_counts(tmp_path / "people.csv", SCHEMA)
    assert {kind for found in counts.values() for kind in found} == {"missing"}
    allowed = {feature.name for feature in SCHEMA.features if feature.missing}
    assert {name for name, found in counts.items() if found} == allowed


def test_people_are_the_same_for_a_seed_and_others_for_another():
    first, again, other = invent_people(100, 1), invent_people(100, 1), invent_people(100, 2)
    np.testing.assert_array_equal(first["age"], again["age"])
    assert (first["age"] != other["age"]).any()


def test_demo_tells_its_story(short, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # it may be run again
        assert main(["demo", "--out", "out"]) == 0
        text = capsys.readouterr().out
        for part in ("The owner", "The analyst", "without privacy", "Error: this needs epsilon=0.5", "73%"):
            assert part in text
        assert max(map(len, text.splitlines())) <= 80
    assert (tmp_path / "out" / "demo-accuracy.png").read_bytes().startswith(PNG)
    assert main(["describe", "out/demo-model.privet"]) == 0
    assert main(["budget", "show", "out/demo-patients.csv"]) == 0


def test_demo_numbers_are_in_order(short, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    accuracy = result["accuracy"]
    assert accuracy["majority class"] < accuracy["boosting"] < accuracy["twin"] + 0.01
    assert accuracy["random forest"] < accuracy["boosting"]
    assert result["curve"]["boosting"]["0.001"] < result["curve"]["boosting"]["3"]
    assert "heart_disease" in (tmp_path / "demo-report.html").read_text(encoding="utf-8")


def test_demo_without_matplotlib_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert main(["demo", "--out", str(tmp_path / "out")]) == 1
    assert "pip install 'privet[plot]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
