"""Ways to learn, side by side: the same rows, the same folds, repeatable noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from warnings import catch_warnings, simplefilter

import numba
import numpy as np
import pyarrow as pa
from sklearn.model_selection import RepeatedStratifiedKFold

from privet.answers import Law
from privet.data import encode, open_table
from privet.engines import MemoryEngine
from privet.estimators import GreedyTreeClassifier
from privet.privacy import Budget, Charge, Ledger, Protected, Repeatable
from privet.privacy.laws import ScoreChange
from privet.schema import Schema
from privet.studies.curves import Row, summary
from privet.studies.datasets import real_table


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
        engine = MemoryEngine(lambda: encode(open_table(rows, schema), schema, y))
        return estimator.fit(Protected(engine, schema, account, WeakerChoices(seed, self.exponent)))


def greedy(criterion: str, exponent: Fraction = Fraction(1), **more: Any) -> Way:
    """A greedy tree with the paper's shares, unless told otherwise."""
    parameters = {"criterion": criterion, "shares": "paper", "prune": False, **more}
    return Way(GreedyTreeClassifier, parameters, exponent)


@dataclass(frozen=True)
class Folds:
    """A real table, cut into folds again and again.

    Attributes
    ----------
    name : str
    n_splits, n_repeats : int
    complete : bool
        Leave out rows in which something is missing.
    max_rows : int, optional
        Public bound on the rows, where a learner needs one.
    """

    name: str
    n_splits: int = 10
    n_repeats: int = 1
    complete: bool = False
    max_rows: int | None = None

    def rows(
        self, figure: str, quantity: str, ways: Mapping[str, Way], budgets: Sequence[float]
    ) -> Iterator[Row]:
        """Accuracy of every way at every budget."""
        bare, table = real_table(self.name)
        table = table.drop_null() if self.complete else table
        schema = Schema(bare.features, bare.label, self.max_rows)
        y = table.column(schema.label.name).to_numpy(zero_copy_only=False)
        X = table.drop_columns([schema.label.name])
        for budget in budgets:
            for name, way in ways.items():
                scores = []
                for seed, (train, test) in enumerate(self._splits(y)):
                    model = way.fit(X.take(train), y[train], schema, seed, epsilon=budget)
                    scores.append(float((model.predict(X.take(test)) == y[test]).mean()))
                yield summary(figure, quantity, budget, name, scores)

    def _splits(self, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        splitter = RepeatedStratifiedKFold(n_splits=self.n_splits, n_repeats=self.n_repeats, random_state=0)
        with catch_warnings():
            # A label may have fewer rows than there are folds: some then lack it.
            simplefilter("ignore", UserWarning)
            return list(splitter.split(y, y))


@contextmanager
def one_thread() -> Iterator[None]:
    """Let kernels run on one thread: for tables this small, waking others takes longer than the work."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)
