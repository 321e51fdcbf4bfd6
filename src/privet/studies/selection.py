"""What private choice among learners finds on Adult, against a default that has the whole budget.

Every way costs the same ε. *default*: no choice at all. *shared*: every candidate is fitted and scored
with its share of ε, and the best is kept. *geometric*, *logarithmic*: `PrivateSelection` with η = 1 and
η = 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, train_test_split

from privet.datasets import load
from privet.estimators import (
    BoostingClassifier,
    CountForestClassifier,
    GreedyTreeClassifier,
    MajorityForestClassifier,
    PrivateSelection,
    private_score,
)
from privet.estimators.base import PrivateClassifier
from privet.kernels.predict import best_labels
from privet.privacy import Budget, Ledger, Protected, protect
from privet.schema import Schema
from privet.studies.study import Found, Quick, Study

EPSILONS = (1.0, 10.0)
TEST, HELD_OUT = 0.25, 0.2
"""Shares of the rows for testing, and of the others that the *shared* way scores on."""


def choices() -> Mapping[str, list[PrivateClassifier]]:
    """Candidates of every comparison; the first is the default."""
    return {
        "trees and depth of a majority forest": [
            MajorityForestClassifier(),
            *_grid(MajorityForestClassifier(), {"n_trees": [3, 10, 30], "max_depth": [8, 12]}),
        ],
        "criterion and depth of a greedy tree": [
            GreedyTreeClassifier(),
            *_grid(GreedyTreeClassifier(), {"criterion": ["max", "gini"], "max_depth": [3, 8]}),
        ],
        "passes of boosting": _grid(BoostingClassifier(), {"passes": [None, 2, 4]}),
        "learner": [
            BoostingClassifier(),
            CountForestClassifier(),
            GreedyTreeClassifier(),
            MajorityForestClassifier(),
        ],
    }


def accuracies(comparison: str, epsilon: float, repeat: int) -> Found:
    """Mean accuracy of every way on rows of Adult that nobody learnt from."""
    schema, table = load("adult")
    found = _accuracies(schema, table, choices()[comparison], epsilon, repeat)
    return {way: {"accuracy": accuracy} for way, accuracy in found}


def _accuracies(
    schema: Schema, table: pa.Table, candidates: Sequence[PrivateClassifier], epsilon: float, seed: int
) -> Iterator[tuple[str, float]]:
    rest, test = train_test_split(np.arange(table.num_rows), test_size=TEST, random_state=seed)
    rows, truth = table.take(test), table.column(schema.label.name).take(test).to_numpy(zero_copy_only=False)

    def accuracy(model: Any) -> float:
        chosen = best_labels(model.shares(rows), schema.classes)
        return float(np.mean(np.array(schema.classes)[chosen] == truth))

    everyone = _behind_the_wall(schema, table.take(rest))
    yield "default", accuracy(_with(candidates[0], epsilon).fit(everyone).model_)
    learnt, held = train_test_split(rest, test_size=HELD_OUT, random_state=seed)
    parts = _behind_the_wall(schema, table.take(learnt)), _behind_the_wall(schema, table.take(held))
    yield "shared", accuracy(_best_of_shares(candidates, parts, epsilon / len(candidates)))
    for way, eta in (("geometric", 1), ("logarithmic", 0)):
        selection = PrivateSelection(list(candidates), epsilon=epsilon, eta=eta).fit(everyone)
        yield way, accuracy(selection.model_)


def _best_of_shares(
    candidates: Sequence[PrivateClassifier], parts: tuple[Protected, Protected], epsilon: float
) -> Any:
    """Fit and score every candidate with its share; both parts hold other people, so each costs the share."""
    fitted = [_with(candidate, epsilon).fit(parts[0]) for candidate in candidates]
    scores = [private_score(estimator, parts[1], epsilon=epsilon).value for estimator in fitted]
    return fitted[int(np.argmax(scores))].model_


def _with(candidate: PrivateClassifier, epsilon: float) -> Any:
    return clone(candidate).set_params(epsilon=epsilon)


def _behind_the_wall(schema: Schema, table: pa.Table) -> Protected:
    """Rows with an account that has room for all ways of a comparison."""
    return protect(table, schema, Ledger().create("study", Budget(10_000)))


def _grid(estimator: PrivateClassifier, grid: Any) -> list[PrivateClassifier]:
    return [clone(estimator).set_params(**parameters) for parameters in ParameterGrid(grid)]


STUDIES = [
    Study(
        "ours/selection",
        "Private choice among learners on Adult, against a default that has the whole budget",
        accuracies,
        [{"comparison": tuple(choices()), "epsilon": EPSILONS}],
        repeats=6,
        quick=Quick({"comparison": ("passes of boosting",), "epsilon": (1.0,)}),
        panel="{comparison}",
        x="epsilon",
        quantity="ε",
    )
]
