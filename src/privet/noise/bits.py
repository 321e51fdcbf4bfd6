"""Where random bits come from: the operating system, and nowhere else in the product."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import shake_128

import numpy as np

WORD = 32
"""Bits of a word."""

STRETCH = 1 << 12
"""Rows whose words are drawn at a time."""

CLOSE = 8
"""Words that may be drawn for each row, where rows lie as close together as those of a batch do."""


class SecureBits:
    """Uniform words from the operating system's generator.

    There is no seed to store, so noise cannot be replayed from anything a model contains.
    """

    private = True

    def bytes(self, size: int) -> bytes:
        """Uniform bytes."""
        return os.urandom(size)

    def words(self, size: int) -> np.ndarray:
        """``size`` uniform 32-bit words."""
        return np.frombuffer(self.bytes(4 * size), np.uint32)

    def integer(self, bits: int) -> int:
        """A uniform integer of up to ``bits`` bits; ``bits`` is a multiple of 8."""
        return int.from_bytes(self.bytes(bits // 8), "little")


class StudyBits(SecureBits):
    """Repeatable words for studies and tests. What is drawn from them protects nobody."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def bytes(self, size: int) -> bytes:
        """Repeatable bytes."""
        return self._generator.bytes(size)


Bits = SecureBits
"""Anything that gives bytes."""


def uniform_below(bounds: np.ndarray, bits: Bits) -> np.ndarray:
    """Uniform integers below each of ``bounds`` (1 … 2³²), exactly.

    A word is kept only below the largest multiple of its bound, so that every remainder has the
    same number of words.
    """
    bounds = np.asarray(bounds, np.uint64)
    out = np.empty(bounds.shape, np.int64)
    flat, limits = out.reshape(-1), bounds.reshape(-1)
    kept_below = (np.uint64(1 << WORD) // limits) * limits
    open_ = np.arange(flat.size)
    while open_.size:
        drawn = bits.words(open_.size).astype(np.uint64)
        kept = drawn < kept_below[open_]
        flat[open_[kept]] = drawn[kept] % limits[open_[kept]]
        open_ = open_[~kept]
    return out


def uniform_integers(bound: int, size: int, bits: Bits) -> list[int]:
    """``size`` uniform integers below a bound of any size, exactly."""
    width = -(-bound.bit_length() // 8) * 8
    kept_below = (1 << width) // bound * bound
    out: list[int] = []
    while len(out) < size:
        value = bits.integer(width)
        if value < kept_below:
            out.append(value % bound)
    return out


@dataclass(frozen=True)
class RowDraws:
    """Uniform draws of rows, each a function of a secret key and of the row's identity alone.

    Whoever reads the rows again, in another order or on another machine, draws the same. A key is used for
    one question, or one parting, and never leaves.
    """

    key: bytes = field(repr=False)

    def below(self, bound: int, rows: np.ndarray) -> np.ndarray:
        """A uniform integer below ``bound`` (1 … 2³²) for each row."""
        rows = np.asarray(rows)
        words = self._words_of_keys if rows.dtype == np.uint64 else self._words
        drawn = words(rows, 0).astype(np.uint64)
        kept_below, again = (1 << WORD) // bound * bound, 0
        while (open_ := np.flatnonzero(drawn >= kept_below)).size:
            again += 1
            drawn[open_] = words(rows[open_], again)
        return (drawn % np.uint64(bound)).astype(np.int64)

    def _words(self, rows: np.ndarray, again: int) -> np.ndarray:
        if not rows.size:
            return np.zeros(0, np.uint32)
        first, last = int(rows.min()) // STRETCH, int(rows.max()) // STRETCH
        stretches: Iterable[int] = range(first, last + 1)
        place = rows - first * STRETCH
        if (last - first) * STRETCH > CLOSE * rows.size:
            stretches, place = np.unique(rows // STRETCH, return_inverse=True)
            place = place * STRETCH + rows % STRETCH
        text = b"".join(
            shake_128(self.key + again.to_bytes(8) + int(at).to_bytes(8)).digest(4 * STRETCH)
            for at in stretches
        )
        return np.frombuffer(text, np.uint32)[place]

    def _words_of_keys(self, rows: np.ndarray, again: int) -> np.ndarray:
        """Each by itself: keys lie anywhere. Under a key of its own, which is drawn from this one."""
        own = shake_128(self.key + b"keys").digest(16)
        tries = np.full(len(rows), again, np.uint64)
        return np.asarray(siphash(own, tries, np.asarray(rows)) >> np.uint64(WORD)).astype(np.uint32)


def siphash(key: bytes, *words: np.ndarray) -> np.ndarray:
    """SipHash-2-4 of some words of 64 bits for each row (Aumasson and Bernstein, 2012)."""
    k0, k1 = (np.uint64(int.from_bytes(half, "little")) for half in (key[:8], key[8:]))
    start = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    zeros = np.zeros(words[0].shape, np.uint64)
    v = [zeros + (np.uint64(one) ^ k) for one, k in zip(start, (k0, k1, k0, k1), strict=True)]
    for word in (*words, zeros + np.uint64(8 * len(words) << 56)):
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return np.asarray(v[0] ^ v[1] ^ v[2] ^ v[3])


def _rounds(v: list[np.ndarray], times: int) -> None:
    for _ in range(times):
        for a, b, by, turned in ((0, 1, 13, 0), (2, 3, 16, None), (0, 3, 21, None), (2, 1, 17, 2)):
            v[a] += v[b]
            v[b] = _turned(v[b], by) ^ v[a]
            if turned is not None:
                v[turned] = _turned(v[turned], 32)


def _turned(words: np.ndarray, by: int) -> np.ndarray:
    return np.asarray((words << np.uint64(by)) | (words >> np.uint64(64 - by)))
