"""Rows in memory, as codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
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
        self._codes: Codes | None = None

    def sum(self, kernel: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        if self._codes is None:
            self._codes = self._load()
        codes = self._codes
        assert codes.labels is not None
        partial: list[Any] = []
        for first in range(0, codes.n_rows, BATCH):
            last = min(first + BATCH, codes.n_rows)
            batch = Batch(codes.features[:, first:last], codes.labels[first:last])
            partial = [reduce(add, [*partial, kernel(batch)])]
            if self._progress is not None:
                self._progress(last / codes.n_rows)
        return partial[0]
