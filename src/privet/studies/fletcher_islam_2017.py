"""Fletcher and Islam 2017: their forest as published, and ours that keeps its ε, on the same trees.

Prints accuracy and AUC at ε = 1 beside their figure 12, and the share of empty leaves beside their
table 3. The published mechanism is run here only: it does not keep the ε it claims.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold

from privet.answers import PERMUTE_AND_FLIP, Law
from privet.kernels.count import count_assigned
from privet.kernels.vote import vote
from privet.learners.majority_forest import forest_depth
from privet.learners.random_trees import random_complete_trees
from privet.privacy import Repeatable
from privet.structure import CompleteTrees
from privet.studies.datasets import SYNTHETIC, Dataset, real, synthetic
from privet.studies.study import Study, say

EPSILON = 1.0
N_TREES = 100
FIGURE_12: Mapping[str, float] = {
    "SynthA": 0.877,
    "SynthB": 0.924,
    "SynthC": 0.920,
    "SynthD": 0.879,
    "SynthE": 0.907,
    "SynthF": 0.888,
    "SynthG": 0.917,
    "magic": 0.848,
    "mushroom": 0.992,
    "adult": 0.861,
}
"""AUC of their forest at ε = 1, read from figure 12."""


def strict(counts: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Permute-and-flip: what the product releases, with repeatable noise."""
    law = Law(PERMUTE_AND_FLIP, Fraction(str(EPSILON)))
    return Repeatable(int(random.integers(2**32))).choose(counts, law)


def published(counts: np.ndarray, random: np.random.Generator, epsilon: float = EPSILON) -> np.ndarray:
    """Their algorithm 2: score 1 for the most frequent labels, smooth sensitivity e^(−jε). Not private."""
    ordered = np.sort(counts, axis=1)
    gap = ordered[:, -1] - ordered[:, -2]
    # Beyond 700 a double cannot hold the exponential: the most frequent label is then certain.
    exponent = np.minimum(epsilon * np.exp(np.minimum(gap * epsilon, 50.0)) / 2, 700.0)
    weights = np.where(counts == ordered[:, -1:], np.exp(exponent)[:, None], 1.0)
    cumulative = np.cumsum(weights, axis=1)
    drawn = random.random(len(counts)) * cumulative[:, -1]
    return np.asarray((cumulative < drawn[:, None]).sum(axis=1))


def run(names: list[str], folds: int, repeats: int) -> Iterator[dict[str, Any]]:
    """One row of results a data set."""
    for name in names:
        dataset = synthetic(name) if name in SYNTHETIC else real(name, complete=name in ("adult", "mushroom"))
        results = [_fold(dataset, *split) for split in _splits(dataset, folds, repeats)]
        row: dict[str, Any] = {"data": name, "depth": forest_depth(dataset.schema, N_TREES)}
        for key in results[0]:
            values = [result[key] for result in results]
            row[key], row[f"{key} sd"] = float(np.mean(values)), float(np.std(values))
        yield {**row, "AUC, paper": FIGURE_12.get(name)}


def _splits(dataset: Dataset, folds: int, repeats: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=0)
    for seed, (train, test) in enumerate(splitter.split(dataset.labels, dataset.labels)):
        yield seed, train, test


def _fold(dataset: Dataset, seed: int, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    random = np.random.default_rng(seed)
    depth = forest_depth(dataset.schema, N_TREES)
    trees = random_complete_trees(dataset.schema, N_TREES, depth, np.random.RandomState(seed))
    n_labels = dataset.schema.n_labels
    part = random.integers(0, N_TREES, len(train))
    rows = np.ascontiguousarray(dataset.features[:, train])
    counts = count_assigned(trees, rows, dataset.labels[train], n_labels, part)
    result = {"empty leaves": float((counts.sum(axis=2) == 0).mean())}
    for name, choose in (("strict", strict), ("published", published)):
        labels = choose(counts.reshape(-1, n_labels), random).reshape(counts.shape[:-1])
        result |= _scores(name, trees, labels, dataset, test)
    return result


def _scores(
    name: str, trees: CompleteTrees, labels: np.ndarray, dataset: Dataset, test: np.ndarray
) -> dict[str, float]:
    n_labels = dataset.schema.n_labels
    rows = np.ascontiguousarray(dataset.features[:, test])
    votes = vote(trees, rows, np.eye(n_labels, dtype=np.uint8)[labels])
    truth = dataset.labels[test]
    scores = {f"accuracy, {name}": float((votes.argmax(axis=1) == truth).mean())}
    if n_labels == 2:
        scores[f"AUC, {name}"] = float(roc_auc_score(truth, votes[:, 1]))
    return scores


NAMES = [*SYNTHETIC, "magic", "mushroom", "adult", "nursery", "pendigits", "wall_following_4", "clave"]
"""Data sets of their figures 11 and 12."""

HEADS = {
    "AUC, strict": "AUC strict",
    "AUC, published": "publ'd",
    "AUC, paper": "paper",
    "accuracy, strict": "acc strict",
    "accuracy, published": "publ'd",
    "empty leaves": "empty",
}
"""What is shown of each row, and under which head."""


def tell(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of all data sets, or of the synthetic ones where there are no others, each printed as it comes."""
    names = list(SYNTHETIC) if quick or "PRIVET_DATA" not in os.environ else NAMES
    folds, repeats = (2, 1) if quick else (10, 2)
    say(f"Fletcher and Islam 2017 at ε = 1, {repeats} × {folds} folds: mean±sd.\n")
    say("Strict keeps ε; published is their own mechanism, which does not.\n")
    say(f"{'':<17}" + "".join(f"{head:>10}" for head in HEADS.values()) + "\n")
    for row in run(names, folds, repeats):
        say(f"{row['data']:<17}" + "".join(f"{_cell(row, column):>10}" for column in HEADS) + "\n")
        yield row


def _cell(row: Mapping[str, float | None], column: str) -> str:
    value, spread = row.get(column), row.get(f"{column} sd")
    if value is None:
        return "–"
    text = f"{value:.3f}" if spread is None else f"{value:.3f}±{spread:.3f}"
    return text.replace("0.", ".")


STUDY = Study("fletcher-islam-2017", tell, text=None, draw=None)
