"""Our learners beside other private ones, and one that is not private, on the same folds."""

import os
from collections.abc import Mapping

import numpy as np
from scipy.stats import wilcoxon

from bench.accuracy import feature_top, read
from bench.folds import cross_validate, draw_folds
from bench.report import Result, Skipped, spread
from bench.runner import ask_rivals
from privet import (
    BoostingClassifier,
    Categorical,
    CountForestClassifier,
    MajorityForestClassifier,
    Schema,
)
from privet.data import encode, open_table

FOLDS, DELTA = 3, 1e-6
TABLES = ("adult", "bank_marketing", "magic", "acs_income_ne", "mushroom")
QUICK_TABLES, QUICK_ROWS = TABLES[:3], 15_000
EPSILONS = (0.1, 1.0)
ALL_TABLES = (*TABLES, "credit_default")
ALL_EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
OURS = {
    "boosting": BoostingClassifier,
    "boosting δ": lambda epsilon, **public: BoostingClassifier(epsilon, DELTA, **public),
    "count forest": CountForestClassifier,
    "majority": MajorityForestClassifier,
}

Scores = dict[tuple[str, float | None, str], Mapping[str, list[float]]]
"""Scores of every fold by table, ε (None without privacy) and learner."""


def run(quick: bool) -> Result:
    return _compare(QUICK_TABLES if quick else TABLES, EPSILONS, QUICK_ROWS if quick else None)


def run_all(quick: bool) -> Result:
    return _compare(ALL_TABLES, ALL_EPSILONS, QUICK_ROWS if quick else None)


def _compare(tables, epsilons, most_rows) -> Result:
    if "PRIVET_DATA" not in os.environ:
        raise Skipped("the tables are not here; set PRIVET_DATA to the folder that holds them.")
    scores: Scores = {}
    versions: dict[str, str] = {}
    for name in tables:
        X, y, schema = _read(name, most_rows)
        found, versions = _scores(X, y, schema, epsilons)
        scores |= {(name, *key): score for key, score in found.items()}
    notes = [*_paired(scores, epsilons), *_notes(most_rows, versions)]
    return Result(f"learners at {len(epsilons)} budgets", [_row(*item) for item in scores.items()], notes)


def _read(name, most_rows):
    """A table of all rows or a random sample, and a schema that does not say how many there are."""
    X, y, stated = read(name, complete=False)
    schema = Schema(stated.features, stated.label)
    if most_rows and len(y) > most_rows:
        taken = np.random.default_rng(0).choice(len(y), most_rows, replace=False)
        X, y = X.iloc[taken].reset_index(drop=True), y.iloc[taken].reset_index(drop=True)
    return X, y, schema


def _scores(X, y, schema, epsilons):
    codes = encode(open_table(X, schema), schema, y)
    labels, matrix = codes.labels.astype(np.int64), codes.features.T.astype(np.float64)
    folds = draw_folds(labels, 1, FOLDS)
    scores = {}
    for epsilon in epsilons:
        for learner, make in OURS.items():
            make(epsilon, schema=schema).fit(X[:1000], y[:1000])  # the first fit loads compiled code

            def probabilities(train, test, seed, make=make, epsilon=epsilon):
                model = make(epsilon, schema=schema, random_state=seed).fit(X[train], y[train])
                return model.model_.shares(X[test])

            scores[epsilon, learner] = cross_validate(probabilities, labels, folds)
    job = {
        "upper": [feature_top(feature) for feature in schema.features],
        "categorical": [isinstance(feature, Categorical) for feature in schema.features],
        "epsilons": epsilons,
        "delta": DELTA,
    }
    answer = ask_rivals("learners", job, {"codes": matrix, "labels": labels, "folds": folds})
    scores |= {(epsilon, learner): score for epsilon, learner, score in answer["scores"]}
    return dict(sorted(scores.items(), key=lambda item: item[0][0] or np.inf)), answer["versions"]


def _row(key, score):
    table, epsilon, learner = key
    return {
        "table": table,
        "ε": epsilon,
        "learner": learner,
        "accuracy": spread(score["accuracy"]),
        "AUC": spread(score["auc"]),
        "log loss": spread(score["log loss"]),
        "s": round(float(np.mean(score["seconds"])), 2),
    }


def _paired(scores, epsilons):
    """How far boosting with a δ is ahead of each DP-EBM, fold by fold."""
    rivals = list(dict.fromkeys(learner for _, _, learner in scores if learner.startswith("DP-EBM")))
    tables = list(dict.fromkeys(table for table, _, _ in scores))

    def ahead(rival, chosen):
        pairs = [(table, epsilon) for table in tables for epsilon in chosen]
        ours = np.concatenate([scores[*pair, "boosting δ"]["auc"] for pair in pairs])
        return ours - np.concatenate([scores[*pair, rival]["auc"] for pair in pairs])

    for rival in rivals:
        gaps = ahead(rival, epsilons)
        by_table = gaps.reshape(len(tables), -1).mean(axis=1)
        each = ", ".join(f"{ahead(rival, [epsilon]).mean():+.4f} at ε = {epsilon:g}" for epsilon in epsilons)
        yield (
            f"AUC of boosting δ less that of {rival}: {gaps.mean():+.4f} over {len(gaps)} pairs of table, ε "
            f"and fold, ahead in {(gaps > 0).sum()}, Wilcoxon p = {wilcoxon(gaps).pvalue:.2g}; on average "
            f"ahead in {(by_table > 0).sum()} of {len(tables)} tables; {each}."
        )
    yield "Pairs of a table share rows, so each p is lower than that of as many tables would be."


def _notes(most_rows, versions):
    rows = f"at most {most_rows:,} random rows" if most_rows else "all rows"
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    return [
        f"{rows.capitalize()}, 1 x {FOLDS}-fold stratified, the same folds for all; mean±sd over the folds. "
        "Log loss: probabilities kept within 1e-6 of 0 and 1. s: fit and predict, one fold; ours start "
        "from the frame and encode it, rivals from codes made beforehand.",
        f"boosting, count forest, majority: pure ε. boosting δ, DP-EBM: δ = {DELTA:g}. No learner of ours is "
        "told the number of rows.",
        "DP-EBM: interpret's, its defaults (learning rate 0.01) or the learning rate named. It takes the "
        "number of rows, the categories and the labels that occur from the rows, unpriced; its noise is "
        "floating-point, and fits sums to which a row is added or from which one is removed, as ours. Which "
        "learning rate is best is known only afterwards, and no budget pays for it.",
        "dpl: diffprivlib, pure ε; forest of 100 trees, depth 5, rows shuffled; logistic regression of "
        "codes, or of one column a category (one-hot), scaled to [0, 1], the norm bounded by the root of the "
        "number of features. To its forest and to logistic regression of codes categories are numbers in the "
        "schema's order. LightGBM: no privacy, its defaults, one thread.",
        "Rivals see codes of the same public schema, missing values as a code of their own. " + named + ".",
    ]
