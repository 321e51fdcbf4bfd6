"""Fletcher and Islam 2017: their forest as published, and ours that keeps its ε, on the same trees and rows.

The published mechanism is run here only: it does not keep the ε it claims. Labels are drawn for those leaves
alone into which a row falls, to learn from or to be asked about: the others are never looked at, and the law
of all that is measured is as if they had been drawn too. So trees may be as deep as the paper has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score, roc_auc_score

from privet.answers import PERMUTE_AND_FLIP, Law
from privet.data import Codes
from privet.datasets import SYNTHETIC, Dataset, load_codes, synthetic
from privet.engines import MemoryEngine
from privet.estimators import CountForestClassifier, GreedyTreeClassifier
from privet.kernels.predict import row_shares
from privet.kernels.route import route, route_assigned
from privet.learners.random_trees import random_complete_trees
from privet.privacy import Ledger, Protected, Repeatable
from privet.schema import Continuous, Schema
from privet.studies.study import Found
from privet.studies.ways import ROOM, cut
from privet.theory import fletcher_islam_depth

N_TREES = 100
AT_ONCE = 1 << 22
"""Leaves of trees that are drawn at a time."""

COMPLETE = ("adult", "mushroom")
"""Tables of which the paper leaves out rows with missing values."""

ADULT_ROWS = 30_162
"""Complete rows of Adult's training part, which comes first."""

STRICT, PUBLISHED, GLOBAL, EXACT = "strict", "as published", "global sensitivity", "not private"
JPW, FS, BREIMAN = "JPW", "FS", "Random Forest, not private"

Choose = Callable[[np.ndarray, np.random.Generator, float], np.ndarray]
"""A label of every leaf from its counts."""


def strict(counts: np.ndarray, random: np.random.Generator, epsilon: float = 1.0) -> np.ndarray:
    """Permute-and-flip: what the product releases, with repeatable noise."""
    law = Law(PERMUTE_AND_FLIP, Fraction(str(epsilon)))
    return Repeatable(int(random.integers(2**32))).choose(counts, law)


def published(counts: np.ndarray, random: np.random.Generator, epsilon: float = 1.0) -> np.ndarray:
    """Their algorithm 2: score 1 for the most frequent labels, smooth sensitivity e^(−jε). Not private."""
    ordered = np.sort(counts, axis=1)
    gap = ordered[:, -1] - ordered[:, -2]
    # Beyond 700 a double cannot hold the exponential: the most frequent label is then certain.
    exponent = np.minimum(epsilon * np.exp(np.minimum(gap * epsilon, 50.0)) / 2, 700.0)
    return _drawn(np.where(counts == ordered[:, -1:], np.exp(exponent)[:, None], 1.0), random)


def by_global_sensitivity(
    counts: np.ndarray, random: np.random.Generator, epsilon: float = 1.0
) -> np.ndarray:
    """The same score with sensitivity 1, as their figure 4 has it for comparison."""
    return _drawn(np.where(counts == counts.max(axis=1, keepdims=True), math.exp(epsilon / 2), 1.0), random)


def exact(counts: np.ndarray, random: np.random.Generator, epsilon: float = math.inf) -> np.ndarray:
    """A most frequent label, any where several are. Not private."""
    return _drawn((counts == counts.max(axis=1, keepdims=True)).astype(float), random)


def _drawn(weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(weights, axis=1)
    drawn = random.random(len(weights)) * cumulative[:, -1]
    return np.asarray((cumulative <= drawn[:, None]).sum(axis=1))


WAYS: Mapping[str, Choose] = {
    STRICT: strict,
    PUBLISHED: published,
    GLOBAL: by_global_sensitivity,
    EXACT: exact,
}


@lru_cache(maxsize=3)
def dataset(name: str, n_rows: int = 0) -> Dataset:
    """A table as the paper has it; a synthetic one of so many rows."""
    if name in SYNTHETIC:
        return synthetic(name, n_rows) if n_rows else synthetic(name)
    table = load_codes(name, complete=name in COMPLETE)
    if name == "adult":
        return Dataset(name, table.schema, table.features[:, :ADULT_ROWS], table.labels[:ADULT_ROWS])
    return table


def depth_of(schema: Schema) -> int:
    """Depth of theorem 2."""
    n_continuous = sum(isinstance(feature, Continuous) for feature in schema.features)
    return fletcher_islam_depth(n_continuous, len(schema.features) - n_continuous)


@dataclass(frozen=True)
class Leaves:
    """Leaves of some trees that rows fall into.

    Attributes
    ----------
    counts : int64 (leaves, labels)
        Of rows to learn from.
    asked : (trees, rows)
        Which of these leaves the rows that are asked about fall into.
    """

    counts: np.ndarray
    asked: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """Counts of leaves that hold rows."""
        return self.counts[self.counts.any(axis=1)]


def leaves(
    table: Dataset, train: np.ndarray, test: np.ndarray, n_trees: int, depth: int, disjoint: bool, seed: int
) -> Iterator[Leaves]:
    """Leaves of a forest, some trees at a time."""
    random = np.random.default_rng((seed, n_trees))
    part = random.integers(0, n_trees, len(train))
    learnt, asked = (np.ascontiguousarray(table.features[:, rows]) for rows in (train, test))
    step = max(1, min(n_trees, AT_ONCE >> depth))
    for first in range(0, n_trees, step):
        n = min(step, n_trees - first)
        draws = np.random.RandomState([seed, first, depth])
        trees = random_complete_trees(table.schema, n, depth, draws)
        number = np.arange(n, dtype=np.int64)[:, None] << depth
        there = route(trees, asked).astype(np.int64) + number
        if disjoint:
            own = (part >= first) & (part < first + n)
            tree = part[own] - first
            here = route_assigned(trees, np.ascontiguousarray(learnt[:, own]), tree) + (tree << depth)
            labels = table.labels[train][own]
        else:
            here = (route(trees, learnt).astype(np.int64) + number).ravel()
            labels = np.tile(table.labels[train], n)
        every, place = np.unique(np.concatenate([here, there.ravel()]), return_inverse=True)
        cells = place[: len(here)] * table.schema.n_labels + labels
        counts = np.bincount(cells, minlength=len(every) * table.schema.n_labels)
        yield Leaves(counts.reshape(-1, table.schema.n_labels), place[len(here) :].reshape(there.shape))


def vote(
    table: Dataset,
    split: tuple[np.ndarray, np.ndarray],
    ways: Mapping[str, tuple[str, float]],
    seed: int,
    n_trees: int = N_TREES,
    depth: int | None = None,
    disjoint: bool = True,
) -> dict[str, dict[str, float]]:
    """All scores of a forest, by way: each has a mechanism and what its leaves spend."""
    train, test = split
    depth = depth_of(table.schema) if depth is None else depth
    random = np.random.default_rng((seed, 1))
    votes = {way: np.zeros((len(test), table.schema.n_labels), np.int64) for way in ways}
    flipped: dict[str, list[int]] = {way: [0, 0] for way in ways}
    smooth: dict[str, list[float]] = {way: [0.0, 0.0] for way in ways}
    for part in leaves(table, train, test, n_trees, depth, disjoint, seed):
        held = part.counts.any(axis=1)
        ordered = np.sort(part.counts[held], axis=1)
        for way, (mechanism, epsilon) in ways.items():
            chosen = WAYS[mechanism](part.counts, random, epsilon)
            for each in chosen[part.asked]:
                votes[way][np.arange(len(test)), each] += 1
            taken = part.counts[held][np.arange(held.sum()), chosen[held]]
            flipped[way][0] += int((taken < ordered[:, -1]).sum())
            flipped[way][1] += int(held.sum())
            if math.isfinite(epsilon):
                smooth[way][0] += float(np.exp(-epsilon * (ordered[:, -1] - ordered[:, -2])).sum())
                smooth[way][1] += len(ordered)
    truth = table.labels[test]
    return {
        way: {
            **scores(table, truth, votes[way] / n_trees, seed),
            "labels changed": flipped[way][0] / max(flipped[way][1], 1),
            **({"smooth sensitivity": smooth[way][0] / smooth[way][1]} if smooth[way][1] else {}),
        }
        for way in ways
    }


def scores(table: Dataset, truth: np.ndarray, shares: np.ndarray, seed: int) -> dict[str, float]:
    """Accuracy; with two labels AUC, and F1 of the less frequent one. Ties are broken by a draw."""
    ties = np.random.default_rng((seed, 2)).random(shares.shape) * 1e-9
    guess = (shares + ties).argmax(axis=1)
    found = {"accuracy": float((guess == truth).mean())}
    if table.schema.n_labels == 2:
        rare = int(np.bincount(table.labels, minlength=2).argmin())
        found["AUC"] = float(roc_auc_score(truth == rare, shares[:, rare]))
        found["F1"] = float(f1_score(truth == rare, guess == rare, zero_division=0.0))
    return found


def cut_of(table: Dataset, repeat: int, fold: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and to be asked about."""
    return cut(table.labels, repeat, fold, folds)


def mechanisms(data: str, epsilon: float, n_trees: int, repeat: int, fold: int, folds: int) -> Found:
    """Every mechanism on the same trees and rows."""
    table = dataset(data)
    ways = {way: (way, epsilon) for way in (STRICT, PUBLISHED, GLOBAL)}
    return vote(table, cut_of(table, repeat, fold, folds), ways, repeat * folds + fold, n_trees)


def rows_used(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """Disjoint rows at the whole ε against all rows in every tree at ε/τ."""
    table, seed = dataset(data), repeat * folds + fold
    found: dict[str, Any] = {}
    for told, disjoint, share in (("disjoint rows", True, epsilon), ("all rows", False, epsilon / N_TREES)):
        ways = {f"{way}, {told}": (way, share) for way in (PUBLISHED, STRICT)}
        found |= vote(table, cut_of(table, repeat, fold, folds), ways, seed, disjoint=disjoint)
    return found


def depths(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """Half as deep as there are features, by theorem 2, and as deep as there are features."""
    table, seed = dataset(data), repeat * folds + fold
    m = len(table.schema.features)
    found: dict[str, Any] = {}
    for told, depth in (("m/2", m // 2), ("theorem 2", depth_of(table.schema)), ("m", m)):
        ways = {f"{way}, depth {told}": (way, epsilon) for way in (STRICT, PUBLISHED)}
        found |= vote(table, cut_of(table, repeat, fold, folds), ways, seed, depth=depth)
    return found


def drawn(data: str, epsilon: float, repeat: int) -> Found:
    """Another table of the same generator in every repetition; a tenth of its rows is asked about."""
    table = synthetic(data, seed=repeat)
    ways = {way: (way, epsilon) for way in (STRICT, PUBLISHED)}
    return vote(table, cut_of(table, repeat, 0, 10), ways, repeat)


def sizes(data: str, rows: int, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """Tables of every size."""
    table = dataset(data, rows)
    ways = {way: (way, epsilon) for way in (STRICT, PUBLISHED)}
    return vote(table, cut_of(table, repeat, fold, folds), ways, repeat * folds + fold)


def budgets(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """Private forests at an ε beside the same forest and Breiman's without privacy."""
    table, seed = dataset(data), repeat * folds + fold
    split = cut_of(table, repeat, fold, folds)
    ways = {way: (way, epsilon) for way in (STRICT, PUBLISHED)}
    return {**vote(table, split, ways, seed), **_not_private(data, repeat, fold, folds)}


@lru_cache(maxsize=64)
def _not_private(data: str, repeat: int, fold: int, folds: int) -> dict[str, Any]:
    table, seed = dataset(data), repeat * folds + fold
    split = cut_of(table, repeat, fold, folds)
    found = vote(table, split, {EXACT: (EXACT, math.inf)}, seed, disjoint=False)
    return {**found, BREIMAN: breiman(table, split, seed)}


def rivals(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """The forest, strict and as published, random trees with counts, a greedy tree, Breiman's forest."""
    table, seed = dataset(data), repeat * folds + fold
    split = cut_of(table, repeat, fold, folds)
    found: dict[str, Any] = vote(table, split, {way: (way, epsilon) for way in (STRICT, PUBLISHED)}, seed)
    learners: Mapping[str, Any] = {
        JPW: CountForestClassifier(epsilon, structure="jagannathan", voting="sum", random_state=seed),
        FS: GreedyTreeClassifier(epsilon, criterion="max", max_depth=5, shares="paper", zoom=False),
    }
    for way, learner in learners.items():
        found[way] = _learnt(table, split, learner, seed)
    return {**found, BREIMAN: breiman(table, split, seed)}


def _learnt(
    table: Dataset, split: tuple[np.ndarray, np.ndarray], learner: Any, seed: int
) -> dict[str, float]:
    """A learner of the product, on codes."""
    train, test = split
    schema = Schema(table.schema.features, table.schema.label, len(table.labels))
    learnt = Codes(np.ascontiguousarray(table.features[:, train]), table.labels[train])
    account = Ledger().create("study", ROOM)
    rows = Protected(MemoryEngine(lambda: learnt), schema, account, Repeatable(seed))
    asked = np.ascontiguousarray(table.features[:, test])
    shares = row_shares(learner.fit(rows).model_.predictor, asked, schema.n_labels)
    return scores(table, table.labels[test], shares, seed)


def breiman(table: Dataset, split: tuple[np.ndarray, np.ndarray], seed: int) -> dict[str, float]:
    """Breiman's forest of codes."""
    train, test = split
    forest = RandomForestClassifier(N_TREES, random_state=seed)
    forest.fit(table.features[:, train].T, table.labels[train])
    shares = np.zeros((len(test), table.schema.n_labels))
    shares[:, forest.classes_] = forest.predict_proba(table.features[:, test].T)
    return scores(table, table.labels[test], shares, seed)


def empty_leaves(data: str, n_trees: int, repeat: int, fold: int, folds: int) -> Found:
    """Share of leaves without a row, rows being parted among the trees."""
    table = dataset(data)
    train, _ = cut_of(table, repeat, fold, folds)
    depth, none = depth_of(table.schema), np.empty(0, np.int64)
    parts = leaves(table, train, none, n_trees, depth, True, repeat * folds + fold)
    held = sum(len(part.held) for part in parts)
    trees = "1 tree" if n_trees == 1 else f"{n_trees} trees"
    return {trees: {"empty leaves": 1 - held / (n_trees << depth)}}
