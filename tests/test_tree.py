"""A tree as text and as a picture: every node's own numbers, with their noise, and nothing unreachable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from privet import (
    BoostingClassifier,
    Categorical,
    Continuous,
    CountForestClassifier,
    CountForestRegressor,
    GreedyForestClassifier,
    Label,
    MajorityForestClassifier,
    Schema,
    Target,
    export_text,
    plot_tree,
)
from privet.errors import QuestionError
from privet.kernels.route import route
from privet.kernels.score import score
from privet.model.additive import oblivious
from privet.model.consistent import consistent, shared_out
from privet.model.pruning import node_counts
from privet.model.tree import nested
from privet.structure import CompleteTrees, Views
from twins import random_codes

FEATURES = [Continuous("age", 0, 9, integer=True), Categorical("ward", ["a", "b", "c"], missing=False)]
SCHEMA = Schema(FEATURES, Label("outcome", ["bad", "good"]))
SEVERAL = Schema(FEATURES, Label("outcome", ["bad", "fair", "good"]))


def patients(n=6000, schema=SCHEMA):
    rng = np.random.default_rng(0)
    age, ward = rng.integers(0, 10, n), rng.choice(["a", "b", "c"], n)
    y = np.array(schema.label.values)[np.minimum(age // 4 + (ward == "a"), len(schema.label.values) - 1)]
    return np.column_stack([age.astype(object), ward]), y


MODELS = {
    "counts": CountForestClassifier(4.0, n_trees=4, max_depth=4, schema=SCHEMA, random_state=0),
    "whole range": CountForestClassifier(
        4.0, n_trees=4, max_depth=5, structure="bojarski", schema=SCHEMA, random_state=0
    ),
    "a child for every category": CountForestClassifier(
        4.0, n_trees=4, max_depth=2, structure="jagannathan", schema=SCHEMA, random_state=0
    ),
    "rules": GreedyForestClassifier(8.0, n_trees=3, max_depth=3, schema=SCHEMA),
    "labels": MajorityForestClassifier(4.0, n_trees=4, max_depth=4, schema=SCHEMA, random_state=0),
    "scores": BoostingClassifier(8.0, 1e-6, schema=SCHEMA, random_state=0),
    "scores of several": BoostingClassifier(8.0, 1e-6, schema=SEVERAL, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    learner = MODELS[request.param]
    return learner.fit(*patients(schema=learner.schema))


def all_nodes(node):
    return [node, *(deeper for child in node.children for deeper in all_nodes(child))]


def test_a_text_has_a_line_for_every_node_and_tells_what_it_leaves_out(fitted):
    for tree in range(2):
        whole = nested(fitted.model_.tree(tree), 30)
        assert all(node.hidden == 0 for node in all_nodes(whole))
        assert len(export_text(fitted, tree, 30).splitlines()) == len(all_nodes(whole))
        cut = export_text(fitted, tree, 1)
        assert len(cut.splitlines()) == 1 + len(whole.children) >= 3
        assert cut.count("leaves below") == sum(bool(child.children) for child in whole.children)


def test_branches_that_no_row_can_take_are_left_out(fitted):
    text = "\n".join(export_text(fitted, tree, 30) for tree in range(2))
    assert "no value of" not in text
    for node in all_nodes(nested(fitted.model_.tree(0), 30)):
        assert len(node.children) != 1


def test_a_picture_shows_every_node_s_text_within_its_frame(fitted):
    figure = plot_tree(fitted, 1, max_depth=2)
    shown = {text.get_text() for text in figure.axes[0].texts}
    root = nested(fitted.model_.tree(1), 2)
    assert {line for node in all_nodes(root) for line in node.said.lines} <= shown
    figure.draw_without_rendering()
    frame = figure.bbox
    for text in figure.axes[0].texts:
        extent = text.get_window_extent()
        assert extent.x0 >= frame.x0 and extent.x1 <= frame.x1
        assert extent.y0 >= frame.y0 and extent.y1 <= frame.y1


def test_what_a_tree_shows_could_be_rows_and_lies_closer_to_the_truth_than_sums_of_leaves():
    rng = np.random.default_rng(0)
    model = MODELS["counts"].fit(*patients()).model_
    n_trees, n_leaves, variance = 6, model.trees.n_leaves, 900.0
    trees = replace(model.trees, view=np.repeat(model.trees.view[:1], n_trees, 0),
                    threshold=np.repeat(model.trees.threshold[:1], n_trees, 0))  # fmt: skip
    exact = rng.integers(0, 200, (n_leaves, 2)) * (rng.random((n_leaves, 1)) < 0.4)
    noise = rng.normal(0, variance**0.5, (n_trees, n_leaves, 2)).round().astype(int)
    noisy = replace(model, trees=trees, counts=exact + noise, variance=variance)
    sums, _ = node_counts(noisy.counts, variance)
    true = node_counts(exact[None], 1.0)[0][0]
    wrong = {"shown": 0.0, "summed": 0.0}
    for tree in range(n_trees):
        told = consistent(trees, tree, SCHEMA, *noisy.every_count(), noisy.alike)
        shown = np.array([told(node)[0] for node in range(1, 2 * n_leaves)])
        assert (shown >= 0).all()
        above = shown[: n_leaves - 1]
        assert shown[1::2] + shown[2::2] == pytest.approx(above)
        assert told(1)[0] == pytest.approx(sums[:, 1].mean(axis=0))
        wrong["shown"] += ((shown - true[1:]) ** 2).sum()
        wrong["summed"] += ((sums[tree, 1:] - true[1:]) ** 2).sum()
    assert wrong["shown"] < 0.8 * wrong["summed"]
    root, below, deeper = (told(node)[1] for node in (1, 2, 4))
    assert root == pytest.approx(variance * n_leaves / n_trees)
    assert below == pytest.approx(variance * n_leaves / 4 + root / 4)
    assert deeper == pytest.approx(variance * n_leaves / 8 + below / 4)


@pytest.mark.parametrize("name", ["counts", "whole range", "a child for every category", "rules", "numbers"])
def test_no_child_has_more_rows_than_its_parent(name):
    def rows(node):
        return float(node.said.lines[0].split(" ± ")[0].replace(",", ""))

    X, y = patients(300)
    numbers = Schema(FEATURES, Target("cost", 0, 1))
    learner = CountForestRegressor(4.0, schema=numbers) if name == "numbers" else clone(MODELS[name])
    model = learner.fit(X, (y == "good").astype(float) if name == "numbers" else y).model_
    for tree in range(model.trees.n_trees):
        for node in all_nodes(nested(model.tree(tree), 30)):
            assert all(0 <= rows(child) <= rows(node) for child in node.children)


def test_shares_of_a_total_are_the_nearest_numbers_that_can_be():
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts, variance = rng.normal(2, 5, (4, 1)), rng.uniform(0.5, 3, 4)
        total = np.array([max(rng.normal(8, 8), 0.0)])
        found = shared_out(total, counts, variance)[:, 0]
        assert found.min() >= 0 and found.sum() == pytest.approx(total[0])
        # Of all numbers that can be, none lie nearer: multipliers of those above zero are one.
        pull = (found - counts[:, 0]) / variance
        assert np.ptp(pull[found > 0]) < 1e-9 if (found > 0).any() else True
        assert (pull[found == 0] >= pull[found > 0].max() - 1e-9).all() if (found > 0).any() else True


@pytest.mark.parametrize("name", ["scores", "scores of several"])
def test_an_oblivious_tree_as_a_complete_one_sends_rows_to_the_same_leaf(name):
    learner = MODELS[name]
    model = learner.fit(*patients(schema=learner.schema)).model_
    codes = random_codes(np.random.default_rng(1), [f.n_codes for f in FEATURES], 300, np.uint8)
    additive = model.additive
    total = additive.intercept + sum(
        additive.shapes[
            additive.bins.first[j] + additive.bins.views.table[additive.bins.views.start[j] + row]
        ]
        for j, row in enumerate(codes)
    )
    for tree in range(additive.n_trees):
        trees = oblivious(additive, tree, model.schema)
        total = total + additive.leaves[tree][route(trees, codes)[0]]
    assert total == pytest.approx(score(additive, codes))


def test_a_tree_that_is_not_there_is_refused(fitted):
    for show in (export_text, plot_tree):
        for tree in (9999, -1, "a", 0.5, True):
            with pytest.raises(QuestionError, match="the number of a tree must be a whole number from 0 to "):
                show(fitted, tree)
    for depth in (-1, 1.5, True):
        with pytest.raises(QuestionError, match="max_depth"):
            export_text(fitted, 0, depth)
    with pytest.raises(QuestionError, match="not a fitted model of trees"):
        export_text(LogisticRegression())


def test_counts_that_noise_could_have_made_say_so():
    model = MODELS["counts"].fit(*patients()).model_
    place = int(np.abs(model.counts[0].sum(axis=1)).argmin())
    model.counts[0, place] = 0
    assert model.tree(0).said(16 + place).lines[1] == "no more than noise"
    assert model.tree(0).said(16 + place).label is None


def test_words_of_a_small_tree():
    trees = CompleteTrees(
        Views.of(2), np.array([[0, 0, 0, 1]], np.uint16), np.array([[0, 4, 2, 1]], np.uint16), 2
    )
    model = MODELS["counts"].fit(*patients()).model_
    counts = np.array([[[500, 100], [300, 0], [0, 400], [0, 200]]])
    small = type(model)(trees, counts, 4.0, model.prior, "sum", SCHEMA, model.card)
    assert export_text(small).splitlines() == [
        "1,500 ± 6 rows, 53% ± 0% bad",
        "├─ age < 4: 900 ± 4 rows, 89% ± 0% bad",
        "│  ├─ age < 2: 600 ± 3 rows, 83% ± 0% bad",
        "│  └─ 2 ≤ age < 4: 300 ± 3 rows, 100% ± 1% bad",
        "└─ age ≥ 4 (or missing): 600 ± 4 rows, 100% ± 0% good",
        "   ├─ ward = a: 400 ± 3 rows, 100% ± 0% good",
        "   └─ ward ≠ a: 200 ± 3 rows, 100% ± 1% good",
    ]
