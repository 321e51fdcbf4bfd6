"""Exact laws of small programs: every random choice is enumerated, every probability added up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import inf
from typing import Any

from privet.audit.exponentials import Exponentials, exponential, lifted

Weight = Fraction | Exponentials
Law = Mapping[Hashable, Weight]
"""Weight of every outcome; weights are probabilities up to one common factor."""

Table = tuple[Hashable, ...]


class Rejected(BaseException):
    """A branch that a rejection sampler throws away and starts anew; no error: nothing may catch it."""


class Explorer:
    """Runs a program once for every outcome of its random choices, and adds up its exact law."""

    def __init__(self) -> None:
        self._tape: list[int] = []
        self._position = 0
        self._widths: list[int] = []
        self.weight: Any = Fraction(1)

    def choose(self, options: Sequence[tuple[Any, Weight]]) -> Any:
        """Return one of ``(value, probability)`` pairs; every one of them in some run."""
        if self._position == len(self._tape):
            self._tape.append(0)
            self._widths.append(len(options))
        value, probability = options[self._tape[self._position]]
        self._position += 1
        self.weight = self.weight * probability
        return value

    def law(self, run: Callable[[], Hashable]) -> dict[Hashable, Any]:
        """Probability of every outcome of ``run``; of those it keeps, where it raises `Rejected`."""
        law: dict[Hashable, Any] = defaultdict(Fraction)
        while True:
            self._position, self.weight = 0, Fraction(1)
            try:
                outcome = run()
                law[outcome] = law[outcome] + self.weight
            except Rejected:
                pass
            while self._tape and self._tape[-1] == self._widths[-1] - 1:
                self._tape.pop()
                self._widths.pop()
            if not self._tape:
                return dict(law)
            self._tape[-1] += 1


def permute_and_flip_law(scores: Sequence[int], odds: Any) -> list[Any]:
    """Law of permute-and-flip when a gap of one is accepted with probability ``odds``."""
    accept = [odds ** (max(scores) - score) for score in scores]
    everyone = range(len(scores))
    law: list[Any] = [Fraction(0)] * len(scores)
    for size in range(1, len(scores) + 1):
        for heads in combinations(everyone, size):
            probability: Any = Fraction(1)
            for i in everyone:
                probability = probability * (accept[i] if i in heads else 1 - accept[i])
            for i in heads:
                law[i] = law[i] + probability / size
    return law


def exponential_weights(scores: Sequence[int], odds: Any) -> list[Any]:
    """Weights of the exponential mechanism when a gap of one has odds ``odds``; they do not sum to one."""
    return [odds ** (max(scores) - score) for score in scores]


def largest_ratio(a: Mapping[Hashable, Fraction], b: Mapping[Hashable, Fraction]) -> Fraction:
    """Largest ratio of the probabilities of one outcome, either way round."""
    outcomes = {key for law in (a, b) for key, probability in law.items() if probability}
    return max(max(a[key] / b[key], b[key] / a[key]) for key in outcomes)


def neighbours(rows: Sequence[Hashable], universe: Iterable[Hashable]) -> list[Table]:
    """All tables with one row more or one row fewer."""
    fewer = [tuple(rows[:i]) + tuple(rows[i + 1 :]) for i in range(len(rows))]
    return fewer + [(*rows, row) for row in universe]


def tables(universe: Sequence[Hashable], most_rows: int) -> list[Table]:
    """All tables of up to some rows."""
    return [t for size in range(most_rows + 1) for t in combinations_with_replacement(universe, size)]


def pairs(all_tables: Iterable[Table]) -> Iterator[tuple[Table, Table]]:
    """Every table with every table that lacks one of its rows."""
    for table in all_tables:
        yield from ((table, fewer) for fewer in dict.fromkeys(neighbours(table, ())))


@dataclass(frozen=True)
class Worst:
    """The worst of all pairs of neighbours.

    Attributes
    ----------
    loss : float
        Largest log ratio of an outcome's probabilities.
    pair : tuple
        The tables; the outcome is likelier on the first.
    event : Hashable
    keeps : bool
        Whether no outcome anywhere is more than e^ε likelier: decided, not rounded.
    pairs, outcomes : int
        How many were looked at.
    ways : tuple of float
        Largest log ratio of an outcome likelier on the first table of a pair, and on the second.
    """

    loss: float
    pair: tuple[Any, Any]
    event: Hashable
    keeps: bool
    pairs: int
    outcomes: int
    ways: tuple[float, float] = (0.0, 0.0)


def compare(
    laws: Mapping[Any, Law],
    neighbouring: Iterable[tuple[Any, Any]],
    epsilon: Fraction,
    one_total: bool = False,
) -> Worst:
    """Hold the laws of all neighbouring tables against each other and against ε.

    ``one_total`` says that the weights of all tables have one factor in common, as those of additive
    noise of which a window is looked at.
    """
    totals: dict[Any, Any] = {
        table: Fraction(1) if one_total else sum(law.values(), Fraction(0)) for table, law in laws.items()
    }
    worst: tuple[float, Any, Hashable] = (-inf, (), None)
    keeps, n_pairs, outcomes, ways = True, 0, set(), [-inf, -inf]
    for pair in neighbouring:
        n_pairs += 1
        for way, (likely, other) in enumerate((pair, pair[::-1])):
            for event, weight in laws[likely].items():
                a = lifted(weight) * totals[other]
                b = lifted(laws[other].get(event, Fraction(0))) * totals[likely]
                outcomes.add(event)
                keeps = keeps and not exceeds(a, b, epsilon)
                loss = log_ratio(a, b)
                ways[way] = max(ways[way], loss)
                if loss > worst[0]:
                    worst = (loss, (likely, other), event)
    return Worst(*worst, keeps, n_pairs, len(outcomes), (ways[0], ways[1]))


def exceeds(a: Weight, b: Weight, epsilon: Fraction) -> bool:
    """Whether a > e^ε·b, for certain."""
    return (lifted(a) - lifted(b) * exponential(-epsilon)).sign() > 0


def log_ratio(a: Exponentials, b: Exponentials) -> float:
    """log(a/b), infinite where b alone is zero."""
    if not a:
        return -inf
    return inf if not b else a.log() - b.log()
