"""Adaptive trees are pruned by what was released: who is kept, who answers, and what is shown."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pandas as pd
import pytest

from privet import Categorical, Continuous, CountForestClassifier, Label, Schema, export_text, load_model
from privet.learners.count_forest import added
from privet.model.counts import CountForest
from privet.model.pruning import SPEAKING, ends, kept_nodes, node_counts, pruned_counts
from privet.model.tree import nested
from privet.model.voting import VOTINGS, leaf_values
from privet.parties import unite
from privet.structure import CompleteTrees, Views

SCHEMA = Schema(
    [
        Continuous("age", 0, 99, integer=True, missing=False),
        Categorical("ward", ["a", "b", "c"], missing=False),
    ],
    Label("outcome", ["bad", "good"]),
)
HARD = [voting for voting in VOTINGS if voting != "posterior"]


def patients(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(0, 60, n), "ward": rng.choice(["a", "b"], n)})
    return frame, np.where((frame["age"] > 30) ^ (frame["ward"] == "a"), "good", "bad")


@pytest.fixture(scope="module")
def forest():
    options = {"n_trees": 4, "max_depth": 6, "schema": SCHEMA, "random_state": 0}
    return CountForestClassifier(0.5, voting="threshold", **options).fit(*patients())


@pytest.fixture(scope="module")
def model(forest) -> CountForest:
    return forest.model_


# Leaves of 110, 4, −30 and 9 rows; the noise of a leaf's rows has a deviation of 10.
COUNTS = np.array([[[100, 10], [1, 3], [-10, -20], [6, 3]]])
VARIANCE = 50.0


def test_nodes_that_pass_their_noise_are_kept():
    kept = kept_nodes(COUNTS, VARIANCE)
    assert np.flatnonzero(kept[0]).tolist() == [1, 2, 4]
    assert np.flatnonzero(ends(kept)[0]).tolist() == [4]


def test_a_leaf_below_a_pruned_branch_has_its_nearest_kept_nodes_counts():
    found = pruned_counts(COUNTS, kept_nodes(COUNTS, VARIANCE))[0]
    assert found.tolist() == [[100, 10], [101 / 2, 13 / 2], [97 / 4, -1], [97 / 4, -1]]
    said = leaf_values(found[None], VARIANCE, np.array([0.5, 0.5]), "threshold")[0]
    assert np.allclose(said[1], [101 / 114, 13 / 114]) and np.allclose(said[2:], [1, 0])


def test_a_branch_that_drowns_keeps_the_way_to_a_leaf_that_speaks():
    counts = np.array([[[40, 10], [-30, -15], [20, 0], [25, 5]]])
    kept = kept_nodes(counts, VARIANCE)
    assert counts[0, :2].sum() < SPEAKING * sqrt(4 * VARIANCE)
    assert np.flatnonzero(kept[0]).tolist() == [1, 2, 3, 4, 6, 7]


def test_a_root_is_kept_whatever_it_holds():
    silent = np.full((2, 8, 3), -1)
    assert np.argwhere(kept_nodes(silent, 1.0)).tolist() == [[0, 1], [1, 1]]
    assert (pruned_counts(silent, kept_nodes(silent, 1.0)) == -1).all()


def plain_kept(counts, variance, node):
    """Kept nodes of one tree, by the definition: a node that speaks, and all that is above it."""
    n_leaves, n_labels = counts.shape
    below = [leaf for leaf in range(n_leaves, 2 * n_leaves) if str(f"{leaf:b}").startswith(f"{node:b}")]
    rows = sum(int(counts[leaf - n_leaves].sum()) for leaf in below)
    found = {node} if rows > SPEAKING * sqrt(n_labels * len(below) * variance) else set()
    if node < n_leaves:
        found |= plain_kept(counts, variance, 2 * node) | plain_kept(counts, variance, 2 * node + 1)
    return found | {node} if found or node == 1 else found


@pytest.mark.parametrize("seed", range(10))
def test_pruning_agrees_with_a_plain_twin(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(-9, 12, (1, 1 << rng.integers(1, 6), rng.integers(1, 4)))
    kept = kept_nodes(counts, 30.0)
    assert set(np.flatnonzero(kept[0])) == plain_kept(counts[0], 30.0, 1)
    sums, leaves_below = node_counts(counts, 1.0)
    for leaf, found in enumerate(pruned_counts(counts, kept)[0]):
        node = leaf + counts.shape[1]
        while not kept[0, node]:
            node //= 2
        assert np.allclose(found, sums[0, node] / leaves_below[node])


def test_leaves_of_a_pruned_node_add_up_to_it(model):
    found = pruned_counts(model.counts, model.kept)
    sums, _ = node_counts(model.counts, model.variance)
    spread, _ = node_counts(found, model.variance)
    for tree, node in np.argwhere(ends(model.kept)):
        assert np.allclose(spread[tree, node], sums[tree, node])


@pytest.fixture
def small(model) -> CountForest:
    """One tree that asks for the age alone, with the counts above."""
    thresholds = np.array([[0, 50, 25, 75]], np.uint16)
    trees = CompleteTrees(Views.of(2), np.zeros_like(thresholds), thresholds, 2)
    return replace(model, trees=trees, counts=COUNTS, variance=VARIANCE)


@pytest.mark.parametrize("voting", HARD)
def test_a_row_in_a_pruned_branch_is_answered_by_its_nearest_kept_node(small, voting):
    rows = pd.DataFrame({"age": [10, 30, 60, 90], "ward": ["a"] * 4})
    expected = np.array([[100, 10], [101, 13], [97, 0], [97, 0]])
    shares = expected / expected.sum(axis=1, keepdims=True)
    if voting == "majority":
        shares = np.tile([1, 0], (4, 1))
    assert np.allclose(small.with_voting(voting).shares(rows), shares)


def test_a_pruned_tree_is_shown_to_where_it_speaks(small):
    assert export_text(small).splitlines() == [
        "97 ± 20 rows, 100% ± 15% bad",
        "├─ age < 50: 97 ± 14 rows, 100% ± 10% bad",
        "│  ├─ age < 25: 97 ± 10 rows, 100% ± 7% bad",
        "│  └─ 25 ≤ age < 50: 0 ± 10 rows, no more than noise",
        "└─ age ≥ 50: 0 ± 14 rows, no more than noise",
    ]
    assert export_text(small, max_depth=0).endswith("3 leaves below")
    (rule,) = small.rules()
    assert (rule.node, rule.conditions, rule.support) == (4, ("age < 25",), 110)


def test_the_posterior_reads_the_counts_as_they_are(model):
    soft = model.with_voting("posterior")
    assert np.array_equal(soft.values, leaf_values(model.counts, model.variance, model.prior, "posterior"))


@pytest.mark.parametrize("structure", ["fletcher-islam", "bojarski", "jagannathan"])
@pytest.mark.parametrize("voting", HARD)
def test_structures_of_the_papers_are_left_as_they_are(structure, voting):
    options = {"n_trees": 3, "max_depth": 2, "structure": structure, "schema": SCHEMA, "random_state": 0}
    model = CountForestClassifier(0.2, voting=voting, **options).fit(*patients(100)).model_
    assert model.kept is None and "leaves kept" not in model.describe()
    assert np.array_equal(model.values, leaf_values(model.counts, model.variance, model.prior, voting))
    assert len(model.rules(min_support=-inf)) == model.describe()["leaves"]


def test_rules_are_those_of_kept_nodes(model):
    counts, variance = node_counts(model.counts, model.variance)
    found = {(rule.tree, rule.node): rule for rule in model.rules(min_support=-inf)}
    assert found.keys() == {tuple(place) for place in np.argwhere(ends(model.kept)).tolist()}
    assert len(found) == model.describe()["leaves kept"] < model.describe()["leaves"]
    for (tree, node), rule in found.items():
        assert rule.support == counts[tree, node].sum()
        assert rule.support_sd == pytest.approx(sqrt(2 * variance[node]))
    inner = {(rule.tree, rule.node) for rule in model.rules(inner=True, min_support=-inf)}
    assert inner == {tuple(place) for place in np.argwhere(model.kept).tolist()}


def shown_leaves(node):
    return sum(map(shown_leaves, node.children)) if node.children else 1


def test_a_tree_says_how_many_leaves_it_hides(model):
    for tree in range(model.trees.n_trees):
        # Leaves that no row can reach are hidden, too.
        hidden, shown = nested(model.tree(tree), 0).hidden, shown_leaves(nested(model.tree(tree), 30))
        assert 1 < shown <= hidden < model.trees.n_leaves


def test_a_later_batch_brings_branches_back():
    options = {"n_trees": 4, "max_depth": 5, "schema": SCHEMA}
    forest = CountForestClassifier(0.1, voting="sum", **options).partial_fit(*patients(100), batch="spring")
    before = forest.model_
    later = CountForestClassifier.from_model(before, epsilon=8.0).partial_fit(
        *patients(50_000, 1), batch="autumn"
    )
    after = later.model_
    assert np.array_equal(after.kept, kept_nodes(after.counts, after.variance))
    assert (after.kept & ~before.kept).any()
    assert np.array_equal(added(before, before).kept, kept_nodes(2 * before.counts, 2 * before.variance))


def test_forests_of_a_union_are_pruned_each_by_its_own_noise(model):
    other = Schema([Continuous("dose", 0, 1)], SCHEMA.label)
    X = np.random.default_rng(0).random((500, 1))
    second = CountForestClassifier(0.5, n_trees=2, max_depth=4, schema=other).fit(X, patients(500)[1]).model_
    union = unite({"north": model, "south": second}, "threshold")
    told = union.describe()
    assert told["leaves kept"] == model.describe()["leaves kept"] + second.describe()["leaves kept"]
    assert np.array_equal(union.predictor.values[:4], model.values)
    assert np.array_equal(union.predictor.values[4:, ::4], second.with_voting("threshold").values)


def test_what_is_kept_is_not_stored(model, tmp_path):
    model.save(tmp_path / "model.privet")
    again = load_model(tmp_path / "model.privet")
    assert set(again.to_file()[1]) == {"source", "start", "table", "view", "threshold", "counts", "prior"}
    assert np.array_equal(again.kept, model.kept)
    assert np.array_equal(again.shares(patients(50)[0]), model.shares(patients(50)[0]))


def test_without_noise_rows_in_an_empty_leaf_are_answered_by_those_around():
    options = {"n_trees": 5, "max_depth": 6, "schema": SCHEMA, "random_state": 0}
    twin = CountForestClassifier(inf, voting="threshold", **options).fit(*patients(200)).model_
    empty = twin.counts.sum(axis=2) == 0
    assert empty.any() and not twin.kept[:, twin.trees.n_leaves :][empty].any()
    sums, _ = node_counts(twin.counts, 0.0)
    assert (sums[twin.kept].sum(axis=1) > 0).all()
