"""Rows in memory, as codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any, Self

from privet.data import Codes, Persons, Table, no_rows, read_codes
from privet.engines.batches import drawn, joined, split
from privet.engines.protocol import Batch, Draws, Total
from privet.errors import QuestionError
from privet.schema import Schema


class MemoryEngine:
    """Codes in memory, fetched when the first sum is asked for and not before.

    Parameters
    ----------
    load : callable
        Reads and encodes the rows.
    progress : callable, optional
        Told, after every batch, which share of the batches is done.
    again : callable, optional
        The same rows under another schema.
    """

    def __init__(
        self,
        load: Callable[[], Codes],
        progress: Callable[[float], None] | None = None,
        again: Callable[[Schema], MemoryEngine] | None = None,
    ) -> None:
        self._load = load
        self._progress = progress
        self._again = again
        self._batches: list[Batch] = []

    @classmethod
    def of(
        cls,
        table: Table,
        schema: Schema,
        labels: Any = None,
        progress: Callable[[float], None] | None = None,
        persons: Persons | None = None,
        key: str | None = None,
    ) -> Self:
        """All rows of a table, one a person, read through a schema when they are asked for."""

        def load() -> Codes:
            return read_codes(table, schema, labels, persons, key)

        return cls(load, progress, lambda other: cls.of(table, other, labels, progress, persons, key))

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        partial: list[Total] = []
        for batch in self._read():
            partial = [reduce(add, [*partial, tally(batch)])]
        return partial[0]

    def part(self, draws: Draws, bound: int, taken: range) -> MemoryEngine:
        """See `Engine.part`."""
        part = self._part(draws, bound, taken)
        part._batches = split(part._load())
        return part

    def _part(self, draws: Draws, bound: int, taken: range) -> MemoryEngine:
        """The same, drawn when it is asked; by identity, so that rows are the same under another schema."""

        def load() -> Codes:
            return joined([drawn(batch, draws, bound, taken) for batch in self._read()])

        def again(schema: Schema) -> MemoryEngine:
            rows = self.under(schema)
            rows._progress = None  # how often a part is read tells how many runs of a selection there are
            return rows._part(draws, bound, taken)

        return MemoryEngine(load, again=again)

    def under(self, schema: Schema) -> MemoryEngine:
        """See `Engine.under`."""
        if self._again is None:
            raise QuestionError("these rows cannot be read under another schema.", "state bounds and lists.")
        return self._again(schema)

    def _read(self) -> Iterator[Batch]:
        if not self._batches:
            self._batches = split(self._load())
        for done, batch in enumerate(self._batches, start=1):
            yield batch
            if self._progress is not None:
                # In batches: the share of the rows would tell their exact number.
                self._progress(done / len(self._batches))


def nobody(schema: Schema) -> MemoryEngine:
    """No rows at all, to try things on."""
    codes = no_rows(schema)
    return MemoryEngine(lambda: codes, again=nobody)
