"""Choose among ranges of equal score: the exponential mechanism, exactly, at the cost of the ranges.

A weight exp(−rate·gap)·2**SCALE is no integer, but lies below one that is. A candidate is proposed with
that integer as its weight, and kept with the ratio of the two: integers and coins alone decide.

Proof note: ``docs/proofs/splits.md``, *Ranges of equal score*.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, islice
from math import ceil, lcm

import numpy as np

from privet.kernels.splits import SCALE
from privet.noise.bits import Bits, uniform_integers
from privet.noise.inversion import exp_bracket
from privet.noise.samplers import PRECISION, powers

NEGLIGIBLE = 22
"""exp(−22) is below 2**−SCALE: beyond this exponent a weight is bounded by 1."""


@dataclass(frozen=True)
class WeightTable:
    """Upper bounds of exp(−rate·gap)·2**SCALE for every gap, by two digits of it."""

    rate: Fraction
    fine: np.ndarray
    coarse: np.ndarray
    shift: int

    def bound(self, gap: int) -> int:
        """Upper bound of a gap's weight, as the kernels compute it."""
        high = gap >> self.shift
        if high >= len(self.coarse):
            return 1
        product = int(self.fine[gap & ((1 << self.shift) - 1)]) * int(self.coarse[high])
        return -(-product >> SCALE)

    def keeps(self, gap: int, point: int, bits: Bits) -> bool:
        """Whether point + U is below exp(−rate·gap)·2**SCALE, U being uniform in [0, 1)."""
        if gap == 0:
            return point < 1 << SCALE
        known, width, spare = point, 0, 32
        while True:
            low, high = exp_bracket(self.rate * gap, SCALE + width + spare)
            if (known + 1) << spare <= low:
                return True
            if known << spare >= high:
                return False
            known, width = (known << 64) | bits.integer(64), width + 64


@lru_cache(maxsize=64)
def weight_table(rate: Fraction) -> WeightTable:
    """Upper bounds of the weights at a rate."""
    gaps = ceil(NEGLIGIBLE / rate) + 1
    shift = max(gaps.bit_length() // 2, 1)
    fine = _upper_bounds(rate, 1 << shift)
    return WeightTable(rate, fine, _upper_bounds(rate * (1 << shift), (gaps >> shift) + 1), shift)


def _upper_bounds(rate: Fraction, size: int) -> np.ndarray:
    """Upper bounds of exp(−rate·k)·2**SCALE for k = 0 … size − 1."""
    highs = (high for _, high in islice(powers(rate, PRECISION), size - 1))
    return np.array([1 << SCALE, *(-(-high >> (PRECISION - SCALE)) for high in highs)], np.int64)


Locate = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""``locate(rows, choices, points)`` gives threshold, gap and point within its weight, ``(3, …)``."""


def exponential_ranges(
    exact_best: np.ndarray,
    exact_mass: np.ndarray,
    thresholds: np.ndarray,
    locate: Locate,
    table: WeightTable,
    bits: Bits,
) -> tuple[np.ndarray, np.ndarray]:
    """Choose a column of every row and one of its thresholds, by the exponential mechanism.

    The probability of a threshold is proportional to exp(rate·score) over the number of thresholds of
    its column; ``thresholds`` is 0 in a column that has none and counts once.

    Parameters
    ----------
    exact_best, exact_mass : int64 (rows, choices)
        As `score_pairs` returns them: a mass of 0 forbids a choice.
    thresholds : int (rows, choices)
    locate : callable
    table : WeightTable
    bits : Bits

    Returns
    -------
    choice, threshold : int64 (rows,)

    Privacy
    -------
    ε-DP and ε-bounded-range for each row at ``selection_rate(ε, Δ, monotone)``. Proof: *Ranges of equal
    score*.
    """
    choice, threshold = np.empty((2, len(exact_best)), np.int64)
    open_ = np.arange(len(exact_best))
    while open_.size:
        rounds = [propose(exact_best[i], exact_mass[i], thresholds[i], table, bits) for i in open_]
        column, point, kept = (np.array(part) for part in zip(*rounds, strict=True))
        cut = thresholds[open_, column] > 0
        place, gap, inside = locate(open_[cut], column[cut], point[cut])
        kept[cut] &= np.array(
            [table.keeps(int(g), int(i), bits) for g, i in zip(gap, inside, strict=True)], bool
        )
        choice[open_], threshold[open_] = column, 0
        threshold[open_[cut]] = place
        open_ = open_[~kept]
    return choice, threshold


def propose(
    best: np.ndarray, mass: np.ndarray, thresholds: np.ndarray, table: WeightTable, bits: Bits
) -> tuple[int, int, bool]:
    """One round for one row: a choice, a uniform point below its mass, and whether the choice is kept."""
    columns = np.flatnonzero(mass).tolist()
    counts = [max(int(thresholds[c]), 1) for c in columns]
    top, share = max(int(best[c]) for c in columns), lcm(*counts)
    gaps = [top - int(best[c]) for c in columns]
    bounds = [table.bound(gap) for gap in gaps]
    weights = [
        int(mass[c]) * bound * (share // count)
        for c, bound, count in zip(columns, bounds, counts, strict=True)
    ]
    ends = list(accumulate(weights))
    (drawn,) = uniform_integers(ends[-1], 1, bits)
    k = bisect_right(ends, drawn)
    # What is left of the draw is uniform below mass · bound · share: independent uniforms in one.
    rest, inside = divmod(drawn - (ends[k] - weights[k]), bounds[k])
    return columns[k], rest % int(mass[columns[k]]), table.keeps(gaps[k], inside, bits)
