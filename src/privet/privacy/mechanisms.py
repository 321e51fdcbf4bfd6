"""Mechanisms: exact answers in, noisy answers out. Each is proved in ``docs/proofs/mechanisms.md``.

A wall is handed its mechanisms: `Secure` where people are to be protected, `Repeatable` in studies and
tests, an auditor's own where it watches. None of them is looked up anywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privet.answers import EXPONENTIAL, Law
from privet.noise.bits import Bits, RowDraws, SecureBits, StudyBits, uniform_below, uniform_integers
from privet.noise.ranges import Locate, WeightTable, exponential_ranges
from privet.noise.samplers import ADDITIVE, geometric
from privet.noise.sparse import sparse_laplace
from privet.privacy.charges import Charge

Key = tuple[int, str]
"""A feature, and a value that some rows have."""

TRIES = 1 << 14
"""Tries of the exponential mechanism, over all rows, that are drawn at once."""

COINS = 1 << 20
"""Candidates among which is chosen at a time: their coins need little memory."""


class Mechanisms:
    """All noise of one wall, from one source of bits."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self.private = bits.private
        """False where the noise can be repeated."""

    def law_of(self, charge: Charge) -> Law:
        """The law of the noise on an answer, or a refusal of noise that could not be drawn."""
        return charge.law

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        """Whole numbers plus noise.

        Privacy
        -------
        Discrete Laplace: (L1 sensitivity / scale)-DP. Rounded Gaussian: (squared L2 sensitivity /
        2σ²)-zCDP. Proofs: *Discrete Laplace*, *Rounded Gaussian*.
        """
        return np.asarray(exact + self.noise(law, exact.size).reshape(exact.shape))

    def choose(self, exact_scores: np.ndarray, law: Law) -> np.ndarray:
        """Choose along the last axis, by the higher scores.

        Privacy
        -------
        ε-DP for each choice at the law's rate; the exponential mechanism is ε-bounded-range besides.
        Proofs: *Permute-and-flip*, *Exponential*.
        """
        chosen = self._exponential if law.name == EXPONENTIAL else self._permute_and_flip
        flat = exact_scores.reshape(-1, exact_scores.shape[-1])
        step = max(1, COINS // flat.shape[1])
        parts = [flat[first : first + step] for first in range(0, len(flat), step)] or [flat]
        columns = [chosen(part.max(axis=1, keepdims=True) - part, law.parameter) for part in parts]
        return np.concatenate(columns).reshape(exact_scores.shape[:-1])

    def choose_in_ranges(
        self,
        exact_best: np.ndarray,
        exact_mass: np.ndarray,
        thresholds: np.ndarray,
        locate: Locate,
        table: WeightTable,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Choose among ranges of equal score: see `exponential_ranges`."""
        return exponential_ranges(exact_best, exact_mass, thresholds, locate, table, self._bits)

    def keep_frequent(
        self, cells: np.ndarray, exact: np.ndarray, n_cells: int, scale: Fraction, threshold: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cells whose noisy count reaches a threshold, and these counts: see `sparse_laplace`."""
        return sparse_laplace(cells, exact, n_cells, scale, threshold, self._bits)

    def keep_common(
        self, keys: Sequence[Key], exact: np.ndarray, law: Law, threshold: int
    ) -> tuple[list[Key], np.ndarray]:
        """Keys that some rows have whose noisy count reaches a threshold, and these counts.

        Privacy
        -------
        What `add` gives, for the keys that both of two neighbours have; one that a single row has is shown
        with the probability that noise lifts a count of one to the threshold. Proof: *Common values*.
        """
        noisy = self.add(exact, law)
        kept = np.flatnonzero(noisy >= threshold)
        return [keys[place] for place in kept.tolist()], noisy[kept]

    def row_draws(self) -> RowDraws:
        """Uniform draws for every row, under a fresh secret key."""
        return RowDraws(self._bits.bytes(32))

    def below(self, bounds: np.ndarray) -> np.ndarray:
        """Uniform integers below each of ``bounds``."""
        return uniform_below(bounds, self._bits)

    def coin(self, probability: Fraction) -> bool:
        """A coin that shows heads with a rational probability, exactly."""
        return uniform_integers(probability.denominator, 1, self._bits)[0] < probability.numerator

    def noise(self, law: Law, size: int) -> np.ndarray:
        """Noise of an additive law, a whole number for each of ``size`` places."""
        return ADDITIVE[law.name].draw(law.parameter, size, self._bits)

    def heads(self, gaps: np.ndarray, rate: Fraction) -> np.ndarray:
        """Coins that show heads with probability exp(−rate·gap)."""
        return np.asarray(geometric(rate, gaps.size, self._bits).reshape(gaps.shape) >= gaps)

    def _permute_and_flip(self, gaps: np.ndarray, rate: Fraction) -> np.ndarray:
        """Columns are tried in random order, each is taken if its coin shows heads.

        All coins are thrown at once: the first head in a random order is a uniformly random head.
        """
        heads = self.heads(gaps, rate)
        wanted = self.below(heads.sum(axis=1)) + 1
        return np.asarray((np.cumsum(heads, axis=1) < wanted[:, None]).sum(axis=1))

    def _exponential(self, gaps: np.ndarray, rate: Fraction) -> np.ndarray:
        """By rejection: a uniform column, kept if its coin shows heads."""
        chosen = np.empty(len(gaps), np.int64)
        open_ = np.arange(len(gaps))
        tries = 1
        while open_.size:
            column = self.below(np.full(open_.size * tries, gaps.shape[1])).reshape(-1, tries)
            heads = self.heads(gaps[open_[:, None], column], rate)
            kept, first = heads.any(axis=1), heads.argmax(axis=1)
            chosen[open_[kept]] = column[kept, first[kept]]
            open_ = open_[~kept]
            # Many tries at once where most are in vain: the first that is kept has the same law.
            tries = min(2 * tries, max(1, TRIES // max(open_.size, 1)))
        return chosen


class Secure(Mechanisms):
    """Noise from the operating system's bits."""

    def __init__(self) -> None:
        super().__init__(SecureBits())


class Repeatable(Mechanisms):
    """Noise that can be drawn again: for studies and tests. It protects nobody."""

    def __init__(self, seed: int) -> None:
        super().__init__(StudyBits(seed))
