"""How a greedy tree should share its budget, tried on random concepts: no private row takes part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.estimators import GreedyTreeClassifier
from privet.learners.greedy_plan import GROWTH, LEAVES_SHARE, ROWS_SHARE, default_shares
from privet.studies.concepts import Concept, random_concept
from privet.studies.curves import Row
from privet.studies.friedman_schuster_2010 import Experiment
from privet.studies.study import Study
from privet.studies.ways import Way, greedy

SIZES = (1000, 4000, 16_000)
CONCEPTS: Mapping[str, Callable[[np.random.Generator], Concept]] = {
    "ten binary attributes": random_concept,
    "three of them numbers": lambda random: random_concept(random, n_numeric=3),
    "ten attributes of three values": lambda random: random_concept(random, n_values=3),
}
TRIED = (
    (ROWS_SHARE, LEAVES_SHARE, GROWTH),
    (Fraction(1, 20), Fraction(3, 10), 1),
    (Fraction(3, 10), Fraction(3, 10), 1),
    (Fraction(1, 10), Fraction(1, 5), 1),
    (Fraction(1, 10), Fraction(9, 20), 1),
    (Fraction(1, 10), Fraction(3, 10), Fraction(3, 2)),
)
"""Parts of the budget for rows and for leaves; by how much a level's part grows from the one above."""


def shared(
    rows: Fraction, leaves: Fraction, growth: Fraction | int, **parameters: Any
) -> GreedyTreeClassifier:
    """A greedy tree that shares its budget so."""
    tree = GreedyTreeClassifier(**parameters)
    tree._level_shares = lambda menu: default_shares(int(tree.max_depth), rows, leaves, growth)  # type: ignore[method-assign]
    return tree


def ways(criterion: str) -> dict[str, Way]:
    """The paper's even shares, and all that are tried."""
    told = {
        f"{float(rows):g}/{float(leaves):g}/{float(growth):g}": Way(
            shared, {"rows": rows, "leaves": leaves, "growth": growth, "criterion": criterion}
        )
        for rows, leaves, growth in TRIED
    }
    return {"paper": greedy(criterion, prune=True), **told}


def run(quick: bool = False) -> Iterator[Row]:
    """Every kind of concept under two criteria, depth 5, B = 1; or a small form of each."""
    for criterion in ("max", "gini"):
        for name, concept in CONCEPTS.items():
            figure = f"{criterion}, {name}"
            experiment = Experiment(figure, concept, ways(criterion), 1.0, 0.1, 5, SIZES, concepts=20, runs=1)
            if quick:
                experiment = replace(experiment, sizes=SIZES[:1], concepts=1, runs=1)
            yield from experiment.rows()


def verdict(rows: Sequence[Row]) -> str:
    """Mean accuracy of every way over all concepts and sizes."""
    ways = dict.fromkeys(row["way"] for row in rows)
    means = {way: np.mean([row["accuracy"] for row in rows if row["way"] == way]) for way in ways}
    told = "\n".join(f"{way:<12}{100 * mean:6.1f}" for way, mean in means.items())
    return f"Mean of all; parts for rows, for leaves, growth\n{told}\n"


STUDY = Study("greedy-shares", run, verdict=verdict)
