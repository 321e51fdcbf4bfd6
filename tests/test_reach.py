"""Numbers in public ranges that are far too wide: found where they lie; a range that fits is let be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privet import (
    BoostingRegressor,
    Budget,
    Continuous,
    CountForestRegressor,
    Ledger,
    Schema,
    Target,
    protect,
)
from privet.audit.stand import Rows
from privet.audit.transcripts import compare_without
from privet.data import encode, open_table
from privet.learners import number_forest
from privet.learners.boosting import fit
from privet.learners.boosting.numbers import NOT_ASKED, Numbers
from privet.learners.boosting.reach import found_reach, is_lost, reach_rows, reach_share
from privet.learners.boosting.zoom import zoom_edges
from privet.learners.purse import Purse
from privet.learners.whereabouts import found_place, line_edges
from privet.model.numbers import ResidualSizes
from privet.privacy import Repeatable
from tests.test_regression import SCHEMA, people


def wide(times: float) -> Schema:
    return replace(SCHEMA, label=Target("price", 50 - 50 * times, 50 + 50 * times))


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize(("learner", "least"), [(BoostingRegressor, 0.7), (CountForestRegressor, 0.3)])
def test_numbers_are_found_in_a_range_a_thousand_times_too_wide(learner, least, delta):
    rows, fresh = people(8000), people(2000, seed=1)
    for seed in range(2):
        account = Ledger().create("people", Budget(1, delta))
        read = protect(rows, wide(1000), account, mechanisms=Repeatable(seed))
        model = learner(1.0, delta, random_state=seed).fit(read).model_
        assert model.score(fresh) > least
        assert any("cell of 1 ranges" in asked["question"] for asked in model.card.questions)
        spent = account.spent()
        assert spent.epsilon <= 1 if not delta else spent.rho <= Budget(1, delta).rho


def test_a_range_that_fits_is_not_looked_into():
    account = Ledger().create("people", Budget(1))
    read = protect(people(8000), SCHEMA, account, mechanisms=Repeatable(0))
    card = BoostingRegressor(1.0).fit(read).privacy_card_
    assert not any("cell of 1 ranges" in asked["question"] for asked in card.questions)


def test_a_mean_that_noise_carried_away_shows_in_the_sizes_of_residuals():
    about = Numbers.of(wide(1000))
    z = np.abs(np.random.default_rng(0).normal(size=20_000))

    def told(sizes: np.ndarray) -> Numbers:
        edges = about.edges
        rows = np.histogram(sizes, [0, *edges])[0].astype(float)
        return replace(about, sizes=ResidualSizes(edges, rows))

    assert is_lost(told(3000 + 15 * z), 2000, 10) and not is_lost(told(3000 * z), 2000, 10)
    assert not is_lost(told(3000 + 15 * z), 50, 10)
    assert is_lost(told(3000 * z), 2000, 1000) and not is_lost(told(3000 * z), 500, 1000)
    found = replace(told(3000 + 15 * z), reach=(0.0, 1.0))
    few = replace(about, schema=replace(SCHEMA, label=Target("price", 0, 9, integer=True)))
    assert not is_lost(found, 2000, 10) and not is_lost(replace(few, sizes=found.sizes), 2000, 10)
    assert not len(NOT_ASKED.rows)


def test_where_numbers_lie_is_believed_where_it_is_surely_a_small_part():
    schema, random = wide(1000), np.random.default_rng(0)
    edges = zoom_edges(schema.target)
    values = schema.target.lower + schema.target.width * edges
    rows = np.histogram(random.normal(60, 10, 5000), values)[0].astype(float)
    low, high = found_reach(schema, rows, 10.0, 5000)
    assert low < 40 and 80 < high < 1000
    assert found_reach(schema, rows, 2000.0, 5000) is None
    assert found_reach(schema, 5000 * np.diff(values) / np.ptp(values), 10.0, 5000) is None
    question = reach_rows(schema)
    question.check(schema)
    assert len(question.target) == len(rows) - 1
    assert reach_share(Purse.of(Budget(1)), 10**6) < reach_share(Purse.of(Budget(1)), 500)
    assert not reach_share(Purse.of(Budget("0.1")), 100)


def test_noise_far_off_does_not_widen_a_range_that_was_found():
    feature = Continuous("x")
    edges = line_edges(feature)
    rows = np.zeros(len(edges) - 1)
    middle = len(rows) // 2
    rows[middle + 60 : middle + 63] = 5000
    alone = found_place(feature, rows, 100.0, 15_000, pure=False).feature
    rows[-3] = 650
    found = found_place(feature, rows, 100.0, 15_000, pure=False).feature
    assert (found.lower, found.upper) == (alone.lower, alone.upper)
    rows[-3] = 900
    assert found_place(feature, rows, 100.0, 15_000, pure=False).feature.upper > alone.upper


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("learner", [BoostingRegressor, CountForestRegressor])
def test_whoever_looks_is_within_the_budget_against_every_neighbour(learner, delta, monkeypatch):
    """Where the range is always looked into, so that few rows on the stand show it."""
    for module in (fit, number_forest):
        monkeypatch.setattr(module, "is_lost", lambda loss, error, sd: loss.reach is None)
    schema, looked = wide(1000), []
    codes = encode(open_table(people(8), schema), schema)

    def program(protected):
        model = learner(epsilon=1, delta=delta, random_state=1).fit(protected).model_
        looked.append(any("cell of 1 ranges" in asked["question"] for asked in model.card.questions))
        return model

    for row, lift in enumerate((1 << 20, 1 << 30, 1 << 36, 1 << 42)):
        rows = Rows(codes.features, codes.labels)
        found = compare_without(program, rows, row, schema, Budget(1, delta), seed=row, lift=lift)
        assert found.keeps and not found.leak
    assert any(looked)
