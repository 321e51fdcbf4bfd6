"""Exact laws to hold mechanisms against, and tests that tell a sample from a law."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import signal, stats

from privet.answers import Law
from privet.audit.enumeration import Enumerated
from privet.audit.exact import Explorer, exponential_weights
from privet.noise.bits import StudyBits
from privet.privacy import Mechanisms

FALSE_ALARM = 1e-6
"""How often a statistical test may reject a law that is true."""

PRECISE = Context(prec=120)


def exponential_law(scores: Sequence[int], odds: Fraction) -> list[Fraction]:
    """Law of the exponential mechanism when a gap of one has odds ``odds``."""
    weights = exponential_weights(scores, odds)
    return [weight / sum(weights) for weight in weights]


def exp_minus(x: Fraction) -> Decimal:
    """exp(−x) to 120 digits."""
    ratio = PRECISE.divide(Decimal(x.numerator), Decimal(x.denominator))
    return PRECISE.exp(PRECISE.minus(ratio))


def laplace_probability(k: int, scale: float) -> float:
    q = np.exp(-1 / scale)
    return float((1 - q) / (1 + q) * q ** abs(k))


def gaussian_probabilities(reach: int, sigma_squared: float) -> np.ndarray:
    """Rounded Gaussian on −reach … reach; the rest must be negligible."""
    # Of the half line where the tails are told apart: near one they would all be one.
    tails = stats.norm.sf((np.arange(reach + 2) - 0.5) / sigma_squared**0.5)
    half = tails[:-1] - tails[1:]
    weights = np.concatenate([half[:0:-1], half])
    return weights / weights.sum()


def rounded(rho: Fraction) -> np.ndarray:
    """Law of a count's Gaussian noise that costs so much."""
    variance = float(1 / (2 * rho))
    return gaussian_probabilities(int(9 * variance**0.5), variance)


def composed_delta(laws: Sequence[np.ndarray], epsilon: float) -> float:
    """Hockey-stick divergence of answers that one row moves by one, losses rounded up to a lattice."""
    step, total, lowest = 1e-4, np.ones(1), 0
    for law in laws:
        loss = np.ceil((np.log(law[1:]) - np.log(law[:-1])) / step).astype(int)
        mass = np.bincount(loss - loss.min(), weights=law[1:])
        total, lowest = signal.fftconvolve(total, mass), lowest + loss.min()
    values = (lowest + np.arange(len(total))) * step
    return float(np.sum(total * np.maximum(0, 1 - np.exp(np.minimum(epsilon - values, 0)))))


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


class AtOdds(Enumerated):
    """Enumerated mechanisms at which a gap of one is accepted with rational odds, whatever the rate.

    Every row's choice has the law of the product's own code, enumerated once. Rates are written down.
    """

    def __init__(self, explorer: Explorer, odds: Fraction) -> None:
        super().__init__(explorer)
        self.odds = odds
        self.rates: list[Fraction] = []

    def choose(self, exact_scores: np.ndarray, law: Law) -> np.ndarray:
        self.rates.append(law.parameter)
        flat = exact_scores.reshape(-1, exact_scores.shape[-1])
        gaps = (flat.max(axis=1, keepdims=True) - flat).tolist()
        chosen = [self._explorer.choose(choice_law(law.name, tuple(row), self.odds)) for row in gaps]
        return np.array(chosen).reshape(exact_scores.shape[:-1])


class Coins(Enumerated):
    """Enumerated mechanisms whose coins show heads with ``odds ** gap``."""

    def __init__(self, explorer: Explorer, odds: Fraction) -> None:
        super().__init__(explorer, rounds=1)
        self.odds = odds

    def heads(self, gaps: np.ndarray, rate: Fraction) -> np.ndarray:
        sides = [[(True, self.odds**gap), (False, 1 - self.odds**gap)] for gap in gaps.ravel().tolist()]
        return np.array([self._explorer.choose(side[: 1 + (side[1][1] > 0)]) for side in sides]).reshape(
            gaps.shape
        )


@lru_cache(maxsize=1 << 14)
def choice_law(name: str, gaps: tuple[int, ...], odds: Fraction) -> list[tuple[int, Fraction]]:
    """Law of a choice by its own code: of what the first round keeps, which every later round repeats."""
    explorer = Explorer()
    law = explorer.law(lambda: int(Coins(explorer, odds).choose(-np.array([gaps]), Law(name, odds))[0]))
    return [(column, probability / sum(law.values())) for column, probability in law.items()]


class Noiseless(Mechanisms):
    """Mechanisms that add nothing and choose the best, and write down what they were given."""

    def __init__(self) -> None:
        super().__init__(StudyBits(0))
        self.seen: list[np.ndarray] = []
        self.laws: list[Law] = []

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        self.seen.append(exact.copy())
        self.laws.append(law)
        return exact

    def choose(self, exact_scores: np.ndarray, law: Law) -> np.ndarray:
        self.add(exact_scores, law)
        return exact_scores.argmax(axis=-1)
