"""What rivals do; runs inside their own environment, whose versions need not suit ours.

``python -m bench.rivals JOB FOLDER`` reads arrays from a folder and prints JSON. Loading is not timed.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bench.folds import cross_validate


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


def validate(folder: Path, job: dict) -> dict:
    """Accuracy and AUC of every fold."""
    codes, labels, folds = (np.load(folder / f"{name}.npy") for name in ("codes", "labels", "folds"))

    def probabilities(train, test, seed):
        # Some files are sorted, and rows go to trees by position unless they are shuffled.
        model = _diffprivlib(job["upper"], job["n_labels"], shuffle=True, random_state=seed)
        return model.fit(codes[train], labels[train]).predict_proba(codes[test])

    return cross_validate(probabilities, labels, folds)


def _diffprivlib(upper, n_labels, **options):
    from diffprivlib.models import RandomForestClassifier

    bounds = (np.zeros(len(upper)), np.array(upper, float))
    return RandomForestClassifier(100, epsilon=1.0, bounds=bounds, classes=np.arange(n_labels), **options)


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    job = json.loads((folder / "job.json").read_text())
    answer = {"fit": fit, "validate": validate}[name](folder, job)
    print(
        json.dumps({**answer, "versions": {name: version(name) for name in ("diffprivlib", "scikit-learn")}})
    )


if __name__ == "__main__":
    main()
