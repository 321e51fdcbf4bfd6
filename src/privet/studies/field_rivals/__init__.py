"""Other people's private learners, for comparison alone: noise from floats, which protects nobody.

What has installable code runs in an environment of its own (`installed`, `asked`). What has none is written
down again here, as far as its paper or its authors' code states it: `privatree`, `diprime`, `lumberjack`,
and `descent`. All take codes of the public schema, and their count of rows without paying for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Task:
    """Codes of a public table, cut into rows to learn from and rows to be asked about.

    Parameters
    ----------
    codes : array (rows, features)
    labels : array of int
    tops : array of int
        The largest code of every feature.
    categorical : array of bool
        Features whose codes have no order.
    n_labels : int
    train, test : array of int
        Places of rows.
    seed : int
    """

    codes: np.ndarray
    labels: np.ndarray
    tops: np.ndarray
    categorical: np.ndarray
    n_labels: int
    train: np.ndarray
    test: np.ndarray
    seed: int

    @property
    def random(self) -> np.random.Generator:
        """Where this task's draws begin."""
        return np.random.default_rng(self.seed)


Learn = Callable[[Task, float], np.ndarray]
"""Shares of the labels for the rows that are asked about, at an ε."""

DELTA = 1e-6
"""Of all that take one."""


def shared(counts: np.ndarray) -> np.ndarray:
    """Shares of noisy counts, those below zero taken for zero; all alike where nothing is left."""
    kept = np.maximum(counts, 0)
    total = kept.sum(axis=-1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1), 1 / counts.shape[-1])


def gini_mass(counts: np.ndarray) -> np.ndarray:
    """Rows of a part times its Gini impurity, by label along the last axis."""
    total = counts.sum(axis=-1)
    return total - np.divide((counts**2).sum(axis=-1), total, out=np.zeros_like(total), where=total > 0)


def zcdp(epsilon: float, delta: float = DELTA) -> float:
    """The ρ that an (ε, δ) pays for."""
    from privet.privacy import Budget

    return float(Budget(epsilon, delta).rho)
