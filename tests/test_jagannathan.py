"""Trees with a child for every category: how they are drawn, released whole or sparsely, and read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import twins
from laws import follows
from privet import (
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    Ledger,
    Schema,
    export_text,
    load_model,
)
from privet.answers import NoisyCells
from privet.errors import ModelFileError, QuestionError
from privet.kernels.route import route
from privet.learners import count_structure
from privet.learners.multiway_trees import draw_levels, draw_nodes, most_leaves, stored_trees
from privet.learners.random_trees import fanned_ground
from privet.model import voting
from privet.soundness import check_structure

SCHEMA = Schema(
    [
        Categorical("colour", [*"rgb"], missing=False),
        Categorical("size", [*"smlx"]),
        Continuous("weight", 0, 10),
        Categorical("sort", ["only"], missing=False),
    ],
    Label("ripe", [0, 1]),
)
WIDTHS = [3, 5, 2, 1]


def fruits(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice([*"rgb"], n),
            "size": rng.choice([*"smlx"], n),
            "weight": rng.random(n) * 10,
            "sort": "only",
        }
    )
    return frame, ((frame["colour"] == "r") ^ (frame["size"] == "s") ^ (rng.random(n) < 0.05)).astype(
        int
    ).to_numpy()


def codes(n: int = 500) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.array([rng.integers(0, feature.n_codes, n) for feature in SCHEMA.features]).astype(np.uint16)


def test_a_feature_is_tested_once_on_a_path_and_all_leaves_are_at_one_level():
    trees = draw_nodes(fanned_ground(SCHEMA, 20), 3, np.random.RandomState(0))
    check_structure(trees, SCHEMA)
    assert trees.depth == 3 and trees.n_leaves == 20 * 3 * 5 * 2
    for leaf in trees.levels[3]:
        path = [int(leaf)]
        while path[-1] not in trees.roots:
            path.append(int(trees.parent[path[-1]]))
        tested = [trees.views.source[trees.view[node]] for node in path[1:]]
        assert sorted(tested) == [0, 1, 2]
        assert all(trees.view[node] < 0 for node in path[:1])


def test_parents_levels_and_trees_agree_with_the_pointers():
    trees = draw_nodes(fanned_ground(SCHEMA, 7), 2, np.random.RandomState(1))
    for node in range(len(trees.view)):
        above = trees.parent[node]
        assert (above < 0) == (node in trees.roots)
        if above >= 0:
            width = WIDTHS[trees.views.source[trees.view[above]]]
            assert trees.child[above] <= node < trees.child[above] + width
            assert trees.tree_of[node] == trees.tree_of[above]
    assert all((np.isin(trees.parent[b], a)).all() for a, b in pairwise(trees.levels))


def test_features_are_drawn_uniformly_and_thresholds_too():
    trees = draw_nodes(fanned_ground(SCHEMA, 20_000), 1, np.random.RandomState(2))
    source = trees.views.source[trees.view[trees.roots]]
    assert follows(source, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    cuts = trees.threshold[trees.roots][source == 2]
    assert cuts.min() >= 1 and abs(cuts.mean() / SCHEMA.features[2].n_cells - 0.5) < 0.02


def test_a_path_of_level_wise_trees_has_the_law_of_a_path_of_trees():
    ground = fanned_ground(SCHEMA, 20_000)
    nodes, levels = (draw(ground, 2, np.random.RandomState(5)) for draw in (draw_nodes, draw_levels))
    check_structure(levels, SCHEMA)
    second = nodes.child[nodes.roots]
    paths = nodes.views.source[nodes.view[nodes.roots]] * 4 + nodes.views.source[nodes.view[second]]
    other = levels.views.source[levels.view[:, 0]] * 4 + levels.views.source[levels.view[:, 1]]
    law = {4 * a + b: 1 / 6 for a in range(3) for b in range(3) if a != b}
    assert follows(paths, law) and follows(other, law)


def test_stored_trees_say_what_the_sparse_release_shows_and_nothing_elsewhere():
    levels = draw_levels(fanned_ground(SCHEMA, 4), 3, np.random.RandomState(6))
    rng = np.random.default_rng(0)
    released = [
        NoisyCells(np.sort(rng.choice(60, size, replace=False)), rng.integers(5, 50, size), 5, None)
        for size in (9, 1, 0, 30)
    ]
    trees, counts = stored_trees(levels, released, 2)
    check_structure(trees, SCHEMA)
    leaves, numbers = route(trees, codes()), twins.route(levels, codes())
    assert (leaves == twins.route(trees, codes())).all()
    for tree, cells in enumerate(released):
        shown = dict(zip(cells.cells.tolist(), cells.values.tolist(), strict=True))
        expected = [[shown.get(int(leaf) * 2 + label, 0) for label in (0, 1)] for leaf in numbers[tree]]
        assert (counts[leaves[tree]] == expected).all()
    assert counts.sum() == sum(cells.values.sum() for cells in released)


def forest(epsilon: float = 2.0, **options) -> CountForestClassifier:
    return CountForestClassifier(epsilon, structure="jagannathan", schema=SCHEMA, random_state=0, **options)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("voting", ["sum", "posterior", "majority", "threshold"])
def test_forests_learn(voting, delta):
    model = forest(delta=delta, voting=voting, max_depth=3).fit(*fruits(10_000))
    assert model.score(*fruits(3000, seed=1)) > 0.85
    assert len(model.model_.trees.roots) == 10


@pytest.fixture
def tiny_limit(monkeypatch):
    """Trees of more than 200 leaves are too large to write down."""
    monkeypatch.setattr(count_structure, "MAX_WRITTEN_LEAVES", 200)


def test_trees_too_large_to_write_down_go_through_the_sparse_release(tiny_limit):
    account = Ledger().create("fruits", Budget(5))
    model = forest(5.0, max_depth=3, account=account).fit(*fruits(10_000))
    assert account.spent().epsilon == 5
    asked = [q["question"] for q in model.privacy_card_.questions]
    assert asked == ["rows by label", "frequent cells of 10 level-wise trees"]
    assert model.score(*fruits(3000, seed=1)) > 0.85
    dense = most_leaves(fanned_ground(SCHEMA, 1), 3) * 10
    assert model.model_.trees.n_leaves <= dense


def test_a_sparse_release_tells_what_it_does_not_show(tiny_limit, tmp_path):
    model = forest(1.0, max_depth=3, n_trees=20).partial_fit(*fruits(300), batch="a")
    model.model_.save(tmp_path / "m.privet")
    released = load_model(tmp_path / "m.privet")
    assert released.card.learner["cells"] == "frequent ones only"
    text = "\n".join(export_text(released, tree) for tree in range(20))
    assert "too few rows to be shown" in text and " 0 ± " not in text
    model.partial_fit(*fruits(300), batch="b")
    assert model.privacy_card_.learner["cells"] == "frequent ones only"
    assert "cells" not in forest(1.0, max_depth=1).fit(*fruits(300)).privacy_card_.learner


def test_later_batches_count_in_the_trees_that_were_shown(tiny_limit):
    model = forest(5.0, max_depth=3).partial_fit(*fruits(5000), batch="a")
    before = model.model_
    model.partial_fit(*fruits(5000, seed=2), batch="b")
    assert model.model_.trees is before.trees
    assert model.model_.variance > before.variance
    assert model.privacy_card_.questions[-1]["question"] == "rows by leaf and label of 10 trees"
    assert model.model_.counts.sum() / 10 > before.counts.sum() / 10 + 3000


def test_with_a_delta_trees_must_be_written_down(tiny_limit):
    account = Ledger().create("fruits", Budget(1, 1e-6))
    with pytest.raises(QuestionError, match="too many leaves"):
        forest(1.0, delta=1e-6, max_depth=3, account=account).fit(*fruits(100))
    assert account.spent().rho == 0
    assert forest(1.0, delta=1e-6).fit(*fruits(1000)).model_.trees.n_leaves <= 200


def test_height_and_trees_are_those_of_the_paper():
    votes = Schema(
        [Categorical(f"bill {i}", ["y", "n"], missing=False) for i in range(16)],
        Label("party", ["d", "r"]),
        435,
    )
    plan = CountForestClassifier(1.0, structure="jagannathan").plan(votes)
    assert plan.facts["depth"] == 7 and plan.facts["trees"] == 5
    assert forest().plan(SCHEMA, 10**6).facts["trees"] == 10


def test_a_generous_bound_on_the_rows_makes_no_tree_higher():
    """The height is that of the noisy number of rows, of which the bound is but the most."""
    bills = [Categorical(f"bill {i}", ["y", "n"], missing=False) for i in range(16)]
    wide, tight = (Schema(bills, Label("party", ["d", "r"]), most) for most in (10**9, 40))
    rng = np.random.default_rng(0)
    votes = pd.DataFrame({bill.name: rng.choice(["y", "n"], 40) for bill in bills})
    fitted = CountForestClassifier(50.0, structure="jagannathan", schema=wide, n_trees=2)
    assert fitted.fit(votes, rng.choice(["d", "r"], 40)).model_.trees.depth == 4
    assert fitted.plan(wide, 40).facts["depth"] == fitted.plan(tight).facts["depth"] == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [({"rows": "disjoint"}, "all rows"), ({"max_depth": -1}, "max_depth"), ({"max_depth": 2.5}, "max_depth")],
)
def test_what_cannot_be_built_is_refused(options, said):
    with pytest.raises(QuestionError, match=said):
        forest(**options).fit(*fruits(100))


def test_features_of_one_value_are_refused_before_anything_is_charged():
    constant = Schema([Categorical("sort", ["only"], missing=False)], SCHEMA.label)
    account = Ledger().create("fruits", Budget(1))
    with pytest.raises(QuestionError, match="one value only"):
        CountForestClassifier(1.0, structure="jagannathan", schema=constant, account=account).fit(
            fruits(50)[0][["sort"]], fruits(50)[1]
        )
    assert account.spent().epsilon == 0


def test_saving_and_loading_is_the_identity_and_broken_pointers_are_refused(tmp_path):
    model = forest(max_depth=2).fit(*fruits(1000)).model_
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert (loaded.shares(fruits(100)[0]) == model.shares(fruits(100)[0])).all()
    assert loaded.describe() == model.describe() and loaded.describe()["depth"] == 2
    assert loaded.rules(5, inner=True).to_dicts() == model.rules(5, inner=True).to_dicts()
    model.trees.child[0] += 1
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="sound"):
        load_model(tmp_path / "m")


def test_posterior_of_binary_multiway_trees_is_that_of_complete_trees():
    """The same tree, written both ways."""
    counts = np.random.default_rng(0).integers(0, 300, (8, 2))
    schema = Schema([Continuous(f"x{i}", 0, 1, missing=False) for i in range(3)], SCHEMA.label)
    trees = draw_nodes(fanned_ground(schema, 1), 3, np.random.RandomState(0))
    prior = np.array([0.4, 0.6])
    multiway = voting.leaf_values(counts, 30.0, prior, "posterior", trees)
    assert np.allclose(multiway, voting.leaf_values(counts[None], 30.0, prior, "posterior")[0])
