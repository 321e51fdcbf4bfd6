"""Boosting where rows times ε are so few that cells hold little but noise."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privet import BoostingClassifier, Categorical, Continuous, Label, Schema
from privet.learners.boosting.bins import CELLS_OF_NOISE, gather, make_cells, pooled_totals
from privet.learners.boosting.zoom import likely_ranks

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
