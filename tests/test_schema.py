"""The public contract: what it accepts, refuses, and keeps through JSON."""

from __future__ import annotations

import json
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import BoostingClassifier, Categorical, Continuous, Integer, Label, Schema, Target
from privet.data import encode, open_table
from privet.errors import DataError, SchemaError
from privet.model.words import condition_data, condition_text
from privet.schema import MAX_CELLS, canonical

LABEL = Label("y", [0, 1])


def test_json_keeps_everything(schema, tmp_path):
    bounded = Schema(schema.features, schema.label, max_rows=1000)
    bounded.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == bounded
    assert Schema.load(tmp_path / "s.json").fingerprint == bounded.fingerprint


def test_fingerprint_follows_what_constrains(schema):
    wider = Schema([Continuous("height", 0, 3), *schema.features[1:]], schema.label)
    assert wider.fingerprint != schema.fingerprint
    assert Schema(schema.features, schema.label, 5).fingerprint != schema.fingerprint


def test_entries_of_the_data_folder_are_schemas_as_they_stand(real_schemas):
    adult = real_schemas["adult"]
    assert len(real_schemas) == 22
    assert [f.name for f in adult.features][:2] == ["age", "workclass"]
    assert adult.features[0] == Continuous("age", 17, 90, integer=True, missing=False)
    assert adult.features[1].missing
    assert adult.label == Label("label", ["<=50K", ">50K"])
    assert adult.max_rows == 48842
    for schema in real_schemas.values():
        assert Schema.from_dict(schema.to_dict()) == schema


def test_cells_of_a_range():
    assert Continuous("x", 0, 1).n_cells == MAX_CELLS
    assert Continuous("x", 17, 90, integer=True).n_cells == 74
    assert Continuous("x", 0, 10**9, integer=True).n_cells == MAX_CELLS
    assert Continuous("x", 17, 90, integer=True).edge(3) == 20
    assert Continuous("x", -1.0, 1.0).edge(0) == -1
    assert Categorical("c", ["a", "b"]).n_codes == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Continuous("x", 1, 1), "lower must be below upper"),
        (lambda: Continuous("x", 2, 1), "lower must be below upper"),
        (lambda: Continuous("x", 0, float("inf")), "finite"),
        (lambda: Continuous("x", 0, 10**400), "finite"),
        (lambda: Continuous("x", -1.7e308, 1.7e308), "too wide"),
        (lambda: Continuous("x", "0", 1), "must be numbers"),
        (lambda: Continuous("x", 0.5, 3, integer=True), "integers need integer bounds"),
        (lambda: Continuous("x", 0, 5e-324), "too narrow"),
        (lambda: Continuous("", 0, 1), "need a name"),
        (lambda: Categorical("x", []), "no values"),
        (lambda: Categorical("x", ["a", "a"]), "twice"),
        (lambda: Categorical("x", [1, "1"]), "twice"),
        (lambda: Categorical("x", [None]), "text, numbers"),
        (lambda: Categorical("x", range(70_000)), "more than"),
        (lambda: Label("y", []), "no values"),
        (lambda: Schema([], LABEL), "at least one feature"),
        (lambda: Schema([Continuous("y", 0, 1)], LABEL), "more than once"),
        (lambda: Schema([Continuous("x", 0, 1)] * 2, LABEL), "more than once"),
        (lambda: Schema([Continuous("x", 0, 1)], LABEL, max_rows=0), "max_rows"),
        (lambda: Schema([Continuous("x", 0, 1)], LABEL, max_rows=True), "max_rows"),
        (lambda: Schema([Continuous("x", 0, 1)], LABEL, max_rows=9.0), "max_rows"),
        (lambda: Schema.from_dict({"features": []}), "not a schema"),
        (lambda: Schema.from_dict([]), "not a schema"),
        (lambda: Schema.from_dict({"features": [{"name": "x", "type": "text"}], "label": {}}), "type"),
        (lambda: Schema.load("nowhere.json"), "no schema file"),
    ],
)
def test_a_wrong_schema_is_refused_with_a_reason(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


def test_the_number_of_rows_is_a_plain_number():
    schema = Schema([Continuous("x", 0, 1)], LABEL, max_rows=np.int64(9))
    assert type(schema.max_rows) is int
    assert schema.fingerprint == Schema(schema.features, LABEL, max_rows=9).fingerprint


def test_a_file_that_is_not_json_is_refused(tmp_path):
    (tmp_path / "s.json").write_text("{")
    with pytest.raises(SchemaError, match="is not JSON"):
        Schema.load(tmp_path / "s.json")


def test_keys_that_do_not_constrain_are_passed_over(schema):
    data = json.loads(json.dumps(schema.to_dict()))
    data["note"] = data["features"][0]["note"] = "from the code book"
    assert Schema.from_dict(data) == schema


def test_values_are_found_whatever_type_a_table_reads_them_as():
    assert canonical(2) == canonical(2.0) == canonical("2") == "2"
    assert canonical(2.5) == "2.5"
    assert canonical(float("nan")) == "nan"


def test_a_target_is_a_number_on_a_grid(tmp_path):
    schema = Schema([Continuous("x", 0, 1)], Target("price", 0, 500), max_rows=10)
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema
    assert schema.target.n_cells == MAX_CELLS
    assert schema.target.value(0) == pytest.approx(250 / MAX_CELLS)
    assert Target("rings", 0, 30, integer=True).value(7) == 7
    assert schema.fingerprint != Schema(schema.features, Target("price", 0, 400), 10).fingerprint


def test_entries_with_a_target_are_schemas_as_they_stand():
    entry = {
        "file": "abalone.csv.gz",
        "group": "A",
        "rows": 4177,
        "target": {"name": "target", "original_name": "rings", "lower": 0, "upper": 30, "integer": True},
        "features": [
            {"name": "length", "type": "continuous", "lower": 0, "upper": 1, "allow_missing": False}
        ],
    }
    assert Schema.from_dict(entry) == Schema(
        [Continuous("length", 0, 1, missing=False)], Target("target", 0, 30, integer=True), 4177
    )


OPEN = Schema(
    [Continuous("income"), Integer("children"), Categorical("town"), Continuous("age", 0, 99)], LABEL
)


def test_open_features_are_kept_through_json_and_others_have_the_fingerprint_they_had():
    assert OPEN.open_features == [0, 1, 2]
    assert Schema.from_dict(json.loads(json.dumps(OPEN.to_dict()))) == OPEN
    assert OPEN.features[1] == Continuous("children", integer=True)
    assert set(OPEN.to_dict()["features"][0]) == {"name", "type", "integer", "missing"}
    assert set(OPEN.to_dict()["features"][2]) == {"name", "type", "ordered", "missing"}
    bounded = Schema([Continuous("x", 0, 1), Categorical("c", ["a"])], LABEL)
    assert bounded.fingerprint == "b64c9928fc196e640ba500a08b0407ea"


def test_what_was_found_says_what_was_declared():
    found = OPEN.filled(
        {
            0: Continuous("income", 0, 4096, declared=OPEN.features[0]),
            2: Categorical("town", ["north"], declared=OPEN.features[2]),
        }
    )
    assert found.open_features == [1]
    assert found.declared == OPEN
    assert OPEN.declared is OPEN
    assert found.fingerprint != OPEN.fingerprint
    assert Schema.from_dict(found.to_dict()) == found
    narrowed = Continuous("age", 0, 99).opened
    assert narrowed.is_open
    assert narrowed.declared == Continuous("age", 0, 99)
    assert narrowed.opened is narrowed


def test_cells_of_the_whole_line_hold_every_float_in_order():
    line = Continuous("x")
    edges = [line.edge(cell) for cell in range(line.n_cells + 1)]
    assert line.n_codes == 65_505
    assert edges == sorted(edges)
    assert (edges[0], edges[-1]) == (-sys.float_info.max, sys.float_info.max)
    assert edges[line.n_cells // 2] == 0
    wide = [high / low for low, high in pairwise(edges) if low > 1e-300]
    assert max(wide) == 17 / 16


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Target("y", 1, 1), "target 'y': lower must be below upper"),
        (lambda: Schema([Target("y", 0, 1)], LABEL), "beside its features"),
        (lambda: Schema([Continuous("x", 0, 1)], Continuous("y", 0, 1)), "one label or target"),
        (lambda: Schema.from_dict({"features": [], "label": {}, "target": {}}), "not both"),
        (lambda: Schema([Continuous("x", 0, 1)], Target("y", 0, 1)).classes, "use a regressor"),
        (lambda: Schema([Continuous("x", 0, 1)], LABEL).target, "use a classifier"),
    ],
)
def test_targets_that_are_refused(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Target("y", 0), "has one bound"),
        (lambda: Continuous("x", 1), "one bound"),
        (lambda: Continuous("x", None, 1), "one bound"),
        (lambda: Categorical("c", ordered=True), "an order needs a list"),
        (lambda: Categorical("c", []), "has no values"),
        (lambda: Continuous("x", 0, 1, declared=Categorical("x")), "declared as something else"),
        (lambda: Continuous("x", 0, 1, declared=Continuous("z")), "declared as something else"),
        (lambda: Continuous("x", 0, 1, declared=OPEN.features[0].opened), "declared as something else"),
    ],
)
def test_half_open_features_are_refused(make, message):
    with pytest.raises(SchemaError, match=message):
        make()


def test_codes_have_labels_that_readers_see_and_that_no_contract_depends_on():
    plain = Schema([Categorical("work", [1021, 1022, 1])], Label("y", ["no", "yes"]))
    labelled = Categorical("work", [1021, 1022, 1], labels={"1021": "Sales manager", 1.0: "Farmer"})
    schema = Schema([labelled], plain.label)
    assert labelled.names == ["Sales manager", "1022", "Farmer"]
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema != plain
    assert schema.fingerprint == plain.fingerprint and hash(labelled) is not None
    assert condition_text(labelled, np.array([1, 0, 0, 0, 0], bool)) == "work = Sales manager"
    assert condition_data(labelled, np.array([1, 0, 0, 0, 0], bool))["categories"] == [1021]
    with pytest.raises(SchemaError):
        Categorical("work", labels={"1021": "Sales manager"})
    for wrong in ({"5": "five"}, {"1021": 5}, "Sales", {"1021": None}):
        with pytest.raises(SchemaError):
            Categorical("work", [1021], labels=wrong)


WAYS_OF_TRUTH = {
    "numpy": np.array,
    "small numbers": lambda v: np.array(v, np.int8),
    "floats": lambda v: np.array(v, np.float32),
    "objects": lambda v: np.array(v, object),
    "objects of numpy": lambda v: np.array(list(np.array(v)), object),
    "pandas": pd.Series,
    **{
        f"pandas {d}": (lambda v, d=d: pd.Series(v).astype(d))
        for d in ("boolean", "Int64", "str", "category")
    },
    "pandas bool[pyarrow]": lambda v: pd.Series(v).astype(bool).astype("bool[pyarrow]"),
    "polars": pl.Series,
    "polars Boolean": lambda v: pl.Series(v).cast(pl.Boolean),
    "Arrow": lambda v: pa.chunked_array([v]),
    "Arrow bool": lambda v: pa.chunked_array([[bool(x) for x in v]]),
}
LISTS = [[0, 1], [0.0, 1.0], [False, True], ["0", "1"], ["False", "True"], ["false", "true"]]
LISTS += [list(np.array([0, 1])), list(np.array([False, True]))]


@pytest.mark.parametrize("way", WAYS_OF_TRUTH)
@pytest.mark.parametrize("listed", LISTS, ids=str)
def test_truth_values_and_numbers_meet_in_every_way_in(way, listed):
    schema = Schema([Categorical("c", listed)], Label("y", listed))
    for values in ([1, 0, 1, 1, 0], [True, False, True, True, False]):
        column = WAYS_OF_TRUTH[way](values)
        frames = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame, pa.ChunkedArray: pa.table}
        make = frames.get(type(column), lambda held: held["c"][:, None])
        found = encode(open_table(make({"c": column}), schema), schema, column)
        assert found.features[0].tolist() == found.labels.tolist() == [1, 0, 1, 1, 0]


def test_a_lazy_frame_is_refused_in_our_words(schema):
    frame = pl.DataFrame({"height": [1.0], "age": [3], "town": ["north"], "ill": ["no"]})
    assert len(encode(open_table(frame, schema), schema).labels) == 1
    for read in (lambda rows: open_table(rows, schema), BoostingClassifier(schema=schema).fit):
        with pytest.raises(DataError, match="collect"):
            read(frame.lazy())
