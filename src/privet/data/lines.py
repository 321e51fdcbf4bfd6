"""A CSV file is lines: each of them is a row by itself, wherever a block of the file ends.

A field stands in quotes or has none in it; a quote within quotes is written twice; no field contains a new
line; a line has at most a megabyte. Anything else is refused. A quote out of place could otherwise make one
field of all rows up to the next such quote, so that one row would take others out of the table. Quoted new
lines could only be allowed by reading from the first line on, since nothing but all quotes before it says
whether a line is one; and a line longer than a block is read or refused by where the block ends.
"""

from __future__ import annotations

import codecs
from functools import cache
from typing import Any

import numba
import numpy as np

from privet.compiled import OPTIONS
from privet.data.text import UTF8

LONGEST_LINE = 1 << 20
"""Bytes of a line, and of a block that is read at a time."""

BITS = 6
START, PLAIN, QUOTED, CLOSED, WRONG = range(0, 5 * BITS, BITS)
"""Where in a field we are; CLOSED behind a quote that ends it, or is the first of two."""

AFTER = {
    # behind any other byte, a separator, a new line, a quote
    START: (PLAIN, START, START, QUOTED),
    PLAIN: (PLAIN, START, START, WRONG),
    QUOTED: (QUOTED, QUOTED, WRONG, CLOSED),
    CLOSED: (WRONG, START, START, QUOTED),
    WRONG: (WRONG, WRONG, WRONG, WRONG),
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@cache
def _moves(separator: str) -> np.ndarray:
    """For each byte the states that it leads to, from the state s in the bits from s on.

    To go on from one byte to the next is a shift then, which takes a processor one step.
    """
    kinds = dict.fromkeys(range(256), 0) | {ord(separator): 1, ord("\n"): 2, ord("\r"): 2, ord('"'): 3}
    moves = [sum(after[kinds[byte]] << state for state, after in AFTER.items()) for byte in range(256)]
    return np.array(moves, np.uint64)


class Recoded:
    """A stream of bytes in some encoding, read as UTF-8; ``sound`` says that all of it could be."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream, self._held, self._ended, self.sound = stream, b"", False, True
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")

    def read(self, size: int | None) -> bytes:
        """As many bytes at most, or all; nothing at the end, and where something could not be read."""
        while not self._held and not self._ended:
            raw = self._stream.read(size)
            self._ended = not raw
            self._held = self._decoded(raw)
        data, self._held = self._held[:size], self._held[size:]
        return data

    def _decoded(self, raw: bytes) -> bytes:
        try:
            return self._decoder.decode(raw, self._ended).encode()
        except UnicodeError:
            self.sound, self._ended = False, True
        return b""


class CheckedLines:
    """A stream of bytes that ends where a line is not as it must be; ``sound`` says that none was."""

    def __init__(self, stream: Any, separator: str = ",", encoding: str = UTF8) -> None:
        self._stream = stream if encoding == UTF8 else Recoded(stream, encoding)
        self._moves = _moves(separator)
        self._state, self._length, self._begins = START, 0, True
        self.closed = False

    @property
    def sound(self) -> bool:
        """Whether all lines read were as they must be, up to the last."""
        return self._state not in (WRONG, QUOTED) and getattr(self._stream, "sound", True)

    def read(self, size: int = -1) -> bytes:
        """Read on, nothing once a line was wrong."""
        data: bytes = self._stream.read(None if size < 0 else size)
        seen = data.removeprefix(BYTE_ORDER_MARK) if self._begins else data
        self._begins = False
        found = np.frombuffer(seen, np.uint8)
        self._state, self._length = _walk(found, self._state, self._length, self._moves)
        return b"" if self._state == WRONG else data

    def readable(self) -> bool:
        """A stream to read from."""
        return True

    def close(self) -> None:
        """Leave the stream to whoever opened it."""
        self.closed = True


@numba.njit(cache=OPTIONS["cache"], nogil=True)
def _walk(data, state, length, moves):  # type: ignore[no-untyped-def]
    """The state behind some bytes, and how long the line is that they end in."""
    mask, longest, begin = np.uint64(63), length, -length
    at = np.uint64(state)
    for i in range(len(data)):
        at = moves[data[i]] >> (at & mask)
        if data[i] == 10 or data[i] == 13:
            longest = max(longest, i - begin)
            begin = i + 1
    length = len(data) - begin
    is_long = max(longest, length) >= LONGEST_LINE
    return (WRONG if is_long else np.int64(at & mask)), length
