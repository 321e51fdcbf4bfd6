"""Friedman and Schuster 2010 again: single splits, thresholds and bins, deeper trees, Adult.

Their figures are pictures without numbers: only table 1 can be compared value by value, the others by what
the paper says about them. *Half* is the same learner with the exponent ε·q/(2Δ) of the paper, where
ε·q/Δ keeps ε as well; *ours* shares the budget by our default.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from privet.estimators import CountingTreeClassifier
from privet.studies.concepts import Concept, random_concept, single_split
from privet.studies.curves import Row, summary
from privet.studies.study import Study
from privet.studies.ways import Folds, Way, greedy, one_thread

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

HALF = Fraction(1, 2)
SULQ = Way(CountingTreeClassifier, {"variant": "sulq"})
PRIVATE = {name: greedy(criterion) for name, criterion in CRITERIA.items()}
PRUNED = {name: greedy(criterion, prune=True) for name, criterion in CRITERIA.items()}
EXPONENTS = {
    "Gini, half": greedy("gini", HALF),
    "Gini": greedy("gini"),
    "Max, half": greedy("max", HALF),
    "Max": greedy("max"),
    "Max, ours": greedy("max", shares="default", prune=True),
}
CUTS = {
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
        Learners by name; ID3, without privacy and without a bound on its depth, is added to them if asked.
    budget, noise : float
    depth : int
    sizes : sequence of int
    concepts, runs : int
        Concepts drawn, and training sets of each.
    """

    figure: str
    concept: Callable[[np.random.Generator], Concept]
    ways: Mapping[str, Way]
    budget: float
    noise: float
    depth: int = 1
    sizes: Sequence[int] = SIZES
    concepts: int = 1
    runs: int = 200
    id3: bool = False
    paper: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """One row a size and way."""
        for size in self.sizes:
            found: defaultdict[str, list[float]] = defaultdict(list)
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
        if self.id3:
            tree = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X, y)
            scores["ID3"] = float((tree.predict(test) == truth).mean())
        for name, way in self.ways.items():
            tree = way.fit(rows, y, schema, seed, epsilon=self.budget, max_depth=self.depth)
            scores[name] = float((tree.predict(points) == truth).mean())
        return scores


def _numeric(random: np.random.Generator) -> Concept:
    return single_split(n_numeric=3)


EXPERIMENTS = (
    Experiment(
        "Table 1: one split, B = 0.1",
        lambda random: single_split(),
        {**PRIVATE, "SuLQ": SULQ},
        budget=0.1,
        noise=0.1,
        id3=True,
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
        {**PRUNED, "SuLQ": SULQ},
        1.0,
        0.1,
        5,
        DEEP,
        concepts=10,
        runs=5,
        id3=True,
    ),
    Experiment("Figure 6: exponents", random_concept, EXPONENTS, 1.0, 0.1, 5, DEEP, concepts=10, runs=5),
    Experiment(
        "Figure 7: depth 5 with numbers, B = 1",
        lambda random: random_concept(random, n_numeric=3),
        {**PRUNED, "Max, ours": EXPONENTS["Max, ours"]},
        1.0,
        0.1,
        5,
        DEEP,
        concepts=10,
        runs=5,
        id3=True,
    ),
)


ADULT = {**PRUNED, "Max, half": greedy("max", HALF, prune=True), "Max, ours": EXPONENTS["Max, ours"]}


def run(quick: bool = False) -> Iterator[Row]:
    """Every experiment, or a small form of each."""
    for experiment in EXPERIMENTS:
        if quick:
            experiment = replace(experiment, sizes=experiment.sizes[:1], concepts=1, runs=2)
        yield from experiment.rows()
    if "PRIVET_DATA" in os.environ:
        folds = Folds("adult", complete=True, max_rows=ADULT_BOUND, n_splits=2 if quick else 10)
        yield from folds.rows("Figure 8: Adult, depth 5", "B", ADULT, BUDGETS[:1] if quick else BUDGETS)


STUDY = Study("friedman-schuster-2010", run)
