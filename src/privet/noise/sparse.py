"""Release a histogram with more cells than can be written down, in pure ε.

Every cell of the public structure would get discrete Laplace noise, and only noisy counts of at least
a public threshold would be kept. That is what comes out; it is only computed another way. Cells that
hold rows get their noise one by one. Cells that hold none are kept each with the same small probability
p: the ones kept are found by scattering a Poisson number of marks over all cells and thinning.
The time taken depends on the rows and on the marks, not on the number of cells.

Proof note: ``docs/proofs/sparse.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privet.errors import QuestionError
from privet.noise.bits import Bits, uniform_integers
from privet.noise.inversion import Bracket, exp_bracket
from privet.noise.samplers import bernoulli, discrete_laplace, geometric, poisson


def sparse_laplace(
    cells: np.ndarray,
    exact: np.ndarray,
    n_cells: int,
    scale: Fraction,
    threshold: int,
    bits: Bits,
) -> tuple[np.ndarray, np.ndarray]:
    """Cells whose noisy count reaches the threshold, and those counts.

    Parameters
    ----------
    cells, exact : int64
        Numbers and counts of the cells that hold rows; no cell twice, no count zero.
    n_cells : int
        Number of cells of the public structure.
    scale : Fraction
        Scale of the noise.
    threshold : int
        At least 1.

    Privacy
    -------
    (L1 sensitivity / scale)-DP, the set of stored cells included. Proof: *Sparse histogram*.
    """
    if threshold < 1:
        raise QuestionError("the threshold of a sparse release must be at least 1.")
    noisy = exact + discrete_laplace(scale, len(exact), bits)
    kept = noisy >= threshold
    marked = _kept_empty_cells(n_cells, scale, threshold, bits)
    empty = marked[~np.isin(marked, cells)]
    # Noise known to reach the threshold exceeds it by a geometric amount: the law has no memory.
    excess = threshold + geometric(1 / scale, len(empty), bits)
    all_cells = np.concatenate([cells[kept], empty])
    order = np.argsort(all_cells)
    return all_cells[order], np.concatenate([noisy[kept], excess])[order]


def _kept_empty_cells(n_cells: int, scale: Fraction, threshold: int, bits: Bits) -> np.ndarray:
    """Independent coins of probability p over all cells: the cells that show heads."""
    mean, thinning = marking(n_cells, scale, threshold)
    marks = uniform_integers(n_cells, poisson(mean, bits), bits)
    marked = np.unique(np.array(marks, np.int64))
    return marked[bernoulli(thinning, len(marked), bits)]


def marking(n_cells: int, scale: Fraction, threshold: int) -> tuple[int, Bracket]:
    """Mean number of marks, and the probability, bracketed, with which a marked cell is kept.

    A Poisson number of marks with mean m leaves each cell unmarked with probability
    exp(−m/n_cells), independently. A marked cell is kept with probability p/(1 − exp(−m/n_cells)).
    """
    exponent = Fraction(threshold) / scale
    p = math.exp(-exponent) / (1 + math.exp(-1 / scale))
    # Any mean above −n·log(1 − p) will do; 2·n·p and a little is above it, since p < 1/2.
    mean = math.ceil(2.001 * n_cells * p) + 1

    def thinning(_: int, width: int) -> tuple[int, int]:
        # As many more bits as 1 − exp(−mean/n_cells) has leading zeros.
        fine = width + 32 + n_cells.bit_length()
        one = 1 << fine
        top, tail = exp_bracket(exponent, fine), exp_bracket(1 / scale, fine)
        rest = exp_bracket(Fraction(mean, n_cells), fine)
        low = (top[0] << fine) * one // ((one + tail[1]) * (one - rest[0]))
        high = -(-(top[1] << fine) * one // ((one + tail[0]) * (one - rest[1])))
        return low >> (fine - width), -(-high >> (fine - width))

    return mean, thinning
