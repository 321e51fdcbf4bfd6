"""Gaussian differential privacy: what is (ε, δ), and what an ε costs, in half of μ².

Of Gaussian answers that is their ρ too; only what it comes to in the end is told without loss. Everything
is decided by brackets in whole numbers, on the side of safety.

Proof note: ``docs/proofs/gaussian.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, inf, log2, sqrt

from privet.noise.gaussian import tail_bracket
from privet.noise.inversion import exp_bracket

GRID = 10**12
"""μ is looked for in units of one in so many, z in units of their square."""

LARGE = 64
"""ε above which simple bounds are used: brackets of e^ε would be long, and promise next to nothing."""

SPARE = 80
"""Bits of brackets beyond those that δ or e^ε has before its first digit."""


@lru_cache(maxsize=256)
def profile_rho(epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """Largest half of μ², on the grid, such that μ-GDP surely gives (ε, δ); None where ε is large.

    μ-GDP gives δ = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2), which rises with μ.
    """
    if epsilon > LARGE:
        return None
    bits = SPARE + ceil(-log2(delta)) + 2 * ceil(epsilon)
    growth = Fraction(1 << bits, exp_bracket(epsilon, bits)[1])

    def keeps(units: int) -> bool:
        mu = Fraction(units, GRID)
        most = tail_bracket(epsilon / mu - mu / 2, bits)[1]
        return most - growth * tail_bracket(epsilon / mu + mu / 2, bits)[0] <= delta * (1 << bits)

    low, high = 0, 1
    while keeps(high):
        low, high = high, 2 * high
    while high - low > 1 + (low >> 40):
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return Fraction(low**2, 2 * GRID**2)


@lru_cache(maxsize=1024)
def profile_price(epsilon: Fraction) -> Fraction:
    """Half of μ² at which an ε-DP answer is surely μ-GDP: μ = 2z, Φ(−z) = 1/(1 + e^ε)."""
    if epsilon > LARGE:
        return 4 * epsilon  # Φ(−z) ≤ exp(−z²/2)/2 ≤ 1/(1 + e^ε) for z² = 2ε
    bits = 2 * SPARE + 2 * ceil(epsilon)
    shrunk = exp_bracket(epsilon, bits)[0]
    share = Fraction(shrunk, (1 << bits) + shrunk)
    low, high = 0, GRID**2
    while not _beyond(high, share, bits):
        high *= 2
    while high - low > 1 + (low >> 40):
        middle = (low + high) // 2
        low, high = (low, middle) if _beyond(middle, share, bits) else (middle, high)
    return 2 * Fraction(high, GRID**2) ** 2


def _beyond(units: int, share: Fraction, bits: int) -> bool:
    """Whether surely no more than a share of the normal law is above so many units."""
    return tail_bracket(Fraction(units, GRID**2), bits)[1] <= share * (1 << bits)


def profile_epsilon(rho: Fraction, delta: Fraction) -> float:
    """About the ε that half of μ² gives with δ: for people to read."""
    mu = sqrt(2 * rho)

    def lacks(epsilon: float) -> bool:
        above, below = (_normal_tail(epsilon / mu + sign * mu / 2) for sign in (-1, 1))
        return above - exp(epsilon) * below > delta

    low, high = 0.0, 1.0
    while mu and lacks(high) and high < LARGE:
        low, high = high, 2 * high
    for _ in range(50 if mu else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if lacks(middle) else (low, middle)
    return high if mu else 0.0


def _normal_tail(x: float) -> float:
    return erfc(x / sqrt(2)) / 2 if x < inf else 0.0
