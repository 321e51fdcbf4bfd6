"""Greedy trees: what they learn, what they charge, what they keep, what they refuse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from costs import fills, n_charged
from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    GreedyTreeClassifier,
    Label,
    Ledger,
    QuestionError,
    Schema,
    load_model,
    protect,
)
from privet.learners.greedy_plan import default_shares, even_shares
from privet.learners.growing import split_menu
from privet.learners.pruning import corrected_counts, pessimistic_errors, prune_by_errors, prune_by_gini
from privet.privacy import Repeatable

SCHEMA = Schema(
    [
        Categorical("town", ["north", "south", "west"], missing=False),
        Continuous("age", 0, 120, integer=True, missing=False),
        Categorical("smokes", ["no", "yes"]),
    ],
    Label("ill", ["no", "yes"]),
    max_rows=20_000,
)


def people(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["north", "south", "west"], n),
            "age": rng.integers(0, 121, n),
            "smokes": rng.choice(["no", "yes"], n),
        }
    )
    ill = (frame["town"] == "south") ^ ((frame["town"] == "north") & (frame["age"] > 70))
    frame["ill"] = np.where(ill, "yes", "no")
    return frame


def fitted(**parameters) -> GreedyTreeClassifier:
    frame = people()
    tree = GreedyTreeClassifier(**{"epsilon": 4, "max_depth": 3, "schema": SCHEMA, **parameters})
    return tree.fit(frame.drop(columns="ill"), frame["ill"])


def accuracy(tree: GreedyTreeClassifier) -> float:
    fresh = people(seed=1)
    return float(tree.score(fresh.drop(columns="ill"), fresh["ill"]))


@pytest.mark.parametrize("shares", ["default", "paper"])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("criterion", ["max", "gini", "information_gain"])
def test_a_clear_tree_is_found_under_every_criterion(criterion, delta, shares):
    assert accuracy(fitted(criterion=criterion, delta=delta, shares=shares, epsilon=8)) > 0.93


@pytest.mark.parametrize("n_bins", [2, 12])
def test_bins_take_the_place_of_thresholds(n_bins):
    tree = fitted(continuous="bins", n_bins=n_bins)
    assert accuracy(tree) > (0.9 if n_bins == 12 else 0.8)
    assert not tree.model_.trees.threshold.any()


def test_a_feature_with_a_child_for_every_category_is_used_once_on_a_path():
    trees = fitted(max_depth=6, prune=False, epsilon=1).model_.trees
    above = {int(root): () for root in trees.roots}
    for node in np.flatnonzero(trees.view >= 0):
        used = above[int(node)]
        if trees.threshold[node] == 0:
            assert trees.view[node] not in used
        width = 2 if trees.threshold[node] else {0: 3, 2: 3}[int(trees.views.source[trees.view[node]])]
        for child in range(trees.child[node], trees.child[node] + width):
            above[child] = (*used, trees.view[node])


@pytest.mark.parametrize("shares", ["default", "paper"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_whole_budget_is_charged_and_no_more(shares, delta):
    frame = people(500)
    account = Ledger().create("people", Budget(0.5, delta))
    tree = GreedyTreeClassifier(epsilon=0.5, delta=delta, shares=shares).fit(protect(frame, SCHEMA, account))
    unit = "rho" if delta else "epsilon"
    assert fills(getattr(account.spent(), unit), getattr(Budget(0.5, delta), unit), n_charged(account), unit)
    assert tree.privacy_card_.learner["name"] == "greedy-tree"


def test_shares_of_the_paper():
    assert even_shares(5, 0).split == (Fraction(1, 12),) * 5
    assert even_shares(5, 3).leaves == Fraction(1, 5 * 5 + 2)
    for shares in (even_shares(4, 0), even_shares(4, 2), default_shares(4), default_shares(1)):
        total = sum(shares.rows) + shares.choices * sum(shares.split) + shares.last_rows + shares.leaves
        assert total == 1


def test_the_plan_is_what_a_fit_asks():
    for shares in ("default", "paper"):
        tree = fitted(shares=shares)
        planned = [charge.to_dict() for charge in tree.plan(SCHEMA).questions]
        assert planned == tree.privacy_card_.questions
        assert tree.plan(SCHEMA).questions[3].noise_sd is None


def test_growth_that_stops_early_leaves_the_rest_spent():
    asked = []
    for seed in range(12):
        account = Ledger().create("people", Budget(1))
        rows = protect(people(30), SCHEMA, account, mechanisms=Repeatable(seed))
        tree = GreedyTreeClassifier(epsilon="0.01", max_depth=5).fit(rows)
        asked.append(len(tree.privacy_card_.questions))
        assert account.spent().epsilon == Fraction(1, 100)
    assert min(asked) == 3


def test_missing_and_unknown_values_are_learnt_from_and_predicted():
    frame = people()
    frame["age"] = frame["age"].astype(float)
    frame.loc[::7, ["age", "town", "smokes"]] = [np.nan, None, None]
    frame.loc[::11, "smokes"] = "pipe"
    tree = GreedyTreeClassifier(epsilon=4, schema=SCHEMA).fit(frame.drop(columns="ill"), frame["ill"])
    odd = pd.DataFrame({"town": [None, "east"], "age": [np.nan, 500.0], "smokes": [None, "pipe"]})
    assert np.allclose(tree.predict_proba(odd).sum(axis=1), 1)


def test_a_saved_tree_predicts_the_same(tmp_path):
    tree = fitted()
    tree.model_.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    fresh = people(seed=2)
    assert np.array_equal(again.shares(fresh), tree.model_.shares(fresh))
    assert again.describe() == tree.model_.describe()
    assert [str(r) for r in again.rules()] == [str(r) for r in tree.model_.rules()]


def test_rules_and_subrules_add_up():
    model = fitted(prune=False).model_
    rules = model.rules(sort="support")
    assert len(rules) == len(model.trees.view)
    assert rules[0].conditions == ()
    leaves = model.rules(inner=False)
    assert sum(rule.support for rule in leaves) == pytest.approx(rules[0].support)
    assert any("town = south" in str(rule) for rule in rules.select(5))


def test_pruning_only_takes_away():
    whole, pruned = (fitted(prune=prune, epsilon=100, max_depth=4).model_ for prune in (False, True))
    assert pruned.trees.n_leaves < whole.trees.n_leaves


def test_counts_are_corrected_to_agree_from_the_root_down():
    families = [(0, slice(1, 3)), (2, slice(3, 5))]
    rows = np.array([100.0, 30, 90, 10, -5])
    leaf_counts = np.zeros((5, 2))
    leaf_counts[[1, 3, 4]] = [[20, 5], [0, 8], [-3, -2]]
    counts = corrected_counts(families, rows, leaf_counts)
    assert counts.sum(axis=1) == pytest.approx([100, 25, 75, 75, 0])
    assert counts[1] == pytest.approx([20, 5])
    assert counts[0] == pytest.approx(counts[1] + counts[2])


def test_pessimistic_errors_are_those_of_c45():
    """Quinlan 1993: U(0, 6) = 0.206, U(0, 9) = 0.143, U(0, 1) = 0.750, U(1, 16) = 0.157 at 25 %."""
    counts = np.array([[6.0, 0], [9, 0], [1, 0], [15, 1]])
    upper = pessimistic_errors(counts, 0.25) / counts.sum(axis=1)
    assert upper == pytest.approx([0.206, 0.143, 0.750, 0.157], abs=0.003)


def test_a_subtree_that_helps_nothing_is_pruned_and_one_that_helps_stays():
    families = [(0, slice(1, 3)), (1, slice(3, 5))]
    useless = np.array([[50.0, 50], [50, 0], [0, 50], [30, 0], [20, 0]])
    assert prune_by_errors(families, useless, 0.25).tolist() == [False, True, False, False, False]
    assert prune_by_gini(families, useless).tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"criterion": "gain_ratio"}, "criterion must be one of"),
        ({"criterion": "luck"}, "criterion must be one of"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_depth": True}, "max_depth"),
        ({"continuous": "no"}, "continuous"),
        ({"n_bins": 1}, "n_bins"),
        ({"shares": "mine"}, "shares"),
        ({"certainty": 0}, "certainty"),
        ({"certainty": "0.5"}, "certainty"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_charged(parameters, words):
    account = Ledger().create("people", Budget(1))
    tree = GreedyTreeClassifier(**parameters)
    with pytest.raises(QuestionError, match=words):
        tree.fit(protect(people(50), SCHEMA, account))
    assert account.spent().epsilon == 0


def test_any_real_number_is_a_certainty():
    assert fitted(certainty=Fraction(1, 4)).model_.trees.n_trees == 1


def test_learners_of_different_kinds_ask_the_same_rows_in_turn():
    account = Ledger().create("people", Budget(4))
    protected = protect(people(50), SCHEMA, account)
    for learner in (GreedyTreeClassifier, BoostingClassifier, GreedyTreeClassifier, BoostingClassifier):
        learner().fit(protected)
    assert fills(account.spent().epsilon, Fraction(4), n_charged(account))


def test_information_gain_without_a_bound_on_rows_says_so():
    schema = Schema(SCHEMA.features, SCHEMA.label)
    with pytest.raises(QuestionError, match="max_rows"):
        fitted(criterion="information_gain", schema=schema)


def test_a_menu_has_one_choice_a_feature():
    menu = split_menu(SCHEMA, "mechanism", 10)
    assert menu.highest.tolist() == [0, 120, 0]
    assert menu.children.tolist() == [3, 2, 3]
    assert split_menu(SCHEMA, "bins", 10).children.tolist() == [3, 10, 3]


def test_rules_are_as_noisy_as_they_say():
    """Errors of the rows of rules, over the deviation that is stated, have a deviation of about one."""
    schema = Schema([Categorical("town", ["a", "b"], missing=False)], Label("ill", ["no", "yes"]))
    town = np.repeat(["a", "a", "b"], 1000)
    ill = np.where((town == "a") ^ (np.arange(3000) % 7 == 0), "yes", "no")
    frame, exact = pd.DataFrame({"town": town, "ill": ill}), {"town = a": 2000, "town = b": 1000}
    errors = []
    for seed in range(150):
        account = Ledger().create("people", Budget(1))
        rows = protect(frame, schema, account, mechanisms=Repeatable(seed))
        learner = GreedyTreeClassifier(epsilon=1, max_depth=1, prune=False, schema=schema)
        errors += [
            (rule.support - exact[rule.conditions[0]]) / rule.support_sd
            for rule in learner.fit(rows).rules()
            if rule.conditions and rule.conditions[0] in exact
        ]
    assert len(errors) > 200 and 0.75 < np.std(errors) < 1.25
