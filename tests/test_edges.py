"""Where rows become codes: a row's code depends on that row and the schema alone, and nothing else shows.

Codes are compared with those of each value in a table of its own, over every way that rows come in.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import threading
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privet import Categorical, Continuous, CountForestClassifier, Label, Schema
from privet.data import encode, open_table
from privet.data.discreet import discreet
from privet.data.lines import LONGEST_LINE
from privet.data.values import Lookup
from privet.errors import DataError, PrivetError, SchemaError
from privet.estimators import rows

LABEL = Label("y", ["no", "yes"])
KINDS = Schema([Categorical("c", [0, 1, 1.5, 2.25, "a", "b", 0.1, 2**60, 1e16])], LABEL)
RANGE = Schema([Continuous("c", -1, 3)], LABEL)
FOREST = CountForestClassifier(epsilon=1.0, n_trees=1, max_depth=1, structure="bojarski")


class Colour(str):
    """A text that calls itself otherwise."""

    def __str__(self):
        return "red"


class Loud:
    """A value that warns, and fails, when it is asked what it is."""

    def __str__(self):
        warnings.warn("SECRET", stacklevel=1)
        raise RuntimeError("SECRET")


def outcome(source, schema, labels="no", column=0):
    """Codes, or the type and text of the refusal; warnings and errors of others fail."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result, error = None, None
        try:
            table = open_table(source, schema)
            found = encode(table, schema, labels, with_label=not isinstance(labels, str))
            result = (found.features[column] if isinstance(labels, str) else found.labels).tolist()
        except PrivetError as refused:
            error = refused
    assert [str(warning.message) for warning in seen] == []
    if error is None:
        return result
    assert error.__context__ is None and error.__cause__ is None
    return type(error), str(error)


def array(values):
    held = np.empty(len(values), object)
    held[:] = values
    return held


def alone(value, schema):
    """Code of a value in a table of its own."""
    return outcome(np.fromiter([value], object, 1)[:, None], schema)[0]


def coded(arrow):
    return arrow.dictionary_encode()


def chunked(values, kind):
    half = len(values) // 2
    return pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)])


def numpy_of(dtype):
    return lambda values, _: np.array(values, dtype)[:, None]


def pandas_of(dtype):
    return lambda values, _: pd.DataFrame({"c": pd.Series(values, dtype=dtype)})


def polars_of(dtype):
    return lambda values, _: pl.DataFrame({"c": pl.Series("c", values, dtype=dtype, strict=False)})


def arrow_of(kind):
    return lambda values, _: pa.table({"c": pa.array(values, kind)})


def as_category(values, _):
    place = {}
    codes = [-1 if pd.isna(value) else place.setdefault(value, len(place)) for value in values]
    with np.errstate(all="ignore"):  # pandas compares categories with each other
        return pd.DataFrame({"c": pd.Categorical.from_codes(codes, pd.Index(list(place), dtype=object))})


def arrow_halves(values, _):
    return pa.table({"c": pa.array([None if v is None else np.float16(v) for v in values], pa.float16())})


def as_csv(values, folder, name="t.csv"):
    path = folder / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["c", "other"], *[["" if v is None else v, "x"] for v in values]])
    return path


def as_parquet(kind, **options):
    def make(values, folder):
        pq.write_table(pa.table({"c": pa.array(values, kind)}), folder / "t.parquet", **options)
        return folder / "t.parquet"

    return make


HUGE = np.longdouble("1e4000")
NOTHING = [None, float("nan"), pd.NA, pd.NaT, np.float32("nan"), Decimal("NaN"), np.datetime64("NaT", "s")]
NUMBERS = [
    *(True, False, 0, 1, 2, 1.0, 1.5, -0.0, float("inf"), 10**400, -(10**400), 2**60, 10**16, 1e16, 0.1),
    *(np.bool_(True), np.int8(1), np.int8(-128), np.uint64(2**60), np.float16(1.5), np.float32(1.5)),
    *(np.float64(1), np.longdouble(1.5), HUGE, Fraction(3, 2), Fraction(1, 3)),
    *(Decimal("1.50"), Decimal("1"), Decimal("2.25000"), Decimal("0.1"), Decimal("1E+999999")),
    *(Decimal("Infinity"), Decimal(2**60), Decimal("1E-999999")),
]
OTHERS = [
    *("a", "b", "A", "1", "1.0", "1.50", "True", "nan", "", "\ud800", np.str_("a"), Colour("a")),
    *(b"a", np.bytes_(b"a"), bytearray(b"a"), 1 + 0j, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 3)),
    *(pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01"), dt.timedelta(1), Loud()),
]
ODD = [*NOTHING, *NUMBERS, *OTHERS]
NOT_OF_PANDAS = {*map(repr, [10**400, -(10**400), Decimal("1E+999999"), Decimal("1E-999999"), HUGE, 1 + 0j])}
HASHED = [v for v in ODD if not isinstance(v, bytearray | Loud) and repr(v) not in NOT_OF_PANDAS]
GUESSED = [None, float("nan"), True, 0, 1, 2, 1.5, 10**400, "a", "1", b"a", Decimal("1.50"), Fraction(3, 2)]
SMALL, NULLABLE = [0, 1, 2, 3], [None, 0, 1, 2, 3]
FLOATS, REALS = [0.0, 1.0, 1.5, -2.0, 2.25], [None, 0.0, 1.0, 1.5, 2.25, -0.0]
TRUE, TRUTH = [False, True], [None, False, True]
TEXTS, TEXT = ["a", "b", "c", "1", "1.0"], [None, "a", "b", "c", "1", "True"]
DECIMALS = [None, *map(Decimal, ["1.50", "2.25", "0.10", "1.00", "-0.30"])]

OBJECTS = {
    "array of objects": (lambda values, _: array(values)[:, None], ODD),
    "pandas objects": (pandas_of(object), ODD),
    "pandas category of objects": (as_category, HASHED),
    "pandas, type guessed": (lambda values, _: pd.DataFrame({"c": values}), GUESSED),
    "polars objects": (lambda values, _: pl.DataFrame({"c": pl.Series("c", values, dtype=pl.Object)}), ODD),
    "list of rows": (lambda values, _: rows.validated(FOREST, [[v] for v in values], reset=True), ODD),
    "tuple of arrays": (
        lambda values, _: rows.validated(FOREST, tuple(array([v]) for v in values), reset=True),
        ODD,
    ),
}
TYPED = {
    **{f"numpy {d}": (numpy_of(d), SMALL) for d in ("i1", "i4", ">i4", "i8", "u1", "u2", ">u8", "u8")},
    **{f"numpy {d}": (numpy_of(d), FLOATS) for d in ("f2", "f4", "f8", ">f4", ">f8", np.longdouble)},
    "numpy bool": (numpy_of(bool), TRUE),
    "numpy masked": (
        lambda values, _: np.ma.array(
            [[0 if v is None else v] for v in values], "f8", mask=[[v is None] for v in values]
        ),
        REALS,
    ),
    **{f"pandas {d}": (pandas_of(d), SMALL) for d in ("int64", "uint8", "int64[pyarrow]", "category")},
    **{f"pandas {d} with NA": (pandas_of(d), NULLABLE) for d in ("Int8", "UInt64", "int32[pyarrow]")},
    **{f"pandas {d}": (pandas_of(d), REALS) for d in ("float32", "float64", "Float64", "Sparse[float]")},
    "pandas double[pyarrow]": (pandas_of("double[pyarrow]"), REALS),
    "pandas boolean": (pandas_of("boolean"), TRUTH),
    "pandas bool": (pandas_of("bool"), TRUE),
    **{f"polars {d}": (polars_of(d), NULLABLE) for d in (pl.Int8, pl.UInt64, pl.Int128, pl.Float16)},
    **{f"polars {d}": (polars_of(d), REALS) for d in (pl.Float32, pl.Float64)},
    "polars Boolean": (polars_of(pl.Boolean), TRUTH),
    "polars Decimal": (polars_of(pl.Decimal(20, 4)), DECIMALS),
    "polars Null": (polars_of(pl.Null), [None]),
    **{f"arrow {k}": (arrow_of(k), NULLABLE) for k in (pa.int8(), pa.uint64(), pa.float32())},
    **{f"arrow {k}": (arrow_of(k), DECIMALS) for k in (pa.decimal32(5, 2), pa.decimal64(9, 3))},
    **{f"arrow {k}": (arrow_of(k), DECIMALS) for k in (pa.decimal128(30, 12), pa.decimal256(60, 30))},
    "arrow halves": (arrow_halves, REALS),
    "arrow bool": (arrow_of(pa.bool_()), TRUTH),
    "arrow null": (arrow_of(pa.null()), [None]),
    "arrow dictionary": (lambda values, _: pa.table({"c": coded(chunked(values, pa.float64()))}), REALS),
    "arrow dictionary of decimals": (
        lambda values, _: pa.table({"c": coded(chunked(values, pa.decimal128(9, 5)))}),
        DECIMALS,
    ),
    "arrow record batch": (lambda values, _: pa.record_batch({"c": pa.array(values, pa.int8())}), NULLABLE),
    "csv": (as_csv, [None, "1", "1.5", "2.25", "0.10", "1.0", "-0.0", "inf"]),
    "parquet": (as_parquet(pa.float32()), REALS),
    "parquet decimals": (as_parquet(pa.decimal128(9, 5)), DECIMALS),
}
WORDS = {
    **{f"numpy {d}": (numpy_of(d), TEXTS) for d in ("U", ">U5", np.dtypes.StringDType())},
    **{f"pandas {d}": (pandas_of(d), TEXT) for d in ("string", "string[python]", "str", "category")},
    "pandas string[pyarrow]": (pandas_of(pd.ArrowDtype(pa.large_string())), TEXT),
    **{f"polars {d}": (polars_of(d), TEXT) for d in (pl.String, pl.Categorical)},
    "polars Enum": (polars_of(pl.Enum(["a", "b", "c", "1", "True", *map(str, range(5, 256))])), TEXT),
    **{f"arrow {k}": (arrow_of(k), TEXT) for k in (pa.string(), pa.large_string(), pa.string_view())},
    "arrow binary": (arrow_of(pa.binary()), [None, b"a", b"b", b""]),
    "arrow dictionary": (lambda values, _: pa.table({"c": coded(chunked(values, pa.string()))}), TEXT),
    "csv": (as_csv, [None, "a", "b", "1", "1.0", "True", 'say "a"', "a,b", 1, 1.0, 1.5, True, 10**16]),
    "gzipped csv": (lambda values, folder: zipped(as_csv(values, folder)), TEXT),
    "parquet": (as_parquet(pa.string()), TEXT),
    "parquet with a dictionary": (as_parquet(pa.dictionary(pa.int8(), pa.string())), TEXT),
}


def zipped(path):
    target = path.with_suffix(".csv.gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def tables(pool, seed, n_tables=25):
    """Tables of values of a pool: mixed, or with a hundred of one value before or behind the others."""
    rng = np.random.default_rng(seed)
    for i in range(n_tables):
        some = [pool[j] for j in rng.integers(len(pool), size=rng.integers(1, 7))]
        many = [pool[rng.integers(len(pool))] if i % 2 else pool[0]] * 100
        yield [some, many + some, some + many, many][i % 4]


def neighbours(values, pool, rng):
    """One row removed, added or altered at the start, in the middle and at the end."""
    for place in (0, len(values) // 2, len(values) - 1):
        before, behind = values[:place], values[place + 1 :]
        odd = pool[rng.integers(len(pool))]
        yield before, [odd], [values[place], *behind]
        yield before, [odd], behind
        if before or behind:
            yield before, [], behind


def check(make, pool, schema, folder):
    rng = np.random.default_rng(7)
    expected = {id(value): alone(value, schema) for value in pool}
    for values in tables(pool, 3):
        codes = [expected[id(value)] for value in values]
        assert outcome(make(values, folder), schema) == codes
        for before, odd, behind in neighbours(values, pool, rng):
            changed = [*before, *odd, *behind]
            found = outcome(make(changed, folder), schema)
            assert found == [expected[id(value)] for value in changed]


@pytest.mark.parametrize(("make", "pool"), OBJECTS.values(), ids=OBJECTS)
def test_objects_are_read_one_by_one_as_categories(make, pool, tmp_path):
    check(make, pool, KINDS, tmp_path)


@pytest.mark.parametrize(("make", "pool"), OBJECTS.values(), ids=OBJECTS)
def test_objects_are_read_one_by_one_as_numbers(make, pool, tmp_path):
    check(make, [value for value in pool if isinstance(alone(value, RANGE), int)], RANGE, tmp_path)


MISFITS = {"a text": ("a", RANGE), "a date": (dt.date(2020, 1, 1), RANGE), "a list": ([1], KINDS)}


@pytest.mark.parametrize(("value", "schema"), MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("kind", OBJECTS)
def test_a_misfit_is_refused_in_the_same_words_wherever_it_stands(kind, value, schema, tmp_path):
    if kind in ("pandas category of objects", "pandas, type guessed"):
        return  # cannot hold a list, or takes dates for a type of their own
    make, _ = OBJECTS[kind]
    wanted = "numbers" if schema is RANGE else "categories"
    for others in ([], [1, None], [None] * 120, [1.5] * 120):
        for place in (0, len(others) // 2, len(others)):
            kind_of_error, text = outcome(make([*others[:place], value, *others[place:]], tmp_path), schema)
            assert kind_of_error is DataError and text.startswith(f"column 'c' does not hold {wanted}.\n")


@pytest.mark.parametrize(("make", "pool"), TYPED.values(), ids=TYPED)
@pytest.mark.parametrize("schema", [KINDS, RANGE], ids=["categories", "numbers"])
def test_numbers_of_any_type_are_read_as_the_same_numbers_are_alone(make, pool, schema, tmp_path):
    if isinstance(pool[1:] and pool[1], str):  # a file's texts are numbers where the schema wants some
        check_texts_as_numbers(make, pool, schema, tmp_path)
    else:
        check(make, pool, schema, tmp_path)


def check_texts_as_numbers(make, pool, schema, folder):
    numbers = [None if value is None else float(value) for value in pool]
    expected = dict(zip(pool, [alone(value, schema) for value in numbers], strict=True))
    for values in tables(pool, 3):
        assert outcome(make(values, folder), schema) == [expected[value] for value in values]


@pytest.mark.parametrize(("make", "pool"), WORDS.values(), ids=WORDS)
def test_texts_of_any_type_are_read_as_the_same_texts_are_alone(make, pool, tmp_path):
    check(make, pool, KINDS, tmp_path)


# Labels.

TRUTHS = Label("y", [True, False])
LABELS = {
    "list": (list, None),
    "tuple": (tuple, None),
    "objects": (array, "O"),
    "pandas objects": (lambda values: pd.Series(values, dtype=object), "O"),
    "pandas category": (lambda values: pd.Series(array(values)).astype("category"), None),
    "polars objects": (lambda values: pl.Series(values, dtype=pl.Object), "O"),
}
LISTED = {
    "texts of numbers": (["0", "1"], [0, 1, 1.0, "0", True, np.int8(1), Decimal("0.0"), np.bool_(False)]),
    "numbers": ([0, 1], [0, 1, 1.0, "0", True, np.int8(1), Decimal("0.0"), np.bool_(False)]),
    "truth values": ([False, True], [0, 1, 1.0, "False", True, "1", np.bool_(False)]),
    "texts of truth values": (["False", "True"], [0, 1, 1.0, "False", True, "1", np.bool_(False)]),
    "both": ([True, False, 0, 1], [True, False, 0, 1, "True", "1", 1.0, np.bool_(True), np.uint8(0)]),
    "texts": (["t0", "t1", "7"], ["t0", "t1", 7, "7", 7.0]),
}


@pytest.mark.parametrize(("make", "kind"), LABELS.values(), ids=LABELS)
@pytest.mark.parametrize(("values", "pool"), LISTED.values(), ids=LISTED)
def test_no_label_changes_how_another_is_read_or_how_all_are_written(make, kind, values, pool):
    schema = Schema([Continuous("x", 0, 1)], Label("y", values))
    if make is LABELS["pandas category"][0] and values == [True, False, 0, 1]:
        pool = [True, False, "1", "0"]  # pandas itself takes True and 1 for one category
    expected = {id(value): outcome(np.zeros((1, 1)), schema, [value])[0] for value in pool}
    rng = np.random.default_rng(1)
    X, written = np.zeros((110, 1)), set()
    for some in tables(pool, 5, 10):
        for before, odd, behind in [([], [], some), *neighbours(some, pool, rng)]:
            now = [*before, *odd, *behind]
            codes = outcome(X[: len(now)], schema, make(now))
            assert codes == [expected[id(value)] for value in now]
            y = rows.validated_labels(X[: len(now)], make(now))
            classes = rows.classes(schema.label.values, y)
            written.add((classes.dtype.str if kind is None else classes.dtype.kind, tuple(classes.tolist())))
    ((dtype, classes),) = written
    assert len(set(classes)) == len(values)
    if all(isinstance(value, str) for value in values):
        assert dtype == (kind or np.array(values).dtype.str)


DECLARED = {
    "int": (lambda y: np.array(y, np.int16), "i"),
    "float": (lambda y: np.array(y, float), "f"),
    "bool": (lambda y: np.array(y, bool), "b"),
    "text": (lambda y: np.array(y, str), "U"),
    "Series": (lambda y: pd.Series(y, dtype="int64"), "i"),
    "nullable Series": (lambda y: pd.Series(y, dtype="Int64"), "i"),
    "boolean Series": (lambda y: pd.Series(y, dtype="boolean"), "b"),
    "Series of text": (lambda y: pd.Series(list(map(str, y)), dtype="string"), "U"),
    "category": (lambda y: pd.Series(y, dtype=pd.CategoricalDtype([0, 1])), "U"),
    "polars": (lambda y: pl.Series(y, dtype=pl.Int8), "i"),
    "arrow": (lambda y: pa.array(y, pa.int32()), "i"),
    "arrow dictionary": (lambda y: pa.array(y, pa.int32()).dictionary_encode(), "i"),
    "a frame of one column": (lambda y: pd.DataFrame({"y": np.array(y)}), "i"),
}


@pytest.mark.parametrize(("make", "kind"), DECLARED.values(), ids=DECLARED)
def test_labels_are_written_in_the_type_that_y_declares(make, kind):
    values = ["False", "True"] if kind == "b" else ["0", "1"]
    schema = Schema([Continuous("x", 0, 1)], Label("y", values))
    for y in ([0, 1, 1], [0, 0, 0]):
        labels = rows.validated_labels(np.zeros((3, 1)), make(y))
        assert rows.classes(values, labels).dtype.kind == kind
        assert outcome(np.zeros((3, 1)), schema, labels) == y


@pytest.mark.filterwarnings("error")
def test_no_warning_tells_how_many_labels_there_are_among_how_many_rows():
    schema = Schema([Continuous("x", 0, 1)], Label("town", [f"t{i}" for i in range(30)]))
    for n_rows in (40, 41, 42):
        y = [f"t{i % 21}" for i in range(n_rows)]
        for labels in (y, np.array(y), pd.Series(y, dtype=object)):
            FOREST.set_params(schema=schema).fit(np.zeros((n_rows, 1)), labels)


# Errors.

SECRET = "51234"
UNREADABLE = {
    "ragged": ([[34.0, 51234.0], [71.0]], [0, 1]),
    "ragged arrays": ([np.zeros((2, 2)), np.zeros((2, 3))], [0, 1]),
    "a text for a row": ([[34.0, 51234.0], "ab"], [0, 1]),
    "one dimension": (np.array([34.0, 51234.0]), [0, 1]),
    "a list of numbers": ([34.0, 51234.0], [0, 1]),
    "three dimensions": (np.full((2, 2, 2), 51234.0), [0, 1]),
    "lists within rows": ([[[1, 51234], [3, 4]], [[5, 6], [7, 8]]], [0, 1]),
    "complex": (np.array([[34.0, 51234.0 + 0j]] * 2), [0, 1]),
    "dates": (np.full((2, 2), "2020-05-12", "M8[D]"), [0, 1]),
    "lengths": (np.zeros((51234, 2)), [0] * 51233),
    "labels in two columns": (np.zeros((2, 2)), np.full((2, 2), 51234)),
    "lists for labels": (np.zeros((2, 2)), [[51234, 0], [0, 1]]),
    "complex labels": (np.zeros((2, 2)), np.array([51234j, 1])),
    "labels of no list": (np.zeros((2, 2)), 51234),
    "other numbers": (np.zeros((3, 2)), [0.5, 51234.25, 3.0]),
    "a mapping": ({"age": [51234]}, [0]),
    "bytes": (b"51234", [0]),
}


@pytest.mark.parametrize(("X", "y"), UNREADABLE.values(), ids=UNREADABLE)
def test_errors_of_an_estimator_quote_no_row_and_count_none(X, y):
    schema = Schema([Continuous("age", 0, 120), Continuous("salary", 0, 1e6)], Label("ill", [0, 1]))
    with pytest.raises(PrivetError) as refused:
        FOREST.set_params(schema=schema).fit(X, y)
    error = refused.value
    assert error.__context__ is None and error.__cause__ is None
    assert SECRET not in str(error) and "51233" not in str(error)


def test_a_single_odd_row_of_a_list_is_refused_in_the_same_words_wherever_it_stands():
    texts = set()
    for place in range(3):
        for odd in ([1.0], [1.0, 2.0, 3.0], 7.0, "ab", None):
            X = [[0.0, 1.0]] * 3
            X[place] = odd
            with pytest.raises(DataError) as refused:
                rows.validated(FOREST, X, reset=True)
            texts.add(str(refused.value))
    assert len(texts) == 1


@pytest.mark.parametrize("column", ["complex64", "datetime64[s]", "timedelta64[s]"])
@pytest.mark.parametrize("schema", [KINDS, RANGE], ids=["categories", "numbers"])
def test_a_type_that_cannot_be_read_is_refused_whatever_the_values(column, schema):
    for values in (np.zeros(2, column), np.ones(2, column)):
        for source in (values[:, None], pd.DataFrame({"c": values})):
            assert outcome(source, schema)[0] is DataError
    dates = pd.Series(["2020-01-01", None], dtype="datetime64[ns, UTC]")
    for source in (pd.DataFrame({"c": dates}), pl.DataFrame({"c": dates}), pa.table({"c": pa.array(dates)})):
        assert outcome(source, schema)[0] is DataError


# Values that once moved others.


def test_decimals_are_rounded_by_themselves_whatever_the_scale_of_their_column():
    edges = Schema([Continuous("c", 0, 655.35)], LABEL)
    values = [Decimal(k) / 100 for k in range(0, 65_535, 7)]
    expected = [alone(value, edges) for value in values]
    assert expected == [alone(float(value), edges) for value in values]
    for kind in (pa.decimal128(5, 2), pa.decimal128(38, 3), pa.decimal128(38, 20), pa.decimal256(60, 50)):
        assert outcome(pa.table({"c": pa.array(values, kind)}), edges) == expected


def test_integers_at_the_end_of_their_type_are_categories():
    top = 2**64 - 1
    schema = Schema([Categorical("c", [str(top), str(top - 5)])], LABEL)
    for values, codes in (([top, top - 5, top - 1], [0, 1, 3]), ([top, 0], [0, 3])):
        assert outcome(np.array(values, np.uint64)[:, None], schema) == codes
    low = Schema([Categorical("c", [-128, 127])], LABEL)
    assert outcome(np.array([[-128], [127], [0]], np.int8), low) == [0, 1, 3]


@pytest.mark.parametrize("listed", [[0, 1], [False, True], [1.5, "x"], ["0"]], ids=str)
@pytest.mark.parametrize("power", [4, 6, 7, 18, 19, 30, 300])
def test_a_number_of_any_power_is_unknown_and_no_table_is_refused_for_it(listed, power):
    lookup = Lookup(listed)
    for sign in ("", "-", "+"):
        for written in (f"1e{sign}{'9' * power}", f"-1.5E{sign}{'9' * power}"):
            assert lookup.code(written) == lookup.unknown


def test_a_missing_value_beside_as_many_categories_as_an_index_has_is_missing():
    names = [f"k{i}" for i in range(256)]
    schema = Schema([Categorical("c", names)], LABEL)
    frame = pl.DataFrame({"c": pl.Series("c", [*names, None], dtype=pl.Enum(names))})
    assert outcome(frame, schema) == [*range(257)]


@pytest.mark.parametrize(
    ("listed", "codes"),
    [
        ([0, 1], [(True, 1), ("True", 1), ("true", 1), (1, 1), (1.0, 1), ("1.0", 1), ("01", 3)]),
        ([True, False], [(True, 0), (1, 0), ("1", 0), ("true", 0), (0.0, 1), (2, 3)]),
        (["True", "False"], [(True, 0), (1, 0), ("0", 1)]),
        (["true", "false"], [(True, 0), ("True", 0), (0, 1)]),
        ([0, 1, True, False], [(1, 1), ("1", 1), (True, 2), ("True", 2), ("true", 2)]),
        ([1, 2], [(True, 0), (False, 3)]),
        (["0.0", "1.0"], [(1, 1), (1.0, 1), ("1.0", 1), ("1", 3), (True, 1), ("False", 0)]),
        (["a"], [(True, 2), (1, 2)]),
        (["250", "250.00"], [("250", 0), ("250.0", 3), (250.0, 0), ("250.00", 1)]),
        (
            [np.int64(3), np.float32(0.5), np.bool_(True)],
            [(3, 0), (0.5, 1), (True, 2)],
        ),
    ],
)
def test_equal_values_meet_where_the_schema_is_unambiguous(listed, codes):
    schema = Schema([Categorical("c", listed)], LABEL)
    for value, code in codes:
        assert alone(value, schema) == code


def test_numbers_of_numpy_are_written_in_a_schema_as_numbers():
    schema = Schema(
        [Continuous("a", np.int64(0), np.float32(2)), Categorical("c", [np.int8(1), np.bool_(False)])],
        Label("y", np.array([0, 1])),
    )
    plain = Schema([Continuous("a", 0, 2.0), Categorical("c", [1, False])], Label("y", [0, 1]))
    assert schema == plain and schema.fingerprint == plain.fingerprint
    with pytest.raises(SchemaError):
        Continuous("a", np.bool_(False), 1)


# Files.

TOWNS = Schema([Continuous("x", 0, 9), Categorical("c", ["a", 'say "a"', "a,b"])], Label("y", ["no", "yes"]))
HEAD = "x,c,note,y\n"
LINES = "".join(f"{i % 10},a,hi,no\n" for i in range(1000))


def read(text, folder, name="t.csv"):
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found = outcome(folder / name, TOWNS, column=1)
    return found if isinstance(found, list) else found[1]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_fields_in_quotes_are_read(name, tmp_path):
    text = HEAD + '1,"a",hi,no\r\n2,"say ""a""","",yes\n\n"3","a,b","x,""y""","no"\n"",,,yes'
    expected = [0, 1, 2, 3]
    assert read(text, tmp_path, name) == read(b"\xef\xbb\xbf" + text.encode(), tmp_path, name) == expected
    assert read(text.replace("x,c", '"x","c"'), tmp_path, name) == expected
    assert read(text.replace("\r\n", "\r").replace("\n", "\r"), tmp_path, name) == expected


WRONG_LINES = {
    "a quote that opens": '1,"b,hi,yes\n',
    "a quote within": '1,b"b,hi,yes\n',
    "a pair within": '1,b"b"b,hi,yes\n',
    "a quote behind": '1,"b"b,hi,yes\n',
    "a new line in quotes": '1,"b\nb",hi,yes\n',
    "a return in quotes": '1,"b\rb",hi,yes\n',
    "a field too many": "1,b,hi,yes,1\n",
    "a field too few": "1,b,hi\n",
    "no number": "one,b,hi,yes\n",
    "a long line": "1,b," + "h" * LONGEST_LINE + ",yes\n",
}


@pytest.mark.parametrize("line", WRONG_LINES.values(), ids=WRONG_LINES)
def test_a_wrong_line_is_refused_in_the_same_words_wherever_it_stands(line, tmp_path):
    texts = {
        read(HEAD + before + line + behind, tmp_path) for before in ("", LINES) for behind in ("", LINES)
    }
    texts.add(read(HEAD + LINES * 200 + line + LINES, tmp_path))
    (text,) = texts
    assert "could not be read" in text and "1000" not in text


def test_a_pair_of_stray_quotes_swallows_no_rows(tmp_path):
    half = len(LINES) // 2
    text = HEAD + '1,"b,hi,yes\n' + LINES[: half // 10 * 10] + '2,b",hi,yes\n' + LINES[half // 10 * 10 :]
    assert "could not be read" in read(text, tmp_path)


def test_lines_as_long_as_may_be_are_read_wherever_a_block_ends(tmp_path):
    longest = "3,a," + "h" * (LONGEST_LINE - len("3,a,,no\n")) + ",no\n"
    for before in (0, 1, LONGEST_LINE // 2, LONGEST_LINE - 30, LONGEST_LINE - 1):
        text = (
            HEAD + "1,a," + "h" * max(before - len(HEAD) - 8, 0) + ",no\n" + longest + longest + "1,a,b,no\n"
        )
        assert read(text, tmp_path) == [0] * 4
        assert "could not be read" in read(text.replace("3,a", "33,a"), tmp_path)


def test_a_header_is_one_line_whatever_quotes_are_in_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,c,"note,y\n' + LINES)
    assert not any("hi" in name for name in open_table(path, TOWNS).names)
    assert "could not be read" in read(path.read_text(), tmp_path)


# Warnings.


def test_warnings_are_as_before_once_all_readers_are_done():
    inside, go = threading.Event(), threading.Event()

    def reader():
        with discreet():
            inside.set()
            go.wait(10)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        thread = threading.Thread(target=reader)
        with discreet():
            thread.start()
            inside.wait(10)
            warnings.warn("within", stacklevel=1)
        warnings.warn("while another reads", stacklevel=1)
        go.set()
        thread.join()
        assert warnings.filters == before
        warnings.warn("behind", stacklevel=1)
    assert [str(warning.message) for warning in seen] == ["behind"]
