"""Exact draws from any law whose distribution function can be bracketed.

A real number U, uniform in [0, 1), is known by its first bits. A draw is the smallest k with
U < F(k). Comparing the first 32 bits of U with the first 32 bits of F(k) decides unless they are
equal; then further bits of U are drawn and compared with a tighter bracket of F(k), until they
differ. No float takes part, and nothing is rounded: the draw has the law F exactly.

Proof note: ``docs/proofs/sampling.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from privet.compiled import compiled, run
from privet.noise.bits import WORD, Bits

Bracket = Callable[[int, int], tuple[int, int]]
"""``bracket(k, bits)`` gives integers with low ≤ F(k)·2**bits ≤ high."""

GUIDE = 12
FEW = 1 << 13
"""Draws for which waking another thread would take longer than drawing."""
TIE = -1


def exp_bracket(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers with low ≤ exp(−x)·2**bits ≤ high, at most a few apart; x ≥ 0.

    `decimal` rounds its exponential correctly, so the neighbours of its result enclose the truth.
    Only methods of the two contexts are used: an operator would round to the ambient precision.
    """
    digits = bits * 3 // 10 + 25
    down, up = Context(digits, ROUND_FLOOR), Context(digits, ROUND_CEILING)
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    least = up.divide(numerator, denominator)
    most = down.divide(numerator, denominator)
    low = down.next_minus(down.exp(least.copy_negate()))
    high = up.next_plus(up.exp(most.copy_negate()))
    return max(_scaled(low, bits, ROUND_FLOOR), 0), min(_scaled(high, bits, ROUND_CEILING), 1 << bits)


def _scaled(value: Decimal, bits: int, rounding: str) -> int:
    context = Context(prec=2 * bits + 60, rounding=rounding)
    return int(context.multiply(value, Decimal(1 << bits)).to_integral_value(rounding, context))


def invert(bracket: Bracket, bits: Bits, known: int = 0, width: int = 0) -> int:
    """Draw one value; ``known`` are the first ``width`` bits of U, if some are drawn already."""
    while True:
        known = (known << 64) | bits.integer(64)
        width += 64
        high = 1
        answer = _is_below(bracket, high, known, width)
        while answer is False:
            high *= 2
            answer = _is_below(bracket, high, known, width)
        low = -1
        while answer is not None and high - low > 1:
            middle = (low + high) // 2
            answer = _is_below(bracket, middle, known, width)
            low, high = (low, middle) if answer else (middle, high)
        if answer is not None:
            return high


def _is_below(bracket: Bracket, k: int, known: int, width: int) -> bool | None:
    """Whether U < F(k), or None while the known bits of U cannot tell."""
    spare = 32
    low, high = bracket(k, width + spare)
    if (known + 1) << spare <= low:
        return True
    return False if known << spare >= high else None


class InverseTable:
    """First 32 bits of F(0), F(1), … and a guide into them: bulk draws by one look-up each."""

    def __init__(self, bracket: Bracket, words: np.ndarray) -> None:
        self.bracket = bracket
        self.words = words
        slots = np.arange((1 << GUIDE) + 1, dtype=np.uint64) << np.uint64(WORD - GUIDE)
        self.guide = np.searchsorted(words, slots, side="left").astype(np.int32)

    def draw(self, size: int, bits: Bits) -> np.ndarray:
        """``size`` independent draws, int64."""
        words = bits.words(size)
        out = np.empty(size, np.int64)
        run(_look_up, size, FEW, words, self.words, self.guide, out)
        for i in np.flatnonzero(out == TIE):
            out[i] = invert(self.bracket, bits, int(words[i]), WORD)
        return out


def certain_floor(low: int, high: int, bits: int) -> int | None:
    """First 32 bits of a number known to lie between two ``bits``-bit ones, or None if unsure."""
    shift = bits - WORD
    # F may reach 1 only in the limit, so its first bits are never 2**32.
    first, last = min(low >> shift, (1 << WORD) - 1), min(high >> shift, (1 << WORD) - 1)
    return first if first == last else None


@compiled
def _look_up(first, last, words, table, guide, out):  # type: ignore[no-untyped-def]
    end = len(table) - 1
    for i in range(first, last):
        word = words[i]
        k = guide[word >> np.uint32(WORD - GUIDE)]
        k = k if k < end else end
        while k < end and table[k] < word:
            k += 1
        # Equal first bits, or beyond the table: more bits of U must decide.
        out[i] = TIE if table[k] <= word else k
