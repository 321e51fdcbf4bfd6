"""Rows that are read batch by batch from where they lie, encoded once, and never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data import Codes, Persons, Piece, Source, Table, check_number, encode, no_rows, own_rows
from privet.engines.ahead import ahead, in_order
from privet.engines.batches import batch, drawn, regrouped
from privet.engines.protocol import Batch, Draws, Total
from privet.engines.spill import Folder, Place, Spill
from privet.errors import DataError, QuestionError, SchemaError
from privet.schema import Schema

Places = Sequence[int] | None
"""Of the features that are read; None for all of them."""

Progress = Callable[[float], None] | None

AT_A_TIME = 1 << 22
"""Persons whose own rows are looked for at a time, on average."""

UNORDERED = "these rows come in no fixed order.", "name a key column: key=, or --key."


@dataclass(frozen=True)
class SourceRows:
    """Rows of a source, one a person, as codes.

    Where persons may have several rows, all rows are put away at first: which one stands for a person is
    known when all of theirs have been seen.
    """

    source: Source
    schema: Schema
    persons: Persons | None = None
    spill: Folder = None
    key: str | None = None
    _put_away: list[PutAway] = field(default_factory=list, init=False, repr=False)

    @property
    def stable(self) -> bool:
        """Whether a row has the same identity whenever it is read."""
        return self.source.ordered or self.key is not None

    def under(self, schema: Schema) -> SourceRows:
        """The same rows under another schema."""
        return SourceRows(self.source, schema, self.persons, self.spill, self.key)

    def read(self, places: Places) -> Iterator[Codes]:
        """All rows; refused where they are none, or more than the public bound."""
        n_rows = 0
        for codes in self._read(places) if self.persons is None else self._read_own():
            n_rows += codes.n_rows
            yield codes
        check_number(n_rows, self.schema)

    def _read(self, places: Places) -> Iterator[Codes]:
        """All rows of the source."""
        names = self.schema.feature_names
        wanted = list(names) if places is None else [names[j] for j in places]
        beside = [self.schema.label.name, *(self.persons.columns if self.persons else [])]
        columns = dict.fromkeys([*wanted, *beside, *([self.key] if self.key else [])])

        def made(piece: Piece) -> list[Codes]:
            return [self._encoded(places, table) for table in piece() if len(table)]

        for each in ahead(in_order(made, self.source.read(list(columns)))):
            yield from each
        self.source.check()

    def _encoded(self, places: Places, columns: pa.Table) -> Codes:
        table = Table(columns.column_names, lambda names: {name: columns.column(name) for name in names})
        return encode(table, self.schema, persons=self.persons, places=places, key=self.key)

    def _read_own(self) -> Iterator[Codes]:
        """The rows that stand for persons."""
        if not self._put_away:
            self._put_away.append(_put_away(regrouped(self._read(None)), Spill(self.spill)))
        put, first = self._put_away[0], 0
        for place in put.codes:
            codes = put.spill.get(place)
            end = first + codes.n_rows
            yield codes.only(np.flatnonzero(put.own[first:end]))
            first = end


@dataclass(frozen=True)
class PutAway:
    """All rows of persons, and which of them stand for one."""

    spill: Spill
    codes: list[Place]
    own: np.ndarray


def _put_away(all_codes: Iterable[Codes], spill: Spill) -> PutAway:
    codes, whose, n_rows = [], [], 0
    for each in all_codes:
        codes.append(spill.put(replace(each, persons=None)))
        whose.append(spill.put((each.persons, each.keys)))
        n_rows += each.n_rows
    own = np.zeros(n_rows, bool)
    # All rows of a person are looked at together, of a share of the persons at a time.
    shares = np.uint64(max(1, -(-n_rows // AT_A_TIME)))
    for share in range(int(shares)):
        first = 0
        at: list[np.ndarray] = []
        found: list[tuple[np.ndarray, np.ndarray | None]] = []
        for place in whose:
            persons, keys = spill.get(place)
            here = np.flatnonzero(persons[:, 1] % shares == share)
            at.append(first + here)
            found.append((persons[here], None if keys is None else keys[here]))
            first += len(persons)
        keys = [keys for _, keys in found if keys is not None]
        ids = np.concatenate([persons for persons, _ in found])
        own[np.concatenate(at)[own_rows(ids, np.concatenate(keys) if keys else None)]] = True
    return PutAway(spill, codes, own)


@dataclass(frozen=True)
class PartRows:
    """Rows of another engine whose draw is among some, in its order."""

    engine: StreamEngine
    draws: Draws
    bound: int
    taken: range

    stable = True

    @property
    def schema(self) -> Schema:
        """Under which they are read."""
        return self.engine.rows.schema

    @property
    def spill(self) -> Folder:
        """See `Spill`."""
        return self.engine.rows.spill

    def under(self, schema: Schema) -> PartRows:
        """The same rows under another schema, where they are the same again."""
        if not self.engine.rows.stable:
            raise QuestionError(*UNORDERED)
        # Without progress: how often a part is read tells how many runs of a selection there are.
        return PartRows(StreamEngine(self.engine.rows.under(schema)), self.draws, self.bound, self.taken)

    def read(self, places: Places) -> Iterator[Codes]:
        """All of them."""
        for each in self.engine.batches(places, True):
            yield drawn(each, self.draws, self.bound, self.taken)


class StreamEngine:
    """Codes that are read from their place, and kept in a `Spill` where they will be read again.

    Which questions look at which columns, and whether others follow, is public: so is what is read and when
    it is kept.

    Parameters
    ----------
    rows : SourceRows or PartRows
    progress : callable, optional
        Told, after every batch of a pass over what was kept, which share of the batches is done.
    """

    def __init__(self, rows: SourceRows | PartRows, progress: Progress = None) -> None:
        if not rows.stable:
            self._refuse_unstable(rows)
        self.rows = rows
        self._progress = progress
        self._spill = Spill(rows.spill)
        self._kept: list[tuple[Place, dict[str, Place]]] = []
        self._n_whole = 0

    @staticmethod
    def _refuse_unstable(rows: SourceRows | PartRows) -> None:
        """Refuse rows in no fixed order where one is needed, while that is free."""
        if isinstance(rows, SourceRows) and rows.persons is not None:
            raise SchemaError(
                "which row stands for a person must not depend on the order in which they come.",
                "name a key column that orders the rows: key=, or --key.",
            )
        if rows.spill is False:
            raise QuestionError(
                "these rows come in no fixed order.", "let them spill, or name a key: key=, or --key."
            )

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        partial: list[Total] = []
        for each in self.batches(getattr(tally, "columns", None), getattr(tally, "again", False)):
            partial = [reduce(add, [*partial, tally(each)])]
        return partial[0]

    def part(self, draws: Draws, bound: int, taken: range) -> StreamEngine:
        """See `Engine.part`; whatever is wrong with the rows is found now."""
        if self.rows.schema.open_features and not self.rows.stable:
            raise DataError(*UNORDERED)  # they would be read again under another schema, and draw again
        part = StreamEngine(PartRows(self, draws, bound, taken))
        for _ in part.batches(None, True):
            pass
        return part

    def under(self, schema: Schema) -> StreamEngine:
        """See `Engine.under`."""
        return StreamEngine(self.rows.under(schema), self._progress)

    def batches(self, places: Places, again: bool) -> Iterator[Batch]:
        """All rows once: from what was kept, or from their place, and kept then if they are read again."""
        if self._kept:
            yield from self._read_kept()
            return
        keeps = self.rows.spill is not False and (again or (places is None and self._n_whole > 0))
        yield from self._read_place(None if keeps else places, keeps)
        self._n_whole += places is None

    def _read_place(self, places: Places, keeps: bool) -> Iterator[Batch]:
        kept: list[tuple[Place, dict[str, Place]]] = []
        first = 0
        for codes in regrouped(self.rows.read(places)):
            one = batch(codes, first)
            first += codes.n_rows
            yield one
            if keeps:
                kept.append((self._spill.put(codes), self._put_kept(one, {}, {})))
        if first == 0:
            yield batch(no_rows(self.rows.schema), 0)  # of a part: a table without rows was refused
        self._kept = kept

    def _read_kept(self) -> Iterator[Batch]:
        first = 0
        for number, (place, beside) in enumerate(self._kept):
            codes = self._spill.get(place)
            known = {name: self._spill.get(at) for name, at in beside.items()}
            one = batch(codes, first, dict(known))
            self._kept[number] = place, {}  # a tally that is stopped may have left anything
            yield one
            self._kept[number] = place, self._put_kept(one, known, beside)
            first += codes.n_rows
            if self._progress is not None:
                self._progress((number + 1) / len(self._kept))

    def _put_kept(self, one: Batch, known: dict[str, Any], beside: dict[str, Place]) -> dict[str, Place]:
        """Put away what a tally worked out, but for what it has left as it was."""
        assert one.kept is not None
        return {
            name: beside[name] if value is known.get(name) else self._spill.put(value, beside.get(name))
            for name, value in one.kept.items()
        }
