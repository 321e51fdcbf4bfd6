"""Forked children, workers and pickles: what is charged is computed, and what cannot be is not charged."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
import warnings
from fractions import Fraction
from multiprocessing import get_context

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    Schema,
    protect,
)
from privet.data.discreet import discreet
from privet.errors import BudgetError, BudgetExceeded
from privet.estimators import CLASSIFIERS

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

SCHEMA = Schema([Continuous("x", 0, 1), Categorical("c", ["a", "b"])], Label("y", ["no", "yes"]))
N = 3000
RNG = np.random.default_rng(0)
X = RNG.random(N)
TABLE = {"x": X, "c": RNG.choice(["a", "b"], N), "y": np.where(X > 0.5, "yes", "no")}
FRAMES = {"pandas": pd.DataFrame(TABLE), "polars": pl.DataFrame(TABLE), "arrow": pa.table(TABLE)}


def in_child(work) -> None:
    """Run in a forked child; it must end well, and soon."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def ledger(tmp_path):
    found = Ledger(tmp_path / "ledger")
    found.create("people", Budget(100))
    return found


def fit(kind, source, account):
    estimator = kind(epsilon=1).fit(protect(source, SCHEMA, account))
    return estimator.model_.predict(source)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("learner", CLASSIFIERS)
def test_a_forked_child_fits_what_its_parent_has_fitted(learner, frame, ledger):
    account, kind, source = ledger.account("people"), CLASSIFIERS[learner], FRAMES[frame]
    fit(kind, source, account)
    in_child(lambda: fit(kind, source, account))
    assert float(account.spent().epsilon) == pytest.approx(2, abs=1e-6)
    fit(kind, source, account)
    assert float(account.spent().epsilon) == pytest.approx(3, abs=1e-6)


def test_a_forked_child_reads_though_another_thread_was_reading(ledger):
    reading, done = threading.Event(), threading.Event()

    def read():
        with discreet():
            reading.set()
            done.wait()

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()

    def work():
        fit(BoostingClassifier, FRAMES["pandas"], ledger.account("people"))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            warnings.warn("heard again", stacklevel=1)
        assert heard

    try:
        in_child(work)
    finally:
        done.set()
        thread.join()


def test_a_ledger_in_memory_charges_nothing_in_a_child():
    account = Ledger().create("people", Budget(2))
    fit(CountForestClassifier, FRAMES["pandas"], account)

    def work():
        with pytest.raises(BudgetError, match="another process"):
            fit(CountForestClassifier, FRAMES["pandas"], account)

    in_child(work)
    assert account.spent().epsilon == 1


def test_a_pool_of_forked_workers_shares_one_budget(ledger):
    ledger.create("few", Budget(2))
    account = ledger.account("few")
    fit(CountForestClassifier, FRAMES["pandas"], ledger.account("people"))
    with get_context("fork").Pool(2) as pool:
        told = pool.map(_tried, [account] * 3)
    assert sorted(told) == ["fitted", "fitted", "refused"] and account.spent().epsilon == 2


def _tried(account) -> str:
    try:
        fit(CountForestClassifier, FRAMES["pandas"], account)
    except BudgetExceeded:
        return "refused"
    return "fitted"


def test_an_estimator_with_an_account_of_a_file_is_pickled(ledger):
    estimator = BoostingClassifier(epsilon="1/2", schema=SCHEMA, account=ledger.account("people"))
    sent = pickle.loads(pickle.dumps(estimator))
    frame = FRAMES["pandas"]
    sent.fit(frame[["x", "c"]], frame["y"])
    assert ledger.account("people").spent().epsilon == Fraction(1, 2)
    again = pickle.loads(pickle.dumps(sent))
    assert (again.predict(frame[["x", "c"]]) == sent.predict(frame[["x", "c"]])).all()


def test_an_account_in_memory_is_not_pickled():
    account = Ledger().create("people", Budget(1))
    estimator = BoostingClassifier(schema=SCHEMA, account=account)
    with pytest.raises(BudgetError, match="in memory cannot be sent"):
        pickle.dumps(estimator)
    assert clone(estimator).account.ledger is account.ledger


def test_workers_charge_each_fit(ledger):
    frame, account = FRAMES["pandas"], ledger.account("people")
    estimator = CountForestClassifier(epsilon=0.25, schema=SCHEMA, account=account)
    scores = cross_val_score(estimator, frame[["x", "c"]], frame["y"], cv=4, n_jobs=2)
    assert scores.min() > 0.7 and account.spent().epsilon == 1
    Parallel(n_jobs=2)(delayed(clone(estimator).fit)(frame[["x", "c"]], frame["y"]) for _ in range(3))
    assert account.spent().epsilon == Fraction(7, 4)
