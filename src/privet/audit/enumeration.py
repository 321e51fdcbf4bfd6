"""Mechanisms whose every random choice is enumerated, by their own code."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from privet.answers import Law
from privet.audit.exact import Explorer, Rejected
from privet.audit.exponentials import exponential
from privet.errors import QuestionError
from privet.noise.bits import RowDraws, SecureBits
from privet.privacy import Mechanisms


class SealedBits(SecureBits):
    """Bits that refuse to be drawn: nothing may be drawn that the auditor does not see."""

    private = False

    def bytes(self, size: int) -> NoReturn:
        """Refuse."""
        raise QuestionError("this draws noise in a way that the auditor does not know.")


class Enumerated(Mechanisms):
    """Mechanisms for which an explorer makes all choices; what they do with them is the product's code.

    Parameters
    ----------
    explorer : Explorer
    rounds : int, optional
        Whatever draws uniform choices more often than that has rejected its earlier ones. Rounds are
        independent, so the law of what the first keep is the law of what comes out.
    reach : int
        Noise on the first number of an answer is enumerated to either side so far; the others get none.
    """

    def __init__(self, explorer: Explorer, rounds: int | None = None, reach: int = 0) -> None:
        super().__init__(SealedBits())
        self._explorer = explorer
        self._rounds = rounds
        self._reach = range(-reach, reach + 1)

    def noise(self, law: Law, size: int) -> np.ndarray:
        """See `Mechanisms.noise`; of Laplace noise, whose weights have one factor in common."""
        weights = [(x, exponential(abs(x) / law.parameter)) for x in self._reach]
        return np.array([self._explorer.choose(weights), *[0] * (size - 1)])

    def heads(self, gaps: np.ndarray, rate: Fraction) -> np.ndarray:
        """See `Mechanisms.heads`."""
        return np.array([self._head(rate * int(gap)) for gap in gaps.ravel()], bool).reshape(gaps.shape)

    def below(self, bounds: np.ndarray) -> np.ndarray:
        """See `Mechanisms.below`."""
        if self._rounds is not None:
            if not self._rounds:
                raise Rejected
            self._rounds -= 1
        return np.array([self._explorer.choose(evenly(int(bound))) for bound in bounds], np.int64)

    def coin(self, probability: Fraction) -> bool:
        """See `Mechanisms.coin`."""
        return bool(self._explorer.choose([(True, probability), (False, 1 - probability)]))

    def row_draws(self) -> RowDraws:
        """See `Mechanisms.row_draws`."""
        return EnumeratedDraws(self._explorer)

    def _head(self, exponent: Fraction) -> bool:
        if not exponent:
            return True
        heads = exponential(exponent)
        return bool(self._explorer.choose([(True, heads), (False, 1 - heads)]))


class EnumeratedDraws(RowDraws):
    """What rows draw for themselves, every one of it in some run; read again, a row draws the same."""

    def __init__(self, explorer: Explorer) -> None:
        super().__init__(b"")
        self._drawn: dict[tuple[int, int], Any] = {}
        self._explorer = explorer

    def below(self, bound: int, rows: np.ndarray) -> np.ndarray:
        """See `RowDraws.below`."""
        for row in rows.tolist():
            if (bound, row) not in self._drawn:
                self._drawn[bound, row] = self._explorer.choose(evenly(bound))
        return np.array([self._drawn[bound, row] for row in rows.tolist()], np.int64)


def evenly(bound: int) -> Sequence[tuple[int, Fraction]]:
    """Whole numbers below a bound, each as likely."""
    return [(i, Fraction(1, bound)) for i in range(bound)]
