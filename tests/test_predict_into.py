"""Predictions go from place to place, some rows at a time, and are those of the whole table."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from privet import BoostingRegressor, Continuous, CountForestClassifier, Label, Schema, Target, load_model
from privet.cli.app import run
from privet.data.draft import draft_schema
from privet.data.sources import files
from privet.errors import DataError, SourceError
from privet.model.streaming import predict_into
from tests.places import PLACES, SCHEMA, people, write_duckdb, write_parquet, write_postgres

HIDDEN = "only for tests"


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture(scope="module")
def model(rows):
    return CountForestClassifier(epsilon=2, schema=SCHEMA, random_state=0).fit(rows).model_


@pytest.fixture(scope="module")
def expected(model, rows):
    told = model.predictions(rows)
    return pd.DataFrame(
        {"id": rows["id"], "prediction": told.values, **{f"share_{k}": v for k, v in told.shares.items()}}
    )


def read_duckdb(path: Path, table: str) -> pd.DataFrame:
    with duckdb.connect(str(path), read_only=True) as opened:
        return opened.sql(f"SELECT * FROM {table}").df()


def read_postgres(server, table: str) -> pd.DataFrame:
    with server.connect() as opened:
        found = opened.execute(f"SELECT * FROM {table}")
        return pd.DataFrame(found.fetchall(), columns=[column.name for column in found.description])


@pytest.mark.parametrize("place", [*PLACES, "PostgreSQL"])
def test_predictions_are_the_same_wherever_rows_lie(
    place, rows, model, expected, tmp_path, postgres, monkeypatch
):
    monkeypatch.setattr(files, "ROWS", 300)
    source = write_postgres(rows, postgres) if place == "PostgreSQL" else PLACES[place](rows, tmp_path)
    assert predict_into(model, source, tmp_path / "told.parquet", keep="id") == len(rows)
    told = pa_parquet.read_table(tmp_path / "told.parquet").to_pandas()
    told["id"] = told["id"].astype(int)
    pd.testing.assert_frame_equal(
        told.sort_values("id", ignore_index=True), expected.sort_values("id", ignore_index=True)
    )


@pytest.mark.parametrize("into", ["csv", "DuckDB", "PostgreSQL"])
def test_predictions_go_into_every_place(into, rows, model, expected, tmp_path, postgres, monkeypatch):
    monkeypatch.setattr(files, "ROWS", 300)
    source = write_parquet(rows, tmp_path)
    place, read = {
        "csv": (tmp_path / "told.csv", lambda: pd.read_csv(tmp_path / "told.csv")),
        "DuckDB": (
            f"duckdb:///{tmp_path}/told.db?table=told",
            lambda: read_duckdb(tmp_path / "told.db", "told"),
        ),
        "PostgreSQL": (postgres.address(table="public.told"), lambda: read_postgres(postgres, "told")),
    }[into]
    assert predict_into(model, source, place, keep="id") == len(rows)
    rounded = expected.round(6) if into == "csv" else expected
    pd.testing.assert_frame_equal(read().astype(rounded.dtypes.to_dict()), rounded)
    with pytest.raises(DataError, match="there already"):
        predict_into(model, source, place)
    assert len(read()) == len(rows)


@pytest.mark.parametrize("into", ["csv", "parquet", "DuckDB", "PostgreSQL"])
def test_nothing_is_left_of_what_was_not_written_to_its_end(
    into, rows, model, tmp_path, postgres, monkeypatch
):
    monkeypatch.setattr(files, "ROWS", 300)
    source = write_parquet(rows, tmp_path)
    place = {
        "DuckDB": f"duckdb:///{tmp_path}/left.db?table=told",
        "PostgreSQL": postgres.address(table="left_over"),
    }.get(into, tmp_path / f"left.{into}")
    times, real = [], files.FileSource.check

    def changed(self):
        times.append(1)
        if len(times) > 1:
            raise SourceError("changed.")
        return real(self)

    monkeypatch.setattr(files.FileSource, "check", changed)
    with pytest.raises(SourceError, match="changed"):
        predict_into(model, source, place)
    assert not [left for left in tmp_path.iterdir() if left.name.startswith("left") and left.suffix != ".db"]
    if into == "DuckDB":
        with pytest.raises(duckdb.CatalogException):
            read_duckdb(tmp_path / "left.db", "told")
    with postgres.connect() as opened:
        assert opened.execute("SELECT to_regclass('left_over')").fetchone() == (None,)


def test_a_table_that_is_read_is_not_written_to(rows, model, tmp_path):
    source = write_duckdb(rows, tmp_path)
    with pytest.raises(DataError, match="another file"):
        predict_into(model, source, source.replace("table=people", "table=told"))


@pytest.mark.parametrize("keep", ["prediction", "share_True"])
def test_a_column_that_is_kept_is_not_written_over(keep, rows, tmp_path):
    schema = Schema([Continuous("x", 0, 1)], Label("y", [False, True]))
    frame = pd.DataFrame({"x": [0.1, 0.9], "prediction": [1, 2], "share_True": [3, 4], "y": [False, True]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    told = CountForestClassifier(n_trees=1, schema=schema).fit(frame[["x"]], frame["y"])
    with pytest.raises(DataError, match="of their own"):
        predict_into(told, tmp_path / "rows.csv", tmp_path / "told.csv", keep)


def test_numbers_and_odd_labels_are_written_in_one_type(rows, tmp_path):
    schema = Schema(SCHEMA.features[:4], Target("pulse", 0, 1))
    regressor = BoostingRegressor(epsilon=2, schema=schema).fit(rows)
    predict_into(regressor, write_parquet(rows, tmp_path), tmp_path / "told.parquet")
    told = pa_parquet.read_table(tmp_path / "told.parquet")
    assert told.schema.types == [pa.float64()]
    assert np.array_equal(told["prediction"].to_numpy(), regressor.predict(rows))


def test_a_table_without_rows_is_refused_and_leaves_no_file(rows, model, tmp_path):
    with pytest.raises(DataError, match="no rows"):
        predict_into(model, write_parquet(rows[:0], tmp_path), tmp_path / "told.csv")
    assert not (tmp_path / "told.csv").exists()


def test_the_command_line_takes_addresses_and_writes_to_them(rows, tmp_path, monkeypatch, postgres, capfd):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save(tmp_path / "schema.json")
    write_duckdb(rows, tmp_path)
    lies = {
        "duckdb:///people.db?table=people": ["--name", "people"],
        write_postgres(rows, postgres): ["--ledger", "people.db.ledger", "--name", "others"],
        "duckdb:///people.db?query=SELECT * FROM people WHERE age < 90": ["--name", "people"],
    }
    for number, (address, account) in enumerate(lies.items()):
        under = ["--schema", "schema.json"]
        if number < 2:
            assert run(["budget", "create", address, "--epsilon", "10", *account]) == 0
        model = f"{number}.privet"
        fit = [
            "fit",
            address,
            *under,
            "--epsilon",
            "1",
            "--out",
            model,
            "--key",
            "id",
            "--spill",
            str(tmp_path),
        ]
        assert run([*fit, "--learner", "majority-forest", *account]) == 0
        assert run(["ask", "count", address, *under, "--epsilon", "1", *account]) == 0
        assert run(["score", model, address, "--epsilon", "1", *account]) == 0
        assert run(["schema", "check", address, *under]) == 0
        into = postgres.address(table="told0") if number == 0 else f"duckdb:///told.db?table=told{number}"
        assert run(["predict", model, address, "--out", into, "--id", "id"]) == 0
        assert run(["predict", model, address, "--out", f"{number}.csv"]) == 0
        assert load_model(tmp_path / model).card.private
    capfd.readouterr()
    assert run(["budget", "history", "duckdb:///people.db?table=people", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)) == 7
    assert (
        len(read_duckdb(tmp_path / "told.db", "told1")) == len(rows) == len(read_postgres(postgres, "told0"))
    )
    written = b"".join(
        path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".privet", ".ledger")
    )
    assert HIDDEN.encode() not in written and str(postgres.folder).encode() not in written


@pytest.mark.parametrize("place", ["DuckDB", "PostgreSQL", "folder", "Arrow"])
def test_a_draft_is_that_of_the_same_rows_in_a_file(place, rows, tmp_path, postgres):
    rows = rows.drop(columns=["id", "patient"])
    source = write_postgres(rows, postgres) if place == "PostgreSQL" else PLACES[place](rows, tmp_path)
    assert draft_schema(source, "ill").schema == draft_schema(write_parquet(rows, tmp_path), "ill").schema


def test_numbers_of_any_length_are_drafted_as_numbers(tmp_path, postgres):
    with postgres.connect() as opened:
        opened.execute(
            "CREATE TABLE prices AS SELECT (i / 7.0)::numeric(9,2) AS price, i % 2 AS y "
            "FROM generate_series(1, 90) i"
        )
    drafted = draft_schema(postgres.address(table="prices"), "y").schema.features[0]
    assert isinstance(drafted, Continuous) and drafted.upper == 13
