"""How a greedy tree should share its budget, tried on random concepts: no private row takes part in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from privet.estimators import GreedyTreeClassifier
from privet.learners.greedy_plan import GROWTH, LEAVES_SHARE, ROWS_SHARE, default_shares
from privet.studies.concepts import Concept, random_concept
from privet.studies.friedman_schuster_2010 import Experiment, measure
from privet.studies.study import Found, Quick, Study
from privet.studies.ways import Way, greedy

SIZES = (1000, 4000, 16_000)


def _numbers(random: np.random.Generator) -> Concept:
    return random_concept(random, n_numeric=3)


def _three_values(random: np.random.Generator) -> Concept:
    return random_concept(random, n_values=3)


CONCEPTS: Mapping[str, Callable[[np.random.Generator], Concept]] = {
    "ten binary attributes": random_concept,
    "three of them numbers": _numbers,
    "ten attributes of three values": _three_values,
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
    tree = GreedyTreeClassifier(**{**parameters, "zoom": False})
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


def accuracies(criterion: str, concept: str, rows: int, repeat: int) -> Found:
    """Accuracy of every way on a concept, depth 5, B = 1."""
    given = Experiment(CONCEPTS[concept], ways(criterion), 1.0, 0.1, 5, max(SIZES), concepts=20)
    return measure(given, rows, repeat, id3=False)


STUDIES = [
    Study(
        "ours/greedy-shares",
        "How a greedy tree should share its budget: parts for rows, for leaves, growth",
        accuracies,
        [{"criterion": ("max", "gini"), "concept": tuple(CONCEPTS), "rows": SIZES}],
        repeats=20,
        quick=Quick({"rows": SIZES[:1]}),
        panel="{criterion}, {concept}",
        x="rows",
    )
]
