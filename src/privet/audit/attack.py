"""Membership inference: telling from a released model whose rows it was learnt from.

Everybody tosses a coin, and those with heads are learnt from. Whoever sees the model and knows a
person's row guesses that coin. Differential privacy bounds how well anyone can: what the guesses gain
over chance, true positives less false positives, is at most (e^ε − 1 + 2δ)/(e^ε + 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import exp, isinf
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import roc_curve

from privet.audit.statistical import DOUBT
from privet.audit.verdict import BROKEN, NOT_REFUTED, Verdict
from privet.data import Codes, encode, open_table
from privet.engines import MemoryEngine
from privet.errors import DataError
from privet.kernels.predict import row_shares
from privet.privacy import Budget, Ledger, Protected
from privet.schema import Schema

Guessable = Callable[[np.ndarray], np.ndarray]
"""Learns from the rows that a mask names; tells for every row how probable its own label is."""

TINY = 1e-9
FEWEST_ROWS = 50
"""People who toss a coin, at least: some of them must be in, and some out, in every fit."""


@dataclass(frozen=True)
class Attack:
    """How well members were told from others.

    Attributes
    ----------
    false_positives, true_positives : ndarray
        The attack's curve, over all fits that were attacked.
    advantage : float
        True less false positives at a threshold chosen on other fits; mean over the fits.
    least, most : float
        Between these the mean lies, with the confidence; fits are taken to vary as normal variables do.
    confidence : float
    epsilon, delta : float
        What is promised.
    fits, rows : int
    """

    false_positives: np.ndarray
    true_positives: np.ndarray
    advantage: float
    least: float
    most: float
    confidence: float
    epsilon: float
    delta: float
    fits: int
    rows: int

    @property
    def allowed(self) -> float:
        """The most that the promise allows."""
        return allowed_advantage(self.epsilon, self.delta)

    def verdict(self, defendant: str, seconds: float) -> Verdict:
        """The attack as a finding; its loss is the ε that the least advantage needs."""
        return Verdict(
            defendant,
            "membership attack",
            BROKEN if self.least > self.allowed else NOT_REFUTED,
            self.epsilon,
            epsilon_of(self.least, self.delta),
            f"{self.fits} fits, {self.rows} rows",
            self.delta,
            self.confidence,
            {"advantage": self.advantage, "least": self.least, "allowed": self.allowed},
            seconds,
        )


def allowed_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Most that true positives can exceed false positives by.

    >>> round(allowed_advantage(1.0), 4)
    0.4621
    """
    return 1.0 if isinf(epsilon) else (exp(epsilon) - 1 + 2 * delta) / (exp(epsilon) + 1)


def epsilon_of(advantage: float, delta: float = 0.0) -> float:
    """Least ε whose promise allows an advantage; the inverse of `allowed_advantage`.

    >>> round(epsilon_of(allowed_advantage(1.0)), 6)
    1.0
    """
    if advantage <= delta:
        return 0.0
    return float(np.log((1 + advantage - 2 * delta) / (1 - advantage))) if advantage < 1 else float("inf")


def attack_learner(
    fit: Guessable,
    n_rows: int,
    epsilon: float,
    delta: float = 0.0,
    fits: int = 40,
    seed: int = 0,
    doubt: float = DOUBT,
    progress: Callable[[float], None] | None = None,
) -> Attack:
    """Attack a learner: half of the fits show how each row's probability varies, the rest are attacked.

    Parameters
    ----------
    fit : callable
        ``fit(mask)`` learns from the rows of a mask and returns, for all rows, the probability that the
        model gives to a row's own label.
    n_rows : int
        How many people toss a coin.
    epsilon, delta : float
        What is promised.
    fits : int
        At least 8.
    seed : int
        Of the coins, not of the learner.
    """
    random = np.random.default_rng(seed)
    members = random.random((fits, n_rows)) < 0.5
    evidence = np.empty((fits, n_rows))
    for turn, chosen in enumerate(members):
        p = np.clip(fit(chosen), TINY, 1 - TINY)
        evidence[turn] = np.log(p / (1 - p))
        if progress is not None:
            progress((turn + 1) / fits)
    known = fits // 2
    scores = calibrated(evidence, members, known)
    threshold = best_threshold(scores[:known].ravel(), members[:known].ravel())
    gains = [gain(score > threshold, chosen) for score, chosen in zip(scores, members, strict=True)]
    return summary(scores[known:], members[known:], np.array(gains[known:]), epsilon, delta, doubt)


def table_attack(
    estimator: Any,
    source: Any,
    schema: Schema,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    fits: int = 40,
    rows: int = 1000,
    progress: Callable[[float], None] | None = None,
) -> Attack:
    """Attack an estimator on rows of a table, each learnt from by its own coin.

    Nothing is charged and what comes out is no release: it is for the owner of the rows alone.

    Parameters
    ----------
    estimator : an estimator of this library
    source : frame, Arrow table or path
    schema : Schema
    epsilon, delta : Fraction
    fits : int
    rows : int
        At most so many rows, drawn from the table: fewer rows are known better by a model.
    """
    table = open_table(source, schema)
    chosen = np.random.default_rng(0).permutation(encode(table, schema).n_rows)[:rows]
    if len(chosen) < FEWEST_ROWS:
        raise DataError(f"an attack needs at least {FEWEST_ROWS} rows.", "give a larger table.")

    @lru_cache(maxsize=2)
    def read(contract: Schema) -> Codes:
        codes = encode(table, contract)
        assert codes.labels is not None
        return Codes(codes.features[:, chosen], codes.labels[chosen])

    def people(members: np.ndarray, contract: Schema) -> MemoryEngine:
        def load() -> Codes:
            codes = read(contract)
            assert codes.labels is not None
            return Codes(codes.features[:, members], codes.labels[members])

        return MemoryEngine(load, again=partial(people, members))

    labels = read(schema).labels
    assert labels is not None

    def fit(members: np.ndarray) -> np.ndarray:
        account = Ledger().create("attack", Budget(epsilon, delta, accounting=estimator.accounting))
        model = estimator.fit(Protected(people(members, schema), schema, account)).model_
        shares = row_shares(model.predictor, read(model.schema).features, schema.n_labels)
        return shares[np.arange(len(labels)), labels]

    return attack_learner(fit, len(labels), float(epsilon), float(delta), fits, progress=progress)


def calibrated(evidence: np.ndarray, members: np.ndarray, known: int) -> np.ndarray:
    """How much more each fit's evidence speaks for membership: log ratios of two normal laws a row.

    Their means are the row's own over the known fits, with it and without it; the spread is pooled, since
    a handful of fits says little about a variance.
    """
    inside, seen = members[:known], evidence[:known]
    n_in = inside.sum(axis=0)
    mean_in = np.where(inside, seen, 0).sum(axis=0) / np.maximum(n_in, 1)
    mean_out = np.where(inside, 0, seen).sum(axis=0) / np.maximum(known - n_in, 1)
    spread = seen - np.where(inside, mean_in, mean_out)
    variance = (spread**2).sum(axis=0) / max(known - 2, 1)
    variance += variance.mean() + TINY
    lift = np.where((n_in > 0) & (n_in < known), mean_in - mean_out, 0.0)
    # A row's own lift is mostly accident where fits are few: it is drawn towards that of all rows.
    lift = (lift + lift.mean()) / 2
    return np.asarray(lift * (evidence - (mean_in + mean_out) / 2) / variance)


def best_threshold(scores: np.ndarray, members: np.ndarray) -> float:
    """Threshold with the largest gain."""
    false_positives, true_positives, thresholds = roc_curve(members, scores)
    return float(thresholds[(true_positives - false_positives).argmax()])


def gain(guessed: np.ndarray, members: np.ndarray) -> float:
    """True positives less false positives."""
    return float(guessed[members].mean() - guessed[~members].mean())


def summary(
    scores: np.ndarray, members: np.ndarray, gains: np.ndarray, epsilon: float, delta: float, doubt: float
) -> Attack:
    """The attacked fits taken together."""
    false_positives, true_positives, _ = roc_curve(members.ravel(), scores.ravel())
    margin = stats.t.isf(doubt, len(gains) - 1) * gains.std(ddof=1) / len(gains) ** 0.5
    mean = float(gains.mean())
    return Attack(
        false_positives,
        true_positives,
        mean,
        mean - float(margin),
        mean + float(margin),
        1 - doubt,
        epsilon,
        delta,
        len(scores),
        scores.shape[1],
    )
