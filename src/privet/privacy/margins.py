"""How far noise may carry an answer: read off its law, so that it tells nothing about rows.

These are statements for people who read answers. The noise itself is drawn elsewhere, exactly.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privet.errors import QuestionError


def noise_margin(law: str, parameter: Fraction, confidence: float) -> int:
    """Smallest k such that noise lies within ±k with a probability of at least ``confidence``."""
    rest = _rest(confidence)
    if law == "gaussian":
        return _gaussian_margin(float(parameter), rest)
    odds = math.exp(-1 / float(parameter))
    return _smallest(lambda k: 2 * odds ** (k + 1) / (1 + odds) <= rest)


def selection_margin(law: str, n_candidates: int, rate: Fraction, confidence: float) -> int:
    """Smallest g such that, whatever the scores, no candidate is more than g ahead of the chosen one.

    This holds with a probability of at least ``confidence``. The worst case is a single best candidate
    and all others equally far, g + 1, behind it. *Selection margin* in ``docs/proofs/mechanisms.md``.
    """
    rest, others = _rest(confidence), n_candidates - 1

    def missed(gap: int) -> float:
        odds = math.exp(-float(rate) * (gap + 1))
        if not odds:
            return 0.0
        if law == "exponential":
            return others * odds / (1 + others * odds)
        return 1 + math.expm1(n_candidates * math.log1p(-odds)) / (n_candidates * odds)

    return _smallest(lambda gap: missed(gap) <= rest)


def _rest(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise QuestionError("a confidence lies between 0 and 1.", "say, 0.95.")
    return 1 - confidence


def _smallest(holds: Callable[[int], bool]) -> int:
    """Smallest number from which on something holds."""
    high = 1
    while not holds(high):
        high *= 2
    return bisect_left(range(high), True, key=holds)


def _gaussian_margin(sigma_squared: float, rest: float) -> int:
    reach = math.ceil(40 * math.sqrt(sigma_squared)) + 1
    weights = np.exp(-(np.arange(reach + 1.0) ** 2) / (2 * sigma_squared))
    weights[1:] *= 2
    return int(np.searchsorted(np.cumsum(weights) / weights.sum(), 1 - rest))
