"""The majority forest: what it learns, what it releases, what it refuses."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from costs import fills
from privet import (
    Budget,
    Categorical,
    Continuous,
    Label,
    Ledger,
    MajorityForestClassifier,
    PrivacyLeakWarning,
    Schema,
    protect,
)
from privet.errors import BudgetExceeded, DataError, QuestionError, SchemaError
from privet.learners.majority_forest import forest_depth
from privet.privacy import Repeatable
from privet.privacy.questions.trees import MAX_CELLS

SCHEMA = Schema(
    [
        Continuous("age", 0, 100, integer=True),
        Continuous("dose", 0.0, 1.0),
        Categorical("ward", ["a", "b", "c", "d"]),
    ],
    Label("outcome", ["bad", "fair", "good"]),
)


def patients(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 101, n).astype(float),
            "dose": rng.random(n),
            "ward": rng.choice(["a", "b", "c", "d"], n),
        }
    )
    score = (frame["age"] > 50).astype(int) + frame["ward"].isin(["a", "b"]).astype(int)
    frame.loc[::17, "dose"] = np.nan
    frame.loc[::31, "ward"] = None
    return frame, np.array(["bad", "fair", "good"])[score]


@pytest.fixture(scope="module")
def fitted():
    X, y = patients(30_000)
    return MajorityForestClassifier(1.0, schema=SCHEMA, max_depth=7, random_state=0).fit(X, y)


def test_it_learns_what_is_there(fitted):
    X, y = patients(5000, seed=1)
    assert fitted.score(X, y) > 0.9
    proba = fitted.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert fitted.classes_.tolist() == ["bad", "fair", "good"]
    assert fitted.feature_names_in_.tolist() == ["age", "dose", "ward"]


def test_noise_grows_as_epsilon_shrinks():
    X, y = patients(3000)
    held_out = patients(2000, seed=1)
    forests = [
        [MajorityForestClassifier(e, schema=SCHEMA, n_trees=30, max_depth=7).fit(X, y) for _ in "abc"]
        for e in (0.001, 0.1, 5)
    ]
    scores = [np.mean([forest.score(*held_out) for forest in same]) for same in forests]
    assert scores[0] + 0.1 < scores[1] < scores[2]


def test_the_card_says_what_was_asked_and_no_more(fitted):
    card = fitted.privacy_card_
    assert card.private and card.epsilon == "1.0" and card.delta == "0"
    (question,) = card.questions
    assert question["epsilon"] == "1"
    assert question["composition"] == "parallel over 100 random parts"
    assert card.schema == SCHEMA.fingerprint
    text = str(card.to_dict())
    assert "30000" not in text and "30,000" not in text
    assert "1.0-differential privacy" in str(card)


def test_every_leaf_is_released_visited_or_not(fitted):
    labels = fitted.model_.labels
    assert labels.shape == (100, fitted.model_.trees.n_leaves)
    tiny = MajorityForestClassifier(1.0, schema=SCHEMA, n_trees=10).fit(*patients(20))
    shares = np.bincount(tiny.model_.labels.ravel(), minlength=3) / tiny.model_.labels.size
    assert shares.min() > 0.15


def test_the_seed_fixes_the_structure_and_never_the_noise():
    X, y = patients(2000)
    a, b, c = (
        MajorityForestClassifier(0.1, schema=SCHEMA, random_state=seed).fit(X, y) for seed in (7, 7, 8)
    )
    assert (a.model_.trees.threshold == b.model_.trees.threshold).all()
    assert (a.model_.trees.threshold != c.model_.trees.threshold).any()
    assert (a.model_.labels != b.model_.labels).any()


def test_depth_follows_theorem_two_within_memory():
    X, y = patients(200)
    assert MajorityForestClassifier(schema=SCHEMA).fit(X, y).model_.trees.depth == 3
    assert MajorityForestClassifier(schema=SCHEMA, max_depth=6).fit(X, y).model_.trees.depth == 6
    wide = Schema([Continuous(f"x{i}", 0, 1) for i in range(80)], Label("y", [0, 1]))
    rng = np.random.default_rng(0)
    forest = MajorityForestClassifier(schema=wide).fit(rng.random((50, 80)), rng.integers(0, 2, 50))
    assert forest.model_.trees.n_trees * forest.model_.trees.n_leaves <= 1 << 22


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_frames_of_every_kind_fit_and_predict(kind):
    X, y = patients(2000)
    forest = MajorityForestClassifier(5.0, schema=SCHEMA, n_trees=20, max_depth=7)
    assert (forest.fit(kind(X), y).predict(kind(X)) == y).mean() > 0.7


def test_unknown_and_missing_values_are_predicted_too(fitted):
    odd = pd.DataFrame({"age": [np.nan, 1e9], "dose": [np.nan, -5.0], "ward": ["zzz", None]})
    assert set(fitted.predict(odd)) <= {"bad", "fair", "good"}


def test_labels_keep_the_type_of_the_table():
    schema = Schema([Continuous("x", 0, 1)], Label("y", ["1", "0"]))
    X = np.random.default_rng(0).random((3000, 1))
    y = (X[:, 0] > 0.5).astype(int)
    forest = MajorityForestClassifier(1, schema=schema, n_trees=20).fit(X, y)
    assert forest.classes_.tolist() == [0, 1]
    assert forest.score(X, y) > 0.8
    assert roc_auc_score(y, forest.predict_proba(X)[:, 1]) > 0.8


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["False", "True"], np.array([False, True])),
        (["0", "1"], np.array([0.0, 1.0])),
        ([str(2**60), str(2**60 + 1)], np.array([2**60, 2**60 + 1])),
        (["no", "yes"], np.array(["no", "yes"], object)),
    ],
)
def test_labels_of_any_type_are_read_before_anything_is_charged(values, labels):
    schema = Schema([Continuous("x", 0, 1)], Label("y", values))
    X = np.random.default_rng(0).random((2000, 1))
    y = labels[(X[:, 0] > 0.5).astype(int)]
    forest = MajorityForestClassifier(1, schema=schema, n_trees=20).fit(X, y)
    assert forest.classes_.tolist() == sorted(labels.tolist())
    assert forest.score(X, y) > 0.8


def test_the_card_states_what_was_charged():
    """Exactly, but for what is below the grid of costs: it is not charged."""
    schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
    X = np.random.default_rng(0).random((50, 1))
    y = (X[:, 0] > 0.5).astype(int)
    for epsilon in (np.float32(0.1), 1, "1/3", 0.3):
        account = Ledger().create("p", Budget(5))
        forest = MajorityForestClassifier(epsilon, schema=schema, account=account).fit(X, y)
        assert fills(account.spent().epsilon, Fraction(forest.privacy_card_.epsilon), 1)


def test_any_labels_are_kept_apart():
    """Labels other than 0 … k−1 must not be scrambled."""
    schema = Schema([Continuous("x", 0, 1)], Label("y", [30, 7, -2]))
    X = np.random.default_rng(0).random((9000, 1))
    y = np.array([7, -2, 30])[(X[:, 0] * 3).astype(int)]
    forest = MajorityForestClassifier(5, schema=schema, n_trees=20, max_depth=5).fit(X, y)
    assert forest.classes_.tolist() == [-2, 7, 30]
    assert forest.score(X, y) > 0.9


def test_no_schema_is_an_error_that_shows_how_to_write_one():
    with pytest.raises(SchemaError, match=r"Schema\(\[Continuous"):
        MajorityForestClassifier().fit(*patients(100))


def test_a_schema_from_the_data_warns_and_is_on_the_card():
    X, y = patients(3000)
    with pytest.warns(PrivacyLeakWarning, match="gives them away"):
        forest = MajorityForestClassifier(schema="from-data", n_trees=20).fit(X, y)
    assert not forest.privacy_card_.private
    assert "NONE" in str(forest.privacy_card_)
    assert forest.privacy_card_.caveats == ["the schema was read from the rows"]


def test_a_schema_may_be_a_path_or_plain_data(tmp_path):
    SCHEMA.save(tmp_path / "s.json")
    X, y = patients(300)
    for schema in (tmp_path / "s.json", str(tmp_path / "s.json"), SCHEMA.to_dict()):
        fitted = MajorityForestClassifier(schema=schema, n_trees=5).fit(X, y)
        assert fitted.privacy_card_.schema == SCHEMA.fingerprint


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"epsilon": 0}, QuestionError),
        ({"epsilon": -1}, QuestionError),
        ({"epsilon": float("nan")}, QuestionError),
        ({"epsilon": "much"}, QuestionError),
        ({"n_trees": 0}, QuestionError),
        ({"n_trees": 2.5}, QuestionError),
        ({"max_depth": 0}, QuestionError),
        ({"max_depth": 99}, QuestionError),
        ({"schema": 5}, SchemaError),
    ],
)
def test_wrong_parameters_are_refused(parameters, error):
    with pytest.raises(error):
        MajorityForestClassifier(**{"schema": SCHEMA, **parameters}).fit(*patients(100))


def test_wrong_parameters_cost_nothing():
    account = Ledger().create("patients", Budget(1))
    for parameters in ({"n_trees": 0}, {"max_depth": 99}, {"epsilon": -1}):
        with pytest.raises(QuestionError):
            MajorityForestClassifier(schema=SCHEMA, account=account, **parameters).fit(*patients(100))
    X, y = patients(100)
    with pytest.raises(DataError):
        MajorityForestClassifier(schema=SCHEMA, account=account).fit(X.drop(columns="ward"), y)
    with pytest.raises(DataError):
        MajorityForestClassifier(schema=SCHEMA, account=account).fit(X, np.full(100, "dead"))
    assert account.spent().epsilon == 0


def test_an_analyst_fits_on_protected_rows_alone():
    X, y = patients(20_000)
    ledger = Ledger()
    owner = protect(X.assign(outcome=y), SCHEMA, ledger.create("patients", Budget(1)))
    forest = MajorityForestClassifier(1.0, max_depth=7).fit(owner)
    held_out = patients(2000, seed=1)
    assert forest.score(*held_out) > 0.85
    assert ledger.holds(owner.receipt) and forest.privacy_card_.receipt == owner.receipt.hash
    with pytest.raises(BudgetExceeded):
        MajorityForestClassifier(0.1).fit(owner)
    ledger.grant("patients", Budget(2))
    again = MajorityForestClassifier(1.0).fit(owner)
    assert len(again.privacy_card_.questions) == 1


def test_every_fold_of_a_cross_validation_is_charged():
    """A clone must not carry a copy of the accountant."""
    account = Ledger().create("patients", Budget(1))
    forest = MajorityForestClassifier(0.2, schema=SCHEMA, n_trees=10, account=account)
    cross_val_score(forest, *patients(500), cv=5)
    assert account.spent().epsilon == 1
    with pytest.raises(BudgetExceeded):
        clone(forest).fit(*patients(500))


def test_it_works_in_a_pipeline():
    X, y = patients(2000)
    pipeline = make_pipeline(
        FunctionTransformer(lambda frame: frame.assign(age=frame["age"] + 0)),
        MajorityForestClassifier(1.0, schema=SCHEMA, n_trees=20),
    )
    assert pipeline.fit(X, y).predict(X).shape == (2000,)


def test_repeatable_noise_is_on_the_card():
    X, y = patients(500)
    ledger = Ledger()
    rows = protect(X, SCHEMA, ledger.create("p", Budget(9)), y, mechanisms=Repeatable(1))
    card = MajorityForestClassifier(1.0).fit(rows).privacy_card_
    assert not card.private and card.caveats == ["noise was drawn from a repeatable generator"]


def test_progress_is_told_in_batches_and_not_in_rows():
    X, y = patients(300_000)
    told = []
    account = Ledger().create("p", Budget(1))
    rows = protect(X, SCHEMA, account, y, progress=told.append)
    MajorityForestClassifier(1.0, n_trees=5).fit(rows)
    assert told == [1 / 2, 1]
    MajorityForestClassifier(schema=SCHEMA, n_trees=5, verbose=True).fit(*patients(100))


def test_real_data_sets_are_learnt(data_dir, real_schemas):
    """At ε = 1 well above chance, on all kinds of features."""
    least = {"mushroom": 0.99, "magic": 0.80, "adult": 0.80}
    for name, wanted in least.items():
        frame = pd.read_csv(data_dir / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
        y = frame.pop("label").to_numpy()
        train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(frame, y))
        forest = MajorityForestClassifier(1.0, schema=real_schemas[name], random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            forest.fit(frame.iloc[train], y[train])
        proba = forest.predict_proba(frame.iloc[test])[:, 1]
        assert roc_auc_score(y[test] == forest.classes_[1], proba) > wanted


def test_defaults_take_any_number_of_labels():
    features = [Continuous(f"x{i}", 0, 1) for i in range(20)]
    for n_labels in (2, 26, 100, 3000, 60_000):
        schema = Schema(features, Label("y", list(range(n_labels))))
        depth = forest_depth(schema, 100)
        assert depth >= 1 and 100 * 2**depth * n_labels <= MAX_CELLS
    assert forest_depth(Schema(features, Label("y", [0, 1])), 100) == forest_depth(
        Schema(features, Label("y", list(range(26)))), 100
    )
