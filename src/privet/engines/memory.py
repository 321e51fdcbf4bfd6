"""Rows in memory, as codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add

import numpy as np

from privet.data import Codes, no_rows
from privet.engines.protocol import Batch, Draws, Total
from privet.schema import Schema

BATCH = 1 << 18


class MemoryEngine:
    """Codes in memory, fetched when the first sum is asked for and not before.

    Parameters
    ----------
    load : callable
        Reads and encodes the rows.
    progress : callable, optional
        Told, after every batch, which share of the batches is done.
    """

    def __init__(self, load: Callable[[], Codes], progress: Callable[[float], None] | None = None) -> None:
        self._load = load
        self._progress = progress
        self._batches: list[Batch] = []

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        partial: list[Total] = []
        for batch in self._read():
            partial = [reduce(add, [*partial, tally(batch)])]
        return partial[0]

    def part(self, draws: Draws, bound: int, drawn: range) -> MemoryEngine:
        """See `Engine.part`."""
        kept = [_drawn(batch, draws, bound, drawn) for batch in self._read()]
        features = np.concatenate([features for features, _ in kept], axis=1)
        codes = Codes(features, np.concatenate([labels for _, labels in kept]))
        return MemoryEngine(lambda: codes)

    def _read(self) -> Iterator[Batch]:
        if not self._batches:
            self._batches = _split(self._load())
        for done, batch in enumerate(self._batches, start=1):
            yield batch
            if self._progress is not None:
                # In batches: the share of the rows would tell their exact number.
                self._progress(done / len(self._batches))


def nobody(schema: Schema) -> MemoryEngine:
    """No rows at all, to try things on."""
    codes = no_rows(schema)
    return MemoryEngine(lambda: codes)


def _split(codes: Codes) -> list[Batch]:
    assert codes.labels is not None
    starts = range(0, codes.n_rows, BATCH) or [0]  # some of the rows may be none of them
    ends = [min(first + BATCH, codes.n_rows) for first in starts]
    # Contiguous each, as they would be if they were alone: kernels are compiled for one layout.
    return [
        Batch(np.ascontiguousarray(codes.features[:, i:end]), codes.labels[i:end], np.arange(i, end), {})
        for i, end in zip(starts, ends, strict=True)
    ]


def _drawn(batch: Batch, draws: Draws, bound: int, drawn: range) -> tuple[np.ndarray, np.ndarray]:
    own = draws.below(bound, batch.rows)
    kept = (own >= drawn.start) & (own < drawn.stop)
    return batch.features[:, kept], batch.labels[kept]
