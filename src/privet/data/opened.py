"""Open rows wherever they are: what is held in memory, files, and databases by their address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from privet.data.columns import Column
from privet.data.sources import (
    DUCKDB,
    FILES,
    POSTGRESQL,
    Address,
    FileSource,
    Source,
    read_address,
    table_files,
)
from privet.data.sources.duckdb import DuckSource
from privet.data.sources.postgresql import PostgresSource
from privet.data.table import Table, open_held
from privet.data.text import Place, TextFile, is_place
from privet.errors import DataError
from privet.schema import Schema


def located(place: Place) -> Address:
    """Where rows lie, taken apart."""
    return Address(FILES, str(place.place)) if isinstance(place, TextFile) else read_address(place)


def open_source(place: Place, schema: Schema) -> Source:
    """Open a place that rows can be read from again and again; none is read yet."""
    if isinstance(place, TextFile):
        return FileSource(table_files(place), schema, place)
    address = read_address(place)
    if address.kind == FILES:
        return FileSource(table_files(Path(address.place)), schema)
    if address.kind == DUCKDB:
        return DuckSource(address, schema)
    if address.kind == POSTGRESQL:
        return PostgresSource(address, schema)
    raise DataError(
        "rows that lie in Spark do not leave it.",
        "fit or ask there; what needs all of them in memory reads a file.",
    )


def open_table(source: Any, schema: Schema) -> Table:
    """Open a frame, an Arrow table, an array, or an address, of whose rows all come into memory.

    Parameters
    ----------
    source : a pandas or polars frame, an Arrow table, a numpy array, a path, an address, a `TextFile`
    schema : Schema
        Says which columns will be read, and as what.

    Returns
    -------
    Table
    """
    if not is_place(source):
        return open_held(source, schema)
    place = open_source(source, schema)

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        place.require(names)
        pieces = [table for piece in place.read(names) for table in piece()]
        place.check()
        table = pa.concat_tables(pieces) if pieces else None
        return {
            name: pa.chunked_array([], pa.null()) if table is None else table.column(name) for name in names
        }

    return Table(place.names, fetch)
