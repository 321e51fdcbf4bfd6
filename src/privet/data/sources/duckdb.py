"""Tables and queries of a DuckDB file, which is opened to be read alone and reaches nothing beside itself."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from privet.data.discreet import attempt
from privet.data.sources.address import Address
from privet.data.sources.files import FAULTS, ROWS, file_state, gathered
from privet.data.sources.kinds import require_kinds
from privet.data.sources.source import Piece
from privet.data.sources.sql import quoted, select
from privet.data.table import require_columns
from privet.errors import DataError, PrivetError, SourceError
from privet.schema import Schema

SETTINGS = {
    # A query reads no other file, loads no extension, and writes nothing, not even what it has no room for.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "memory_limit": "256MB",  # which it fills with pages of the file
    "lock_configuration": "true",
}


class DuckSource:
    """Rows of a table or a query; nobody writes to the file while it is open.

    Parameters
    ----------
    address : Address
    schema : Schema, optional
    """

    ordered = False

    def __init__(self, address: Address, schema: Schema | None) -> None:
        duckdb = duckdb_driver()
        path = address.path
        assert path is not None
        if not path.is_file():
            raise DataError(f"there is no file {str(path)!r}.", "check the path.")
        self._address, self._schema = address, schema
        self._faults = (duckdb.Error, *FAULTS)
        self._path, self._seen = path, file_state(path)
        self._connection = attempt(
            partial(duckdb.connect, str(path), read_only=True, config=dict(SETTINGS)),
            self._faults,
            DataError(
                f"{path.name!r} could not be opened as a DuckDB file.",
                "close it where it is open to be written, and check that this release of duckdb reads it.",
            ),
        )
        weakref.finalize(self, self._connection.close)
        unfit = DataError(
            f"{path.name!r} has no such table, or the query is wrong.",
            "try it in DuckDB, on this file alone.",
        )
        self._kinds: pa.Schema = attempt(
            lambda: self._ask(["*"], "LIMIT 0").read_all().schema, self._faults, unfit
        )
        self.names: Sequence[str] = self._kinds.names

    def declared(self) -> pa.Schema:
        """See `Source.declared`."""
        return self._kinds

    def require(self, columns: Sequence[str]) -> None:
        """See `Source.require`."""
        require_columns(self.names, columns)
        require_kinds(self._kinds, columns, self._schema)

    def read(self, columns: Sequence[str]) -> Iterator[Piece]:
        """See `Source.read`."""
        self.check()
        batches = self._attempt(partial(self._ask, list(map(quoted, columns))))
        yield from gathered(self._batches(batches))

    def check(self) -> None:
        """See `Source.check`."""
        if file_state(self._path) != self._seen:
            raise SourceError(
                f"{self._path.name!r} was written to or replaced while it was read.",
                "fit again when nobody writes; what this cost stays spent.",
            )

    def _ask(self, expressions: Sequence[str], behind: str = "") -> Any:
        # A cursor of its own: two passes may be under way. `execute` would hold all rows in memory.
        cursor = self._connection.cursor()
        return cursor.sql(select(expressions, self._address, behind)).to_arrow_reader(ROWS)

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        while (batch := self._attempt(partial(next, reader, None))) is not None:
            yield batch

    def _attempt(self, call: Callable[[], Any]) -> Any:
        failed = SourceError(
            f"DuckDB could not read {self._path.name!r} to its end.",
            "try the query in DuckDB; one that sorts or joins much is better made a table first.",
        )
        return attempt(call, self._faults, failed)


def duckdb_driver() -> Any:
    """DuckDB, or what to install."""
    try:
        import duckdb
    except ModuleNotFoundError:
        raise PrivetError("DuckDB files need duckdb.", "pip install 'privet[duckdb]'") from None
    return duckdb
