"""What ranges that nobody knows cost: every continuous range widened around its middle, or left open."""

import os
from dataclasses import replace
from functools import partial
from itertools import product
from math import ceil, floor

import numpy as np

from bench.folds import cross_validate, draw_folds
from bench.learners_job import fitted_shares, read_rows
from bench.report import Result, Skipped
from privet import (
    BoostingClassifier,
    Continuous,
    CountForestClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Schema,
)
from privet.data import encode, open_table

TABLES = ("magic", "credit_default", "adult")
LEARNERS = {
    "boosting": BoostingClassifier,
    "count forest": CountForestClassifier,
    "greedy forest": GreedyForestClassifier,
    "greedy tree": GreedyTreeClassifier,
    "counting tree": CountingTreeClassifier,
}
BUDGETS = ((1.0, 0.0), (1.0, 1e-6), (0.1, 1e-6))
FACTORS = (1, 10, 1000)
FOLDS, MOST_ROWS = 3, 20_000


def run(quick: bool) -> Result:
    if "PRIVET_DATA" not in os.environ:
        raise Skipped("the tables are not here; set PRIVET_DATA to the folder that holds them.")
    tables, budgets = (TABLES[:1], BUDGETS[:1]) if quick else (TABLES, BUDGETS)
    rows = [_row(*case) for case in product(tables, LEARNERS, budgets)]
    notes = [
        f"AUC, mean of {FOLDS} folds of at most {MOST_ROWS:,} rows.",
        "× k: every continuous range k times as wide, around its middle; open: no bounds at all.",
    ]
    return Result("ranges that are too wide", rows, notes)


def _row(table: str, name: str, budget: tuple[float, float]) -> dict:
    X, y, schema = read_rows(table, MOST_ROWS)
    labels = encode(open_table(X, schema), schema, y).labels.astype(np.int64)
    folds = draw_folds(labels, 1, FOLDS)
    contracts = {f"× {k}": widened(schema, k) for k in FACTORS} | {"open": opened(schema)}
    found = {}
    for told, contract in contracts.items():
        learner = partial(LEARNERS[name], *budget, schema=contract)
        found[told] = cross_validate(partial(fitted_shares, learner, X, y), labels, folds)
    epsilon, delta = budget
    scores = {told: float(np.mean(each["auc"])) for told, each in found.items()}
    return {"table": table, "learner": name, "ε": epsilon, "δ": delta, **scores}


def widened(schema: Schema, factor: int) -> Schema:
    """The same with every continuous range so many times as wide."""
    return replace(schema, features=[_wider(feature, factor) for feature in schema.features])


def _wider(feature, factor):
    if not isinstance(feature, Continuous) or factor == 1:
        return feature
    middle, half = (feature.lower + feature.upper) / 2, (feature.upper - feature.lower) / 2 * factor
    low, high = middle - half, middle + half
    if feature.integer:
        low, high = floor(low), ceil(high)
    return replace(feature, lower=low, upper=high)


def opened(schema: Schema) -> Schema:
    """The same without a bound."""
    closed = {"lower": None, "upper": None}
    return replace(
        schema, features=[replace(f, **closed) if isinstance(f, Continuous) else f for f in schema.features]
    )
