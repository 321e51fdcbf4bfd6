"""What is handed to the wall is copied once and of known types; what a tally meets is never seen."""

from __future__ import annotations

import os
import pickle
import threading
import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

from laws import Noiseless
from privet import Budget, Categorical, Label, Ledger, Schema, Target, protect
from privet.audit.stand import Rows
from privet.data.discreet import discreet
from privet.errors import BudgetError, DataError, PrivetError, QuestionError, SchemaError
from privet.kernels.count import count_leaves
from privet.privacy import Charge, Cost, Protected, Repeatable
from privet.privacy.question import taken
from privet.privacy.questions.boosting import BinGradients, BinRows, LabelRows, LeafGradients, LeafRows
from privet.privacy.questions.columns import Choice, ColumnRows, Quantile, RowCount
from privet.privacy.questions.trees import FrequentCells, LeafLabelRows
from privet.structure import Additive, Bins, CompleteTrees, Views

SCHEMA = Schema([Categorical("x", [0, 1]), Categorical("z", ["a", "b"])], Label("y", [0, 1]))
CODES = np.array([[0, 0, 1, 1, 1], [0, 1, 0, 1, 1]], np.uint8)
LABELS = np.array([0, 1, 1, 1, 0], np.uint8)
ONE = Cost.pure(1)


def stump() -> CompleteTrees:
    """One tree that parts rows with x = 0 from the others."""
    return CompleteTrees(Views.of(2), np.zeros((1, 2), np.uint16), np.ones((1, 2), np.uint16), 1)


def model() -> Additive:
    """A model of nothing but zeros, without trees."""
    bins = Bins.of([np.arange(4)] * 2, [4, 4])
    turns, features = np.zeros((bins.n_bins, 0), np.uint8), np.zeros((0, 2), np.int32)
    return Additive(bins, np.zeros(1), np.zeros((bins.n_bins, 1)), features, turns, np.zeros((0, 4, 1)))


class Meddling(Rows):
    """Rows at whose reading somebody else changes what was handed in."""

    def __init__(self, meddle=lambda: None) -> None:
        super().__init__(CODES, LABELS)
        self.meddle = meddle

    def sum(self, tally):
        self.meddle()
        return super().sum(tally)


def walled(engine=None, mechanisms=None, budget=10) -> tuple[Protected, Ledger]:
    account = Ledger().create("people", Budget(budget, "1e-6"))
    return Protected(engine or Meddling(), SCHEMA, account, mechanisms or Noiseless()), account


# Questions.


@pytest.mark.parametrize("by_name", [False, True])
def test_questions_of_labels_are_refused_where_a_number_is_predicted(by_name):
    numbers, ledger = Schema(SCHEMA.features, Target("y", 0, 9)), Ledger()
    rows = Rows(CODES, np.array([0, 65_534, 7, 7, 9], np.uint16))
    protected = Protected(rows, numbers, ledger.create("people", Budget(10, "1e-6")), Noiseless())
    asked = [LabelRows(), BinRows(model().bins), LeafLabelRows(stump())]
    for question in asked:
        named = partial(getattr(protected, question.method), *vars(question).values(), epsilon=1)
        with pytest.raises(SchemaError, match="'y' is a number, and this is for labels"):
            named() if by_name else protected.ask(question, ONE)
    assert not protected.asked
    assert protected.noisy_count("y >= 9", epsilon=1).values.tolist() == [1]


@pytest.mark.parametrize("by_name", [False, True])
def test_arrays_and_lists_that_change_after_they_were_handed_in_change_nothing(by_name):
    trees, columns = stump(), ["x", "z"]

    def spoil_trees():
        trees.threshold[:] = 7
        trees.views.table[:] = 9

    def spoil_columns():
        columns[:] = ["y"]

    by_trees, by_columns = (walled(Meddling(spoil))[0] for spoil in (spoil_trees, spoil_columns))
    if by_name:
        counts = by_trees.noisy_histogram(trees, epsilon=1)
        table = by_columns.noisy_column_rows(columns, epsilon=1)
    else:
        counts, table = by_trees.ask(LeafLabelRows(trees), ONE), by_columns.ask(ColumnRows(columns), ONE)
    assert columns == ["y"] and (trees.threshold == 7).all()
    np.testing.assert_array_equal(counts.values, count_leaves(stump(), CODES, LABELS, 2))
    assert table.columns == ("x", "z") and table.values.sum() == 5


def test_a_question_that_another_thread_keeps_changing_is_checked_as_it_is_asked():
    """Whatever was copied, it was copied before it was checked: no row is ever outside a leaf."""
    trees, stop = stump(), threading.Event()

    def meddle():
        while not stop.is_set():
            trees.view[:] = 60_000
            trees.view[:] = 0

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        protected, _ = walled(budget=1000)
        sums, refused = [], []
        for _ in range(300):
            try:
                sums.append(protected.noisy_histogram(trees, epsilon=1).values.sum())
            except QuestionError as error:
                refused.append(str(error))
    finally:
        stop.set()
        thread.join()
    assert set(sums) <= {5} and len(sums) + len(refused) == 300
    assert not any("stays spent" in each for each in refused)


@dataclass(frozen=True)
class Louder(RowCount):
    """A kind of question of its own, that would release what it counted."""

    def release(self, exact, terms, mechanisms):
        return exact


class Shy(str):
    """Text that says one thing to whoever checks it and another to whoever uses it."""

    def __str__(self):
        return "x = 1"

    def __len__(self):
        return 1

    def split(self, *_):
        return ["x = 0"]

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Odd(int):
    def __le__(self, other):
        return True

    __ge__ = __lt__ = __gt__ = __le__


class Tree(CompleteTrees):
    """A structure that brings code along."""

    @property
    def n_trees(self):
        return 0


class Table(np.ndarray):
    """An array that brings code along."""


class Names(list):
    """A list that is another one each time."""

    def __iter__(self):
        return iter(["x"])


FOREIGN = {
    "a question of another kind": lambda p: p.ask(Louder(), ONE),
    "something like a question": lambda p: p.ask(object(), ONE),
    "a class instead of a question": lambda p: p.ask(RowCount, ONE),
    "a cost of another kind": lambda p: p.ask(RowCount(), type("Less", (Cost,), {})(1, 1)),
    "no cost": lambda p: p.ask(RowCount(), None),
    "a structure of another kind": lambda p: p.ask(LeafLabelRows(Tree(**vars(stump()))), ONE),
    "an array of another kind": lambda p: p.ask(
        LeafLabelRows(replace(stump(), view=stump().view.view(Table))), ONE
    ),
    "an array of objects": lambda p: p.ask(
        LeafLabelRows(replace(stump(), view=stump().view.astype(object))), ONE
    ),
    "a number of another kind": lambda p: p.ask(FrequentCells(stump(), Odd(-1)), ONE),
    "a list of another kind": lambda p: p.ask(ColumnRows(Names(["x", "nothing"])), ONE),
    "a list that is read once": lambda p: p.ask(ColumnRows(iter(["x"])), ONE),
    "a function": lambda p: p.ask(RowCount(lambda: "x = 1"), ONE),
    "a feature that is an array": lambda p: p.ask(BinGradients(model(), [np.array([0])]), ONE),
    "no bins": lambda p: p.ask(BinRows(None), ONE),
    "no model": lambda p: p.ask(LeafRows(None, 1), ONE),
    "bins instead of a model": lambda p: p.ask(LeafGradients(model().bins, 1), ONE),
    "a share of another kind": lambda p: p.ask(
        Quantile("x", type("Half", (Fraction,), {})(Fraction(1, 2))), ONE
    ),
}


@pytest.mark.parametrize("ask", FOREIGN.values(), ids=FOREIGN)
def test_what_could_bring_code_along_is_refused_while_it_is_free(ask):
    protected, account = walled()
    with pytest.raises(QuestionError):
        ask(protected)
    assert account.spent().epsilon == 0 and not protected.asked


def test_text_of_another_kind_is_taken_for_its_letters():
    """What is checked, what the ledger keeps and what is counted are one and the same."""
    protected, account = walled()
    shy = Shy("x = 0 and z = a")
    assert protected.ask(RowCount(shy), ONE).values.tolist() == [1]
    assert protected.ask(Choice([Shy("x = 0"), "x = 1"]), ONE).value == "x = 1"
    assert [charge.question for charge in protected.asked] == [
        "number of rows where x = 0 and z = a",
        "which of 2 conditions most rows fulfil: x = 0; x = 1",
    ]
    kept = [
        charge["question"] for event in account.ledger.history("people")[1:] for charge in event["charges"]
    ]
    assert kept == [charge.question for charge in protected.asked]


def test_methods_put_upon_a_question_are_not_called():
    question, called = LabelRows(), []

    def spy(*given):
        called.append(given)
        return Charge("nothing", Cost(0, 0))

    for name in (
        "copied",
        "check",
        "charge",
        "change",
        "plan",
        "sizes",
        "rehearse",
        "tally",
        "read",
        "release",
    ):
        object.__setattr__(question, name, spy)
    protected, account = walled()
    assert protected.ask(question, ONE).values.tolist() == [2, 3]
    assert called == [] and account.spent().epsilon == 1


def test_a_cost_that_changes_after_it_was_handed_in_changes_nothing():
    cost = Cost.pure("0.1")
    mechanisms = Noiseless()
    protected, account = walled(
        Meddling(lambda: object.__setattr__(cost, "epsilon_units", 10**18)), mechanisms
    )
    protected.ask(RowCount(), cost)
    assert account.spent().epsilon == protected.asked[0].cost.epsilon == Fraction("0.1")
    assert mechanisms.laws[0].parameter == 10


def test_numbers_of_numpy_are_taken_for_what_they_are():
    protected, _ = walled()
    assert protected.ask(ColumnRows("x", bins=np.int64(3)), ONE).values.sum() == 5


# Plans.


class Plan(list):
    """A plan that costs little when it is looked at first."""

    readings = 0

    def __iter__(self):
        self.readings += 1
        return iter([RowCount.plan(Cost.pure("0.01" if self.readings == 1 else "1000"))])


def test_a_plan_is_read_once():
    for how in ("reserve", "instead", "refine"):
        protected, account = walled(budget=1)
        plan = Plan([1])
        if how == "reserve":
            protected.reserve(plan)
        elif how == "instead":
            protected.reserve([RowCount.plan(Cost.pure("0.01"))], instead=plan)
            protected.settle(instead=True)
        else:
            protected.reserve([RowCount.plan(Cost.pure("0.1"))])
            protected.refine(plan)
        assert plan.readings == 1
        with pytest.raises(QuestionError, match="the plan has"):
            protected.noisy_count(epsilon=1000)
        assert not protected.asked
        assert account.spent().epsilon <= Fraction("0.1")


def test_a_plan_that_changes_after_it_was_paid_for_changes_nothing():
    charges = [RowCount.plan(Cost.pure("0.1")) for _ in range(2)]
    protected, account = walled()
    protected.reserve(charges)
    object.__setattr__(charges[0], "cost", Cost.pure(1000))
    object.__setattr__(charges[1].cost, "epsilon_units", 10**15)
    del charges[1:]
    for _ in range(2):
        with pytest.raises(QuestionError, match="the plan has"):
            protected.noisy_count(epsilon=1000)
    assert account.spent().epsilon == Fraction("0.2") and not protected.asked


class Free(Cost):
    def exceeds(self, other):
        return False


@pytest.mark.parametrize(
    "odd",
    [
        type("Gift", (Charge,), {})("number of rows", ONE),
        Charge("number of rows", Free(1, 1)),
        ("number of rows", ONE),
        RowCount(),
        None,
    ],
    ids=["a charge of another kind", "a cost of another kind", "a pair", "a question", "nothing"],
)
def test_a_plan_of_foreign_objects_is_refused(odd):
    protected, account = walled()
    for ask in (
        lambda: protected.reserve([odd]),
        lambda: protected.reserve([RowCount.plan(ONE)], instead=[odd]),
        lambda: protected.refine([odd]),
    ):
        with pytest.raises(QuestionError, match="list of charges"):
            ask()
    assert account.spent().epsilon == 0


def test_what_is_planned_by_its_text_alone_cannot_be_asked():
    protected, account = walled()
    protected.reserve([Charge("number of rows", ONE)])
    with pytest.raises(QuestionError, match="the plan has"):
        protected.noisy_count(epsilon=1)
    assert account.spent().epsilon == 1 and not protected.asked


# Batches.


def test_whoever_asks_cannot_declare_a_batch(people, schema):
    """The same rows under twenty names would be answered twenty times for one ε."""
    account = Ledger().create("people", Budget(1))
    protected = protect(pd.DataFrame(people), schema, account)
    for name in ("b0", "b1"):
        with pytest.raises(BudgetError, match="never declared"):
            account.batch(name)
        with pytest.raises(BudgetError, match="never declared"):
            protected.batch(pd.DataFrame(people), name)
    assert [event["kind"] for event in account.ledger.history("people")] == ["budget"]


# What a tally meets.

SECRET = "4711"


class Troubled(Rows):
    """Rows whose tally fails, or warns, with a value in the text."""

    def __init__(self, trouble) -> None:
        super().__init__(CODES, LABELS)
        self.trouble = trouble

    def sum(self, tally):
        self.trouble()
        return super().sum(tally)


def nested():
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise RuntimeError(f"row {SECRET}") from error


def failing(error):
    def fail():
        raise error(f"row {SECRET} has no label")

    return fail


@pytest.mark.parametrize(
    "trouble", [failing(ValueError), failing(OSError), failing(MemoryError), failing(Warning), nested]
)
def test_an_error_inside_a_tally_never_passes(trouble):
    account = Ledger().create("people", Budget(1))
    with pytest.raises(PrivetError) as refused:
        Protected(Troubled(trouble), SCHEMA, account).noisy_count(epsilon="1/2")
    told = refused.value
    assert SECRET not in str(told) and told.__cause__ is None and told.__context__ is None
    assert account.spent().epsilon == Fraction(1, 2)


def test_where_nobody_is_to_be_protected_the_error_is_shown():
    protected, _ = walled(Troubled(failing(ValueError)), Repeatable(1))
    with pytest.raises(QuestionError) as refused:
        protected.noisy_count(epsilon=1)
    assert isinstance(refused.value.__cause__, ValueError)


def warn():
    warnings.warn(SECRET, RuntimeWarning, stacklevel=1)
    np.array([1e308]) * np.array([10.0])
    np.array([0.0]) / np.array([0.0])
    np.array([np.nan]).astype(np.int8)


@pytest.mark.parametrize("how", ["always", "error"])
def test_no_warning_comes_out_of_a_tally(how):
    with np.errstate(all="warn"), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(how)
        assert walled(Troubled(warn))[0].noisy_count(epsilon=1).values.tolist() == [5]
        assert seen == []
        with np.errstate(all="raise"):
            walled(Troubled(warn))[0].noisy_count(epsilon=1)
        assert seen == []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn()
    assert len(seen) > 1


def test_no_warning_comes_out_while_another_thread_leaves_the_wall():
    """Filters belong to the process: whoever leaves first must not take off what the other needs."""
    inside, left = threading.Event(), threading.Event()

    def late():
        inside.set()
        assert left.wait(60)
        warn()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with discreet():
            thread = threading.Thread(target=lambda: walled(Troubled(late))[0].noisy_count(epsilon=1))
            thread.start()
            assert inside.wait(60)
        left.set()
        thread.join(60)
        assert [str(each.message) for each in seen] == []
        warnings.warn("afterwards", stacklevel=1)
        assert [str(each.message) for each in seen] == ["afterwards"]


# Costs.


@pytest.mark.parametrize("cost", [Cost(10**12, 1), Cost.pure(1, bounded_range=True)])
def test_a_cost_that_states_too_little_rho_pays_for_choices_of_bounded_range_alone(cost):
    rows, _ = walled(mechanisms=Repeatable(1))
    with pytest.raises(QuestionError, match="ε²/2"):
        rows.ask(LabelRows(), cost)
    assert rows.asked == () and rows.receipt is None
    chosen = rows.ask(Choice(["x = 0", "x = 1"]), cost)
    # ε²/8 in ρ must cover what the choice is drawn with.
    assert chosen.law == "exponential" and chosen.rate**2 <= 8 * cost.rho


# Tallies travel.


class Remote(Rows):
    """Rows elsewhere: what is applied to them comes as bytes, and so does what they answer."""

    def __init__(self) -> None:
        super().__init__(CODES, LABELS)

    def sum(self, tally):
        return pickle.loads(pickle.dumps(super().sum(pickle.loads(pickle.dumps(tally)))))


@pytest.mark.parametrize(
    "question",
    [
        RowCount("x = 1 and z = a"),
        ColumnRows(["x", "y"]),
        Choice(["x = 0", "x = 1"]),
        LabelRows(),
        BinRows(model().bins),
        BinGradients(model(), [0, 1]),
        LeafLabelRows(stump()),
        LeafLabelRows(stump(), own_rows=True),
    ],
    ids=lambda question: type(question).__name__,
)
def test_what_is_asked_of_rows_can_travel_to_where_they_lie(question):
    answers = [walled(engine, Repeatable(3))[0].ask(question, ONE) for engine in (Meddling(), Remote())]
    assert np.array_equal(answers[0].values, answers[1].values)


# What says of its own type what is not true.


class EqualToAll(type):
    """A type that says it equals the one that is looked for."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(LabelRows)


class Exact(metaclass=EqualToAll):
    """A question whose release lets the exact answer out."""

    def copied(self):
        return self

    def check(self, schema):
        pass

    def charge(self, schema, cost):
        return LabelRows.plan(cost)

    def rehearse(self, terms, mechanisms):
        pass

    def read(self, rows, terms):
        return rows.sum(lambda batch: np.bincount(batch.labels))

    def release(self, exact, terms, mechanisms):
        return exact


class Turning(metaclass=EqualToAll):
    """False when it is counted, true when it is priced, a number of numpy if anybody asks."""

    looks = 0

    @property
    def __class__(self):
        return np.float64

    def __bool__(self):
        self.looks += 1
        return self.looks < 3


def test_no_type_is_believed_that_says_it_equals_a_question():
    protected, account = walled()
    with pytest.raises(QuestionError, match="not a question that the wall knows"):
        protected.ask(Exact(), Cost.pure("0.001"))
    assert account.spent().epsilon == 0 and not protected.asked


@pytest.mark.parametrize("turning", [Turning, type("Posing", (), dict(vars(Turning)))])
def test_no_value_is_believed_that_says_it_is_a_number(turning):
    protected, account = walled()
    for question in (LeafLabelRows(stump(), turning()), RowCount(turning()), Quantile("x", turning())):
        with pytest.raises(QuestionError, match="a question cannot hold"):
            protected.ask(question, ONE)
    assert account.spent().epsilon == 0 and not protected.asked


def test_a_fraction_and_a_number_of_numpy_are_copied_by_their_value():
    class Odd(np.float64):
        def item(self):
            return Turning()

        def __array__(self, *args, **more):
            return np.array([Turning()])

    half = Fraction(1, 2)
    copy = taken(half)
    half._numerator = 7
    assert copy == Fraction(1, 2)
    assert type(taken(Odd(3))) is float and taken(Odd(3)) == 3
    assert type(taken(np.bool_(True))) is bool and type(taken(np.uint8(3))) is int


def test_the_key_of_a_questions_rows_is_in_no_text():
    draws = Repeatable(1).row_draws()
    assert draws.key and "key" not in repr(draws)


def test_no_thread_takes_from_a_plan_or_reads_while_another_is_asking():
    waited, threads = [], []

    def meddle():
        if threads:
            return
        for step in (
            lambda: protected.refine([RowCount.plan(ONE)]),
            lambda: protected.reserve([RowCount.plan(ONE)]),
            lambda: protected.ask(RowCount(), ONE),
        ):
            threads.append(threading.Thread(target=step))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.1)
            waited.append(thread.is_alive())

    protected, account = walled(Meddling(meddle))
    protected.reserve([RowCount.plan(ONE)] * 2)
    protected.ask(RowCount(), ONE)
    for thread in threads:
        thread.join()
    assert waited == [True] * 3
    assert sum(charge.cost.epsilon for charge in protected.asked) <= account.spent().epsilon


def test_two_plans_are_settled_by_one_thread_at_a_time():
    protected, _ = walled()
    protected.reserve([RowCount.plan(ONE)], instead=[RowCount.plan(ONE)] * 2)
    with protected._lock:
        other = threading.Thread(target=protected.settle, args=(True,))
        other.start()
        other.join(0.1)
        assert other.is_alive() and protected._unsettled
    other.join()
    assert not protected._unsettled


@pytest.mark.parametrize("cost", [Cost(0, 0), Cost(None, 0), Cost(0, 10**24), Cost(10**12, 0)])
@pytest.mark.parametrize("question", [RowCount(), Choice(("x = 0", "x = 1"))])
def test_nothing_is_answered_at_no_cost(question, cost):
    protected, account = walled()
    with pytest.raises(QuestionError):
        protected.ask(question, cost)
    assert account.spent().rho == 0 and not protected.asked


def test_nothing_is_given_back_while_another_question_is_being_answered():
    """A plan of two: while the first is read, the second meets a table that cannot be read."""

    def meddle():
        if not broken:
            broken.append(True)
            with pytest.raises(DataError):
                protected.noisy_count(epsilon=1)
            return
        if len(broken) == 1:
            broken.append(True)
            raise DataError("the file is gone.", "")

    broken = []
    protected, account = walled(Meddling(meddle))
    protected.reserve([RowCount.plan(ONE)] * 2)
    assert protected.noisy_count(epsilon=1).values[0] == len(LABELS)
    assert account.spent().epsilon == 2


def test_what_is_given_back_takes_no_answer_of_another_thread_along():
    """Rows that are read in two ways; where a column does not fit, only what looks at it is refused."""

    class InParts(Meddling):
        def under(self, schema):
            return self

        def sum(self, tally):
            if tally.columns == (1,):
                raise DataError("column 'z' does not fit.", "")
            return super().sum(tally)

    class Payer:
        """The account, where another thread asks while a charge is given back."""

        name, accounting, batch_name = "people", "zcdp", None

        def reserve(self, *plan):
            return account.reserve(*plan)

        def give_back(self, receipt, reason):
            account.give_back(receipt, reason)
            if not answers:
                planned = [RowCount("x = 0"), RowCount("z = a")]
                protected.reserve([each.charge(SCHEMA, ONE) for each in planned])
                answers.append(protected.ask(planned[0], ONE).values)

    answers = []
    account = Ledger().create("people", Budget(10))
    protected = Protected(InParts(), SCHEMA, Payer(), Noiseless())
    others = protected.under(SCHEMA)
    for rows in (others, protected):
        with pytest.raises(DataError):
            rows.ask(RowCount("z = a"), ONE)
    assert answers and account.spent().epsilon == 2


def test_a_process_that_parts_while_rows_are_read_gets_no_answer_of_its_own():
    def fork():
        child.append(os.fork())

    child = []
    protected, account = walled(Meddling(fork))
    try:
        protected.noisy_count(epsilon=1)
        answered = True
    except QuestionError:
        answered = False
    if child == [0]:
        os._exit(answered)
    assert answered and os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1]) == 0
    assert account.spent().epsilon == 1


def test_no_note_on_an_error_of_ours_comes_out():
    def meddle():
        error = DataError("the table does not fit.", "")
        error.add_note("row 7 is Bob's")
        raise error

    protected, _ = walled(Meddling(meddle))
    with pytest.raises(DataError) as caught:
        protected.noisy_count(epsilon=1)
    assert not getattr(caught.value, "__notes__", [])


def test_the_ledger_says_what_was_asked():
    rows, _ = walled()
    rows.reserve([Charge("nothing to see", ONE, kind=RowCount)])
    with pytest.raises(QuestionError, match="the plan has 'nothing to see'"):
        rows.ask(RowCount("z = b"), ONE)
    rows, _ = walled()
    rows.reserve([RowCount("z = b").charge(SCHEMA, ONE)])
    assert rows.ask(RowCount("z = b"), ONE).values.shape == (1,)
