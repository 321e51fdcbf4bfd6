"""A checked copy of a table: the columns that a schema needs, in their own file, read once to its end.

Whatever is wrong with a table is told then, to its owner. A value's code depends on that value and the schema
alone, so nothing that is asked of the copy later can fail because of a row.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from privet.data import SPARK, Persons, Piece, located, open_source
from privet.data.discreet import attempt, read_discreetly
from privet.engines.opened import open_engine
from privet.engines.protocol import Batch
from privet.errors import DataError
from privet.schema import Schema


def checked_copy(source: str | Path, schema: Schema, target: Path) -> int:
    """Copy what a schema needs of a table to a Parquet file, and read all of it as a question would.

    Parameters
    ----------
    source : str or Path
        Where the rows lie.
    schema : Schema
    target : Path
        A new file.

    Returns
    -------
    int
        The exact number of rows, or of persons, for the owner's eyes alone.
    """
    if located(source).kind == SPARK:
        raise DataError("rows cannot be copied from Spark.", "write them to Parquet files.")
    place = open_source(source, schema)
    unit = [] if schema.unit is None else [schema.unit]
    columns = [*schema.feature_names, schema.label.name, *unit]
    place.require(columns)
    unfit = DataError("a column has a type that cannot be copied.", "convert it to numbers or text.")
    faults = (pa.ArrowException, OSError)
    writers: list[pa_parquet.ParquetWriter] = []
    try:
        for piece in place.read(columns):
            attempt(partial(_write, piece, columns, target, writers), faults, unfit)
        place.check()
    finally:
        for writer in writers:
            writer.close()
    if not writers:
        raise DataError("the table has no rows.", "give one with rows.")
    persons = None if schema.unit is None else Persons(schema.unit, bytes(32))
    engine = open_engine(target, schema, persons=persons, spill=False)
    return read_discreetly(lambda: engine.sum(_n_rows))


def _write(piece: Piece, columns: list[str], target: Path, writers: list[Any]) -> None:
    for table in piece():
        table = table.select(columns)
        if not writers:
            writers.append(pa_parquet.ParquetWriter(target, table.schema))
        writers[0].write_table(table)


def _n_rows(batch: Batch) -> int:
    return len(batch.labels)
