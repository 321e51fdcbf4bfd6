"""Which engine rows get: one in memory for what is there, one that reads on for what lies elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privet.data import SPARK, Persons, is_frame, is_place, located, open_source, open_table
from privet.engines.memory import MemoryEngine
from privet.engines.protocol import Engine
from privet.engines.spill import Folder
from privet.engines.stream import SourceRows, StreamEngine
from privet.errors import DataError
from privet.schema import Schema


def open_engine(
    source: Any,
    schema: Schema,
    labels: Any = None,
    progress: Callable[[float], None] | None = None,
    persons: Persons | None = None,
    spill: Folder = None,
    key: str | None = None,
) -> Engine:
    """Engine of a table; names and declared types are looked at now, rows when they are asked for."""
    own = persons.columns if persons else []
    label = [] if labels is not None else [schema.label.name]
    needed = list(dict.fromkeys([*schema.feature_names, *label, *own, *([key] if key else [])]))
    if is_place(source) and labels is None and bool(own) == (persons is not None):
        address = located(source)
        if address.kind == SPARK:
            from privet.data.sources.spark import open_frame
            from privet.engines.spark import SparkEngine  # loaded where it is used

            frame = source if is_frame(source) else open_frame(address)
            return SparkEngine(frame, schema, persons, key)
        place = open_source(source, schema)
        place.require(needed)
        return StreamEngine(SourceRows(place, schema, persons, spill, key), progress)
    table = open_table(source, schema)
    if own and table.names is None:
        raise DataError(
            "an array does not say whose its rows are.", "pass unit=, an identifier for each row."
        )
    if key and table.names is None:
        raise DataError("an array has no names, so no key.", "give a frame, or leave the key out.")
    table.require(needed)
    return MemoryEngine.of(table, schema, labels, progress, persons, key)
