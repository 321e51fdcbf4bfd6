"""Places that tables of results are written to, some rows at a time: new files, new tables of databases.

Nothing is overwritten, and nothing is left of what could not be written to its end.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from privet.data.discreet import attempt
from privet.data.sources import DUCKDB, FILES, POSTGRESQL, SPARK, Address, read_address
from privet.data.sources.duckdb import duckdb_driver
from privet.data.sources.postgresql import postgres_driver
from privet.data.sources.sql import parts_of, quoted
from privet.errors import DataError, SourceError

Write = Callable[[pa.Table], None]


def open_sink(place: str | Path) -> AbstractContextManager[Write]:
    """What writes tables, all of one schema, to a new place; it is whole when it is left without an error."""
    address = read_address(place)
    if address.kind == FILES:
        return _file(Path(address.place))
    if address.table is None:
        raise DataError("rows are written to a table.", "end the address with ?table=NAME.")
    sinks = {DUCKDB: _duckdb, POSTGRESQL: _postgresql, SPARK: _spark}
    return sinks[address.kind](address)


def text_lines(stream: TextIO) -> Write:
    """What writes tables as CSV: names first."""
    lines = csv.writer(stream, lineterminator="\n")
    begun: list[bool] = []

    def write(table: pa.Table) -> None:
        if not begun:
            lines.writerow(table.column_names)
            begun.append(True)
        lines.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))

    return write


@contextlib.contextmanager
def _file(path: Path) -> Iterator[Write]:
    if path.exists():
        raise DataError(f"{str(path)!r} is there already.", "name a new file.")
    try:
        with _parquet(path) if path.suffix == ".parquet" else _text(path) as write:
            yield write
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _text(path: Path) -> Iterator[Write]:
    with path.open("x", newline="", encoding="utf-8") as stream:
        yield text_lines(stream)


@contextlib.contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    with contextlib.ExitStack() as stack:
        writers: list[Any] = []

        def write(table: pa.Table) -> None:
            if not writers:
                writers.append(stack.enter_context(pa_parquet.ParquetWriter(path, table.schema)))
            writers[0].write_table(table)

        yield write


@contextlib.contextmanager
def _duckdb(address: Address) -> Iterator[Write]:
    duckdb = duckdb_driver()
    assert address.table is not None
    name = ".".join(map(quoted, parts_of(address.table)))
    faults = (duckdb.Error, OSError)
    opened = DataError(
        f"{address.place!r} could not be opened to be written.",
        "write to another file than the one that is read, and close it elsewhere.",
    )
    connection = attempt(partial(duckdb.connect, address.place), faults, opened)
    begun: list[bool] = []

    def write(table: pa.Table) -> None:
        connection.register("privet_rows", table)
        how = f"INSERT INTO {name}" if begun else f"CREATE TABLE {name} AS"
        connection.execute(f"{how} SELECT * FROM privet_rows")
        begun.append(True)

    with contextlib.closing(connection):
        connection.execute("BEGIN TRANSACTION")
        yield lambda table: attempt(partial(write, table), faults, _failed(begun))
        attempt(lambda: connection.execute("COMMIT"), faults, _failed(begun))


@contextlib.contextmanager
def _postgresql(address: Address) -> Iterator[Write]:
    driver, faults = postgres_driver()
    assert address.table is not None
    *schema, name = parts_of(address.table)
    more = {"db_schema_name": schema[-1]} if schema else {}
    lost = SourceError("the database could not be reached.", "check the address, and PGPASSWORD.")
    connection = attempt(partial(driver.connect, address.uri), faults, lost)
    begun: list[bool] = []

    def write(table: pa.Table) -> None:
        with connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="append" if begun else "create", **more)
        begun.append(True)

    with contextlib.closing(connection):
        yield lambda table: attempt(partial(write, table), faults, _failed(begun))
        attempt(connection.commit, faults, _failed(begun))


@contextlib.contextmanager
def _spark(address: Address) -> Iterator[Write]:
    from privet.data.sources.spark import spark_session  # loaded where it is used

    session = spark_session()
    assert address.table is not None
    name = ".".join("`" + part.replace("`", "``") + "`" for part in parts_of(address.table))
    begun: list[bool] = []

    def write(table: pa.Table) -> None:
        session.createDataFrame(table).write.saveAsTable(name, mode="append" if begun else "error")
        begun.append(True)

    try:
        yield lambda table: attempt(partial(write, table), (Exception,), _failed(begun))
    except BaseException:
        if begun:
            session.sql(f"DROP TABLE {name}")
        raise


def _failed(begun: list[bool]) -> DataError | SourceError:
    if begun:
        return SourceError("the rows could not be written to their end; none is there.", "try again.")
    return DataError("this table is there already, or may not be made.", "name a new table.")
