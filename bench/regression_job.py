"""Regressors on one table at one budget; runs in a process of its own."""

import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas
from sklearn.model_selection import KFold

from bench.accuracy import feature_top
from bench.runner import ask_rivals_once
from privet import BoostingRegressor, Categorical, Schema
from privet.data import encode, open_table

FOLDS, DELTA, MOST_ROWS = 3, 1e-6, 20_000
FEW_ROWS, REPEATS = 2_000, 3
"""Tables of fewer rows are split more often: what a fit says of them is mostly luck."""

COVERAGE = 0.9
OURS = {
    "boosting": BoostingRegressor,
    "boosting δ": partial(BoostingRegressor, delta=DELTA),
}


def read_numbers(name: str, most_rows: int = MOST_ROWS) -> tuple[pandas.DataFrame, np.ndarray, Schema]:
    """Features, numbers and schema of a table with a target, all rows or a random sample."""
    folder = Path(os.environ["PRIVET_MORE_DATA"])
    facts = json.loads((folder / "schema.json").read_text())["datasets"][name]
    frame = pandas.read_csv(folder / facts["file"], keep_default_na=False, na_values=[""], low_memory=False)
    if len(frame) > most_rows:
        taken = np.random.default_rng(0).choice(len(frame), most_rows, replace=False)
        frame = frame.iloc[taken].reset_index(drop=True)
    target = facts["target"]["name"]
    return frame.drop(columns=target), frame[target].to_numpy(float), Schema.from_dict(facts)


def draw_number_folds(n_rows: int) -> np.ndarray:
    """Fold of every row in every repeat, ``(repeats, rows)``."""
    folds = np.empty((REPEATS if n_rows < FEW_ROWS else 1, n_rows), np.int8)
    for repeat, fold_of_row in enumerate(folds):
        for fold, (_, test) in enumerate(KFold(FOLDS, shuffle=True, random_state=repeat).split(fold_of_row)):
            fold_of_row[test] = fold
    return folds


def validate(fit, numbers: np.ndarray, folds: np.ndarray) -> dict[str, list[float]]:
    """R², coverage of intervals and processor seconds of every fold; ``fit(train, test, seed)``."""
    scores: dict[str, list[float]] = {"r2": [], "coverage": [], "seconds": []}
    for repeat, fold_of_row in enumerate(folds):
        for fold in range(FOLDS):
            train, test = fold_of_row != fold, fold_of_row == fold
            start = time.process_time()
            told, ends = fit(train, test, repeat * FOLDS + fold)
            scores["seconds"].append(time.process_time() - start)
            true = numbers[test]
            scores["r2"].append(float(1 - ((true - told) ** 2).mean() / true.var()))
            if ends is not None:
                scores["coverage"].append(float(((ends[:, 0] <= true) & (true <= ends[:, 1])).mean()))
    return scores


def fitted_numbers(make, X, y, train, test, seed):
    """Numbers for the test rows and intervals around them, where there are some."""
    model = make()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    released = model.fit(X[train], y[train]).model_
    sized = len(released.sizes.rows) > 0
    return released.predict(X[test]), released.predict_interval(X[test], COVERAGE) if sized else None


def compare(job: dict) -> dict:
    """Scores of every fold by learner."""
    X, y, schema = read_numbers(job["table"])
    folds = draw_number_folds(len(y))
    scores = []
    for learner, make in OURS.items():
        make(job["epsilon"], schema=schema).fit(X[:1000], y[:1000])  # the first fit loads compiled code
        fit = partial(fitted_numbers, partial(make, job["epsilon"], schema=schema), X, y)
        scores.append((learner, validate(fit, y, folds)))
    known = {
        "upper": [feature_top(feature) for feature in schema.features],
        "categorical": [isinstance(feature, Categorical) for feature in schema.features],
        "range": [schema.target.lower, schema.target.upper],
        "delta": DELTA,
    }
    codes = encode(open_table(X, schema), schema, with_label=False).features.T.astype(np.float64)
    arrays = {"codes": codes, "numbers": y, "folds": folds}
    answer = ask_rivals_once("regressors", job | known, arrays)
    return {"rows": len(y), "scores": scores + answer["scores"], "versions": answer["versions"]}


if __name__ == "__main__":
    print(json.dumps(compare(json.loads(Path(sys.argv[1], "job.json").read_text()))))
