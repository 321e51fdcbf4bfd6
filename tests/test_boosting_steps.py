"""Steps of boosting that cannot diverge: more budget does not make a model worse. Repeatable noise."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from bench.zoo import zoo_table
from privet import BoostingClassifier, Budget, Label, Ledger, Schema, protect
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
    """Little budget is about as good as the class prior; much of it is better, where anything is told."""
    little, much = (beside_prior(name, 3_000, epsilon, delta) for epsilon in (0.5, 8))
    assert little < 1.03, little
    assert much < (1.01 if name == "missing" else min(little, 0.98)), (little, much)


def beside_prior(name: str, n_rows: int, epsilon: float, delta: float | str, n_labels: int = 2) -> float:
    """Log loss of one fit on fresh rows, with repeatable noise, over that of the class prior."""
    X, y, schema = zoo_table(name, n_rows)
    X_new, y_new, _ = zoo_table(name, 20_000, seed=1)
    random = np.random.default_rng(2)
    y, y_new = (labels * random.integers(1, n_labels, len(labels)) for labels in (y, y_new))
    schema = Schema(schema.features, Label("y", list(range(n_labels))))
    account = Ledger().create("people", Budget(epsilon, delta))
    protected = protect(X, schema, account, y, mechanisms=Repeatable(0))
    shares = BoostingClassifier(epsilon, delta, random_state=0).fit(protected).model_.shares(X_new)
    prior = np.tile(np.bincount(y) / len(y), (len(y_new), 1))
    return log_loss(y_new, shares) / log_loss(y_new, prior)
