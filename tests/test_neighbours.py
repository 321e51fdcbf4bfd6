"""Every question against what it was paid for, on small tables and all rows that may be added to them.

The questions hold what somebody hostile may hand in: models of infinite and undefined scores, ranges at the
end of what floats can say, all kinds of costs. What a mechanism is given is written down for a table and for
the table with one row more; the law of the noise and how far the row moved the numbers must fit each other.
The auditor looks at programs; this looks at each question by itself, by arithmetic of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import typeof

from privet import Budget, Categorical, Continuous, Date, Label, Ledger, Schema, Target, compiled
from privet.answers import Law
from privet.data import Codes
from privet.data.codes import code_dtype
from privet.engines import Batch, MemoryEngine
from privet.errors import QuestionError
from privet.noise.bits import RowDraws
from privet.noise.samplers import GAUSSIAN, LAPLACE
from privet.privacy import Cost, Mechanisms, Protected
from privet.privacy.question import Question
from privet.privacy.questions import (
    QUESTIONS,
    boosting,
    columns,
    errors,
    finding,
    moments,
    numbers,
    pairs,
    runs,
    scores,
    trees,
)
from privet.privacy.questions.finding import CommonValues
from privet.structure import (
    Additive,
    Bins,
    CompleteTrees,
    LeafVotes,
    LevelTrees,
    MultiwayTrees,
    Splits,
    Views,
    Weighed,
)

COSTS = (
    Cost.pure("0.3"),
    Cost.pure(20),
    Cost.pure("1e-5"),
    Cost.zcdp("0.01", gaussian=True),
    Cost.zcdp(3, gaussian=True),
    Cost.zcdp("1e-7", gaussian=True),
)
N_ROWS = 12
DELTA = Fraction(1, 10**6)
SHARED = RowDraws(b"a key that both tables share")

FEATURES = [
    Categorical("town", ["north", "south"]),
    Continuous("age", 0, 100),
    Continuous("children", 0, 4, integer=True),
    Date("seen", "2020-01-01", "2020-02-01"),
]
OPEN = [Categorical("town"), Categorical("job"), *FEATURES[1:]]
HUGE, TINY = Target("y", -1e30, 1e30), Target("y", 1.0, 1.0 + 2**-36)
LABELS = [Label("y", list(range(n))) for n in (1, 2, 3, 7)]
TARGETS = [Target("y", 0, 1), Target("y", -5, 9, integer=True), HUGE, TINY]


class Seen(Mechanisms):
    """Mechanisms that write down what they are given, and give it back without noise."""

    def __init__(self) -> None:
        self.private, self.seen = False, []

    def row_draws(self) -> RowDraws:
        return SHARED

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        self.seen.append((law, np.array(exact)))
        return exact

    def choose(self, exact_scores: np.ndarray, law: Law) -> np.ndarray:
        self.seen.append((law, np.array(exact_scores).reshape(-1, exact_scores.shape[-1])))
        return np.zeros(exact_scores.shape[:-1], np.int64)

    def choose_in_ranges(self, exact_best, exact_mass, thresholds, locate, table):
        self.seen.append((Law("ranges", table.rate), np.where(exact_mass > 0, exact_best, 0)))
        return np.argmax(exact_mass > 0, axis=1), np.zeros(len(exact_best), np.int64)

    def keep_frequent(self, cells, exact, n_cells, scale, threshold):
        self.seen.append((Law(LAPLACE, scale), dict(zip(cells.tolist(), exact.tolist(), strict=True))))
        return cells, exact

    def keep_common(self, keys, exact, law, threshold):
        self.seen.append((law, dict(zip(keys, exact.tolist(), strict=True))))
        return list(keys), exact


class Table:
    """Rows as codes."""

    def __init__(self, features: np.ndarray, labels: np.ndarray, texts: dict[int, np.ndarray]) -> None:
        self.features, self.labels, self.texts = features, labels, texts

    def sum(self, tally: Callable[[Batch], Any]) -> Any:
        rows = np.arange(len(self.labels), dtype=np.uint64)  # a draw of a row's own goes with its key
        return tally(Batch(self.features, self.labels, rows, {}, self.texts))

    def first(self, n: int) -> Table:
        texts = {j: values[:n] for j, values in self.texts.items()}
        return Table(np.ascontiguousarray(self.features[:, :n]), self.labels[:n], texts)


def table_of(schema: Schema, random: np.random.Generator, n: int = N_ROWS) -> Table:
    """Rows of any code, the ends of all ranges and what is missing more often than others."""

    def codes(n_codes: int) -> np.ndarray:
        ends = np.array([0, max(n_codes - 2, 0), n_codes - 1])
        return np.where(random.random(n) < 0.5, random.choice(ends, n), random.integers(n_codes, size=n))

    dtype = code_dtype(max(feature.n_codes for feature in schema.features))
    features = np.array([codes(feature.n_codes) for feature in schema.features], dtype)
    label = schema.label
    if isinstance(label, Target):
        labels = np.minimum(codes(label.n_codes), label.n_cells - 1).astype(np.uint16)
    else:
        labels = random.integers(len(label.values), size=n).astype(np.uint8)
    words = np.array(["a", "b", "c", None, "d" * 101, "\x07"], object)
    return Table(features, labels, {j: random.choice(words, n) for j in schema.open_features})


def hostile(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of any size, and none."""
    found = random.uniform(-1, 1, shape) * 10.0 ** random.integers(-320, 309, shape)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 0.5])
    plain = random.normal(size=shape)
    which = random.random(shape)
    return np.where(which < 0.2, random.choice(odd, shape), np.where(which < 0.7, plain, found))


def some_bins(schema: Schema, random: np.random.Generator) -> Bins:
    sizes = [int(random.integers(1, min(f.n_codes, 6) + 1)) for f in schema.features]
    tables = [random.integers(size, size=f.n_codes) for f, size in zip(schema.features, sizes, strict=True)]
    return Bins.of(tables, sizes)


def some_additive(schema: Schema, random: np.random.Generator) -> Additive:
    bins, n_trees, n = some_bins(schema, random), 3, schema.n_scores
    turns = np.zeros((bins.n_bins, n_trees), np.uint8)
    for t in range(n_trees):
        for bit, j in enumerate(random.choice(len(schema.features), 2, replace=False)):
            turns[bins.slices[j], t] = random.integers(2, size=np.diff(bins.first)[j]) << bit
    features = np.zeros((n_trees, 2), np.int32)
    values = hostile(random, n), hostile(random, bins.n_bins, n), hostile(random, n_trees, 4, n)
    return Additive(bins, values[0], values[1], features, turns, values[2])


def complete(schema: Schema, random: np.random.Generator, n_trees: int = 3, depth: int = 2) -> CompleteTrees:
    view = random.integers(len(schema.features), size=(n_trees, 1 << depth)).astype(np.uint16)
    ends = np.array([0, 1, 2, 32_768, 65_535])
    return CompleteTrees(
        Views.of(len(schema.features)), view, random.choice(ends, view.shape).astype(np.uint16), depth
    )


def multiway(schema: Schema, random: np.random.Generator) -> MultiwayTrees:
    """Two trees: one by every code of the first feature, one by a threshold of another."""
    width = schema.features[0].n_codes
    view = np.full(2 + width + 2, -1, np.int32)
    threshold, child = np.zeros(len(view), np.uint16), np.zeros(len(view), np.int64)
    view[0], view[1] = 0, random.integers(1, len(schema.features))
    threshold[1], child[0], child[1] = random.integers(1, 4), 2, 2 + width
    child[2:] = random.permutation(width + 2)
    return MultiwayTrees(Views.of(len(schema.features)), np.arange(2, dtype=np.int64), view, threshold, child)


def some_splits(schema: Schema, forest: MultiwayTrees, random: np.random.Generator) -> Splits:
    """Choices with and without thresholds; some of them are not allowed."""
    sizes = np.array([feature.n_codes for feature in schema.features], np.int32)
    view = np.array([0, 1, 2, 2], np.int32)
    lowest = np.tile(np.array([0, 1, 1, 0], np.int32), (forest.n_leaves, 1))
    highest = np.tile(np.array([0, sizes[1] - 1, sizes[2] - 1, 0], np.int32), (forest.n_leaves, 1))
    shut = random.random(lowest.shape) < 0.2
    return Splits(
        view, np.where(shut, 1, lowest).astype(np.int32), np.where(shut, 0, highest).astype(np.int32)
    )


def predictors(schema: Schema, random: np.random.Generator) -> Any:
    n = 1 if isinstance(schema.label, Target) else schema.n_labels
    forest = complete(schema, random)
    values = hostile(random, forest.n_trees, forest.n_leaves, n)
    prior = hostile(random, n) if random.random() < 0.5 else None
    found = [some_additive(schema, random), LeafVotes(forest, values, prior)]
    pointed = multiway(schema, random)
    found.append(LeafVotes(pointed, random.integers(0, 9, (pointed.n_leaves, n)), prior))
    if n > 1:
        found += [Weighed(each, hostile(random, n), hostile(random, n)) for each in found[:2]]
    return found[random.integers(len(found))]


def edges(random: np.random.Generator) -> tuple[float, ...]:
    found = np.unique(hostile(random, 5))
    return tuple(float(edge) for edge in found if np.isfinite(edge)) or (0.0,)


def width(random: np.random.Generator) -> float:
    return float(random.choice([5e-308, 1e-9, 0.25, 1.0, 1e300]))


def of_columns(kind: type[Any]) -> Callable[..., Any]:
    """Questions about columns."""

    def make(schema: Schema, random: np.random.Generator) -> Any:
        where = random.choice(np.array([None, "age >= 50", "town = north or children < 2"], object))
        by = [(), ("town",), ("town", "children")][random.integers(3)]
        least = bool(random.integers(2))
        number, share = (
            str(random.choice(["age", "children"])),
            str(random.choice(["0.5", "0.999999", "1/3"])),
        )
        return {
            columns.RowCount: lambda: kind(where),
            columns.ColumnRows: lambda: kind(("town", "age", "y"), where, 4),
            columns.Choice: lambda: kind(
                ("age >= 50", "age >= 0", "town = south", "children = 3"), where, least
            ),
            columns.ItemChoice: lambda: kind("age", by, where, least, 5),
            columns.Quantile: lambda: kind("seen", share, by, where),
            moments.Moments: lambda: kind(number, tuple(set(by) - {number}), where, 3),
        }[kind]()

    return make


def of_open(schema: Schema, random: np.random.Generator) -> Any:
    asked = [(0,), (1,), (0, 1)][random.integers(3)]
    return CommonValues(asked)


def ranges(schema: Schema, random: np.random.Generator) -> Any:
    asked = [(2,), (3, 2), (2, 3, 4)][random.integers(3)]
    target = (1, schema.target.n_cells - 1) if isinstance(schema.label, Target) else ()
    return finding.RangeRows(some_bins(schema, random), asked, target)


S, R = Schema, np.random.Generator
LABELLED = [Schema(FEATURES, label, max_rows=1000) for label in LABELS]
TWO = LABELLED[1:2]
NUMBERED = [Schema(FEATURES, target) for target in TARGETS]
OPENED = [Schema(OPEN, LABELS[1]), Schema(OPEN, TARGETS[1])]

MAKERS: dict[type[Question[Any]], tuple[list[Schema], Callable[[S, R], Any]]] = {
    boosting.LabelRows: (LABELLED, lambda s, r: boosting.LabelRows()),
    boosting.BinRows: (LABELLED, lambda s, r: boosting.BinRows(some_bins(s, r))),
    boosting.BinGradients: (LABELLED, lambda s, r: boosting.BinGradients(some_additive(s, r), (2, 0))),
    boosting.LeafRows: (LABELLED + NUMBERED, lambda s, r: boosting.LeafRows(some_additive(s, r), 2)),
    boosting.LeafGradients: (LABELLED, lambda s, r: boosting.LeafGradients(some_additive(s, r), 3)),
    **{
        kind: (TWO + NUMBERED[:2], of_columns(kind))
        for kind in (
            *(columns.RowCount, columns.ColumnRows, columns.Choice, columns.ItemChoice, columns.Quantile),
            moments.Moments,
        )
    },
    errors.ErrorRows: (NUMBERED, lambda s, r: errors.ErrorRows(predictors(s, r), edges(r))),
    errors.ErrorSums: (
        NUMBERED,
        lambda s, r: errors.ErrorSums(predictors(s, r), int(r.integers(1, 3)), width(r)),
    ),
    finding.RangeRows: (OPENED, ranges),
    finding.CommonValues: (OPENED, of_open),
    numbers.BinResiduals: (
        NUMBERED,
        lambda s, r: numbers.BinResiduals(some_additive(s, r), (3, 1), width(r)),
    ),
    numbers.LeafResiduals: (NUMBERED, lambda s, r: numbers.LeafResiduals(some_additive(s, r), 3, width(r))),
    numbers.TargetRows: (NUMBERED, lambda s, r: numbers.TargetRows(some_additive(s, r), width(r))),
    numbers.BinTargetRows: (NUMBERED, lambda s, r: numbers.BinTargetRows(some_additive(s, r), width(r))),
    numbers.ResidualRows: (NUMBERED, lambda s, r: numbers.ResidualRows(some_additive(s, r), edges(r))),
    numbers.LeafTargetRows: (
        NUMBERED,
        lambda s, r: numbers.LeafTargetRows(complete(s, r), float(r.choice([-1e308, 0.3, 7])), width(r)),
    ),
    pairs.PairRows: (
        LABELLED,
        lambda s, r: pairs.PairRows(some_additive(s, r), some_additive(s, r), edges(r), edges(r)),
    ),
    pairs.PairTargetRows: (
        NUMBERED,
        lambda s, r: pairs.PairTargetRows(
            some_additive(s, r), some_additive(s, r), edges(r), edges(r), width(r)
        ),
    ),
    scores.Losses: (
        LABELLED,
        lambda s, r: scores.Losses(predictors(s, r), str(r.choice(list(scores.LOSSES)))),
    ),
    scores.PredictedRows: (LABELLED, lambda s, r: scores.PredictedRows(predictors(s, r))),
    scores.Reliability: (LABELLED[1:], lambda s, r: scores.Reliability(predictors(s, r))),
    scores.SureRows: (LABELLED[1:], lambda s, r: scores.SureRows(predictors(s, r), edges(r))),
    scores.ScoreRows: (
        LABELLED[1:],
        lambda s, r: scores.ScoreRows(
            predictors(s, r), r.integers(4, size=256) if r.random() < 0.5 else None
        ),
    ),
    trees.LeafLabelRows: (
        LABELLED,
        lambda s, r: (
            trees.LeafLabelRows(complete(s, r), bool(r.integers(2)))
            if r.random() < 0.7
            else trees.LeafLabelRows(multiway(s, r))
        ),
    ),
    trees.LeafLabels: (LABELLED, lambda s, r: trees.LeafLabels(complete(s, r), bool(r.integers(2)))),
    trees.FrequentCells: (LABELLED, lambda s, r: trees.FrequentCells(levels(s, r), 3)),
    trees.LeafTotals: (LABELLED, lambda s, r: trees.LeafTotals(multiway(s, r))),
    trees.SplitRows: (
        LABELLED[1:3],
        lambda s, r: trees.SplitRows(t := multiway(s, r), fans(s, t, r), bool(r.integers(2))),
    ),
    trees.SplitChoice: (
        LABELLED[1:3],
        lambda s, r: trees.SplitChoice(
            t := multiway(s, r), some_splits(s, t, r), str(r.choice(["max", "gini", "information_gain"]))
        ),
    ),
}


def levels(schema: Schema, random: np.random.Generator) -> LevelTrees:
    view = random.integers(len(schema.features), size=(2, 2)).astype(np.int32)
    return LevelTrees(Views.of(len(schema.features)), view, np.ones((2, 2), np.uint16), np.full((2, 2), 2))


def fans(schema: Schema, forest: MultiwayTrees, random: np.random.Generator) -> Splits:
    """Choices among columns of few codes, some of them not allowed."""
    highest = np.where(random.random((forest.n_leaves, 2)) < 0.3, -1, 0).astype(np.int32)
    return Splits(np.array([0, 2], np.int32), np.zeros_like(highest), highest)


def losses(law: Law, one: Any, other: Any) -> Iterator[tuple[Fraction, Fraction]]:
    """What an answer costs in ε (of Gaussian noise that is infinite: 0 stands for it) and in ρ."""
    if isinstance(one, dict):
        keys = sorted({*one, *other}, key=str)
        one, other = (np.array([each.get(key, 0) for key in keys]) for each in (one, other))
    assert one.shape == other.shape
    moved = (one - other).reshape(-1, one.shape[-1] if one.ndim else 1).tolist()
    if law.name == LAPLACE:
        yield Fraction(sum(abs(x) for row in moved for x in row)) / law.parameter, Fraction(0)
    elif law.name == GAUSSIAN:
        yield Fraction(0), Fraction(sum(x * x for row in moved for x in row)) / (2 * law.parameter)
    else:
        for row in moved:
            span = max(0, *row) - min(0, *row)  # of opposite signs: both are in the worst case
            yield span * law.parameter, (span * law.parameter) ** 2 / 8


def check(kind: type[Question[Any]], random: np.random.Generator) -> int:
    schemas, make = MAKERS[kind]
    schema = schemas[random.integers(len(schemas))]
    table, cost = table_of(schema, random), COSTS[random.integers(len(COSTS))]
    question = make(schema, random)
    if kind.has_delta:
        cost = cost.with_delta(DELTA)
    if cost.epsilon is None and kind.change is not Question.change:
        change = question.change(cost, *question.sizes(schema))
        cost = cost if not hasattr(change, "shares") else Cost.zcdp(cost.rho)
    found = []
    for n in (N_ROWS, N_ROWS - 1):
        mechanisms = Seen()
        account = Ledger().create("people", Budget(100, "0.5", "0.1"))
        rows = Protected(table.first(n), schema, account, mechanisms)
        try:
            rows.ask(question, cost)
        except QuestionError as refused:
            if "stays spent" in str(refused):
                raise
            return 0  # such noise is not offered
        found.append(mechanisms.seen)
        assert account.spent().delta == cost.delta
    epsilon = rho = Fraction(0)
    for (law, one), (same, other) in zip(*found, strict=True):
        assert law == same
        for in_epsilon, in_rho in losses(law, one, other):
            epsilon, rho = epsilon + in_epsilon, rho + in_rho
    if cost.epsilon is not None:
        assert epsilon <= cost.epsilon, (question, float(epsilon), cost)
    else:
        assert rho <= cost.rho, (question, float(rho), cost)
    return 1


def test_every_question_is_tried():
    assert {*QUESTIONS.values()} - {*MAKERS} == {runs.BestOfRuns}
    for kind, (schemas, _) in MAKERS.items():
        assert {type(schema.label) for schema in schemas} == {*kind.predicts}, kind


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.method)
def test_a_row_moves_no_answer_further_than_was_paid_for(kind):
    random = np.random.default_rng(int.from_bytes(kind.method.encode()[-6:]))
    assert sum(check(kind, random) for _ in range(25)) >= 8


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.method)
def test_rows_do_not_decide_which_kernels_a_question_calls_nor_with_what_types(kind, monkeypatch):
    """What is called for the first time is compiled, which takes seconds and leaves files."""
    called = set()

    def noting(call):
        def noted(kernel, *arguments, room=tuple):
            given = map(compiled._contiguous, (*room(), *arguments))
            called.add((kernel, *(str(typeof(each)) for each in given)))
            return call(kernel, *arguments, room=room)

        return noted

    for call in (compiled.run, compiled.total):
        for module in list(sys.modules.values()):
            if getattr(module, call.__name__, None) is call:
                monkeypatch.setattr(module, call.__name__, noting(call))
    schemas, make = MAKERS[kind]
    for seed, cost in enumerate(COSTS[:2]):
        schema = schemas[seed % len(schemas)]
        question = make(schema, np.random.default_rng(seed))
        cost, seen = cost.with_delta(DELTA) if kind.has_delta else cost, []
        for n_rows in (0, 1, 600):
            table = table_of(schema, np.random.default_rng(n_rows), n_rows)
            codes = Codes(table.features, table.labels, table.texts)
            account = Ledger().create("people", Budget(100, "0.5", "0.1"))
            called.clear()
            Protected(MemoryEngine(lambda codes=codes: codes), schema, account).ask(question, cost)
            seen.append(set(called))
        assert seen[0] == seen[1] == seen[2]
