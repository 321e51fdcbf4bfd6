"""One line says where rows lie; it holds no password, and nothing is opened by taking it apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from privet.data.sources import Address, read_address
from privet.data.sources.sql import parts_of, quoted, rows_of
from privet.errors import DataError


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("people.parquet", Address("files", "people.parquet")),
        ("folder/*.parquet", Address("files", "folder/*.parquet")),
        (Path("duckdb:///a?table=b"), Address("files", "duckdb:/a?table=b")),
        ("c:people.csv", Address("files", "c:people.csv")),
        ("duckdb:///a.db?table=b", Address("duckdb", "a.db", "b")),
        ("duckdb:////data/a%20b.db?table=b", Address("duckdb", "/data/a b.db", "b")),
        ("duckdb:a.db?query=select%201", Address("duckdb", "a.db", None, "select 1")),
        ("postgres://u@h:5/d?table=b", Address("postgresql", "postgresql://u@h:5/d", "b")),
        ("postgresql:///?host=s&table=b", Address("postgresql", "postgresql:///", "b", None, {"host": "s"})),
        ("spark:clinic.people", Address("spark", "spark:", "clinic.people")),
        ("spark:?query=select+1", Address("spark", "spark:", None, "select 1")),
        ("SPARK:///clinic.people", Address("spark", "spark:", "clinic.people")),
    ],
)  # fmt: skip
def test_an_address_is_taken_apart(written, address):
    assert read_address(written) == address


@pytest.mark.parametrize(
    ("written", "match"),
    [
        ("postgresql://u:hunter2@h/d?table=b", "must not hold a password"),
        ("postgresql://h/d?table=b&password=hunter2", "must not hold a password"),
        ("postgresql://h/d?table=b&sslpassword=hunter2", "must not hold a password"),
        ("duckdb:///a.db", "one table or one query"),
        ("duckdb:///a.db?table=b&query=select+1", "one table or one query"),
        ("duckdb:///a.db?table=b&hunter2=1", "no address of a DuckDB file"),
        ("duckdb://?table=b", "no address of a DuckDB file"),
        ("spark:", "one table or one query"),
        ("mysql://hunter2@h/d?table=b", "from such an address"),
    ],
)
def test_an_address_that_is_wrong_is_refused_in_words_that_quote_nothing(written, match):
    with pytest.raises(DataError, match=match) as found:
        read_address(written)
    assert "hunter2" not in str(found.value) and found.value.__context__ is None


def test_an_account_is_named_after_the_table_and_tells_nothing_else():
    assert read_address("postgresql://u@h/d?table=clinic.people").name == "clinic.people"
    assert read_address("folder/people.csv").name == "people.csv"
    with pytest.raises(DataError, match="have no name"):
        _ = read_address("duckdb:///a.db?query=select+1").name


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ("people", ["people"]),
        ("clinic.people", ["clinic", "people"]),
        ('clinic."odd "".name"', ["clinic", 'odd ".name']),
        ("people; drop table people", ["people; drop table people"]),
    ],
)
def test_a_name_of_a_table_is_nothing_but_a_name(table, parts):
    assert parts_of(table) == parts
    assert rows_of(Address("duckdb", "a", table)) == ".".join(map(quoted, parts))


@pytest.mark.parametrize("table", ["", ".", "a.", ".a", 'a"b', '"a', "a.b.c.d", '"a"b'])
def test_what_is_no_name_of_a_table_is_refused(table):
    with pytest.raises(DataError, match="no name of a table"):
        parts_of(table)


def test_a_query_that_ends_in_a_comment_stays_in_its_brackets():
    assert rows_of(Address("duckdb", "a", None, "select 1 -- all")).splitlines()[2] == ") AS rows"
