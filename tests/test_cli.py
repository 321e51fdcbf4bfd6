import csv
import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from rich.console import Console

from privet import Budget, Categorical, Continuous, Label, Ledger, Schema, __version__, load_model
from privet.cli import fit as fit_command
from privet.cli import output
from privet.cli.learners import declared_options, flag, make_estimator
from privet.cli.main import main
from privet.estimators import CLASSIFIERS
from privet.kernels.predict import best_labels
from privet.learners.score import METRICS as EVERY
from privet.privacy import store

SECRET = "SECRET-7731"
SCHEMA = Schema(
    [Continuous("age", 0, 120, integer=True), Categorical("town", ["north", "south"])],
    Label("ill", ["no", "yes"]),
    max_rows=1000,
)


def rows(n=400, seed=0):
    random = np.random.default_rng(seed)
    ages, towns = random.integers(0, 121, n), random.integers(0, 2, n)
    return [
        [int(age), ("north", "south")[town], "yes" if age > 60 else "no"]
        for age, town in zip(ages, towns, strict=True)
    ]


def write_csv(path, lines, header=("age", "town", "ill")):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *lines])
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table, its schema and a budget of 1, as the working directory."""
    monkeypatch.chdir(tmp_path)
    write_csv(Path("people.csv"), rows())
    SCHEMA.save("schema.json")
    assert main(["budget", "create", "people.csv", "--epsilon", "1", "--json"]) == 0
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    """Run a command; give its exit code, standard output and standard error."""
    capsys.readouterr()

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return run


def fit_arguments(data="people.csv", **changes):
    options = {"schema": "schema.json", "epsilon": 0.5, "out": "model.privet"}
    options |= {"learner": "majority-forest", "trees": 5, "depth": 3} | changes
    return ["fit", data, *(part for name, value in options.items() for part in (f"--{name}", value))]


def events(data="people.csv"):
    return [event["kind"] for event in Ledger(f"{data}.ledger").events()]


def spent(data="people.csv"):
    return float(Ledger(f"{data}.ledger").account(Path(data).name).spent().epsilon)


@pytest.mark.parametrize("learner", CLASSIFIERS)
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_every_learner_fits_and_says_what_it_promises(learner, delta, call):
    assert call("budget", "grant", "people.csv", "--epsilon", 1, "--delta", 1e-6)[0] == 0
    arguments = ["fit", "people.csv", "--schema", "schema.json", "--epsilon", 0.5, "--out", "m"]
    arguments += [] if learner == "boosting" else ["--learner", learner]
    code, _, err = call(*arguments, *([] if delta is None else ["--delta", delta]))
    if learner == "majority-forest" and delta:
        assert code == 2 and "has no --delta" in err
        return
    assert code == 0, err
    code, text, _ = call("describe", "m")
    assert code == 0 and learner in text and "differential privacy" in text
    assert call("predict", "m", "people.csv", "--out", "p.csv")[0] == 0


def test_equal_shares_go_to_the_label_that_sorts_first():
    shares = np.array([[0.5, 0.5], [0.2, 0.8], [0.8, 0.2]])
    assert best_labels(shares, ["yes", "no"]).tolist() == [1, 1, 0]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_fit_describe_predict(kind, call):
    data = write_csv(Path("people.csv.gz" if kind == "csv.gz" else "people.csv"), rows())
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(data), "people.parquet")
        data = Path("people.parquet")
    if kind != "csv":
        assert call("budget", "create", data, "--epsilon", 1)[0] == 0
    code, text, _ = call(*fit_arguments(data, seed=3))
    assert code == 0 and "0.5-differential privacy" in text
    assert events(data) == ["budget", "charge"] and spent(data) == 0.5
    code, text, _ = call("describe", "model.privet")
    assert code == 0 and "majority-forest" in text and "splits by feature" in text
    code, text, _ = call("predict", "model.privet", data)
    assert code == 0 and len(text.splitlines()) == 401


def test_predictions_are_those_of_the_model_and_need_no_label(call):
    call(*fit_arguments())
    write_csv(Path("new.csv"), [line[:2] for line in rows(50, seed=1)], ("age", "town"))
    shares = load_model("model.privet").shares("new.csv")
    code, text, _ = call("predict", "model.privet", "new.csv")
    table = list(csv.DictReader(io.StringIO(text)))
    assert code == 0 and list(table[0]) == ["prediction", "share_no", "share_yes"]
    np.testing.assert_allclose([[float(r["share_no"]), float(r["share_yes"])] for r in table], shares)
    assert [r["prediction"] for r in table] == [("no", "yes")[i] for i in shares.argmax(axis=1)]
    assert call("predict", "model.privet", "new.csv", "--out", "predictions.csv")[0] == 0
    assert Path("predictions.csv").read_text() == text
    code, text, _ = call("predict", "model.privet", "new.csv", "--json")
    assert [r["prediction"] for r in json.loads(text)] == [r["prediction"] for r in table]


@pytest.mark.parametrize("metric", [name for name in EVERY if EVERY[name].predicts is Label])
def test_a_score_is_charged_to_the_rows_that_give_it(metric, call):
    call(*fit_arguments(epsilon=0.5))
    held_out = write_csv(Path("held.csv"), rows(900, seed=1))
    assert call("budget", "create", held_out, "--epsilon", 10, "--ledger", "held.ledger")[0] == 0
    arguments = ["score", "model.privet", held_out, "--metric", metric, "--ledger", "held.ledger"]
    code, text, _ = call(*arguments, "--epsilon", 4, "--json")
    told = json.loads(text)
    assert code == 0 and told["score"]["metric"] == metric and told["account"]["left"] == {"epsilon": 6}
    low, high = told["score"]["interval"]
    assert low <= told["score"]["value"] <= high
    code, text, _ = call(*arguments, "--epsilon", 6)
    assert code == 0 and metric.replace("_", " ") in text and "interval" in text and "about" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    code, _, text = call(*arguments, "--epsilon", 0.1)
    assert code == 4 and "is spent" in text
    assert spent() == 0.5


def test_a_score_that_cannot_be_given_costs_nothing(call):
    call(*fit_arguments(epsilon=0.5))
    write_csv(Path("odd.csv"), [[50, "north", SECRET]])
    call("budget", "create", "odd.csv", "--epsilon", 1)
    Schema([Continuous("age", 0, 9), *SCHEMA.features[1:]], SCHEMA.label).save("other.json")
    good = {"data": "people.csv", "epsilon": 0.1, "metric": "accuracy", "model": "model.privet"}
    for change, expected in [
        ({"metric": "f2"}, 2),
        ({"epsilon": -1}, 2),
        ({"epsilon": 0.6}, 4),
        ({"schema": "other.json"}, 3),
        ({"data": "odd.csv"}, 3),
        ({"data": "none.csv"}, 3),
        ({"model": "people.csv"}, 5),
    ]:
        given = good | change
        options = [
            part for k in ("epsilon", "metric", "schema") if k in given for part in (f"--{k}", given[k])
        ]
        code, text, error = call("score", given["model"], given["data"], *options)
        assert code == expected and SECRET not in text + error
    assert spent() == 0.5 and spent("odd.csv") == 0


def test_seed_fixes_the_structure(call):
    for name in "ab":
        call(*fit_arguments(seed=7, out=name, epsilon=0.1))
    first, second = (load_model(name).trees for name in "ab")
    np.testing.assert_array_equal(first.threshold, second.threshold)


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "people.csv", "--schema", "schema.json", "--epsilon", "0.1", "--out", "other"],
        ["predict", "model.privet", "people.csv"],
        ["predict", "model.privet", "people.csv", "--out", "other"],
        ["describe", "model.privet"],
        ["score", "model.privet", "people.csv", "--epsilon", "0.1"],
        ["budget", "show", "people.csv"],
        ["budget", "grant", "people.csv", "--epsilon", "2"],
        ["budget", "history", "people.csv"],
        ["budget", "create", "people.csv", "--name", "again", "--epsilon", "2", "--delta", "1e-6"],
        ["schema", "draft", "people.csv", "--from-values"],
        ["schema", "draft", "people.csv", "--from-values", "--out", "other"],
        ["schema", "check", "people.csv", "--schema", "schema.json"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_json_is_all_that_stands_on_standard_output(arguments, call):
    call(*fit_arguments())
    code, text, _ = call(*arguments, "--json")
    assert code == 0
    json.loads(text)


def test_budget_commands(call):
    call(*fit_arguments(epsilon=0.25))
    _, text, _ = call("budget", "show", "people.csv", "--json")
    state = json.loads(text)
    parts = {part: state[part]["epsilon"] for part in ("budget", "spent", "left")}
    assert parts == {"budget": 1.0, "spent": 0.25, "left": 0.75}
    _, text, _ = call("budget", "grant", "people.csv", "--epsilon", 3, "--json")
    assert json.loads(text)["left"] == {"epsilon": 2.75}
    _, text, _ = call("budget", "history", "people.csv", "--json")
    assert [event["kind"] for event in json.loads(text)] == ["budget", "charge", "grant"]
    code, text, _ = call("budget", "history", "people.csv")
    assert code == 0 and "ε=0.25" in text and "most frequent label" in " ".join(text.split())


def test_grant_keeps_delta_unless_told(call):
    call("budget", "create", "people.csv", "--name", "loose", "--epsilon", 1, "--delta", 1e-6)
    _, text, _ = call("budget", "grant", "people.csv", "--name", "loose", "--epsilon", 2, "--json")
    assert json.loads(text)["delta"] == 1e-6 and json.loads(text)["left"]["rho"] > 0
    _, text, _ = call(
        "budget", "grant", "people.csv", "--name", "loose", "--epsilon", 2, "--delta", 0, "--json"
    )
    assert json.loads(text)["delta"] == 0


def test_grant_keeps_what_is_set_aside_to_find_values_unless_told(call):
    about = ["people.csv", "--name", "open"]
    call("budget", "create", *about, "--epsilon", 1, "--delta", "1e-6", "--finding", "1e-7")

    def finding(*granted):
        assert call("budget", "grant", *about, "--epsilon", 2, *granted)[0] == 0
        _, text, _ = call("budget", "history", *about, "--json")
        return json.loads(text)[-1].get("finding", "0")

    assert finding() == "1/10000000"
    assert finding("--delta", "1e-5") == "1/10000000"
    assert finding("--finding", "1e-6") == "1/1000000"
    assert finding("--delta", "0") == "0"


def test_ledger_and_name_can_be_chosen(call):
    where = ["--ledger", "elsewhere.db", "--name", "census"]
    assert call("budget", "create", "people.csv", "--epsilon", 1, *where)[0] == 0
    assert call(*fit_arguments(), *where)[0] == 0
    assert float(Ledger("elsewhere.db").account("census").spent().epsilon) == 0.5
    assert spent() == 0


USAGE = {
    "no such learner": ({"learner": "oracle"}, "majority-forest"),
    "epsilon 0": ({"epsilon": 0}, "above 0"),
    "epsilon below 0": ({"epsilon": -1}, "above 0"),
    "epsilon nan": ({"epsilon": "nan"}, "finite"),
    "epsilon inf": ({"epsilon": "inf"}, "finite"),
    "epsilon no number": ({"epsilon": "much"}, "--epsilon"),
    "no trees": ({"trees": 0}, "--trees"),
    "too deep": ({"depth": 99}, "--depth"),
    "too many leaves": ({"trees": 50_000, "depth": 24}, "fewer or shallower"),
    "seed below 0": ({"seed": -1}, "--seed"),
    "folder missing": ({"out": "nowhere/model"}, "nowhere/model"),
    "folder as output": ({"out": "."}, "already"),
    "output exists": ({"out": "people.csv"}, "overwrites nothing"),
}
MISFITS = {
    "no such schema": ({"schema": "none.json"}, "schema draft"),
    "schema is a folder": ({"schema": "."}, "directory"),
    "schema is no JSON": ({"schema": "people.csv"}, "not JSON"),
    "schema lacks features": ({"schema": "empty.json"}, '"features"'),
    "column missing": ({"schema": "more.json"}, "'height' is missing"),
    "no such data": ({"data": "none.csv"}, "no file"),
    "no such table": ({"data": "none*.csv"}, "no table"),
    "data of another kind": ({"data": "schema.json"}, "neither CSV nor Parquet"),
}
MISTAKES = [
    *(pytest.param(change, 2, help, id=name) for name, (change, help) in USAGE.items()),
    *(pytest.param(change, 3, help, id=name) for name, (change, help) in MISFITS.items()),
    pytest.param({"epsilon": 1.5}, 4, "lower epsilon to 1", id="more than is left"),
    pytest.param({"name": "other"}, 4, "privet budget create", id="unknown account"),
    pytest.param({"ledger": "none.ledger"}, 4, "privet budget create", id="no ledger"),
    pytest.param({"ledger": "schema.json"}, 5, "not a database", id="no ledger at all"),
]


@pytest.mark.parametrize(("change", "expected", "help_text"), MISTAKES)
def test_a_mistake_is_told_and_costs_nothing(change, expected, help_text, call):
    Path("empty.json").write_text("{}")
    Schema([*SCHEMA.features, Continuous("height", 0, 250)], SCHEMA.label).save("more.json")
    code, text, error = call(*fit_arguments(**change))
    assert code == expected and text == ""
    assert error.startswith("Error: ") and help_text in error
    refused = ["refused"] if "lower epsilon" in help_text else []
    assert events() == ["budget", *refused] and not Path("model.privet").exists()
    assert not Path("none.ledger").exists()


def test_epsilon_is_looked_at_before_any_file(call):
    code, _, error = call(*fit_arguments(data="none.csv", schema="none.json", epsilon=0))
    assert code == 2 and "above 0" in error


def test_a_field_that_is_no_number_is_told_from_a_damaged_file(call):
    write_csv(Path("people.csv"), with_cell(0, SECRET))
    code, _, error = call(*fit_arguments())
    assert code == 3 and "is not a number" in error and "privet schema check" in error


@pytest.mark.parametrize("name", declared_options())
def test_an_option_that_a_learner_does_not_have_is_refused(name, call):
    having = declared_options()[name]
    words = flag(name, having[0][1])
    value = {bool: [], int: [5], float: [0.5], str: having[0][1].among[:1]}[having[0][1].kind]
    arguments = fit_arguments()[: -len(["--learner", "", "--trees", "", "--depth", ""])]
    for learner in CLASSIFIERS.keys() - {learner for learner, _ in having}:
        code, _, error = call(*arguments, "--learner", learner, words, *value)
        assert code == 2 and f"{learner} has no {words}" in error and events() == ["budget"]


def test_each_learner_takes_every_option_that_it_declares():
    for name, having in declared_options().items():
        for learner, parameter in having:
            values = {bool: (True, False), float: (0.5, 0.75), int: (2, 3), str: parameter.among}
            for value in values[parameter.kind]:
                assert getattr(make_estimator(learner, 1.0, {name: value}), name) == value


def test_nothing_is_refused_twice_or_charged_twice(call):
    assert call(*fit_arguments(out="a"))[0] == 0
    assert call(*fit_arguments(out="b"))[0] == 0
    code, _, error = call(*fit_arguments(out="c"))
    assert code == 4 and "only its owner can grant more" in error
    assert spent() == 1 and events() == ["budget", "charge", "charge", "refused"] and not Path("c").exists()
    code, _, error = call("budget", "create", "people.csv", "--epsilon", 9)
    assert code == 4 and "grant" in error


def with_cell(column, value):
    lines = rows()
    lines[17][column] = value
    return lines


SECRETS = {
    "in a number": with_cell(0, SECRET),
    "in the label": with_cell(2, SECRET),
    "in a line too long": [*rows(), ["1", "north", "no", SECRET]],
    "in a line too short": [*rows(), [SECRET]],
    "in the place of the header": None,
}


@pytest.mark.parametrize("lines", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("kind", ["people.csv", "people.csv.gz"])
def test_no_message_quotes_a_row_and_what_was_charged_is_given_back(lines, kind, call):
    write_csv(Path(kind), rows())
    call("budget", "create", kind, "--epsilon", 1)
    if lines is None:
        write_csv(Path(kind), rows(), header=(SECRET, "town", "ill"))
    else:
        write_csv(Path(kind), lines)
    code, text, error = call(*fit_arguments(kind))
    assert code == 3 and SECRET not in text + error
    assert "Hint: " in error and spent(kind) == 0
    _, text, error = call("schema", "check", kind, "--schema", "schema.json")
    assert SECRET not in text + error
    _, text, error = call("budget", "history", kind)
    assert SECRET not in text + error


@pytest.mark.parametrize(("column", "dtype"), [("age", "string"), ("age", "date"), ("ill", "string")])
def test_no_message_quotes_a_row_of_parquet(column, dtype, call):
    table = pyarrow.csv.read_csv("people.csv")
    n = len(table)
    value = pyarrow.array([SECRET] * n) if dtype == "string" else pyarrow.array([7731] * n, pyarrow.date32())
    table = table.set_column(table.column_names.index(column), column, value)
    pyarrow.parquet.write_table(table, "people.parquet")
    call("budget", "create", "people.parquet", "--epsilon", 1)
    for arguments in (
        fit_arguments("people.parquet"),
        ["schema", "check", "people.parquet", "--schema", "schema.json"],
    ):
        code, text, error = call(*arguments)
        assert code == 3 and SECRET not in text + error and "1991" not in text + error
    assert spent("people.parquet") == 0


def test_an_unforeseen_error_does_not_quote_a_row(call, monkeypatch):
    def fail(*_, **__):
        raise KeyError(SECRET)

    monkeypatch.setattr(fit_command, "protect", fail)
    code, text, error = call(*fit_arguments())
    assert code == 1 and SECRET not in text + error and "KeyError" in error and "report" in error


@pytest.mark.parametrize("name", ["people.csv.gz", "people.parquet"])
def test_a_damaged_table_is_refused_and_costs_nothing(name, call):
    lines = rows(30_000)
    write_csv(Path("large.csv"), lines)
    write_csv(Path("people.csv.gz"), lines)
    pyarrow.parquet.write_table(pyarrow.csv.read_csv("large.csv"), "people.parquet")
    whole = Path(name).read_bytes()
    cut = whole[: len(whole) // 2]
    damaged = (
        cut
        if name.endswith("gz")
        else whole[:100] + b"\xff" * (len(whole) // 2) + whole[100 + len(whole) // 2 :]
    )
    Path(name).write_bytes(damaged)
    call("budget", "create", name, "--epsilon", 1)
    for arguments in (
        fit_arguments(name),
        ["schema", "check", name, "--schema", "schema.json"],
        ["schema", "draft", name, "--from-values"],
    ):
        code, _, error = call(*arguments)
        assert code == 3 and "Hint: " in error
    assert spent(name) == 0


def test_too_many_rows_are_refused_and_found_by_check(call):
    write_csv(Path("people.csv"), rows(1001))
    code, _, error = call(*fit_arguments())
    assert code == 3 and "max_rows" in error and spent() == 0
    code, text, _ = call("schema", "check", "people.csv", "--schema", "schema.json", "--json")
    assert code == 3 and json.loads(text)["exact_counts_for_the_owner_only"]["ill"] == {
        "rows above max_rows": 1
    }


@pytest.mark.parametrize("change", [lambda b: b[:-5], lambda b: b[:200], lambda b: b[:300] + b"!" + b[301:]])
def test_a_model_cut_or_edited_is_refused(change, call):
    call(*fit_arguments())
    Path("bad.privet").write_bytes(change(Path("model.privet").read_bytes()))
    for arguments in (["describe", "bad.privet"], ["predict", "bad.privet", "people.csv"]):
        code, text, error = call(*arguments)
        assert code == 5 and text == "" and "cut or edited" in error


@pytest.mark.parametrize("path", ["none.privet", ".", "people.csv"])
def test_what_is_no_model_is_refused(path, call):
    code, _, error = call("describe", path)
    assert code == 5 and "Hint: " in error


def test_an_edited_ledger_is_refused(call):
    with closing(sqlite3.connect("people.csv.ledger")) as database, database:
        database.execute("""UPDATE event SET body = replace(body, '"1"', '"9"')""")
    for arguments in (["budget", "show", "people.csv"], fit_arguments()):
        code, _, error = call(*arguments)
        assert code == 5 and "edited or cut" in error


def test_a_locked_ledger_is_told(call, monkeypatch):
    monkeypatch.setattr(store, "WAIT_SECONDS", 0.05)
    holder = sqlite3.connect("people.csv.ledger", isolation_level=None)
    for lock in ("IMMEDIATE", "EXCLUSIVE"):
        holder.execute(f"BEGIN {lock}")
        code, _, error = call(*fit_arguments())
        assert code == 4 and "locked" in error
        holder.execute("ROLLBACK")
    holder.close()
    assert events() == ["budget"]


def test_interrupting_is_no_traceback_and_stays_charged(call, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("privet.engines.stream.StreamEngine.sum", interrupt)
    code, _, error = call(*fit_arguments())
    assert code == 130 and "interrupted" in error and "stays charged" in error
    assert spent() == 0.5


def test_predict_names_a_missing_column(call):
    call(*fit_arguments())
    write_csv(Path("new.csv"), [[line[0]] for line in rows(5)], ("age",))
    code, text, error = call("predict", "model.privet", "new.csv")
    assert code == 3 and text == "" and "'town' is missing" in error
    code, _, error = call("predict", "model.privet", "people.csv", "--out", "people.csv")
    assert code == 2 and "overwrites nothing" in error


def test_passes_of_boosting_are_planned_and_asked(call):
    options = ["--schema", "schema.json", "--epsilon", 1, "--passes", 2, "--out", "model.privet", "--json"]
    code, out, _ = call("fit", "people.csv", *options)
    asked = [question["question"] for question in json.loads(out)["card"]["questions"]]
    assert code == 0 and len(set(asked)) > 1
    assert sum(question != "rows by label" for question in asked) <= 2
    code, out, _ = call("plan", "schema.json", "--epsilon", 10, "--rows", 900, "--passes", 1, "--json")
    planned = [question["question"] for question in json.loads(out)["questions"]]
    assert code == 0 and sum(question != "rows by label" for question in planned) == 1
    assert call("plan", "schema.json", "--epsilon", 1, "--passes", 0)[0] == 2
    assert "has no --passes" in call(*fit_arguments(passes=1, out="other.privet"))[2]


def test_draft_warns_loudly_and_can_be_fitted_with(call):
    code, text, error = call(
        "schema", "draft", "people.csv", "--from-values", "--label", "ill", "--out", "draft.json"
    )
    assert code == 0 and "MUST BE PUBLIC" in error and "draft.json" in text
    assert Schema.load("draft.json").label == SCHEMA.label
    assert call(*fit_arguments(schema="draft.json"))[0] == 0
    code, text, _ = call("schema", "draft", "people.csv", "--from-values", "--label", "town", "--omit", "ill")
    assert code == 0 and [f["name"] for f in json.loads(text)["features"]] == ["age"]
    code, _, error = call("schema", "draft", "people.csv", "--from-values", "--omit", "height")
    assert code == 3 and "'height' is missing" in error


@pytest.mark.parametrize(
    ("written", "values"),
    [(("0", "1"), (0, 1)), (("0.0", "1.0"), ("0.0", "1.0")), (("007", "008"), ("007", "008")),
     (("false", "true"), ("false", "true")), (("2020-01-01", "2020-01-02"), ("2020-01-01", "2020-01-02"))],
)  # fmt: skip
def test_a_draft_finds_every_value_of_its_own_sample(written, values, call):
    lines = [[age, written[town == "north"], written[ill == "yes"]] for age, town, ill in rows()]
    write_csv(Path("people.csv"), lines)
    call("schema", "draft", "people.csv", "--from-values", "--out", "draft.json")
    assert Schema.load("draft.json").label.values == values
    code, text, _ = call("schema", "check", "people.csv", "--schema", "draft.json", "--json")
    assert code == 0 and not any(json.loads(text)["exact_counts_for_the_owner_only"].values())
    assert call(*fit_arguments(schema="draft.json"))[0] == 0


def test_what_check_calls_a_number_a_fit_reads(call):
    readable = ["nan", "inf", "-Infinity", "1e3", " 5", "+5", ".5", ""]
    for token in [*readable, "1_0", "٣", "0x1", "1,5", "NA"]:
        write_csv(Path("people.csv"), [[token, "north", "no"], ["1", "south", "yes"]])
        checked, _, _ = call("schema", "check", "people.csv", "--schema", "schema.json")
        call("budget", "grant", "people.csv", "--epsilon", 100)
        fitted, _, _ = call(*fit_arguments(out=f"model-{token.strip().encode().hex()}"))
        assert checked == fitted == (0 if token in readable else 3), token


def test_a_column_that_stands_twice_is_refused(call):
    write_csv(Path("people.csv"), [line[:1] + line for line in rows()], ("age", "age", "town", "ill"))
    for arguments in (fit_arguments(), ["schema", "draft", "people.csv"]):
        code, _, error = call(*arguments)
        assert code == 3 and "'age' stands there twice" in error
    assert events() == ["budget"]


def test_check_counts_what_is_outside(call):
    lines = rows()
    lines[:5] = [
        ["", "", "no"],
        ["-3", "west", "no"],
        ["200", "north", "no"],
        ["x", "north", "no"],
        ["5", "north", "?"],
    ]
    write_csv(Path("people.csv"), lines)
    code, text, error = call("schema", "check", "people.csv", "--schema", "schema.json", "--json")
    assert code == 3 and "OWNER'S EYES ONLY" in error
    assert json.loads(text) == {
        "exact_counts_for_the_owner_only": {
            "age": {"missing": 1, "not a number": 1, "below": 1, "above": 1},
            "town": {"missing": 1, "unknown": 1},
            "ill": {"unknown": 1},
        },
        "fit_would_refuse": True,
        "first_lines": {
            "age": {"missing": [2], "not a number": [5], "below": [3], "above": [4]},
            "town": {"missing": [2], "unknown": [3]},
            "ill": {"unknown": [6]},
        },
        "columns_that_may_be_identifiers": [],
        "wrong_lines": {},
    }
    code, text, _ = call("schema", "check", "people.csv", "--schema", "schema.json")
    assert code == 3 and "clamped" in text and "A fit would refuse" in text


def test_help_tells_the_exit_codes_and_fits_80_columns(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, text, _ = call("--help")
    assert code == 0 and "Exit codes" in text
    for meaning in ("wrong usage", "do not fit", "budget refused", "cannot be trusted", "interrupted"):
        assert meaning in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["fit"], ["fit", "people.csv", "--nonsense"], ["budget", "show"]]
)
def test_wrong_usage(arguments, call):
    code, text, error = call(*arguments)
    assert code == 2 and text == "" and error.startswith("Error: ") and "--help" in error


def test_a_process_of_its_own_without_a_locale(folder):
    command = "import sys; from privet.cli.main import main; sys.exit(main())"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", command, "budget", "show", "people.csv"],
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )
    assert done.returncode == 0 and "ε" in done.stdout and done.stderr == ""


def test_version(call):
    assert call("--version") == (0, f"privet {__version__}\n", "")


def test_without_typer_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["--version"]) == 1
    assert "pip install 'privet[cli]'" in capsys.readouterr().err


def test_a_log_says_what_was_asked_and_never_a_row(folder):
    write_csv(Path("people.csv"), [*rows(), ["33", SECRET, "no"]])
    fit = [str(a) for a in fit_arguments(learner="boosting")[:-4]]
    run = [sys.executable, "-m", "privet"]
    quiet = subprocess.run([*run, *fit], capture_output=True, text=True, cwd=folder, check=True)
    assert "charged" not in quiet.stderr
    for more, environment in ((["-v"], {}), ([], {"PRIVET_LOG": "debug"})):
        Path("model.privet").unlink(missing_ok=True)
        call = [*run, *more, "ask", "count", "people.csv", "--schema", "schema.json", "--epsilon", "0.1"]
        done = subprocess.run(call, capture_output=True, text=True, env=os.environ | environment, check=True)
        assert "charged 'people.csv' as event" in done.stderr and "number of rows" in done.stderr
        assert SECRET not in done.stderr + done.stdout
    done = subprocess.run(
        [*run, "-v", "predict", "model.privet", "people.csv"], capture_output=True, text=True
    )
    assert SECRET not in done.stderr


def test_an_unknown_level_of_the_log_is_refused(call, monkeypatch):
    monkeypatch.setenv("PRIVET_LOG", "loud")
    code, _, error = call("budget", "show", "people.csv")
    assert code == 2 and "PRIVET_LOG" in error


def test_history_tells_refusals_learners_and_caps(call):
    call(*fit_arguments())
    code, _, _ = call(*fit_arguments(out="other.privet", epsilon=5))
    assert code == 4
    Ledger("people.csv.ledger").set_cap("people.csv", "ada", Budget("0.25"))
    Ledger("people.csv.ledger").set_cap("people.csv", "ada", None)
    code, text, _ = call("budget", "history", "people.csv")
    told = " ".join(text.split())
    assert code == 0 and "majority-forest:" in told and "refused" in told and "(ε=5)" in told
    assert "ada may spend ε = 0.25" in told and "ada may spend nothing more" in told


def test_a_ledger_is_copied_and_checked(call):
    call(*fit_arguments())
    code, text, error = call("budget", "backup", "people.csv", "--out", "copy.ledger")
    assert code == 0 and "2 events, verified" in text and "FORGETS" in error
    assert call("budget", "backup", "people.csv", "--out", "copy.ledger")[0] == 2
    code, text, _ = call("budget", "check", "people.csv", "--ledger", "copy.ledger", "--json")
    assert code == 0 and json.loads(text)["events"] == 2
    call(*fit_arguments(out="m2", epsilon=0.25))
    code, text, _ = call("budget", "check", "people.csv")
    assert code == 0 and "3 events" in text
    with closing(sqlite3.connect("people.csv.ledger")) as database, database:
        database.execute("UPDATE event SET body = replace(body, 'majority', 'minority') WHERE number = 2")
    assert call("budget", "check", "people.csv")[0] == 5


def test_a_terminal_gets_lines_of_its_width_and_a_file_whole_ones(monkeypatch):
    message, hint = "what happened is told at some length " * 4, "what to do about it " * 8
    for is_terminal, most in ((True, 80), (False, 1000)):
        told = Console(file=io.StringIO(), width=80, force_terminal=is_terminal, color_system=None)
        monkeypatch.setattr(output, "err", told)
        output.show_error(message, hint)
        lines = told.file.getvalue().splitlines()
        assert max(map(len, lines)) <= most and (len(lines) == 2) is not is_terminal
        assert " ".join(lines).split() == f"Error: {message} Hint: {hint}".split()


def test_columns_may_be_called_what_steers_a_terminal(call):
    names = ["a[/b]", "[red]x", "\x1b[31my", "label[/]"]
    columns = {name: [0.25, 0.75] * 20 for name in names[:3]} | {names[3]: ["[/no]", "yes[bold]"] * 20}
    pyarrow.csv.write_csv(pyarrow.table(columns), "odd.csv")
    drafted = call("schema", "draft", "odd.csv", "--from-values", "--out", "odd.json")
    assert drafted[0] == 0 and "label[/]" in drafted[1]
    call("budget", "create", "odd.csv", "--epsilon", 100)
    fit = ("fit", "odd.csv", "--schema", "odd.json", "--epsilon", 1, "--out", "odd.privet")
    assert call(*fit)[0] == 0
    for name in names:
        ask = ("odd.csv", "--schema", "odd.json", "--column", name, "--epsilon", 1)
        for question in ("histogram", "quantile", "mean") if name != names[3] else ("most-frequent",):
            code, text, error = call("ask", question, *ask)
            assert code == 0 and "\x1b" not in text + error, (name, question)
            assert name.replace("\x1b", "\N{REPLACEMENT CHARACTER}") in " ".join(text.split()), (
                name,
                question,
            )
    for command in (
        ("describe", "odd.privet"),
        ("budget", "history", "odd.csv"),
        ("plan", "odd.json", "--epsilon", 1, "--rows", 40),
    ):
        code, text, error = call(*command)
        assert code == 0 and "\x1b" not in text + error
    assert "a[/b]" in call("describe", "odd.privet")[1]
