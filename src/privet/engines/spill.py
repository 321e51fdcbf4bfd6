"""What is read again and again: in memory while it is little, else in a private file without a name.

The file never has a name that another process could open, only its owner could read it if it had one, and it
is gone with the process, however that ends. What is written there are codes of rows as they are: whoever can
read the disk itself can read them, until their blocks are written anew.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.data.discreet import attempt
from privet.errors import SourceError

ROOM = 64 << 20
"""Bytes that are held in memory."""

ALIGNED = 64
PAGE = mmap.ALLOCATIONGRANULARITY

Folder = str | Path | bool | None
"""Where the file lies: a folder, by default that of temporary files; False for no file at all."""


@dataclass
class Place:
    """Where something was put: itself, or the parts of the file that hold it."""

    value: Any = None
    first: int = 0
    sizes: tuple[int, ...] = ()
    room: int = 0


class Spill:
    """Arrays and small things beside them, put away and read again.

    Parameters
    ----------
    folder : path or bool, optional
        See `Folder`; without a file everything is held in memory.
    """

    def __init__(self, folder: Folder = None) -> None:
        self._folder = tempfile.gettempdir() if folder is None or folder is True else folder
        self._file: int | None = None
        self._held, self._end = 0, 0

    def put(self, value: Any, place: Place | None = None) -> Place:
        """Put something away, instead of what a place held; raises `SourceError` where there is no room."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        sizes = tuple(part.nbytes for part in parts)
        room = sum(map(_aligned, sizes))
        if place is not None and place.value is not None:
            self._held -= place.room
        if self._folder is False or ((place is None or not place.sizes) and self._held + room <= ROOM):
            self._held += room
            return Place(value, room=room)
        first = self._end
        if place is not None and place.sizes and room <= place.room:
            first, room = place.first, place.room
        else:
            self._end += -(-room // PAGE) * PAGE
            room = self._end - first
        full = SourceError(
            "codes of the rows could not be written to a file of their own.",
            "make room, or name another folder: spill=, or TMPDIR.",
        )
        attempt(lambda: self._write(first, parts), (OSError,), full)
        return Place(None, first, sizes, room)

    def get(self, place: Place) -> Any:
        """What was put there; what is done to it stays with the caller."""
        if not place.sizes:
            return place.value
        assert self._file is not None
        length = sum(map(_aligned, place.sizes))
        # Pages are read when they are looked at, and are given back with the last array that lies in them.
        mapped = mmap.mmap(self._file, length, access=mmap.ACCESS_COPY, offset=place.first)
        view, parts, first = memoryview(mapped), [], 0
        for size in place.sizes:
            parts.append(view[first : first + size])
            first += _aligned(size)
        return pickle.loads(parts[0], buffers=parts[1:])

    def _write(self, first: int, parts: Sequence[memoryview]) -> None:
        if self._file is None:
            self._file = _nameless(str(self._folder))
            weakref.finalize(self, os.close, self._file)
        for part in parts:
            at, left = first, part.cast("B") if part.nbytes else part
            while len(left):
                written = os.pwrite(self._file, left, at)
                at, left = at + written, left[written:]
            first += _aligned(part.nbytes)
        if os.fstat(self._file).st_size < first:
            os.ftruncate(self._file, first)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _nameless(folder: str) -> int:
    """A file that has no name, or lost it at once where a folder knows no such files."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC | os.O_EXCL, 0o600)
    except (OSError, AttributeError):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            return os.open(Path(own, "codes"), os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
