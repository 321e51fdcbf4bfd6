"""The wall: questions are paid before rows are read, and what crosses has the law it claims."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest

import twins
from laws import AtOdds, Noiseless, follows, laplace_probability
from privet import Budget, Categorical, Label, Ledger, Schema, protect
from privet.answers import sparse_threshold
from privet.audit.exact import Explorer, largest_ratio, neighbours
from privet.audit.mutants import PartsByPosition
from privet.audit.stand import Paid, Rows
from privet.data import Codes
from privet.engines import MemoryEngine
from privet.errors import BudgetError, BudgetExceeded, DataError, QuestionError
from privet.kernels.count import count_leaves
from privet.privacy import (
    Account,
    Cost,
    Mechanisms,
    Protected,
    Repeatable,
    in_sequence,
    wall,
)
from privet.privacy.questions.columns import RowCount
from privet.structure import CompleteTrees, LevelTrees, Views

HALF = Fraction(1, 2)
TOY = Schema([Categorical("x", [0, 1])], Label("y", [0, 1]))
ROWS = list(product((0, 1), (0, 1)))


def stumps(n_trees: int) -> CompleteTrees:
    """Trees that part rows with x = 0 from the others."""
    view = np.zeros((n_trees, 2), np.uint16)
    return CompleteTrees(Views.of(1), view, np.ones((n_trees, 2), np.uint16), 1)


def toy(rows, mechanisms: Mechanisms | None = None) -> Protected:
    """Protected rows of the toy schema; a table may be empty behind the wall."""
    x = np.array([[row[0] for row in rows]], np.uint8).reshape(1, -1)
    y = np.array([row[1] for row in rows], np.uint8)
    return Protected(Rows(x, y), TOY, Paid(), mechanisms)


def label_law(rows, odds, fault=lambda sound: sound):
    """Exact law of all labels that a forest of two trees on disjoint rows releases."""
    explorer, trees = Explorer(), stumps(2)

    def release():
        protected = toy(rows, fault(AtOdds(explorer, odds)))
        return protected.split(2).choose_label(trees, epsilon=1).tobytes()

    return explorer.law(release)


def worst_over_neighbours(odds) -> Fraction:
    tables = [t for size in range(4) for t in combinations_with_replacement(ROWS, size)]
    laws = {table: label_law(table, odds) for table in tables}
    worst = Fraction(0)
    for table in tables:
        for other in neighbours(table, []):
            worst = max(worst, largest_ratio(laws[table], laws[tuple(sorted(other))]))
    return worst


def test_forest_on_disjoint_rows_keeps_epsilon_exactly():
    """All tables of up to three rows and all their neighbours: no release is more than e^ε likelier."""
    assert worst_over_neighbours(HALF) <= 2


def test_forest_with_too_little_noise_is_convicted():
    assert worst_over_neighbours(HALF**2) > 2


def test_parts_given_by_position_are_convicted():
    """Removing the first row moves every other row to the other part."""
    rows = ((0, 0), (0, 1), (0, 0), (0, 1))
    laws = [label_law(each, HALF, PartsByPosition) for each in (rows, rows[1:])]
    assert largest_ratio(*laws) > 2


def test_one_forgotten_leaf_is_convicted():
    """A release that shows the labels of visited leaves only tells an empty leaf from one row."""
    explorer = Explorer()

    def visited_only(rows):
        labels = toy(rows, AtOdds(explorer, HALF)).choose_label(stumps(1), epsilon=1)[0]
        return tuple(int(labels[x]) if any(r[0] == x for r in rows) else None for x in (0, 1))

    one = explorer.law(lambda: visited_only([(0, 0)]))
    none = explorer.law(lambda: visited_only([]))
    assert not set(one) & set(none)


def test_every_tree_of_a_forest_on_all_rows_gets_its_share():
    mechanisms = Noiseless()
    toy([(0, 0)], mechanisms).choose_label(stumps(5), epsilon=1)
    toy([(0, 0)], mechanisms).split(5).choose_label(stumps(5), epsilon=1)
    assert [law.parameter for law in mechanisms.laws] == [Fraction(1, 5), Fraction(1)]


@pytest.mark.parametrize("n_trees", [1, 3])
def test_histogram_noise_covers_its_sensitivity_over_all_neighbours(n_trees):
    """The exact answers of neighbours differ by the sensitivity at most, and by all of it at times."""
    mechanisms, trees = Noiseless(), stumps(n_trees)
    l1, l2 = [], []
    for table in (t for size in range(4) for t in product(ROWS, repeat=size)):
        for other in neighbours(table, ROWS):
            toy(table, mechanisms).noisy_histogram(trees, epsilon="1/2")
            toy(other, mechanisms).noisy_histogram(trees, rho="1/8")
            (a, b), (scale, variance) = mechanisms.seen[-2:], [law.parameter for law in mechanisms.laws[-2:]]
            l1.append(np.abs(a - b).sum())
            l2.append(((a - b) ** 2).sum())
    assert scale == n_trees / Fraction(1, 2)
    assert variance == n_trees / (2 * Fraction(1, 8))
    assert max(l1) / scale == HALF
    assert max(l2) / (2 * variance) == Fraction(1, 8)


def test_noisy_histogram_adds_the_noise_it_states_to_every_leaf():
    rng = np.random.default_rng(0)
    schema = Schema([Categorical("x", list(range(7)))], Label("y", [0, 1]))
    trees = twins.random_complete(rng, [9], 50, 9)
    table = pd.DataFrame({"x": rng.integers(0, 7, 300), "y": rng.integers(0, 2, 300)})
    people = protect(table, schema, Ledger().create("d", Budget(100)))
    released = people.noisy_histogram(trees, epsilon=25)
    assert released.parameter == 2 and released.law == "laplace"
    exact_counts = count_leaves(trees, table["x"].to_numpy()[None].astype(np.uint8), table["y"].to_numpy(), 2)
    noise = (released.values - exact_counts).ravel()
    assert noise.size == 50 * 512 * 2 > 50_000

    def law(scale: float) -> dict[int, float]:
        return {k: laplace_probability(k, scale) for k in range(-60, 61)}

    assert follows(noise, law(2))
    assert not follows(noise, law(1.8))
    assert not follows(noise, law(2.2))
    forgotten = np.where(np.arange(noise.size) % 16 == 0, 0, noise)
    assert not follows(forgotten, law(2))
    with_delta = protect(
        pd.DataFrame({"x": [1], "y": [0]}), schema, Ledger().create("d", Budget(50, "1e-6"))
    ).noisy_histogram(trees, rho=2)
    assert with_delta.law == "gaussian" and with_delta.parameter == Fraction(50, 4)
    assert 11 < with_delta.values.var() < 14


def test_questions_are_charged_before_a_row_is_read(schema, account):
    seen = []

    class Watched:
        def sum(self, tally):
            seen.append(account.spent().epsilon)
            return np.array([3])

    Protected(Watched(), schema, account).noisy_count(epsilon="1/2")
    assert seen == [HALF]


def test_a_question_beyond_the_budget_reads_nothing(schema):
    class Forbidden:
        def sum(self, tally):
            raise AssertionError("rows were read")

    account = Ledger().create("people", Budget(1))
    with pytest.raises(BudgetExceeded):
        Protected(Forbidden(), schema, account).noisy_count(epsilon="1.01")
    assert account.spent().epsilon == 0


def test_rows_are_not_even_opened_before_they_are_paid_for(schema, account, people):
    opened = []

    def load() -> Codes:
        opened.append(account.spent().epsilon)
        return Codes(np.zeros((3, 5), np.uint8), np.zeros(5, np.uint8))

    protected = Protected(MemoryEngine(load), schema, account)
    assert opened == []
    protected.noisy_count(epsilon=1)
    protected.noisy_count(epsilon=1)
    assert opened == [1]


def test_a_table_that_does_not_fit_costs_nothing(schema, account, people):
    people["ill"] = np.where(np.arange(500) == 77, "SECRET-7731", people["ill"])
    protected = protect(pd.DataFrame(people), schema, account)
    with pytest.raises(DataError) as refused:
        protected.noisy_count(epsilon=1)
    assert "7731" not in str(refused.value)
    assert account.spent().epsilon == 0
    with pytest.raises(DataError, match="'town' is missing"):
        protect(pd.DataFrame(people).drop(columns="town"), schema, account)


def test_the_number_of_rows_cannot_be_asked_through_schemas(people, schema):
    """Errors of tables that do not fit are free; under ever other bounds they would count the rows."""
    account = Ledger().create("people", Budget(1))
    refused = []
    for bound in (250, 375, 438):
        bounded = Schema(schema.features, schema.label, max_rows=bound)
        with pytest.raises((DataError, BudgetError)) as error:
            protect(pd.DataFrame(people), bounded, account).noisy_count(epsilon="1e-9")
        refused.append(type(error.value))
    assert refused == [DataError, BudgetError, BudgetError]


def test_more_rows_than_the_public_bound_are_refused(people, account, schema):
    bounded = Schema(schema.features, schema.label, max_rows=499)
    with pytest.raises(DataError, match="max_rows"):
        protect(pd.DataFrame(people), bounded, account).noisy_count(epsilon=1)
    assert account.spent().epsilon == 0


def test_a_plan_is_reserved_whole_and_asked_in_order(schema, account, people):
    protected = protect(pd.DataFrame(people), schema, account)
    count = RowCount.plan(Cost.pure(1))
    protected.reserve([count, count])
    assert account.spent().epsilon == 2
    protected.noisy_count(epsilon=1)
    assert account.spent().epsilon == 2
    with pytest.raises(QuestionError, match="the plan has"):
        protected.noisy_count(epsilon="1.5")
    assert account.spent().epsilon == 2
    assert [charge.question for charge in protected.asked] == ["number of rows"]


def test_answers_decide_between_two_plans_that_begin_alike(schema, people):
    for instead in (False, True):
        account = Ledger().create("people", Budget(1, "1e-6"))
        protected = protect(pd.DataFrame(people), schema, account)
        count, rest = RowCount.plan(Cost.pure("0.01")), Cost.zcdp("1e-3")
        protected.reserve([count, count], instead=[count, RowCount.plan(rest)])
        protected.noisy_count(epsilon="0.01")
        with pytest.raises(QuestionError, match="settle"):
            protected.refine([])
        protected.settle(instead)
        assert account.spent() == in_sequence([count.cost, rest if instead else count.cost])
        with pytest.raises(QuestionError, match="two plans"):
            protected.settle(instead)
        with pytest.raises(QuestionError, match="the plan has"):
            protected.noisy_count(**({"epsilon": "0.9"} if instead else {"rho": "1e-3"}))


def two_plans(schema, people, first, second) -> tuple[Account, Protected]:
    account = Ledger().create("people", Budget(1, "1e-6"))
    protected = protect(pd.DataFrame(people), schema, account)
    charges = [[RowCount.plan(Cost.pure(epsilon)) for epsilon in plan] for plan in (first, second)]
    protected.reserve(charges[0], instead=iter(charges[1]))
    return account, protected


@pytest.mark.parametrize("odd", [-2, -1, 2, np.True_])
def test_whatever_is_settled_on_the_ledger_and_the_wall_agree(schema, people, odd):
    account, protected = two_plans(schema, people, ["0.01", "0.02"], ["0.01", "0.9"])
    protected.noisy_count(epsilon="0.01")
    protected.settle(odd)
    protected.noisy_count(epsilon="0.9")
    assert account.spent().epsilon == in_sequence(charge.cost for charge in protected.asked).epsilon


def test_a_plan_that_ends_before_the_other_does_not_settle_it(schema, people):
    account, protected = two_plans(schema, people, ["0.01", "0.9"], ["0.01"])
    protected.noisy_count(epsilon="0.01")
    account.settle(protected.receipt, "instead")
    for ask in (lambda: protected.noisy_count(epsilon="0.9"), lambda: protected.refine([])):
        with pytest.raises(QuestionError, match="settle"):
            ask()
    with pytest.raises(BudgetError, match="settle"):
        protected.settle(instead=False)
    assert account.spent().epsilon == Fraction("0.01")


def test_a_plan_is_answered_in_the_process_that_paid(schema, people, monkeypatch):
    _, protected = two_plans(schema, people, ["0.01"], ["0.01"])
    monkeypatch.setattr(wall.os, "getpid", lambda: -1)
    with pytest.raises(QuestionError, match="another process"):
        protected.noisy_count(epsilon="0.01")


def test_nothing_is_asked_in_which_two_plans_differ(schema, people):
    protected = protect(pd.DataFrame(people), schema, Ledger().create("people", Budget(1, "1e-6")))
    plans = [RowCount.plan(Cost.pure(epsilon)) for epsilon in ("0.1", "0.2")]
    protected.reserve(plans[:1], instead=plans[1:])
    with pytest.raises(QuestionError, match="settle"):
        protected.noisy_count(epsilon="0.1")
    assert not protected.asked


def test_a_later_batch_costs_in_parallel(schema, people):
    account = Ledger().create("people", Budget(1))
    for name in ("first", "second"):
        account.ledger.declare_batch("people", name)
    first = protect(pd.DataFrame(people), schema, account.batch("first"))
    first.noisy_count(epsilon=1)
    second = first.batch(pd.DataFrame(people), "second")
    second.noisy_count(epsilon=1)
    assert account.spent().epsilon == 1
    with pytest.raises(BudgetExceeded):
        second.noisy_count(epsilon="1/10")


def test_frequent_cells_of_trees_beyond_memory_are_found(schema, people):
    """Town, age and height once, then town ten times more: 195 million leaves, twelve of them alive."""
    view = np.array([[2, 1, 0] + [2] * 10], np.int32)
    threshold = np.array([[0, 60, 30_000] + [0] * 10], np.uint16)
    radix = np.array([[5, 2, 2] + [5] * 10], np.int64)
    trees = LevelTrees(Views.of(3), view, threshold, radix)
    account = Ledger().create("p", Budget(1))
    frame = pd.concat([pd.DataFrame(people)] * 4)
    (released,) = protect(frame, schema, account).noisy_cells(trees, epsilon=1, false_cells=50)
    assert trees.n_leaves == [4 * 5**11]
    assert released.threshold == sparse_threshold(8 * 5**11, Fraction(1), 50) > 10
    assert (released.values >= released.threshold).all()
    alive = released.values[released.values > 40]
    assert 20 <= len(alive) <= 24 and 1700 < alive.sum() < 2200
    assert account.spent().epsilon == 1


def test_mistaken_questions_are_refused_and_cost_nothing(schema, people, account):
    protected = protect(pd.DataFrame(people), schema, account)
    deep = CompleteTrees(Views.of(3), np.zeros((2, 2), np.uint16), np.zeros((2, 2), np.uint16), 28)
    one = np.ones((1, 1))
    level = LevelTrees(Views.of(3), one.astype(np.int32), one.astype(np.uint16), 2 * one.astype(np.int64))
    for mistake in (
        lambda: protected.noisy_count(),
        lambda: protected.noisy_count(epsilon=1, rho=1),
        lambda: protected.noisy_count(epsilon=-1),
        lambda: protected.noisy_count(rho=0),
        lambda: protected.split(0),
        lambda: protected.split(3).choose_label(stumps(2), epsilon=1),
        lambda: protected.noisy_histogram(deep, epsilon=1),
        lambda: protected.noisy_histogram(level, epsilon=1),
        lambda: protected.choose_label(level, epsilon=1),
        lambda: protected.noisy_leaf_totals(stumps(2), epsilon=1),
        lambda: protected.noisy_cells(stumps(2), epsilon=1),
        lambda: protected.noisy_cells(level, epsilon=1, false_cells="many"),
        lambda: protected.noisy_column_rows(7, epsilon=1),
        lambda: protected.choose_item("town", by=None, epsilon=1),
        lambda: protected.choose(7, epsilon=1),
    ):
        with pytest.raises(QuestionError):
            mistake()
    assert account.spent().epsilon == 0


WRONG_TREES = {
    "views of another type": lambda t: replace(t, view=t.view.astype(np.int32) - 65_536),
    "thresholds that reach into the view": lambda t: replace(
        t, threshold=t.threshold.astype(np.int64) | 1 << 17
    ),
    "tables with negative entries": lambda t: replace(
        t, views=replace(t.views, table=t.views.table.astype(np.int64) - 9)
    ),
    "a view that does not exist": lambda t: replace(t, view=t.view + np.uint16(99)),
    "tables too short for the codes": lambda t: replace(t, views=replace(t.views, table=t.views.table[:5])),
    "a feature that does not exist": lambda t: replace(t, views=replace(t.views, source=t.views.source + 7)),
    "too few nodes": lambda t: replace(t, depth=t.depth + 1),
    "a depth that is a truth value": lambda t: replace(
        t, depth=True, view=t.view[:, :2], threshold=t.threshold[:, :2]
    ),
    "no tree": lambda t: replace(t, view=t.view[:0], threshold=t.threshold[:0]),
}


@pytest.mark.parametrize("wrong", WRONG_TREES.values(), ids=WRONG_TREES)
def test_trees_that_do_not_fit_the_schema_are_refused(wrong, schema, people, account):
    sizes = [feature.n_codes for feature in schema.features]
    trees = wrong(twins.random_complete(np.random.default_rng(1), sizes, 4, 3))
    with pytest.raises(QuestionError):
        protect(pd.DataFrame(people), schema, account).noisy_histogram(trees, epsilon=1)
    assert account.spent().epsilon == 0


WRONG_LEVELS = {
    "a radix below the codes": lambda t: replace(t, radix=np.minimum(t.radix, 1)),
    "more leaves than a number can name": lambda t: replace(t, radix=t.radix * (1 << 40)),
    "a view that does not exist": lambda t: replace(t, view=t.view + 50),
}


@pytest.mark.parametrize("wrong", WRONG_LEVELS.values(), ids=WRONG_LEVELS)
def test_levels_that_do_not_fit_the_schema_are_refused(wrong, schema, people, account):
    sizes = [feature.n_codes for feature in schema.features]
    trees = wrong(twins.random_levels(np.random.default_rng(1), sizes, 2, 3))
    with pytest.raises(QuestionError):
        protect(pd.DataFrame(people), schema, account).noisy_cells(trees, epsilon=1)
    assert account.spent().epsilon == 0


WRONG_POINTERS = {
    "a loop": lambda t: replace(t, child=np.where(t.view >= 0, 0, t.child)),
    "a leaf shared by two": lambda t: replace(t, child=np.where(t.view < 0, 0, t.child)),
    "a child beyond the end": lambda t: replace(t, child=t.child + len(t.view)),
}


@pytest.mark.parametrize("wrong", WRONG_POINTERS.values(), ids=WRONG_POINTERS)
def test_pointers_that_do_not_make_trees_are_refused(wrong, people, account):
    towns = Schema([Categorical("town", ["north", "south", "west"])], Label("ill", ["no", "yes"]))
    trees = twins.random_multiway(np.random.default_rng(3), [5], 3, 3)
    protected = protect(pd.DataFrame(people), towns, account)
    protected.noisy_histogram(trees, epsilon=1)
    with pytest.raises(QuestionError):
        protected.noisy_histogram(wrong(trees), epsilon=1)
    assert account.spent().epsilon == 1


def test_noise_too_wide_to_draw_is_refused_while_it_is_free(schema, people):
    account = Ledger().create("people", Budget(10, "1e-6"))
    sizes = [feature.n_codes for feature in schema.features]
    trees = twins.random_complete(np.random.default_rng(1), sizes, 50, 3)
    protected = protect(pd.DataFrame(people), schema, account)
    with pytest.raises(QuestionError, match="Gaussian noise"):
        protected.noisy_histogram(trees, rho="1e-9")
    with pytest.raises(QuestionError, match="noise of a scale"):
        protected.choose_label(stumps_of(schema, 100_000), epsilon="1e-9")
    assert account.spent().rho == 0


def stumps_of(schema, n_trees):
    view = np.zeros((n_trees, 2), np.uint16)
    return CompleteTrees(Views.of(len(schema.features)), view, view + np.uint16(1), 1)


def test_a_single_large_number_is_released_like_any_other(schema):
    """Beyond 32 bits too, and no error may quote it."""

    class Crowd:
        def sum(self, tally):
            return np.array([10**12])

    account = Ledger().create("people", Budget(1))
    assert abs(Protected(Crowd(), schema, account).noisy_count(epsilon=1).values[0] - 10**12) < 100


def test_what_is_protected_shows_neither_purse_nor_rows_and_cannot_be_changed(schema, people, account):
    protected = protect(pd.DataFrame(people), schema, account)
    assert (protected.account_name, protected.batch_name) == ("people", None)
    for name in ("account", "ledger", "engine"):
        assert not hasattr(protected, name)
    with pytest.raises(AttributeError):
        protected.schema = TOY
    assert not any(name.startswith("cancel") for name in dir(account.ledger))


def test_the_price_is_read_once(schema, people, account):
    class Shifty(float):
        def __float__(self):
            self.times = getattr(self, "times", 0) + 1
            return 0.5 if self.times == 1 else 500.0

    released = protect(pd.DataFrame(people), schema, account).noisy_count(epsilon=Shifty(0.5))
    assert released.parameter == 1 / account.spent().epsilon


@pytest.mark.parametrize("odd", ["timestamps", "timedeltas"])
def test_columns_of_odd_types_are_refused_without_a_value_or_a_charge(odd, schema, people, account):
    frame = pd.DataFrame(people)
    stamps = pd.to_datetime(pd.Series(np.arange(500) * 10**14))
    frame["town"] = stamps if odd == "timestamps" else stamps - stamps[0]
    frame["age"] = frame["town"]
    with pytest.raises(DataError) as refused:
        protect(frame, schema, account).noisy_count(epsilon=1)
    assert refused.value.__context__ is None
    assert account.spent().epsilon == 0


def test_protected_rows_cannot_be_copied_pickled_or_printed(schema, people, account):
    protected = protect(pd.DataFrame(people), schema, account)
    protected.noisy_count(epsilon=1)
    for leak in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(QuestionError, match="copied or pickled"):
            leak(protected)
    assert repr(protected) == "Protected('people', 3 features)"
    assert not hasattr(protected, "__dict__")


def test_repeatable_mechanisms_make_releases_repeatable_and_say_so(schema, people, account):
    sizes = [feature.n_codes for feature in schema.features]
    trees = twins.random_complete(np.random.default_rng(1), sizes, 4, 3)

    def release(seed):
        protected = protect(pd.DataFrame(people), schema, account, mechanisms=Repeatable(seed))
        assert not protected.private
        return protected.split(4).choose_label(trees, epsilon="1/10")

    assert (release(1) == release(1)).all()
    assert (release(1) != release(2)).any()
