"""Forests of noisy means: the question of their leaves over all neighbours, and a fit from end to end."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privet import (
    Budget,
    CountForestClassifier,
    CountForestRegressor,
    Ledger,
    QuestionError,
    Schema,
    SchemaError,
    explain,
    export_text,
    load_model,
    private_score,
    protect,
)
from privet.cli.main import main
from privet.errors import ModelFileError
from privet.learners.random_trees import random_complete_trees
from privet.model.number_forest import Ground, node_means
from privet.privacy import Cost
from privet.privacy.questions.numbers import HALF, LeafTargetRows, halves_above
from tests.test_regression import SCHEMA, TINY, all_tables, batch, people, terms


@pytest.mark.parametrize("cost", [Cost.pure("0.5"), Cost.zcdp("0.1")], ids=str)
@pytest.mark.parametrize(("centre", "width"), [(0.0, 1.0), (1.0, 1e-9), (-1e308, 1e308), (2, 5)])
def test_a_row_moves_leaves_by_no_more_than_it_is_charged_for(cost, centre, width):
    """Over all tables of one row and some of two; the bound is reached where residuals are cut."""
    trees = random_complete_trees(TINY, 3, 2, np.random.RandomState(0))
    question = LeafTargetRows(trees, centre, width)
    question.check(TINY)
    change, paid, alone = question.charge(TINY, cost).change, terms(cost), {}
    for codes, labels in all_tables(1):
        moved = question.tally(batch(codes, labels), paid)
        alone[tuple(codes[:, 0]), labels[0]] = moved
        assert (moved >= 0).all() and moved.sum() == change.l1 == 3 * 2 * HALF
        assert (moved**2).sum() <= change.l2_squared
    if width <= 1:
        assert max((moved**2).sum() for moved in alone.values()) == change.l2_squared
    for codes, labels in itertools.islice(all_tables(2), 0, None, 11):
        both = question.tally(batch(codes, labels), paid)
        parts = [alone[tuple(codes[:, i]), labels[i]] for i in (0, 1)]
        np.testing.assert_array_equal(both, sum(parts))


def test_sums_of_leaves_equal_their_plain_twin():
    rng = np.random.default_rng(1)
    trees = random_complete_trees(SCHEMA, 2, 3, np.random.RandomState(1))
    codes = np.stack([rng.integers(f.n_codes, size=300) for f in SCHEMA.features]).astype(np.uint16)
    labels = rng.integers(SCHEMA.target.n_cells, size=300).astype(np.uint16)
    question = LeafTargetRows(trees, 40.0, 25.0)
    rows = question.tally(batch(codes, labels), terms(Cost.pure(1), SCHEMA)) / (2 * HALF)
    exact = np.clip((SCHEMA.target.value(labels.astype(float)) - 40) / 25, -1, 1)
    np.testing.assert_allclose(rows.sum(axis=(1, 2)), 300)
    sums = (rows[..., 1] - rows[..., 0]).sum(axis=1)
    np.testing.assert_allclose(sums, exact.sum(), atol=300 / HALF / 2)
    assert set(halves_above(SCHEMA.target, 40.0, 25.0)) == set(range(2 * HALF + 1))


@pytest.mark.parametrize(("centre", "width"), [(0.0, 0.0), (0.0, "1"), (float("nan"), 1.0), ("0", 1.0)])
def test_forged_questions_are_refused_for_nothing(centre, width):
    account = Ledger().create("people", Budget(1))
    rows = protect(people(50), SCHEMA, account)
    trees = random_complete_trees(SCHEMA, 2, 2, np.random.RandomState(0))
    with pytest.raises(QuestionError):
        rows.noisy_leaf_target_rows(trees, centre, width, epsilon=1)
    assert not rows.asked and not account.spent().epsilon


def test_means_follow_rows_where_noise_lets_them():
    rows = np.array([[[900.0, 100.0], [100.0, 900.0]]])
    ground = Ground(50.0, 10.0, 5.0, 50.0)
    sure = node_means(rows, 1e-9, ground)[-1][0]
    np.testing.assert_allclose(sure, [[42, 58]], atol=0.2)
    unsure = node_means(rows, 1e9, ground)[-1][0]
    np.testing.assert_allclose(unsure, [[50, 50]], atol=0.2)


@pytest.fixture(scope="module")
def fitted():
    rows = people(15_000)
    X, y = rows.drop(columns="price"), rows.price
    return {
        delta: CountForestRegressor(2.0, delta, schema=SCHEMA, random_state=0).fit(X, y)
        for delta in (0, 1e-6)
    }


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_learns_within_its_budget(fitted, delta):
    fresh = people(4000, seed=1)
    X, y = fresh.drop(columns="price"), fresh.price
    model = fitted[delta]
    assert model.score(X, y) > 0.7
    low, high = model.predict_interval(X, 0.8).T
    assert abs(((low <= y) & (y <= high)).mean() - 0.8) < 0.08
    assert next(iter(model.model_.importances())) == "x"
    account = Ledger().create("people", Budget(1, delta))
    again = CountForestRegressor(1.0, delta, schema=SCHEMA, account=account).fit(X, y)
    planned = again.plan(SCHEMA, 4000).to_dict()["questions"]
    assert [q["question"] for q in planned] == [q["question"] for q in again.privacy_card_.questions]
    spent = account.spent()
    assert spent.epsilon <= 1 if not delta else spent.rho <= Budget(1, delta).rho
    assert private_score(model, X, y, epsilon=5).value == pytest.approx(model.score(X, y), abs=0.05)


def test_a_released_forest_tells_and_keeps_what_it_learnt(fitted, tmp_path):
    model, fresh = fitted[0], people(50, seed=3).drop(columns="price")
    model.model_.save(tmp_path / "m.privet")
    again = load_model(tmp_path / "m.privet")
    np.testing.assert_array_equal(again.predict(fresh), model.predict(fresh))
    assert CountForestRegressor.from_model(again).predict(fresh).shape == (50,)
    assert (
        "price" in again.describe()["target"] and "x" in export_text(model) and "noisy mean" in explain(again)
    )
    with pytest.raises(QuestionError):
        again.rules()
    header, arrays = again.to_file()
    for broken in ({"rows": arrays["rows"][:1]}, {"rows": arrays["rows"] * np.nan}):
        with pytest.raises((QuestionError, ModelFileError)):
            type(again).from_file(header, {**arrays, **broken})


def test_any_budget_and_few_rows_end_within_the_range():
    rows = people(60)
    for epsilon, delta in itertools.product((0.05, 0.5, 50.0), (0, 1e-6)):
        model = CountForestRegressor(epsilon, delta, schema=SCHEMA, random_state=0)
        told = model.fit(rows.drop(columns="price"), rows.price).predict(rows.drop(columns="price"))
        assert (told >= 0).all() and (told <= 100).all()


def test_the_schema_decides_which_forest_is_learnt(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(3000).to_csv("people.csv", index=False)
    SCHEMA.save("schema.json")
    assert main(["budget", "create", "people.csv", "--epsilon", "2"]) == 0
    fit = ["fit", "people.csv", "--schema", "schema.json", "--epsilon", "1", "--learner", "count-forest"]
    assert main([*fit, "--trees", "8", "--out", "m"]) == 0
    assert main(["describe", "m"]) == 0 and "price" in capsys.readouterr().out
    with pytest.raises(SchemaError, match="is a number"):
        CountForestClassifier(schema=SCHEMA).fit(people(100))
    with pytest.raises(SchemaError):
        CountForestRegressor(schema=replace(SCHEMA, label=Schema.from_dict(LABELS).label)).fit(people(100))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_batches_add_up_in_the_trees_of_the_first(delta, tmp_path):
    """Rows, noise and exposure: in sequence, or in parallel where nobody is in two batches."""
    first, second, fresh = people(2000), people(6000, seed=1), people(4000, seed=2)
    model = CountForestRegressor(0.5, delta, schema=SCHEMA, random_state=0).partial_fit(first, batch="may")
    before = model.model_
    assert model.partial_fit(second, batch="june") is model
    after = model.model_
    assert after.trees is before.trees and after.sd == pytest.approx(np.hypot(before.sd, after_noise(after)))
    for rows, expected in ((before.rows, 2000), (after.rows, 8000)):
        assert rows.sum(axis=(1, 2)).mean() == pytest.approx(expected, abs=600)
    assert after.sizes.rows.sum() > before.sizes.rows.sum()
    assert after.score(fresh) > before.score(fresh) - 0.05
    assert after.card.epsilon == "0.5" and [b["batch"] for b in after.card.batches] == ["may", "june"]
    model.model_.save(tmp_path / "m")
    again = CountForestRegressor.from_model(load_model(tmp_path / "m"), epsilon=0.25, delta=delta)
    again.partial_fit(second)
    assert Fraction(again.privacy_card_.epsilon) == Fraction("0.75")
    assert again.fit(first).privacy_card_.epsilon == "0.25"


def after_noise(model) -> float:
    """Noise of the last batch's rows, as its question states it."""
    asked = model.card.questions[0]
    cost = Cost.pure(asked["epsilon"]) if asked.get("epsilon") else Cost.zcdp(asked["rho"])
    return LeafTargetRows.plan(cost, model.trees.n_trees).noise_sd


def test_a_batch_is_charged_to_the_account_and_refused_where_it_does_not_fit():
    ledger = Ledger()
    account = ledger.create("people", Budget(2))
    model = CountForestRegressor(1, schema=SCHEMA, account=account, n_trees=10).partial_fit(people(3000))
    model.partial_fit(people(500, seed=5))
    assert account.spent().epsilon <= 2 and account.spent().epsilon > 1.99
    for changed in ({"n_trees": 11}, {"max_depth": 20}):
        other = CountForestRegressor.from_model(model.model_, account=account, **changed)
        with pytest.raises(QuestionError, match="cannot change between batches"):
            other.partial_fit(people(100))
    wider = replace(SCHEMA, label=replace(SCHEMA.target, upper=200))
    with pytest.raises(SchemaError, match="another schema"):
        CountForestRegressor.from_model(model.model_, schema=wider).partial_fit(people(100))
    assert account.spent().epsilon <= 2


LABELS = {
    "features": [{"name": "x", "type": "continuous", "lower": 0, "upper": 1}],
    "label": {"name": "price", "values": [0, 1]},
}
