"""What can be asked of a small made-up table: questions of the wall, and whole learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from privet.audit.exact import Table
from privet.audit.stand import Program, Rows
from privet.audit.trial import DELTA, FINDING
from privet.data import encode, no_rows, open_table
from privet.data.values import text
from privet.estimators import (
    BoostingClassifier,
    BoostingRegressor,
    CountForestClassifier,
    CountForestRegressor,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    MajorityForestClassifier,
)
from privet.learners.random_trees import random_complete_trees
from privet.model import AdditiveModel, AdditiveNumbers, LabelForest, PrivacyCard
from privet.model.numbers import ResidualSizes
from privet.privacy import Budget, Protected
from privet.schema import Categorical, Continuous, Feature, Label, Schema, Target
from privet.structure import Additive, Bins, LevelTrees, Views

Programs = Mapping[str, Callable[[Fraction], Program]]

TOY = Schema(
    [
        Categorical("town", ["north", "south"]),
        Continuous("age", 0, 100),
        Continuous("children", 0, 4, integer=True),
    ],
    Label("ill", ["no", "yes"]),
    max_rows=10**6,
)
"""A feature of every kind and two labels."""

UNIVERSE: Sequence[tuple[int, ...]] = [
    (town, age, children, label)
    for town, (age, children), label in product((0, 1), ((20_000, 1), (45_000, 3)), (0, 1))
]
"""Rows of the toy table, as codes and a label: two towns, two ages with their children, two labels."""

NUMBERS = replace(TOY, label=Target("ill", 0, 1, integer=True))
"""The same columns, what is to be predicted a number."""


OPEN = Schema(
    [Categorical("town"), Continuous("age"), Continuous("children", integer=True)], TOY.label, max_rows=10**6
)
"""The same columns, ranges and categories open."""


def read_rows(table: Table, schema: Schema, of: Schema = TOY) -> Rows:
    """Rows of codes of one schema, as values that are read under a schema of the same columns."""
    columns = np.array(table, np.int64).reshape(-1, len(of.features) + 1).T
    values = {
        f.name: [_value(f, code) for code in codes] for f, codes in zip(of.features, columns, strict=False)
    }
    types = {f.name: pa.float64() if isinstance(f, Continuous) else pa.string() for f in of.features}

    def read(under: Schema, identities: np.ndarray) -> Rows:
        kept = {name: pa.array([known[i] for i in identities], types[name]) for name, known in values.items()}
        some = len(identities) > 0
        codes = encode(open_table(pa.table(kept), under), under, with_label=False) if some else no_rows(under)
        labels = columns[-1][identities].astype(np.uint8)
        return Rows(codes.features, labels, identities, codes.texts, read)

    return read(schema, np.arange(columns.shape[1]))


def _value(feature: Feature, code: int) -> str | float | None:
    """A value that has a code; None where it is missing."""
    if isinstance(feature, Categorical):
        return [*map(text, feature.categories), None, "elsewhere"][code]
    return None if code == feature.n_cells else float(feature.edge(code))


def rows_of(table: Table, schema: Schema = TOY) -> Rows:
    """Rows of codes as an engine; those of the toy schema where a schema of its columns is open."""
    return read_rows(table, schema, TOY if schema.open_features else schema)


def random_tables(
    schema: Schema, sizes: Sequence[int], random: np.random.Generator
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Tables of rows that are uniform over all codes of a schema, missing and unknown ones among them."""
    bounds = [*(feature.n_codes for feature in schema.features), schema.n_labels]
    for size in sizes:
        yield tuple(tuple(row) for row in random.integers(bounds, size=(size, len(bounds))).tolist())


@lru_cache
def _trees(n_trees: int, depth: int) -> Any:
    return random_complete_trees(TOY, n_trees, depth, np.random.RandomState(1))


def _level_trees() -> LevelTrees:
    """Two trees of three levels each, too few leaves to need them, but of their kind."""
    view = np.array([[0, 1, 0], [1, 0, 1]], np.int32)
    radix = np.array([[TOY.features[0].n_codes, 2, 2], [2, 2, 2]], np.int64)
    threshold = np.array([[0, 30_000, 1], [30_000, 1, 10_000]], np.uint16)
    return LevelTrees(Views.of(3), view, threshold, radix)


@lru_cache
def _predictor() -> Any:
    """A released forest to be scored: its labels are made up."""
    labels = np.array([[0, 1], [1, 1]], np.uint16)
    card = PrivacyCard("1", "0", "", True, [], [], TOY.fingerprint, "", "", {}, "")
    return LabelForest(_trees(2, 1), labels, TOY, card).predictor


QUESTIONS: Programs = {
    "number-of-rows": lambda e: lambda p: p.noisy_count(epsilon=e),
    "rows-where": lambda e: lambda p: p.noisy_count("age >= 50 or town = south", epsilon=e),
    "rows-by-column": lambda e: lambda p: p.noisy_column_rows(["town", "age"], bins=3, epsilon=e),
    "choose-condition": lambda e: lambda p: p.choose(["age >= 50", "town = south", "ill = yes"], epsilon=e),
    "least-frequent-item": lambda e: lambda p: p.choose_item("town", "ill", least=True, epsilon=e),
    "quantile": lambda e: lambda p: p.noisy_quantile("children", "0.3", "town", epsilon=e),
    "moments": lambda e: lambda p: p.noisy_moments("children", "town", epsilon=e),
    "rows-by-leaf": lambda e: lambda p: p.noisy_histogram(_trees(2, 2), epsilon=e),
    "labels-of-leaves": lambda e: lambda p: p.choose_label(_trees(2, 1), epsilon=e),
    "labels-of-own-rows": lambda e: lambda p: p.split(2).choose_label(_trees(2, 1), epsilon=e),
    "frequent-cells": lambda e: lambda p: p.noisy_cells(_level_trees(), epsilon=e, false_cells=4),
    "errors-of-model": lambda e: lambda p: p.noisy_losses(_predictor(), "errors", epsilon=e),
    "log-loss-of-model": lambda e: lambda p: p.noisy_losses(_predictor(), "log loss", epsilon=e),
    "squares-of-model": lambda e: lambda p: p.noisy_losses(_predictor(), "squared error", epsilon=e),
    "rows-by-prediction": lambda e: lambda p: p.noisy_predicted_rows(_predictor(), epsilon=e),
    "shares-by-bin": lambda e: lambda p: p.noisy_reliability(_predictor(), epsilon=e),
    "rows-by-sureness": lambda e: lambda p: p.noisy_sure_rows(_predictor(), (0.5, 0.8), epsilon=e),
    "rows-by-score": lambda e: lambda p: p.noisy_score_rows(_predictor(), epsilon=e),
}
"""Questions of the wall, by themselves; those of boosting and of growing trees are asked by learners."""


@lru_cache
def _additive() -> Additive:
    """A released model of shapes and two trees, all made up."""
    tables = [
        np.arange(f.n_codes) * size // f.n_codes for f, size in zip(TOY.features, (4, 3, 2), strict=True)
    ]
    random = np.random.default_rng(1)
    turns = np.zeros((9, 2), np.uint8)
    turns[[2, 3, 5], 0] = 2, 2, 1  # by town, then by age
    turns[[6, 8], 1] = 2, 1  # by age, then by children
    return Additive(
        Bins.of(tables, [4, 3, 2]),
        np.array([0.4]),
        random.normal(0, 0.2, (9, 1)),
        np.array([[0, 1], [1, 2]], np.int32),
        turns,
        random.normal(0, 0.2, (2, 4, 1)),
    )


NARROW = 0.25

NUMBER_QUESTIONS: Programs = {
    "rows-by-number": lambda e: lambda p: p.noisy_target_rows(_additive(), NARROW, epsilon=e),
    "rows-by-bin-and-number": lambda e: lambda p: p.noisy_bin_target_rows(_additive(), NARROW, epsilon=e),
    "residuals-by-bin": lambda e: lambda p: p.noisy_bin_residuals(_additive(), [0, 1], NARROW, epsilon=e),
    "residuals-by-leaf": lambda e: lambda p: p.noisy_leaf_residuals(_additive(), 2, NARROW, epsilon=e),
    "rows-by-leaf-and-number": lambda e: (
        lambda p: p.noisy_leaf_target_rows(_trees(2, 2), 0.5, NARROW, epsilon=e)
    ),
    "rows-by-error": lambda e: lambda p: p.noisy_error_rows(_additive(), [0.2, 0.5, 0.9], epsilon=e),
    "sums-of-errors": lambda e: lambda p: p.noisy_error_sums(_additive(), 2, NARROW, epsilon=e),
    "number-by-two-scores": lambda e: (
        lambda p: p.noisy_pair_target_rows(_additive(), _additive(), [0.0], [0.2, 0.6], NARROW, epsilon=e)
    ),
    "sizes-of-residuals": lambda e: lambda p: p.noisy_residual_rows(_additive(), [0.2, 0.5, 0.9], epsilon=e),
}
"""Questions about a number to predict, in a width that cuts most residuals."""


OPEN_QUESTIONS: Programs = {
    "rows-by-range": lambda e: lambda p: p.noisy_range_rows(_line_bins(), [1, 2], epsilon=e),
    "common-values": lambda e: lambda p: p.common_values([0], epsilon=e, delta=FINDING),
    "common-values-gaussian": lambda e: lambda p: p.common_values([0], rho=_finding_rho(e), delta=FINDING),
}
"""Questions that find what a schema leaves open."""


def _line_bins() -> Bins:
    """Cells of the whole line, gathered into eight; one of any other feature."""
    tables = [
        np.arange(f.n_codes) * 8 // f.n_codes if j else np.zeros(2) for j, f in enumerate(OPEN.features)
    ]
    return Bins.of([table.astype(np.int64) for table in tables], [1, 8, 8])


def _finding_rho(epsilon: Fraction) -> Fraction:
    return Budget(epsilon, DELTA, FINDING).rho


def _fitted(estimator: type[Any], **parameters: Any) -> Callable[[Fraction], Program]:
    return lambda e: lambda p: estimator(epsilon=e, **parameters).fit(p).model_


def _started(estimator: type[Any], schema: Schema) -> Callable[[Fraction], Program]:
    """Fits that start from a made-up model."""
    card = PrivacyCard("1", "0", "", True, [], [], schema.fingerprint, "", "", {}, "")
    shares, bands = np.repeat(1 / np.array([4, 3, 2]), [4, 3, 2]), np.full(9, 0.1)
    start: Any = AdditiveModel(_additive(), shares, bands, schema, card)
    if isinstance(schema.label, Target):
        sizes = ResidualSizes(np.zeros(0), np.zeros(0))
        start = AdditiveNumbers(_additive(), shares, bands, schema, card, sizes)
    return lambda e: lambda p: estimator(epsilon=e, random_state=1).fit(p, start=start).model_


def _in_batches(estimator: type[Any], **parameters: Any) -> Callable[[Fraction], Program]:
    """Fits of half the budget, to which the same people are added as another batch, for the other half."""

    def make(epsilon: Fraction) -> Program:
        def program(protected: Protected) -> Any:
            fitted = estimator(epsilon=epsilon / 2, **parameters).partial_fit(protected)
            return fitted.partial_fit(protected).model_

        return program

    return make


SMALL: Mapping[str, Any] = {"n_trees": 2, "max_depth": 2, "random_state": 1}
LEARNERS: Programs = {
    "majority-forest": _fitted(MajorityForestClassifier, n_trees=2, max_depth=1, random_state=1),
    "count-forest": _fitted(CountForestClassifier, **SMALL),
    "count-forest-own-rows": _fitted(CountForestClassifier, rows="disjoint", **SMALL),
    "count-forest-multiway": _fitted(CountForestClassifier, structure="jagannathan", **SMALL),
    "count-forest-batches": _in_batches(CountForestClassifier, **SMALL),
    "boosting": _fitted(BoostingClassifier, random_state=1),
    "boosting-started": _started(BoostingClassifier, TOY),
    "greedy-tree": _fitted(GreedyTreeClassifier, max_depth=2),
    "greedy-tree-gini": _fitted(GreedyTreeClassifier, max_depth=2, criterion="gini"),
    "greedy-tree-gain": _fitted(GreedyTreeClassifier, max_depth=2, criterion="information_gain"),
    "greedy-tree-bins": _fitted(GreedyTreeClassifier, max_depth=2, continuous="bins", n_bins=3),
    "greedy-forest": _fitted(GreedyForestClassifier, n_trees=2, max_depth=2),
    "counting-tree": _fitted(CountingTreeClassifier, max_depth=2, n_bins=3),
    "counting-tree-sums": _fitted(CountingTreeClassifier, variant="sum-queries", max_depth=2, n_bins=3),
}
"""Small forms of the learners, in pure ε."""

LEARNERS_WITH_DELTA: Programs = {
    "count-forest-delta": _fitted(CountForestClassifier, delta=DELTA, **SMALL),
    "boosting-delta": _fitted(BoostingClassifier, delta=DELTA, random_state=1),
    "greedy-tree-delta": _fitted(GreedyTreeClassifier, delta=DELTA, max_depth=2),
    "greedy-forest-delta": _fitted(GreedyForestClassifier, delta=DELTA, n_trees=2, max_depth=2),
    "counting-tree-delta": _fitted(CountingTreeClassifier, delta=DELTA, max_depth=2, n_bins=3),
}
"""The same under zCDP."""

OPEN_LEARNERS: Programs = {
    "boosting-open": _fitted(BoostingClassifier, delta=DELTA, random_state=1),
    "count-forest-open": _fitted(CountForestClassifier, delta=DELTA, **SMALL),
    "greedy-tree-open": _fitted(GreedyTreeClassifier, delta=DELTA, max_depth=2),
    "greedy-forest-open": _fitted(GreedyForestClassifier, delta=DELTA, n_trees=2, max_depth=2),
    "counting-tree-open": _fitted(CountingTreeClassifier, delta=DELTA, max_depth=2, n_bins=3),
}
"""Learners that find ranges and categories first."""

NUMBER_LEARNERS: Programs = {
    "boosting-regressor": _fitted(BoostingRegressor, random_state=1),
    "boosting-regressor-started": _started(BoostingRegressor, NUMBERS),
    "count-forest-regressor": _fitted(CountForestRegressor, **SMALL),
    "count-forest-regressor-batches": _in_batches(CountForestRegressor, **SMALL),
}
NUMBER_LEARNERS_WITH_DELTA: Programs = {
    "boosting-regressor-delta": _fitted(BoostingRegressor, delta=DELTA, random_state=1),
    "count-forest-regressor-delta": _fitted(CountForestRegressor, delta=DELTA, **SMALL),
}
"""Learners that predict numbers."""
