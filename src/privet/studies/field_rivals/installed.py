"""Rivals with code of their own. Runs in their environment, where nothing but this file is ours.

``python installed.py RIVAL ...`` says what it cannot import. Without names it takes one job a line, as
JSON, and answers each with one line.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

RATES = (0.01, 0.03, 0.1)
"""Learning rates of DP-EBM, its default first."""

TREES, DEPTH, SUBSAMPLE, LEAST_WEIGHT = 5, 3, 0.3, 0.015
"""Of dp-xgboost; a leaf weighs at least a share of the rows. Best of 24 settings on four of the tables."""

BINS, STEPS = 16, 1000
"""Of MST: bins of a number, one more for what is missing, and steps of its estimate."""

PACKAGES = {
    "DP-EBM": "interpret-core", "dpl": "diffprivlib", "dp-xgboost": "dp-xgboost", "MST": "mbi",
}  # fmt: skip
"""Distributions, by how a rival's name begins."""

Job = dict[str, Any]
Shares = tuple[np.ndarray, np.ndarray]
"""Labels, and their shares for the rows that are asked about."""


def load(rival: str) -> Any:
    """What a rival is made of."""
    if rival.startswith("DP-EBM"):
        from interpret.privacy import DPExplainableBoostingClassifier

        return DPExplainableBoostingClassifier
    if rival.startswith("dpl"):
        from diffprivlib import models

        return models
    if rival.startswith("dp-xgboost"):
        import dp_xgboost

        return dp_xgboost
    import mbi
    from lightgbm import LGBMClassifier

    return mbi, LGBMClassifier


def explainable(job: Job, X: np.ndarray, y: np.ndarray, asked: np.ndarray) -> Shares:
    """DP-EBM at one of its learning rates; bounds and kinds of features are told, categories it looks up."""
    rate = float(job["rival"].partition(" ")[2] or RATES[0])
    kinds = ["nominal" if named else "continuous" for named in job["categorical"]]
    bounds = {f"x{j}": (0, top) for j, top in enumerate(job["tops"]) if kinds[j] == "continuous"}
    model = load(job["rival"])(
        feature_types=kinds, privacy_bounds=bounds, epsilon=job["epsilon"], delta=job["delta"],
        learning_rate=rate, n_jobs=1,
    )  # fmt: skip
    model.fit(_frame(X, job["categorical"]), y)
    return model.classes_, model.predict_proba(_frame(asked, job["categorical"]))


def forest(job: Job, X: np.ndarray, y: np.ndarray, asked: np.ndarray) -> Shares:
    """The forest of diffprivlib, its own depth, rows shuffled."""
    tops = np.array(job["tops"], float)
    model = load(job["rival"]).RandomForestClassifier(
        100, epsilon=job["epsilon"], bounds=(np.zeros(len(tops)), tops),
        classes=np.arange(job["n_labels"]), shuffle=True, random_state=job["seed"],
    )  # fmt: skip
    model.fit(X, y)
    return model.classes_, model.predict_proba(asked)


def logistic(job: Job, X: np.ndarray, y: np.ndarray, asked: np.ndarray) -> Shares:
    """Logistic regression of diffprivlib on one-hot public codes; a number is a part of its range."""
    norm = math.sqrt(X.shape[1])
    model = load(job["rival"]).LogisticRegression(
        epsilon=job["epsilon"], data_norm=norm, random_state=job["seed"]
    )
    model.fit(_one_hot(X, job), y)
    return model.classes_, model.predict_proba(_one_hot(asked, job))


def boosted(job: Job, X: np.ndarray, y: np.ndarray, asked: np.ndarray) -> Shares:
    """Boosted trees of dp-xgboost, each on a sample of rows, which its documentation counts as privacy."""
    dp_xgboost = load(job["rival"])
    least, most = [0.0] * X.shape[1], [float(top) for top in job["tops"]]
    learnt = dp_xgboost.DMatrix(X, y, feature_min=least, feature_max=most)
    options = {
        "objective": "binary:logistic", "eval_metric": "logloss", "tree_method": "approxDP",
        "dp_epsilon_per_tree": math.log1p(math.expm1(job["epsilon"] / TREES) / SUBSAMPLE),
        "max_depth": DEPTH, "lambda": 0.1, "subsample": SUBSAMPLE, "min_child_weight": LEAST_WEIGHT * len(y),
        "nthread": 1, "verbosity": 0,
    }  # fmt: skip
    model = dp_xgboost.train(options, learnt, TREES)
    second = model.predict(dp_xgboost.DMatrix(asked, feature_min=least, feature_max=most))
    return np.arange(2), np.column_stack([1 - second, second])


def synthetic(job: Job, X: np.ndarray, y: np.ndarray, asked: np.ndarray) -> Shares:
    """LightGBM on rows that MST made up: noisy counts of each column, and of pairs along a private tree."""
    import pandas

    mbi, classifier = load(job["rival"])
    random = np.random.default_rng(job["seed"])
    rho = job["rho"] / 3
    columns = np.column_stack([_few_bins(X, job), y.astype(int)])
    kinds = zip(job["tops"], job["categorical"], strict=True)
    sizes = [*(top + 1 if named else min(top, BINS) + 1 for top, named in kinds), job["n_labels"]]
    sigma = math.sqrt(len(sizes) / (2 * rho))
    joined, singles = [], []
    for place, size in enumerate(sizes):
        noisy = np.bincount(columns[:, place], minlength=size) + random.normal(scale=sigma, size=size)
        often = (noisy >= 3 * sigma) | (place == len(sizes) - 1)
        joined.append(np.where(often, np.cumsum(often) - 1, often.sum()))
        singles.append(np.bincount(joined[-1], noisy))
    columns = np.column_stack([to[column] for to, column in zip(joined, columns.T, strict=True)])
    edges = _spanning(columns, singles, rho, random)
    names = [f"x{place}" for place in range(len(sizes))]
    domain = mbi.Domain(names, [len(single) for single in singles])
    measured = [mbi.LinearMeasurement(single, (name,), stddev=sigma)
                for name, single in zip(names, singles, strict=True)]  # fmt: skip
    sigma = math.sqrt(len(edges) / (2 * rho))
    for a, b in edges:
        counts = _pairs(columns, a, b, singles)
        noisy = counts + random.normal(scale=sigma, size=counts.shape)
        measured.append(mbi.LinearMeasurement(noisy.ravel(), (names[a], names[b]), stddev=sigma))
    model = mbi.estimation.MirrorDescent().estimate(domain, measured, iters=STEPS)
    made = model.synthetic_data(rows=len(y)).to_dict()
    learnt = pandas.DataFrame({name: np.asarray(made[name]) for name in names})
    told = np.column_stack([to[column] for to, column in zip(joined, _few_bins(asked, job).T, strict=False)])
    labels = learnt.pop(names[-1]).to_numpy()
    if len(np.unique(labels)) < 2:
        return np.unique(labels), np.ones((len(asked), 1))
    model = classifier(random_state=job["seed"], n_jobs=1, verbose=-1)
    model.fit(learnt.to_numpy(float), labels)
    return model.classes_, model.predict_proba(told.astype(float))


def _few_bins(codes: np.ndarray, job: Job) -> np.ndarray:
    """Codes of categories as they are, those of numbers in equal parts of their range."""
    columns = [
        column if named or top <= BINS else np.where(column == top, BINS, column * BINS // top)
        for column, top, named in zip(codes.T.astype(int), job["tops"], job["categorical"], strict=True)
    ]
    return np.column_stack(columns)


def _pairs(columns: np.ndarray, a: int, b: int, singles: list[np.ndarray]) -> np.ndarray:
    wide = len(singles[b])
    counts = np.bincount(columns[:, a] * wide + columns[:, b], minlength=len(singles[a]) * wide)
    return counts.reshape(-1, wide).astype(float)


def _spanning(
    columns: np.ndarray, singles: list[np.ndarray], rho: float, random: np.random.Generator
) -> list[tuple[int, int]]:
    """A tree of pairs that single columns say least of, each pair chosen by the exponential mechanism."""
    shares = [np.maximum(single, 0) / max(np.maximum(single, 0).sum(), 1) for single in singles]
    pairs = [(a, b) for a in range(len(singles)) for b in range(a)]
    apart = np.array([
        np.abs(_pairs(columns, a, b, singles) - len(columns) * np.outer(shares[a], shares[b])).sum()
        for a, b in pairs
    ])  # fmt: skip
    group, edges = np.arange(len(singles)), []
    epsilon = math.sqrt(8 * rho / (len(singles) - 1))
    for _ in range(len(singles) - 1):
        open_pairs = [i for i, (a, b) in enumerate(pairs) if group[a] != group[b]]
        scores = apart[open_pairs] * epsilon / 2 + random.gumbel(size=len(open_pairs))
        a, b = pairs[open_pairs[int(np.argmax(scores))]]
        edges.append((a, b))
        group[group == group[b]] = group[a]
    return edges


LEARNERS: dict[str, Callable[[Job, np.ndarray, np.ndarray, np.ndarray], Shares]] = {
    "DP-EBM": explainable,
    **{f"DP-EBM {rate:g}": explainable for rate in RATES[1:]},
    "dpl forest": forest,
    "dpl one-hot": logistic,
    "dp-xgboost": boosted,
    "MST, LightGBM": synthetic,
}


def answer(job: Job) -> dict[str, Any]:
    """Shares of the rows that are asked about and the processor seconds that took, or what went wrong."""
    try:
        with np.load(job["rows"]) as rows:
            X, y, asked = rows["X"], rows["y"], rows["asked"]
        load(job["rival"])  # which is not timed
        begun = time.process_time()
        classes, told = LEARNERS[job["rival"]](job, X, y, asked)
        seconds = time.process_time() - begun
        # A label that no row carries has no column of its own.
        shares = np.zeros((len(asked), job["n_labels"]))
        shares[:, np.asarray(classes, int)] = told
        np.save(job["shares"], shares)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"}
    return {"seconds": seconds}


def examined(rivals: list[str]) -> dict[str, dict[str, str]]:
    """Versions of the rivals that are here, and what the import of the others prints."""
    versions, missing = {}, {}
    for rival in rivals:
        distribution = next(found for begins, found in PACKAGES.items() if rival.startswith(begins))
        try:
            load(rival)
            versions[distribution] = version(distribution)
        except Exception as error:
            missing[rival] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return {"versions": versions, "missing": missing}


def _frame(codes: np.ndarray, categorical: list[bool]) -> Any:
    import pandas

    columns = (
        pandas.Series(column.astype(int).astype(str), dtype=object) if named else column
        for column, named in zip(codes.T, categorical, strict=True)
    )
    return pandas.DataFrame({f"x{j}": column for j, column in enumerate(columns)})


def _one_hot(codes: np.ndarray, job: Job) -> np.ndarray:
    parts = [
        np.eye(top + 1)[column.astype(int)] if named else column[:, None] / max(top, 1)
        for column, top, named in zip(codes.T, job["tops"], job["categorical"], strict=True)
    ]
    return np.hstack(parts)


def main() -> None:
    """Answer on what was standard output, so that nothing a rival prints gets between."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        told.write(json.dumps(examined(sys.argv[1:])) + "\n")
        told.flush()
        return
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin:
            told.write(json.dumps(answer(json.loads(line))) + "\n")
            told.flush()


if __name__ == "__main__":
    main()
