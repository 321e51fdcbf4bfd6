"""What a bound is, what it assumes, and where it begins to say something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp, inf
from typing import NamedTuple

from privet.errors import QuestionError


class Bound(NamedTuple):
    """With probability at least 1 − ``failure``, the share of misclassified rows is at most ``error``."""

    error: float
    failure: float
    n_trees: int
    terms: Mapping[str, float]

    @property
    def probability(self) -> float:
        """Probability with which the bound holds, at least."""
        return max(0.0, 1.0 - self.failure)

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: an error of 1, or a probability of 0."""
        return self.error >= 1 or self.failure >= 1


class Guarantee(NamedTuple):
    """A bound on the training rows and one on as many test rows of the same distribution."""

    training: Bound
    test: Bound


def fewest_rows(bound: Callable[[int], Bound]) -> int:
    """Find the fewest rows at which ``bound(n_rows)`` says something, which must say more with more rows.

    >>> fewest_rows(lambda n: Bound(error=0.1, failure=100 / n, n_trees=1, terms={}))
    101
    """
    return first(lambda n_rows: not bound(n_rows).vacuous)


def first(holds: Callable[[int], bool]) -> int:
    """Find the first integer ≥ 1 from which on ``holds``."""
    high = 1
    while not holds(high):
        high *= 2
        if high > MOST_ROWS:
            raise QuestionError("no number is large enough.", "ask for less: another margin, or more trees.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def probability(exponent: float) -> float:
    """Probability e^exponent; one that passes 1 says no more than 1."""
    return exp(min(exponent, 0.0))


def either(p: float, q: float) -> float:
    """Failure 1 − (1 − p)·(1 − q), to all digits where both are small."""
    larger, smaller = max(p, q), min(p, q)
    return larger + smaller * (1 - larger)


MOST_ROWS = 10**300
"""Beyond it numbers of rows are no floats any more."""

TALLEST = 1000


def whole(value: float, least: int, most: int) -> bool:
    """Whether a value is a whole number within bounds, both included."""
    return least <= value <= most and int(value) == value


ASSUMPTIONS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "n_rows": ("a whole number of rows, one at least", lambda n: whole(n, 1, MOST_ROWS)),
    "height": (f"a whole height h from 0 to {TALLEST}", lambda h: whole(h, 0, TALLEST)),
    "n_trees": ("a whole number of trees, one at least", lambda k: whole(k, 1, MOST_ROWS)),
    "epsilon": ("a privacy parameter η > 0", lambda eta: 0 < eta < inf),
    "tree_error": ("a mean tree error 0 < ε ≤ ½", lambda error: 0 < error <= 0.5),
    "margin": ("a margin 0 < δ < ½", lambda delta: 0 < delta < 0.5),
    "wide_margin": ("a margin 0 < δ < 1", lambda delta: 0 < delta < 1),
    "thinness": ("a thinness K > 0", lambda K: 0 < K < inf),
    "confidence": ("a confidence C > 0", lambda C: 0 < C < inf),
    "slack": ("a slack 0 < c < 1", lambda c: 0 < c < 1),
    "training_share": ("a share 0 ≤ μ ≤ 1 of training rows", lambda mu: 0 <= mu <= 1),
    "test_share": ("a share 0 ≤ μ ≤ 1 of test rows", lambda mu: 0 <= mu <= 1),
}


def check(**values: float) -> None:
    """Refuse what a theorem's assumptions do not cover.

    >>> check(margin=0.25)
    >>> check(margin=0.5)
    Traceback (most recent call last):
    ...
    privet.errors.QuestionError: the theorem assumes a margin 0 < δ < ½; margin is 0.5.
    Hint: give what it assumes.
    """
    for name, value in values.items():
        assumption, holds = ASSUMPTIONS[name]
        if not holds(value):
            name = name.removeprefix("wide_")
            raise QuestionError(
                f"the theorem assumes {assumption}; {name} is {value}.",
                "give what it assumes.",
            )
