"""The count forest: voting, batches, laws of noise, and what it refuses."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import truncnorm
from sklearn.metrics import log_loss

from costs import fills, n_charged
from privet import (
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    Schema,
    load_model,
    protect,
)
from privet.answers import Law
from privet.errors import BudgetError, BudgetExceeded, QuestionError, SchemaError
from privet.kernels.predict import vote_shares
from privet.model import voting
from privet.model.voting import VOTINGS, leaf_values, path_posterior
from privet.privacy import Account, Secure

SCHEMA = Schema(
    [
        Continuous("age", 0, 100, integer=True),
        Continuous("dose", 0.0, 1.0),
        Categorical("ward", ["a", "b", "c"]),
    ],
    Label("outcome", ["bad", "fair", "good"]),
)


def patients(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": rng.integers(0, 101, n), "dose": rng.random(n), "ward": rng.choice(["a", "b", "c"], n)}
    )
    score = (frame["age"] > 50).astype(int) + (frame["ward"] == "a").astype(int)
    return frame, np.array(["bad", "fair", "good"])[score]


HELD_OUT = patients(3000, seed=9)


def declared(account: Account, *batches: str) -> Account:
    """The account, whose owner says that nobody is in two of the batches."""
    for batch in batches:
        account.ledger.declare_batch(account.name, batch)
    return account


class Known(Secure):
    """Mechanisms that add noise which is written down."""

    def __init__(self) -> None:
        super().__init__()
        self.added: list[np.ndarray] = []
        self._noise = np.random.default_rng(0)

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        self.added.append(self._noise.integers(-9, 10, exact.shape))
        return exact + self.added[-1]


@pytest.mark.parametrize("voting", VOTINGS)
@pytest.mark.parametrize("rows", ["all", "disjoint"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_every_way_of_voting_learns(voting, rows, delta):
    forest = CountForestClassifier(2.0, delta, voting=voting, rows=rows, schema=SCHEMA, random_state=0)
    forest.fit(*patients(20_000))
    proba = forest.predict_proba(HELD_OUT[0])
    assert np.allclose(proba.sum(axis=1), 1) and (proba >= 0).all()
    assert forest.score(*HELD_OUT) > (0.4 if voting == "probabilistic" else 0.6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0), (1, 0), (1, 1e-6), (3, 1e-6)])
@pytest.mark.parametrize("rows", ["all", "disjoint"])
def test_the_ledger_holds_exactly_the_budget(epsilon, delta, rows):
    budget = Budget(epsilon, delta)
    account = Ledger().create("patients", budget)
    CountForestClassifier(epsilon, delta, rows=rows, schema=SCHEMA, account=account).fit(*patients(500))
    spent, unit = account.spent(), "rho" if delta else "epsilon"
    assert fills(getattr(spent, unit), getattr(budget, unit), n_charged(account), unit)


def test_noise_is_what_the_model_says():
    forest = CountForestClassifier(1.0, schema=SCHEMA, n_trees=20, max_depth=9).fit(*patients(50))
    empty = forest.model_.counts[np.abs(forest.model_.counts) < 1e9]
    assert np.var(empty) == pytest.approx(forest.model_.variance, rel=0.05)
    scale = 20 / (1 - 1 / 20 - 1 / 4) / 0.99
    assert forest.model_.variance == pytest.approx(2 * scale**2, rel=0.01)
    pure, gaussian = (
        CountForestClassifier(1.0, delta, schema=SCHEMA, n_trees=100, max_depth=5).fit(*patients(50))
        for delta in (0, 1e-6)
    )
    assert gaussian.model_.variance < pure.model_.variance / 8


def test_posterior_leaves_thin_leaves_to_their_ancestors():
    prior = np.array([0.5, 0.5])
    counts = np.zeros((1, 4, 2), np.int64)
    counts[0, 0] = [900, 100]
    counts[0, 2] = [1, 0]
    shares = path_posterior(counts, 25.0, prior)[0]
    assert shares[0, 0] > 0.8
    assert abs(shares[2, 0] - shares[3, 0]) < 0.05
    silent = path_posterior(np.zeros((1, 4, 2), np.int64), 25.0, np.array([0.7, 0.3]))
    assert np.allclose(silent, [0.7, 0.3], atol=1e-3)


def test_leaves_speak_softly_where_their_total_is_negative():
    """Noise can make a total negative, and leave what the counts say of each other."""
    counts = np.array([[[-5, -45], [30, 20]]])
    leaf, other = path_posterior(counts, 2500.0, np.array([0.5, 0.5]))[0, :, 0]
    assert 0.5 < other < leaf < 0.6


@pytest.mark.parametrize("noisy_total", [-1400.0, -80.0, 0.0, 40.0, 3000.0])
def test_rows_of_a_node_are_a_normal_law_cut_at_none(noisy_total):
    expected = truncnorm(-noisy_total / 50, np.inf, noisy_total, 50).mean()
    assert np.isclose(voting.rows_around(np.array(noisy_total), 2500.0), expected)
    assert 0 < voting.rows_around(np.array(-1e6), 2500.0) < 2


def test_posterior_without_noise_tends_to_the_counts():
    counts = np.array([[[3000, 1000], [0, 4000]]])
    assert np.allclose(
        path_posterior(counts, 1e-9, np.array([0.5, 0.5]))[0], [[0.75, 0.25], [0, 1]], atol=0.01
    )


def test_negative_counts_are_kept_in_sums_and_cut_elsewhere():
    counts = np.array([[[-5, 3], [-1, -2]], [[9, 1], [0, 0]]])
    prior = np.array([0.5, 0.5])
    assert leaf_values(counts, 1.0, prior, "sum")[0, 0].tolist() == [-5, 3]
    assert leaf_values(counts, 1.0, prior, "threshold").tolist() == [
        [[0, 1], [0.5, 0.5]],
        [[0.9, 0.1], [0.5, 0.5]],
    ]
    assert leaf_values(counts, 1.0, prior, "majority").tolist() == [
        [[0, 1], [0.5, 0.5]],
        [[1, 0], [0.5, 0.5]],
    ]
    assert vote_shares(np.array([[-2.0, 4.0], [-1.0, -1.0]]), 2).tolist() == [
        [0, 1],
        [0.5, 0.5],
    ]


def test_posterior_is_never_far_worse_than_the_prior():
    """Few rows and little budget: the forest falls back on the shares of the labels."""
    X, y = patients(200)
    labels = ["bad", "fair", "good"]
    held = pd.Series(HELD_OUT[1])
    base = log_loss(held, np.tile(held.value_counts(normalize=True)[labels], (len(held), 1)), labels=labels)
    losses = []
    for _ in range(20):
        forest = CountForestClassifier(0.5, schema=SCHEMA).fit(X, y)
        losses.append(log_loss(held, forest.predict_proba(HELD_OUT[0]), labels=labels))
    assert np.mean(losses) < 1.1 * base


def test_voting_is_read_anew_without_asking():
    account = Ledger().create("patients", Budget(1))
    forest = CountForestClassifier(1.0, schema=SCHEMA, account=account).fit(*patients(5000))
    shares = {v: forest.model_.with_voting(v).shares(HELD_OUT[0]) for v in VOTINGS}
    assert (shares["sum"] != shares["posterior"]).any()
    assert account.spent().epsilon == 1


def test_declared_batches_add_up_and_cost_in_parallel():
    account = declared(Ledger().create("patients", Budget(1)), "spring", "autumn")
    forest = CountForestClassifier(1.0, schema=SCHEMA, account=account, n_trees=10, random_state=0)
    forest.partial_fit(*patients(4000, 1), batch="spring")
    first = forest.model_
    forest.partial_fit(*patients(4000, 2), batch="autumn")
    assert account.spent().epsilon == 1
    assert (forest.model_.trees.threshold == first.trees.threshold).all()
    # The second batch has no structure to pay for.
    assert forest.model_.variance == pytest.approx(first.variance * (1 + (0.98 * 0.7 / 0.95) ** 2), rel=0.01)
    assert forest.model_.counts.sum() / 10 == pytest.approx(8000, rel=0.3)
    card = forest.privacy_card_
    assert [b["batch"] for b in card.batches] == ["spring", "autumn"] and card.epsilon == "1"
    with pytest.raises(BudgetExceeded):
        forest.partial_fit(*patients(100), batch="spring")
    assert forest.model_.card == card


@pytest.mark.parametrize("batch", ["", " ", 7])
def test_a_batch_without_a_name_is_refused(batch):
    """Its card would call it disjoint, though its account was charged for everyone."""
    account = Ledger().create("patients", Budget(1))
    forest = CountForestClassifier(1.0, schema=SCHEMA, n_trees=10)
    with pytest.raises(BudgetError, match="needs a name"):
        forest.partial_fit(*patients(100), batch=batch)
    with pytest.raises(BudgetError, match="needs a name"):
        declared(account, batch)
    with pytest.raises(BudgetError, match="never declared disjoint"):
        forest.set_params(account=account).partial_fit(*patients(100), batch=batch)
    assert account.spent().epsilon == 0


def test_only_the_owner_declares_a_batch():
    """Whoever asks could else be charged in parallel for people who were asked before."""
    account = declared(Ledger().create("patients", Budget(1)), "spring")
    forest = CountForestClassifier(1.0, schema=SCHEMA, account=account, n_trees=10)
    forest.partial_fit(*patients(100), batch="spring")
    with pytest.raises(BudgetError, match="'autumn' of 'patients' was never declared disjoint"):
        forest.partial_fit(*patients(100), batch="autumn")
    assert account.spent().epsilon == 1 and len(forest.privacy_card_.batches) == 1


def test_undeclared_batches_cost_in_sequence():
    account = Ledger().create("patients", Budget(2))
    forest = CountForestClassifier(1.0, schema=SCHEMA, account=account, n_trees=10)
    forest.partial_fit(*patients(500)).partial_fit(*patients(500))
    assert account.spent().epsilon == 2
    assert forest.privacy_card_.epsilon == "2"
    with pytest.raises(BudgetExceeded):
        forest.partial_fit(*patients(500))


def test_batches_may_differ_in_their_budget_without_naming_the_trees():
    forest = CountForestClassifier(1.0, schema=SCHEMA).fit(*patients(500))
    n_trees = forest.model_.trees.n_trees
    forest.set_params(epsilon=0.25).partial_fit(*patients(500))
    forest.set_params(epsilon=0.5, delta=1e-7).partial_fit(*patients(500))
    assert forest.model_.trees.n_trees == n_trees
    assert (forest.privacy_card_.epsilon, forest.privacy_card_.delta) == ("1.75", "1e-07")


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"structure": "jagannathan"}, {"structure": "fletcher-islam", "rows": "disjoint"}),
        ({"structure": "fletcher-islam", "n_trees": 10}, {"structure": "jagannathan"}),
        ({"n_trees": 10}, {"rows": "disjoint"}),
        ({"rows": "disjoint", "n_trees": 10}, {"rows": "all"}),
        ({"n_trees": 10}, {"n_trees": 11}),
    ],
)
def test_what_batches_must_share_cannot_change_and_costs_nothing(first, later):
    account = Ledger().create("patients", Budget(9))
    forest = CountForestClassifier(1.0, schema=SCHEMA, account=account, **first).fit(*patients(200))
    released = forest.model_
    with pytest.raises(QuestionError, match="cannot change between batches"):
        forest.set_params(**later).partial_fit(*patients(200))
    assert account.spent().epsilon == 1
    assert forest.model_ is released


def test_the_card_tells_the_history_of_its_batches():
    forest = CountForestClassifier(1.0, schema=SCHEMA, n_trees=5).partial_fit(*patients(200), batch="spring")
    assert "declared disjoint" not in str(forest.privacy_card_)
    forest.partial_fit(*patients(200), batch="autumn").set_params(delta=1e-7).partial_fit(*patients(200))
    told = [value for name, value in forest.privacy_card_.rows() if name == "batch"]
    assert [line.partition(", receipt")[0] for line in told] == [
        "spring, declared disjoint: ε=1.0",
        "autumn, declared disjoint: ε=1.0",
        "undeclared: ε=1.0, δ=1e-07",
    ]


def test_batches_sum_to_one_forest_up_to_the_noise_that_was_added():
    known, account = Known(), declared(Ledger().create("patients", Budget(2)), "a", "b", "c")
    (X, y), options = patients(3000), {"schema": SCHEMA, "n_trees": 5, "max_depth": 4, "random_state": 1}
    options["structure"] = "fletcher-islam"
    parts = CountForestClassifier(1.0, **options)
    for i, batch in enumerate(("a", "b", "c")):
        parts.partial_fit(protect(X[i::3], SCHEMA, account.batch(batch), y[i::3], known))
    leaf_noise = [a for a in known.added if a.ndim == 3]
    assert len(leaf_noise) == 3
    whole = CountForestClassifier(1.0, **options).fit(protect(X, SCHEMA, account, y, known))
    assert (parts.model_.counts - sum(leaf_noise) == whole.model_.counts - known.added[-1]).all()


def test_protected_rows_carry_their_batch():
    X, y = patients(1000)
    account = declared(Ledger().create("patients", Budget(1)), "north", "south")
    rows = protect(X, SCHEMA, account.batch("north"), y)
    forest = CountForestClassifier(1.0).partial_fit(rows)
    forest.partial_fit(rows.batch(X, "south", y))
    assert [b["batch"] for b in forest.privacy_card_.batches] == ["north", "south"]
    assert account.spent().epsilon == 1


@pytest.mark.parametrize("given", ["protected", "account"])
def test_a_first_fit_keeps_the_batch_of_its_account(given):
    (X, y), account = patients(500), declared(Ledger().create("patients", Budget(1)), "north", "south")
    north = account.batch("north")
    forest = CountForestClassifier(1.0, schema=SCHEMA, n_trees=5)
    if given == "account":
        forest.set_params(account=north).fit(X, y)
    else:
        forest.fit(protect(X, SCHEMA, north, y))
    forest.partial_fit(protect(X, SCHEMA, account.batch("south"), y))
    assert [b["batch"] for b in forest.privacy_card_.batches] == ["north", "south"]
    assert forest.privacy_card_.epsilon == "1" and account.spent().epsilon == 1


def test_protected_rows_are_in_no_other_batch_than_their_account_s():
    (X, y), account = patients(200), Ledger().create("patients", Budget(1))
    with pytest.raises(QuestionError, match="carry the batch of their account"):
        CountForestClassifier(1.0).partial_fit(protect(X, SCHEMA, account, y), batch="north")
    assert account.spent().epsilon == 0


def test_batches_are_added_to_a_model_read_from_its_file(tmp_path):
    """The same counts as without the file, up to the noise that was really added."""
    known, account = Known(), Ledger(tmp_path / "ledger").create("patients", Budget(1))
    declared(account, "spring", "autumn", "winter")

    def batch(name, seed):
        X, y = patients(1000, seed)
        return protect(X, SCHEMA, account.batch(name), y, known)

    options = {"n_trees": 5, "max_depth": 4, "structure": "bojarski", "voting": "threshold"}
    forest = CountForestClassifier(1.0, schema=SCHEMA, random_state=1, **options)
    forest.partial_fit(batch("spring", 1)).model_.save(tmp_path / "spring.privet")
    forest.partial_fit(batch("autumn", 2))

    again = CountForestClassifier.from_model(load_model(tmp_path / "spring.privet"), epsilon=0.5)
    assert (again.predict(HELD_OUT[0]) == again.classes_[again.predict_proba(HELD_OUT[0]).argmax(1)]).all()
    again.partial_fit(batch("winter", 2))
    first, autumn, winter = (a for a in known.added if a.ndim == 3)
    without_noise = [f.model_.counts - first - n for f, n in ((forest, autumn), (again, winter))]
    assert (without_noise[0] == without_noise[1]).all()
    assert again.model_.voting == "threshold"
    assert [(b["batch"], b["epsilon"]) for b in again.privacy_card_.batches] == [
        ("spring", "1.0"),
        ("winter", "0.5"),
    ]
    assert again.privacy_card_.epsilon == "1" and account.spent().epsilon == 1


def test_only_a_count_forest_of_one_owner_goes_on():
    model = CountForestClassifier(1.0, schema=SCHEMA, n_trees=5).fit(*patients(100)).model_
    merged = replace(model, card=replace(model.card, learner={"name": "count-forest", "trees": 5}))
    lying = replace(
        model, card=replace(model.card, learner={**model.card.learner, "structure": "jagannathan"})
    )
    for other in (merged, lying, None):
        with pytest.raises(QuestionError, match="not released by a count forest of one owner"):
            CountForestClassifier.from_model(other)


def test_an_account_must_be_one():
    with pytest.raises(QuestionError, match="account of a ledger"):
        CountForestClassifier(1.0, schema=SCHEMA, account="patients").fit(*patients(100))


def test_a_batch_under_another_schema_is_refused_and_costs_nothing():
    forest = CountForestClassifier(1.0, schema=SCHEMA, n_trees=10).fit(*patients(200))
    account = Ledger().create("patients", Budget(1))
    wider = Schema([Continuous("age", 0, 200, integer=True), *SCHEMA.features[1:]], SCHEMA.label)
    forest.set_params(schema=wider, account=account)
    with pytest.raises(SchemaError, match="another schema"):
        forest.partial_fit(*patients(200))
    assert account.spent().epsilon == 0


def test_fit_forgets_earlier_batches():
    forest = CountForestClassifier(1.0, schema=SCHEMA).fit(*patients(200))
    assert len(forest.fit(*patients(200)).privacy_card_.batches) == 1


def test_saving_and_loading_is_the_identity(tmp_path):
    forest = CountForestClassifier(1.0, schema=SCHEMA).fit(*patients(500))
    forest.model_.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert (loaded.shares(HELD_OUT[0]) == forest.model_.shares(HELD_OUT[0])).all()
    assert loaded.card == forest.privacy_card_
    assert loaded.describe()["voting"] == "posterior"


@pytest.mark.parametrize(
    "parameters",
    [
        {"voting": "loudest"},
        {"structure": "wild"},
        {"rows": "some"},
        {"structure": "bojarski"},
        {"n_trees": 0},
        {"max_depth": 99},
        {"delta": 2},
        {"epsilon": 0},
        {"random_state": "seven"},
    ],
)
def test_wrong_parameters_are_refused_and_cost_nothing(parameters):
    account = Ledger().create("patients", Budget(1))
    with pytest.raises(ValueError):
        CountForestClassifier(**{"schema": SCHEMA, "account": account, **parameters}).fit(*patients(100))
    assert account.spent().epsilon == 0


def test_depth_grows_with_rows_and_budget():
    def depth(n, epsilon, **more):
        return CountForestClassifier(epsilon, schema=SCHEMA, **more).fit(*patients(n)).model_.trees.depth

    assert depth(300, 0.1) <= 6 < depth(20_000, 1) < depth(20_000, 4)
    assert depth(20_000, 1, structure="fletcher-islam") == 3
    assert depth(300, 1, structure="bojarski", max_depth=5) == 5


def test_structures_draw_thresholds_from_where_they_say():
    X, y = patients(300)
    wide = CountForestClassifier(schema=SCHEMA, structure="bojarski", max_depth=6, random_state=0).fit(X, y)
    narrow = CountForestClassifier(schema=SCHEMA, max_depth=6, random_state=0).fit(X, y)
    assert (wide.model_.trees.threshold[:, 32:] != narrow.model_.trees.threshold[:, 32:]).any()


SKEWED = Schema(
    [
        Continuous("income", 0, 1e6),
        Continuous("noise", 0, 1),
        Categorical("town", [*"abcdefgh"], missing=False),
    ],
    Label("rich", [0, 1]),
)


def earners(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    towns = rng.integers(0, 8, n)
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(9, 1, n)),
            "noise": rng.random(n),
            "town": np.array([*"abcdefgh"])[towns],
        }
    )
    return frame, ((np.log(frame["income"]) - 9 + (towns % 2) - 0.5 + rng.normal(0, 0.3, n)) > 0).astype(int)


def test_adaptive_splits_lie_where_rows_and_labels_change():
    """Quantiles of a skewed feature, categories by their labels, and few splits on noise."""
    forest = CountForestClassifier(2.0, schema=SKEWED, random_state=0).fit(*earners(20_000))
    trees = forest.model_.trees
    views, source = trees.views, trees.views.source[trees.view[:, 1:8]]
    assert (source == 1).mean() < 0.25 < min((source == 0).mean(), (source == 2).mean())
    income = forest.model_.schema.features[0]
    cuts = [
        np.searchsorted(views.table[views.start[v] :][: income.n_cells], t)
        for v, t in zip(trees.view[:, 1], trees.threshold[:, 1], strict=True)
        if views.source[v] == 0
    ]
    assert income.edge(int(np.median(cuts))) < 30_000
    town = int(np.flatnonzero(views.source == 2)[0])
    places = views.table[views.start[town] :][:8]
    assert places[0::2].max() < places[1::2].min()


def test_adaptive_beats_every_depth_of_uninformed_trees_on_skewed_rows():
    X, y = earners(20_000, seed=1)
    scores = {
        depth: CountForestClassifier(0.5, schema=SKEWED, structure=structure, max_depth=depth, random_state=0)
        .fit(*earners(20_000))
        .score(X, y)
        for structure, depth in [("adaptive", None), *(("fletcher-islam", d) for d in (4, 7, 10))]
    }
    assert scores[None] > max(scores[d] for d in (4, 7, 10)) + 0.02


def test_later_batches_ask_nothing_of_the_structure():
    forest = CountForestClassifier(1.0, schema=SKEWED, n_trees=5).partial_fit(*earners(500), batch="a")
    asked = [q["question"] for q in forest.privacy_card_.questions]
    asked = [question for question in asked if "where people are" not in question]  # noise decides
    assert asked == [
        "number of rows",
        "rows by label",
        "rows by bin and label of every feature",
        "rows by leaf and label of 5 trees",
    ]
    forest.partial_fit(*earners(500), batch="b")
    assert [q["question"] for q in forest.privacy_card_.questions] == [asked[1], asked[3]]


def test_noise_that_cannot_be_drawn_is_refused_before_it_is_charged():
    budget = Budget("1e-5", 1e-6)
    account = Ledger().create("patients", budget)
    with pytest.raises(QuestionError):
        CountForestClassifier("1e-5", 1e-6, schema=SCHEMA, account=account).fit(*patients(100))
    assert account.spent().rho == 0


def test_probabilistic_predictions_are_drawn_by_weight():
    X, y = patients(20_000)
    forest = CountForestClassifier(2.0, schema=SCHEMA, voting="probabilistic", random_state=3).fit(X, y)
    one = HELD_OUT[0].iloc[:1]
    many = pd.concat([one] * 4000)
    shares = forest.predict_proba(one)[0]
    drawn = (
        pd.Series(forest.predict(many)).value_counts(normalize=True).reindex(forest.classes_, fill_value=0)
    )
    assert np.allclose(drawn, shares, atol=0.05)


def test_exact_costs_leave_no_remainder():
    card = CountForestClassifier(0.3, schema=SCHEMA).fit(*patients(100)).privacy_card_
    assert sum(Fraction(q["epsilon"]) for q in card.questions) == Fraction(3, 10)


def test_posterior_beats_the_papers_voting_on_real_data(data_dir, real_schemas):
    frame = pd.read_csv(data_dir / "adult.csv.gz", keep_default_na=False, na_values=[""])
    y = frame.pop("label").to_numpy()
    train, test = frame.iloc[:32_561], frame.iloc[32_561:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = CountForestClassifier(
            0.5, structure="fletcher-islam", schema=real_schemas["adult"], random_state=0
        )
        forest.fit(train, y[:32_561])
    losses = {
        v: log_loss(
            y[32_561:] == ">50K", forest.model_.with_voting(v).shares(test)[:, 1].clip(1e-4, 1 - 1e-4)
        )
        for v in ("posterior", "sum", "threshold")
    }
    assert losses["posterior"] < min(losses["sum"], losses["threshold"])
