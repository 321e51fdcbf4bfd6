"""Exact laws to hold mechanisms against, and tests that tell a sample from a law."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from scipy import stats

from privet.audit.exact import exponential_weights

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
