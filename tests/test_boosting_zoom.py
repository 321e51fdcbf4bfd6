"""Zoom: public ranges may be far wider than where people are. Repeatable noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from costs import fills
from privet import BoostingClassifier, Budget, Categorical, Continuous, Label, Ledger, Schema, protect
from privet.learners.boosting.bins import make_cells
from privet.learners.boosting.zoom import zoom_bins, zoom_edges, zoom_share, zoomed
from privet.learners.purse import Purse
from privet.privacy import Repeatable
from privet.privacy.questions.boosting import BinRows
from privet.privacy.questions.finding import RangeRows


def schema_of(top: float, lower: float = 0.0, n_features: int = 4) -> Schema:
    return Schema([Continuous(f"x{j}", lower, top) for j in range(n_features)], Label("y", [0, 1]))


def fitted(schema: Schema, epsilon: str, delta: str | int, n: int = 12_000):
    random = np.random.default_rng(0)
    X = random.random((n, len(schema.features)))
    y = (random.random(n) < 1 / (1 + np.exp(10 - 10 * (X[:, 0] + X[:, 1])))).astype(int)
    account = Ledger().create("people", Budget(epsilon, delta))
    protected = protect(X, schema, account, y, mechanisms=Repeatable(0))
    model = BoostingClassifier(epsilon, delta, random_state=0).fit(protected).model_
    return roc_auc_score(y, model.shares(X)[:, 1]), model.card.questions


@pytest.mark.parametrize(("epsilon", "delta"), [("1", 0), ("1", "1e-6"), ("0.3", "1e-6")])
def test_a_range_may_be_a_thousand_times_too_wide(epsilon, delta):
    narrow, _ = fitted(schema_of(1), epsilon, delta)
    for wide in (schema_of(1000), schema_of(500, -500)):
        assert fitted(wide, epsilon, delta)[0] > narrow - 0.02


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_plan_tells_of_it_and_costs_the_budget(delta):
    schema, budget = schema_of(1000), Budget("1", delta)
    told = BoostingClassifier("1", delta).outline(schema, 12_000).questions
    asked = fitted(schema, "1", delta)[1]
    for kind, text in ((BinRows, BinRows.text), (RangeRows, RangeRows.text.format(4))):
        counted = [question["question"] for question in asked].count(text)
        assert counted == sum(charge.kind is kind for charge in told) == 1
    unit = "rho" if delta else "epsilon"
    rest = [Fraction(question[unit]) for question in asked if question[unit] is not None]
    first = budget.rho * 0 if len(rest) == len(asked) else Fraction(asked[0]["epsilon"]) ** 2 / 2
    assert fills(sum(rest) + first, getattr(budget, unit), len(asked) + 1, unit)


@pytest.mark.parametrize(
    ("features", "n_rows", "passes"),
    [
        ([Continuous("x", 0, 1)], 300, None),
        ([Continuous("x", 0, 1)], 10**6, 3),
        ([Continuous("n", 0, 30, integer=True), Categorical("c", ["a", "b"])], 10**6, None),
    ],
)
def test_it_is_not_asked_where_it_is_not_worth_it(features, n_rows, passes):
    schema, purse = Schema(features, Label("y", [0, 1])), Purse.of(Budget("0.1", "1e-6"))
    assert zoom_share(purse, n_rows, schema, passes) == 0
    assert zoom_share(purse, 10**6, schema_of(1), None) > 0


@pytest.mark.parametrize(("lower", "upper"), [(0, 1), (-3, 5), (1990, 2030), (-9, -1), (0, 1e300)])
@pytest.mark.parametrize("integer", [False, True])
def test_every_code_has_one_of_its_cells(lower, upper, integer):
    feature = Continuous("x", lower, upper, integer=integer)
    edges = zoom_edges(feature)
    assert edges[0] == 0 and edges[-1] == feature.n_cells and (np.diff(edges) > 0).all()
    schema = Schema([feature, Categorical("c", ["a", "b"])], Label("y", [0, 1]))
    bins = zoom_bins(schema)
    table = bins.views.table[: feature.n_codes]
    np.testing.assert_array_equal(np.flatnonzero(np.diff(table.astype(int))) + 1, edges[1:])
    assert np.diff(bins.first).tolist() == [len(edges), 1]


def test_cells_follow_the_rows_and_noise_leaves_them_as_they_are():
    schema = schema_of(1000, n_features=2)
    bins = zoom_bins(schema)
    noisy_rows = np.zeros(bins.n_bins)
    noisy_rows[np.searchsorted(zoom_edges(schema.features[0]), 65)] = 500.0
    noisy_rows[bins.first[1] :] = 9.0
    ranks = zoomed(schema, noisy_rows, bins, 10.0, 500.0)
    assert ranks[1] is None
    cells, present = make_cells(schema, 64, ranks)
    codes = np.append(np.diff(cells.views.table[: schema.features[0].n_cells].astype(int)), 0)
    assert (codes >= 0).all() and codes.max() == 1
    assert codes[:200].sum() > 15 and present[0] > 32
    np.testing.assert_array_equal(cells.views.table[cells.views.start[1] :], cell_of_equal_width())
    assert present[1] == 64


@pytest.mark.parametrize(
    ("widest", "sd", "follows"), [(40, 10.0, True), (600, 10.0, False), (600, 4.0, True)]
)
def test_cells_follow_few_rows_only_where_they_are_in_a_small_part_of_the_range(widest, sd, follows):
    schema = schema_of(1000, n_features=1)
    edges, noisy_rows = zoom_edges(schema.features[0]), np.zeros(zoom_bins(schema).n_bins)
    noisy_rows[: np.searchsorted(edges, widest * 65)] = 30.0
    (ranks,) = zoomed(schema, noisy_rows, zoom_bins(schema), sd, 900.0)
    assert (ranks is not None) == follows


def cell_of_equal_width() -> np.ndarray:
    return np.append(np.arange(65_535) * 64 // 65_535, 64)
