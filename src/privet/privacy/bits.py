"""Where random bits come from: the operating system, and nowhere else in the product."""

from __future__ import annotations

import os

import numpy as np

WORD = 32
"""Bits of a word."""


class SecureBits:
    """Uniform words from the operating system's generator.

    There is no seed to store, so noise cannot be replayed from anything a model contains.
    """

    private = True

    def words(self, size: int) -> np.ndarray:
        """``size`` uniform 32-bit words."""
        return np.frombuffer(os.urandom(4 * size), np.uint32)

    def integer(self, bits: int) -> int:
        """A uniform integer of up to ``bits`` bits; ``bits`` is a multiple of 8."""
        return int.from_bytes(os.urandom(bits // 8), "little")


class StudyBits:
    """Repeatable words for studies and tests. What is drawn from them protects nobody."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def words(self, size: int) -> np.ndarray:
        """``size`` repeatable 32-bit words."""
        return np.frombuffer(self._generator.bytes(4 * size), np.uint32)

    def integer(self, bits: int) -> int:
        """A repeatable integer of up to ``bits`` bits."""
        return int.from_bytes(self._generator.bytes(bits // 8), "little")


Bits = SecureBits | StudyBits


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
        words = bits.words(open_.size).astype(np.uint64)
        kept = words < kept_below[open_]
        flat[open_[kept]] = words[kept] % limits[open_[kept]]
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
