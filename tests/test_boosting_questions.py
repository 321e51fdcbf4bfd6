"""The questions of boosting: exact sensitivities over all neighbours, plain twins, refusals, noise."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from privet import Budget, Categorical, Continuous, Label, Ledger, QuestionError, Schema, protect
from privet.kernels.gradients import (
    Grid,
    count_bins,
    count_leaves_of_last,
    sum_gradients_by_bin,
    sum_gradients_by_leaf,
)
from privet.kernels.score import score
from privet.privacy import Charge, Cost, Repeatable
from privet.privacy.questions.boosting import LabelRows, gradient_clip, gradient_grid
from privet.soundness import check_additive, check_bins
from privet.structure import Additive, Bins

N_CODES = 3


def random_additive(rng, n_features, n_labels, n_trees=5, depth=2, scale=1.0) -> Additive:
    """A model over features of three codes; each is its own bin, but for the last feature's."""
    tables = [np.arange(N_CODES)] * (n_features - 1) + [np.array([0, 1, 1])]
    bins = Bins.of(tables, [N_CODES] * (n_features - 1) + [2])
    n_scores = 1 if n_labels == 2 else n_labels
    features = rng.integers(n_features, size=(n_trees, depth)).astype(np.int32)
    turns = np.zeros((bins.n_bins, n_trees), np.uint8)
    for tree, level in itertools.product(range(n_trees), range(depth)):
        where = np.arange(bins.n_bins)[bins.slices[features[tree, level]]]
        right = where[rng.random(len(where)) < 0.5]
        turns[right, tree] |= np.uint8(1 << (depth - 1 - level))
    return Additive(
        bins,
        rng.normal(0, scale, n_scores),
        rng.normal(0, scale, (bins.n_bins, n_scores)),
        features,
        turns,
        rng.normal(0, scale, (n_trees, 1 << depth, n_scores)),
    )


def random_rows(rng, n_rows, n_features, n_labels):
    codes = rng.integers(N_CODES, size=(n_features, n_rows)).astype(np.uint8)
    return codes, rng.integers(n_labels, size=n_rows).astype(np.uint8)


def bins_of_row(additive: Additive, code: np.ndarray) -> list[int]:
    views, first = additive.bins.views, additive.bins.first
    return [int(first[j] + views.table[views.start[j] + c]) for j, c in enumerate(code)]


def leaf_of_row(additive: Additive, code: np.ndarray, tree: int) -> int:
    """Follow the levels one by one: which side of a level's cut is the row's bin on?"""
    bins, leaf = bins_of_row(additive, code), 0
    for level, feature in enumerate(additive.features[tree]):
        bit = additive.depth - 1 - level
        leaf = 2 * leaf + (int(additive.turns[bins[feature], tree]) >> bit & 1)
    return leaf


def plain_scores(additive: Additive, code: np.ndarray, n_last: int = 0) -> np.ndarray:
    """In the order of the kernels: what is settled, the intercept, the last trees."""
    total = np.zeros(additive.n_scores)
    for b in bins_of_row(additive, code):
        total += additive.shapes[b]
    for tree in range(additive.n_trees):
        if tree == additive.n_trees - n_last:
            total += additive.intercept
        total += additive.leaves[tree, leaf_of_row(additive, code, tree)]
    return total if n_last else total + additive.intercept


def plain_gradient(scores: np.ndarray, label: int, grid: Grid) -> np.ndarray:
    """Clipped, rounded, and lowered unit by unit until the integers keep the bound."""
    if len(scores) == 1:
        real = np.array([label - 1 / (1 + np.exp(-scores[0]))])
    else:
        powers = np.exp(scores - scores.max())
        real = np.eye(len(scores))[label] - powers / powers.sum()
    unit = 2.0**grid.fraction_bits
    bound = grid.bound / unit if grid.norm == 1 else np.sqrt(grid.bound) / unit
    size = np.linalg.norm(real, grid.norm)
    whole = np.floor(real * min(1.0, bound / size) * unit + 0.5)
    while _sizes(grid)(whole) > grid.bound:
        largest = np.abs(whole).argmax()
        whole[largest] -= np.sign(whole[largest])
    return whole


def grids(n_labels: int) -> list[Grid]:
    costs = [Cost.pure("0.5"), Cost.zcdp("0.1"), Cost.zcdp("1e-6")]
    return [gradient_grid(n_labels, 3, cost) for cost in costs]


@pytest.mark.parametrize("n_labels", [2, 3, 7])
def test_kernels_equal_their_plain_twins(n_labels):
    rng = np.random.default_rng(n_labels)
    additive = random_additive(rng, 4, n_labels, n_trees=11, depth=3)
    codes, labels = random_rows(rng, 1500, 4, n_labels)
    exact_leaves = np.array([[leaf_of_row(additive, c, t) for t in range(11)] for c in codes.T])
    exact_bins = np.array([bins_of_row(additive, c) for c in codes.T])
    scores = np.array([plain_scores(additive, c) for c in codes.T])
    np.testing.assert_allclose(score(additive, codes), scores, rtol=1e-12, atol=1e-12)

    by_bin = np.zeros((additive.bins.n_bins, n_labels), int)
    np.add.at(by_bin, (exact_bins, labels[:, None]), 1)
    np.testing.assert_array_equal(count_bins(additive.bins, codes, labels, n_labels), by_bin)
    by_leaf = np.zeros((4, 8), int)
    np.add.at(by_leaf, (np.arange(4)[None], exact_leaves[:, -4:]), 1)
    np.testing.assert_array_equal(count_leaves_of_last(additive, 4, codes), by_leaf)

    split_scores = np.array([plain_scores(additive, c, 4) for c in codes.T])
    kept: dict = {}
    for grid in grids(n_labels):
        gradients = np.array([plain_gradient(s, y, grid) for s, y in zip(scores, labels, strict=True)])
        bins = np.zeros((additive.bins.n_bins, additive.n_scores))
        asked = np.array([0, 2])
        np.add.at(bins, exact_bins[:, asked].ravel(), np.repeat(gradients, 2, axis=0))
        found = sum_gradients_by_bin(additive, asked, codes, labels, grid)
        # Clipped to its bound in L1 norm, an entry lies half-way between units: either is right.
        slack = np.bincount(exact_bins.ravel(), minlength=len(bins))[:, None] * (grid.norm == 1)
        assert (np.abs(found - bins) <= slack).all()
        assert (found != bins).mean() < 0.1
        gradients = np.array([plain_gradient(s, y, grid) for s, y in zip(split_scores, labels, strict=True)])
        leaves = np.zeros((4, 8, additive.n_scores))
        for row, gradient in enumerate(gradients):
            leaves[np.arange(4), exact_leaves[row, -4:]] += gradient
        for memory in (None, kept, kept):
            found = sum_gradients_by_leaf(additive, 4, codes, labels, grid, memory)
            assert (np.abs(found - leaves) <= by_leaf[..., None] * (grid.norm == 1)).all()
            assert (found != leaves).mean() < 0.1


def test_what_is_kept_of_a_batch_is_never_stale():
    """Models that differ in one array each, asked in turn of the same batch."""
    rng = np.random.default_rng(1)
    one = random_additive(rng, 4, 3)
    bins = Bins.of([np.arange(N_CODES)] * 3 + [np.array([0, 0, 1])], [N_CODES] * 3 + [2])
    models = [one, replace(one, bins=bins)]
    for name in ("intercept", "shapes", "leaves"):
        models.append(replace(one, **{name: getattr(one, name) + 0.5}))
    tables = [np.arange(N_CODES)] * 2 + [np.array([0, 0, 1])] * 2
    models += [replace(one, bins=Bins.of(tables, [N_CODES] * 2 + sizes)) for sizes in ([2, 3], [3, 2])]
    models.append(replace(one, turns=one.turns[:, ::-1].copy(), features=one.features[::-1].copy()))
    codes, labels = random_rows(rng, 300, 4, 3)
    grid, asked, kept = grids(3)[0], np.array([1, 3]), {}
    for model in models * 2:
        for question, what in ((sum_gradients_by_leaf, 2), (sum_gradients_by_bin, asked)):
            fresh = question(model, what, codes, labels, grid)
            np.testing.assert_array_equal(question(model, what, codes, labels, grid, kept), fresh)
        np.testing.assert_array_equal(
            count_leaves_of_last(model, 2, codes, kept), count_leaves_of_last(model, 2, codes)
        )
        model.bins.views.table[0] ^= 1  # the caller may write into its arrays


def all_tables(n_features: int, n_labels: int, n_rows: int):
    """Every table of a few rows, as sets of rows: order cannot matter to sums."""
    rows = list(itertools.product(*[range(N_CODES)] * n_features, range(n_labels)))
    for table in itertools.combinations_with_replacement(rows, n_rows):
        array = np.array(table, np.uint8).T
        yield np.ascontiguousarray(array[:-1]), np.ascontiguousarray(array[-1])


def changes(question, n_features, n_labels):
    """Change of an answer for every table of two rows and every row taken away from it."""
    for codes, labels in all_tables(n_features, n_labels, 2):
        whole = question(codes, labels)
        for kept in ([0], [1]):
            yield whole - question(np.ascontiguousarray(codes[:, kept]), labels[kept])


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_changes_one_count_of_every_block(n_labels):
    rng = np.random.default_rng(0)
    additive = random_additive(rng, 2, n_labels, n_trees=3)
    for change in changes(lambda c, y: count_bins(additive.bins, c, y, n_labels), 2, n_labels):
        assert np.abs(change).sum() == 2 and (change**2).sum() == 2
    for change in changes(lambda c, y: count_leaves_of_last(additive, 3, c), 2, n_labels):
        assert np.abs(change).sum() == 3 and (change**2).sum() == 3


@pytest.mark.parametrize("scale", [0.1, 3.0, 50.0])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_changes_gradients_within_the_bound(n_labels, scale):
    rng = np.random.default_rng(1)
    additive = random_additive(rng, 2, n_labels, n_trees=3, scale=scale)
    asked = np.array([0, 1])
    for grid in grids(n_labels):
        size = _sizes(grid)
        by_bin = changes(lambda c, y, g=grid: sum_gradients_by_bin(additive, asked, c, y, g), 2, n_labels)
        largest = max(size(change) for change in by_bin)
        assert largest <= 2 * grid.bound
        by_leaf = changes(lambda c, y, g=grid: sum_gradients_by_leaf(additive, 3, c, y, g), 2, n_labels)
        assert max(size(change) for change in by_leaf) <= 3 * grid.bound
        if scale == 50.0:  # some row is clipped: the bound is reached, or nearly, not merely kept
            assert largest > 1.8 * grid.bound


@pytest.mark.parametrize("n_labels", [2, 3, 12])
def test_the_bound_holds_for_any_scores(n_labels):
    """Also for scores that are infinite, undefined, huge or tied; row by row, in integers."""
    rng = np.random.default_rng(2)
    odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, 700.0, -745.0]
    n_scores = 1 if n_labels == 2 else n_labels
    codes = np.zeros((2, 1), np.uint8)
    for trial in range(400):
        additive = random_additive(rng, 2, n_labels, n_trees=0, scale=rng.choice([0.1, 2, 40]))
        if trial % 2:
            shapes = rng.choice(odd, additive.shapes.shape)
            additive = replace(additive, shapes=shapes, intercept=np.zeros(n_scores))
        for grid, label in itertools.product(grids(n_labels), range(n_labels)):
            labels = np.array([label], np.uint8)
            gradient = sum_gradients_by_bin(additive, np.array([0]), codes, labels, grid)
            assert _sizes(grid)(gradient) <= grid.bound


def _sizes(grid: Grid):
    return (lambda v: int(np.abs(v).sum())) if grid.norm == 1 else (lambda v: int((v**2).sum()))


def test_bounds_are_what_the_clip_says():
    assert gradient_clip(2, 1) == Fraction(1, 2) and gradient_clip(2, 2) == Fraction(1, 4)
    for n_labels, cost in itertools.product([2, 3, 7], [Cost.pure(1), Cost.zcdp(1), Cost.zcdp("1e-7")]):
        grid = gradient_grid(n_labels, 20, cost)
        exact = gradient_clip(n_labels, grid.norm) * 2 ** (grid.norm * grid.fraction_bits)
        assert exact - 1 < grid.bound <= exact


SCHEMA = Schema([Categorical("a", ["x"]), Categorical("b", ["x"])], Label("y", [0, 1, 2]))


def test_the_wall_refuses_overlapping_blocks():
    additive = random_additive(np.random.default_rng(0), 2, 3)
    check_additive(additive, SCHEMA)
    bins = additive.bins
    for broken in (
        Bins(bins.views, bins.first - 1),
        Bins.of([np.array([0, 1, 3]), np.array([0, 1, 1])], [3, 2]),
        Bins.of([np.arange(3), np.arange(3)], [3, 2]),
        Bins.of([np.arange(3)], [3]),
    ):
        with pytest.raises(QuestionError, match="do not fit"):
            check_bins(broken, SCHEMA)
    overfull = additive.turns.copy()
    overfull[0] = overfull[3] = 3
    with pytest.raises(QuestionError, match="turns"):
        check_additive(replace(additive, turns=overfull), SCHEMA)
    with pytest.raises(QuestionError, match="shape"):
        check_additive(replace(additive, shapes=additive.shapes[:-1]), SCHEMA)


def test_the_wall_refuses_arrays_that_a_cast_would_change():
    additive = random_additive(np.random.default_rng(0), 2, 3)
    bins = additive.bins
    tables = bins.views.table.astype(np.int64)
    for broken in (
        replace(additive, turns=additive.turns.astype(np.int64) - 256),
        replace(additive, leaves=additive.leaves[:, :, :0]),
        replace(additive, bins=replace(bins, first=bins.first.astype(np.uint8))),
        replace(additive, bins=replace(bins, views=replace(bins.views, table=tables - 5))),
    ):
        with pytest.raises(QuestionError, match="do not fit"):
            check_additive(broken, SCHEMA)


@pytest.mark.parametrize("n_trees", [0, -1, 6, 300, np.int16(9)])
def test_the_wall_refuses_trees_that_are_not_there(n_trees):
    protected = _protected(Budget(1))
    additive = random_additive(np.random.default_rng(0), 2, 3)
    for ask in (protected.noisy_leaf_rows, protected.noisy_leaf_gradients):
        with pytest.raises(QuestionError, match="of the last trees"):
            ask(additive, n_trees, epsilon=1)
    assert not protected.asked


@pytest.mark.parametrize("features", [[0, 0], [], [2], [-1], [[0, 1]]])
def test_the_wall_refuses_a_feature_asked_twice_or_unknown(features):
    protected = _protected(Budget(1))
    with pytest.raises(QuestionError, match="once"):
        protected.noisy_bin_gradients(random_additive(np.random.default_rng(0), 2, 3), features, epsilon=1)
    assert not protected.asked


def _protected(budget: Budget | None = None, account=None):
    account = account or Ledger().create("people", budget)
    table = {"a": ["x", "z"], "b": [None, "x"], "y": [0, 2]}
    return protect(pd.DataFrame(table), SCHEMA, account)


def test_a_refined_plan_costs_no_more_than_its_reserve():
    account = Ledger().create("people", Budget(1))
    protected = _protected(account=account)
    protected.reserve([Charge("later", Cost.pure("0.5"))])
    with pytest.raises(QuestionError, match="left of the plan"):
        protected.refine([LabelRows.plan(Cost.pure("0.6"))])
    with pytest.raises(QuestionError, match="left of the plan"):
        protected.refine([LabelRows.plan(Cost.zcdp("0.2"))])
    protected.refine([LabelRows.plan(Cost.pure("0.25"))] * 2)
    for _ in range(2):
        protected.noisy_label_rows(epsilon="0.25")
    assert account.spent().epsilon == Fraction(1, 2)
    assert len(account.ledger.history("people")) == 2


@pytest.mark.parametrize("price", [{"epsilon": "0.7"}, {"rho": "0.02"}])
def test_noise_has_the_stated_deviation(price):
    """False alarms below one in a million; noise a tenth too small or too large is seen."""
    wide = Schema([Continuous("a", 0, 1), Continuous("b", 0, 1)], Label("y", [0, 1]))
    tables = [np.append(np.arange(65_535) // 2, 0)] * 2
    bins = Bins.of(tables, [32_768] * 2)
    additive = Additive(
        bins,
        np.zeros(1),
        np.zeros((bins.n_bins, 1)),
        np.zeros((0, 2), np.int32),
        np.zeros((bins.n_bins, 0), np.uint8),
        np.zeros((0, 4, 1)),
    )
    account = Ledger().create("people", Budget(1, 1e-6))
    protected = protect(np.zeros((1, 2)), wide, account, np.array([1]), Repeatable(3))
    noisy = protected.noisy_bin_gradients(additive, [0, 1], **price)
    noise = noisy.values[:, 0] - np.isin(np.arange(bins.n_bins), bins.first[:2]) * 0.5
    ratio = np.sqrt((noise**2).mean()) / noisy.sd
    relative_error = np.sqrt((5 if "epsilon" in price else 2) / len(noise)) / 2
    accepted = 1 + np.array([-5, 5]) * relative_error
    assert accepted[0] < ratio < accepted[1]
    assert not accepted[0] < 0.9 * ratio < accepted[1] and not accepted[0] < 1.1 * ratio < accepted[1]
