"""Models as SQL and as ONNX: run by DuckDB and ONNX Runtime, they give the same answers."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    Continuous,
    CountForestClassifier,
    CountForestRegressor,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Integer,
    Label,
    MajorityForestClassifier,
    Schema,
    Target,
    export_onnx,
    export_sql,
    load_model,
)
from privet.cli.main import main
from privet.errors import QuestionError
from privet.exports import sql

N_ROWS = 100_000
ODD = "to\"wn's; --"
FEATURES = [
    Continuous("height", 0.3, 2.1),
    Integer("age", 0, 120),
    Integer("income", -5, 10**7),
    Categorical(ODD, ["north", "o'south", 'w"est']),
    Categorical("children", [0, 1, 2, 3.5]),
    Categorical("smokes", [False, True]),
    Categorical("grade", ["low", "mid", "high"], ordered=True),
]
TWO, THREE = Label("ill", ["yes", "no"]), Label("ward", [30, 4, 200])


def people(n, label, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": np.where(rng.random(n) < 0.1, np.nan, rng.normal(1.2, 0.6, n)),
            "age": rng.integers(-5, 130, n),
            "income": np.where(rng.random(n) < 0.01, np.inf, rng.lognormal(10, 2, n)),
            ODD: rng.choice(np.array(["north", "o'south", 'w"est', "elsewhere", None], object), n),
            "children": rng.choice(np.array([0, 1, 2, 3.5, 7, None], object), n).astype(float),
            "smokes": rng.random(n) < 0.3,
            "grade": rng.choice(np.array(["low", "mid", "high"], object), n),
        }
    )
    logit = (frame["age"] - 60) / 20 + frame["smokes"] * 2 - (frame["grade"] == "low") + rng.normal(0, 1, n)
    cut = np.digitize(logit, [0] if len(label.values) == 2 else [-1, 1])
    frame[label.name] = np.array(label.values, object)[cut]
    return frame


LEARNERS = {
    "boosting": (BoostingClassifier(4.0, random_state=0), TWO),
    "boosting of three": (BoostingClassifier(4.0, random_state=0), THREE),
    "posterior": (CountForestClassifier(4.0, n_trees=5, max_depth=6, random_state=0), THREE),
    "sum": (CountForestClassifier(4.0, n_trees=4, max_depth=5, voting="sum", random_state=0), TWO),
    "multi-way": (
        CountForestClassifier(4.0, n_trees=3, max_depth=2, structure="jagannathan", random_state=0),
        TWO,
    ),
    "labels": (MajorityForestClassifier(4.0, n_trees=7, max_depth=5, random_state=0), THREE),
    "counting tree": (CountingTreeClassifier(4.0), TWO),
    "greedy tree": (GreedyTreeClassifier(8.0), TWO),
    "greedy forest": (GreedyForestClassifier(8.0), THREE),
}


@pytest.fixture(scope="module", params=LEARNERS)
def case(request):
    """A model, rows, and what it says of them; nobody has learnt from these rows."""
    learner, label = LEARNERS[request.param]
    schema, frame = Schema(FEATURES, label), people(8000, label)
    model = learner.set_params(schema=schema).fit(frame.drop(columns=label.name), frame[label.name]).model_
    rows = people(N_ROWS, label, seed=1)
    return model, rows, model.predictions(rows)


def assert_same(labels, shares, told):
    assert np.asarray(labels).tolist() == list(told.values)
    assert np.abs(np.asarray(shares, float) - np.array(list(told.shares.values())).T).max() < 1e-6
    assert len(set(told.values)) > 1


def test_duckdb_says_what_the_model_says(case):
    model, rows, told = case
    with duckdb.connect() as connection:
        connection.register("people", rows.assign(key=np.arange(len(rows))))
        found = connection.execute(export_sql(model, "people", "duckdb", keep=["key"]) + " ORDER BY key").df()
    assert found["key"].tolist() == list(range(len(rows)))
    assert_same(found["prediction"], found[[f"share_{label}" for label in told.shares]], told)


def onnx_columns(rows, schema):
    columns = {}
    for feature in schema.features:
        values = rows[feature.name]
        texts = values.astype(object).where(values.notna(), "").astype(str)
        kept = texts if isinstance(feature, Categorical) else values.astype(float)
        columns[feature.name] = kept.to_numpy(object if kept is texts else float)[:, None]
    return columns


def test_onnx_runtime_says_what_the_model_says(case, tmp_path):
    model, rows, told = case
    export_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    labels, shares = session.run(None, onnx_columns(rows, model.schema))
    assert_same(labels, shares, told)


def test_rows_are_read_as_here_whatever_their_column_is():
    truths = Categorical("b", [False, True])
    schema = Schema(
        [Categorical("n", [1, 2]), Categorical("t", ["True", "False"]), truths], Label("y", ["a", "b"])
    )
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.choice([1, 2, 5], 4000), "t": rng.random(4000) < 0.5})
    frame["b"] = rng.random(4000) < 0.5
    learner = CountForestClassifier(50.0, n_trees=8, max_depth=3, schema=schema)
    model = learner.fit(frame, np.where((frame["n"] > 1) == frame["b"], "a", "b")).model_
    for n in (frame["n"], frame["n"].astype(float), frame["n"].astype(str)):
        for t in (frame["t"], frame["t"].astype(int), frame["t"].astype(str)):
            b = frame["b"].astype(float).astype(str if n.dtype == float else float)
            rows = pd.DataFrame({"n": n, "t": t, "b": b})
            assert model.predict(rows).tolist() == model.predict(frame).tolist()
            found = duckdb.sql(export_sql(model, "rows")).df()
            assert found["prediction"].tolist() == model.predict(rows).tolist()


def test_a_model_too_large_for_a_statement_is_refused(case, monkeypatch):
    monkeypatch.setattr(sql, "MOST_NUMBERS", 10)
    with pytest.raises(QuestionError, match="too many for a statement"):
        export_sql(case[0], "people")


def test_equal_shares_go_to_the_label_that_sorts_first(case):
    model, rows, _ = case
    if model.kind != "label-forest":
        return
    level = replace(model, labels=np.zeros_like(model.labels) + np.arange(len(model.labels))[:, None] % 2)
    level = replace(
        level,
        trees=replace(level.trees, view=level.trees.view[:6], threshold=level.trees.threshold[:6]),
        labels=level.labels[:6],
    )
    with duckdb.connect() as connection:
        connection.register("people", rows.head(50))
        found = connection.execute(export_sql(level, "people")).df()
    assert set(found["prediction"]) == {4} == set(level.predict(rows.head(50)).tolist())


def test_the_command_writes_both(tmp_path, case, capsys):
    path = tmp_path / "m.privet"
    case[0].save(path)
    assert main(["export", str(path), "--to", "onnx"]) == 0
    assert main(["export", str(path), "--to", "postgresql", "--table", "clinic.people", "--keep", "id"]) == 0
    text = (tmp_path / "m.privet.sql").read_text()
    assert 'FROM "clinic"."people"' in text and 'AS "id"' in text
    assert load_model(path).kind == case[0].kind
    assert main(["export", str(path), "--to", "onnx"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_unknown_dialects_are_named(case):
    with pytest.raises(QuestionError, match="use one of duckdb, postgresql"):
        export_sql(case[0], "people", "oracle")


NUMBER = Target("stay", -10, 40)


@pytest.mark.parametrize(
    "learner",
    [BoostingRegressor(4.0, 1e-6, random_state=0), CountForestRegressor(4.0, n_trees=5, random_state=0)],
)
def test_numbers_are_the_same_elsewhere(learner, tmp_path):
    frame = people(8000, TWO)
    frame["stay"] = frame["age"] / 4 + 9 * frame["smokes"]
    schema = Schema(FEATURES, NUMBER)
    model = learner.set_params(schema=schema).fit(frame.drop(columns="ill"), None).model_
    rows = people(N_ROWS, TWO, seed=1)
    told = model.predict(rows)
    with duckdb.connect() as connection:
        connection.register("people", rows.assign(key=np.arange(len(rows))))
        found = connection.execute(export_sql(model, "people", "duckdb", keep=["key"]) + " ORDER BY key").df()
    np.testing.assert_allclose(found["prediction"], told, atol=1e-4)
    export_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    (numbers,) = session.run(None, onnx_columns(rows, schema))
    np.testing.assert_allclose(numbers, told, atol=1e-4)
    assert np.unique(told).size > 20


@pytest.mark.parametrize(
    "learner",
    [
        BoostingClassifier(2.0),
        CountForestClassifier(2.0, n_trees=2, max_depth=2),
        BoostingRegressor(2.0),
    ],
)
def test_columns_may_have_the_names_that_a_graph_gives(learner, tmp_path):
    names = ["v0", "v3", "c0", "c7", "c7_", "label", "shares", "number", "k0", "p1", "step0", "rows"]
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.random(300) for name in names})
    numbers = isinstance(learner, BoostingRegressor)
    label = Target("of", 0, 2) if numbers else Label("of", ["no", "yes"])
    schema = Schema([Continuous(name, 0, 1) for name in names], label)
    y = frame["v0"] + frame["c0"] if numbers else np.where(frame["v0"] + frame["c0"] > 1, "yes", "no")
    model = learner.set_params(schema=schema).fit(frame, y).model_
    export_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert [each.name for each in session.get_outputs()] == (
        ["number_"] if numbers else ["label_", "shares_"]
    )
    told = session.run(None, {name: frame[[name]].to_numpy() for name in names})[0]
    found = duckdb.sql(export_sql(model, "frame", keep=["k0"])).df()
    if numbers:
        np.testing.assert_allclose(told, model.predict(frame), rtol=1e-12)
        np.testing.assert_allclose(found["prediction"], model.predict(frame), rtol=1e-12)
    else:
        assert list(told) == list(found["prediction"]) == list(model.predict(frame))
    assert list(found["k0"]) == list(frame["k0"])
