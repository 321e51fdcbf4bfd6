"""Tables, queries and frames of Spark: looked at by their types, and read where rows may come to the driver.

A fit and a question do not read here: their tallies travel to the rows (`privet.engines`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from privet.data.discreet import attempt
from privet.data.sources.address import Address
from privet.data.sources.files import gathered
from privet.data.sources.kinds import require_kinds
from privet.data.sources.source import UNREAD, Piece
from privet.errors import DataError, SourceError
from privet.schema import Schema

STOPPED = SourceError(
    "Spark could not read the rows to their end.",
    "its own log says why, and may quote rows; what this cost stays spent.",
)


class SparkSource:
    """Rows of a DataFrame, which come to the driver: to their owner's desk, or to be predicted.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema, optional
    """

    ordered = False

    def __init__(self, frame: Any, schema: Schema | None) -> None:
        self._frame, self._schema = frame, schema
        self.names: Sequence[str] = list(frame.columns)

    def require(self, columns: Sequence[str]) -> None:
        """See `Source.require`."""
        require_frame(self._frame, columns, self._schema)

    def declared(self) -> pa.Schema:
        """See `Source.declared`."""
        return pa.schema([(field.name, _kind(field.dataType)) for field in self._frame.schema.fields])

    def read(self, columns: Sequence[str]) -> Iterator[Piece]:
        """See `Source.read`; a partition comes when the one before it has been read."""
        blobs = chosen(self._frame, columns).mapInArrow(_blobs, "rows binary")
        rows = attempt(blobs.toLocalIterator, (Exception,), STOPPED)
        yield from gathered(_batches(rows))

    def check(self) -> None:
        """See `Source.check`; every partition was read once."""


def _kind(kind: Any) -> pa.DataType:
    """What Arrow calls a type of Spark's, `UNREAD` where it knows none."""
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind)
    except Exception:  # of another kind in each release
        return UNREAD


def _blobs(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In Spark's workers: a row for each batch, which holds all of it."""
    for rows in tables:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_batch(rows)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["rows"])


def _batches(rows: Iterator[Any]) -> Iterator[pa.RecordBatch]:
    while (row := attempt(partial(next, rows, None), (Exception,), STOPPED)) is not None:
        yield from pa.ipc.open_stream(bytes(row[0]))


def open_frame(address: Address) -> Any:
    """Table or query of this process's session; one is begun as its environment says if there is none."""
    session = spark_session()

    def opened() -> Any:
        return session.sql(address.query) if address.query else session.table(str(address.table))

    unknown = DataError("Spark does not find this table, or does not understand this query.", "check both.")
    return attempt(opened, (Exception,), unknown)


def spark_session() -> Any:
    """The session of this process, begun as its environment says if there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError("the package pyspark is missing.", "pip install privet[spark].") from None
    none = DataError(
        "Spark could not be started.", "check that there is a Java (JAVA_HOME), or begin a session before."
    )
    return attempt(SparkSession.builder.getOrCreate, (Exception,), none)


def chosen(frame: Any, columns: Sequence[str]) -> Any:
    """Some columns of a frame, whatever they are called."""
    from pyspark.sql import functions

    return frame.select([functions.col("`" + name.replace("`", "``") + "`") for name in columns])


def require_frame(frame: Any, columns: Sequence[str], schema: Schema | None) -> pa.Schema:
    """Refuse, while it is free, a table that lacks a column or has it in a type that is not read."""
    from pyspark.sql.pandas.types import to_arrow_schema

    for name in columns:
        same = [other for other in frame.columns if other.lower() == name.lower()]
        if same != [name]:
            what = "is not a column" if name not in same else "is more than one column"
            raise DataError(f"{name!r} {what} of the table in Spark.", "rename or alias it.", column=name)
    foreign = DataError("a column in Spark has a type that is not read.", "cast it to numbers or text.")
    kinds: pa.Schema = attempt(lambda: to_arrow_schema(chosen(frame, columns).schema), (Exception,), foreign)
    require_kinds(kinds, columns, schema)
    return kinds
