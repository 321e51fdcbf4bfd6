"""Open rows wherever they are: what is held in memory, files, and databases by their address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from privet.data.codes import no_rows_at_all
from privet.data.columns import Column
from privet.data.sources import (
    DUCKDB,
    FILES,
    POSTGRESQL,
    SPARK,
    Address,
    FileSource,
    Source,
    read_address,
    table_files,
)
from privet.data.sources.duckdb import DuckSource
from privet.data.sources.postgresql import PostgresSource
from privet.data.table import Table, open_held, require_columns
from privet.data.text import CSV_SUFFIXES, Place, TextFile, is_frame, is_place
from privet.errors import DataError
from privet.schema import Schema


def located(place: Place) -> Address:
    """Where rows lie, taken apart."""
    if is_frame(place):
        return Address(SPARK, "spark:")
    return Address(FILES, str(place.place)) if isinstance(place, TextFile) else read_address(place)


def open_source(place: Place, schema: Schema | None) -> Source:
    """Open a place that rows can be read from again and again; none is read yet.

    Without a schema columns are what their types say; files of text declare none.
    """
    if isinstance(place, TextFile):
        return FileSource(table_files(place), schema, place)
    address = located(place)
    if address.kind == FILES:
        return FileSource(table_files(Path(address.place)), schema)
    if address.kind == DUCKDB:
        return DuckSource(address, schema)
    if address.kind == POSTGRESQL:
        return PostgresSource(address, schema)
    from privet.data.sources.spark import SparkSource, open_frame  # loaded where it is used

    return SparkSource(place if is_frame(place) else open_frame(address), schema)


def of_text(place: Place) -> bool:
    """Whether rows lie in files of text, which declare no types."""
    is_file = isinstance(place, TextFile) or located(place).kind == FILES
    return is_file and (isinstance(place, TextFile) or str(table_files(place)[0]).endswith(CSV_SUFFIXES))


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
    if located(source).kind == SPARK:
        raise DataError(
            "rows that lie in Spark do not leave it.",
            "fit or ask there, or predict them with `predict_into`; what needs all in memory reads a file.",
        )
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


def read_public(place: Place) -> pa.Table:
    """All columns of a public sample, by the types that its place declares."""
    if of_text(place):
        raise DataError("several files of text have no types.", "name one of them.")
    source = open_source(place, None)
    require_columns(source.names, source.names)
    source.require(source.names)
    pieces = [table for piece in source.read(source.names) for table in piece()]
    source.check()
    if not pieces:
        raise no_rows_at_all()
    table = pa.concat_tables(pieces)
    for at, kind in enumerate(table.schema.types):
        listed = kind.value_type if pa.types.is_dictionary(kind) else kind
        plain = pa.float64() if pa.types.is_decimal(listed) else listed
        table = table.set_column(at, table.column_names[at], table.column(at).cast(plain))
    return table
