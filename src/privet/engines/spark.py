"""Rows that lie in Spark: their codes stay with its executors, and only sums of them come to the driver.

Rows are encoded once, by tasks, and kept by Spark on its executors (``localCheckpoint``). It never works
them out anew: an executor that is lost takes its codes along, and the question fails. A cached frame would be
worked out again, and rows drawn again with it. A tally travels to the codes; a task sends one row back, its
total and what it has counted, and the driver adds totals up once it has each partition exactly once, however
often Spark ran a task. Nothing of Spark's own errors passes: they quote values.

privet must be installed where Spark's Python workers run.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data import (
    Codes,
    Persons,
    Table,
    check_number,
    encode,
    own_rows,
    wrong_type,
)
from privet.data.discreet import attempt, read_discreetly
from privet.data.sources.spark import STOPPED, chosen, require_frame
from privet.engines.batches import batch, drawn, joined, regrouped
from privet.engines.protocol import Batch, Draws, Total
from privet.engines.stream import UNORDERED
from privet.errors import DataError, PrivetError, QuestionError, SchemaError, SourceError
from privet.schema import Schema

CODES = "part long, first long, n_rows long, fault binary, codes binary"
TOTALS = "seen binary, fault binary, total binary"

FEW_PARTS = 256
"""Partitions whose totals come to the driver one by one; those of more are added up by tasks before."""

PERSON = "privet_person_of_a_row"
"""A column that is beside the others while rows come together."""

SHIFT = 40
"""A row without a key is the one at a place within a partition: these bits are for the place."""

KNOWN = {kind.__name__: kind for kind in (DataError, QuestionError, SchemaError, SourceError)}
"""Errors of ours that a task may send back."""


@dataclass(frozen=True)
class Drawn:
    """Which rows of each batch take part: those whose draws are among some."""

    draws: Draws
    bound: int
    taken: range


@dataclass(frozen=True)
class Coded:
    """Codes on the executors, and how many blobs of them each partition holds."""

    frame: Any
    blobs: dict[int, int]


class SparkEngine:
    """Rows of a DataFrame of Spark.

    Parameters
    ----------
    frame : DataFrame
    schema : Schema
    persons : Persons, optional
    key : str, optional
        Column that tells rows apart. Without one a row is known by its place in what Spark has kept.
    drawn : sequence of Drawn
        Of a part.
    """

    def __init__(
        self,
        frame: Any,
        schema: Schema,
        persons: Persons | None = None,
        key: str | None = None,
        drawn: Sequence[Drawn] = (),
    ) -> None:
        if persons is not None and (persons.beside is not None or key is None):
            raise SchemaError(
                "which row stands for a person must not depend on the order in which they come.",
                "name their column in the schema, and a key column that orders the rows: key=, or --key.",
            )
        self.schema = schema
        self._frame, self._persons, self._key, self._drawn = frame, persons, key, tuple(drawn)
        own = [] if persons is None else persons.columns
        beside = [schema.label.name, *own, *([] if key is None else [key])]
        self._columns = list(dict.fromkeys([*schema.feature_names, *beside]))
        self._require()
        self._kept: Coded | None = None

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        coded = self._coded()
        work = partial(_totals, pickle.dumps((tally, self._drawn)))
        told = coded.frame.select("part", "first", "codes").mapInArrow(work, TOTALS)
        if len(coded.blobs) > FEW_PARTS:
            told = told.repartition(max(2, int(len(coded.blobs) ** 0.5))).mapInArrow(_added, TOTALS)
        rows = _collected(told)
        _raise_faults(row.fault for row in rows)
        parts = [(pickle.loads(row.seen), row.total) for row in rows]
        seen = [pair for found, _ in parts for pair in found]
        if sorted(seen) != sorted(coded.blobs.items()):
            raise STOPPED
        in_order = sorted(parts, key=lambda part: part[0])
        total: Total = reduce(add, [pickle.loads(total) for _, total in in_order])
        return total

    def part(self, draws: Draws, bound: int, taken: range) -> SparkEngine:
        """See `Engine.part`; whatever is wrong with the rows is found now."""
        if self.schema.open_features and self._key is None:
            raise DataError(*UNORDERED)
        rows = [*self._drawn, Drawn(draws, bound, taken)]
        part = SparkEngine(self._frame, self.schema, self._persons, self._key, rows)
        part._kept = self._coded()
        return part

    def under(self, schema: Schema) -> SparkEngine:
        """See `Engine.under`."""
        if self._drawn and self._key is None:
            raise QuestionError(*UNORDERED)
        return SparkEngine(self._frame, schema, self._persons, self._key, self._drawn)

    def _require(self) -> None:
        """Refuse, while it is free, a table that lacks a column or has it in a type that is not read."""
        kinds = require_frame(self._frame, self._columns, self.schema)
        if self._persons is not None and pa.types.is_nested(kinds.field(self._persons.unit).type):
            raise wrong_type(self._persons.unit, "identifiers")

    def _coded(self) -> Coded:
        """Codes of all rows, worked out once and kept by Spark."""
        if self._kept is None:
            kept = attempt(self._checkpointed, (Exception,), STOPPED)
            rows = _collected(kept.select("part", "n_rows", "fault"))
            _raise_faults(row.fault for row in rows)
            check_number(sum(row.n_rows for row in rows), self.schema)
            blobs: dict[int, int] = {}
            for row in rows:
                blobs[row.part] = blobs.get(row.part, 0) + 1
            self._kept = Coded(kept, blobs)
        return self._kept

    def _checkpointed(self) -> Any:
        """A frame of blobs of codes, which Spark keeps."""
        from pyspark.sql.types import LongType, StructField, StructType

        rows = chosen(self._frame, self._columns)
        if self.schema.open_features and self._key is None:
            # They will be read again under another schema: the same ones, whatever becomes of the table.
            rows = self._frame = rows.localCheckpoint()
        if self._persons is not None:
            # All rows of a person come together, by what tells persons apart.
            more = StructType([*rows.schema.fields, StructField(PERSON, LongType())])
            told = rows.mapInArrow(partial(_with_persons, pickle.dumps(self._persons)), more)
            rows = told.repartition(PERSON).drop(PERSON)
        given = json.dumps(self.schema.to_dict()), self._persons, self._key
        return rows.mapInArrow(partial(_encoded, pickle.dumps(given)), CODES).localCheckpoint()


def _collected(frame: Any) -> list[Any]:
    found: list[Any] = attempt(frame.collect, (Exception,), STOPPED)
    return found


def _raise_faults(faults: Iterator[bytes | None]) -> None:
    """Raise what a task has found, as an error of ours."""
    for fault in faults:
        if fault is not None:
            told = json.loads(fault)
            if told["kind"] not in KNOWN:
                raise DataError("rows in Spark could not be read through their schema.", "convert odd types.")
            raise KNOWN[told["kind"]](told["message"], told["hint"])


# What follows runs in Spark's workers.


def _encoded(given: bytes, tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of a partition as codes: a blob for each batch of them."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    part = task.partitionId()
    contract, persons, key = pickle.loads(given)
    schema = Schema.from_dict(json.loads(contract))
    codes = _guarded(regrouped(_codes(tables, schema, persons, key)))
    first = part << SHIFT
    for one, fault in codes:
        n_rows = 0 if one is None else one.n_rows
        yield _row(CODES, part, first, n_rows, fault, None if one is None else pickle.dumps(one, 5))
        first += n_rows


def _with_persons(given: bytes, tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, each with a number that all rows of its person have; of nobody's rows anyone will do."""
    persons: Persons = pickle.loads(given)
    for rows in tables:
        try:
            ids = read_discreetly(lambda rows=rows: persons.identities(_columns(rows), len(rows)))  # type: ignore[misc]
        except PrivetError:
            raise RuntimeError("identifiers could not be read") from None
        numbers = np.where(ids.any(axis=1), ids[:, 0].view(np.int64), np.arange(len(rows)))
        yield rows.append_column(PERSON, pa.array(numbers, pa.int64()))


def _codes(
    tables: Iterator[pa.RecordBatch], schema: Schema, persons: Persons | None, key: str | None
) -> Iterator[Codes]:
    """Codes of all rows of a partition; where it holds whole persons, of one row each."""
    found = (encode(_table(rows), schema, persons=persons, key=key) for rows in tables if len(rows))
    if persons is None:
        yield from found
    elif listed := list(found):
        whole = joined(listed)
        assert whole.persons is not None
        yield whole.only(own_rows(whole.persons, whole.keys))


def _columns(rows: pa.RecordBatch) -> dict[str, pa.ChunkedArray]:
    table = pa.Table.from_batches([rows])
    return {name: table.column(name) for name in table.column_names}


def _table(rows: pa.RecordBatch) -> Table:
    columns = _columns(rows)
    return Table(list(columns), lambda names: {name: columns[name] for name in names})


def _totals(work: bytes, blobs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row: total of all blobs of a partition, and how many there were of which."""
    tally, taken = pickle.loads(work)
    seen: dict[int, int] = {}

    def totals() -> Iterator[Any]:
        total: list[Any] = []
        for rows in blobs:
            for row in rows.to_pylist():
                seen[row["part"]] = seen.get(row["part"], 0) + 1
                one = _taking_part(batch(pickle.loads(row["codes"]), row["first"]), taken)
                total = [reduce(add, [*total, tally(one)])]
        yield from total

    for total, fault in _guarded(totals()):
        yield _row(TOTALS, pickle.dumps(sorted(seen.items())), fault, pickle.dumps(total))


def _taking_part(one: Batch, chosen: Sequence[Drawn]) -> Batch:
    """Rows of a batch that are drawn each time; each keeps its identity."""
    for each in chosen:
        own = each.draws.below(each.bound, one.rows)
        kept = (own >= each.taken.start) & (own < each.taken.stop)
        rows = drawn(one, each.draws, each.bound, each.taken)
        one = batch(replace(rows, keys=one.rows[kept].astype(np.uint64)), 0)
    return one


def _added(totals: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row: the sum of the totals of some partitions."""
    seen: list[tuple[int, int]] = []
    found: list[tuple[Any, Any]] = []
    for rows in totals:
        for row in rows.to_pylist():
            if row["fault"] is not None:
                yield _row(TOTALS, row["seen"], row["fault"], None)
                return
            own = pickle.loads(row["seen"])
            seen += own
            found.append((own, pickle.loads(row["total"])))
    if found:
        in_order = [total for _, total in sorted(found, key=lambda pair: pair[0])]
        yield _row(TOTALS, pickle.dumps(sorted(seen)), None, pickle.dumps(reduce(add, in_order)))


def _guarded(items: Iterator[Any]) -> Iterator[tuple[Any, bytes | None]]:
    """Items, and at the end what went wrong, if something did, as text of ours."""
    nothing: list[Any] = []

    def following() -> list[Any]:
        return [item] if (item := next(items, None)) is not None else nothing

    while True:
        try:
            found = read_discreetly(following)
        except PrivetError as error:
            told = {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
            yield None, json.dumps(told).encode()
            return
        if not found:
            return
        yield found[0], None


def _row(columns: str, *values: Any) -> pa.RecordBatch:
    """A row of what a task sends."""
    named = [column.split() for column in columns.split(", ")]
    kinds = {"long": pa.int64(), "binary": pa.binary()}
    arrays = [pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, named, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in named])
