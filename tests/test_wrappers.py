import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.semi_supervised import SelfTrainingClassifier

from privet import (
    Budget,
    Continuous,
    Label,
    Ledger,
    MajorityForestClassifier,
    PrivacyLeakWarning,
    QuestionError,
    Schema,
)

SCHEMA = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
X = np.random.default_rng(0).random((200, 1))
Y = (X[:, 0] > 0.5).astype(int)


def learner(account=None, epsilon=1.0, seed=None):
    return MajorityForestClassifier(
        epsilon, n_trees=1, max_depth=1, schema=SCHEMA, account=account, random_state=seed
    )


WRAPPED = {
    "bagging": lambda e: BaggingClassifier(e, n_estimators=2),
    "calibration": lambda e: CalibratedClassifierCV(e, cv=2),
    "stacking": lambda e: StackingClassifier([("one", e)], cv=2),
    "threshold": lambda e: TunedThresholdClassifierCV(e, cv=2),
    "self-training": lambda e: SelfTrainingClassifier(e),
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
    with pytest.raises(QuestionError, match=r"without noise|bagging copies rows"):
        WRAPPED[name](learner(account)).fit(X, Y)
    assert account.spent().rho == 0


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapper_is_recognised_before_it_sends_workers(name):
    wrapped = WRAPPED[name](learner())
    wrapped.set_params(**{"n_jobs": 2} if "n_jobs" in wrapped.get_params() else {})
    with pytest.raises(QuestionError, match=r"without noise|bagging copies rows"):
        wrapped.fit(X, Y)


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


FITTED = {
    "imputer": SimpleImputer(),
    "scaler": StandardScaler(),
    "another scaler": MinMaxScaler(),
    "ranks": QuantileTransformer(n_quantiles=10),
    "bins": KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf"),
    "categories": OneHotEncoder(sparse_output=False),
    "selection": SelectKBest(k=1),
    "within columns": make_column_transformer((StandardScaler(), [0])),
    "within a pipeline within columns": make_column_transformer(
        (make_pipeline(Normalizer(), SimpleImputer()), [0])
    ),
    "within a union": make_union(StandardScaler()),
}


@pytest.mark.parametrize("name", FITTED)
def test_what_is_fitted_to_the_rows_before_the_learner_is_refused_while_it_is_free(name):
    account = Ledger().create("people", Budget(10))
    with pytest.raises(QuestionError, match="was fitted to private rows without noise"):
        make_pipeline(FITTED[name], learner(account)).fit(X, Y)
    assert account.spent().rho == 0


FREE = {
    "normalizer": Normalizer(),
    "passthrough": "passthrough",
    "fitted to public rows": FrozenEstimator(StandardScaler().fit([[0.0], [1.0]])),
    "columns": make_column_transformer((FunctionTransformer(), [0]), ("drop", [])),
    "listed categories": OrdinalEncoder(categories=[sorted(set(X[:, 0]))]),
}


@pytest.mark.parametrize("name", FREE)
def test_what_learns_nothing_may_stand_before_the_learner(name):
    assert make_pipeline(FREE[name], learner()).fit(X, Y).predict(X).shape == (200,)


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_what_others_fit_before_the_learner_is_warned_of():
    with pytest.warns(PrivacyLeakWarning, match="Own was fitted to private rows"):
        make_pipeline(Own(), learner()).fit(X, Y)


PREFIT = {
    "calibration": lambda e: CalibratedClassifierCV(FrozenEstimator(e), cv=2),
    "stacking": lambda e: StackingClassifier([("one", e)], cv="prefit"),
    "threshold": lambda e: TunedThresholdClassifierCV(e, cv="prefit", refit=False),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # equal shares
@pytest.mark.parametrize("name", PREFIT)
def test_what_is_fitted_to_what_a_fitted_learner_says_is_warned_of(name):
    with pytest.warns(PrivacyLeakWarning, match="unless these rows are public"):
        # Nearly without noise, cut where labels part: a threshold needs more than one prediction.
        PREFIT[name](learner(epsilon=50.0, seed=0).fit(X, Y)).fit(X, Y)


def test_a_choice_of_features_by_scores_is_refused():
    with pytest.raises(QuestionError, match="features are chosen by scores"):
        SequentialFeatureSelector(learner(), n_features_to_select=1, cv=2).fit(np.hstack([X, X]), Y)


def test_labels_of_text_hide_no_cause():
    named = MajorityForestClassifier(1.0, schema=Schema([Continuous("x", 0, 1)], Label("y", ["no", "yes"])))
    with pytest.raises(QuestionError, match="bagging copies rows"):
        BaggingClassifier(named, n_estimators=2).fit(X, np.array(["no", "yes"])[Y])


def test_votes_of_learners_are_charged_one_by_one():
    account = Ledger().create("people", Budget(10))
    voting = VotingClassifier([("a", learner(account)), ("b", learner(account))])
    assert voting.fit(X, Y).predict(X).shape == (200,) and account.spent().epsilon == 2
