"""Tables and queries of PostgreSQL, as all passes saw them when the first began, streamed by COPY."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from privet.data.discreet import attempt
from privet.data.sources.address import Address
from privet.data.sources.files import gathered
from privet.data.sources.kinds import require_kinds, wanted_of
from privet.data.sources.source import UNREAD, Piece
from privet.data.sources.sql import quoted, rows_of, select
from privet.data.table import require_columns, wrong_type
from privet.errors import DataError, PrivetError, SourceError
from privet.schema import Continuous, Moment, Schema

SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
SETTINGS = (
    "SET LOCAL synchronize_seqscans = off",  # a scan would begin where another one is
    "SET LOCAL DateStyle = ISO",
    "SET LOCAL TimeZone = UTC",
    "SET LOCAL max_parallel_workers_per_gather = 0",  # workers hand in their rows as they come
)

PLAIN = {
    **dict.fromkeys(("int2", "int4"), pa.int32()),
    "int8": pa.int64(),
    **dict.fromkeys(("float4", "float8"), pa.float64()),
    "bool": pa.bool_(),
    **dict.fromkeys(("text", "varchar", "name"), pa.string()),
    "bytea": pa.binary(),
}
"""Types that are read as they are, and as what."""

NUMBERS = ("numeric", "money")
DATES = ("date", "timestamp", "timestamptz")
TEXTS = ("bpchar", "uuid", *DATES)
"""Types that are read as text: char(n) without the blanks that fill it up, identifiers, and dates."""

LARGEST, LEAST = "1.7e308::numeric", "1e-300::numeric"

KIND = """
WITH RECURSIVE below AS (
  SELECT oid, typname, typtype, typbasetype FROM pg_type WHERE oid = {oid}::oid
  UNION ALL
  SELECT t.oid, t.typname, t.typtype, t.typbasetype FROM pg_type t JOIN below b ON t.oid = b.typbasetype
)
SELECT typname::text AS name, (typtype = 'e') AS is_enum FROM below WHERE typtype <> 'd'
"""
"""What a type is called; of a domain, the type that it is a part of."""


class PostgresSource:
    """Rows of a table or a query, in one snapshot, which is held until nobody reads them any more.

    Parameters
    ----------
    address : Address
    schema : Schema, optional
        Says which numbers of any length are numbers and not categories; without one all are.
    """

    ordered = False

    def __init__(self, address: Address, schema: Schema | None) -> None:
        driver, self._faults = postgres_driver()
        self._address, self._schema = address, schema
        self._connection = attempt(
            partial(driver.connect, address.uri),
            self._faults,
            SourceError(
                "the database could not be reached.",
                "check the address, that it runs, and the user's rights; a password comes from PGPASSWORD.",
            ),
        )
        weakref.finalize(self, _close, self._connection, self._faults)
        unfit = DataError(
            "the database has no such table, this user may not read it, or the query is wrong.",
            "try it in psql, as this user.",
        )
        attempt(self._begin, self._faults, unfit)
        self.names: Sequence[str] = attempt(self._own_names, self._faults, unfit)
        self._kinds: dict[str, str] = {}

    def declared(self) -> pa.Schema:
        """See `Source.declared`."""
        require_columns(self.names, self.names)
        kinds = self._attempt(partial(self._own_kinds, self.names))
        numbers, days = dict.fromkeys(NUMBERS, pa.float64()), dict.fromkeys(DATES, pa.timestamp("us"))
        known = {**dict.fromkeys(TEXTS, pa.string()), **PLAIN, **numbers, **days}
        return pa.schema([(name, known.get(kinds[name], UNREAD)) for name in self.names])

    def require(self, columns: Sequence[str]) -> None:
        """See `Source.require`."""
        require_columns(self.names, columns)
        lost = SourceError("the database was lost while types were looked at.", "try again.")
        self._kinds |= attempt(partial(self._own_kinds, columns), self._faults, lost)
        wanted = wanted_of(self._schema)
        fields = []
        for name in columns:
            kind = self._kinds[name]
            if kind not in (*PLAIN, *NUMBERS, *TEXTS):
                raise wrong_type(name, "numbers, text or truth values")
            if kind in DATES and self._schema is not None and not isinstance(wanted.get(name), Moment):
                raise wrong_type(name, "numbers, text or truth values")
            fields.append((name, pa.float64() if kind in NUMBERS else PLAIN.get(kind, pa.string())))
        require_kinds(pa.schema(fields), columns, self._schema)

    def read(self, columns: Sequence[str]) -> Iterator[Piece]:
        """See `Source.read`."""
        query = select([self._expression(name) for name in columns], self._address)
        cursor = self._attempt(self._connection.cursor)
        try:
            self._attempt(partial(cursor.execute, query))
            reader = self._attempt(cursor.fetch_record_batch)
            yield from gathered(self._batches(reader))
        finally:
            with contextlib.suppress(*self._faults):
                cursor.close()

    def check(self) -> None:
        """See `Source.check`; a snapshot does not change."""

    def _begin(self) -> None:
        for statement in (SNAPSHOT, *SETTINGS):
            self._ask(statement)

    def _ask(self, query: str) -> pa.Table:
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table()

    def _own_names(self) -> list[str]:
        return list(self._ask(f"SELECT found.* FROM {self._nobody}").column_names)

    @property
    def _nobody(self) -> str:
        """A row of these columns without values: none that is there is read for it."""
        return f"(SELECT 1) AS one LEFT JOIN (SELECT * FROM {rows_of(self._address)}) AS found ON false"

    def _own_kinds(self, columns: Sequence[str]) -> dict[str, str]:
        """Declared types."""
        asked = ", ".join(f"pg_typeof(found.{quoted(name)})::oid::int8" for name in columns)
        oids = [column[0].as_py() for column in self._ask(f"SELECT {asked} FROM {self._nobody}").columns]
        found = {oid: self._ask(KIND.format(oid=int(oid))).to_pylist()[0] for oid in {*oids}}
        names = ["text" if found[oid]["is_enum"] else found[oid]["name"] for oid in oids]
        return dict(zip(columns, names, strict=True))

    def _expression(self, name: str) -> str:
        """A column as it is read."""
        column, kind = quoted(name), self._kinds[name]
        if kind not in NUMBERS and kind in PLAIN and kind != "text":
            return column
        if kind in DATES:
            # Infinite ones, and those before Christ, are the first or last that are written as others are.
            first, last = (f"'{written}'::{kind}" for written in ("0001-01-01", "9999-12-31"))
            within = f"greatest(least({column}, {last}), {first})::text"
            return f"CASE WHEN {column} IS NOT NULL THEN {within} END AS {column}"
        wanted = wanted_of(self._schema).get(name)
        if kind in NUMBERS and (self._schema is None or isinstance(wanted, Continuous)):
            # A number that a double does not hold would end the pass: it is infinite, or 0.
            exact = f"{column}::numeric"
            return (
                f"CASE WHEN {exact} <> 'NaN' AND abs({exact}) > {LARGEST} "
                f"THEN sign({exact})::float8 * 'Infinity' "
                f"WHEN abs({exact}) < {LEAST} THEN 0 ELSE {exact}::float8 END AS {column}"
            )
        # 1.50 is the category 1.5, as it is everywhere else.
        plain = f"trim_scale({column}::numeric)" if kind in NUMBERS else column
        return f"{plain}::text AS {column}"

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        while (batch := self._attempt(partial(next, reader, None))) is not None:
            yield batch

    def _attempt(self, call: Callable[[], Any]) -> Any:
        lost = SourceError(
            "the database was lost, or could not read the rows to their end.",
            "check that it runs and that the query does; what this cost stays spent.",
        )
        return attempt(call, self._faults, lost)


def _close(connection: Any, faults: tuple[type[Exception], ...]) -> None:
    with contextlib.suppress(*faults):
        connection.close()


def postgres_driver() -> tuple[Any, tuple[type[Exception], ...]]:
    """The driver, and what may go wrong in it."""
    try:
        import adbc_driver_manager.dbapi as manager
        import adbc_driver_postgresql.dbapi as driver
    except ModuleNotFoundError:
        raise PrivetError("PostgreSQL needs a driver.", "pip install 'privet[postgresql]'") from None
    return driver, (manager.Error, pa.ArrowException, OSError, RuntimeError)
