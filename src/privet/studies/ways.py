"""Ways to learn, side by side: the same rows, the same folds, repeatable noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from sklearn.model_selection import StratifiedKFold

from privet.answers import Law
from privet.data import encode, open_table
from privet.datasets import load
from privet.estimators import GreedyTreeClassifier
from privet.privacy import Budget, Charge, Ledger, Protected, Repeatable, protect
from privet.privacy.laws import ScoreChange
from privet.schema import Schema

ROOM = Budget(10**6)
"""Of an account that many fits of public rows are charged to."""


class WeakerChoices(Repeatable):
    """Repeatable noise by which everything is chosen with a part of the exponent that its price allows."""

    def __init__(self, seed: int, exponent: Fraction) -> None:
        super().__init__(seed)
        self._exponent = exponent

    def law_of(self, charge: Charge) -> Law:
        """See `Mechanisms.law_of`."""
        law = super().law_of(charge)
        chosen = isinstance(charge.change, ScoreChange)
        return Law(law.name, self._exponent * law.parameter) if chosen else law


@dataclass(frozen=True)
class Way:
    """A learner, its parameters, and the exponent of its choices as a part of what ε allows."""

    learner: Callable[..., Any]
    parameters: Mapping[str, Any]
    exponent: Fraction = Fraction(1)

    def fit(self, rows: pa.Table, y: np.ndarray, schema: Schema, seed: int, **more: Any) -> Any:
        """The learner, fitted with repeatable noise."""
        estimator = self.learner(**{**self.parameters, **more})
        account = Ledger().create("study", Budget(estimator.epsilon))
        return estimator.fit(protect(rows, schema, account, y, WeakerChoices(seed, self.exponent)))


def ours(**more: Any) -> Way:
    """Our greedy tree: our shares, pruned, looking first where rows are."""
    return greedy("max", shares="default", prune=True, zoom=True, **more)


def greedy(criterion: str, exponent: Fraction = Fraction(1), **more: Any) -> Way:
    """A greedy tree with the paper's shares, in the stated ranges, unless told otherwise."""
    parameters = {"criterion": criterion, "shares": "paper", "prune": False, "zoom": False, **more}
    return Way(GreedyTreeClassifier, parameters, exponent)


@dataclass(frozen=True)
class Public:
    """A public table: its schema, its rows without labels, its labels."""

    schema: Schema
    rows: pa.Table
    labels: np.ndarray

    def walled(self, rows: np.ndarray, seed: int, room: Budget = ROOM) -> Protected:
        """Some of its rows behind a wall whose noise follows from the seed, and whose account has room."""
        account = Ledger().create("study", room)
        return protect(self.rows.take(rows), self.schema, account, self.labels[rows], Repeatable(seed))

    def codes(self) -> np.ndarray:
        """All rows as numbers, as learners that know no privacy take them."""
        return encode(open_table(self.rows, self.schema), self.schema, with_label=False).features.T

    def right(self, shares: np.ndarray, rows: np.ndarray) -> float:
        """Share of rows whose label has the largest of their shares."""
        guesses = np.array(self.schema.classes)[shares.argmax(axis=1)]
        return float((guesses == self.labels[rows]).mean())


@lru_cache(maxsize=16)
def public(name: str, complete: bool = False, max_rows: int | None = None) -> Public:
    """A public table by its name; without rows in which something is missing where asked for."""
    bare, table = load(name)
    table = table.drop_null() if complete else table
    schema = Schema(bare.features, bare.label, max_rows)
    labels = table.column(schema.label.name).to_numpy(zero_copy_only=False)
    return Public(schema, table.drop_columns([schema.label.name]), labels)


def cut(labels: np.ndarray, repeat: int, fold: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows to be asked about: one of some stratified folds."""
    splitter = StratifiedKFold(folds, shuffle=True, random_state=repeat)
    return list(splitter.split(labels, joined(labels, folds)))[fold]


def joined(labels: np.ndarray, folds: int) -> np.ndarray:
    """Numbers of labels to stratify by; one of few rows, as in Nursery, joins the most frequent."""
    _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.where(counts[places] < folds, counts.argmax(), places)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let kernels run on one thread: for tables this small, waking others takes longer than the work."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)
