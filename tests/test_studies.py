"""Studies run, and what they call as published is what the paper wrote."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from laws import follows
from privet.errors import DataError
from privet.studies import __main__ as command
from privet.studies import datasets, voting
from privet.studies.fletcher_islam_2017 import published, run, strict


def test_the_published_mechanism_has_the_law_of_the_paper():
    """P(most frequent) ∝ exp(ε/(2·e^(−jε))): with a gap of one at ε = 1 the odds are exp(e/2)."""
    counts = np.tile([3, 2], (60_000, 1))
    odds = np.exp(np.e / 2)
    chosen = published(counts, np.random.default_rng(0))
    assert follows(chosen, {0: odds / (1 + odds), 1: 1 / (1 + odds)})
    sure = published(np.tile([40, 0], (10_000, 1)), np.random.default_rng(0))
    assert (sure == 0).all()
    assert (strict(counts, np.random.default_rng(0)) == 1).any()


def test_a_study_gives_a_row_a_table(monkeypatch):
    monkeypatch.setattr(datasets, "ROWS", 3000)
    (row,) = run(["SynthA"], folds=2, repeats=1)
    assert row["depth"] == 5 and row["AUC, paper"] == 0.877
    assert 0.5 < row["AUC, strict"] < 1 and 0 < row["empty leaves"] < 1


def test_the_command_prints_within_eighty_columns(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command, "SYNTHETIC", {"SynthA": (5, 0)})
    monkeypatch.setattr(sys, "argv", ["studies", "fletcher-islam-2017", "--quick", "--out", str(tmp_path)])
    command.main()
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("SynthA") for line in lines)
    assert max(map(len, lines[:4])) <= 80
    assert json.loads((tmp_path / "fletcher-islam-2017.json").read_text())[0]["data"] == "SynthA"


def test_votings_are_compared_on_the_same_fits(data_dir):
    (row,) = voting.run(("magic",), (1.0,), folds=2, depths=(5,))
    fixed = {"fletcher-islam", "fletcher-islam, depth 5", "bojarski, depth 5"}
    assert set(row) == {"epsilon", *voting.VOTINGS, "majority forest", *fixed}
    assert row["posterior"]["AUC"] > 0.7 and 0 <= row["sum"]["p, AUC"] <= 1


def test_real_tables_need_a_folder(monkeypatch):
    monkeypatch.delenv("PRIVET_DATA", raising=False)
    with pytest.raises(DataError, match="PRIVET_DATA"):
        datasets.real("adult")


def test_complete_rows_are_those_without_missing_values(data_dir):
    assert datasets.real("adult", complete=True).features.shape[1] == 45_222
