"""The runner: cells are kept as they end, a killed run goes on, pages say what they are made of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from privet.cli.app import run as command
from privet.errors import DataError, QuestionError
from privet.studies import catalogue as known
from privet.studies.claims import ahead, at, beyond, gap, least, moves, narrower, near, verdict
from privet.studies.pages import kept_results, page, report
from privet.studies.plots import draw
from privet.studies.results import Point, Result
from privet.studies.runner import run
from privet.studies.study import BARS, BOXES, RANGES, Quick, Study

SLOW = """
import os
import time
from pathlib import Path


def measure(x, repeat):
    with Path(os.environ["MEASURED"]).open("a") as log:
        log.write(f"{x} {repeat}\\n")
    time.sleep(float(os.environ.get("SLEEP", 0)))
    return {"a": {"accuracy": x / 10 + repeat / 100}, "b": {"accuracy": 0.5}}
"""


def toy(measure, **changed) -> Study:
    given = {"grids": [{"x": (1, 2, 3)}], "repeats": 4, "quick": Quick({"x": (1,)}, repeats=2), "x": "x"}
    return Study("toy/fig1", "A toy", measure, **{**given, **changed})


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """A study whose cells take time, in a module of its own, and what it measured."""
    (tmp_path / "slow_cells.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MEASURED", str(tmp_path / "log"))
    import slow_cells  # type: ignore[import-not-found]

    yield toy(slow_cells.measure)
    sys.modules.pop("slow_cells")


def measured(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_a_killed_run_goes_on_where_it_was(slow, tmp_path, monkeypatch):
    program = (
        "from pathlib import Path; from slow_cells import measure; from privet.studies.runner import run; "
        "from privet.studies.study import Study; "
        "run(Study('toy/fig1', 'A toy', measure, [{'x': (1, 2, 3)}], repeats=4, x='x'), Path('out'))"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "SLEEP": "0.3", "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=env)
    cells = tmp_path / "out" / "cells" / "toy" / "fig1.jsonl"
    while not cells.exists() or cells.read_text().count("\n") < 3:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = cells.read_text().count("\n")
    begun = measured(tmp_path)
    assert 3 <= kept < 12 and kept <= len(begun) <= kept + 1
    with cells.open("a") as file:
        file.write('{"cell": {"x": 3, "rep')
    told = []
    result = run(slow, tmp_path / "out", told=told.append)
    again = measured(tmp_path)[len(begun) :]
    assert len(again) == 12 - kept and len(set(begun[:kept] + again)) == 12
    assert (told[0].done, told[-1].done, told[-1].seconds_left) == (kept, 12, 0)
    fresh = run(slow, tmp_path / "elsewhere")
    assert [vars(point) for point in result.points] == [vars(point) for point in fresh.points]
    assert not [line for line in cells.read_text().splitlines() if not line.endswith("}")]


def test_cells_of_other_code_are_measured_anew(slow, tmp_path):
    run(slow, tmp_path / "out")
    cells = tmp_path / "out" / "cells" / "toy" / "fig1.jsonl"
    cells.write_text(cells.read_text().replace('{"code": "', '{"code": "other'))
    run(slow, tmp_path / "out")
    assert len(measured(tmp_path)) == 24


def test_cells_that_follow_from_less_than_all_code_are_kept_while_that_stays(slow, tmp_path):
    for ones, so_far in (("old", 12), ("old", 12), ("new", 16)):
        run(replace(slow, follows=lambda cell, ones=ones: ones if cell["x"] == 1 else "as ever"), tmp_path)
        assert len(measured(tmp_path)) == so_far


def test_workers_come_to_the_same(slow, tmp_path):
    alone, together = run(slow, tmp_path / "1"), run(slow, tmp_path / "2", jobs=2)
    assert alone.points == together.points and len(measured(tmp_path)) == 24


def test_studies_of_the_same_cells_share_them(slow, tmp_path):
    other = slow.showing("toy/fig2", "The same", ways={"b": "second"})
    run(slow, tmp_path)
    shown = run(other, tmp_path)
    assert {point.way for point in shown.points} == {"second"} and len(measured(tmp_path)) == 12


def test_a_cell_that_fails_is_named_and_the_others_are_kept(tmp_path):
    def measure(x, repeat):
        if x == 3:
            raise ZeroDivisionError
        return {"a": {"accuracy": 1.0}}

    with pytest.raises(ZeroDivisionError) as failed:
        run(toy(measure), tmp_path)
    assert '"x": 3' in failed.value.__notes__[0]
    assert (tmp_path / "cells" / "toy" / "fig1.jsonl").read_text().count("accuracy") == 2


def test_fewer_repetitions_and_the_small_form():
    study = toy(print, folds=3)
    assert len(study.cells()) == 36 and len(study.cells(repeats=2)) == 18
    assert {(c["fold"], c["folds"]) for c in study.cells(folds=2)} == {(0, 3), (1, 3)}
    small = study.cells(quick=True)
    assert {(c["x"], c["repeat"], c["fold"], c["folds"]) for c in small} == {
        (1, repeat, fold, 2) for repeat in (0, 1) for fold in (0, 1)
    }
    with pytest.raises(QuestionError, match="1 to 4"):
        study.cells(repeats=5)


def result_of(study: Study, values: dict[tuple, list[float]]) -> Result:
    made = {
        "command": "privet study run toy/fig1", "date": "2000-01-01", "versions": {"privet": "0"},
        "quick": False, "cells": 4, "repeats": 2, "folds": 0, "seeds": "0 to 1",
    }  # fmt: skip
    return Result(study.name, made, [Point("", x, way, each) for (x, way), each in values.items()])


VALUES = {(1, "a"): [0.5, 0.5], (2, "a"): [0.7, 0.7], (1, "b"): [0.6, 0.6], (2, "b"): [0.65, 0.65]}


@pytest.mark.parametrize(
    ("printed", "lower", "outcome"),
    [
        ({1: 0.51, 2: 0.69}, False, "reproduced"),
        ({1: 0.4, 2: 0.6}, False, "better"),
        ({1: 0.4, 2: 0.6}, True, "worse"),
        ({1: 0.6, 2: 0.8}, False, "worse"),
        ({1: 0.4, 2: 0.8}, False, "reproduced in part"),
    ],
)
def test_printed_numbers_decide(printed, lower, outcome):
    paper = {("", x, "a"): number for x, number in printed.items()}
    study = toy(print, paper=paper, lower=lower)
    assert verdict(study, result_of(study, VALUES)).outcome == outcome


def test_statements_are_judged_by_points():
    claims = (
        ahead("b is ahead at first", "b", "a", at(1)),
        ahead("b is ahead everywhere", "b", "a", most=True),
        near("they are near", "b", "a", 0.03),
        moves("a rises", "a", up=True),
        least("a is at least 0.6", "a", 0.6),
        ahead("not measured", "c", "a"),
        beyond(ahead("ours, not counted", "a", "b")),
        gap("b is half a point to three points ahead", "b", "a", (0.005, 0.03)),
        narrower("b is narrower", "b", "a"),
    )
    study = toy(print, claims=claims, strict="b", published="a", promises={"a": "claims ε"})
    found = verdict(study, result_of(study, VALUES))
    held = [None if judged is None else judged[0] for _, judged in found.judged]
    assert held == [True, False, True, True, False, None, False, True, False]
    assert found.outcome == "reproduced in part" and "4 of 7 statements" in found.sentence
    assert "strict is +2.5 points" in found.sentence


def test_statements_say_what_chance_would_do():
    study = toy(print, claims=(ahead("b is ahead", "b", "a"), ahead("too few", "b", "a", at(1))))
    values = {
        (x, way): [0.5 + x / 100 + k / 100 + (way == "b") / 10 for k in range(5)]
        for x in (1, 2)
        for way in "ab"
    }
    (_, all_places), (_, few) = verdict(study, result_of(study, values)).judged
    assert all_places[1].endswith("p = 0.002 over 10 pairs (Wilcoxon)") and "Wilcoxon" not in few[1]


def test_results_are_kept_as_they_are(tmp_path):
    study = toy(print)
    result = result_of(study, VALUES)
    result.save(tmp_path / "a.json")
    assert Result.load(tmp_path / "a.json") == result
    assert set(json.loads((tmp_path / "a.json").read_text())) == {"study", "made", "points"}
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(DataError, match="no result of a study"):
        Result.load(tmp_path / "a.json")


@pytest.mark.parametrize("picture", ["lines", BARS, BOXES, RANGES])
def test_pictures_are_the_same_each_time(tmp_path, picture):
    study = toy(print, picture=picture, paper={("", 1, "a"): 0.4})
    for name in ("a.svg", "b.svg"):
        draw(study, result_of(study, VALUES), tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text() and "as the paper prints it" in text


def test_pages_say_theirs_beside_ours_and_what_keeps_no_promise(tmp_path):
    study = toy(print, paper={("", 1, "a"): 0.4}, promises={"a": "claims ε, keeps none"}, note="Why.")
    without = toy(print).showing("toy/fig2", "Another")
    result_of(study, VALUES).save(tmp_path / "results" / "toy" / "fig1.json")
    [path] = report([study, without], {"toy/fig3": "lost"}, tmp_path / "results", tmp_path / "pages")
    page = path.read_text()
    assert path.name == "toy.md" and "![A toy](../results/toy/fig1.svg)" in page
    assert "| 1 | 50.0 (40.0) | 60.0 |" in page and "a (claims ε, keeps none)" in page
    assert "Verdict: better" in page and "Why." in page and "left out: lost" in page
    assert "no result is kept; run `privet study run toy/fig2`" in page
    assert "2 repetitions (the paper: 4), seeds 0 to 1; 2000-01-01" in page
    with pytest.raises(DataError, match="no result is kept"):
        report([study], {}, tmp_path / "nothing", tmp_path)


DOCS = Path(__file__).parent.parent / "docs" / "papers"


def test_pages_are_those_of_the_kept_results():
    """What stands in the documentation is what `privet study report` writes; pictures lie beside results."""
    studies, without = list(known.catalogue().values()), known.left_out()
    papers = dict.fromkeys(study.paper_name for study in studies)
    written = 0
    for paper in papers:
        items = [study for study in studies if study.paper_name == paper]
        kept = kept_results(items, DOCS / "results")
        if kept:
            written += 1
            text = page(items, kept, without, DOCS / "results", DOCS)
            assert text == (DOCS / f"{paper}.md").read_text(), "run `privet study report`"
        for name, result in kept.items():
            assert (DOCS / "results" / f"{name}.svg").exists()
            assert {"command", "date", "versions", "seeds", "quick"} <= set(result.made)
    assert written >= 5


def test_the_page_says_how_far_the_published_forest_is_off():
    text = (DOCS / "fletcher-islam-2017.md").read_text()
    section = text.split("## fig12\n")[1].split("\n## ")[0]
    (line,) = [each for each in section.splitlines() if each.startswith("| SynthG")]
    assert "(91.7)" in line and "claims ε, keeps none" in text


def test_every_study_is_declared_well():
    studies = known.catalogue()
    assert len(studies) > 60 and all(name == study.name for name, study in studies.items())
    for study in studies.values():
        assert study.source == "" or studies[study.source].measure is study.measure
        cells = study.cells()
        assert cells and study.cells(quick=True)
        places = {study.place(cell) for cell in cells}
        assert {(panel, x) for panel, x, _ in study.paper} <= places
        shared = {json.dumps(cell) for cell in studies[study.cells_of].cells()}
        assert {json.dumps(cell) for cell in cells} <= shared or study.source == ""
    assert "bojarski-2014/fig9" in known.left_out()


def test_what_is_published_is_labelled_wherever_it_is_shown():
    for study in known.catalogue().values():
        if study.published:
            assert "claims" in study.promises[study.published], study.name
    for name in ("fig4", "fig7", "fig9", "fig10", "fig11", "fig12", "fig13", "fig14"):
        assert (
            known.catalogue()[f"fletcher-islam-2017/{name}"].promises["as published"]
            == "claims ε, keeps none"
        )


def test_studies_are_chosen_by_name():
    names = {study.name for study in known.chosen(["jagannathan-2012/fig4", "bojarski-2014/table1"])}
    assert names == {
        "jagannathan-2012/fig4a", "jagannathan-2012/fig4b", "bojarski-2014/table1a", "bojarski-2014/table1b",
        "bojarski-2014/table1-chosen",
    }  # fmt: skip
    assert len(known.chosen(["friedman-schuster-2010"])) == 7
    assert len(known.chosen(["fletcher-islam-2017/fig12"])) == 1
    with pytest.raises(QuestionError, match="did you mean") as refused:
        known.chosen(["friedman-schuster-2010/table9"])
    assert "table1" in refused.value.hint
    with pytest.raises(QuestionError, match="cannot be run"):
        known.chosen(["bojarski-2014/fig9"])


def test_the_command_line_runs_and_reports(tmp_path, capsys, data_dir, monkeypatch):
    out = str(tmp_path / "results")
    assert command(["study", "run", "fletcher-islam-2017/table2", "--out", out, "--quick"]) == 0
    told = capsys.readouterr().out
    assert "reproduced; 21 of 21 printed numbers are met" in told
    assert command(["study", "report", "--results", out, "--out", str(tmp_path / "pages")]) == 0
    assert "fletcher-islam-2017.md" in capsys.readouterr().out
    assert command(["study", "list"]) == 0
    told = capsys.readouterr().out
    assert "jagannathan-2012/fig5" in told and "Left out" in told
    for folder in ("PRIVET_DATA", "PRIVET_MORE_DATA"):
        monkeypatch.delenv(folder)

    def none(*_, **__):
        raise OSError

    monkeypatch.setenv("PRIVET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.retrieve", none)
    assert command(["study", "run", "jagannathan-2012/table2", "--out", out]) == 3
    assert "not run for want of data" in capsys.readouterr().err
    assert not (tmp_path / "results" / "jagannathan-2012" / "table2.json").exists()
