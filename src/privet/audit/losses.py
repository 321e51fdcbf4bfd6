"""How far an answer can tell two tables apart: from their exact answers and the law of the noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from privet.audit.exact import Law, compare, exponential_weights, permute_and_flip_law
from privet.audit.exponentials import exponential
from privet.audit.ranges import Choices, laws_of, refined
from privet.noise.samplers import ADDITIVE, LAPLACE
from privet.privacy import ZCDP, Budget, Cost

FEW_COLUMNS = 6
"""Candidates of a selection whose law is written out; beyond them the theorem's bound is taken."""


FORBIDDEN = Fraction(10**9)
"""Cost of a choice that one table allows and the other does not: more than any budget."""


class Bound(NamedTuple):
    """What answers lose at most, in ε and in ρ, exactly: costs are rounded to a grid, losses are not."""

    epsilon: Fraction | None
    rho: Fraction

    @classmethod
    def pure(cls, epsilon: Fraction) -> Bound:
        """Of a loss in pure ε, what it may be in ρ."""
        return cls(epsilon, epsilon**2 / 2)

    @classmethod
    def of(cls, charges: Iterable[Mapping[str, Any]]) -> Bound:
        """Of questions about the same people, as a card or a ledger of any age states them."""
        listed = [(charge["epsilon"], Fraction(charge["rho"])) for charge in charges]
        pure = None if any(epsilon is None for epsilon, _ in listed) else sum(Fraction(e) for e, _ in listed)
        return cls(None if pure is None else Fraction(pure), sum((rho for _, rho in listed), Fraction(0)))

    def within(self, other: Bound | Cost) -> bool:
        """Whether another pays for this in ε, and in ρ."""
        in_epsilon = other.epsilon is None or (self.epsilon is not None and self.epsilon <= other.epsilon)
        return in_epsilon and self.rho <= other.rho

    def __str__(self) -> str:
        return f"ρ={float(self.rho):.6g}" if self.epsilon is None else f"ε={float(self.epsilon):.6g}"


NOTHING = Bound(Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Answer:
    """What a mechanism was given, and what it gave; it was given nothing where no row takes part."""

    mechanism: str
    parameter: Any
    exact: Any
    outcome: Any


@dataclass(frozen=True)
class Loss:
    """What tells two tables apart by their answers.

    Attributes
    ----------
    bound : Bound
        No more than this, whatever the outcome.
    ways : tuple of float
        Largest log ratio of an outcome: of those likelier on the first table, and on the second. Of
        independent answers each adds up.
    rho : Fraction
        What Gaussian answers lose in ρ; at whole orders they lose all of it.
    delta : float
        Probability with which a value is shown that rows of one table alone have.
    """

    bound: Bound
    ways: tuple[float, float] = (0.0, 0.0)
    rho: Fraction = Fraction(0)
    delta: float = 0.0

    @property
    def attained(self) -> float:
        """A log ratio that some outcome has."""
        return max(self.ways)


def loss_of(a: Answer, b: Answer) -> Loss:
    """Loss of one answer, from its two exact answers and the law of its noise."""
    if a.exact is None:
        return Loss(NOTHING)
    if a.mechanism == "sparse":
        cells = a.exact.keys() | b.exact.keys()
        return _pure(sum(abs(a.exact.get(i, 0) - b.exact.get(i, 0)) for i in cells) / a.parameter[0])
    if a.mechanism == "common":
        return _loss_of_values(a.exact, b.exact, *a.parameter)
    if a.mechanism == "ranges":
        differing = [(x, y) for x, y in zip(a.exact, b.exact, strict=True) if x != y]
        return together([_range_loss(x, y, a.parameter[0]) for x, y in differing])
    moved = a.exact - b.exact
    if a.mechanism in ADDITIVE:
        return _loss_of_numbers(a.mechanism, moved, a.parameter)
    changed = np.flatnonzero(moved.any(axis=1)).tolist()
    if moved.shape[1] > FEW_COLUMNS:
        spreads = [(int(moved[row].max()) - int(moved[row].min())) * a.parameter for row in changed]
        return together([_loss_of_choice(a.mechanism, spread, spread) for spread in spreads])
    return together([_selection_loss(a.mechanism, a.parameter, *_scores(a, b, row)) for row in changed])


def together(losses: Sequence[Loss]) -> Loss:
    """Loss of several answers: some outcome attains all of them that go one way."""
    ways = sum(loss.ways[0] for loss in losses), sum(loss.ways[1] for loss in losses)
    rho = sum((loss.rho for loss in losses), Fraction(0))
    each = [loss.bound.epsilon for loss in losses]
    pure = None if None in each else sum((epsilon for epsilon in each if epsilon), Fraction(0))
    bound = Bound(pure, sum((loss.bound.rho for loss in losses), Fraction(0)))
    return Loss(bound, ways, rho, sum(loss.delta for loss in losses))


def _loss_of_numbers(law: str, moved: np.ndarray, parameter: Fraction) -> Loss:
    """Additive noise on whole numbers that differ by so much."""
    if law == LAPLACE:
        return _pure(Fraction(int(np.abs(moved).astype(object).sum())) / parameter)
    rho = Fraction(int((moved.astype(object) ** 2).sum())) / (2 * parameter)
    return Loss(Bound(None, rho) if rho else NOTHING, rho=rho)


def _loss_of_values(
    a: Mapping[Any, int], b: Mapping[Any, int], law: str, parameter: Fraction, threshold: int
) -> Loss:
    """Values that rows of both tables have move by their counts; a new one may be shown all the same."""
    both = sorted(a.keys() & b.keys())
    moved = np.array([a[key] - b[key] for key in both], np.int64)
    new = [held[key] for held in (a, b) for key in held if key not in both]
    shown = sum(_tail(law, threshold - count, float(parameter)) for count in new)
    return replace(_loss_of_numbers(law, moved, parameter), delta=shown)


def _tail(law: str, least: int, parameter: float) -> float:
    """How often noise is at least so much."""
    width = parameter if law == LAPLACE else sqrt(parameter)
    reach = abs(least) + ceil(40 * width) + 1
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / width if law == LAPLACE else -(k**2) / (2 * parameter))
    return float(weights[k >= least].sum() / weights.sum())


def _pure(epsilon: Fraction) -> Loss:
    """Additive noise: as likely to tell one way as the other."""
    return Loss(Bound.pure(Fraction(epsilon)), (float(epsilon), float(epsilon)))


def _scores(a: Answer, b: Answer, row: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Gaps to the best are all that matters: fewer pairs to look up."""
    return tuple((a.exact[row] - a.exact[row].max()).tolist()), tuple(
        (b.exact[row] - b.exact[row].max()).tolist()
    )


@lru_cache(maxsize=1 << 12)
def _selection_loss(mechanism: str, rate: Fraction, a: tuple[int, ...], b: tuple[int, ...]) -> Loss:
    moves = [y - x for x, y in zip(a, b, strict=True)]
    spread = (max(moves) - min(moves)) * rate
    law = permute_and_flip_law if mechanism == "permute-and-flip" else exponential_weights
    laws: list[Any] = [dict(enumerate(law(scores, exponential(rate)))) for scores in (a, b)]
    return _loss_of_choice(mechanism, spread, *_certain_loss(laws[0], laws[1], rate))


def _range_loss(a: Choices, b: Choices, rate: Fraction) -> Loss:
    if a.keys() != b.keys():
        return Loss(Bound(FORBIDDEN, FORBIDDEN), (inf, inf))
    moves = [other - score for *_, score, other in refined(a, b)]
    spread = (max(moves) - min(moves)) * rate
    return _loss_of_choice("exponential", spread, *_certain_loss(*laws_of(a, b, rate), rate))


def _certain_loss(a: Law, b: Law, rate: Fraction) -> tuple[Fraction, tuple[float, float]]:
    """A multiple of the rate that no outcome's log ratio exceeds, for certain, and the largest each way."""
    laws = {0: a, 1: b}
    worst = compare(laws, [(0, 1)], Fraction(0))
    multiple = max(ceil(worst.loss / float(rate) - 1e-9), 0)
    while not compare(laws, [(0, 1)], multiple * rate).keeps:
        multiple += 1
    return multiple * rate, worst.ways


def _loss_of_choice(
    mechanism: str, spread: Fraction, epsilon: Fraction, ways: tuple[float, float] = (0.0, 0.0)
) -> Loss:
    """In ρ, the exponential mechanism is charged by the spread of its log ratios, others by the largest."""
    rho = spread**2 / 8 if mechanism == "exponential" else epsilon**2 / 2
    return Loss(Bound(epsilon, rho), ways)


def epsilon_at(rho: Fraction, delta: Fraction, accounting: str = ZCDP) -> float:
    """Smallest ε, to four digits, whose (ε, δ) a cost of ρ keeps, or of half of μ²."""
    low, high = 0.0, 64.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        enough = Budget(middle, delta, accounting=accounting).rho >= rho
        low, high = (low, middle) if enough else (middle, high)
    return high
