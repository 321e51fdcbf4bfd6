"""Boosting where rows times ε are so few that cells hold little but noise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from privet import BoostingClassifier, Budget, Categorical, Continuous, Label, Ledger, Schema, protect
from privet.learners.boosting.bins import CELLS_OF_NOISE, Totals, gather, make_cells, pooled_totals
from privet.learners.boosting.shapes import InterceptFilter, Start
from privet.learners.boosting.zoom import likely_ranks
from privet.privacy import Repeatable

SCHEMA = Schema([Continuous(f"x{j}", 0, 1000) for j in range(6)], Label("y", [0, 1]))


def drawn(n_rows, seed):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n_rows)
    return np.where(random.random((n_rows, 6)) < 0.2 + 0.4 * y[:, None], 20.0, 0.0), y


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_numbers_that_are_mostly_zero_are_told_apart_in_a_wide_range(delta):
    found = []
    for seed in range(6):
        (X, y), (T, t) = drawn(2000, seed), drawn(1000, 100 + seed)
        fitted = BoostingClassifier(0.1, delta, schema=SCHEMA, random_state=seed).fit(X, y)
        found.append(roc_auc_score(t, fitted.predict_proba(T)[:, 1]))
    assert np.mean(found) > 0.7


def test_likely_ranks_leave_what_is_known_and_are_dense_near_zero():
    known = np.linspace(0, 0.9, SCHEMA.features[0].n_cells)
    schema = Schema([*SCHEMA.features[:2], Categorical("c", ["a", "b"])], SCHEMA.label)
    ranks = likely_ranks(schema, [known, None, None])
    assert ranks[0] is known and ranks[2] is None
    assert ranks[1][0] == 0 and ranks[1][-1] < 1 and (np.diff(ranks[1]) > 0).all()
    assert 0.2 < ranks[1][len(ranks[1]) // 256] < 0.4


def test_few_cells_are_not_joined_by_their_noise():
    cells, present = make_cells(SCHEMA, CELLS_OF_NOISE, likely_ranks(SCHEMA, []))
    noisy = np.random.default_rng(0).normal(100, 500, (cells.n_bins, 2))
    totals = pooled_totals(cells, noisy, 500.0)
    kept, margins = gather(SCHEMA, cells, present, noisy, 500.0, totals, CELLS_OF_NOISE)
    assert kept.n_bins == cells.n_bins and all(len(margin.mass) == 5 for margin in margins)
    assert gather(SCHEMA, cells, present, noisy, 500.0, totals)[0].n_bins < cells.n_bins


VOTES = Schema([Categorical(f"v{j}", ["n", "y"]) for j in range(16)], Label("party", [0, 1]), max_rows=400)


def voted(n_rows, seed, share=0.5):
    random = np.random.default_rng(seed)
    y = (random.random(n_rows) < share).astype(int)
    told = random.random((n_rows, 16)) < np.where(y == 1, 0.85, 0.15)[:, None]
    return pd.DataFrame(np.where(told, "y", "n"), columns=list(VOTES.feature_names)), y


def fitted_votes(delta, seed, share=0.5):
    X, y = voted(400, seed, share)
    account = Ledger().create("people", Budget("0.1", delta))
    rows = protect(X, VOTES, account, y, mechanisms=Repeatable(seed))
    return BoostingClassifier("0.1", delta, random_state=0).fit(rows)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_many_features_tell_labels_of_few_rows_apart(delta):
    T, t = voted(1000, 99)
    found = [roc_auc_score(t, fitted_votes(delta, s).predict_proba(T)[:, 1]) for s in range(24)]
    assert np.mean(found) > 0.75


def test_few_rows_are_asked_one_large_question():
    budget = BoostingClassifier(0.1, schema=VOTES)
    asked = [question.question for question in budget.plan(VOTES, 400).questions]
    assert asked[-2:] == ["sums of gradients by bin", "sums of gradients by leaf of oblivious trees"]
    assert set(asked[:-2]) == {"rows by label"}
    alone = [q.question for q in BoostingClassifier(0.1, passes=1, schema=VOTES).plan(VOTES, 400).questions]
    assert alone[-1] == "sums of gradients by bin"
    rare = BoostingClassifier(1.0, schema=VOTES).plan(VOTES, 400_000).questions
    assert "rows by bin and label of every feature" in [question.question for question in rare]


def test_a_sum_of_gradients_tells_rows_by_label():
    known, slopes = Totals(np.array([300.0, 200.0]), 50.0), (-0.5, 0.5)
    told = known.heard(slopes, 0.0, 1e-6)
    assert told.rows == pytest.approx([250, 250]) and told.sd == pytest.approx(50 / np.sqrt(2))
    deaf = known.heard(slopes, 0.0, 1e9)
    assert deaf.rows == pytest.approx(known.rows) and deaf.sd == pytest.approx(50)


def test_the_intercept_is_settled_as_far_as_the_answer_is_sure():
    start = Start.of(np.array([0.5, 0.5]), 0.1)
    sure = InterceptFilter(start, 4000, 0.5).settle(100.0, 1.0)
    unsure = InterceptFilter(start, 4000, 0.5).settle(100.0, 500.0**2)
    assert 0 < unsure[0] < sure[0] <= 100 / (4000 * start.curvature)
    assert InterceptFilter(start, 4000, 0.5).settle(-1e6, 1.0) == -2


def test_a_strong_feature_among_hundreds_is_found_in_pure_epsilon():
    schema = Schema([Categorical(f"v{j}", ["n", "y"]) for j in range(200)], Label("y", [0, 1]), max_rows=2000)
    random = np.random.default_rng(0)
    codes, y = random.integers(0, 2, (3000, 200)), random.integers(0, 2, 3000)
    codes[:, 70] = np.where(random.random(3000) < 0.9, y, 1 - y)
    X = pd.DataFrame(np.array(["n", "y"])[codes], columns=list(schema.feature_names))
    plan = BoostingClassifier(1, schema=schema).plan(schema, 2000)
    assert sum(question.question.startswith("split of every") for question in plan.questions) >= 3
    account = Ledger().create("people", Budget(1))
    rows = protect(X[:2000], schema, account, y[:2000], mechanisms=Repeatable(1))
    model = BoostingClassifier(1, random_state=0).fit(rows)
    assert roc_auc_score(y[2000:], model.predict_proba(X[2000:])[:, 1]) > 0.8
    told = model.model_.additive
    assert sum(bool(np.any(told.shapes[where])) for where in told.bins.slices) <= 12
