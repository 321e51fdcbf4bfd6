"""Put a rival on the stand; runs inside the rival's own environment and imports nothing of ours.

``python rival_stand.py NAME EPSILON`` prints JSON: versions, the fields of models learnt from two
neighbouring made tables, whether replaying a model's noise told which of the two it was learnt from, and
what trees say of two tables whose rows shift by one place.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 60
TREES = 5
COLOURS = ("blue", "red")
VOTES = 1500
RARE = "violet"
"""A category that one person alone has."""


def made_tables() -> tuple[Any, Any]:
    """Two numbers, a colour and a label for each person; the second table lacks the first person."""
    draw = np.random.default_rng(0)
    numbers, colours = draw.random((ROWS, 2)), draw.choice(COLOURS, ROWS).astype(object)
    colours[0] = RARE
    labels = (numbers[:, 0] > 0.5).astype(int)
    return (numbers, colours, labels), (numbers[1:], colours[1:], labels[1:])


def shifted_tables() -> tuple[Any, Any]:
    """People who differ in their label alone; without the first one, all others move up a place.

    Where rows go to trees by their position, the first of every part leaves it and the first of the next
    comes in, which has the other label.
    """
    size = 4
    labels = np.concatenate([[i % 2, 1 - i % 2, 0, 1] for i in range(TREES)])
    numbers, colours = np.zeros((TREES * size, 2)), np.full(TREES * size, COLOURS[0], object)
    return (numbers, colours, labels), (numbers[1:], colours[1:], labels[1:])


class Diffprivlib:
    """Random forest of diffprivlib."""

    packages = ("diffprivlib", "scikit-learn", "numpy")
    models = 60

    def fit(self, table: Any, epsilon: float) -> Any:
        """Learn with bounds and classes given, as its documentation asks."""
        from diffprivlib.models import RandomForestClassifier

        numbers, _, labels = table
        bounds = (np.zeros(2), np.ones(2))
        forest = RandomForestClassifier(TREES, epsilon=epsilon, bounds=bounds, classes=[0, 1], max_depth=3)
        return forest.fit(numbers, labels)

    def fields(self, model: Any) -> dict[str, str]:
        """Everything that is kept in the model."""
        return flat(model)

    def replayed(self, model: Any, table: Any, epsilon: float) -> int:
        """Trees that come out again if their stored seed is used on the rows they would get."""
        from sklearn.base import clone

        numbers, _, labels = table
        part = np.arange(len(labels)) // (len(labels) / TREES)
        again = 0
        for i, tree in enumerate(model.estimators_):
            copy = clone(tree).fit(numbers[part == i], labels[part == i])
            again += bool(np.array_equal(copy.tree_.value, tree.tree_.value))
        return again

    def votes(self, table: Any, epsilon: float) -> list[int]:
        """What every tree says of the one place where all people are."""
        model = self.fit(table, epsilon)
        return [int(tree.predict(np.zeros((1, 2)))[0]) for tree in model.estimators_]


class DPXGBoost:
    """Boosted trees of dp-xgboost."""

    packages = ("dp-xgboost", "numpy")
    models = 60

    def fit(self, table: Any, epsilon: float) -> str:
        """Learn two trees and keep the model as its own JSON."""
        import dp_xgboost

        numbers, _, labels = table
        data = dp_xgboost.DMatrix(numbers, labels, feature_min=[0, 0], feature_max=[1, 1])
        options = {
            "objective": "binary:logistic",
            "eval_metric": "logloss",
            "tree_method": "approxDP",
            "dp_epsilon_per_tree": epsilon / 2,
            "max_depth": 2,
            "lambda": 0.1,
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            dp_xgboost.train(options, data, 2).save_model(str(path))
            return path.read_text()

    def fields(self, model: str) -> dict[str, str]:
        """Everything that its file holds."""
        return flat(json.loads(model))

    def replayed(self, model: str, table: Any, epsilon: float) -> int:
        """Whether learning in the same second gives the same model."""
        return int(self.fit(table, epsilon) == model)

    votes = None


class DPEBM:
    """Explainable boosting of interpret, with privacy."""

    packages = ("interpret-core", "numpy")
    models = 240

    def fit(self, table: Any, epsilon: float) -> Any:
        """Learn with bounds and feature types given, as its documentation asks."""
        import pandas
        from interpret.privacy import DPExplainableBoostingClassifier

        numbers, colours, labels = table
        frame = pandas.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "colour": colours})
        model = DPExplainableBoostingClassifier(
            feature_types=["continuous", "continuous", "nominal"],
            privacy_bounds={"a": (0, 1), "b": (0, 1)},
            epsilon=epsilon,
            delta=1e-6,
            max_rounds=3,
            n_jobs=1,
        )
        return model.fit(frame, labels)

    def fields(self, model: Any) -> dict[str, str]:
        """Everything that is kept in the model."""
        return flat(model)

    replayed = votes = None


RIVALS: dict[str, Any] = {"diffprivlib": Diffprivlib, "dp-xgboost": DPXGBoost, "dp-ebm": DPEBM}


def flat(value: Any, path: str = "", depth: int = 0) -> dict[str, str]:
    """Every number and text in a model, by where it is."""
    if depth > 12:
        return {}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        parts = ((f"{path}.{key}", item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        parts = ((f"{path}[{i}]", item) for i, item in enumerate(value))
    elif isinstance(value, str | bool | int | float | np.generic) or value is None:
        return {path: repr(value)}
    elif callable(getattr(value, "__getstate__", None)) and isinstance(value.__getstate__(), dict):
        parts = ((f"{path}.{key}", item) for key, item in value.__getstate__().items())
    else:
        return {}
    return {name: text for where, item in parts for name, text in flat(item, where, depth + 1).items()}


def guesses(rival: Any, tables: Any, runs: int, epsilon: float) -> list[bool]:
    """Whether replaying a model on both tables told which it came from; a coin decides ties."""
    right = []
    for _ in range(runs):
        truth = random.randrange(2)
        if isinstance(rival, DPXGBoost):
            wait_for_a_second()
        model = rival.fit(tables[truth], epsilon)
        again = [rival.replayed(model, table, epsilon) for table in tables]
        guess = again.index(max(again)) if again[0] != again[1] else random.randrange(2)
        right.append(guess == truth)
    return right


def many_votes(rival: Any, runs: int, epsilon: float) -> list[list[list[int]]]:
    """Votes of the trees of many fits of two tables whose rows shift."""
    return [[rival.votes(table, epsilon) for _ in range(runs)] for table in shifted_tables()]


def wait_for_a_second() -> None:
    """Return when a second has begun, on the coarse clock of C too: several fits fall into it."""
    time.sleep(1.02 - time.time() % 1)


def spread_fits(rival: Any, table: Any, runs: int, epsilon: float) -> list[dict[str, str]]:
    """Fields of several fits, none of them in the second of another where the clock is the seed."""
    found = []
    for _ in range(runs):
        if isinstance(rival, DPXGBoost):
            wait_for_a_second()
        found.append(rival.fields(rival.fit(table, epsilon)))
    return found


@contextlib.contextmanager
def silence() -> Any:
    """Send what compiled code prints to nowhere: the answer alone goes out."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)


def main(name: str, epsilon: float) -> None:
    """Examine one rival and print what was found."""
    warnings.simplefilter("ignore")
    rival, tables = RIVALS[name](), made_tables()
    runs = rival.models
    with silence():
        answer = {
            "versions": {package: version(package) for package in rival.packages},
            "fields": [spread_fits(rival, table, runs, epsilon) for table in tables],
            "guesses": guesses(rival, tables, runs, epsilon) if rival.replayed else None,
            "votes": many_votes(rival, VOTES, epsilon) if rival.votes else None,
        }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
