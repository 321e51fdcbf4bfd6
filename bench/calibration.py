"""How far boosting's probabilities of several labels can be taken at their word."""

import json
import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from bench.folds import cross_validate, draw_folds
from bench.learners_job import FEW_ROWS, fitted_shares, read_rows
from bench.report import Result, spread
from bench.runner import ask_kept
from privet import BoostingClassifier
from privet.data import encode, open_table

DELTA = 1e-6
FOLDS, REPEATS, MOST_ROWS = 3, 3, 10_000
TABLES = ("pendigits", "nursery", "car")
EPSILONS = (0.1, 1.0, 8.0)
BINS = 15


def run(quick: bool) -> Result:
    tables, epsilons = (TABLES[2:], EPSILONS[1:2]) if quick else (TABLES, EPSILONS)
    jobs = [{"table": table, "epsilon": epsilon} for table, epsilon in product(tables, epsilons)]
    rows = [_row(case) for answer in ask_kept("bench.calibration", jobs) for case in answer["found"]]
    note = (
        f"At most {MOST_ROWS:,} rows of a table, {FOLDS}-fold, small ones {REPEATS} times over. Off by: the "
        "expected calibration error, by how much the share of the likeliest label is off, over "
        f"{BINS} bins of what it was said to be. Cautious by: the same with its sign, above 0 where "
        "the model is too cautious."
    )
    return Result("calibration of several labels", rows, [note])


def _row(case):
    row = {name: case[name] for name in ("table", "ε", "δ")}
    return row | {name: spread(case[name]) for name in ("AUC", "log loss", "off by", "cautious by")}


def compare(job: dict) -> dict:
    """Scores of every fold at one budget, without and with a δ."""
    X, y, schema = read_rows(job["table"], MOST_ROWS)
    labels = encode(open_table(X, schema), schema, y).labels.astype(np.int64)
    folds = draw_folds(labels, REPEATS if len(y) < FEW_ROWS else 1, FOLDS)
    found = []
    for delta in (0.0, DELTA):
        learner = partial(BoostingClassifier, job["epsilon"], delta, schema=schema)
        errors: list[tuple[float, float]] = []

        def shares(train, test, seed, learner=learner, errors=errors):
            told = fitted_shares(learner, X, y, train, test, seed)
            errors.append(calibration(labels[test], told))
            return told

        scores = cross_validate(shares, labels, folds)
        case = {"table": job["table"], "ε": job["epsilon"], "δ": delta, "AUC": scores["auc"]}
        case["log loss"] = scores["log loss"]
        case["off by"], case["cautious by"] = map(list, zip(*errors, strict=True))
        found.append(case)
    return {"found": found}


def calibration(labels: np.ndarray, shares: np.ndarray) -> tuple[float, float]:
    """Mean distance of what likeliest labels are said to be from what they are, and that with its sign."""
    said, right = shares.max(axis=1), shares.argmax(axis=1) == labels
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, right - said, minlength=BINS)
    return float(np.abs(gaps).sum() / len(labels)), float(gaps.sum() / len(labels))


if __name__ == "__main__":
    print(json.dumps(compare(json.loads(Path(sys.argv[1], "job.json").read_text()))))
