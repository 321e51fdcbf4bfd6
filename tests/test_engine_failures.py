"""Databases that are lost, change or fail: an error in our words, and the charge kept exactly once."""

from __future__ import annotations

import datetime
import subprocess
import sys
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    Date,
    DateTime,
    Label,
    Ledger,
    PrivateSelection,
    Schema,
    predict_into,
    protect,
)
from privet.data import encode, open_table, read_address
from privet.data.sources import files
from privet.engines import batches, stream
from privet.errors import DataError, QuestionError, SourceError
from tests.places import N_ROWS, SCHEMA, digest, people, protected, write_duckdb, write_postgres

SECRET = "hunter2"
WIDE = Schema([Continuous("x", 0, 1), Categorical("filling", ["a"])], Label("y", [0, 1]))
MANY = 40_000


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "people.ledger").create("people", Budget(1))


def charged_once(account, epsilon):
    """By a ledger that is read anew: one charge, which was not given back."""
    ledger = Ledger(account.ledger.path)
    kinds = [event["kind"] for event in ledger.history("people")]
    return kinds == ["budget", "charge"] and ledger.account("people").spent().epsilon == Fraction(epsilon)


def says_nothing(error):
    return error.__context__ is None and error.__cause__ is None and SECRET not in str(error)


def terminate(server):
    """End all other connections."""
    with server.connect() as opened:
        opened.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


@pytest.fixture(scope="module")
def many(postgres):
    """A table that does not fit into what is read ahead."""
    with postgres.connect() as opened:
        opened.execute("DROP TABLE IF EXISTS many")
        opened.execute(
            "CREATE TABLE many AS SELECT random() AS x, repeat('a', 4000) AS filling, i % 2 AS y "
            f"FROM generate_series(1, {MANY}) i"
        )
    return postgres.address(table="many")


@pytest.fixture
def at_first_batch(monkeypatch):
    """Something that happens when the first batch has been read, and has been seen to happen."""
    happened, real = [], stream.batch

    def set_to(what):
        def batch(*args):
            if not happened:
                what()
                happened.append(1)
            return real(*args)

        monkeypatch.setattr(batches, "BATCH", 1000)
        monkeypatch.setattr(files, "ROWS", 1000)
        monkeypatch.setattr(stream, "batch", batch)
        return happened

    return set_to


@pytest.mark.parametrize("spill", [None, False])
def test_a_connection_lost_in_a_pass_is_told_and_charged_once(spill, postgres, many, account, at_first_batch):
    happened = at_first_batch(lambda: terminate(postgres))
    behind = protect(many, WIDE, account, spill=spill, key="x")
    with pytest.raises(SourceError, match="database was lost") as found:
        behind.noisy_count("filling = a", epsilon="0.25")
    assert happened and says_nothing(found.value) and charged_once(account, "0.25")


def test_a_fit_whose_connection_is_lost_keeps_its_charge_and_has_no_model(
    postgres, many, account, at_first_batch
):
    at_first_batch(lambda: terminate(postgres))
    estimator = BoostingClassifier(epsilon=0.5)
    with pytest.raises(SourceError, match="database was lost") as found:
        estimator.fit(protect(many, WIDE, account))
    assert says_nothing(found.value) and charged_once(account, "0.5") and not hasattr(estimator, "model_")


def test_a_connection_lost_between_passes_is_told_and_charged(postgres, rows, account):
    behind = protect(write_postgres(rows, postgres), SCHEMA, account, spill=False, key="id")
    behind.noisy_count(epsilon="0.25")
    terminate(postgres)
    with pytest.raises(SourceError, match="database was lost") as found:
        behind.noisy_count(epsilon="0.25")
    assert says_nothing(found.value) and account.spent().epsilon == Fraction(1, 2)


def test_rows_in_no_order_that_are_not_kept_need_a_key_which_is_told_while_it_is_free(
    rows, account, tmp_path
):
    with pytest.raises(QuestionError, match="no fixed order"):
        protect(write_duckdb(rows, tmp_path), SCHEMA, account, spill=False)


def test_parts_that_would_be_read_again_need_a_key_and_cost_nothing_without_one(rows, account, tmp_path):
    schema = Schema([Continuous("height"), *SCHEMA.features[1:]], SCHEMA.label)
    selection = PrivateSelection([BoostingClassifier()], runs=2, epsilon=1)
    address = write_duckdb(rows, tmp_path)
    with pytest.raises(DataError, match="no fixed order") as found:
        selection.fit(protect(address, schema, account))
    assert "key" in found.value.hint and account.spent().epsilon == 0
    selection.fit(protect(address, schema, account, key="id"))
    assert account.spent().epsilon == 1


def test_what_was_kept_needs_no_connection_any_more(postgres, rows):
    behind = protected(write_postgres(rows, postgres))
    fitted = digest(BoostingClassifier(epsilon=2, random_state=3).fit(behind).model_)
    terminate(postgres)
    again = digest(BoostingClassifier(epsilon=2, random_state=3).fit(behind).model_)
    expected = protected(rows)
    assert [fitted, again] == [
        digest(BoostingClassifier(epsilon=2, random_state=3).fit(expected).model_) for _ in range(2)
    ]


@pytest.mark.parametrize("spill", [None, False])
def test_a_table_that_grows_during_a_fit_stays_what_it_was_at_first(spill, postgres, rows):
    address = write_postgres(rows, postgres)
    table = read_address(address).table
    behind = protected(address, spill=spill, key="id")
    first = behind.noisy_label_rows(epsilon=1).values
    with postgres.connect() as opened:
        opened.execute(f"INSERT INTO {table} SELECT * FROM {table}")
        opened.execute(f"DELETE FROM {table} WHERE age < 40")
    fitted = digest(BoostingClassifier(epsilon=2, random_state=3).fit(behind).model_)
    expected = protected(rows)
    assert np.array_equal(first, expected.noisy_label_rows(epsilon=1).values)
    assert fitted == digest(BoostingClassifier(epsilon=2, random_state=3).fit(expected).model_)
    later = protected(address).noisy_count(epsilon=1).values
    assert abs(later.item() - 2 * (rows["age"] >= 40).sum()) < 100


@pytest.mark.parametrize("place", ["DuckDB", "PostgreSQL"])
def test_a_query_that_fails_on_one_row_tells_nothing_and_keeps_the_charge(
    place, rows, account, postgres, tmp_path
):
    rows = rows.assign(town=[*rows["town"][:-1], SECRET])
    query = (
        "SELECT *, CAST(CASE WHEN town = 'hunter2' THEN town ELSE '1' END AS integer) AS extra FROM people"
    )
    address = {
        "DuckDB": lambda: write_duckdb(rows, tmp_path).replace("table=people", f"query={query}"),
        "PostgreSQL": lambda: postgres.address(
            query=query.replace("people", read_address(write_postgres(rows, postgres)).table)
        ),
    }[place]()
    schema = Schema([*SCHEMA.features, Continuous("extra", 0, 1)], SCHEMA.label)
    with pytest.raises(SourceError, match=r"to their end|to its end") as found:
        protect(address, schema, account).noisy_count("extra < 1", epsilon="0.25")
    assert says_nothing(found.value) and charged_once(account, "0.25")


def test_a_label_that_does_not_fit_in_the_last_row_costs_nothing(rows, account, postgres):
    rows = rows.assign(ill=[*rows["ill"][:-1], SECRET])
    behind = protect(write_postgres(rows, postgres), SCHEMA, account)
    with pytest.raises(DataError, match="'ill'") as found:
        behind.noisy_count(epsilon="0.25")
    assert says_nothing(found.value) and not behind.asked and account.spent().epsilon == 0


def test_a_duckdb_file_that_is_replaced_between_passes_is_refused(rows, account, tmp_path):
    address = write_duckdb(rows, tmp_path)
    behind = protect(address, SCHEMA, account, spill=False, key="id")
    behind.noisy_count(epsilon="0.25")
    (tmp_path / "other").mkdir()
    write_duckdb(rows[:100], tmp_path / "other")
    (tmp_path / "other" / "people.db").replace(tmp_path / "people.db")
    with pytest.raises(SourceError, match="written to or replaced"):
        behind.noisy_count(epsilon="0.25")
    assert account.spent().epsilon == Fraction(1, 2)


def test_nobody_writes_to_a_duckdb_file_that_is_read(rows, tmp_path):
    behind = protected(write_duckdb(rows, tmp_path))
    program = f"import duckdb; duckdb.connect({str(tmp_path / 'people.db')!r})"
    tried = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert tried.returncode and "lock" in tried.stderr
    behind.noisy_count(epsilon=1)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "COPY people TO '{file}.copy'",
        "INSTALL httpfs",
        "ATTACH '{file}.db'",
        "SELECT 1) AS rows; DROP TABLE people; SELECT * FROM (SELECT 1",
    ],
)
def test_a_query_of_duckdb_reaches_nothing_but_its_own_file(query, rows, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("height,age,town,ward,pulse,ill\n1,1,north,1,1,yes\n")
    address = write_duckdb(rows, tmp_path)
    with pytest.raises(DataError, match="no such table, or the query is wrong") as found:
        protected(address.replace("table=people", f"query={query.format(file=other)}"))
    assert says_nothing(found.value) and len(list(tmp_path.iterdir())) == 2
    protected(address).noisy_count(epsilon=1)


@pytest.mark.parametrize(
    "query", ["DELETE FROM {table}", "DELETE FROM {table} RETURNING *", "SELECT nextval('s')"]
)
def test_a_query_of_postgresql_writes_nothing(query, rows, postgres):
    table = read_address(write_postgres(rows, postgres)).table
    schema = Schema([Continuous("nextval", 0, 1)], Label("nextval ", [1]))
    with postgres.connect() as opened:
        opened.execute("CREATE SEQUENCE IF NOT EXISTS s")
    with pytest.raises((DataError, SourceError)):
        protected(postgres.address(query=query.format(table=table)), schema)
    with postgres.connect() as opened:
        assert opened.execute(f"SELECT count(*) FROM {table}").fetchone() == (N_ROWS,)
        assert opened.execute("SELECT is_called FROM s").fetchone() == (False,)


def test_rows_that_are_drawn_anew_by_every_query_are_read_once(rows, tmp_path):
    address = write_duckdb(rows, tmp_path).replace(
        "table=people", "query=SELECT * FROM people WHERE random() < 0.5"
    )
    behind = protected(address)
    BoostingClassifier(epsilon=2, random_state=3).fit(behind)
    counts = {behind.noisy_count(epsilon=100).values.item() for _ in range(3)}
    assert max(counts) - min(counts) < 3


def test_a_wrong_password_is_told_without_it(postgres, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with pytest.raises(SourceError, match="could not be reached") as found:
        protected(postgres.address(table="pg_class"))
    assert says_nothing(found.value) and str(postgres.folder) not in str(found.value)


ODD = {
    "whole": ("numeric(10,2)", ["1", "2.00", "3.5", "NaN", None], [1, 2, 3.5, np.nan, np.nan]),
    "vast": ("numeric", ["1e400", "-1e400", "1e-400", "Infinity", "0.1"], [np.inf, -np.inf, 0, np.inf, 0.1]),
    "paid": ("money", ["$1,234.56", "0.01", "-5", None, "0"], [1234.56, 0.01, -5, np.nan, 0]),
    "odd": ("double precision", ["NaN", "Infinity", "-0", "1e308", None], [np.nan, np.inf, 0, 1e308, np.nan]),
    "few": ("positive", ["1", "2", "3", "4", None], [1, 2, 3, 4, np.nan]),
}
CATEGORIES = {
    "padded": ("char(5)", ["a", "b   ", None, "a", "c"], ["a", "b", None, "a", "c"]),
    "mood": ("mood", ["sad", "ok", "ok", None, "sad"], ["sad", "ok", "ok", None, "sad"]),
    "amount": ("numeric(4,2)", ["1", "2.50", "3", None, "1.0"], ["1", "2.5", "3", None, "1"]),
    "sure": ("boolean", ["t", "f", None, "t", "f"], [True, False, None, True, False]),
}
DAYS = {
    "born": ("date", ["2000-01-01", "infinity", "-infinity", None, "0044-03-15 BC"]),
    "came": ("timestamptz", ["2000-01-01 12:00+02", "infinity", "-infinity", None, "1999-12-31"]),
}
ODD_SCHEMA = Schema(
    [
        *(Continuous(name, 0, 2000) for name in ODD),
        Categorical("padded", ["a", "b"]),
        Categorical("mood", ["sad", "ok"]),
        Categorical("amount", ["1", "2.5"]),
        Categorical("sure", [False, True]),
        Date("born", "1950-01-01", "2020-01-01"),
        DateTime("came", "1950-01-01", "2020-01-01"),
    ],
    Label("y", [0, 1]),
)


@pytest.fixture(scope="module")
def odd(postgres):
    columns = {**ODD, **CATEGORIES, **DAYS, "y": ("integer", ["0", "1", "0", "1", "0"])}
    with postgres.connect() as opened:
        opened.execute(
            "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN positive AS integer CHECK (VALUE > 0)"
        )
        opened.execute(
            f"CREATE TABLE odd ({', '.join(f'{name} {kind[0]}' for name, kind in columns.items())})"
        )
        for row in zip(*(kind[1] for kind in columns.values()), strict=True):
            opened.execute(f"INSERT INTO odd VALUES ({', '.join(['%s'] * len(row))})", row)
    return postgres.address(table="odd")


def test_odd_types_of_postgresql_mean_what_they_say(odd):
    days = {
        "born": [datetime.date(2000, 1, 1), datetime.date.max, datetime.date.min, None, datetime.date.min],
        "came": [
            datetime.datetime(2000, 1, 1, 10),
            datetime.datetime(9999, 12, 31),
            datetime.datetime(1, 1, 1),
            None,
            datetime.datetime(1999, 12, 31),
        ],
    }
    expected = {name: kind[2] for name, kind in {**ODD, **CATEGORIES}.items()}
    frame = pd.DataFrame({**expected, **days, "y": [0, 1, 0, 1, 0]}, dtype=object)
    found = encode(open_table(odd, ODD_SCHEMA), ODD_SCHEMA)
    wanted = encode(open_table(frame, ODD_SCHEMA), ODD_SCHEMA)
    for name, own, other in zip(ODD_SCHEMA.feature_names, found.features, wanted.features, strict=True):
        assert own.tolist() == other.tolist(), name


@pytest.mark.parametrize("kind", ["json", "integer[]", "interval", "time", "point"])
def test_types_that_are_not_read_are_refused_before_anything_is_charged(kind, postgres, account):
    with postgres.connect() as opened:
        opened.execute(f"DROP TABLE IF EXISTS bad; CREATE TABLE bad (x {kind}, y integer)")
    for feature in (Continuous("x", 0, 1), Categorical("x", ["a"])):
        with pytest.raises(DataError, match="'x' does not hold"):
            protect(postgres.address(table="bad"), Schema([feature], Label("y", [0, 1])), account)
    assert account.spent().epsilon == 0


def test_predictions_of_a_table_that_is_lost_leave_nothing(postgres, rows, many, tmp_path, monkeypatch):
    model = BoostingClassifier(epsilon=2, schema=WIDE)
    frame = pd.DataFrame({"x": np.linspace(0, 1, 1000), "filling": "a", "y": np.arange(1000) % 2})
    model.fit(frame)
    monkeypatch.setattr(files, "ROWS", 1000)
    real, seen = type(model.model_).predictions, []

    def predictions(self, source):
        if not seen:
            terminate(postgres)
        seen.append(1)
        return real(self, source)

    monkeypatch.setattr(type(model.model_), "predictions", predictions)
    with pytest.raises(SourceError, match="database was lost"):
        predict_into(model, many, tmp_path / "told.parquet")
    assert seen and not list(tmp_path.iterdir())


def test_a_pass_that_was_given_up_does_not_stand_in_the_way_of_the_next(many, monkeypatch):
    monkeypatch.setattr(files, "ROWS", 1000)
    monkeypatch.setattr(batches, "BATCH", 1000)
    behind = protected(many, Schema(WIDE.features, Label("y", [1, 2])))
    for _ in range(3):
        with pytest.raises(DataError, match="'y'"):
            behind.noisy_count("filling = a", epsilon=1)


DUCK = {
    "amount": ("decimal(9,2)", "1.50"),
    "vast": ("hugeint", "1e30"),
    "small": ("utinyint", "3"),
    "odd": ("double", "'nan'"),
    "mood": ("enum('sad', 'ok')", "'ok'"),
    "own": ("uuid", "'0af7cf2c-0000-4000-8000-000000000000'"),
    "sure": ("boolean", "true"),
    "born": ("date", "'2000-01-01'"),
}


def test_types_of_duckdb_mean_what_they_say(tmp_path):
    with duckdb.connect(str(tmp_path / "odd.db")) as opened:
        opened.execute(
            f"CREATE TABLE odd ({', '.join(f'{name} {kind}' for name, (kind, _) in DUCK.items())}, y int)"
        )
        opened.execute(f"INSERT INTO odd VALUES ({', '.join(value for _, value in DUCK.values())}, 1)")
        opened.execute("INSERT INTO odd (y) VALUES (0)")
    numbers = [Continuous(name, 0, 10) for name in ("amount", "vast", "small", "odd")]
    texts = [Categorical("mood", ["sad", "ok"]), Categorical("own", [DUCK["own"][1][1:-1]])]
    features = [
        *numbers,
        *texts,
        Categorical("sure", [False, True]),
        Date("born", "1999-12-31", "2020-01-01"),
    ]
    schema = Schema(features, Label("y", [0, 1]))
    values = {"amount": 1.5, "vast": 1e30, "small": 3, "odd": None, "mood": "ok", "own": DUCK["own"][1][1:-1]}
    row = {**values, "sure": True, "born": datetime.date(2000, 1, 1), "y": 1}
    frame = pd.DataFrame([row, {**dict.fromkeys(row), "y": 0}], dtype=object)
    found = encode(open_table(f"duckdb:///{tmp_path}/odd.db?table=odd", schema), schema)
    assert found.features.tolist() == encode(open_table(frame, schema), schema).features.tolist()


@pytest.mark.parametrize(
    "kind", ["integer[]", "struct(a integer)", "interval", "map(integer, integer)", "time"]
)
def test_types_of_duckdb_that_are_not_read_are_refused_before_anything_is_charged(kind, tmp_path, account):
    with duckdb.connect(str(tmp_path / "bad.db")) as opened:
        opened.execute(f"CREATE TABLE bad (x {kind}, y integer)")
    for feature in (Continuous("x", 0, 1), Categorical("x", ["a"])):
        with pytest.raises(DataError, match="'x' does not hold"):
            protect(f"duckdb:///{tmp_path}/bad.db?table=bad", Schema([feature], Label("y", [0, 1])), account)
    assert account.spent().epsilon == 0
