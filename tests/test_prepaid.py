"""Plans that were paid before: the price is worked out on no rows, and exactly that is accepted, once."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
from threading import Barrier, BrokenBarrierError, Thread

import pyarrow as pa
import pytest

from privet import Budget, Ledger, Schema, Target, protect
from privet.errors import BudgetError, BudgetExceeded, DataError, QuestionError
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.privacy import Charge, Cost, Prepaid, Quote, Receipt, quotes


@pytest.fixture
def people(people):
    return pa.table(people)


RECEIPT = Receipt("people", 3, "ab" * 32)


def ask(rows):
    return rows.noisy_count("age >= 37", epsilon="0.1")


def prepaid(quote, schema):
    return Prepaid("people", RECEIPT, quote, schema.fingerprint)


def test_a_prepaid_account_accepts_its_plan_once_and_no_other(people, schema):
    (quote,) = quotes(ask, schema)
    assert [charge.cost for charge in quote.charges] == [Cost.pure("0.1")]
    payer = prepaid(quote, schema)
    rows = protect(people, schema, payer)
    with pytest.raises(BudgetExceeded):
        rows.noisy_count("age >= 38", epsilon="0.1")
    with pytest.raises(BudgetExceeded):
        rows.noisy_count("age >= 37", epsilon="0.10001")
    assert ask(rows).values.shape == (1,) and rows.receipt == RECEIPT
    for again in (rows, protect(people, schema, payer)):
        with pytest.raises(BudgetExceeded):
            ask(again)


def test_a_prepaid_account_holds_under_its_own_schema_alone(people, schema):
    (quote,) = quotes(ask, schema)
    other = Schema(schema.features, schema.label, max_rows=10**6)
    with pytest.raises(BudgetExceeded):
        ask(protect(people, other, prepaid(quote, schema)))


def test_what_was_paid_before_is_not_given_back(people, schema):
    (quote,) = quotes(ask, schema)
    payer = prepaid(quote, schema)
    rows = protect(people.set_column(3, "ill", pa.array(["what?"] * 500)), schema, payer)
    with pytest.raises(DataError):
        ask(rows)
    with pytest.raises(BudgetExceeded):
        ask(protect(people, schema, payer))


def test_a_plan_that_was_paid_before_is_in_no_second_hand(people, schema):
    """It would be answered once more: as a copy, in a forked process, or to another of two threads."""
    (quote,) = quotes(ask, schema)
    payer = prepaid(quote, schema)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(QuestionError, match="cannot be copied"):
            copied(payer)
    child = os.fork()
    if not child:
        try:
            payer.reserve(quote.charges, schema.fingerprint)
        except QuestionError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    both, answered = Barrier(2), []

    class Waiting(tuple):
        def __iter__(self):
            with contextlib.suppress(BrokenBarrierError):
                both.wait(0.5)  # till another one was let in as well
            return super().__iter__()

    def reserve():
        with contextlib.suppress(BudgetExceeded):
            answered.append(payer.reserve(Waiting(quote.charges), schema.fingerprint))

    threads = [Thread(target=reserve) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answered == [RECEIPT]


def test_a_price_charges_nobody(schema):
    with pytest.raises(BudgetError, match="asks nothing"):
        quotes(lambda rows: None, schema)


CASES = [(name, 0) for name in CLASSIFIERS]
CASES += [(name, 1e-6) for name, kind in CLASSIFIERS.items() if hasattr(kind, "delta")]


@pytest.mark.parametrize(("name", "delta"), CASES)
def test_every_learner_is_charged_what_it_then_reserves(people, schema, name, delta):
    more = {"delta": delta} if delta else {}
    more |= {"max_depth": 3, "n_trees": 3} if hasattr(CLASSIFIERS[name](), "n_trees") else {}

    def fit(rows):
        return CLASSIFIERS[name](epsilon=1, **more).fit(rows)

    check_charged_as_reserved(fit, people, schema, delta)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("name", REGRESSORS)
def test_every_learner_of_numbers_is_charged_what_it_then_reserves(people, schema, name, delta):
    numbers = Schema([schema.features[0], schema.features[2]], Target("age", 0, 120))

    def fit(rows):
        return REGRESSORS[name](epsilon=1, delta=delta, random_state=0).fit(rows)

    check_charged_as_reserved(fit, people, numbers, delta)


def check_charged_as_reserved(fit, people, schema, delta):
    quote = quotes(fit, schema)[0]
    told = Quote(*(tuple(Charge.from_dict(each.to_dict()) for each in plan) for plan in quote))
    payer = prepaid(told, schema)
    card = fit(protect(people, schema, payer)).privacy_card_
    assert payer.used and card.receipt == RECEIPT.hash
    assert bool(payer.settled) == bool(quote.instead)
    ledger = Ledger()
    account = ledger.create("people", Budget(1, delta))
    fit(protect(people, schema, account))
    event = ledger.history("people")[1]
    assert event["charges"] == [charge.to_dict() for charge in quote.charges]
    assert event.get("instead", []) == [charge.to_dict() for charge in quote.instead]
