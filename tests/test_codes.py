"""Tables of every kind become the same codes; bad ones are refused and give nothing away."""

from __future__ import annotations

import math
import traceback
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet import Categorical, Continuous, Label, Schema, Target
from privet.data import encode, open_table
from privet.data.draft import draft_schema
from privet.data.outside import outside_counts
from privet.errors import DataError, SchemaError

SECRET = "SECRET-7731"
TABLE = {
    "height": [0.0, 2.5, None, 1.25, -3.0, 9.0],
    "age": [0, 120, 45, None, 200, -1],
    "town": ["north", "west", None, "east", "south", "north"],
    "ill": ["no", "yes", "no", "no", "yes", "yes"],
}
MIDDLE = 65_535 // 2
EXPECTED = np.array(
    [
        [0, 65_534, 65_535, MIDDLE, 0, 65_534],
        [0, 120, 45, 121, 120, 0],
        [0, 2, 3, 4, 1, 0],
    ]
)


def as_csv(tmp_path, suffix=".csv"):
    path = tmp_path / f"people{suffix}"
    pd.DataFrame(TABLE).to_csv(path, index=False)
    return path


def as_parquet(tmp_path):
    pq.write_table(pa.table(TABLE), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


SOURCES = {
    "pandas": lambda _: pd.DataFrame(TABLE),
    "pandas categories": lambda _: pd.DataFrame(TABLE).astype({"town": "category"}),
    "pandas objects": lambda _: pd.DataFrame(TABLE).astype(object),
    "polars": lambda _: pl.DataFrame(TABLE),
    "polars categories": lambda _: pl.DataFrame(TABLE).with_columns(pl.col("town").cast(pl.Categorical)),
    "arrow": lambda _: pa.table(TABLE),
    "csv": as_csv,
    "csv path as text": lambda tmp: str(as_csv(tmp)),
    "gzipped csv": lambda tmp: as_csv(tmp, ".csv.gz"),
    "parquet": as_parquet,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_gives_the_same_codes(source, schema, tmp_path):
    codes = encode(open_table(source(tmp_path), schema), schema)
    assert codes.features.dtype == np.uint16
    assert codes.features.flags.c_contiguous
    assert codes.features.tolist() == EXPECTED.tolist()
    assert codes.labels.tolist() == [0, 1, 0, 0, 1, 1]


def test_columns_are_found_by_name_not_by_place(schema):
    shuffled = pd.DataFrame(TABLE)[["ill", "town", "height", "age"]].assign(more=1)
    assert encode(open_table(shuffled, schema), schema).features.tolist() == EXPECTED.tolist()


def test_arrays_stand_in_the_order_of_the_schema(schema):
    array = pd.DataFrame(TABLE)[["height", "age", "town"]].to_numpy()
    codes = encode(open_table(array, schema), schema, TABLE["ill"])
    assert codes.features.tolist() == EXPECTED.tolist()


def test_arrays_of_numbers_are_read_in_one_pass_and_agree():
    schema = Schema([Continuous("a", -1, 1), Continuous("b", 0, 9, integer=True)], Label("y", [0, 1]))
    rng = np.random.default_rng(0)
    array = np.column_stack([rng.normal(0, 1, 10_000), rng.integers(-2, 12, 10_000)])
    array[::7, 0] = np.nan
    array[1, 0], array[2, 0] = np.inf, -np.inf
    labels = rng.integers(0, 2, 10_000)
    whole = encode(open_table(array, schema), schema, labels)
    frame = pd.DataFrame(array, columns=["a", "b"])
    by_column = encode(open_table(frame, schema), schema, labels)
    assert (whole.features == by_column.features).all()
    assert whole.features[0, 1] == 65_534 and whole.features[0, 2] == 0 and whole.features[0, 0] == 65_535


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, ">f8", ">i4", np.int8, bool])
def test_arrays_of_any_number_type_are_read(dtype):
    schema = Schema([Continuous("a", 0, 9, integer=True)], Label("y", [0, 1]))
    array = np.array([[0], [1]], dtype)
    assert encode(open_table(array, schema), schema, [0, 1]).features.tolist() == [[0, 1]]


def test_small_domains_take_one_byte(people):
    schema = Schema([Continuous("age", 0, 120, integer=True)], Label("ill", ["no", "yes"]))
    codes = encode(open_table(pd.DataFrame(people), schema), schema)
    assert codes.features.dtype == np.uint8


@given(st.floats(-10, 10), st.floats(0.001, 5))
def test_a_value_lies_in_the_cell_whose_edges_enclose_it(value, width):
    feature = Continuous("x", -5.0, -5.0 + width)
    schema = Schema([feature], Label("y", [0]))
    code = int(encode(open_table(np.array([[value]]), schema), schema, [0]).features[0, 0])
    clamped = min(max(value, feature.lower), feature.upper)
    slack = 1e-9 * max(1, abs(clamped))
    assert feature.edge(code) - slack <= clamped <= feature.edge(code + 1) + slack


def test_labels_match_by_value_whatever_their_type():
    schema = Schema([Continuous("x", 0, 1)], Label("y", ["0", "1"]))
    array = np.zeros((3, 1))
    for labels in ([0, 1, 1], np.array([0.0, 1.0, 1.0]), ["0", "1", "1"], pd.Series([0, 1, 1])):
        assert encode(open_table(array, schema), schema, labels).labels.tolist() == [0, 1, 1]


def test_truth_values_are_categories():
    schema = Schema([Categorical("x", [False, True])], Label("y", [0, 1]))
    frame = pd.DataFrame({"x": [True, False, None], "y": [0, 1, 0]})
    assert encode(open_table(frame, schema), schema).features.tolist() == [[1, 0, 2]]


@pytest.mark.parametrize("odd", [b"north", Decimal("2.25"), 7, "x" * 99, 3.5, True])
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_one_odd_value_never_changes_the_codes_of_others(odd, kind, schema):
    """Values that share no type are read one by one: no type is found from all of them."""
    towns = np.empty(4, object)
    towns[:] = ["north", "1.5", None, "west"]
    wards = Schema([Categorical("town", ["north", "west", "1.5"])], Label("y", [0, 1]))

    def codes(values):
        table = pd.DataFrame({"town": values}) if kind == "frame" else values[:, None]
        return encode(open_table(table, wards), wards, [0] * len(values)).features[0].tolist()

    assert codes(np.append(towns, [odd]))[:4] == codes(towns) == [0, 2, 3, 1]


def test_numbers_among_objects_are_read_one_by_one():
    ages = Schema([Continuous("age", 0, 120, integer=True)], Label("y", [0, 1]))
    values = np.array([3, None, Decimal("4"), 5.5, 10**400, np.int8(7), True], object)
    codes = encode(open_table(values[:, None], ages), ages, [0] * 7).features[0]
    assert codes.tolist() == [3, 121, 4, 5, 120, 7, 1]


def broken(**columns):
    return pd.DataFrame({**TABLE, **columns})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame(TABLE).drop(columns="town"), "'town' is missing"),
        (pd.DataFrame(TABLE).drop(columns=["town", "age"]), "and 1 more"),
        (pd.DataFrame(TABLE).drop(columns="ill"), "'ill' is missing"),
        (broken(age=[SECRET] * 6), "'age' does not hold numbers"),
        (broken(age=[1, 2, SECRET, 4, 5, 6]), "'age'"),
        (broken(town=[["a", SECRET]] * 6), "'town' does not hold categories"),
        (broken(ill=[SECRET, *TABLE["ill"][1:]]), "'ill' is missing, or not among"),
        (broken(ill=[None, *TABLE["ill"][1:]]), "'ill' is missing, or not among"),
        (pd.DataFrame(TABLE).iloc[:0], "no rows"),
        ({"height": [1.0]}, "cannot read a table from dict"),
        (pd.Series([1, 2]), "cannot read a table|single column"),
        (np.zeros((4, 2)), "2 columns"),
        (np.zeros(4), "no columns"),
        ("nowhere.csv", "no file"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_without_a_value(table, message, schema):
    with pytest.raises(DataError, match=message) as refused:
        encode(open_table(table, schema), schema)
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert SECRET not in repr(refused.value.__context__)


@pytest.mark.parametrize(
    "text",
    [
        f"height,age,town,ill\n1,{SECRET},north,no\n",
        f"height,age,town,ill\n1,2,north,no,{SECRET}\n",
        f"height,age,town,ill\n1,2,north,{SECRET}\n",
    ],
    ids=["not a number", "a field too many", "unknown label"],
)
def test_a_broken_csv_is_refused_without_a_value(text, schema, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(text)
    with pytest.raises(DataError) as refused:
        encode(open_table(path, schema), schema)
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert SECRET not in repr(refused.value.__context__)


@pytest.mark.parametrize("name", ["people.csv", "people.parquet", "people.txt"])
def test_files_that_are_no_tables_are_refused(name, schema, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe\x00 not a table")
    with pytest.raises(DataError):
        encode(open_table(path, schema), schema)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_target_is_read_as_a_feature_of_its_range_is(source, schema, tmp_path):
    table = {name: [0 if value is None else value for value in TABLE[name]] for name in ("height", "age")}
    predicted = Schema([schema.features[0]], Target("age", 0, 120, integer=True))
    read = encode(open_table(pd.DataFrame(table), predicted), predicted)
    as_feature = Schema([*schema.features[:2]], Label("ill", ["no", "yes"]))
    expected = encode(open_table(pd.DataFrame(table), as_feature), as_feature, with_label=False)
    assert read.labels.dtype == np.uint16
    assert read.labels.tolist() == expected.features[1].tolist()
    with pytest.raises(DataError, match="target 'age' is missing in some rows"):
        encode(open_table(source(tmp_path), predicted), predicted)


def test_counts_outside_a_target_are_exact(schema, tmp_path):
    predicted = Schema([schema.features[0]], Target("age", 0, 120, integer=True))
    assert outside_counts(as_csv(tmp_path), predicted)["age"] == {"missing": 1, "below": 1, "above": 1}


def test_labels_of_another_length_are_refused(schema):
    with pytest.raises(DataError, match="different numbers of rows"):
        encode(open_table(pd.DataFrame(TABLE), schema), schema, ["no"])


def test_real_tables_fit_their_schemas(data_dir, real_schemas):
    for name in ("adult", "diabetes130", "mushroom", "acs_income_ne", "mammographic"):
        schema = real_schemas[name]
        codes = encode(open_table(data_dir / f"{name}.csv.gz", schema), schema)
        assert codes.n_rows == schema.max_rows
        outside = outside_counts(data_dir / f"{name}.csv.gz", schema)
        unknown = {c for c, counts in outside.items() if set(counts) - {"missing"}}
        assert unknown == ({"bi_rads"} if name == "mammographic" else set())


def test_draft_of_a_public_sample_covers_it(tmp_path):
    path = as_csv(tmp_path)
    schema = draft_schema(path).schema
    assert [type(f).__name__ for f in schema.features] == ["Continuous", "Continuous", "Categorical"]
    assert schema.label == Label("ill", ["no", "yes"])
    assert schema.features[1].integer and schema.features[1].lower <= -1 and schema.features[1].upper >= 200
    assert schema.features[2].categories == ("east", "north", "south", "west")
    assert {c: k for c, k in outside_counts(path, schema).items() if set(k) - {"missing"}} == {}
    assert draft_schema(path, label="town").schema.label.name == "town"
    with pytest.raises(DataError, match="'tone' is missing"):
        draft_schema(path, label="tone")


def test_draft_refuses_a_label_of_too_many_values():
    frame = pd.DataFrame({"x": np.arange(2000.0), "y": [f"k{i}" for i in range(2000)]})
    with pytest.raises(SchemaError, match="more than 1,000 distinct"):
        draft_schema(frame)


def test_outside_counts_are_exact(schema, tmp_path):
    counts = outside_counts(as_csv(tmp_path), schema)
    assert counts == {
        "height": {"missing": 1, "below": 1, "above": 1},
        "age": {"missing": 1, "below": 1, "above": 1},
        "town": {"missing": 1, "unknown": 1},
        "ill": {},
    }
    path = tmp_path / "odd.csv"
    path.write_text("height,age,town,ill\nlong,3,north,no\n,nan,south,maybe\n")
    odd = outside_counts(path, schema)
    assert odd["height"] == {"missing": 1, "not a number": 1}
    assert odd["ill"] == {"unknown": 1}
    assert math.isclose(sum(odd["age"].values()), 1)


@pytest.mark.parametrize("listed", [[False, True], [0, 1], [np.False_, np.True_], [0.0, 1.0]])
def test_truth_values_are_found_however_a_file_writes_them(listed, tmp_path):
    schema = Schema([Categorical("smokes", listed)], Label("ill", ["no", "yes"]))
    for no, yes in (("0", "1"), ("0.0", "1.0"), ("False", "True"), ("false", "true")):
        path = tmp_path / f"{yes}.csv"
        path.write_text(f"smokes,ill\n{yes},no\n{no},no\n,yes\n")
        assert encode(open_table(path, schema), schema).features.tolist() == [[1, 0, 2]], (no, yes)


def test_a_listed_text_is_found_before_the_truth_value_that_it_spells():
    schema = Schema([Categorical("smokes", [True, False, "1"])], Label("ill", ["no", "yes"]))
    table = pa.table({"smokes": ["1", "1.0", "True"]})
    assert encode(open_table(table, schema), schema, ["no"] * 3).features.tolist() == [[2, 4, 0]]
