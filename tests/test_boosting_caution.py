"""How sure boosting is of labels: one counted question, and a factor for all scores."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import log_loss

from costs import fills
from privet import BoostingClassifier, Budget, Continuous, Label, Ledger, Schema, protect
from privet.learners.boosting import fit as fits
from privet.learners.boosting.caution import FACTORS, caution_share, factor_by
from privet.learners.boosting.loss import Labels
from privet.learners.boosting.merge import Part, scaled
from privet.learners.purse import Purse
from privet.privacy import Repeatable
from privet.privacy.questions.scores import SureRows

SURE = np.linspace(0.2, 6, 10)


def easy(n_labels: int, n: int, seed: int = 0):
    """Labels that one feature tells almost surely, and three that tell nothing."""
    random = np.random.default_rng(seed)
    X = random.random((n, 4))
    y = np.minimum((n_labels * np.clip(X[:, 0] + random.normal(0, 0.005, n), 0, 0.999)).astype(int), n_labels)
    schema = Schema([Continuous(f"x{j}", 0, 1) for j in range(4)], Label("y", list(range(n_labels))))
    return X, y, schema


def fitted(epsilon: float, delta: str | int, X, y, schema, **how):
    """A model with repeatable noise, of an account that adds up in ε or ρ."""
    account = Ledger().create("people", Budget(epsilon, delta))
    protected = protect(X, schema, account, y, mechanisms=Repeatable(0))
    return BoostingClassifier(epsilon, delta, random_state=0).fit(protected, **how).model_


def told(n_labels: int, factor: float, rows: float, rivals: float = 0.0):
    """Rows by cell of a model whose scores should be multiplied by a factor, exactly."""
    loss = Labels(n_labels)
    right = loss.share_of(factor * (SURE + rivals) - rivals)[0]
    return np.stack([rows * (1 - right), rows * right], axis=1), loss


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.8])
@pytest.mark.parametrize(("n_labels", "rivals"), [(3, 0.0), (10, 1.5)])
def test_what_many_rows_say_is_what_scores_are_multiplied_by(n_labels, rivals, factor):
    noisy, loss = told(n_labels, factor, 1e6, rivals)
    found = factor_by(SURE, np.full(10, rivals), noisy, 1.0, loss, 0)
    assert found == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize("n_labels", [3, 9])
def test_noise_alone_moves_no_scores_far(n_labels):
    random, loss = np.random.default_rng(0), Labels(n_labels)
    for _ in range(50):
        noisy = told(n_labels, 1.0, 20.0)[0] + random.normal(0, 300, (10, 2))
        assert 0.6 < factor_by(SURE, np.zeros(10), noisy, 300.0, loss, 64) < 1.8
    for hostile in (np.zeros((10, 2)), np.full((10, 2), -1e6), np.full((10, 2), 1e12)):
        assert FACTORS[0] <= factor_by(SURE, np.zeros(10), hostile, 1e-9, loss, 0) <= FACTORS[-1]


def test_rows_that_taught_a_model_flatter_it():
    noisy, loss = told(3, 1.1, 500.0)
    assert factor_by(SURE, np.zeros(10), noisy, 1.0, loss, 512) < factor_by(
        SURE, np.zeros(10), noisy, 1.0, loss, 0
    )


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("n_labels", [3, 6])
def test_easy_labels_are_told_more_surely(n_labels, delta):
    X, y, schema = easy(n_labels, 6000)
    X_new, y_new, _ = easy(n_labels, 6000, 1)
    model = fitted(2, delta, X, y, schema)
    factor = model.card.learner["scores multiplied by"]
    before = scaled(Part(model.additive, model.bin_shares, model.bands), 1 / factor).additive
    losses = [
        log_loss(y_new, of.shares(X_new), labels=range(n_labels))
        for of in (model, replace(model, additive=before))
    ]
    assert factor > 1.1
    assert losses[0] < 0.97 * losses[1]


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_plan_tells_of_it_and_the_budget_is_spent_as_before(delta):
    X, y, schema = easy(4, 6000)
    model = fitted(1, delta, X, y, schema)
    planned = BoostingClassifier(1, delta).outline(schema, 6000).questions
    assert sum(charge.kind is SureRows for charge in planned) == 1
    asked = model.card.questions
    assert asked[-1]["question"] == SureRows.text
    assert model.card.learner["scores multiplied by"] > 0
    unit = "rho" if delta else "epsilon"
    rest = [Fraction(question[unit]) for question in asked if question[unit] is not None]
    first = Fraction(0) if len(rest) == len(asked) else Fraction(asked[0]["epsilon"]) ** 2 / 2
    assert fills(sum(rest) + first, getattr(Budget(1, delta), unit), len(asked) + 1, unit)


def test_it_is_left_out_where_its_answer_would_be_noise_or_nothing_new(monkeypatch):
    purse, several = Purse(Fraction(1), True), Labels(5)
    assert caution_share(purse, 6000, several, None) > 0
    assert not caution_share(purse, 6000, several, 3)
    assert not caution_share(purse, 100, several, None)
    assert not caution_share(purse, 6000, Labels(2), None)
    assert not caution_share(purse, 6000, Labels(1), None)
    X, y, schema = easy(3, 3000)
    start = fitted(8, 0, X, y, schema)
    monkeypatch.setattr(fits, "sharpened", None)  # never called
    fitted(1, 0, X, y, schema, start=start)
