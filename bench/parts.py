"""What the parts of boosting are worth: each is taken out of the plan, and nothing else is changed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np

from bench.folds import cross_validate, draw_folds
from bench.learners_job import fitted_shares, read_rows
from bench.report import Result, Skipped
from privet import BoostingClassifier
from privet.data import encode, open_table
from privet.learners.boosting import plan as boosting_plan
from privet.learners.boosting.plan import Plan

TABLES = ("adult", "magic", "credit_default", "bank_marketing")
EPSILONS = (0.1, 1.0, 8.0)
DELTAS = (0.0, 1e-6)
FOLDS, MOST_ROWS = 3, 10_000
PARTS = {
    "trees": {"rounds": 0, "tree_passes": 0},
    "passes over shapes": {"shape_passes": 0},
    "adaptive steps": {"adapt_step": False},
    "adaptive leaf scale": {"adapt_scale": False},
    "momentum": {"momentum": 0.0},
    "pull of leaves to 0": {"pull": 0.0},
    "weighted features": {"feature_power": 0.0},
    "strong shapes only": {"least_energy": 0.0},
}
"""What the plan says where a part is taken out."""


def run(quick: bool) -> Result:
    if "PRIVET_DATA" not in os.environ:
        raise Skipped("the tables are not here; set PRIVET_DATA to the folder that holds them.")
    tables, epsilons = (TABLES[:1], EPSILONS[1:2]) if quick else (TABLES, EPSILONS)
    found = {
        (table, part): _scores(table, epsilons, changes)
        for table, (part, changes) in product(tables, [("", {}), *PARTS.items()])
    }
    cases = list(product(PARTS, DELTAS, epsilons))
    rows = [_row(found, tables, *case) for case in cases]
    return Result("parts of boosting", [row for row in rows if row], _told(tables))


def _scores(table: str, epsilons: tuple[float, ...], changes: dict) -> dict:
    """AUC and log loss of every fold, by δ and ε, and whether any plan had the part."""
    X, y, schema = read_rows(table, MOST_ROWS)
    labels = encode(open_table(X, schema), schema, y).labels.astype(np.int64)
    folds = draw_folds(labels, 1, FOLDS)
    found = {}
    for delta, epsilon in product(DELTAS, epsilons):
        learner = partial(BoostingClassifier, epsilon, delta, schema=schema)
        with _changed(changes) as had_it:
            scores = cross_validate(partial(fitted_shares, learner, X, y), labels, folds)
        found[delta, epsilon] = scores | {"had it": any(had_it)}
    return found


@contextmanager
def _changed(changes: dict) -> Iterator[list[bool]]:
    """Change every plan that is made meanwhile; yields of each whether that changed anything."""
    had_it: list[bool] = []

    def make(choose, *sizes) -> Plan:
        plan = choose(*sizes)
        had_it.append(replace(plan, **changes) != plan)
        return replace(plan, **changes)

    laws = {name: partial(make, getattr(boosting_plan, name)) for name in ("_pure_plan", "_gaussian_plan")}
    with patch.multiple(boosting_plan, **laws):
        yield had_it


def _row(found, tables, part, delta, epsilon):
    whole, cut = ([found[table, name][delta, epsilon] for table in tables] for name in ("", part))
    if not any(scores["had it"] for scores in cut):
        return None
    row = {"taken out": part, "δ": delta, "ε": epsilon}
    for name, sign, lost in (("auc", 1, "AUC lost"), ("log loss", -1, "log loss added")):
        with_it, without = (np.concatenate([s[name] for s in scores]) for scores in (whole, cut))
        cost = sign * (with_it - without)
        row |= {name: with_it.mean(), lost: {"mean": cost.mean(), "sd": cost.std(ddof=1) / len(cost) ** 0.5}}
    return row


def _told(tables):
    return [
        f"Mean over {', '.join(tables)}, at most {MOST_ROWS:,} rows of each, {FOLDS}-fold. Lost, added: what "
        "taking the part out costs, ± its standard error over the folds. Noise is drawn anew in every fit: "
        "what lies within two errors says nothing. Cases are left out in which no plan has the part."
    ]
