"""Brackets of the normal law, and of the whole numbers that normal numbers are rounded to.

All is in integers, rounded outward: a bracket of y at some bits are low ≤ y·2**bits ≤ high.

Proof note: ``docs/proofs/sampling.md``, *Rounded Gaussian noise*.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import erfc, isqrt, sqrt

from privet.noise.inversion import exp_bracket

SPARE = 64
"""Bits that are worked out beyond those that are asked for."""

LN_2 = Fraction(6932, 10_000)
"""A little more than the natural logarithm of 2."""

REACH = 9
"""Deviations, and as many whole numbers, at which a table surely ends: beyond lies less than 2**-50."""

SLACK_BITS = 13
"""Two to this is more than a step of a cell's series can be off, in its last bit."""


def erf_bracket(square: Fraction, bits: int) -> tuple[int, int]:
    """Bracket of erf(√square) = √(4·square/π)·exp(−square)·Σ (2·square)^n/(1·3·…·(2n + 1))."""
    one = 1 << bits
    if square >= LN_2 * bits:
        return one - 1, one  # what lacks is at most exp(−square) < 2**-bits
    width = SPARE * (2 + (bits + int(square * Fraction(3, 2))) // SPARE)  # the sum is below exp(square)
    top, bottom = 2 * square.numerator, square.denominator
    low = high = least = most = 1 << width
    odd = 3
    while most > 1 or 2 * top > bottom * odd:
        least, most = least * top // (bottom * odd), -(-most * top // (bottom * odd))
        low, high, odd = low + least, high + most, odd + 2
    high += most  # each term from here on is at most half of the one before
    least_pi, most_pi = pi_bracket(width)
    scaled = 2 * top << 3 * width
    root = isqrt(scaled // (bottom * most_pi)), isqrt(-(-scaled // (bottom * least_pi))) + 1
    power = exp_bracket(square, width)
    shift = 3 * width - bits
    return root[0] * power[0] * low >> shift, min(_shifted_up(root[1] * power[1] * high, shift), one)


def tail_bracket(x: Fraction, bits: int) -> tuple[int, int]:
    """Bracket of the probability that a standard normal number is above x."""
    low, high = erf_bracket(x * x / 2, bits)
    one = 1 << bits
    if x < 0:
        low, high = -high, -low
    return (one - high) >> 1, _shifted_up(one - low, 1)


def magnitude_bracket(sigma_squared: Fraction, k: int, bits: int) -> tuple[int, int]:
    """Bracket of the probability that a rounded normal number of a variance is at most k from 0."""
    return erf_bracket(Fraction((2 * k + 1) ** 2) / (8 * sigma_squared), bits)


def magnitude_brackets(sigma_squared: Fraction, bits: int) -> Iterator[tuple[int, int]]:
    """The same for k = 0, 1, … one after the other, which is faster where there are many.

    Beside k the density is that at k times exp(−k·u/σ²)·exp(−u²/2σ²), |u| ≤ ½. Of the first factor only
    even powers of u do not cancel; `_moments` are theirs under the second.
    """
    if sigma_squared < 1:
        yield from (magnitude_bracket(sigma_squared, k, bits) for k in count())
    width = bits + SPARE
    end = REACH * (isqrt(int(sigma_squared)) + 1)
    moments = _moments(sigma_squared, end, width)
    slack = len(moments) << SLACK_BITS
    low, high = moments[0], moments[0] + slack
    weight = 1 << width, 1 << width
    ratio, shrink = (exp_bracket(1 / (x * sigma_squared), width) for x in (2, 1))
    # √(2πσ²), by which the mass is divided.
    top, bottom = 2 * sigma_squared.numerator << width, sigma_squared.denominator
    least_pi, most_pi = pi_bracket(width)
    root = isqrt(top * least_pi // bottom), isqrt(-(-top * most_pi // bottom)) + 1
    for k in range(1, end + 2):
        yield (low << bits) // root[1], min(-(-(high << bits) // root[0]), 1 << bits)
        weight = weight[0] * ratio[0] >> width, _shifted_up(weight[1] * ratio[1], width)
        ratio = ratio[0] * shrink[0] >> width, _shifted_up(ratio[1] * shrink[1], width)
        share, inside = (k * k << width) // end**2, 0
        for moment in reversed(moments):
            inside = (inside * share >> width) + moment
        low += 2 * weight[0] * inside >> width
        high += _shifted_up(2 * weight[1] * (inside + slack), width)


def _moments(sigma_squared: Fraction, end: int, width: int) -> list[int]:
    """∫ u^(2n)·exp(−u²/2σ²) du·(end/σ²)^(2n)/(2n)! over |u| ≤ ½, for n = 0, 1, …, each a little too low.

    It is c·r^n/(2n)!, with r = end²/4σ⁴ and the alternating sum c = Σ (−x)^j/(j!·(2n + 2j + 1)), x = 1/8σ².
    """
    wide = width + SPARE
    powers = [1 << wide]  # x^j/j!
    while powers[-1]:
        powers.append(int(powers[-1] / (8 * sigma_squared * len(powers))))
    r = Fraction(end**2) / (4 * sigma_squared**2)
    moments: list[int] = []
    factor = 1 << wide  # r^n/(2n)!
    while factor or 2 * r > (2 * len(moments) + 1) * (2 * len(moments) + 2):
        n = len(moments)
        c = sum((-1) ** j * (power // (2 * n + 2 * j + 1)) for j, power in enumerate(powers))
        moments.append((c - 4 * len(powers)) * factor >> (wide + SPARE))
        factor = int(factor * r / ((2 * n + 1) * (2 * n + 2)))
    return moments


@lru_cache(maxsize=64)
def pi_bracket(bits: int) -> tuple[int, int]:
    """Bracket of π = 16·arctan(1/5) − 4·arctan(1/239)."""
    total, steps = 0, 0
    for factor, base in ((16, 5), (-4, 239)):
        power, odd = (1 << (bits + SPARE)) // base, 1
        while power:
            total += factor * (power // odd) * (2 - odd % 4)
            power, odd, steps = power // base**2, odd + 2, steps + 1
    # A step is off by less than 2 units, one of the power and one of the quotient, times its factor.
    error = 32 * (steps + 2)
    return (total - error) >> SPARE, _shifted_up(total + error, SPARE)


def rounded_variance(sigma_squared: float) -> float:
    """Variance of a normal number of some variance once it is rounded."""
    if sigma_squared >= 4:
        return sigma_squared + 1 / 12
    scale = sqrt(2 * sigma_squared)
    return sum((2 * k - 1) * erfc((k - 0.5) / scale) for k in range(1, 2 + int(40 * scale)))


def _shifted_up(value: int, shift: int) -> int:
    return -(-value >> shift)
