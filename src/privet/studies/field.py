"""The field: our learners beside other people's private ones, on the same folds of the same public tables.

A cell is one learner on one fold of one table at one ε. Ours run behind a wall that is told how many rows
the whole table has, at most; others take the exact number of rows for nothing. Noise of ours is repeatable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import rankdata

from privet.datasets import entry
from privet.errors import DataError
from privet.estimators import (
    BoostingClassifier,
    CountForestClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    MajorityForestClassifier,
)
from privet.privacy import Budget
from privet.schema import Categorical, Schema
from privet.studies.field_rivals import (
    DELTA,
    Learn,
    Task,
    asked,
    descent,
    diprime,
    installed,
    lumberjack,
    privatree,
)
from privet.studies.ranking import front, view
from privet.studies.study import FAILED, Cell, Found, Quick, Study, Value, code
from privet.studies.ways import Public, cut, public

ROWS = 10_000
"""Most rows of a table, unless ``--set rows=20000`` asks for a night's work."""

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
TWO_LABELS = (
    *("house_votes", "transfusion", "tic_tac_toe", "mammographic", "german_credit", "banknote"),
    *("employee_attrition", "spambase", "compas_two_years", "mushroom", "bank_churn", "acs_income_ne"),
    *("phishing_websites", "magic", "credit_default", "bank_marketing", "electricity", "adult"),
    "dutch_census",
)
SEVERAL_LABELS = (
    *("heart_cleveland", "car", "wall_following_4", "clave", "pendigits", "nursery", "letter", "krkopt"),
    *("connect4", "diabetes130", "covertype"),
)
OURS: dict[str, Callable[..., Any]] = {
    "boosting": BoostingClassifier,
    "boosting, δ": partial(BoostingClassifier, delta=DELTA),
    "count forest": CountForestClassifier,
    "majority forest": MajorityForestClassifier,
    "greedy tree": GreedyTreeClassifier,
    "greedy forest": GreedyForestClassifier,
    "counting tree": CountingTreeClassifier,
}
CONTROLS = ("boosting", "boosting, δ")
DESCENTS = {"descent": 0.0, "descent, δ": DELTA}
"""Logistic regression whose parameters are picked on the test folds, and its δ."""

AGAIN: Mapping[str, Learn] = {**privatree.LEARNERS, **diprime.LEARNERS, **lumberjack.LEARNERS}
"""Written down again, for comparison alone."""

FEW = ("german_credit", "adult", "magic", "compas_two_years", "spambase", "mushroom")
SYNTHETIC = "MST, LightGBM"
"""Takes ten seconds a fit, whatever the table: a study of its own."""

ALL = (*OURS, *(name for name in installed.LEARNERS if name != SYNTHETIC), *AGAIN, *DESCENTS)
TWO_LABELS_ONLY = ("DP-EBM", "dp-xgboost")
SURE = 1e-6
"""Log loss takes no probability for nearer to 0 or 1 than this."""


def measure(data: str, epsilon: float, learner: str, rows: int, repeat: int, fold: int, folds: int) -> Found:
    """AUC, log loss, accuracy and processor seconds of a learner on one fold."""
    if learner in DESCENTS:
        return {learner: _best_descents(data, rows, epsilon, DESCENTS[learner], repeat, folds)[fold]}
    task = _task(data, rows, repeat, fold, folds)
    try:
        shares, seconds = _learnt(data, rows, learner, task, epsilon)
    except asked.Refused as error:
        return {learner: {f"{FAILED}{error}": 1.0}}
    return {learner: {**judged(task.labels[task.test], shares), "seconds": seconds}}


def _learnt(data: str, rows: int, learner: str, task: Task, epsilon: float) -> tuple[np.ndarray, float]:
    if learner in installed.LEARNERS:
        return asked.ask(learner, task, epsilon)
    begun = time.process_time()
    if learner in AGAIN:
        shares = AGAIN[learner](task, epsilon)
    else:
        shares = _fitted(learner, _table(data, rows), task, epsilon)
    return shares, time.process_time() - begun


def _fitted(learner: str, table: Public, task: Task, epsilon: float) -> np.ndarray:
    """Shares that a learner of ours tells, after a fit behind a wall."""
    estimator = OURS[learner](epsilon, schema=table.schema)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=task.seed)
    room = Budget(epsilon, estimator.get_params().get("delta", 0.0))
    walled = table.walled(task.train, task.seed, room)
    return np.asarray(estimator.fit(walled).model_.shares(table.rows.take(task.test)))


def judged(labels: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    """Scores of told shares; AUC of several labels is that of each against the rest, on average."""
    # One whose numbers overflow says nothing of a row: all labels alike.
    shares = np.where(np.isfinite(shares).all(axis=1, keepdims=True), shares, 1 / shares.shape[1])
    kept = np.clip(shares, SURE, 1 - SURE)
    kept /= kept.sum(axis=1, keepdims=True)
    return {
        "AUC": _auc(labels, shares),
        "log loss": float(-np.log(kept[np.arange(len(labels)), labels]).mean()),
        "accuracy": float((shares.argmax(axis=1) == labels).mean()),
    }


def _auc(labels: np.ndarray, shares: np.ndarray) -> float:
    """By the ranks of each label's rows; a label that no row of a fold carries has none there."""
    ones = np.eye(shares.shape[1])[labels]
    counts, ranks = ones.sum(axis=0), (rankdata(shares, axis=0) * ones).sum(axis=0)
    known = np.flatnonzero((counts > 0) & (counts < len(labels)))[1 if shares.shape[1] == 2 else 0 :]
    pairs = counts[known] * (len(labels) - counts[known])
    return float(np.mean((ranks[known] - counts[known] * (counts[known] + 1) / 2) / pairs))


@lru_cache(maxsize=2)
def _best_descents(
    data: str, rows: int, epsilon: float, delta: float, repeat: int, folds: int
) -> list[dict[str, float]]:
    """Scores by fold: of each score those of the setting whose mean over the test folds is best."""
    tasks = [_task(data, rows, repeat, fold, folds) for fold in range(folds)]
    tried = []
    for n_bins, steps, rate, clip in descent.settings():
        inputs, begun = _inputs(data, rows, n_bins), time.process_time()
        told = [descent.descended(inputs, task, epsilon, delta, steps, rate, clip) for task in tasks]
        spent = {"seconds": (time.process_time() - begun) / folds}
        tried.append([
            {**judged(task.labels[task.test], each), **spent}
            for task, each in zip(tasks, told, strict=True)
        ])  # fmt: skip
    signs = {"AUC": 1, "log loss": -1, "accuracy": 1, "seconds": -1}
    best = {
        score: max(tried, key=lambda some: sign * np.mean([each[score] for each in some]))
        for score, sign in signs.items()
    }
    best["seconds"] = best["AUC"]
    return [{score: best[score][fold][score] for score in signs} for fold in range(folds)]


@lru_cache(maxsize=2)
def _inputs(data: str, rows: int, n_bins: int) -> csr_array:
    return descent.one_hot(_codes(data, rows).T, _table(data, rows).schema, n_bins)


@lru_cache(maxsize=2)
def _table(data: str, rows: int) -> Public:
    """All rows of a table or a random sample, and a schema that states how many these are at most."""
    whole = public(data)
    taken = np.arange(len(whole.labels))
    if len(taken) > rows:
        taken = np.sort(np.random.default_rng(0).choice(len(taken), rows, replace=False))
    schema = Schema(whole.schema.features, whole.schema.label, len(taken))
    return Public(schema, whole.rows.take(taken), whole.labels[taken])


@lru_cache(maxsize=2)
def _codes(data: str, rows: int) -> np.ndarray:
    return _table(data, rows).codes().astype(np.int64)


def _task(data: str, rows: int, repeat: int, fold: int, folds: int) -> Task:
    table, codes = _table(data, rows), _codes(data, rows)
    classes = list(table.schema.classes)
    labels = np.array([classes.index(label) for label in table.labels.tolist()])
    named = np.array([isinstance(feature, Categorical) for feature in table.schema.features])
    train, test = cut(table.labels, repeat, fold, folds)
    return Task(
        codes, labels, np.array([_top(feature) for feature in table.schema.features]), named,
        len(classes), train, test, repeat * folds + fold,
    )  # fmt: skip


def _top(feature: Any) -> int:
    """Largest code that a value can have; that of *missing* where values may be."""
    values = len(feature.categories) if isinstance(feature, Categorical) else feature.n_cells
    return int(values - 1 + feature.missing)


def follows(cell: Cell) -> str:
    """What a rival tells follows from its files and what it is given: a line of ours does not move it."""
    if cell["learner"] in OURS:
        return code()
    versions = asked.versions([cell["learner"]] if cell["learner"] in installed.LEARNERS else [])
    given = _given(cell["data"], cell["rows"], cell["repeat"], cell["fold"], cell["folds"])
    return sha256(repr((given, sorted(versions.items()))).encode()).hexdigest()[:16]


@lru_cache(maxsize=256)
def _given(data: str, rows: int, repeat: int, fold: int, folds: int) -> str:
    """A hash of a task, of every rival's file, and of this one."""
    digest = sha256()
    for file in (Path(__file__), *sorted(Path(installed.__file__).parent.glob("*.py"))):
        digest.update(file.read_bytes())
    for value in vars(_task(data, rows, repeat, fold, folds)).values():
        digest.update(np.asarray(value).tobytes())
    return digest.hexdigest()


@cache
def _without(tables: Sequence[str]) -> Mapping[str, Mapping[Value, str]]:
    """Tables and rivals that are not here, and why."""
    absent: dict[Value, str] = {}
    for name in tables:
        try:
            entry(name)
        except DataError as error:
            absent[name] = error.message
    learners: dict[Value, str] = dict(asked.missing().items())
    return {"learner": learners, "data": absent}


GRID: dict[str, Sequence[Value]] = {
    "rows": (ROWS,), "data": TWO_LABELS, "epsilon": EPSILONS, "learner": ALL,
}  # fmt: skip
SEVERAL: dict[str, Sequence[Value]] = {
    **GRID,
    "data": SEVERAL_LABELS,
    "learner": tuple(name for name in ALL if not name.startswith(TWO_LABELS_ONLY)),
}
SMALL = {"rows": (300,), "epsilon": (1.0,)}
NOTE = (
    f"Of {ROWS:,} rows of each table at most, so that much is luck where ε is small: on a single table the "
    "best of many learners is ahead of any one of them by that alone, and *descent* is the best of many."
)
PROMISES = {"PrivaTree as published": "claims ε, keeps none"}


def _study(name: str, title: str, grid: Mapping[str, Sequence[Value]], quick: Quick) -> Study:
    """One whose picture and page are ranks of learners over tables."""
    return Study(
        name,
        title,
        measure,
        [grid],
        folds=3,
        quick=quick,
        panel="ε = {epsilon:g}",
        x="data",
        score="AUC",
        promises=PROMISES,
        note=NOTE,
        without=partial(_without, tuple(str(data) for data in grid["data"])),
        versions=asked.versions,
        follows=follows,
        view=view(CONTROLS, tuple(DESCENTS)),
    )


RANKS = _study(
    "field/ranks",
    "AUC on tables of two labels",
    GRID,
    Quick({**SMALL, "data": ("transfusion", "house_votes")}),
)
STUDIES = [
    RANKS,
    RANKS.showing("field/log-loss", "Log loss of the same fits", score="log loss", lower=True),
    RANKS.showing(
        "field/front",
        "What the same learners give at ε = 1 for the processor seconds they take",
        grids=[{**GRID, "epsilon": (1.0,), "learner": tuple(each for each in ALL if each not in DESCENTS)}],
        scores=("seconds", "AUC"),
        view=front("seconds", "AUC"),
    ),
    _study(
        "field/several-labels",
        "AUC on tables of several labels",
        SEVERAL,
        Quick({**SMALL, "data": ("heart_cleveland", "car")}),
    ),
    _study(
        "field/synthetic",
        "AUC of a learner without privacy on private synthetic rows, beside private learners",
        {**GRID, "data": FEW, "epsilon": (1.0, 8.0), "learner": (*CONTROLS, "Lumberjack", SYNTHETIC)},
        Quick({**SMALL, "data": FEW[:1]}),
    ),
]
