"""Numbers c₁·e^(−x₁) + c₂·e^(−x₂) + … with rational c and x, in exact arithmetic.

Probabilities of selections are such numbers. Whether one exceeds e^ε times another is then decided,
not estimated: e^(−x) for different rational x are linearly independent over the rationals (Lindemann
and Weierstrass), so such a number is zero only if nothing is left of it, and otherwise brackets that
are made ever tighter show its sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log

from privet.noise.inversion import exp_bracket

FIRST_WIDTH = 128
"""Bits of the first bracket."""

_exp_bracket = lru_cache(maxsize=1 << 14)(exp_bracket)


class Exponentials:
    """A sum of rational multiples of e^(−x), x rational.

    Examples
    --------
    >>> a = exponential(Fraction(1, 2))
    >>> (a * a - exponential(1)).sign()
    0
    >>> (1 - a).sign(), round(float(1 - a), 6)
    (1, 0.393469)
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Fraction, Fraction]) -> None:
        self.terms = {x: c for x, c in terms.items() if c}

    def __add__(self, other: Exponentials | Fraction | int) -> Exponentials:
        terms = dict(self.terms)
        for x, c in lifted(other).terms.items():
            terms[x] = terms.get(x, Fraction(0)) + c
        return Exponentials(terms)

    __radd__ = __add__

    def __mul__(self, other: Exponentials | Fraction | int) -> Exponentials:
        terms: dict[Fraction, Fraction] = {}
        for x, c in self.terms.items():
            for y, d in lifted(other).terms.items():
                terms[x + y] = terms.get(x + y, Fraction(0)) + c * d
        return Exponentials(terms)

    __rmul__ = __mul__

    def __neg__(self) -> Exponentials:
        return self * -1

    def __sub__(self, other: Exponentials | Fraction | int) -> Exponentials:
        return self + -lifted(other)

    def __rsub__(self, other: Fraction | int) -> Exponentials:
        return lifted(other) - self

    def __truediv__(self, other: Fraction | int) -> Exponentials:
        return self * (Fraction(1) / other)

    def __pow__(self, power: int) -> Exponentials:
        if len(self.terms) == 1:
            ((x, c),) = self.terms.items()
            return Exponentials({x * power: c**power})
        result = lifted(1)
        for _ in range(power):
            result = result * self
        return result

    def __bool__(self) -> bool:
        return bool(self.terms)

    def bracket(self, width: int) -> tuple[int, int]:
        """Integers with low ≤ value·2**width·e^(−s) ≤ high, s being the smallest exponent (see `shift`)."""
        low = high = Fraction(0)
        for x, c in self.terms.items():
            ends = [c * end for end in _exp_bracket(x - self.shift, width)]
            low, high = low + min(ends), high + max(ends)
        return low.__floor__(), high.__ceil__()

    @property
    def shift(self) -> Fraction:
        """Smallest exponent: brackets leave it out, so that they never vanish nor overflow."""
        return min(self.terms, default=Fraction(0))

    def sign(self) -> int:
        """−1, 0 or 1, for certain."""
        width = FIRST_WIDTH
        while self.terms:
            low, high = self.bracket(width)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            width *= 2
        return 0

    def log(self) -> float:
        """Natural logarithm of a positive number, to a double's precision; −∞ of zero."""
        if not self.terms:
            return -inf
        width = FIRST_WIDTH
        while True:
            low, high = self.bracket(width)
            if low > 0 and (high - low) << 60 <= low:
                spare = max(low.bit_length() - 64, 0)
                return log(low >> spare) + (spare - width) * log(2) - float(self.shift)
            if high < 0:
                raise ValueError("the logarithm of a number below zero")
            width *= 2

    def __float__(self) -> float:
        sign = self.sign()
        return sign * exp((self * sign).log()) if sign else 0.0


def lifted(value: Exponentials | Fraction | int) -> Exponentials:
    """A rational number as a sum of one term."""
    return value if isinstance(value, Exponentials) else Exponentials({Fraction(0): Fraction(value)})


def exponential(x: Fraction | int) -> Exponentials:
    """e^(−x)."""
    return Exponentials({Fraction(x): Fraction(1)})
