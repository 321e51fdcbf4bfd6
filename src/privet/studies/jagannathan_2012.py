"""Jagannathan, Pillaipakkamnatt and Wright 2012 again: accuracy over ε, and over updates.

Their figures 1 to 4 are pictures without numbers; the text gives the accuracy of their private ID3 at ε = 0.5
(table 1), and says that all curves fall gradually. *Sum* is their way of voting. The number of rows is
public here, as it is there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import mode
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.model_selection import StratifiedKFold

from privet.estimators import CountForestClassifier, CountingTreeClassifier
from privet.estimators.base import PrivateClassifier
from privet.model import CountForest
from privet.privacy import Budget, Ledger, protect
from privet.schema import Schema
from privet.studies.curves import Row, draw, summary
from privet.studies.datasets import real_table
from privet.studies.private_id3 import EPSILON, TABLE_1
from privet.studies.study import Study

EPSILONS = (5, 4, 3, 2, 1, 0.75, 0.5, 0.25, 0.1, 0.01)
UPDATES = (1, 2, 4, 6, 8, 10)
UPDATE_EPSILON = 0.5
VOTINGS = ("sum", "posterior", "threshold", "majority")
ID3, ADAPTIVE, TWIN = "private ID3", "adaptive", "sum, not private"

FIGURES = {
    "nursery": "Figure 1, Nursery",
    "mushroom": "Figure 2, Mushroom",
    "house_votes": "Figure 3, Congressional Votes",
}
UPDATED = {"nursery": "Figure 4a, updates of Nursery", "mushroom": "Figure 4b, updates of Mushroom"}


@dataclass(frozen=True)
class Public:
    """A table prepared as they did, and its labels."""

    name: str
    schema: Schema
    rows: pa.Table
    labels: np.ndarray


def prepared(name: str) -> Public:
    """Nursery as it is; Mushroom without the feature with missing values; missing votes by the majority."""
    schema, table = real_table(name)
    labels = table.column(schema.label.name).to_numpy(zero_copy_only=False)
    rows = table.drop_columns([schema.label.name])
    if name == "mushroom":
        rows = rows.drop_columns(["stalk-root"])
    if name == "house_votes":
        for place, vote in enumerate(rows.column_names):
            most = mode(rows[vote].drop_null().to_pylist())
            rows = rows.set_column(place, vote, rows[vote].fill_null(most))
    features = [replace(f, missing=False) for f in schema.features if f.name in rows.column_names]
    return Public(name, Schema(features, schema.label, table.num_rows), rows, labels)


def run(quick: bool) -> Iterator[Row]:
    """Accuracies by figure, ε or number of batches, and way; a run is an ensemble, its folds averaged."""
    ensembles, folds = (2, 3) if quick else (10, 5)
    for name, figure in FIGURES.items():
        public, epsilons = prepared(name), (5, 0.5) if quick else EPSILONS
        found = _by_way([_over_epsilon(public, s, epsilons, folds) for s in range(ensembles)])
        for (way, x), accuracies in found.items():
            paper = TABLE_1[name] if (way, x) == (ID3, EPSILON) else None
            yield summary(figure, "ε", x, way, accuracies, paper)
    for name, figure in UPDATED.items():
        public, updates = prepared(name), (1, 4) if quick else UPDATES
        found = _by_way([_over_updates(public, s, updates, folds) for s in range(ensembles)])
        for (way, x), accuracies in found.items():
            yield summary(figure, "batches", x, way, accuracies)


Run = dict[tuple[str, float], list[float]]
"""Accuracies of the folds of one ensemble, by way and x."""


def _by_way(runs: Sequence[Run]) -> Run:
    """Mean over the folds of every ensemble, by way and x; ways together."""
    keys = sorted(runs[0], key=lambda key: [way for way, _ in runs[0]].index(key[0]))
    return {key: [float(np.mean(run[key])) for run in runs] for key in keys}


def _folds(public: Public, seed: int, folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    yield from splitter.split(public.labels, _joined(public.labels, folds))


def _joined(labels: np.ndarray, folds: int) -> np.ndarray:
    """Labels to stratify by: Nursery has one that only two rows carry."""
    values, counts = np.unique(labels, return_counts=True)
    return np.where(np.isin(labels, values[counts < folds]), values[counts.argmax()], labels)


def _over_epsilon(public: Public, seed: int, epsilons: Sequence[float], folds: int) -> Run:
    """Every way at every ε, on the same trees."""
    run: Run = defaultdict(list)
    forest: dict[str, Any] = {"structure": "jagannathan", "random_state": seed, "schema": public.schema}
    for train, test in _folds(public, seed, folds):
        X, y = public.rows.take(train), public.labels[train]
        rows = protect(X, public.schema, Ledger().create("study", Budget(10**5)), y)
        twin: Any = CountForestClassifier(math.inf, **forest, voting="sum").fit(X, y)
        not_private = _accuracy(public, twin.model_.shares(public.rows.take(test)), test)
        for epsilon in epsilons:
            model: Any = CountForestClassifier(epsilon, **forest).fit(rows).model_
            for voting, accuracy in _votings(public, model, test).items():
                run[voting, epsilon].append(accuracy)
            others: dict[str, PrivateClassifier] = {
                ADAPTIVE: CountForestClassifier(epsilon, random_state=seed)
            }
            if epsilon == EPSILON:
                others[ID3] = CountingTreeClassifier(epsilon, variant="sum-queries")
            for way, learner in others.items():
                shares = learner.fit(rows).model_.shares(public.rows.take(test))
                run[way, epsilon].append(_accuracy(public, shares, test))
            run[TWIN, epsilon].append(not_private)
    return run


def _over_updates(public: Public, seed: int, updates: Sequence[int], folds: int) -> Run:
    """Every way of voting after the rows came in equal batches."""
    run: Run = defaultdict(list)
    for train, test in _folds(public, seed, folds):
        for n_batches in updates:
            forest = CountForestClassifier(
                UPDATE_EPSILON, structure="jagannathan", schema=public.schema, random_state=seed
            )
            for number, part in enumerate(np.array_split(train, n_batches)):
                forest.partial_fit(public.rows.take(part), public.labels[part], batch=str(number))
            model: Any = forest.model_
            for voting, accuracy in _votings(public, model, test).items():
                run[voting, n_batches].append(accuracy)
    return run


def _votings(public: Public, model: CountForest, test: np.ndarray) -> dict[str, float]:
    rows = public.rows.take(test)
    return {way: _accuracy(public, model.with_voting(way).shares(rows), test) for way in VOTINGS}


def _accuracy(public: Public, shares: np.ndarray, test: np.ndarray) -> float:
    guesses = np.array(public.schema.classes)[shares.argmax(axis=1)]
    return float((guesses == public.labels[test]).mean())


BOXES = ("sum", "posterior")
"""Ways that the paper shows in box plots."""

STUDY = Study("jagannathan-2012", run, draw=partial(draw, boxes=BOXES), real=True)
