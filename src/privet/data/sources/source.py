"""What every place that rows are read from offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

Piece = Callable[[], Iterable[pa.Table]]
"""Some of the rows, as tables of columns with the types that their place declares. It may be called by
another thread, once."""


UNREAD = pa.list_(pa.null())
"""Stands for all types that are not read, and that Arrow has no name for."""


class Source(Protocol):
    """Rows that can be read again. What fails while they are read is a `SourceError`, and quotes no row."""

    names: Sequence[str]
    """Of all columns."""

    ordered: bool
    """Whether rows come in the same order whenever they are read."""

    def declared(self) -> pa.Schema:
        """Names of all columns, and their types as their place declares them; no row is read for it."""

    def require(self, columns: Sequence[str]) -> None:
        """Refuse, before anything is charged, what lacks a column or has it in a type that is not read."""

    def read(self, columns: Sequence[str]) -> Iterator[Piece]:
        """All rows, every one once, of these columns alone."""

    def check(self) -> None:
        """Refuse to go on where the rows may not be those that were there at first; called behind a pass."""
