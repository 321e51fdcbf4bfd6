"""Days and moments: read one by one whatever they come as, told as dates, the same answers elsewhere."""

from __future__ import annotations

import datetime as dt
import json
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privet import (
    BoostingClassifier,
    Budget,
    Continuous,
    CountForestClassifier,
    Date,
    DateTime,
    GreedyTreeClassifier,
    Label,
    Ledger,
    MajorityForestClassifier,
    Schema,
    explain,
    export_onnx,
    export_sql,
    export_text,
    protect,
)
from privet.data.outside import find_outside
from privet.dates import clock, day_text, moment_text
from privet.errors import DataError, QuestionError, SchemaError
from tests.test_edges import (
    OBJECTS,
    alone,
    array,
    arrow_of,
    as_csv,
    as_parquet,
    check,
    chunked,
    coded,
    numpy_of,
    outcome,
    pandas_of,
    polars_of,
)

LABEL = Label("y", ["no", "yes"])
DAYS = Schema([Date("c", "2019-12-30", "2020-02-01")], LABEL)
MOMENTS = Schema([DateTime("c", "2019-12-30", "2020-02-01")], LABEL)
BERLIN, INDIA = ZoneInfo("Europe/Berlin"), dt.timezone(dt.timedelta(hours=5, minutes=30))
NOON = dt.datetime(2020, 1, 5, 12, 0, 0, 5)

NAIVE = [None, dt.datetime(2020, 1, 1), NOON, dt.datetime(2020, 1, 31, 23, 59, 59), dt.datetime(1900, 1, 1)]
AWARE = [None, NOON.replace(tzinfo=BERLIN), dt.datetime(2020, 1, 1, 0, 30, tzinfo=BERLIN)]
ONLY_DAYS = [None, dt.date(2020, 1, 1), dt.date(2020, 1, 5), dt.date(1, 1, 1), dt.date(9999, 12, 31)]
TEXTS = [
    *(None, "2020-01-05", "2020-01-05T12:00:00.000005", "2020-01-05 12:00", "2020-01-05T12:00:00Z"),
    *("2020-01-01T00:30+01:00", "2020-01-01T00:30-0530", " 2020-01-01 ", "9999-12-31", "0001-01-01"),
]
VALUES = [
    *NAIVE, *AWARE, *ONLY_DAYS, *TEXTS, pd.NaT, pd.NA, float("nan"), np.datetime64("NaT", "s"),
    NOON.replace(tzinfo=INDIA), pd.Timestamp(NOON), pd.Timestamp(NOON, tz="Asia/Tokyo"),
    np.str_("2020-01-05"),
    np.datetime64("2020-01-05"), np.datetime64("2020-01-05T12", "h"), np.datetime64("2020-01", "M"),
    np.datetime64("2020", "Y"), np.datetime64("2020-01-05T12:00:00.000005999", "ns"),
]  # fmt: skip
UNHASHED = ("pandas, type guessed", "pandas category of objects")

WAYS = {
    **{name: (make, VALUES) for name, (make, _) in OBJECTS.items() if name not in UNHASHED},
    **{
        f"numpy {u}": (numpy_of(f"datetime64[{u}]"), NAIVE[:-1])
        for u in ("us", "s", "ms", "ns", "m", "h", "D", "7D")
    },
    **{f"pandas {u}": (pandas_of(f"datetime64[{u}]"), NAIVE) for u in ("s", "us", "ns")},
    "pandas, type guessed": (lambda values, _: pd.DataFrame({"c": values}), NAIVE),
    "pandas in a zone": (pandas_of("datetime64[us, Europe/Berlin]"), AWARE),
    "pandas category": (pandas_of("category"), NAIVE),
    "polars Date": (polars_of(pl.Date), ONLY_DAYS[:-2]),
    **{f"polars {u}": (polars_of(pl.Datetime(u)), NAIVE) for u in ("ms", "us", "ns")},
    "polars in a zone": (polars_of(pl.Datetime("us", "Europe/Berlin")), AWARE),
    "polars String": (polars_of(pl.String), TEXTS),
    **{f"arrow {k}": (arrow_of(k), ONLY_DAYS) for k in (pa.date32(), pa.date64())},
    **{f"arrow timestamp {u}": (arrow_of(pa.timestamp(u)), NAIVE) for u in ("us", "ns")},
    "arrow in a zone": (arrow_of(pa.timestamp("us", "Europe/Berlin")), AWARE),
    "arrow text": (arrow_of(pa.large_string()), TEXTS),
    "arrow null": (arrow_of(pa.null()), [None]),
    "arrow dictionary": (
        lambda values, _: pa.table({"c": coded(chunked(values, pa.timestamp("us")))}),
        NAIVE,
    ),
    "csv": (as_csv, TEXTS),
    "parquet": (as_parquet(pa.timestamp("us")), NAIVE),
    "parquet of days": (as_parquet(pa.date32()), ONLY_DAYS),
}


def rounded(name, value, schema):
    """Code of a value that the array cannot hold as it is."""
    units = {
        "numpy s": "s",
        "numpy ms": "ms",
        "numpy m": "m",
        "numpy h": "h",
        "numpy D": "D",
        "numpy 7D": "7D",
    }
    units |= {"pandas s": "s", "polars ms": "ms"}
    held = (
        value
        if value is None or name not in units
        else np.datetime64(value).astype(f"datetime64[{units[name]}]")
    )
    return alone(held, schema)


@pytest.mark.parametrize("schema", [DAYS, MOMENTS], ids=["days", "moments"])
@pytest.mark.parametrize("name", WAYS)
def test_dates_are_read_one_by_one(name, schema, tmp_path):
    make, pool = WAYS[name]
    check(make, [v for v in pool if rounded(name, v, schema) == alone(v, schema)], schema, tmp_path)
    for value in pool:
        assert outcome(make([value], tmp_path), schema) == [rounded(name, value, schema)]


def test_equal_dates_meet():
    same = [NOON, "2020-01-05T12:00:00.000005Z", "2020-01-05 17:30:00.000005+05:30", pd.Timestamp(NOON)]
    same += [np.datetime64(NOON, "ns"), NOON.replace(tzinfo=dt.UTC)]
    assert len({alone(value, MOMENTS) for value in same}) == 1
    same = [NOON, dt.date(2020, 1, 5), "2020-01-05", "2020-01-05T23:59-11:00", np.datetime64("2020-01-05")]
    assert {alone(value, DAYS) for value in [*same, NOON.replace(tzinfo=INDIA)]} == {6}
    # The day is the one that is written; the moment is an instant.
    midnight = "2020-01-01T00:30+01:00"
    assert alone(midnight, DAYS) == 2 and alone(midnight, MOMENTS) < alone("2020-01-01", MOMENTS)


def test_dates_outside_are_clamped_and_missing_ones_have_a_code():
    codes = [alone(v, DAYS) for v in ("1066-01-01", "9999-12-31", None, "2019-12-30", "2020-02-01")]
    assert codes == [0, 33, 34, 0, 33]
    for unit in ("Y", "M", "W", "D", "h", "s", "ms", "us", "ns", "as"):
        for raw, code in ((-(2**62), 0), (2**62, 33)):
            far = np.array([raw], np.int64).view(f"datetime64[{unit}]")
            expected = 0 if unit == "as" else code
            assert outcome(far[:, None], DAYS) == [expected], unit


MISFITS = ["tomorrow", "20200101", "2020-13-01", "2020-01-32", "2020-01-01T25:00", "2020-W01-1", "01.02.2020"]
MISFITS += [
    "2020-01-01T00:00:60",
    "\uff12020-01-01",
    5,
    1.5,
    True,
    b"2020-01-01",
    dt.time(3),
    dt.timedelta(1),
    [1],
]


@pytest.mark.parametrize("value", MISFITS, ids=repr)
@pytest.mark.parametrize("schema", [DAYS, MOMENTS], ids=["days", "moments"])
def test_what_is_no_date_is_refused_in_the_same_words_wherever_it_stands(value, schema, tmp_path):
    for name in (
        "array of objects",
        "polars objects",
        "list of rows",
        *(["csv"] if isinstance(value, str) else []),
    ):
        for others in ([], ["2020-01-01", None], [None] * 120, ["2020-01-01"] * 120):
            for place in (0, len(others) // 2, len(others)):
                values = [*others[:place], value, *others[place:]]
                kind, text = outcome(WAYS[name][0](values, tmp_path), schema)
                assert kind is DataError and text.startswith("column 'c' does not hold dates.\n")


OTHERS = [pa.array(v) for v in ([1, 2], [1.5, None], [True], [dt.time(3)], [b"a"], [dt.timedelta(1)])]


@pytest.mark.parametrize("column", [*OTHERS, np.array([[1.0]]), np.array([[True]])])
def test_types_that_hold_no_dates_are_refused_whatever_the_values(column):
    source = column if isinstance(column, np.ndarray) else pa.table({"c": column})
    assert "does not hold dates" in outcome(source, DAYS)[1]
    dates = pa.table({"c": pa.array([dt.date(2020, 1, 1)])})
    assert "does not hold numbers" in outcome(dates, Schema([Continuous("c", 0, 1)], LABEL))[1]


def test_a_schema_with_dates_is_plain_json(tmp_path):
    schema = Schema([Date("day", dt.date(2020, 1, 1), np.datetime64("2024-12-31"), missing=False),
                     DateTime("at", "2020-01-01T08:30", "2020-01-01T10:00:00.5+01:00")], LABEL)  # fmt: skip
    schema.save(tmp_path / "s.json")
    data = json.loads((tmp_path / "s.json").read_text())
    assert data["features"] == [
        {"name": "day", "type": "date", "lower": "2020-01-01", "upper": "2024-12-31", "missing": False},
        {"name": "at", "type": "datetime", "lower": "2020-01-01T08:30", "upper": "2020-01-01T09:00:00.500000",
         "missing": True},
    ]  # fmt: skip
    again = Schema.load(tmp_path / "s.json")
    assert again == schema and again.fingerprint == schema.fingerprint
    assert repr(again.features[0]) == "Date('day', '2020-01-01', '2024-12-31')"
    assert again.features[0].told == "day from 2020-01-01 to 2024-12-31"
    assert again.features[0].n_cells == 5 * 366 - 3
    for wrong in (("2020-01-01", None), ("2020-01-02", "2020-01-01"), ("soon", "2020-01-01"), (None, None)):
        with pytest.raises(SchemaError):
            Date("day", *wrong)


def test_dates_are_told_as_they_are_read():
    for text in ("0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"):
        assert day_text(clock(text)[0]) == text
    for text in ("0001-01-01T00:00:00.000001", "1969-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"):
        assert clock(moment_text(clock(text)[1]))[0] == clock(text)[0]
    assert moment_text(clock("2024-02-29T12:30:15.5")[1]) == "2024-02-29T12:30:15.500000"


SCHEMA = Schema(
    [
        Date("admitted", "2015-01-01", "2024-12-31"),
        DateTime("at", "2015-01-01", "2025-01-01"),
        Continuous("x", 0, 1),
    ],
    Label("ill", ["no", "yes"]),
)


def people(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2015-01-01") + rng.integers(-100, 3700, n)
    at = np.datetime64("2014-12-01", "us") + rng.integers(0, 10**6 * 86_400 * 3800, n)
    ill = (days > np.datetime64("2020-03-01")) ^ (rng.random(n) < 0.1)
    frame = pd.DataFrame({"admitted": days.astype("datetime64[s]"), "at": at, "x": rng.random(n)})
    frame.loc[rng.random(n) < 0.05, ["admitted", "at"]] = None
    return frame, np.where(ill, "yes", "no")


LEARNERS = {
    "boosting": BoostingClassifier(4.0, random_state=0),
    "count forest": CountForestClassifier(4.0, n_trees=5, max_depth=4, random_state=0),
    "labels": MajorityForestClassifier(4.0, n_trees=5, max_depth=4, random_state=0),
    "greedy tree": GreedyTreeClassifier(8.0, max_depth=3),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_rules_pages_and_exports_know_dates(name, tmp_path):
    frame, ill = people()
    model = LEARNERS[name].set_params(schema=SCHEMA).fit(frame, ill)
    if name != "boosting":
        assert (model.predict(frame) == ill).mean() > 0.75 or name == "labels"
        told = export_text(model) + str(model.rules())
        assert "admitted ≥ 20" in told or "admitted < 20" in told or "at ≥ 20" in told or "at < 20" in told
        assert "18," not in told
    else:
        assert (model.predict(frame) == ill).mean() > 0.85
        assert any("2020-0" in value for value in model.model_.shapes_frame().column("values").to_pylist())
    page = explain(model, tmp_path / "m.html")
    assert "201" in page or "202" in page
    new, _ = people(3000, 1)
    check_exports(model, new, tmp_path)


def check_exports(model, frame, folder):
    expected = model.predict_proba(frame)
    with duckdb.connect() as opened:
        opened.register("rows", frame)
        found = opened.execute(export_sql(model.model_, "rows")).df()
    np.testing.assert_allclose(found[["share_no", "share_yes"]], expected, atol=1e-6)
    export_onnx(model.model_, folder / "m.onnx")
    session = onnxruntime.InferenceSession(folder / "m.onnx")
    days = frame["admitted"].to_numpy().astype("datetime64[D]")
    numbers = {
        "admitted": days.astype(np.float64),
        "at": frame["at"].to_numpy().astype("M8[us]").astype(float) / 1e6,
    }
    inputs = {n: np.where(frame[n].isna(), np.nan, v)[:, None] for n, v in numbers.items()}
    shares = session.run(["shares"], inputs | {"x": frame[["x"]].to_numpy()})[0]
    np.testing.assert_allclose(shares, expected, atol=1e-6)


@pytest.mark.parametrize("name", ["boosting", "count forest"])
def test_ranges_that_are_far_too_wide_are_found_as_dates(name):
    wide = Schema([Date("admitted", "0001-01-01", "9999-12-31"), DateTime("at", "1971-01-01", "9999-01-01")],
                  SCHEMA.label)  # fmt: skip
    frame, ill = people()
    model = LEARNERS[name].set_params(schema=wide).fit(frame, ill)
    told = [feature.told for feature in model.model_.schema.features]
    assert all(isinstance(feature, Date | DateTime) for feature in model.model_.schema.features), told
    assert (model.predict(frame) == ill).mean() > 0.7


def test_questions_know_dates():
    frame, ill = people()
    rows = protect(frame, SCHEMA, Ledger().create("people", Budget(10_000)), ill)

    def count(where):
        ((found,),) = rows.noisy_column_rows((), where, epsilon=1000).rows()
        return found

    assert abs(count("admitted >= 2020-03-01") - (frame["admitted"] >= "2020-03-01").sum()) <= 1
    # An hour and a half fit into a cell.
    exact = (frame["at"] < "2018-01-01 12:00").sum()
    assert abs(count("at < '2018-01-01T12:00:00'") - exact) <= 3
    assert abs(count("admitted is missing") - frame["admitted"].isna().sum()) <= 1
    ((median,),) = rows.noisy_quantile("admitted", "0.5", epsilon=1000).rows()
    inside = frame["admitted"].clip("2015-01-01", "2024-12-31")
    assert abs(pd.Timestamp(median) - inside.median()) < pd.Timedelta(days=5)
    names = [row[0] for row in rows.noisy_column_rows(["admitted"], bins=5, epsilon=10).rows()]
    assert names[0] == "2015-01-01 to 2016-12-31" and names[-1] == "(missing)"
    with pytest.raises(QuestionError, match="is not a date in the public range"):
        count("admitted >= 37")


def test_an_owner_sees_what_is_no_date_and_where(tmp_path):
    (tmp_path / "t.csv").write_text("c,y\n2020-01-01,no\nsoon,no\n1999-01-01,yes\n,yes\n2021-01-01,no\n")
    found = find_outside(tmp_path / "t.csv", DAYS)
    assert found.places["c"] == {"missing": [5], "not a date": [3], "below": [4], "above": [6]}
    frame = pd.DataFrame({"c": pd.to_datetime(["2020-01-01", "1999-01-01", None]), "y": "no"})
    assert find_outside(frame, DAYS).counts["c"] == {"missing": 1, "below": 1}
    held = array(["soon", dt.date(2020, 1, 1)])
    assert find_outside(pd.DataFrame({"c": held, "y": "no"}), DAYS).places["c"] == {"not a date": [1]}
