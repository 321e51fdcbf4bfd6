"""What an owner does at the desk, drafts and checks, wherever rows lie; persons in databases by a key."""

from __future__ import annotations

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from privet import BoostingClassifier, Budget, Categorical, Continuous, Date, Label, Ledger, Schema
from privet.cli.app import run
from privet.data import read_address
from privet.data.header import declared_kinds, draft_from_header
from privet.data.outside import find_outside
from privet.data.sources import files
from privet.errors import DataError, SchemaError
from tests.places import PLACES, SCHEMA, people, write_duckdb, write_parquet, write_postgres

NARROW = Schema(
    [Continuous("height", 0, 1), Continuous("age", 0, 50), Categorical("town", ["north"])],
    Label("ill", ["no"]),
)


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture(scope="module")
def places(rows, tmp_path_factory, postgres):
    found = {name: write(rows, tmp_path_factory.mktemp("place")) for name, write in PLACES.items()}
    return {**found, "PostgreSQL": write_postgres(rows, postgres)}


@pytest.mark.parametrize("place", [*PLACES, "PostgreSQL"])
def test_a_draft_takes_names_and_types_from_wherever_rows_lie(place, places):
    said = {"height": "number", "pulse": "number", "*": "category"} if place == "CSV" else {}
    said |= {"age": "integer", "ward": "category"}
    found = draft_from_header(places[place], "ill", ["no", "yes"], said, ["patient"])
    assert found.schema.features == (
        Continuous("height"),
        Continuous("age", integer=True),
        Categorical("town"),
        Categorical("ward"),
        Continuous("pulse"),
    )
    assert [(each.column, each.kind) for each in found.suspects] == [("id", "identifier")]


def test_a_draft_of_a_folder_of_text_has_to_be_told_what_columns_hold(rows, tmp_path):
    PLACES["CSV"](rows, tmp_path)
    rows.to_csv(tmp_path / "second.csv", index=False)
    with pytest.raises(SchemaError, match="nothing says what"):
        draft_from_header(tmp_path, "ill", ["no", "yes"])
    found = draft_from_header(tmp_path, "ill", ["no", "yes"], {"*": "number"}, ["patient"])
    assert len(found.schema.features) == 5


@pytest.mark.parametrize("place", [*PLACES, "PostgreSQL"])
def test_a_check_reads_some_rows_at_a_time_and_counts_the_same_wherever_rows_lie(
    place, rows, places, monkeypatch
):
    monkeypatch.setattr(files, "ROWS", 300)
    found, expected = find_outside(places[place], NARROW), find_outside(rows, NARROW)
    later = 1 if found.in_lines else 0
    assert found.counts == expected.counts and found.repeating == expected.repeating == ("patient",)
    assert found.places == {
        name: {kind: [row + later for row in rows] for kind, rows in of.items()}
        for name, of in expected.places.items()
    }


ODD = {
    "DuckDB": "struct(a integer)[]",
    "PostgreSQL": "json",
}


@pytest.mark.parametrize("place", ODD)
def test_a_column_of_a_type_that_is_not_read_is_left_out_and_stands_in_no_ones_way(place, tmp_path, postgres):
    sql = (
        f"CREATE TABLE desk (age integer, born date, odd {ODD[place]}, odd2 time, y boolean); "
        "INSERT INTO desk (age, born, y) VALUES (5, '2020-02-02', true), (700, '1920-01-01', false)"
    )
    if place == "DuckDB":
        address = f"duckdb:///{tmp_path}/odd.db?table=desk"
        with duckdb.connect(str(tmp_path / "odd.db")) as opened:
            opened.execute(sql)
    else:
        address = postgres.address(table="desk")
        with postgres.connect() as opened:
            opened.execute(f"DROP TABLE IF EXISTS desk; {sql}")
    found = draft_from_header(address, "y", [False, True])
    assert found.schema.feature_names == ["age"]
    assert [(each.column, each.kind) for each in found.suspects] == [
        ("born", "date"),
        ("odd", "odd type"),
        ("odd2", "odd type"),
    ]
    schema = Schema([Continuous("age", 0, 120), Date("born", "1950-01-01", "2021-01-01")], found.schema.label)
    assert find_outside(address, schema).counts == {"age": {"above": 1}, "born": {"below": 1}, "y": {}}


def test_a_nested_column_of_a_file_is_left_out_of_a_draft(tmp_path):
    table = pa.table({"x": [1.5], "lists": [[1]], "lasts": pa.array([1], pa.duration("s")), "y": ["a"]})
    pa_parquet.write_table(table, tmp_path / "t.parquet")
    assert declared_kinds(tmp_path / "t.parquet")["lists"] == "unknown"
    found = draft_from_header(tmp_path / "t.parquet", "y", ["a"])
    assert found.schema.feature_names == ["x"]
    assert "not read" in found.suspects[0].told and len(found.suspects) == 2


@pytest.mark.parametrize("behind", [";", " ; \n", ""])
def test_a_query_may_end_as_it_does_in_a_shell(behind, rows, tmp_path):
    address = write_duckdb(rows, tmp_path).replace("table=people", f"query=SELECT * FROM people{behind}")
    assert read_address(address).query == "SELECT * FROM people"
    assert find_outside(address, SCHEMA).counts == find_outside(rows, SCHEMA).counts


def test_persons_in_a_database_are_asked_and_scored_by_a_key(rows, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    address = write_duckdb(rows, tmp_path)
    Ledger("l").create("x", Budget(10))
    SCHEMA.by("patient").save("schema.json")
    BoostingClassifier(epsilon=1, schema=SCHEMA.by("patient")).fit(rows).model_.save("m")
    behind = ["--epsilon", "1", "--ledger", "l", "--name", "x"]
    for asked in (["ask", "count", address, "--schema", "schema.json"], ["score", "m", address]):
        assert run([*asked, *behind]) == 3 and "--key" in capfd.readouterr().err
        assert run([*asked, *behind, "--key", "id"]) == 0
    assert run(["threshold", "m", address, *behind, "--key", "id", "--out", "bold"]) == 0
    assert Ledger("l").account("x").spent().epsilon == 3


def test_a_check_of_nothing_is_refused(rows, tmp_path):
    with pytest.raises(DataError, match="no rows"):
        find_outside(write_parquet(rows[:0], tmp_path), SCHEMA)
    with pytest.raises(DataError, match="no rows"):
        find_outside(pd.DataFrame(rows[:0]), SCHEMA)
