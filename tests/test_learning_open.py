"""Learners of contracts that leave ranges and categories open, or state ranges that are far too wide."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Integer,
    Label,
    Ledger,
    MajorityForestClassifier,
    PrivateSelection,
    Schema,
    Target,
    load_model,
    private_score,
    protect,
)
from privet.errors import BudgetError, QuestionError, SchemaError
from privet.learners.whereabouts import found_place, line_edges
from privet.parties import draw_structure
from privet.privacy.budget import in_sequence
from privet.privacy.charges import Charge
from privet.privacy.questions.numbers import numbers_by
from privet.structure import Bins

LABEL = Label("rich", [0, 1])
TOWNS = [f"town {i}" for i in range(6)]
RANGES = Schema([Continuous("income"), Integer("born")], LABEL)
OPEN = Schema([Continuous("income"), Integer("born"), Categorical("town")], LABEL)
WIDE = Schema([Continuous("income", -(10**9), 10**9), Integer("born", -(10**6), 10**6)], LABEL)
WITH_DELTA = [
    BoostingClassifier,
    CountForestClassifier,
    GreedyTreeClassifier,
    GreedyForestClassifier,
    CountingTreeClassifier,
]
LEARNERS = [*WITH_DELTA, MajorityForestClassifier]


def people(n=12_000, seed=0):
    rng = np.random.default_rng(seed)
    income, born = rng.lognormal(10, 1, n), rng.integers(1940, 2005, n)
    town = rng.integers(0, len(TOWNS), n)
    rich = (np.log(income) - 10 + (town == 3) + rng.normal(0, 0.4, n) > 0.2).astype(int)
    return pd.DataFrame({"income": income, "born": born, "town": np.array(TOWNS)[town]}), rich


X, Y = people()
HELD_OUT = people(3_000, 1)


def auc(model):
    return roc_auc_score(HELD_OUT[1], model.predict_proba(HELD_OUT[0])[:, 1])


@pytest.mark.parametrize("learner", LEARNERS)
def test_ranges_nobody_stated_are_found_in_pure_epsilon(learner):
    fitted = learner(epsilon=1.0, schema=RANGES).fit(X, Y)
    income, born = fitted.model_.schema.features
    assert 0 < income.lower < 10_000 and 50_000 < income.upper < 10**7
    assert 700 < born.lower < 1940 and 2004 <= born.upper < 5000
    assert fitted.model_.schema.declared == RANGES
    assert auc(fitted) > 0.7
    told = fitted.privacy_card_.questions[0]["question"]
    assert told == "rows by cell of 2 ranges, to find where people are"
    assert in_sequence(Charge.from_dict(q).cost for q in fitted.privacy_card_.questions).epsilon <= 1


@pytest.mark.parametrize("learner", WITH_DELTA)
def test_lists_of_categories_are_found_with_a_delta(learner, tmp_path):
    account = Ledger().create("people", Budget(1, "1e-6", Fraction(1, 10**7)))
    fitted = learner(epsilon=1.0, delta=1e-6, schema=OPEN, account=account).fit(X, Y)
    assert sorted(fitted.model_.schema.features[2].categories) == TOWNS
    assert auc(fitted) > 0.75
    card = fitted.privacy_card_
    assert [q["question"] for q in card.questions[:2]] == [
        "rows by cell of 2 ranges, to find where people are",
        "values that many people share, of 1 features",
    ]
    assert "delta" in card.questions[1]
    # Values that nobody knew, and numbers beyond what was found, are predicted all the same.
    strange = pd.DataFrame(
        {"income": [1e300, -5.0, np.nan], "born": [1, 9999, np.nan], "town": ["?", None, "town 0"]}
    )
    assert np.isfinite(fitted.predict_proba(strange)).all()
    fitted.model_.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.schema == fitted.model_.schema and loaded.schema.declared == OPEN
    assert (loaded.shares(HELD_OUT[0]) == fitted.model_.shares(HELD_OUT[0])).all()
    with pytest.raises(BudgetError):
        learner(epsilon=1.0, delta=1e-6, schema=OPEN, account=account).fit(X, Y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_open_categories_are_refused_in_pure_epsilon_before_they_cost(learner):
    account = Ledger().create("people", Budget(1))
    for ask in (
        lambda: learner(epsilon=1.0, schema=OPEN, account=account).fit(X, Y),
        lambda: learner(epsilon=1.0).plan(OPEN, 1000),
    ):
        with pytest.raises(QuestionError, match="cannot be found in pure epsilon") as refused:
            ask()
        assert "list the categories" in str(refused.value)
    assert not account.spent().rho_units


def test_an_account_without_a_part_of_delta_set_aside_refuses_categories_and_charges_nothing():
    account = Ledger().create("people", Budget(1, "1e-6"))
    with pytest.raises(BudgetError, match="left to find values with"):
        GreedyTreeClassifier(epsilon=1.0, delta=1e-6, schema=OPEN, account=account).fit(X, Y)
    assert not account.spent().rho_units


@pytest.mark.parametrize(
    "learner", [CountForestClassifier, GreedyTreeClassifier, GreedyForestClassifier, CountingTreeClassifier]
)
def test_wide_ranges_do_not_matter(learner):
    wide = auc(learner(epsilon=1.0, schema=WIDE).fit(X, Y))
    assert wide > auc(learner(epsilon=1.0, schema=WIDE, zoom=False).fit(X, Y)) + 0.02
    assert wide > 0.8


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "information_gain"},
        {"max_depth": 99},
        {"criterion": "beauty"},
    ],
)
def test_what_is_refused_is_refused_before_ranges_are_found(parameters):
    account = Ledger().create("people", Budget(1))
    with pytest.raises((ValueError, SchemaError)):
        GreedyTreeClassifier(schema=RANGES, account=account, **parameters).fit(X, Y)
    assert not account.spent().rho_units


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_plan_of_an_open_contract_is_what_a_fit_begins_with(learner):
    plan = learner(epsilon=1.0).plan(RANGES, len(X))
    assert plan.facts["ranges to be found"] == 2
    fitted = learner(epsilon=1.0, schema=RANGES).fit(X, Y)
    assert plan.questions[0].to_dict() == fitted.privacy_card_.questions[0]
    assert sum(share for _, _, share, _ in plan.shares()) == pytest.approx(1)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_range_of_a_number_to_predict_is_found(delta, tmp_path):
    random = np.random.default_rng(0)
    price = 1e4 * X["income"].to_numpy() ** 0.5 * random.lognormal(0, 0.1, len(X))
    schema = Schema([Continuous("income"), Integer("born", 1900, 2020)], Target("price"))
    plan = BoostingRegressor(2.0, delta).plan(schema, len(X))
    fitted = BoostingRegressor(2.0, delta, schema=schema).fit(X[["income", "born"]], price)
    target = fitted.model_.schema.target
    assert 0 <= target.lower < np.quantile(price, 0.02) and np.quantile(price, 0.98) < target.upper < 1e8
    assert fitted.model_.schema.declared == schema and plan.facts["ranges to be found"] == 2
    assert plan.questions[0].to_dict() == fitted.privacy_card_.questions[0]
    assert fitted.score(X[["income", "born"]], price) > 0.6
    fitted.model_.save(tmp_path / "m")
    assert load_model(tmp_path / "m").schema == fitted.model_.schema
    account = Ledger().create("people", Budget(1))
    rows = protect(X.assign(price=price), schema, account)
    with pytest.raises(QuestionError, match="is open"):
        numbers_by(schema, 1.0)
    for edges in ([0, 5], [5, 5], [10**6], [1.5]):
        bins = Bins.of([np.zeros(f.n_codes, np.int64) for f in schema.features], [1, 1])
        with pytest.raises(QuestionError, match="rising codes"):
            rows.noisy_range_rows(bins, [0], edges, epsilon=1)
    assert not account.spent().rho_units


def test_a_plan_says_how_many_must_share_a_value():
    plan = BoostingClassifier(epsilon=1.0, delta=1e-6).plan(OPEN, len(X))
    assert plan.facts["lists of categories to be found"] == 1
    assert 50 < plan.facts["rows that a category needs to be found, about"] < 500
    assert plan.budget.finding == Fraction(1, 10**7)


def test_later_batches_are_read_as_the_first_one_was():
    ledger = Ledger()
    account = ledger.create("people", Budget(1))
    for name in ("spring", "autumn"):
        ledger.declare_batch("people", name)
    forest = CountForestClassifier(epsilon=1.0, schema=RANGES, account=account, n_trees=5)
    forest.partial_fit(X, Y, batch="spring")
    first = forest.model_
    forest.partial_fit(*people(12_000, 2), batch="autumn")
    assert forest.model_.schema == first.schema
    assert forest.model_.counts.sum() == pytest.approx(2 * first.counts.sum(), rel=0.2)
    assert account.spent().epsilon == 1


def test_a_model_that_found_its_ranges_is_scored_on_other_rows():
    fitted = CountForestClassifier(epsilon=1.0, schema=RANGES).fit(X, Y)
    assert private_score(fitted, *HELD_OUT, metric="auc", epsilon=1).value > 0.7
    rows = protect(HELD_OUT[0].assign(rich=HELD_OUT[1]), RANGES, Ledger().create("held out", Budget(1)))
    assert private_score(fitted, rows, metric="auc", epsilon=1).value > 0.7
    with pytest.raises(SchemaError):
        private_score(fitted, *HELD_OUT, schema=WIDE, metric="auc", epsilon=1)


def test_learners_of_open_contracts_can_be_chosen():
    grid = {"max_depth": [2, 4]}
    search = PrivateSelection(GreedyTreeClassifier(), grid, epsilon=6, schema=RANGES).fit(X, Y)
    assert auc(search) > 0.7


def test_parties_need_a_contract_without_anything_open():
    with pytest.raises(SchemaError, match="leaves features open"):
        draw_structure(RANGES)


@pytest.mark.parametrize("values", ["nobody", "zero", "far"])
def test_odd_columns_are_learnt_from(values):
    n = 400
    column = {"nobody": np.full(n, np.nan), "zero": np.zeros(n), "far": np.full(n, 1e306)}[values]
    frame = pd.DataFrame({"income": column, "born": np.arange(n) + 1500})
    fitted = GreedyTreeClassifier(epsilon=1.0, schema=RANGES).fit(frame, np.arange(n) % 2)
    assert np.isfinite(fitted.predict_proba(frame)).all()
    assert fitted.rules()


def placed(feature, values, sd, rng):
    """Where people are by noisy rows of the cells of the line."""
    ends = np.array([feature.opened.edge(code) for code in line_edges(feature).tolist()])
    rows = np.histogram(np.clip(values, ends[0], ends[-1]), ends)[0]
    return found_place(feature, rows + rng.laplace(0, sd / sqrt(2), len(rows)), sd, len(values))


@pytest.mark.parametrize(
    ("feature", "values", "low", "high"),
    [
        (Continuous("x"), np.linspace(3, 5, 5000), (1, 3), (5, 16)),
        (Continuous("x"), -np.linspace(3, 5, 5000), (-16, -5), (-3, -1)),
        (Continuous("x"), np.linspace(-1, 1, 5000), (-4, -1), (1, 4)),
        (Continuous("x", 0, 1e9), np.repeat([0.0, 2e4, 5e4], 2000), (0, 0), (5e4, 2e5)),
        (Integer("x", 0, 10**6), np.arange(1950, 2010).repeat(90), (700, 1950), (2009, 4100)),
    ],
)
def test_the_range_that_is_found_holds_people_and_little_else(feature, values, low, high):
    rng = np.random.default_rng(0)
    for _ in range(20):
        place = placed(feature, values, 10.0, rng).feature
        assert low[0] <= place.lower <= low[1] and high[0] <= place.upper <= high[1]


def test_ranges_that_fit_stay_as_they_are_and_noise_moves_none():
    rng = np.random.default_rng(0)
    fits = Continuous("x", 0, 1)
    for values, sd in ((rng.random(5000), 10.0), (rng.random(50), 100.0)):
        for _ in range(20):
            assert placed(fits, values, sd, rng).feature is fits
    wide = Continuous("x", 0, 1e6)
    assert sum(placed(wide, np.zeros(0), 100.0, rng).ranks is not None for _ in range(300)) <= 3


def test_outliers_far_off_do_not_widen_a_range():
    rng = np.random.default_rng(0)
    values = np.append(np.full(10_000, 3.0), np.full(20, 1e12))
    assert placed(Continuous("x"), values, 1.0, rng).feature.upper < 10


@given(st.floats(-1e15, 1e15), st.floats(1e-9, 1e15), st.booleans(), st.integers(0, 1000))
def test_ranks_rise_and_lie_between_0_and_1(lower, width, integer, seed):
    rng = np.random.default_rng(seed)
    if integer:
        lower, width = int(lower), int(width) + 1
    assume(width > max(abs(lower) * 1e-6, 1e-200))
    feature = Continuous("x", lower, lower + width, integer)
    n = len(line_edges(feature)) - 1
    place = found_place(feature, rng.laplace(0, 1, n) + 100 * (rng.random(n) < 0.1), 1.0, 500)
    if place.ranks is not None:
        assert len(place.ranks) == place.feature.n_cells
        assert (np.diff(place.ranks) >= 0).all() and place.ranks[0] >= 0 and place.ranks[-1] < 1
        assert place.feature.lower >= feature.lower and place.feature.upper <= feature.upper
