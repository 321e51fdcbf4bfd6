"""Greedy forests and counting trees: what they learn, charge, keep and refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from costs import fills, n_charged
from privet import (
    Budget,
    Categorical,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Label,
    Ledger,
    QuestionError,
    Schema,
    load_model,
    protect,
)
from privet.learners import growing
from privet.learners.counting_tree import most_informative
from privet.learners.growing import open_splits, seedlings, split_menu
from privet.privacy import Repeatable
from privet.privacy.questions import trees

FEATURES = ["a", "b", "c", "d", "e"]
SCHEMA = Schema(
    [Categorical(name, ["0", "1", "2"], missing=False) for name in FEATURES],
    Label("y", ["no", "maybe", "yes"]),
    max_rows=10_000,
)
LEARNERS = [
    GreedyForestClassifier(epsilon=8),
    GreedyForestClassifier(epsilon=8, delta=1e-6),
    CountingTreeClassifier(epsilon=8, max_depth=2),
    CountingTreeClassifier(epsilon=8, delta=1e-6, max_depth=2),
    CountingTreeClassifier(epsilon=8, variant="sum-queries", max_depth=2),
    CountingTreeClassifier(epsilon=8, delta=1e-6, variant="sum-queries", max_depth=2),
]


def name(learner) -> str:
    kind = getattr(learner, "variant", "forest")
    return f"{kind}-{learner.delta}"


def rows(n: int = 4000, seed: int = 0) -> pd.DataFrame:
    """The first feature decides, unless it is 2, when the second does."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f: rng.choice(["0", "1", "2"], n) for f in FEATURES})
    label = np.where(frame["a"] == "0", "no", np.where(frame["a"] == "1", "maybe", "yes"))
    frame["y"] = np.where((frame["a"] == "2") & (frame["b"] == "0"), "no", label)
    return frame


@pytest.mark.parametrize("learner", LEARNERS, ids=name)
def test_every_learner_finds_a_clear_tree_and_charges_its_budget(learner, tmp_path):
    budget = Budget(8, learner.delta)
    account = Ledger().create("rows", budget)
    learner.fit(protect(rows(), SCHEMA, account, mechanisms=Repeatable(1)))
    fresh = rows(seed=1)
    assert (learner.predict(fresh[FEATURES]) == fresh["y"]).mean() > 0.95
    spent = account.spent()
    unit, planned = "rho" if learner.delta else "epsilon", learner.plan(SCHEMA).questions
    assert fills(getattr(spent, unit), getattr(budget, unit), len(planned), unit)
    planned = [charge.to_dict() for charge in planned]
    assert learner.privacy_card_.questions == planned
    learner.model_.save(tmp_path / "m")
    assert np.array_equal(load_model(tmp_path / "m").shares(fresh), learner.model_.shares(fresh))
    assert np.isfinite([rule.support_sd for rule in learner.model_.rules()]).all()


def test_roots_of_a_forest_differ():
    forest = GreedyForestClassifier(epsilon=1, schema=SCHEMA, n_trees=9)
    frame = rows()
    forest.fit(frame[FEATURES], frame["y"])
    trees = forest.model_.trees
    views = trees.view[trees.roots]
    split = views[views >= 0]
    assert trees.n_trees == 5
    assert len(np.unique(split)) == len(split)


def test_a_path_of_a_forest_has_one_split_fewer_than_levels():
    for depth in (1, 2, 3):
        forest = GreedyForestClassifier(epsilon=50, schema=SCHEMA, max_depth=depth, n_trees=2)
        frame = rows()
        forest.fit(frame[FEATURES], frame["y"])
        assert forest.model_.describe()["depth"] <= depth - 1
        asked = [Fraction(question["epsilon"]) for question in forest.privacy_card_.questions]
        assert fills(sum(asked), Fraction(50), len(asked))
        assert forest.model_.trees.n_leaves >= (1 if depth == 1 else 4)


def test_every_node_of_a_forest_is_a_rule_with_its_own_counts():
    frame = rows()
    forest = GreedyForestClassifier(epsilon=20, schema=SCHEMA, n_trees=1).fit(frame[FEATURES], frame["y"])
    rules = forest.model_.rules(sort="support")
    assert len(rules) == len(forest.model_.trees.view)
    assert rules[0].support == pytest.approx(4000, abs=60)
    told = {rule.conditions: rule for rule in rules}
    assert told[("a = 0",)].label == "no"
    assert told[("a = 0",)].confidence > 0.95
    assert any(set(rule.conditions) == {"a = 2", "b = 0"} and rule.label == "no" for rule in rules)


def test_a_forest_stops_below_its_least_rows():
    frame = rows(300)
    forest = GreedyForestClassifier(epsilon=50, schema=SCHEMA, min_rows=1000)
    forest.fit(frame[FEATURES], frame["y"])
    assert forest.model_.trees.n_leaves == 4
    assert len(forest.privacy_card_.questions) == 1


def test_leaves_vote_with_their_confidence():
    frame = rows()
    forest = GreedyForestClassifier(epsilon=5, schema=SCHEMA, voting="confidence")
    said = forest.fit(frame[FEATURES], frame["y"]).model_.predictor.values
    assert ((said > 0).sum(axis=1) == 1).all()
    assert said.max() <= 1


def test_thin_leaves_say_what_their_ancestors_say():
    """A thin leaf whose noise favours a label that its parent hardly has."""
    frame = rows()
    fitted = GreedyForestClassifier(epsilon=5, schema=SCHEMA, n_trees=1).fit(frame[FEATURES], frame["y"])
    model, root = fitted.model_, 0
    first = int(model.trees.child[root])
    counts = model.counts.copy()
    counts[root], counts[first] = [900, 50, 50], [-8, 12, 3]
    noisy = np.full(len(counts), 100.0)
    loud, quiet = (
        replace(model, counts=counts, variance=noisy, votes=votes).node_shares[first]
        for votes in ("confidence", "posterior")
    )
    assert loud.argmax() == 1
    assert quiet.argmax() == 0 and quiet[0] > 0.7


def test_the_most_informative_choice_by_hand():
    menu = split_menu(SCHEMA, "bins", 10)
    splits = open_splits(seedlings(menu, 1), menu, np.zeros(1, bool))
    counts = np.full((1, 15, 3), 10.0)
    counts[0, 3:6] = [[30, 0, -4], [0, 30, 0], [-1, 0, 30]]
    chosen = most_informative(counts.clip(0).sum(axis=2), counts, splits, menu)
    assert chosen.choice.tolist() == [1]


def test_sum_queries_share_the_budget_as_their_paper_counts_them():
    """Table 1 of Jagannathan et al. 2012: 36 queries for eight attributes, 136 for sixteen."""
    for n_features, queries in ((8, 36), (16, 136), (22, 253)):
        features = [Categorical(f"f{i}", ["0", "1"], missing=False) for i in range(n_features)]
        plan = CountingTreeClassifier(variant="sum-queries").plan(Schema(features, SCHEMA.label), 1000)
        assert len(plan.questions) == n_features
        assert fills(plan.questions[0].cost.epsilon, Fraction(n_features, queries), 1)


def test_trees_stop_where_the_wall_could_not_count_their_leaves(monkeypatch):
    """An error there would come after the charge."""
    assert growing.MAX_CELLS == trees.MAX_CELLS
    for room in (growing, trees):
        monkeypatch.setattr(room, "MAX_CELLS", 24)
    for learner in (GreedyTreeClassifier(20, max_depth=6), GreedyForestClassifier(20, min_rows=1)):
        learner.fit(protect(rows(), SCHEMA, Ledger().create("rows", Budget(20))))
        assert 0 < len(learner.model_.trees.view) <= 12


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (CountingTreeClassifier(variant="id4"), "variant"),
        (CountingTreeClassifier(max_depth=0), "max_depth"),
        (CountingTreeClassifier(n_bins=0), "n_bins"),
        (GreedyForestClassifier(n_trees=0), "n_trees"),
        (GreedyForestClassifier(n_trees=True), "n_trees"),
        (GreedyForestClassifier(max_depth=0), "max_depth"),
        (GreedyForestClassifier(min_rows=-1), "min_rows"),
        (GreedyForestClassifier(voting="loud"), "voting"),
        (GreedyForestClassifier(min_rows="many"), "min_rows"),
        (GreedyForestClassifier(continuous="yes"), "continuous"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_charged(learner, words):
    account = Ledger().create("rows", Budget(1))
    with pytest.raises(QuestionError, match=words):
        learner.fit(protect(rows(50), SCHEMA, account))
    assert account.spent().epsilon == 0


def test_protected_rows_answer_other_questions_after_a_forest_that_stopped_early():
    account = Ledger().create("rows", Budget(2))
    protected = protect(rows(50), SCHEMA, account)
    GreedyForestClassifier(epsilon=1, min_rows=10**6).fit(protected)
    protected.noisy_leaf_totals(seedlings(split_menu(SCHEMA, "bins", 10), 1).trees, epsilon=1)
    assert fills(account.spent().epsilon, Fraction(2), n_charged(account))
