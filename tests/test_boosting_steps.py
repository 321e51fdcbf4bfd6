"""Steps of boosting that cannot diverge: more budget does not make a model worse. Repeatable noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import log_loss

from bench.zoo import zoo_table
from privet import BoostingClassifier, Budget, Label, Ledger, Schema, protect
from privet.learners.boosting.bins import Totals
from privet.learners.boosting.loss import Labels
from privet.learners.boosting.plan import make_plan
from privet.learners.boosting.shapes import InterceptFilter, Start
from privet.learners.purse import Purse
from privet.privacy import Repeatable


@pytest.mark.parametrize(
    ("name", "n_labels", "delta", "most"),
    [
        ("heavy", 2, 0, 0.78),
        ("heavy", 2, "1e-6", 0.78),
        ("heavy", 3, "1e-6", 0.79),
        ("copied", 2, 0, 0.9),
        ("collinear", 2, 0, 0.97),
    ],
)
def test_much_budget_is_not_worse(name, n_labels, delta, most):
    """Log loss beside the class prior's: it was above with longer steps."""
    ratio = beside_prior(name, 60_000, 8, delta, n_labels)
    assert ratio < most, ratio


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("name", ["near constant", "separable", "dominating", "missing", "two", "collinear"])
def test_odd_tables_are_safe(name, delta):
    """Little budget is about as good as the class prior; much of it is better, or as good up to luck."""
    little, much = (beside_prior(name, 3_000, epsilon, delta) for epsilon in (0.5, 8))
    assert little < 1.03, little
    assert much < (1.01 if name == "missing" else min(little + 0.01, 0.98)), (little, much)


@pytest.mark.parametrize("name", ["collinear", "copied"])
def test_one_pass_over_features_that_repeat_each_other_is_safe(name):
    """Of the start and of one step: both went too far, and the step once more along what was taken back."""
    assert beside_prior(name, 60_000, 8, 0, passes=2) < 1.0


def test_a_rare_label_is_not_taken_for_a_common_one():
    """One in two hundred, and little budget: the log loss was up to half above the class prior's."""
    ratios = [beside_prior("rare", 60_000, 0.1, "1e-6", seed=seed) for seed in range(6)]
    assert np.mean(ratios) < 1.07 and max(ratios) < 1.2, ratios


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_few_rows_of_a_rare_label_are_told_as_well_as_the_budget_can(delta):
    """Some ten or thirty of them: the log loss was a third above the class prior's on average."""
    ratios = [beside_prior("rare", n, 0.1, delta, seed=seed) for n in (2_000, 5_000) for seed in range(8)]
    assert np.mean(ratios) < 1.15, ratios


def test_labels_are_counted_as_far_as_the_rarest_needs():
    def found(*rows: float, sd: float = 20.0) -> Labels:
        return Labels(len(rows)).told(Totals(np.array(rows), sd), sum(rows))

    even, rare, alone = found(5000, 5000), found(9950, 50), Labels(2)
    assert even.balance == 1 == found(8800, 1200).balance and rare.balance < 0.1
    assert rare.share_error < even.share_error / 10 and even.share_error == alone.share_error
    # Of noise as wide as the shares themselves nothing is believed.
    assert found(9950, 50, sd=2000) == alone
    # What noise may have made of a rare label is counted until it surely is none.
    assert found(9000, 1000, sd=400).clear_error < 0.02 and found(9000, 500, 500).clear_error == 1
    # What may be noise makes a rare label rarer, and a common one not.
    assert found(9900, 100, sd=90).least[1] < 0.8 * found(9900, 100, sd=90).shares[1]
    assert found(5000, 5000, sd=90).least == found(5000, 5000, sd=90).shares


def test_an_intercept_does_not_follow_what_rounding_did():
    """In units of an eighth nothing is left of the gradients of rows without a rare label."""
    start = Start.of(np.array([0.995, 0.005]), 0.002)
    fine, coarse = (InterceptFilter(start, 1000.0, 0.0).step(np.ones(1), 0.1, 0, u) for u in (1e-4, 0.125))
    assert fine > 3 * coarse > 0


def beside_prior(
    name: str,
    n_rows: int,
    epsilon: float,
    delta: float | str,
    n_labels: int = 2,
    seed: int = 0,
    passes: int | None = None,
) -> float:
    """Log loss of one fit on fresh rows, with repeatable noise, over that of the class prior."""
    X, y, schema = zoo_table(name, n_rows)
    X_new, y_new, _ = zoo_table(name, 20_000, seed=1)
    random = np.random.default_rng(2)
    y, y_new = (labels * random.integers(1, n_labels, len(labels)) for labels in (y, y_new))
    schema = Schema(schema.features, Label("y", list(range(n_labels))))
    account = Ledger().create("people", Budget(epsilon, delta))
    protected = protect(X, schema, account, y, mechanisms=Repeatable(seed))
    learner = BoostingClassifier(epsilon, delta, passes=passes, random_state=seed)
    shares = learner.fit(protected).model_.shares(X_new)
    prior = np.tile(np.bincount(y) / len(y), (len(y_new), 1))
    return log_loss(y_new, shares) / log_loss(y_new, prior)


def test_several_labels_in_pure_epsilon_have_two_rounds_that_count_rows_less():
    """A ninth of a round: its gradients then have less noise than beside a third."""
    purse, loss = Purse(Fraction(1), True), Labels(5)
    plan = make_plan(7_000, 8, loss, purse, Fraction(1, 50))
    rows, gradients = plan.leaf_shares(purse)
    assert plan.rounds == 2 and plan.tree_passes == 1 and 8 * rows == gradients
    assert plan.rounds * (rows + gradients) == plan.tree_share
