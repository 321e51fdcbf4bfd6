"""Mechanisms: exact answers in, noisy answers out. Each is proved in ``docs/proofs/mechanisms.md``."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from opendp.domains import atom_domain
from opendp.measurements import make_laplace
from opendp.metrics import absolute_distance
from opendp.mod import enable_features

from privet.privacy.bits import Bits, uniform_below
from privet.privacy.samplers import discrete_gaussian, discrete_laplace, geometric

enable_features("contrib")

TRIES = 1 << 14
"""Tries of the exponential mechanism, over all rows, that are drawn at once."""


def laplace_counts(exact: np.ndarray, scale: Fraction, bits: Bits) -> np.ndarray:
    """Counts plus discrete Laplace noise of a scale.

    Privacy
    -------
    (L1 sensitivity / scale)-DP. Proof: *Discrete Laplace*.
    """
    if exact.size == 1 and bits.private:
        return _opendp_laplace(exact, scale)
    return exact + discrete_laplace(scale, exact.size, bits).reshape(exact.shape)


def gaussian_counts(exact: np.ndarray, sigma_squared: Fraction, bits: Bits) -> np.ndarray:
    """Counts plus discrete Gaussian noise of a variance parameter.

    Privacy
    -------
    (L2 sensitivity² / (2·sigma_squared))-zCDP. Proof: *Discrete Gaussian*.
    """
    return exact + discrete_gaussian(sigma_squared, exact.size, bits).reshape(exact.shape)


def selection_rate(epsilon: Fraction, sensitivity: Fraction, monotone: bool) -> Fraction:
    """Exponent per unit of score that an ε-DP selection may use.

    Where adding a record moves no two scores in opposite directions the usual factor 2 goes.
    """
    return epsilon / (sensitivity if monotone else 2 * sensitivity)


def permute_and_flip(exact_scores: np.ndarray, rate: Fraction, bits: Bits) -> np.ndarray:
    """Choose a column of every row, the higher its score the likelier.

    Columns are tried in random order; one whose score is ``gap`` below the row's best is taken with
    probability exp(−rate·gap). All coins are thrown at once: the first head in a random order is a
    uniformly random head.

    Privacy
    -------
    ε-DP for each row at ``selection_rate(ε, Δ, monotone)``. Proof: *Permute-and-flip*.
    """
    gaps = exact_scores.max(axis=1, keepdims=True) - exact_scores
    heads = geometric(rate, gaps.size, bits).reshape(gaps.shape) >= gaps
    wanted = uniform_below(heads.sum(axis=1), bits) + 1
    return np.asarray((np.cumsum(heads, axis=1) < wanted[:, None]).sum(axis=1))


def exponential(exact_scores: np.ndarray, rate: Fraction, bits: Bits) -> np.ndarray:
    """Choose a column of every row with probability proportional to exp(rate·score).

    Drawn by rejection: a uniform column, kept with probability exp(−rate·gap).

    Privacy
    -------
    ε-DP and ε-bounded-range for each row at ``selection_rate(ε, Δ, monotone)``. Proof: *Exponential*.
    """
    gaps = exact_scores.max(axis=1, keepdims=True) - exact_scores
    chosen = np.empty(len(gaps), np.int64)
    open_ = np.arange(len(gaps))
    tries = 1
    while open_.size:
        column = uniform_below(np.full(open_.size * tries, gaps.shape[1]), bits).reshape(-1, tries)
        heads = geometric(rate, column.size, bits).reshape(column.shape) >= gaps[open_[:, None], column]
        kept, first = heads.any(axis=1), heads.argmax(axis=1)
        chosen[open_[kept]] = column[kept, first[kept]]
        open_ = open_[~kept]
        # Many tries at once where most are in vain: the first that is kept has the same law.
        tries = min(2 * tries, max(1, TRIES // max(open_.size, 1)))
    return chosen


def _opendp_laplace(exact: np.ndarray, scale: Fraction) -> np.ndarray:
    rounded = float(scale)
    # OpenDP takes a float: round it up, so that the noise is never too small.
    rounded = rounded if Fraction(rounded) >= scale else math.nextafter(rounded, math.inf)
    space = atom_domain(T="i64"), absolute_distance(T="i64")
    noisy = make_laplace(*space, scale=rounded)(int(exact.reshape(-1)[0]))
    return np.full(exact.shape, noisy, np.int64)
