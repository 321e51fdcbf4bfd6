"""``privet ask``: answers, their noise and their cost; mistakes are told and cost nothing."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from privet import Ledger
from privet.answers import Law
from privet.noise.samplers import LAPLACE
from test_cli import SECRET, call, events, folder, rows, spent, with_cell, write_csv

__all__ = ["call", "folder"]

WHERE = "age >= 37 and town in (north)"
ANSWERS = {
    "count": [],
    "histogram": ["--column", "age", "--bins", 12],
    "most-frequent": ["--column", "town"],
    "quantile": ["--column", "age", "--at", "0.25"],
}


def ask(command, *more, epsilon="0.25", schema="schema.json"):
    return ["ask", command, "people.csv", "--schema", schema, "--epsilon", epsilon, *more]


@pytest.mark.parametrize("command", ANSWERS)
@pytest.mark.parametrize("by", [[], ["--by", "ill", "--by", "town"]])
@pytest.mark.parametrize("where", [[], ["--where", WHERE]])
def test_every_question_is_answered_and_charged(command, by, where, call):
    if command == "most-frequent" and by:
        by = by[:2]
    options = [*ANSWERS[command], *by, *where]
    code, text, err = call(*ask(command, *options))
    assert code == 0, err
    assert "95 %" in text and "Cost ε=0.25" in text and spent() == 0.25
    assert all(len(line) <= 80 for line in text.splitlines())
    code, text, _ = call(*ask(command, *options, "--json"))
    found = json.loads(text)
    columns = {*by[1::2], "answer"} | ({"age"} if command == "histogram" else set())
    assert code == 0 and all(set(answer) == columns for answer in found["answers"])
    assert found["cost"]["epsilon"] == "0.25" and found["account"]["left"] == {"epsilon": 0.5}
    assert found["confidence"] == 0.95 and found["margin"] > 0
    assert (WHERE in found["question"]) == bool(where)


def test_answers_are_near_the_truth(call):
    call("budget", "grant", "people.csv", "--epsilon", 10_000)
    lines = rows()

    def answers(*arguments):
        code, text, err = call(*ask(*arguments, "--json", epsilon=200))
        assert code == 0, err
        return [list(answer.values()) for answer in json.loads(text)["answers"]]

    true = sum(age >= 37 and town == "north" for age, town, _ in lines)
    assert answers("count", "--where", WHERE) == [[true]]
    towns = [[town, sum(t == town for _, t, _ in lines)] for town in ("north", "south")]
    assert answers("count", "--by", "town") == [*towns, ["(other)", 0]]
    assert answers("histogram", "--column", "town") == [*towns, ["(other)", 0]]
    most = max(towns, key=lambda pair: pair[1])[0]
    assert answers("most-frequent", "--column", "town") == [[most]]
    assert answers("most-frequent", "--column", "ill", "--where", "age > 60") == [["yes"]]
    assert answers("most-frequent", "--column", "ill", "--least", "--where", "age > 60") == [["no"]]


def test_the_range_shown_is_that_of_the_noise(call):
    _, text, _ = call(*ask("count"))
    margin = Law(LAPLACE, Fraction(4)).margin(0.95)
    assert f"±{margin} of the exact one" in text
    _, text, _ = call(*ask("count", "--json"))
    assert json.loads(text)["margin"] == margin


def test_a_large_table_is_cut_for_the_eye_alone(call):
    code, text, _ = call(*ask("histogram", "--column", "age", "--bins", 121))
    assert code == 0 and "62 more: see --json" in text
    _, text, _ = call(*ask("histogram", "--column", "age", "--bins", 121, "--json"))
    assert len(json.loads(text)["answers"]) == 122


MISTAKES = [
    pytest.param(["count", "--where", "age >> 3"], 2, "where a value", id="no condition"),
    pytest.param(["count", "--where", "weight > 3"], 2, "'weight'", id="no such column"),
    pytest.param(["count", "--where", "town = west"], 2, "north, south", id="no such value"),
    pytest.param(["count", "--by", "weight"], 2, "'weight'", id="no such group"),
    pytest.param(["count", "--bins", "0"], 2, "--bins", id="no bins"),
    pytest.param(["histogram"], 2, "--column", id="no column"),
    pytest.param(["quantile", "--column", "town"], 2, "no quantiles", id="no range"),
    pytest.param(["quantile", "--column", "age", "--at", "1.5"], 2, "median", id="no share"),
    pytest.param(["quantile", "--column", "age", "--at", "most"], 2, "finite", id="no number"),
]


@pytest.mark.parametrize(("arguments", "code", "hint"), MISTAKES)
def test_mistakes_are_told_and_cost_nothing(arguments, code, hint, call):
    found, text, err = call(*ask(*arguments))
    assert (found, text) == (code, "") and hint in err and err.startswith("Error: ")
    assert events() == ["budget"]


def test_what_does_not_fit_the_budget_is_refused(call):
    code, _, err = call(*ask("count", epsilon=2))
    assert code == 4 and "lower epsilon to 1" in err and spent() == 0
    assert call(*ask("count", epsilon=-1))[0] == 2
    assert call(*ask("count", schema="none.json"))[0] == 3


def test_no_message_quotes_a_row(call, folder):
    write_csv(folder / "people.csv", with_cell(2, SECRET))
    code, text, err = call(*ask("count"))
    assert code == 3 and SECRET not in text + err and spent() == 0


def test_the_ledger_says_what_was_asked(call):
    call(*ask("quantile", "--column", "age", "--by", "town", "--where", "ill = yes"))
    (charge,) = Ledger("people.csv.ledger").events()[-1]["charges"]
    assert charge["question"] == "quantile 0.5 of age by town where ill = yes"
    assert charge["composition"] == "parallel over town"
    _, text, _ = call("budget", "history", "people.csv")
    assert "quantile 0.5 of age" in text
