"""Friedman and Schuster 2010 again: single splits, thresholds and bins, deeper trees, Adult.

Their figures are pictures without numbers: only table 1 can be compared value by value, the others by what
the paper says about them. *Half* is the same learner with the exponent ε·q/(2Δ) of the paper, where
ε·q/Δ keeps ε as well; *ours* shares the budget by our default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from privet.learners import GreedyTreeClassifier
from privet.privacy import Budget, ChosenSplits, Ledger, Protected, StudyBits, protect
from privet.schema import Schema
from privet.structure import MultiwayTrees, Splits
from privet.studies.concepts import Concept, random_concept, single_split
from privet.studies.curves import Row, summary
from privet.studies.datasets import real_table

TABLE_1: Mapping[str, Sequence[float]] = {
    "ID3": (0.901, 0.928, 0.949, 0.965, 0.977),
    "InfoGain": (0.570, 0.605, 0.661, 0.747, 0.790),
    "Gini": (0.693, 0.930, 0.990, 0.9975, 1.0),
    "Max": (0.947, 1.0, 1.0, 1.0, 1.0),
    "SuLQ": (0.577, 0.570, 0.558, 0.590, 0.623),
}
"""Accuracy at 1,000 to 5,000 rows."""

CRITERIA = {"InfoGain": "information_gain", "Gini": "gini", "Max": "max"}
SIZES = (1000, 2000, 3000, 4000, 5000)
WIDE = (1000, 2000, 5000, 10_000, 20_000)
NARROW = (300, 500, 700, 1000, 1500, 2000, 5000)
DEEP = (1000, 2000, 5000, 10_000, 20_000, 50_000)
BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
N_TEST = 10_000
ADULT_BOUND = 50_000


class WeakerTree(GreedyTreeClassifier):
    """The same with a smaller exponent in every choice; what is charged stays.

    By default it is half: the paper's, which does not use that scores are monotone.
    """

    exponent = Fraction(1, 2)

    def _level_splits(
        self,
        protected: Protected,
        trees: MultiwayTrees,
        splits: Splits,
        menu: Any,
        price: Mapping[str, Fraction],
    ) -> ChosenSplits:
        weaker = {unit: self.exponent * cost for unit, cost in price.items()}
        return super()._level_splits(protected, trees, splits, menu, weaker)


Learner = Callable[[Schema, float, int], Any]
"""A schema, a budget and a depth give an estimator."""


def greedy(criterion: str, cls: type[GreedyTreeClassifier] = GreedyTreeClassifier, **options: Any) -> Learner:
    """A greedy tree with the paper's shares unless told otherwise."""
    settings: dict[str, Any] = {"shares": "paper", "prune": False} | options

    def build(schema: Schema, budget: float, depth: int) -> Any:
        return cls(budget, criterion=criterion, max_depth=depth, schema=schema, **settings)

    return build


def id3(schema: Schema, budget: float, depth: int) -> Any:
    """A tree without privacy and without a bound on its depth, which costs no budget."""
    return DecisionTreeClassifier(criterion="entropy", random_state=0)


PRIVATE = {name: greedy(criterion) for name, criterion in CRITERIA.items()}
PRUNED = {name: greedy(criterion, prune=True) for name, criterion in CRITERIA.items()}
EXPONENTS: Mapping[str, Learner] = {
    "Gini, half": greedy("gini", WeakerTree),
    "Gini": greedy("gini"),
    "Max, half": greedy("max", WeakerTree),
    "Max": greedy("max"),
    "Max, ours": greedy("max", shares="default", prune=True),
}
CUTS: Mapping[str, Learner] = {
    f"{name}, {continuous}": greedy(criterion, continuous=continuous, prune=continuous == "mechanism")
    for name, criterion in (("Gini", "gini"), ("Max", "max"))
    for continuous in ("mechanism", "bins")
}


@dataclass(frozen=True)
class Experiment:
    """One of the paper's figures: concepts, learners and sizes.

    Attributes
    ----------
    figure : str
    concept : callable
        Draws a concept.
    ways : mapping
    budget, noise : float
    depth : int
    sizes : sequence of int
    concepts, runs : int
        Concepts drawn, and training sets of each.
    """

    figure: str
    concept: Callable[[np.random.Generator], Concept]
    ways: Mapping[str, Learner]
    budget: float
    noise: float
    depth: int = 1
    sizes: Sequence[int] = SIZES
    concepts: int = 1
    runs: int = 200
    paper: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """One row a size and way."""
        for size in self.sizes:
            found: dict[str, list[float]] = {way: [] for way in self.ways}
            with one_thread():
                for seed in range(self.concepts * self.runs):
                    for way, accuracy in self._run(seed, size).items():
                        found[way].append(accuracy)
            for way, accuracies in found.items():
                known = dict(zip(self.sizes, self.paper.get(way, ()), strict=False)).get(size)
                yield summary(self.figure, "rows", size, way, accuracies, known)

    def _run(self, seed: int, size: int) -> dict[str, float]:
        """Accuracy of every way on the same training set, on points without noise."""
        concept = self.concept(np.random.default_rng(seed % self.concepts))
        random = np.random.default_rng((seed, size))
        X, y = concept.sample(size, random, self.noise)
        test, truth = concept.sample(N_TEST, random)
        schema = concept.schema(max(self.sizes))
        rows, points = concept.table(X), concept.table(test)
        scores = {}
        for way, learner in self.ways.items():
            estimator = learner(schema, self.budget, self.depth)
            if way == "ID3":
                guesses = estimator.fit(X, y).predict(test)
            else:
                guesses = fitted(estimator, rows, y, schema, self.budget, seed).predict(points)
            scores[way] = float((guesses == truth).mean())
        return scores


def fitted(estimator: Any, rows: pa.Table, y: np.ndarray, schema: Schema, budget: float, seed: int) -> Any:
    """The estimator fitted with repeatable noise."""
    account = Ledger().create("study", Budget(budget))
    return estimator.fit(protect(rows, schema, account, y, StudyBits(seed)))


def _numeric(random: np.random.Generator) -> Concept:
    return single_split(n_numeric=3)


EXPERIMENTS = (
    Experiment(
        "Table 1: one split, B = 0.1",
        lambda random: single_split(),
        {"ID3": id3, **PRIVATE},
        budget=0.1,
        noise=0.1,
        paper=TABLE_1,
    ),
    Experiment(
        "One split, B = 0.1: exponents", lambda random: single_split(), EXPONENTS, budget=0.1, noise=0.1
    ),
    Experiment("Figure 4: one threshold, B = 0.1", _numeric, PRUNED, 0.1, 0.1, sizes=WIDE),
    Experiment("Figure 5: threshold or bins, B = 0.2", _numeric, CUTS, 0.2, 0.0, sizes=NARROW),
    Experiment(
        "Figure 6: depth 5, B = 1",
        random_concept,
        {"ID3": id3, **PRUNED},
        1.0,
        0.1,
        5,
        DEEP,
        concepts=10,
        runs=5,
    ),
    Experiment("Figure 6: exponents", random_concept, EXPONENTS, 1.0, 0.1, 5, DEEP, concepts=10, runs=5),
    Experiment(
        "Figure 7: depth 5 with numbers, B = 1",
        lambda random: random_concept(random, n_numeric=3),
        {"ID3": id3, **PRUNED, **{"Max, ours": EXPONENTS["Max, ours"]}},
        1.0,
        0.1,
        5,
        DEEP,
        concepts=10,
        runs=5,
    ),
)


def figure_8(budgets: Sequence[float] = BUDGETS, folds: int = 10, repeats: int = 1) -> Iterator[Row]:
    """Adult without its incomplete rows, depth 5."""
    bare, table = real_table("adult")
    table = table.drop_null()
    schema = Schema(bare.features, bare.label, ADULT_BOUND)
    y = table.column(schema.label.name).to_numpy(zero_copy_only=False)
    X = table.drop_columns([schema.label.name])
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=0)
    splits = list(splitter.split(y, y))
    ways = {
        **PRUNED,
        "Max, half": greedy("max", WeakerTree, prune=True),
        "Max, ours": EXPONENTS["Max, ours"],
    }
    for budget in budgets:
        for way, learner in ways.items():
            accuracies = []
            for seed, (train, test) in enumerate(splits):
                tree = fitted(learner(schema, budget, 5), X.take(train), y[train], schema, budget, seed)
                accuracies.append(float((tree.predict(X.take(test)) == y[test]).mean()))
            yield summary("Figure 8: Adult, depth 5", "B", budget, way, accuracies)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let kernels run on one thread: for tables this small, waking others takes longer than the work."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(threads)


def run(quick: bool = False) -> Iterator[Row]:
    """Every experiment, or a small form of each."""
    for experiment in EXPERIMENTS:
        yield from (
            replace(experiment, sizes=experiment.sizes[:1], concepts=1, runs=2) if quick else experiment
        ).rows()
    if "PRIVET_DATA" in os.environ:
        yield from figure_8(BUDGETS[:1], 2) if quick else figure_8()
