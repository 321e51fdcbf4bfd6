"""What rivals do; runs inside their own environment, whose versions need not suit ours.

``python -m bench.rivals JOB FOLDER`` reads arrays from a folder and prints JSON. Loading is not timed.
"""

import json
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bench.folds import cross_validate

RATES = (0.01, 0.03, 0.1)
"""Learning rates of DP-EBM, its default first."""

PACKAGES = ("diffprivlib", "scikit-learn", "interpret-core", "lightgbm")


def fit(folder: Path, job: dict) -> dict:
    """Seconds to fit, best of some repeats, and accuracy on fresh rows."""
    data = {name: np.load(folder / f"{name}.npy") for name in ("X", "y", "X_new", "y_new")}
    times = []
    for _ in range(job["repeats"]):
        model = _diffprivlib(job["upper"], job["n_labels"], n_jobs=job["n_jobs"])
        start = time.perf_counter()
        model.fit(data["X"], data["y"])
        times.append(time.perf_counter() - start)
    return {"seconds": min(times), "accuracy": float(model.score(data["X_new"], data["y_new"]))}


def fit_explainable(folder: Path, job: dict) -> dict:
    """Seconds that one fit of DP-EBM takes, its defaults, and its AUC on fresh rows."""
    from sklearn.metrics import roc_auc_score

    X, y, X_new, y_new = (np.load(folder / f"{name}.npy") for name in ("X", "y", "X_new", "y_new"))
    categorical = np.zeros(X.shape[1], bool)
    model = _explainable(job["epsilon"], 0.01, job | {"categorical": categorical}, 0)
    frame, fresh = _frame(X, categorical), _frame(X_new, categorical)
    start = time.perf_counter()
    model.fit(frame, y)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "auc": float(roc_auc_score(y_new, model.predict_proba(fresh)[:, 1]))}


def fit_one(folder: Path, job: dict) -> dict:
    """Seconds and highest resident memory of one fit of one learner to codes that are in memory."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    model = _learner(job, X.shape[1])
    X = _frame(X, np.zeros(X.shape[1], bool)) if job["rival"] == "DP-EBM" else X
    before = time.process_time()
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return {"seconds": seconds, "busy": time.process_time() - before, "peak_mb": peak * 1024 / 1e6}


def _learner(job: dict, width: int):
    """One of those that are compared with ours, at their defaults."""
    if job["rival"] == "ExtraTrees":
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(100, max_depth=12, n_jobs=-1, random_state=0)
    if job["rival"] == "HistGradientBoosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=0)
    if job["rival"] == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(random_state=0, verbose=-1)
    if job["rival"] == "DP-EBM":
        told = {"categorical": [False] * width, "upper": job["upper"], "delta": 1e-6}
        return _explainable(1.0, 0.01, told, 0)
    return _diffprivlib(job["upper"], 2, n_jobs=-1)


def fit_lightgbm(folder: Path, job: dict) -> dict:
    """Seconds that a fit of LightGBM takes, best of some repeats, and its AUC on fresh rows."""
    from lightgbm import LGBMClassifier
    from sklearn.metrics import roc_auc_score

    X, y, X_new, y_new = (np.load(folder / f"{name}.npy") for name in ("X", "y", "X_new", "y_new"))
    times = []
    for _ in range(job["repeats"]):
        model = LGBMClassifier(n_estimators=job["n_trees"], n_jobs=job["n_jobs"], random_state=0, verbose=-1)
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    # Boosters take arrays as they take frames: by position.
    auc = roc_auc_score(y_new, model.booster_.predict(X_new))
    return {"seconds": min(times), "auc": float(auc)}


def validate(folder: Path, job: dict) -> dict:
    """Accuracy and AUC of every fold."""
    codes, labels, folds = (np.load(folder / f"{name}.npy") for name in ("codes", "labels", "folds"))

    def probabilities(train, test, seed):
        # Some files are sorted, and rows go to trees by position unless they are shuffled.
        model = _diffprivlib(job["upper"], job["n_labels"], shuffle=True, random_state=seed)
        return model.fit(codes[train], labels[train]).predict_proba(codes[test])

    return cross_validate(probabilities, labels, folds)


def _diffprivlib(upper, n_labels, epsilon=1.0, **options):
    from diffprivlib.models import RandomForestClassifier

    bounds = (np.zeros(len(upper)), np.array(upper, float))
    return RandomForestClassifier(100, epsilon=epsilon, bounds=bounds, classes=np.arange(n_labels), **options)


def learners(folder: Path, job: dict) -> dict:
    """Scores of every fold: pairs of learner and scores."""
    codes, labels, folds = (np.load(folder / f"{name}.npy") for name in ("codes", "labels", "folds"))
    contestants = _contestants(codes, job) if job["epsilon"] is not None else _without_privacy(codes, job)
    scores = []
    for learner, make, inputs in contestants:

        def probabilities(train, test, seed, make=make, inputs=inputs):
            model = make(seed).fit(_taken(inputs, train), labels[train])
            # A label that no training row carries has no column of its own.
            shares = np.zeros((test.sum(), job["n_labels"]))
            shares[:, np.asarray(model.classes_, int)] = model.predict_proba(_taken(inputs, test))
            return shares

        scores.append((learner, cross_validate(probabilities, labels, folds)))
    return {"scores": scores}


def regressors(folder: Path, job: dict) -> dict:
    """R² and processor seconds of every fold: pairs of learner and scores."""
    from interpret.privacy import DPExplainableBoostingRegressor

    codes, numbers, folds = (np.load(folder / f"{name}.npy") for name in ("codes", "numbers", "folds"))
    texts, options = _frame(codes, np.array(job["categorical"])), _explained(job)
    options |= dict(zip(("privacy_target_min", "privacy_target_max"), job["range"], strict=True))
    scores = []
    for rate in RATES:
        found: dict[str, list[float]] = {"r2": [], "seconds": []}
        for fold_of_row in folds:
            for fold in range(int(folds.max()) + 1):
                train, test = fold_of_row != fold, fold_of_row == fold
                start = time.process_time()
                model = DPExplainableBoostingRegressor(**options, epsilon=job["epsilon"], learning_rate=rate)
                told = model.fit(_taken(texts, train), numbers[train]).predict(_taken(texts, test))
                found["seconds"].append(time.process_time() - start)
                # A public range is theirs too.
                errors = numbers[test] - np.clip(np.nan_to_num(told), *job["range"])
                found["r2"].append(float(1 - (errors**2).mean() / numbers[test].var()))
        scores.append((_rate_name(rate), found))
    return {"scores": scores}


def _contestants(codes, job):
    """Private learners as ``(name, make(seed), inputs)``."""
    from diffprivlib.models import LogisticRegression

    upper, categorical = np.array(job["upper"]), np.array(job["categorical"])
    if job["n_labels"] == 2:
        texts = _frame(codes, categorical)
        for rate in RATES:
            yield _rate_name(rate), partial(_explainable, job["epsilon"], rate, job), texts
    yield "dpl forest", partial(_shuffled_forest, upper, job), codes
    inputs = {"dpl logistic": codes / np.maximum(upper, 1)}
    if job["one_hot"]:
        inputs["dpl one-hot"] = _one_hot(codes, upper, categorical)
    make = partial(LogisticRegression, epsilon=job["epsilon"], data_norm=float(np.sqrt(codes.shape[1])))
    for name, columns in inputs.items():
        yield name, lambda seed: make(random_state=seed), columns


def _without_privacy(codes, job):
    """LightGBM takes for categories what the frame calls so, and nothing else."""
    from lightgbm import LGBMClassifier

    categories = _frame(codes, np.array(job["categorical"]), "category")
    yield "LightGBM", lambda seed: LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1), categories


def _explainable(epsilon, rate, job, seed):
    """DP-EBM; its noise is drawn anew in every run, as ours is."""
    from interpret.privacy import DPExplainableBoostingClassifier

    return DPExplainableBoostingClassifier(**_explained(job), epsilon=epsilon, learning_rate=rate)


def _explained(job):
    """What DP-EBM is told of the schema, and its δ."""
    kinds = ["nominal" if categorical else "continuous" for categorical in job["categorical"]]
    bounds = {f"x{j}": (0, top) for j, top in enumerate(job["upper"]) if kinds[j] == "continuous"}
    return {"feature_types": kinds, "privacy_bounds": bounds, "delta": job["delta"]}


def _rate_name(rate):
    return "DP-EBM" if rate == RATES[0] else f"DP-EBM {rate:g}"


def _shuffled_forest(upper, job, seed):
    return _diffprivlib(upper, job["n_labels"], job["epsilon"], shuffle=True, random_state=seed)


def _frame(codes, categorical, kind=object):
    """Codes as columns ``x0``, ``x1``, …, those of categories as texts of a kind."""
    import pandas

    columns = (
        pandas.Series(column.astype(int).astype(str), dtype=kind) if named else column
        for column, named in zip(codes.T, categorical, strict=True)
    )
    return pandas.DataFrame({f"x{j}": column for j, column in enumerate(columns)})


def _one_hot(codes, upper, categorical):
    parts = [
        np.eye(top + 1)[column.astype(int)] if named else column[:, None] / top
        for column, top, named in zip(codes.T, upper, categorical, strict=True)
    ]
    return np.hstack(parts)


def _taken(inputs, rows):
    return inputs[rows] if isinstance(inputs, np.ndarray) else inputs[rows].reset_index(drop=True)


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    job = json.loads((folder / "job.json").read_text())
    tasks = {
        "fit": fit,
        "fit_explainable": fit_explainable,
        "fit_lightgbm": fit_lightgbm,
        "fit_one": fit_one,
        "validate": validate,
        "learners": learners,
        "regressors": regressors,
    }
    answer = tasks[name](folder, job)
    print(json.dumps({**answer, "versions": {name: version(name) for name in PACKAGES}}))


if __name__ == "__main__":
    main()
