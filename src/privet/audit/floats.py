"""Mironov's attack: real-valued Laplace noise in floats gives away what it was added to.

Textbook noise is a multiple of the logarithm of a uniform number on a grid of 2^53 points. After rounding,
one true answer can produce some floats and not their neighbours, and another answer produces other ones:
a look at the last bits tells them apart (Mironov 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf

import numpy as np

from privet.audit.statistical import lower_bound
from privet.audit.trial import Effort, from_runs
from privet.audit.verdict import BROKEN, NOT_REFUTED, Verdict
from privet.privacy import Change, Cost, Secure, law_of

GRID = 53
REACH = 64
"""Grid points to either side of the likeliest one that are tried."""

COUNTS = (1, 0)
"""Rows of the two tables."""

Noisy = Callable[[int, int, Fraction], np.ndarray]
"""``noisy(count, n, epsilon)``: n noisy forms of a count."""


def textbook(count: int, n: int, epsilon: Fraction) -> np.ndarray:
    """A count plus Laplace noise by inversion in floats. Not private."""
    random = np.random.default_rng()
    uniform = (random.integers(0, 1 << GRID, n) + 1) * 2.0**-GRID
    sign = random.integers(0, 2, n) * 2 - 1
    return np.asarray(count + sign * (np.log(uniform) / float(epsilon)))


def ours(count: int, n: int, epsilon: Fraction) -> np.ndarray:
    """A count plus discrete Laplace noise of the wall, as floats."""
    law = law_of(Change(1, 1), Cost.pure(epsilon))
    return Secure().add(np.full(n, count), law).astype(float)


def reachable(outputs: np.ndarray, count: int, epsilon: Fraction) -> np.ndarray:
    """Whether textbook noise could have made each output of a count.

    Noise does not rise with the uniform number, so only the grid points around the one that fits best can
    give the output.
    """
    rate = float(epsilon)
    sign = np.where(outputs > count, -1, 1)
    best = np.rint(np.exp(-np.abs(outputs - count) * rate) * 2.0**GRID)
    found = np.zeros(len(outputs), bool)
    for step in range(-REACH, REACH + 1):
        uniform = np.clip(best + step, 1, 2.0**GRID) * 2.0**-GRID
        found |= count + sign * (np.log(uniform) / rate) == outputs
    return found


def exact_float(name: str, epsilon: Fraction, effort: Effort, noisy: Noisy = textbook) -> Verdict:
    """Look for an output that one count can produce and its neighbour cannot."""
    outputs = noisy(COUNTS[0], 1000, epsilon)
    telling = outputs[reachable(outputs, COUNTS[0], epsilon) & ~reachable(outputs, COUNTS[1], epsilon)]
    if not len(telling):
        return Verdict(name, "exact", NOT_REFUTED, float(epsilon), 0.0, f"{len(outputs):,} outputs")
    witness = {
        "table": f"{COUNTS[0]} row",
        "neighbour": f"{COUNTS[1]} rows",
        "event": f"the output {telling[0].hex()}, impossible on the neighbour",
    }
    looked_at = f"{len(telling):,} of {len(outputs):,} outputs tell"
    return Verdict(name, "exact", BROKEN, float(epsilon), inf, looked_at, witness=witness)


def sampled_float(name: str, epsilon: Fraction, effort: Effort, noisy: Noisy = textbook) -> Verdict:
    """The attack as an event: the second count could not have produced this output."""
    n = effort.draws // 2
    tells = [reachable(noisy(count, n, epsilon), COUNTS[1], epsilon).astype(int) for count in COUNTS]
    tables = (f"{COUNTS[0]} row", f"{COUNTS[1]} rows")
    return from_runs(name, epsilon, lower_bound(tells[0], tells[1]), tables)
