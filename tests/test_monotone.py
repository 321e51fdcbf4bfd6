"""Features in which a model is monotone by public knowledge."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Integer,
    Label,
    Ledger,
    PrivateSelection,
    Schema,
    Target,
    load_model,
    protect,
)
from privet.errors import QuestionError, SchemaError
from privet.privacy import Repeatable

LABEL = Label("ill", ["no", "yes"])
FEATURES = [
    Continuous("dose", 0, 1, monotone="up"),
    Integer("sleep", 0, 12, monotone="down"),
    Continuous("x", 0, 1),
    Categorical("town", ["n", "s"]),
]


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n), rng.integers(0, 13, n), rng.random(n)]).astype(object)
    X[::17, 0] = None
    town = rng.choice(["n", "s"], n)
    # Somewhere it falls with the dose, so that order has to be brought about.
    dose = np.array([0.5 if v is None else v for v in X[:, 0]], float)
    score = np.sin(9 * dose) * 2 + dose - X[:, 1].astype(float) / 6 + X[:, 2].astype(float) * (town == "n")
    return np.column_stack([X, town]), score + rng.logistic(0, 0.3, n)


def grid():
    """Rows that differ in one feature alone, next to each other."""
    doses, sleeps = np.linspace(-0.2, 1.2, 57), np.arange(-1, 14)
    rest = list(product([0.1, 0.8], ["n", "s", "elsewhere"]))
    by_dose = np.array([[d, s, x, t] for s in (0, 5, 12) for x, t in rest for d in doses], object)
    by_sleep = np.array([[d, s, x, t] for d in (0.1, 0.6, None) for x, t in rest for s in sleeps], object)
    return by_dose, len(doses), by_sleep, len(sleeps)


def steps(told, n):
    """Differences between neighbours."""
    return np.diff(np.asarray(told).reshape(-1, n), axis=1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 0), (1, 0), (20, 0), (0.3, 1e-6), (4, 1e-6)])
@pytest.mark.parametrize("seed", [0, 1])
def test_predictions_are_monotone_whatever_the_noise(epsilon, delta, seed, tmp_path):
    X, score = people(2500, seed)
    y = np.where(score > 0, "yes", "no")
    fitted = BoostingClassifier(epsilon, delta, schema=Schema(FEATURES, LABEL), random_state=seed).fit(X, y)
    by_dose, n_doses, by_sleep, n_sleeps = grid()
    for told in (fitted.decision_function, lambda rows: fitted.predict_proba(rows)[:, 1]):
        assert steps(told(by_dose), n_doses).min() >= 0
        assert steps(told(by_sleep), n_sleeps).max() <= 0
    assert fitted.privacy_card_.learner["monotone"] == "dose up and sleep down"
    fitted.model_.save(tmp_path / "m")
    assert load_model(tmp_path / "m").schema == Schema(FEATURES, LABEL)


def test_without_it_the_same_rows_are_not_monotone():
    X, score = people(6000)
    plain = [Continuous("dose", 0, 1), *FEATURES[1:]]
    fitted = BoostingClassifier(4.0, schema=Schema(plain, LABEL), random_state=0).fit(
        X, np.where(score > 0, "yes", "no")
    )
    by_dose, n_doses, by_sleep, n_sleeps = grid()
    assert steps(fitted.decision_function(by_dose), n_doses).min() < 0
    assert steps(fitted.decision_function(by_sleep), n_sleeps).max() <= 0


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_numbers_are_monotone_too(delta):
    X, score = people(4000)
    schema = Schema(FEATURES, Target("score", -5, 5))
    fitted = BoostingRegressor(2.0, delta, schema=schema, random_state=0).fit(X, score)
    by_dose, n_doses, by_sleep, n_sleeps = grid()
    assert steps(fitted.predict(by_dose), n_doses).min() >= 0
    assert steps(fitted.predict(by_sleep), n_sleeps).max() <= 0


def test_ranges_that_are_found_stay_monotone():
    X, score = people(4000)
    features = [Continuous("dose", monotone="up"), Integer("sleep", monotone="down"), *FEATURES[2:]]
    schema = Schema(features, LABEL)
    fitted = BoostingClassifier(2.0, schema=schema, random_state=0).fit(X, np.where(score > 0, "yes", "no"))
    by_dose, n_doses, by_sleep, n_sleeps = grid()
    assert steps(fitted.decision_function(by_dose), n_doses).min() >= 0
    assert steps(fitted.decision_function(by_sleep), n_sleeps).max() <= 0
    assert fitted.model_.schema.declared == schema


def test_it_costs_nothing():
    X, score = people(2000)
    asked = []
    for features in (FEATURES, [Continuous("dose", 0, 1), Integer("sleep", 0, 12), *FEATURES[2:]]):
        schema = Schema(features, LABEL)
        account = Ledger().create("people", Budget(1))
        rows = protect(X, schema, account, np.where(score > 0, "yes", "no"), Repeatable(0))
        fitted = BoostingClassifier(1.0, random_state=0).fit(rows)
        asked.append([(q["question"], q["epsilon"]) for q in fitted.privacy_card_.questions])
    assert asked[0] == asked[1]


def test_where_all_features_are_monotone_no_trees_are_planned_or_grown():
    schema = Schema(FEATURES[:2], LABEL)
    X, score = people(5000)
    fitted = BoostingClassifier(2.0, 1e-6, schema=schema).fit(X[:, :2], np.where(score > 0, "yes", "no"))
    assert fitted.privacy_card_.learner["trees"] == 0
    plan = BoostingClassifier(2.0, 1e-6).plan(schema, 5000)
    assert plan.facts["trees"] == 0 and not any("leaf" in q.question for q in plan.questions)
    assert sum(share for _, _, share, _ in plan.shares()) == pytest.approx(1)


def test_trees_look_at_other_features_only():
    X, score = people(6000)
    schema = Schema(FEATURES, LABEL)
    fitted = BoostingClassifier(4.0, 1e-6, schema=schema).fit(X, np.where(score > 0, "yes", "no"))
    trees = fitted.model_.additive.features
    assert len(trees) and set(np.unique(trees)) <= {2, 3}


def test_who_does_not_keep_it_refuses_before_anything_is_charged():
    schema = Schema(FEATURES, LABEL)
    X, score = people(500)
    y = np.where(score > 0, "yes", "no")
    several = Schema(FEATURES, Label("ill", ["no", "yes", "unsure"]))
    chosen = PrivateSelection([CountForestClassifier(n_trees=5)], epsilon=1.0, schema=schema)
    for refused, contract in (
        (lambda account: CountForestClassifier(1.0, schema=schema, account=account).fit(X, y), schema),
        (lambda account: chosen.set_params(account=account).fit(X, y), schema),
        (lambda account: BoostingClassifier(1.0, schema=several, account=account).fit(X, y), several),
    ):
        account = Ledger().create("people", Budget(1))
        with pytest.raises(QuestionError, match=r"monotone|rises or falls"):
            refused(account)
        assert not account.spent().rho_units
        with pytest.raises(QuestionError):
            CountForestClassifier().plan(contract, 100)


def test_schemas_tell_of_it_and_others_have_the_fingerprint_they_had():
    schema = Schema(FEATURES, LABEL)
    assert Schema.from_dict(schema.to_dict()) == schema
    assert "goes down" in schema.features[1].told
    assert "monotone" not in str(Schema([Continuous("x", 0, 1)], LABEL).to_dict())
    for wrong in ("rising", 1, True, ""):
        with pytest.raises(SchemaError, match="monotone"):
            Continuous("x", 0, 1, monotone=wrong)
    with pytest.raises(SchemaError, match="cannot be monotone"):
        Target("price", 0, 1, monotone="up")
