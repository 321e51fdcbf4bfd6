"""The field: other people's learners learn, what is not here is named, ranks are what Demšar says."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon

from privet import Categorical, Continuous, Label, Schema
from privet.cli.app import run as command
from privet.errors import DataError, QuestionError
from privet.studies import field
from privet.studies.catalogue import catalogue, chosen
from privet.studies.claims import verdict
from privet.studies.field_rivals import Task, asked, descent, installed, lumberjack, privatree
from privet.studies.pages import report
from privet.studies.plots import draw
from privet.studies.ranking import Block, blocks, front, holm, view
from privet.studies.runner import run
from privet.studies.study import FAILED, Quick, Study

SCHEMA = Schema(
    [Continuous("x", 0, 1, missing=False), Categorical("kind", ["a", "b", "c"]), Continuous("z", 0, 1)],
    Label("y", ["no", "maybe", "yes"]),
)


def task(n_labels: int = 2, rows: int = 1500, seed: int = 0) -> Task:
    """Codes of three features, of which two tell the label."""
    random = np.random.default_rng(seed)
    tops = np.array([field._top(feature) for feature in SCHEMA.features])
    codes = np.column_stack([random.integers(0, top + 1, rows) for top in tops])
    score = codes[:, 0] / tops[0] + (codes[:, 1] == 1) + random.random(rows) / 4
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_labels) / n_labels), score)
    named = np.array([False, True, False])
    half = rows // 2
    return Task(codes, labels, tops, named, n_labels, np.arange(half), np.arange(half, rows), seed)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", list(field.AGAIN))
def test_what_is_written_down_again_learns_and_less_so_for_little(name, n_labels):
    given = task(n_labels)
    truth = given.labels[given.test]
    shares = field.AGAIN[name](given, 50.0)
    assert shares.shape == (len(truth), n_labels) and np.allclose(shares.sum(axis=1), 1)
    assert field.judged(truth, shares)["AUC"] > 0.8
    assert field.judged(truth, field.AGAIN[name](given, 1e-4))["AUC"] < 0.75


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_descent_learns_and_its_noise_follows_from_the_budget(n_labels, delta):
    given = task(n_labels)
    inputs = descent.one_hot(given.codes.T, SCHEMA, 8)
    assert np.allclose((inputs**2).sum(axis=1), 1)
    scores = [
        field.judged(given.labels[given.test], descent.descended(inputs, given, e, delta, 16, 16.0, 1.0))[
            "AUC"
        ]
        for e in (50.0, 1e-4)
    ]
    assert scores[0] > 0.85 > scores[1]
    # Rows alone, no signal: weights after one step are noise of the promised scale.
    still = replace(given, labels=given.labels * 0)
    far = [
        descent.descended(inputs, replace(still, seed=seed), 1e-3, 0.0, 1, 1.0, 1.0)[:, 0].std()
        for seed in range(3)
    ]
    assert min(far) > 0.05


def test_privatree_spends_its_budget_and_as_published_spends_it_once_a_feature():
    for features in (1, 7):
        budgets = privatree._budgets(2.0, 1000, 2, features)
        spent = budgets.leaf + features * (budgets.quantiles + privatree.DEPTH * budgets.histogram)
        assert spent == pytest.approx(2.0)
    assert field.PROMISES["PrivaTree as published"] == "claims ε, keeps none"
    cuts = privatree._quantiles(np.ones(1000), 1e6, np.random.default_rng(0))
    assert len(cuts) == privatree.BINS - 1 and np.allclose(np.diff(cuts), 100, atol=3)


def test_a_row_takes_part_in_as_many_searches_as_the_height_has_digits():
    """Each search halves what is left of a path, and what is above a heavy node is heavy."""
    given = task()
    random = np.random.default_rng(0)
    nodes = lumberjack._grown(given.codes, given.tops, given.categorical, random)
    for depth in range(lumberjack.HEIGHT):
        parents = {(a, b) for a, b in zip(nodes[depth + 1], nodes[depth], strict=True)}
        assert len(parents) == nodes[depth + 1].max() + 1  # a tree: every node has one parent
    kept = lumberjack._heavy(nodes, len(given.codes), 1e9, random)
    for depth in (1, 4, lumberjack.HEIGHT):
        counts = np.bincount(nodes[depth])[nodes[depth]]
        assert (counts[kept >= depth] > 1).all() and (kept[counts > 3] >= depth).all()


def small(monkeypatch, rivals=()) -> Study:
    monkeypatch.setattr(asked, "missing", lambda: dict.fromkeys(installed.LEARNERS, "no environment"))
    field._without.cache_clear()
    return replace(field.RANKS, grids=[{"rows": (300,), "data": ("house_votes", "made-up"), "epsilon": (1.0,),
                                        "learner": ("boosting", "PrivaTree", "DP-EBM")}],
                   without=lambda: field._without(("house_votes", "made-up")))  # fmt: skip


def test_what_is_not_here_is_named_and_the_rest_runs(monkeypatch, tmp_path, data_dir):
    study = small(monkeypatch)
    result = run(replace(study, quick=Quick()), tmp_path, quick=True)
    assert {point.way for point in result.points} == {"boosting", "PrivaTree"}
    assert result.made["not run"]["learner"]["DP-EBM"] == "no environment"
    assert "made-up" in result.made["not run"]["data"] and result.made["fixed"]["rows"] == 300
    result.save(tmp_path / "field" / "ranks.json")
    (path,) = report([study], {}, tmp_path, tmp_path / "pages")
    page = path.read_text()
    assert "Not run here: DP-EBM: `no environment`" in page and "made-up" in page
    with pytest.raises(DataError, match="no environment"):
        run(study.given({"learner": ["DP-EBM"]}), tmp_path, quick=True)
    field._without.cache_clear()


@pytest.fixture
def ended():
    """No process of a rival stays behind."""
    yield
    for python in list(asked.RUNNING):
        asked.end(python)


def test_rivals_are_looked_for_where_they_are_said_to_be(monkeypatch, tmp_path, ended):
    monkeypatch.chdir(tmp_path)
    for variable in asked.PLACES:
        monkeypatch.delenv(variable, raising=False)
    told = asked.missing()
    assert set(told) == set(installed.LEARNERS) and "make rivals" in told["dp-xgboost"]
    monkeypatch.setenv(asked.RIVALS, sys.executable)
    assert "ModuleNotFoundError" in asked.missing()["dpl forest"]
    with pytest.raises(asked.Refused, match="ModuleNotFoundError"):
        asked.ask("dpl forest", task(), 1.0)


def test_a_rival_that_ends_is_told_and_asked_anew(monkeypatch, tmp_path, ended):
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv(asked.RIVALS, str(script))
    for _ in range(2):
        with pytest.raises(asked.Refused, match="ended with code 3"):
            asked.ask("dpl forest", task(), 1.0)


def toy_scores(data, epsilon, learner, repeat):
    """A is first, B second, C cannot learn from the last table."""
    if learner == "C" and data == "t7":
        return {learner: {f"{FAILED}ValueError: too wide": 1.0}}
    far = {"A": 0.9, "B": 0.8, "C": 0.7}[learner] - int(data[1:]) / 100
    return {learner: {"AUC": far - (learner == "A" and data == "t3") * 0.15, "seconds": 1.0 + len(learner)}}


TOY = Study(
    "field/toy", "A toy", toy_scores,
    [{"data": tuple(f"t{i}" for i in range(8)), "epsilon": (1.0, 2.0), "learner": ("A", "B", "C")}],
    panel="ε = {epsilon:g}", score="AUC", view=view(("A",), ("B",)),
)  # fmt: skip


def test_ranks_tests_and_losses_are_told(tmp_path):
    result = run(TOY, tmp_path)
    assert result.made["failed"] == {"C": {"ValueError: too wide": ["t7"]}}
    one, _ = blocks(TOY, result)
    assert one.mean_ranks == {"A": 9 / 8, "B": 2 - 1 / 8, "C": 3.0}
    assert np.isnan(one.of("C")[7]) and one.ranks[7].tolist() == [1, 2, 3]
    result.save(tmp_path / "field" / "toy.json")
    (path,) = report([TOY], {}, tmp_path, tmp_path / "pages")
    page = path.read_text()
    assert "| A | **1.12** | **1.12** | 1.12 |" in page
    assert "t3 (B, unfair, +0.050)" in page and "1 of 8 tables" in page
    assert "C failed on t7: `ValueError: too wide`" in page
    gaps = np.array([0.1] * 3 + [-0.05] + [0.1] * 4)
    assert f"{2 * wilcoxon(gaps).pvalue:.1g}" in page or f"{wilcoxon(gaps).pvalue:.1g}" in page
    told = verdict(TOY, result)
    assert told.outcome == "A has the first mean rank at 2 of 2 ε"
    assert "without *B*, which know what nobody may: A has the first mean rank at 2 of 2 ε" in told.sentence
    assert Path(tmp_path / "field" / "toy.svg").read_text().startswith("<svg")


def test_costs_and_gains_of_the_same_cells_are_set_against_one_another(tmp_path):
    run(TOY, tmp_path)
    study = TOY.showing("field/toy-front", "Front", scores=("seconds", "AUC"), view=front("seconds", "AUC"))
    result = run(study, tmp_path)
    assert {(point.x, point.way) for point in result.points} == {
        (learner, score) for learner in "ABC" for score in ("seconds", "AUC")
    }
    draw(study, result, tmp_path / "front.svg")
    assert verdict(study, result).sentence == "none is both faster and better than A."


def test_corrections_and_critical_differences_are_those_of_the_books():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    # Demšar 2006: four classifiers on fourteen tables differ from 1.25 on.
    block = Block("", [str(i) for i in range(14)], list("abcd"), np.zeros((14, 4)))
    assert block.critical == pytest.approx(1.25, abs=0.005)
    ties = Block("", ["t"], ["a", "b", "c"], np.array([[0.5, 0.5, np.nan]]))
    assert ties.mean_ranks == {"a": 1.5, "b": 1.5, "c": 3.0} and ties.friedman is None


def test_parts_of_a_grid_can_be_set(tmp_path, capsys):
    bigger = field.RANKS.given({"rows": ["20000"], "epsilon": ["1", "4"], "data": ["adult"]})
    cells = bigger.cells()
    assert {cell["rows"] for cell in cells} == {20_000} and {cell["epsilon"] for cell in cells} == {1.0, 4.0}
    assert {cell["data"] for cell in bigger.cells(quick=True)} == {"adult"}
    with pytest.raises(QuestionError, match="no 'colour' to set"):
        field.RANKS.given({"colour": ["red"]})
    with pytest.raises(QuestionError, match="is a number"):
        field.RANKS.given({"rows": ["many"]})
    assert command(["study", "run", "field/ranks", "--set", "rows"]) != 0
    assert "part of the grid" in capsys.readouterr().err


def test_the_field_has_all_learners_and_a_size_that_can_be_run():
    assert [study.name for study in chosen(["field"])] == [
        name for name in catalogue() if name.startswith("field/")
    ]
    assert {"boosting", "boosting, δ", "DP-EBM 0.1", "dp-xgboost", "Lumberjack", "descent, δ"} <= set(
        field.ALL
    )
    assert len(set(field.TWO_LABELS) | set(field.SEVERAL_LABELS)) == 30
    assert max(len(study.cells(quick=True)) for study in chosen(["field"])) < 100
