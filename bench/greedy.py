"""A fit of a greedy tree beside scikit-learn's tree on the same arrays: seconds, and peak memory.

``python -m bench.greedy FOLDER`` measures one peak in a process of its own, as `bench.memory` does.
"""

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from bench import made, memory
from bench.clock import seconds
from bench.report import Result, at_least, cores
from bench.runner import ask_fresh
from privet import GreedyTreeClassifier

DEPTH, SPEED_AIM = 8, 5


def run(quick: bool) -> Result:
    n_rows, repeats = (50_000, 1) if quick else (1_000_000, 3)
    X, y = made.rows(n_rows)
    X_new, y_new = made.rows(20_000, seed=1)
    rival = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    (rival_s,) = seconds(lambda: rival.fit(X, y), 1)
    rows = []
    for criterion in ("max", "gini"):
        tree = learner({"criterion": criterion})
        tree.fit(X[:100_000], y[:100_000])
        ours = min(seconds(lambda tree=tree: tree.fit(X, y), repeats))
        rows.append(
            {
                "fit": f"greedy tree, {criterion}",
                "seconds": ours,
                "x": rival_s / ours,
                **at_least(rival_s / ours, SPEED_AIM),
                "accuracy": float(tree.score(X_new, y_new)),
                "peak MB": _peak({"criterion": criterion}, X, y),
            }
        )
    score = float(rival.score(X_new, y_new))
    told = {"fit": "scikit-learn, no privacy", "seconds": rival_s, "x": 1.0, "aim": "", "met": ""}
    rows.append({**told, "accuracy": score, "peak MB": _peak({"criterion": ""}, X, y)})
    notes = [
        f"{n_rows:,} rows x {made.WIDTH} floats ({X.nbytes / 1e6:.0f} MB), depth {DEPTH}, ε = 1, {cores()} "
        f"cores; best of {repeats} (scikit-learn 1). x = how many times as long scikit-learn takes. "
        "Thresholds are chosen among 65,534 cells of a feature. Peak: highest resident memory of the fit, "
        "less that before it."
    ]
    return Result("fit of a greedy tree", rows, notes)


def learner(job: dict[str, Any]) -> Any:
    if not job["criterion"]:
        return DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    return GreedyTreeClassifier(max_depth=DEPTH, schema=made.schema(), **job)


def _peak(job: dict[str, Any], X: np.ndarray, y: np.ndarray) -> float | None:
    if not memory.STATUS.exists():
        return None
    return ask_fresh("bench.greedy", job, {"X": X, "y": y})["peak_mb"]


if __name__ == "__main__":
    memory.measure(learner)
