"""Rows in memory, as codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any

from privet.data import Codes
from privet.engines.protocol import Batch, Total

BATCH = 1 << 18


class MemoryEngine:
    """Codes in memory, fetched when the first sum is asked for and not before.

    Parameters
    ----------
    load : callable
        Reads and encodes the rows.
    progress : callable, optional
        Told, after every batch, which share of a sum is done.
    """

    def __init__(self, load: Callable[[], Codes], progress: Callable[[float], None] | None = None) -> None:
        self._load = load
        self._progress = progress
        self._batches: list[Batch] = []

    def sum(self, kernel: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        if not self._batches:
            self._batches = _split(self._load())
        partial: list[Any] = []
        ends = list(accumulate(len(batch.labels) for batch in self._batches))
        for end, batch in zip(ends, self._batches, strict=True):
            partial = [reduce(add, [*partial, kernel(batch)])]
            if self._progress is not None:
                self._progress(end / max(ends[-1], 1))
        return partial[0]


def _split(codes: Codes) -> list[Batch]:
    assert codes.labels is not None
    starts = range(0, codes.n_rows, BATCH) or [0]  # some of the rows may be none of them
    return [Batch(codes.features[:, i : i + BATCH], codes.labels[i : i + BATCH], {}) for i in starts]
