"""Audit a full-size model by a single fit, with many canaries (Steinke, Nasr and Jagielski 2023).

Each of many made-up rows is put into the table if its own coin says so. A guesser who sees the model says of
some of them whether they were in. Under ε-DP a guess is right with probability at most e^ε/(1 + e^ε),
whatever the other guesses were, so more right guesses than that allows bound ε from below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from scipy import stats

from privet.audit.statistical import DOUBT

SHARES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Shares of the canaries that are guessed to be in, and as many out; the best of them counts."""

MOST = 64.0
"""Largest ε that is looked at."""


@dataclass(frozen=True)
class OneRun:
    """What one fit with canaries showed."""

    epsilon: float
    confidence: float
    canaries: int
    guesses: int
    right: int


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """Chance of so many right guesses under (ε, δ)-DP, at most (their theorem 5.2)."""
    odds = 1 / (1 + exp(-epsilon))
    chance = float(stats.binom.sf(right - 1, guesses, odds))
    if not delta:
        return chance
    fewer = np.arange(1, right + 1)
    below = np.cumsum(stats.binom.pmf(right - fewer, guesses, odds))
    steepest = float(np.max(below / fewer, initial=0.0))
    return min(1.0, chance + steepest * delta * 2 * canaries)


def epsilon_of(canaries: int, guesses: int, right: int, doubt: float = DOUBT, delta: float = 0.0) -> float:
    """Largest ε that so many right guesses refute; 0 if they refute none."""
    low, high = 0.0, MOST
    if p_value(canaries, guesses, right, low, delta) > doubt:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        refuted = p_value(canaries, guesses, right, middle, delta) <= doubt
        low, high = (middle, high) if refuted else (low, middle)
    return low


def judge(scores: np.ndarray, included: np.ndarray, doubt: float = DOUBT, delta: float = 0.0) -> OneRun:
    """Guess the canaries with the highest scores in, those with the lowest out.

    How many are guessed is the best of a few shares, each of which has its share of the doubt.
    """
    order = np.argsort(scores, kind="stable")
    found: list[OneRun] = []
    for share in SHARES:
        each = max(int(len(scores) * share), 1)
        right = int(included[order[-each:]].sum() + (~included[order[:each]]).sum())
        epsilon = epsilon_of(len(scores), 2 * each, right, doubt / len(SHARES), delta)
        found.append(OneRun(epsilon, 1 - doubt, len(scores), 2 * each, right))
    return max(found, key=lambda run: run.epsilon)


def one_run(
    score: Callable[[np.ndarray], Sequence[float] | np.ndarray],
    canaries: int,
    random: np.random.Generator,
    doubt: float = DOUBT,
    delta: float = 0.0,
) -> OneRun:
    """Toss a coin for every canary, have them scored by a model of those that are in, and judge.

    Parameters
    ----------
    score : callable
        Takes which canaries are in, fits once, and returns a score of every canary, the higher the likelier
        it was in.
    canaries : int
    random : Generator
        The auditor's coins.
    """
    included = random.random(canaries) < 0.5
    return judge(np.asarray(score(included)), included, doubt, delta)
