"""The boosting learner: it learns, spends exactly its budget, and releases nothing else."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from costs import fills
from privet import BoostingClassifier, Budget, Categorical, Continuous, Label, Ledger, Schema, protect
from privet.engines import MemoryEngine
from privet.kernels.predict import probabilities
from privet.learners.boosting.bins import (
    Totals,
    class_shares,
    join_cells,
    likely_share,
    make_cells,
    truncated_normal,
)
from privet.learners.boosting.loss import Labels
from privet.learners.boosting.opening import (
    MOST_LABEL_SHARE,
    further_shares,
    openings,
    prefers_pure,
    too_wide,
)
from privet.learners.boosting.plan import make_plan
from privet.learners.boosting.shapes import unlinked
from privet.learners.boosting.trees import level_energy
from privet.learners.purse import Purse
from privet.privacy import Charge, Cost, Repeatable
from privet.privacy.questions.boosting import BinGradients, LeafGradients

MIXED = [
    Continuous("x", -1, 1),
    Continuous("age", 0, 99, integer=True, missing=False),
    Categorical("town", ["north", "south", "west"]),
    Categorical("size", ["s", "m", "l"], ordered=True, missing=False),
]


def mixed_rows(n: int, n_labels: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose label depends on all features, on one only together with another."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(-1, 1, n)),
            "age": rng.integers(0, 100, n),
            "town": rng.choice(["north", "south", "west", None], n),
            "size": rng.choice(["s", "m", "l"], n),
        }
    )
    height = (
        2 * frame["x"].fillna(-1) + frame["age"] / 50 + (frame["town"] == "south") * (frame["size"] == "m")
    )
    noisy = height.to_numpy() + rng.normal(0, 0.3, n)
    return frame, np.digitize(noisy, np.quantile(noisy, np.arange(1, n_labels) / n_labels))


def mixed_schema(n_labels: int, max_rows: int | None = None) -> Schema:
    return Schema(MIXED, Label("y", list(range(n_labels))), max_rows)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_it_learns_mixed_features_with_missing_values(n_labels, delta):
    X, y = mixed_rows(12_000, n_labels)
    X_new, y_new = mixed_rows(3_000, n_labels, seed=1)
    model = BoostingClassifier(2.0, delta, schema=mixed_schema(n_labels), random_state=0).fit(X, y)
    assert model.score(X_new, y_new) > {2: 0.83, 3: 0.72}[n_labels]
    shares = model.predict_proba(X_new)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    expected = np.bincount(y_new, minlength=n_labels) / len(y_new)
    np.testing.assert_allclose(shares.mean(axis=0), expected, atol=0.05)


@pytest.mark.parametrize("n_rows", [1, 7, 60])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_it_survives_few_rows(n_rows, delta, n_labels):
    X, y = mixed_rows(n_rows, n_labels)
    for epsilon in (0.05, 20.0):
        model = BoostingClassifier(epsilon, delta, schema=mixed_schema(n_labels)).fit(X, y)
        shares = model.predict_proba(X)
        assert np.isfinite(shares).all() and shares.shape == (n_rows, n_labels)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("passes", [1, 2, 3, 6])
def test_it_learns_in_few_passes(passes, delta):
    X, y = mixed_rows(6_000, 2)
    model = BoostingClassifier(2.0, delta, passes=passes, schema=mixed_schema(2), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    labels = sum(q["question"] == "rows by label" for q in model.privacy_card_.questions)
    assert len(model.privacy_card_.questions) - labels <= passes


@pytest.mark.parametrize("passes", [0, -1, 1.5, True, "two"])
def test_passes_must_be_a_whole_number(passes):
    X, y = mixed_rows(50, 2)
    with pytest.raises(privet.QuestionError, match="passes"):
        BoostingClassifier(passes=passes, schema=mixed_schema(2)).fit(X, y)


def test_a_budget_too_small_for_gaussian_noise_is_spent_in_pure_epsilon():
    X, y = mixed_rows(50, 2)
    account = Ledger().create("people", Budget(1, "1e-6"))
    BoostingClassifier("1e-4", "1e-6", schema=mixed_schema(2), account=account).fit(X, y)
    assert account.spent().epsilon == Fraction("1e-4")


@pytest.mark.parametrize("delta", ["1e-100", "1e-9", "1e-3"])
def test_a_budget_is_never_spent_on_noise_that_cannot_be_drawn(delta):
    """Whatever the labels took and however many rows they then say there are."""
    grids = 0
    for epsilon, n_features, n_labels in itertools.product(np.geomspace(1e-9, 1, 46), [1, 80], [2, 20]):
        budget = Budget(Fraction(epsilon), delta)
        if too_wide(budget, n_features):
            continue
        purse = Purse.of(budget)
        for n_rows, spent in itertools.product([60, 10**5, 10**9], [Fraction("0.02"), MOST_LABEL_SHARE]):
            plan = make_plan(n_rows, n_features, Labels(n_labels), purse, spent)
            for charge in plan.charges(purse, n_features, Labels(n_labels)):
                # A law of noise that could not be drawn is refused where it is made.
                assert charge.law.parameter > 0
                grids += charge.kind in (BinGradients, LeafGradients)
    assert grids > 100


def test_a_budget_too_small_for_any_rho_is_spent_in_pure_epsilon():
    X, y = mixed_rows(50, 2)
    account = Ledger().create("people", Budget(1, "1e-6"))
    assert Budget("1e-6", "1e-6").rho == 0
    BoostingClassifier("1e-6", "1e-6", schema=mixed_schema(2), account=account).fit(X, y)
    assert account.spent().epsilon == Fraction("1e-6")


def test_a_feature_may_have_thousands_of_categories():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(20_000)]
    X = pd.DataFrame({"many": rng.choice(names, 3_000), "x": rng.random(3_000)})
    y = (X["x"] > 0.5).astype(int)
    schema = Schema([Categorical("many", names), Continuous("x", 0, 1)], Label("y", [0, 1]))
    assert BoostingClassifier(2.0, schema=schema).fit(X, y).score(X, y) > 0.9


def test_unknown_and_undeclared_missing_values_are_read():
    X, y = mixed_rows(500, 2)
    model = BoostingClassifier(1.0, schema=mixed_schema(2)).fit(X, y)
    odd = pd.DataFrame({"x": [np.inf], "age": [np.nan], "town": ["nowhere"], "size": [None]})
    assert np.isfinite(model.predict_proba(odd)).all()


PLANS = list(
    itertools.product([60, 3_000, 90_000, 3_000_000], [1, 9, 120], [2, 3, 20], [None, 10**5], [None, 1, 2, 5])
)


@pytest.mark.parametrize(
    "budget", [Budget(0.1), Budget(1), Budget(8), Budget("0.1", "1e-6"), Budget(8, "1e-9")]
)
def test_every_plan_costs_exactly_the_budget(budget):
    for n_rows, n_features, n_labels, bound, passes in PLANS:
        opening = openings(budget, many_features(n_features, n_labels, bound))[0]
        purse = opening.law(n_rows, n_features)
        spent = opening.spent(purse)
        spent += sum(further_shares(purse, n_rows, n_features, Labels(n_labels), spent))
        plan = make_plan(n_rows, n_features, Labels(n_labels), purse, spent, passes)
        costs = [charge.cost for charge in plan.charges(purse, n_features, Labels(n_labels))]
        rest = sum(cost.epsilon if purse.pure else cost.rho for cost in costs)
        unit = "epsilon" if purse.pure else "rho"
        assert fills(rest + spent * purse.total, purse.total, len(costs), unit)
        assert len(costs) <= (passes or 100)
        assert plan.depth <= 8 and plan.rounds * plan.n_trees < 1000


def many_features(n_features: int, n_labels: int, bound: int | None) -> Schema:
    features = [Continuous(f"x{j}", 0, 1) for j in range(n_features)]
    return Schema(features, Label("y", list(range(n_labels))), max_rows=bound)


@pytest.mark.parametrize("bound", [None, 300])
@pytest.mark.parametrize("budget", [Budget("0.05"), Budget("0.05", "1e-6")])
def test_labels_get_what_features_cannot_use(budget, bound):
    def shares(n_rows: int, bound: int | None) -> list[Fraction]:
        opening = openings(budget, many_features(16, 2, bound))[0]
        purse = opening.law(n_rows, 16)
        spent = opening.spent(purse)
        return [spent, *further_shares(purse, n_rows, 16, Labels(2), spent)]

    few = shares(60, bound)
    assert sum(few) > 0.7 and len(few) <= 6
    assert sum(shares(10**6, bound and 10**6)) <= Fraction(1, 50)


@pytest.mark.parametrize("delta", ["1e-6", "1e-9"])
def test_few_rows_of_few_features_prefer_pure_epsilon(delta):
    budget = Budget("0.1", delta)
    assert prefers_pure(budget, 600, 5, Labels(2)) and not prefers_pure(budget, 60_000, 5, Labels(2))
    assert not prefers_pure(budget, 20_000, 100, Labels(2))
    least = [
        next(n for n in 2 ** np.arange(40) if not prefers_pure(budget, n, d, Labels(2))) for d in (8, 32, 99)
    ]
    assert least == sorted(least, reverse=True)


@pytest.mark.parametrize(("delta", "bound"), [(0.0, None), (0.0, 500), (1e-6, 500)])
def test_few_rows_are_not_worse_than_the_class_prior(delta, bound):
    """Labels that depend on nothing: whatever is said of the features is noise. Repeatable noise."""
    rng = np.random.default_rng(0)
    X, _ = mixed_rows(500, 2)
    y = (rng.random(500) < 0.2).astype(int)
    losses = []
    for seed in range(20):
        account = Ledger().create("people", Budget("0.1", delta))
        protected = protect(X, mixed_schema(2, bound), account, y, mechanisms=Repeatable(seed))
        model = BoostingClassifier("0.1", delta, random_state=seed).fit(protected)
        losses.append(-np.log(model.predict_proba(X)[np.arange(500), y]).mean())
    prior = -(y.mean() * np.log(y.mean()) + (1 - y.mean()) * np.log(1 - y.mean()))
    assert np.mean(losses) <= 1.05 * prior
    assert max(losses) <= 1.3 * prior


@pytest.mark.parametrize(
    ("n_rows", "bound", "pure"), [(300, 300, True), (300, None, True), (90_000, None, False)]
)
def test_the_noisy_number_of_rows_decides_the_law(n_rows, bound, pure):
    """A question in pure ε, and then all of ε or all of ρ, whichever serves; the ledger keeps which."""
    X, y = mixed_rows(n_rows, 2)
    budget = Budget("0.1", "1e-6")
    account = Ledger().create("people", budget)
    learner = BoostingClassifier("0.1", "1e-6", schema=mixed_schema(2, bound), account=account)
    first, *rest = learner.fit(X, y).privacy_card_.questions
    assert first["epsilon"] and all((question["epsilon"] is not None) == pure for question in rest)
    unit = "epsilon" if pure else "rho"
    asked = sum(Fraction(question[unit]) for question in (first, *rest))
    assert fills(asked, getattr(budget, unit), 1 + len(rest), unit)
    # What was reserved stays spent: a first question, and the rest in one.
    assert fills(getattr(account.spent(), unit), getattr(budget, unit), 2, unit)
    assert (account.spent().epsilon is None) == (not pure)
    kinds = [event["kind"] for event in account.ledger.events()]
    assert kinds == ["budget", "charge", *(["settle"] if bound is None else [])]


@pytest.mark.parametrize(("epsilon", "delta"), [(10**6, "1e-6"), (1, "1e-100")])
def test_a_first_question_that_would_take_much_of_rho_is_asked_in_rho(epsilon, delta):
    first = openings(Budget(epsilon, delta), mixed_schema(2))[0]
    assert not first.purse.pure and first.spent(first.purse) == first.share


def test_an_interrupted_fit_leaves_the_cheaper_charge(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    X, y = mixed_rows(300, 2)
    budget = Budget("0.1", "1e-6")
    account = Ledger().create("people", budget)
    monkeypatch.setattr(MemoryEngine, "sum", interrupted)
    with pytest.raises(KeyboardInterrupt):
        BoostingClassifier("0.1", "1e-6", schema=mixed_schema(2), account=account).fit(X, y)
    assert account.spent().epsilon is None and fills(account.spent().rho, budget.rho, 2, "rho")


def test_a_refusal_names_what_is_left():
    X, y = mixed_rows(300, 2)
    account = Ledger().create("people", Budget(1, "1e-6"))
    account.reserve([Charge("before", Cost.pure("0.5"))])
    with pytest.raises(privet.BudgetExceeded, match=r"epsilon=1 but 0\.5 of 1 remains"):
        BoostingClassifier(1.0, "1e-6", schema=mixed_schema(2), account=account).fit(X, y)


@pytest.mark.parametrize("bound", [None, 300])
def test_an_account_is_charged_in_the_law_that_it_can_pay(bound):
    X, y = mixed_rows(300, 2)
    whole, fit = Budget(1, "1e-6"), Budget("0.1", "1e-6")
    spent = {"rho": Cost.zcdp(whole.rho - fit.rho), "epsilon": Cost.pure("0.9")}
    for unit, before in spent.items():
        account = Ledger().create("people", whole)
        account.reserve([Charge("before", before)])
        BoostingClassifier("0.1", "1e-6", schema=mixed_schema(2, bound), account=account).fit(X, y)
        assert fills(getattr(account.spent(), unit), getattr(whole, unit), 3, unit)
        with pytest.raises(privet.BudgetExceeded):
            BoostingClassifier("0.1", "1e-6", schema=mixed_schema(2, bound), account=account).fit(X, y)


@pytest.mark.parametrize(("n_rows", "n_labels"), [(40, 2), (3_000, 2), (3_000, 4)])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_a_fit_spends_exactly_the_budget(n_rows, n_labels, delta):
    X, y = mixed_rows(n_rows, n_labels)
    budget = Budget("0.7", delta)
    account = Ledger().create("people", budget)
    model = BoostingClassifier("0.7", delta, schema=mixed_schema(n_labels), account=account).fit(X, y)
    spent = account.spent()
    unit = "rho" if spent.epsilon is None else "epsilon"
    total = getattr(spent, unit)
    assert fills(total, getattr(budget, unit), 2, unit)
    asked = model.privacy_card_.questions
    assert fills(sum(Fraction(question[unit]) for question in asked), total, len(asked), unit)
    assert len(asked) == model.privacy_card_.learner["questions"]
    with pytest.raises(privet.BudgetExceeded):
        BoostingClassifier("0.01", delta, schema=mixed_schema(n_labels), account=account).fit(X, y)


def test_the_model_does_not_hold_the_number_of_rows(tmp_path):
    """A number of rows that no array has as a size or a value, whatever the noise."""
    X, y = mixed_rows(12_347, 2)
    model = BoostingClassifier(1.0, 1e-6, schema=mixed_schema(2)).fit(X, y).model_
    model.save(tmp_path / "model.privet")
    assert b"12347" not in (tmp_path / "model.privet").read_bytes()
    additive = model.additive
    for array in (additive.shapes, additive.leaves, additive.intercept, model.bin_shares, model.bands):
        assert not np.isin(array, [12_347, (y == 0).sum(), (y == 1).sum()]).any()


@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_saved_model_says_the_same(tmp_path, n_labels):
    X, y = mixed_rows(3_000, n_labels)
    model = BoostingClassifier(1.0, 1e-6, schema=mixed_schema(n_labels)).fit(X, y).model_
    model.save(tmp_path / "model.privet")
    loaded = privet.load_model(tmp_path / "model.privet")
    np.testing.assert_array_equal(loaded.shares(X), model.shares(X))
    assert loaded.describe() == model.describe()
    cards = (json.dumps(m.card.to_dict(), sort_keys=True) for m in (loaded, model))
    assert next(cards) == next(cards)


def test_noise_is_fresh_and_structure_repeats():
    X, y = mixed_rows(4_000, 2)
    first, second = (
        BoostingClassifier(4.0, 1e-6, schema=mixed_schema(2), random_state=5).fit(X, y).model_.additive
        for _ in range(2)
    )
    assert not np.array_equal(first.intercept, second.intercept)
    # The first level's feature is drawn by noisy weights from the same random numbers.
    assert (first.features[:64] == second.features[:64]).mean() > 0.8


def test_study_bits_void_the_promise():
    X, y = mixed_rows(1_000, 2)
    account = Ledger().create("people", Budget(1))
    protected = protect(X, mixed_schema(2), account, y, mechanisms=Repeatable(1))
    model = BoostingClassifier(1).fit(protected)
    assert not model.privacy_card_.private


def test_a_bound_on_the_rows_limits_what_is_believed():
    mean, variance = truncated_normal(5_000.0, 1_000.0, 1.0, 300.0)
    assert 150 < mean <= 300 and variance < 300**2
    assert truncated_normal(500.0, 1.0, 1.0, np.inf)[0] == pytest.approx(500)
    assert truncated_normal(-1e9, 1.0, 1.0, np.inf)[0] == 1


def test_truncated_normal_agrees_with_scipy():
    scipy_stats = pytest.importorskip("scipy.stats")
    for mean, sd, low, high in [(0.2, 0.1, 0, 1), (-3, 2, 0, 1), (40, 30, 1, np.inf), (-2, 0.1, 0, 1)]:
        law = scipy_stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
        assert truncated_normal(mean, sd, low, high) == pytest.approx((law.mean(), law.var()))


def test_class_shares_shrink_to_equality():
    certain = class_shares(Totals(np.array([900.0, 100.0]), 1.0), 1000.0)
    np.testing.assert_allclose(certain, [0.9, 0.1], atol=0.002)
    unsure = class_shares(Totals(np.array([900.0, 100.0]), 1e6), 1000.0)
    np.testing.assert_allclose(unsure, [0.5, 0.5], atol=0.01)


def test_a_share_that_noise_hides_is_likely_small():
    """Jeffreys' prior is as 1/√share near 0: the mean is √2 · Γ(¾)/Γ(¼) deviations."""
    assert likely_share(0.0, 1e-3, 2) == pytest.approx(0.478e-3, rel=0.01)
    assert likely_share(1.0, 1e-3, 2) == pytest.approx(1 - 0.478e-3, rel=1e-5)
    assert likely_share(-1e-2, 1e-3, 2) < 1e-4 and likely_share(5.0, 1e-3, 2) > 0.999
    assert likely_share(0.2, 1e-6, 2) == pytest.approx(0.2) == likely_share(0.2, 1e-6, 9)
    assert likely_share(0.7, 1e3, 4) == pytest.approx(0.25, abs=0.01)


def test_bins_keep_every_cell_in_order():
    rng = np.random.default_rng(0)
    for n_cells in (1, 2, 16, 500):
        bins = join_cells(rng.exponential(50, n_cells) + rng.normal(0, 20, n_cells), 20.0)
        assert bins[0] == 0 and set(np.diff(bins)) <= {0, 1}
    heavy = np.full(200, 10.0)
    heavy[70] = 5_000
    bins = join_cells(heavy, 1.0)
    assert (bins == bins[70]).sum() == 1
    assert 20 < bins[-1] <= 40


def test_cells_cover_every_code():
    cells, present = make_cells(mixed_schema(2), 16)
    np.testing.assert_array_equal(np.diff(cells.first), [17, 16, 4, 3])
    assert present == [16, 16, 3, 3]
    table = [
        cells.views.table[a:b] for a, b in itertools.pairwise([*cells.views.start, len(cells.views.table)])
    ]
    assert table[0][-1] == 16 and table[1][-1] == 8
    np.testing.assert_array_equal(table[2], [0, 1, 2, 3, 3])
    np.testing.assert_array_equal(table[3], [0, 1, 2, 0, 0])


def test_the_link_undoes_itself_and_is_proper():
    shares = np.array([0.001, 0.2, 0.5, 0.8, 0.999])
    scores = np.array([[unlinked(share)] for share in shares])
    np.testing.assert_allclose(probabilities(scores, 2)[:, 1], shares, atol=1e-9)
    # The clipped gradient vanishes on average where the share of the second label is what the link says.
    p = 1 / (1 + np.exp(-scores[:, 0]))
    np.testing.assert_allclose(
        shares * np.minimum(1 - p, 0.5) - (1 - shares) * np.minimum(p, 0.5), 0, atol=1e-9
    )


def test_level_energy_sees_the_level_that_matters():
    leaves = np.array([0.0, 0, 1, 1]).reshape(1, 4, 1)
    energy = level_energy(leaves, np.full((1, 4), 0.25))
    assert energy[0, 0] == pytest.approx(0.25) and energy[0, 1] < 1e-6


@pytest.mark.parametrize(("delta", "least"), [(1e-6, 0.9), (0.0, 0.89)])
def test_adult_is_learnt_well(data_dir, real_schemas, delta, least):
    from sklearn.metrics import roc_auc_score

    frame = pd.read_csv(data_dir / "adult.csv.gz", keep_default_na=False, na_values=[""])
    rows = np.random.default_rng(0).permutation(len(frame))
    train, test = frame.iloc[rows[:32_561]], frame.iloc[rows[32_561:]]
    model = BoostingClassifier(1.0, delta, schema=real_schemas["adult"], random_state=0)
    model.fit(train.drop(columns="label"), train["label"])
    shares = model.predict_proba(test.drop(columns="label"))[:, 1]
    assert roc_auc_score(test["label"] == model.classes_[1], shares) > least


def test_a_shape_that_no_pass_asked_has_a_wider_band():
    rng = np.random.default_rng(0)
    X = rng.random((6_000, 3))
    features = [Continuous(f"x{j}", 0, 1) for j in range(3)]
    schema = Schema(features, Label("y", [0, 1]))
    model = BoostingClassifier(1.0, schema=schema, random_state=0).fit(X, (X[:, 0] > 0.5).astype(int)).model_
    asked, *left_out = [np.median(model.bands[place]) for place in model.additive.bins.slices]
    assert asked < 0.98 * min(left_out)


def test_features_that_hardly_vary_shift_nobody():
    """Thirty features that all rows share: what is said of them is noise. Repeatable noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.full((3_000, 30), "a", object), columns=[f"c{j}" for j in range(30)])
    y = rng.choice(3, 3_000, p=[0.5, 0.3, 0.2])
    schema = Schema([Categorical(f"c{j}", ["a", "b", "c"]) for j in range(30)], Label("y", [0, 1, 2]))
    losses = []
    for seed in range(8):
        account = Ledger().create("people", Budget("0.3"))
        protected = protect(X, schema, account, y, mechanisms=Repeatable(seed))
        model = BoostingClassifier("0.3", random_state=seed).fit(protected)
        losses.append(-np.log(model.predict_proba(X)[np.arange(3_000), y]).mean())
    shares = np.bincount(y) / len(y)
    assert np.mean(losses) <= 1.05 * -(shares @ np.log(shares))
