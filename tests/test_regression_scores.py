"""Scores of models of numbers, and choosing among regressors: paid for, and bounded row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Budget,
    Ledger,
    PrivateRegressorSelection,
    PrivateSelection,
    QuestionError,
    SchemaError,
    private_score,
    protect,
)
from privet.cli.main import main
from privet.learners.boosting.numbers import constant
from privet.privacy import Cost
from privet.privacy.questions.errors import ErrorRows, ErrorSums
from tests.test_boosting_questions import random_additive
from tests.test_regression import SCHEMA, TINY, all_tables, batch, people, terms


@pytest.fixture(scope="module")
def fitted():
    rows = people(10_000)
    return BoostingRegressor(2.0, schema=SCHEMA, random_state=0).fit(rows.drop(columns="price"), rows.price)


@pytest.mark.parametrize(
    ("metric", "exact", "most"),
    [
        ("r2", r2_score, 0.02),
        ("mae", mean_absolute_error, 0.2),
        ("rmse", root_mean_squared_error, 0.3),
    ],
)
def test_scores_are_near_the_exact_ones(fitted, metric, exact, most):
    fresh = people(20_000, seed=4)
    X, y = fresh.drop(columns="price"), fresh.price
    found = private_score(fitted, X, y, metric=metric, epsilon=1)
    value = exact(y, fitted.predict(X))
    assert abs(found.value - value) < most and found.interval[0] <= value + 0.05 <= found.interval[1] + 0.1
    assert abs(found.noisy_rows - 20_000) < 500 and found.epsilon == "1.0"


def test_a_score_costs_what_it_says_and_nothing_of_labels_is_asked_of_numbers(fitted):
    fresh, account = people(500), Ledger().create("held out", Budget(1))
    for metric in ("r2", "mae", "rmse"):
        private_score(fitted, fresh, metric=metric, epsilon="0.25", account=account)
    assert 0.75 - 1e-9 < account.spent().epsilon <= 0.75
    assert private_score(fitted, fresh, epsilon=1).metric == "r2"
    with pytest.raises(QuestionError, match="no score"):
        private_score(fitted, fresh, metric="auc", epsilon=1)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "100"])
def test_any_budget_gives_a_score(fitted, epsilon):
    for metric in ("r2", "mae", "rmse"):
        found = private_score(fitted, people(60), metric=metric, epsilon=epsilon)
        assert found.interval[0] <= found.value <= found.interval[1]


@pytest.mark.parametrize("cost", [Cost.pure("0.5"), Cost.zcdp("0.1")], ids=str)
@pytest.mark.parametrize("odd", [None, np.nan, np.inf, -1e308])
def test_a_row_moves_errors_by_no_more_than_it_is_charged_for(cost, odd):
    """Over all tables of one row, whatever the model says; the bound is reached."""
    additive = random_additive(np.random.default_rng(0), 2, 2, n_trees=2)
    if odd is not None:
        additive = replace(additive, shapes=np.full_like(additive.shapes, odd))
    for question in (
        ErrorRows(additive, (0.5, 1.0, 2.0)),
        ErrorSums(additive, 1, 0.5),
        ErrorSums(additive, 2, 3.0),
        ErrorSums(constant(TINY, 0.0), 2, 1e-3),
    ):
        question.check(TINY)
        change = question.charge(TINY, cost).change
        moved = [
            question.tally(batch(codes, labels), terms(cost)).astype(object)
            for codes, labels in all_tables(1)
        ]
        assert max(np.abs(m).sum() for m in moved) <= change.l1
        assert max((m**2).sum() for m in moved) <= change.l2_squared
    assert max((m**2).sum() for m in moved) == change.l2_squared


def test_forged_questions_of_errors_are_refused():
    account = Ledger().create("people", Budget(1))
    rows = protect(people(50), SCHEMA, account)
    model = constant(SCHEMA, 50.0)
    for bad in (0, -1.0, float("nan"), "1"):
        with pytest.raises(QuestionError, match="width"):
            rows.noisy_error_sums(model, 2, bad, epsilon=0.1)
    for bad in (0, 3, 1.0, True, "2"):
        with pytest.raises(QuestionError, match="power"):
            rows.noisy_error_sums(model, bad, 1.0, epsilon=0.1)
    with pytest.raises(QuestionError, match="edge"):
        rows.noisy_error_rows(model, (), epsilon=0.1)
    assert not rows.asked


def test_the_best_of_regressors_is_chosen_within_one_budget():
    rows, account = people(8000), Ledger().create("people", Budget(6))
    search = PrivateRegressorSelection(
        BoostingRegressor(), {"passes": [1, 12]}, epsilon=6.0, schema=SCHEMA, account=account
    ).fit(rows.drop(columns="price"), rows.price)
    assert 6 - 1e-9 < account.spent().epsilon <= 6
    assert search.best_params_["passes"] in (1, 12) and search.best_score_ > 0.5
    assert search.score(rows.drop(columns="price"), rows.price) > 0.6
    assert search.model_.card.learner["by"] == "r2"
    assert search.best_estimator_.predict(rows.drop(columns="price")).shape == (8000,)
    with pytest.raises(QuestionError, match="something else"):
        PrivateRegressorSelection([BoostingClassifier()], epsilon=1, schema=SCHEMA).fit(rows)
    with pytest.raises(SchemaError, match="is a number"):
        PrivateSelection([BoostingRegressor()], epsilon=1, schema=SCHEMA).fit(rows)
    with pytest.raises(QuestionError, match="no score"):
        PrivateRegressorSelection([BoostingRegressor()], epsilon=1, metric="auc", schema=SCHEMA).fit(rows)


def test_the_command_line_scores_numbers(fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(3000, seed=9).to_csv("new.csv", index=False)
    fitted.model_.save("m.privet")
    assert main(["budget", "create", "new.csv", "--epsilon", "2"]) == 0
    assert main(["score", "m.privet", "new.csv", "--epsilon", "1"]) == 0
    assert main(["score", "m.privet", "new.csv", "--epsilon", "1", "--metric", "rmse"]) == 0
    assert "r2" in capsys.readouterr().out
