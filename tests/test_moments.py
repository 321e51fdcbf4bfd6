"""Means, sums and variances: within their cost, within their ranges, and those of the rows without noise."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from laws import Noiseless
from privet import Budget, Continuous, Integer, Label, Ledger, Schema, protect
from privet.answers import Law
from privet.cli.main import main
from privet.errors import QuestionError
from privet.privacy import Cost, Repeatable
from privet.privacy.questions.moments import Moments, row_shares, row_units
from tests.test_analyst_questions import PEOPLE, exact_of, exact_rows, rows, tables, toy

COSTS = [Cost.pure(e) for e in ("0.001", 1, 50)] + [Cost.zcdp(r) for r in ("1e-6", "0.1", 5)]


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("n_cells", [1, 2, 3, 121, 65_535])
def test_a_row_is_shared_out_whole(n_cells, cost):
    units = row_units(cost)
    shares = row_shares(n_cells, units)
    assert (shares >= 0).all() and (shares.sum(axis=1) == units).all()
    place = np.arange(n_cells) / max(n_cells - 1, 1)
    assert np.abs((shares @ [0, 0.5, 1]) / units - place).max() <= 2 / units
    assert np.abs((shares @ [0, 0, 1]) / units - place**2).max() <= 2 / units


def test_a_row_moves_the_answer_by_its_units_at_most():
    for cost in ({"epsilon": 1}, {"rho": Fraction(1, 10)}):
        exact = exact_of(lambda p, cost=cost: p.noisy_moments("x", "g", **cost))
        paid = Cost.pure(1) if "epsilon" in cost else Cost.zcdp(Fraction(1, 10))
        change = Moments("x", ("g",)).charge(toy([]).schema, paid).change
        moves = [
            exact((*table, more)) - exact(table)
            for table in tables(1)
            for more in {row for t in tables(1) for row in t}
        ]
        norms = [(np.abs(m).sum(), (m.astype(object) ** 2).sum()) for m in moves]
        assert max(l1 for l1, _ in norms) == change.l1 == row_units(paid)
        assert max(l2 for _, l2 in norms) <= change.l2_squared


def loss(law: Law, move: np.ndarray) -> Fraction:
    """The largest loss of discrete Laplace noise on numbers that move so."""
    return Fraction(int(np.abs(move).sum())) / law.parameter


def test_moments_keep_epsilon_and_a_broken_version_does_not(monkeypatch):
    ask = exact_of(lambda p: p.noisy_moments("x", "g", epsilon=1))
    law = Moments("x", ("g",)).charge(toy([]).schema, Cost.pure(1)).law
    universe = {row for t in tables(1) for row in t}
    moves = [ask((*table, more)) - ask(table) for table in tables(1) for more in universe]
    assert max(loss(law, move) for move in moves) == 1
    # Shares that are rounded one by one may add up to more than was paid for.
    broken = lambda n, units: row_shares(n, units) + np.array([0, 1, 0])  # noqa: E731
    monkeypatch.setattr("privet.privacy.questions.moments.row_shares", broken)
    moves = [ask((*table, more)) - ask(table) for table in tables(1) for more in universe]
    assert max(loss(law, move) for move in moves) > 1


def test_without_noise_they_are_those_of_pandas():
    ages = PEOPLE["age"].clip(0, 9)
    answer = exact_rows().noisy_moments("age", by="ill", where="grade != low", epsilon=1)
    kept = PEOPLE["grade"] != "low"
    told = {what: getattr(answer, what)().value for what in ("count", "mean", "sum", "variance")}
    for place, name in enumerate(("no", "yes")):
        own = ages[kept & (PEOPLE["ill"] == name)].dropna()
        exact = {"count": len(own), "mean": own.mean(), "sum": own.sum(), "variance": own.var(ddof=0)}
        for what, number in exact.items():
            assert told[what][place] == pytest.approx(number, abs=1e-5), what
    heights = PEOPLE["height"].clip(0.5, 2.5).dropna()
    answer = exact_rows().noisy_moments("height", epsilon=1)
    assert answer.mean().value == pytest.approx(heights.mean(), abs=1e-4)
    assert answer.sum().value == pytest.approx(heights.sum(), rel=1e-4)


@pytest.mark.parametrize("cost", [{"epsilon": Fraction(1, 4)}, {"rho": Fraction(1, 50)}], ids=str)
def test_ranges_hold_as_often_as_they_say(cost):
    ages = PEOPLE["age"].clip(0, 9).dropna()
    truth = {"mean": ages.mean(), "sum": ages.sum(), "variance": ages.var(ddof=0), "count": len(ages)}
    missed = dict.fromkeys(truth, 0)
    for seed in range(300):
        answer = rows(mechanisms=Repeatable(seed)).noisy_moments("age", **cost)
        for what, exact in truth.items():
            _, low, high = getattr(answer, what)(0.9)
            missed[what] += not low <= exact <= high
    # A tenth may be missed; bounds are on the side of safety. By chance, 45 of 300 are one time in 500.
    assert max(missed.values()) < 45 and sum(missed.values()) > 0


def test_empty_groups_say_that_they_know_nothing():
    schema = Schema([Integer("age", 20, 60)], Label("y", ["no", "yes"]))
    one = pd.DataFrame({"age": [30], "y": ["no"]})
    rows = protect(one, schema, Ledger().create("people", Budget(10)), mechanisms=Noiseless())
    answer = rows.noisy_moments("age", by="y", epsilon=1)
    found, low, high = answer.mean()
    assert (low[1], high[1]) == (20, 60) and found[1] == 40 and found[0] == pytest.approx(30)
    assert answer.variance().low[1] == 0 and answer.variance().high[1] == 400


def test_what_has_no_moments_is_refused_and_costs_nothing():
    protected = rows()
    for column, more in (("town", {}), ("ill", {}), ("none", {}), ("age", {"by": "age"})):
        with pytest.raises(QuestionError):
            protected.noisy_moments(column, epsilon=1, **more)
    assert protected._account.spent().epsilon == 0
    for feature, why in ((Continuous("x"), "open"), (Continuous("x", -1e300, 1e300), "too wide")):
        wide, account = Schema([feature], Label("y", [0, 1])), Ledger().create("p", Budget(1))
        with pytest.raises(QuestionError, match=why):
            protect(pd.DataFrame({"x": [1.0], "y": [0]}), wide, account).noisy_moments("x", epsilon=1)
        assert account.spent().epsilon == 0


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PEOPLE.dropna().to_csv("people.csv", index=False)
    Schema([Continuous("age", 0, 9, integer=True)], Label("ill", ["no", "yes"])).save("s.json")
    assert main(["budget", "create", "people.csv", "--epsilon", "10"]) == 0
    capsys.readouterr()
    ask = [
        "ask",
        "mean",
        "people.csv",
        "--schema",
        "s.json",
        "--column",
        "age",
        "--epsilon",
        "1",
        "--by",
        "ill",
    ]
    assert main([*ask, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["account"]["spent"]["epsilon"] == 1
    mean = told["answers"]["mean"][0]
    assert mean["ill"] == "no" and 0 <= mean["low"] <= mean["answer"] <= mean["high"] <= 9
    assert main(ask) == 0
    assert "variance" in capsys.readouterr().out
