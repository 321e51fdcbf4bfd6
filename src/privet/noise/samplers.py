"""Noise: geometric, discrete Laplace, rounded Gaussian, Poisson; all exact, all from secure bits.

A geometric variable here has P(G ≥ k) = exp(−γ·k), γ rational. Everything else in pure ε is made of
it: discrete Laplace noise is the difference of two, and a coin with probability exp(−γ·k) shows
heads when G ≥ k.

Proof note: ``docs/proofs/sampling.md``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain, count, islice
from math import erfc, exp, expm1, factorial, sqrt
from typing import NamedTuple

import numpy as np

from privet.errors import QuestionError
from privet.noise.bits import WORD, Bits
from privet.noise.gaussian import magnitude_bracket, magnitude_brackets, rounded_variance
from privet.noise.inversion import Bracket, InverseTable, certain_floor, exp_bracket

PRECISION = 160
"""Bits to which tables are computed before their first 32 are kept."""

WIDEST = 256
"""Largest 1/γ of a geometric variable that is drawn from a single table."""

DIGIT = 10
"""Bits of a digit of a wider one."""

MAX_SIGMA_SQUARED = Fraction(1 << 32)
"""Widest Gaussian: its table has about seven entries a standard deviation."""

MIN_RATE = Fraction(1, 1 << 44)
"""Smallest γ of a geometric variable: a draw must fit into 64 bits whatever its tail."""


def geometric(gamma: Fraction, size: int, bits: Bits) -> np.ndarray:
    """Draws with P(G ≥ k) = exp(−gamma·k), int64.

    The binary digits of a geometric variable are independent. A wide one is drawn in digits of ten
    bits, the last of which is again geometric and may be of any size.
    """
    check_rate(gamma)
    out = np.zeros(size, np.int64)
    shift = 0
    while gamma * (1 << shift) < Fraction(1, WIDEST):
        out += _digit_table(gamma * (1 << shift)).draw(size, bits) << shift
        shift += DIGIT
    out += _geometric_table(gamma * (1 << shift)).draw(size, bits) << shift
    return out


def check_rate(gamma: Fraction) -> None:
    """Refuse noise so wide that a draw could leave 64 bits."""
    if gamma < MIN_RATE:
        raise QuestionError(
            f"noise of a scale above {float(1 / MIN_RATE):.1e} is not offered.",
            "ask fewer questions at once, or with more budget.",
        )


def check_variance(sigma_squared: Fraction) -> None:
    """Refuse a Gaussian whose table would be too long."""
    if sigma_squared > MAX_SIGMA_SQUARED:
        raise QuestionError(
            f"Gaussian noise of a variance above {float(MAX_SIGMA_SQUARED):.1e} is not offered.",
            "ask on a coarser grid, fewer questions at once, or with more budget.",
        )


def discrete_laplace(scale: Fraction, size: int, bits: Bits) -> np.ndarray:
    """Integer noise with P(x) ∝ exp(−|x|/scale), int64."""
    return geometric(1 / scale, size, bits) - geometric(1 / scale, size, bits)


def rounded_gaussian(sigma_squared: Fraction, size: int, bits: Bits) -> np.ndarray:
    """Integer noise: normal numbers of a variance, each rounded to the nearest whole one, int64."""
    check_variance(sigma_squared)
    magnitude = _gaussian_table(sigma_squared).draw(size, bits)
    sign = (bits.words(size) & 1).astype(np.int64)
    return magnitude * (1 - 2 * sign)


def poisson(mean: int, bits: Bits) -> int:
    """One draw from the Poisson law with a whole mean: a sum of draws with mean one."""
    return int(_poisson_table().draw(mean, bits).sum())


def bernoulli(probability: Bracket, size: int, bits: Bits) -> np.ndarray:
    """Coins that show heads with a bracketed probability, given as ``probability(0, bits)``."""

    def bracket(k: int, width: int) -> tuple[int, int]:
        return probability(0, width) if k == 0 else (1 << width, 1 << width)

    return (
        InverseTable(bracket, table_words(lambda width: map(bracket, (0, 1), (width, width)))).draw(
            size, bits
        )
        == 0
    )


@lru_cache(maxsize=256)
def _geometric_table(gamma: Fraction) -> InverseTable:
    def bracket(k: int, width: int) -> tuple[int, int]:
        low, high = exp_bracket(gamma * (k + 1), width)
        return (1 << width) - high, (1 << width) - low

    def brackets(width: int) -> Iterator[tuple[int, int]]:
        return (((1 << width) - high, (1 << width) - low) for low, high in powers(gamma, width))

    return InverseTable(bracket, table_words(brackets))


@lru_cache(maxsize=256)
def _digit_table(gamma: Fraction) -> InverseTable:
    """Law of the lowest digit: a geometric variable known to be below 2**DIGIT."""
    last = (1 << DIGIT) - 1

    def share(survival: tuple[int, int], outside: tuple[int, int], width: int) -> tuple[int, int]:
        one = 1 << width
        low = ((one - survival[1]) << width) // (one - outside[0])
        high = -(-((one - survival[0]) << width) // (one - outside[1]))
        return low, min(high, one)

    def bracket(k: int, width: int) -> tuple[int, int]:
        if k >= last:
            return 1 << width, 1 << width
        # 1 − exp(−γ·2**DIGIT) may be small: work with as many more bits as it has leading zeros.
        fine = width + 32 + (gamma.denominator // gamma.numerator).bit_length()
        ends = exp_bracket(gamma * (k + 1), fine), exp_bracket(gamma * (last + 1), fine)
        low, high = share(*ends, fine)
        return low >> (fine - width), -(-high >> (fine - width))

    def brackets(width: int) -> Iterator[tuple[int, int]]:
        outside = exp_bracket(gamma * (last + 1), width)
        inside = (share(power, outside, width) for power in islice(powers(gamma, width), last))
        return chain(inside, [(1 << width, 1 << width)])

    return InverseTable(bracket, table_words(brackets))


@lru_cache(maxsize=64)
def _gaussian_table(sigma_squared: Fraction) -> InverseTable:
    """Law of the magnitude."""
    words = table_words(partial(magnitude_brackets, sigma_squared))
    return InverseTable(partial(magnitude_bracket, sigma_squared), words)


@lru_cache(maxsize=1)
def _poisson_table() -> InverseTable:
    def bracket(k: int, width: int) -> tuple[int, int]:
        terms = sum((Fraction(1, factorial(i)) for i in range(k + 1)), Fraction(0))
        low, high = exp_bracket(Fraction(1), width + 8)
        return int(terms * low) >> 8, (int(terms * high) + 1 >> 8) + 1

    return InverseTable(bracket, table_words(lambda width: (bracket(k, width) for k in count())))


def table_words(brackets: Callable[[int], Iterable[tuple[int, int]]]) -> np.ndarray:
    """First 32 bits of F(0), F(1), … up to where they are all ones, each certain."""
    width = PRECISION
    while True:
        words: list[int] = []
        for low, high in brackets(width):
            word = certain_floor(low, high, width)
            if word is None:
                break
            words.append(word)
            if word == (1 << WORD) - 1:
                return np.array(words, np.uint32)
        width *= 2


def powers(gamma: Fraction, width: int) -> Iterator[tuple[int, int]]:
    """Brackets of exp(−γ), exp(−2γ), …; each product is rounded outward."""
    factor = exp_bracket(gamma, width)
    low, high = factor
    while True:
        yield low, high
        low, high = _times((low, high), factor, width)


def _times(a: tuple[int, int], b: tuple[int, int], width: int) -> tuple[int, int]:
    return a[0] * b[0] >> width, -(-a[1] * b[1] >> width)


def _laplace_variance(scale: float) -> float:
    return 2 * exp(-1 / scale) / expm1(-1 / scale) ** 2


def _laplace_margin(scale: float, rest: float) -> int:
    odds = exp(-1 / scale)
    return smallest(lambda k: 2 * odds ** (k + 1) / (1 + odds) <= rest)


def _gaussian_margin(sigma_squared: float, rest: float) -> int:
    return smallest(lambda k: erfc((k + 0.5) / sqrt(2 * sigma_squared)) <= rest)


def smallest(holds: Callable[[int], bool]) -> int:
    """Smallest number from which on something holds."""
    high = 1
    while not holds(high):
        high *= 2
    return bisect_left(range(high), True, key=holds)


class Additive(NamedTuple):
    """A law of noise that is added to whole numbers, and what it says of them.

    Attributes
    ----------
    parameter : callable
        Its parameter, from the most that one person moves the numbers in L1 norm and in squared L2 norm, and
        from an ε or a ρ.
    check : callable
        Refuses a parameter of which no noise can be drawn.
    draw : callable
    variance : callable
        By the parameter.
    margin : callable
        Smallest k such that noise lies beyond ±k with at most a probability, by the parameter.
    """

    parameter: Callable[[int, int, Fraction], Fraction]
    check: Callable[[Fraction], None]
    draw: Callable[[Fraction, int, Bits], np.ndarray]
    variance: Callable[[float], float]
    margin: Callable[[float, float], int]


LAPLACE, GAUSSIAN = "laplace", "gaussian"

ADDITIVE = {
    LAPLACE: Additive(
        lambda l1, _, epsilon: l1 / epsilon,
        lambda scale: check_rate(1 / scale),
        discrete_laplace,
        _laplace_variance,
        _laplace_margin,
    ),
    GAUSSIAN: Additive(
        lambda _, l2_squared, rho: l2_squared / (2 * rho),
        check_variance,
        rounded_gaussian,
        rounded_variance,
        _gaussian_margin,
    ),
}
"""Laws of additive noise by name: Laplace's keeps an ε, the Gaussian's a ρ."""
