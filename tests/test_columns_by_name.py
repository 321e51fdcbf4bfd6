"""Columns are found by their names, labels too, in frames and in files."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Schema,
    Target,
)
from privet.errors import DataError, SchemaError

SCHEMA = Schema([Continuous("age", 0, 100), Categorical("town", ["a", "b"])], Label("ill", ["no", "yes"]))


def frame(n=600):
    random = np.random.default_rng(0)
    age = random.uniform(0, 100, n)
    ill = np.where(age > 50, "yes", "no")
    return pd.DataFrame({"other": 1.5, "town": random.choice(["a", "b"], n), "ill": ill, "age": age})


FORMS = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.mark.parametrize("form", FORMS)
def test_extra_and_reordered_columns_are_fine(form):
    table, made = frame(), FORMS[form]
    forest = CountForestClassifier(8.0, schema=SCHEMA, n_trees=5)
    forest.fit(made(table.drop(columns="ill")), table["ill"])
    assert list(forest.feature_names_in_) == ["age", "town"] and forest.n_features_in_ == 2
    expected = forest.predict_proba(made(table[["age", "town"]]))
    assert (forest.predict_proba(made(table[["town", "other", "age", "ill"]])) == expected).all()
    assert (forest.predict(made(table)) == table["ill"]).mean() > 0.8


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_may_hold_its_label(form):
    table = frame()
    model = BoostingClassifier(8.0, schema=SCHEMA).fit(FORMS[form](table))
    assert (model.predict(FORMS[form](table)) == table["ill"]).mean() > 0.8
    assert list(model.classes_) == ["no", "yes"]


def test_a_fit_is_scored_on_a_table_that_holds_its_label(tmp_path):
    table, path = frame(), tmp_path / "people.parquet"
    table.to_parquet(path)
    model = BoostingClassifier(8.0, schema=SCHEMA).fit(table)
    assert model.score(table) == model.score(path) == model.score(table, table["ill"]) > 0.8
    numbers = Schema(SCHEMA.features[1:], Target("age", 0, 100))
    known = BoostingRegressor(8.0, schema=numbers).fit(table)
    assert known.score(table) == pytest.approx(known.score(table, table["age"]), abs=1e-4)


def test_a_list_of_rows_is_predicted_by_models_and_estimators_alike():
    model = BoostingClassifier(8.0, schema=SCHEMA).fit(frame())
    rows = [[70, "a"], [20, "b"], [None, "c"]]
    with pytest.warns(UserWarning, match="feature names"):
        expected = model.predict(rows)
    assert list(model.model_.predict(rows)) == list(expected)
    with pytest.raises(DataError, match="2 features"):
        model.model_.predict([[1, "a", 2]])


def test_labels_of_a_frame_give_classes_their_type():
    table = frame().assign(ill=lambda f: (f["ill"] == "yes").astype(int))
    schema = Schema(SCHEMA.features, Label("ill", ["0", "1"]))
    assert BoostingClassifier(8.0, schema=schema).fit(table).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_path_is_fitted_and_predicted(suffix, tmp_path):
    table, path = frame(), tmp_path / f"people{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    model = CountForestClassifier(8.0, schema=SCHEMA, n_trees=5).fit(path)
    assert (model.predict(str(path)) == model.predict(table)).all()
    assert list(model.feature_names_in_) == ["age", "town"]
    with pytest.raises(DataError, match="there is no file"):
        model.fit(tmp_path / "nobody.csv")


def test_what_is_lacking_is_named_and_charged_nothing():
    table = frame()
    with pytest.raises(SchemaError, match="requires y"):
        BoostingClassifier(schema=SCHEMA).fit(table.drop(columns="ill"))
    with pytest.raises(DataError, match="'town' is missing"):
        BoostingClassifier(schema=SCHEMA).fit(table.drop(columns="town"))
    with pytest.raises(DataError, match="collect it first"):
        BoostingClassifier(schema=SCHEMA).fit(pl.from_pandas(table).lazy(), table["ill"])
    twice = pa.Table.from_pandas(table)
    with pytest.raises(DataError, match="stands there twice"):
        BoostingClassifier(schema=SCHEMA).fit(twice.append_column("age", twice["age"]))


def test_numbers_that_pandas_has_for_names_are_the_names_that_they_spell():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({0: random.uniform(0, 1, 500), 1: random.uniform(0, 1, 500)})
    schema = Schema([Continuous("0", 0, 1), Continuous("1", 0, 1)], Label("ill", ["no", "yes"]))
    model = CountForestClassifier(4.0, schema=schema).fit(frame, np.where(frame[0] > 0.5, "yes", "no"))
    named = frame.rename(columns=str)
    assert (model.model_.predict(frame[[1, 0]]) == model.model_.predict(named)).all()


NAMED_OTHERWISE = {"Age": "age", " age": "age", "Town": "town", "t_own": "town"}


@pytest.mark.parametrize(("there", "wanted"), NAMED_OTHERWISE.items())
def test_a_column_that_is_spelt_otherwise_is_named(there, wanted):
    table = frame()
    spelt = table.rename(columns={wanted: there})
    hint = f"the table has {there!r}: write the name there as in the schema"
    with pytest.raises(DataError, match=hint):
        CountForestClassifier(8.0, schema=SCHEMA).fit(spelt)
    model = CountForestClassifier(8.0, schema=SCHEMA, n_trees=1).fit(table)
    with pytest.raises(DataError, match=f"(?s)now missing:\n- {wanted}\n.*{hint}"):
        model.predict(spelt)
    with pytest.raises(DataError, match=hint):
        model.model_.predict(spelt)
    with pytest.raises(SchemaError, match=r"(?s)requires y to be passed.*the table has 'Ill'"):
        model.fit(table.rename(columns={"ill": "Ill"}))
    with pytest.raises(DataError, match=r"not the name of a column.\nHint: leave y out"):
        model.fit(table, "ill")


def test_what_is_lacking_for_a_prediction_is_said_in_our_words():
    table = frame()
    model = CountForestClassifier(8.0, schema=SCHEMA, n_trees=1).fit(table)
    with pytest.raises(DataError, match="now missing:\n- town\nHint: add what is missing"):
        model.predict(table[["age"]])
    with (
        pytest.warns(UserWarning, match="names"),
        pytest.raises(DataError, match=r"\nHint: give one column for"),
    ):
        model.predict(np.zeros((3, 1)))
    with pytest.raises(DataError, match="names of columns are text, or numbers, not both"):
        model.fit(table.rename(columns={"age": None}), table["ill"])
    for twice in ("age", "other"):
        two = pd.concat([table, table[[twice]]], axis=1)
        for read in (model.predict, model.model_.predict, model.fit):
            with pytest.raises(DataError, match=f"column '{twice}' stands there twice"):
                read(two)
    with pytest.raises(DataError, match=r"records are not a table yet.\nHint: give pandas.DataFrame"):
        model.predict(table.to_records(index=False))
    with pytest.raises(DataError, match=r"rows that name them as pandas.DataFrame"):
        model.predict(table.to_dict("records"))


@pytest.mark.parametrize("kind", ["numpy", "arrow"])
def test_dates_and_spans_of_time_are_no_numbers_and_it_is_said_what_to_do(kind):
    table = frame().drop(columns="age")
    days = pd.date_range("2020-01-01", periods=len(table))
    for values, hint in ((days, "say Date or DateTime"), (days - days[0], r"total_seconds\(\)")):
        dated = table.assign(age=values)
        with pytest.raises(DataError, match=f"'age' does not hold numbers.\nHint: .*{hint}"):
            CountForestClassifier(8.0, schema=SCHEMA).fit(
                dated if kind == "numpy" else pa.Table.from_pandas(dated)
            )


def test_streams_of_arrow_and_relations_of_duckdb_are_tables():
    table = frame()
    arrow = pa.Table.from_pandas(table)
    model = CountForestClassifier(8.0, schema=SCHEMA, n_trees=5).fit(arrow.to_reader(100))
    relation = duckdb.from_arrow(arrow)
    expected = model.predict(table)
    for made in (arrow.to_reader, lambda: arrow.combine_chunks().to_batches()[0], lambda: relation):
        assert (model.predict(made()) == expected).all() and (model.model_.predict(made()) == expected).all()
    assert (
        CountForestClassifier(8.0, schema=SCHEMA).fit(relation).predict(relation) == table["ill"]
    ).mean() > 0.8
    with pytest.raises(DataError, match="could not be read") as refused:
        model.predict(duckdb.sql("select cast('a secret' as int) age, 'a' town"))
    assert "secret" not in str(refused.value) and refused.value.__cause__ is None


def test_labels_are_scored_as_the_schema_reads_them():
    table = frame().assign(ill=lambda f: (f["ill"] == "yes").astype(int))
    schema = Schema(SCHEMA.features, Label("ill", [0, 1]))
    model = CountForestClassifier(8.0, schema=schema, n_trees=5).fit(table)
    expected = (model.predict(table) == table["ill"]).mean()
    texts = table["ill"].astype(str)
    for labels in (table["ill"], texts, texts.astype("category"), texts.tolist(), pl.Series(texts.tolist())):
        assert model.score(table, labels) == expected
    assert model.score(table, ["never seen"] * len(table)) == 0
    weights = np.arange(len(table))
    hits = model.predict(table) == table["ill"]
    assert model.score(table, texts, weights) == pytest.approx((hits * weights).sum() / weights.sum())
    with pytest.raises(DataError, match="different numbers of rows"):
        model.score(table, [0, 1])
