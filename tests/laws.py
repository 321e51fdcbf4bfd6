"""Exact laws to hold mechanisms against, and tests that tell a sample from a law."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6
"""How often a statistical test may reject a law that is true."""

PRECISE = Context(prec=120)


class Explorer:
    """Runs a program once for every outcome of its random choices, and adds up its exact law."""

    def __init__(self) -> None:
        self._tape: list[int] = []
        self._position = 0
        self._widths: list[int] = []
        self.weight = Fraction(1)

    def choose(self, options: Sequence[tuple[object, Fraction]]) -> object:
        """Return one of ``(value, probability)`` pairs; every one of them in some run."""
        if self._position == len(self._tape):
            self._tape.append(0)
            self._widths.append(len(options))
        value, probability = options[self._tape[self._position]]
        self._position += 1
        self.weight *= probability
        return value

    def law(self, run: Callable[[], Hashable]) -> dict[Hashable, Fraction]:
        """Probability of every outcome of ``run``."""
        law: dict[Hashable, Fraction] = defaultdict(Fraction)
        while True:
            self._position, self.weight = 0, Fraction(1)
            outcome = run()
            law[outcome] += self.weight
            while self._tape and self._tape[-1] == self._widths[-1] - 1:
                self._tape.pop()
                self._widths.pop()
            if not self._tape:
                return dict(law)
            self._tape[-1] += 1


def permute_and_flip_law(scores: Sequence[int], odds: Fraction) -> list[Fraction]:
    """Law of permute-and-flip when a gap of one is accepted with probability ``odds``."""
    accept = [odds ** (max(scores) - score) for score in scores]
    everyone = range(len(scores))
    law = [Fraction(0)] * len(scores)
    for size in range(1, len(scores) + 1):
        for heads in combinations(everyone, size):
            probability = Fraction(1)
            for i in everyone:
                probability *= accept[i] if i in heads else 1 - accept[i]
            for i in heads:
                law[i] += probability / size
    return law


def exponential_law(scores: Sequence[int], odds: Fraction) -> list[Fraction]:
    """Law of the exponential mechanism when a gap of one has odds ``odds``."""
    weights = [odds ** (max(scores) - score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def largest_ratio(a: dict[Hashable, Fraction], b: dict[Hashable, Fraction]) -> Fraction:
    """Largest ratio of the probabilities of one outcome, either way round."""
    outcomes = {key for law in (a, b) for key, probability in law.items() if probability}
    return max(max(a[key] / b[key], b[key] / a[key]) for key in outcomes)


def neighbours(rows: Sequence[Hashable], universe: Iterable[Hashable]) -> list[tuple[Hashable, ...]]:
    """All tables with one row more or one row fewer."""
    fewer = [tuple(rows[:i]) + tuple(rows[i + 1 :]) for i in range(len(rows))]
    return fewer + [(*rows, row) for row in universe]


def exp_minus(x: Fraction) -> Decimal:
    """exp(−x) to 120 digits."""
    ratio = PRECISE.divide(Decimal(x.numerator), Decimal(x.denominator))
    return PRECISE.exp(PRECISE.minus(ratio))


def laplace_probability(k: int, scale: float) -> float:
    q = np.exp(-1 / scale)
    return float((1 - q) / (1 + q) * q ** abs(k))


def gaussian_probabilities(reach: int, sigma_squared: float) -> np.ndarray:
    """Discrete Gaussian on −reach … reach; the rest must be negligible."""
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * sigma_squared))
    return weights / weights.sum()


def follows(sample: np.ndarray, probability: dict[int, float]) -> bool:
    """Chi-square test of a sample of integers against a law, rare values pooled."""
    n = len(sample)
    values, counts = np.unique(sample, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    common = [k for k, p in probability.items() if n * p >= 20]
    observed = [seen.get(k, 0) for k in common]
    expected = [n * probability[k] for k in common]
    observed.append(n - sum(observed))
    expected.append(n - sum(expected))
    if expected[-1] < 5:
        observed[-2:] = [observed[-2] + observed[-1]]
        expected[-2:] = [expected[-2] + expected[-1]]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return bool(stats.chi2.sf(statistic, len(observed) - 1) > FALSE_ALARM)


def same_law(a: np.ndarray, b: np.ndarray, bins: int = 60) -> bool:
    """Chi-square test that two samples of integers have one law."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, bins)))
    edges = np.concatenate([[-np.inf], edges[1:-1] + 0.5, [np.inf]])
    table = np.array([np.histogram(x, edges)[0] for x in (a, b)])
    table = table[:, table.sum(axis=0) > 0]
    return bool(stats.chi2_contingency(table).pvalue > FALSE_ALARM)
