import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from privet import Budget, Continuous, Label, Ledger, MajorityForestClassifier, QuestionError, Schema

SCHEMA = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
X = np.random.default_rng(0).random((200, 1))
Y = (X[:, 0] > 0.5).astype(int)


def learner(account=None):
    return MajorityForestClassifier(1.0, n_trees=1, max_depth=1, schema=SCHEMA, account=account)


WRAPPED = {
    "bagging": lambda e: BaggingClassifier(e, n_estimators=2),
    "calibration": lambda e: CalibratedClassifierCV(e, cv=2),
    "stacking": lambda e: StackingClassifier([("one", e)], cv=2),
    "threshold": lambda e: TunedThresholdClassifierCV(e, cv=2),
    "grid": lambda e: GridSearchCV(e, {"max_depth": [1, 2]}, cv=2, error_score="raise"),
    "random": lambda e: RandomizedSearchCV(e, {"max_depth": [1, 2]}, n_iter=1, cv=2, error_score="raise"),
    "inside a pipeline": lambda e: GridSearchCV(
        make_pipeline(FunctionTransformer(), e),
        {"majorityforestclassifier__max_depth": [1]},
        cv=2,
        error_score="raise",
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapper_that_breaks_the_promise_is_refused_while_it_is_free(name):
    account = Ledger().create("people", Budget(10))
    with pytest.raises(QuestionError, match=r"private rows without noise|bagging copies rows"):
        WRAPPED[name](learner(account)).fit(X, Y)
    assert account.spent().rho == 0


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapper_is_recognised_before_it_sends_workers(name):
    with pytest.raises(QuestionError, match=r"private rows without noise|bagging copies rows"):
        WRAPPED[name](learner()).set_params(n_jobs=2).fit(X, Y)


def test_a_search_that_fits_nothing_again_is_recognised_in_workers_too():
    search = GridSearchCV(learner(), {"max_depth": [1, 2]}, cv=2, n_jobs=2, refit=False)
    with pytest.raises(QuestionError, match="private rows without noise"):
        search.fit(X, Y)


def test_a_wrapper_can_be_copied_and_a_fixed_threshold_be_used():
    assert clone(GridSearchCV(learner(), {"max_depth": [1]})).estimator.max_depth == 1
    fixed = FixedThresholdClassifier(learner(), threshold=0.3, response_method="predict_proba")
    assert fixed.fit(X, Y).predict(X).shape == (200,)


def test_a_pipeline_is_not():
    assert make_pipeline(FunctionTransformer(), learner()).fit(X, Y).predict(X).shape == (200,)
