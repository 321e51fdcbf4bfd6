"""All learners on one table at one budget; runs in a process of its own."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas
from sklearn.datasets import make_classification

from bench.accuracy import feature_top, read
from bench.folds import cross_validate, draw_folds
from bench.runner import ask_rivals_once
from privet import (
    BoostingClassifier,
    Categorical,
    Continuous,
    CountForestClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Label,
    MajorityForestClassifier,
    Schema,
)
from privet.data import encode, open_table

FOLDS, DELTA = 3, 1e-6
FEW_ROWS, REPEATS = 2_000, 5
"""Tables of fewer rows are split more often: what a fit says of them is mostly luck."""

SYNTHETIC = "synthf"
OURS = {
    "boosting": BoostingClassifier,
    "boosting δ": partial(BoostingClassifier, delta=DELTA),
    "2 passes": partial(BoostingClassifier, passes=2),
    "2 passes δ": partial(BoostingClassifier, delta=DELTA, passes=2),
    "count forest": CountForestClassifier,
    "majority": MajorityForestClassifier,
    "greedy tree": GreedyTreeClassifier,
    "greedy forest": GreedyForestClassifier,
}


def read_rows(name: str, most_rows: int) -> tuple[pandas.DataFrame, pandas.Series, Schema]:
    """A table of all rows or a random sample, and its public schema."""
    X, y, schema = _synthetic() if name == SYNTHETIC else read(name, complete=False)
    if len(y) > most_rows:
        taken = np.random.default_rng(0).choice(len(y), most_rows, replace=False)
        X, y = X.iloc[taken].reset_index(drop=True), y.iloc[taken].reset_index(drop=True)
    return X, y, schema


def _synthetic():
    X, y = make_classification(30_000, 10, n_informative=5, n_redundant=0, random_state=0)
    names = [f"x{j}" for j in range(10)]
    schema = Schema([Continuous(name, -5, 5, missing=False) for name in names], Label("y", [0, 1]))
    return pandas.DataFrame(X, columns=names), pandas.Series(y), schema


def compare(job: dict) -> dict:
    """Scores of every fold by learner; without ε, of those that have none."""
    X, y, schema = read_rows(job["table"], job["most_rows"])
    codes = encode(open_table(X, schema), schema, y)
    labels, matrix = codes.labels.astype(np.int64), codes.features.T.astype(np.float64)
    repeats = REPEATS if len(labels) < FEW_ROWS else 1
    folds = draw_folds(labels, repeats, 5 if job["table"] == SYNTHETIC else FOLDS)
    n_labels = len(schema.label.values)
    scores = []
    if job["epsilon"] is None:
        scores.append(("class prior", cross_validate(partial(prior_shares, labels, n_labels), labels, folds)))
    else:
        for learner, make in OURS.items():
            make(job["epsilon"], schema=schema).fit(X[:1000], y[:1000])  # the first fit loads compiled code
            probabilities = partial(fitted_shares, partial(make, job["epsilon"], schema=schema), X, y)
            scores.append((learner, cross_validate(probabilities, labels, folds)))
    known = {
        "upper": [feature_top(feature) for feature in schema.features],
        "categorical": [isinstance(feature, Categorical) for feature in schema.features],
        "n_labels": n_labels,
        "delta": DELTA,
    }
    arrays = {"codes": matrix, "labels": labels, "folds": folds}
    answer = ask_rivals_once("learners", job | known, arrays)
    return {"scores": scores + answer["scores"], "versions": answer["versions"]}


def fitted_shares(make, X, y, train, test, seed):
    """Shares of the labels for the test rows, after a fit to the training rows."""
    learner = make()
    if "random_state" in learner.get_params():
        learner.set_params(random_state=seed)
    return learner.fit(X[train], y[train]).model_.shares(X[test])


def prior_shares(labels, n_labels, train, test, seed):
    """Class shares of the training rows, for every test row."""
    shares = np.bincount(labels[train], minlength=n_labels) / train.sum()
    return np.tile(shares, (test.sum(), 1))


if __name__ == "__main__":
    print(json.dumps(compare(json.loads(Path(sys.argv[1], "job.json").read_text()))))
