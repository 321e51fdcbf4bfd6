"""Rules say, in words of the schema, where rows really go, and how far noise lets a leaf speak."""

from __future__ import annotations

import json

import numpy as np
import pytest

from privet import (
    BoostingClassifier,
    Categorical,
    Continuous,
    CountForestClassifier,
    Label,
    MajorityForestClassifier,
    Schema,
)
from privet.errors import QuestionError
from privet.model.pruning import node_counts
from privet.model.rules import Rules, counted_rules, path_masks
from privet.model.words import condition_data, condition_text
from privet.structure import CompleteTrees
from twins import leaf, random_codes, random_complete, random_multiway

AGE = Continuous("age", 0, 9, integer=True)
DOSE = Continuous("dose", 0.0, 2.0, missing=False)
WARD = Categorical("ward", ["a", "b", "c"])
SCHEMA = Schema([AGE, WARD], Label("outcome", ["bad", "good"]))
SIZES = [feature.n_codes for feature in SCHEMA.features]


def leaves_of(trees):
    """Tree, node and number of every leaf."""
    if isinstance(trees, CompleteTrees):
        return [(t, trees.n_leaves + i, i) for t in range(trees.n_trees) for i in range(trees.n_leaves)]
    above, found = trees.parent, []
    for node in np.flatnonzero(trees.view < 0):
        root = node
        while above[root] >= 0:
            root = above[root]
        if root in trees.roots:  # a view that shows fewer codes than its feature has leaves children unused
            found.append((trees.roots.tolist().index(root), int(node), int(trees.child[node])))
    return found


@pytest.mark.parametrize("grow", [random_complete, random_multiway])
@pytest.mark.parametrize("seed", range(5))
def test_a_row_fulfils_the_conditions_of_its_own_leaf_alone(grow, seed):
    rng = np.random.default_rng(seed)
    trees = grow(rng, SIZES, 3, 3)
    codes = random_codes(rng, SIZES, 200, np.uint8)
    held = {(t, number): path_masks(trees, SCHEMA, t, node) for t, node, number in leaves_of(trees)}
    for row in range(codes.shape[1]):
        for (tree, number), masks in held.items():
            fulfils = all(mask[codes[j, row]] for j, mask in masks.items())
            assert fulfils == (leaf(trees, codes, tree, row) == number)


def mask_of(feature, codes):
    return np.isin(np.arange(feature.n_codes), codes)


@pytest.mark.parametrize(
    ("feature", "codes", "text"),
    [
        (AGE, range(11), ""),
        (AGE, range(10), "age is known"),
        (AGE, [10], "age is missing"),
        (AGE, [], "no value of age"),
        (AGE, range(4, 11), "age ≥ 4 (or missing)"),
        (AGE, range(3), "age < 3"),
        (AGE, [5], "age = 5"),
        (AGE, range(2, 6), "2 ≤ age < 6"),
        (AGE, [0, 8, 9], "age < 1 or age ≥ 8"),
        (WARD, range(5), ""),
        (WARD, [0, 1, 2], "ward is known"),
        (WARD, [0, 1, 3], "ward ≠ c"),
        (WARD, [1], "ward = b"),
        (WARD, [1, 3], "ward in {b, missing}"),
        (WARD, [0, 1, 2, 4], "ward is known"),
        (WARD, [3, 4], "ward is missing"),
        (WARD, [4], "ward is unknown"),
        (WARD, [], "no value of ward"),
        (Categorical("town", list("abcdefghijklmnopqrst")), range(9), "town in {a, b, c, d, e, f, … 3 more}"),
    ],
)  # fmt: skip
def test_words(feature, codes, text):
    assert condition_text(feature, mask_of(feature, list(codes))) == text


def test_a_value_that_the_schema_does_not_expect_is_not_mentioned():
    codes = np.arange(DOSE.n_codes)
    half = (DOSE.n_cells + 1) // 2
    assert condition_text(DOSE, codes >= half) == "dose ≥ 1"
    assert condition_text(DOSE, codes < DOSE.n_cells) == ""
    assert condition_data(DOSE, codes >= half)["ranges"] == [[DOSE.edge(half), None]]


def test_numbers_have_the_digits_that_their_range_deserves():
    weight = Continuous("weight", 10_000, 1_500_000, integer=True)
    assert condition_text(weight, np.arange(weight.n_codes) < 10_000) == "weight < 237,360"
    year = Continuous("year", 1990, 2020, missing=False)
    assert condition_text(year, np.arange(year.n_codes) < 700) == "year < 1,990.32"


def patients(n=4000):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 10, n)
    ward = rng.choice(["a", "b", "c"], n)
    return np.column_stack([age.astype(object), ward]), np.where(age > 4, "good", "bad")


@pytest.fixture(scope="module")
def counted():
    options = {"structure": "fletcher-islam", "n_trees": 5, "max_depth": 3}
    forest = CountForestClassifier(4.0, **options, schema=SCHEMA, random_state=0)
    return forest.fit(*patients()).model_


def test_rules_of_a_count_forest_tell_its_noisy_counts(counted):
    rules = counted.rules(sort="support")
    assert len(rules) == (counted.counts.sum(axis=2) >= 0).sum()
    assert [rule.support for rule in rules] == sorted((r.support for r in rules), reverse=True)
    for rule in rules[:20]:
        counts = counted.counts[rule.tree, rule.node - 8]
        assert rule.support == counts.sum()
        assert rule.label == SCHEMA.label.values[counts.argmax()]
        assert rule.support_sd == pytest.approx((2 * counted.variance) ** 0.5)
    assert all("age" in str(rule) or "ward" in str(rule) for rule in rules)


def test_rules_are_chosen_by_label_support_and_number(counted):
    rules = counted.rules(3, label="good", min_support=300)
    assert len(rules) == 3
    assert all(rule.label == "good" and rule.support >= 300 for rule in rules)
    strengths = [rule.strength for rule in counted.rules()]
    assert strengths == sorted(strengths, reverse=True)
    assert str(rules).count("→ good") == 3
    assert json.loads(json.dumps(rules.to_dicts()))[0]["label"] == "good"
    with pytest.raises(QuestionError, match="no label 'fine'"):
        counted.rules(label="fine")
    with pytest.raises(QuestionError, match="sort must be"):
        counted.rules(sort="beauty")


@pytest.mark.parametrize("selection", [{"top": -1}, {"top": "a"}, {"top": 1.5}, {"min_support": "a"}])
def test_a_selection_that_is_none_is_refused(counted, selection):
    with pytest.raises(QuestionError, match=next(iter(selection))):
        counted.rules(**selection)


def test_an_estimator_hands_its_rules_on():
    forest = CountForestClassifier(4.0, n_trees=5, max_depth=3, schema=SCHEMA, random_state=0)
    forest.fit(*patients())
    assert str(forest.rules(3, label="good")) == str(forest.model_.rules(3, label="good"))
    with pytest.raises(QuestionError, match="shapes, not rules"):
        BoostingClassifier(1.0, schema=SCHEMA).fit(*patients()).rules()


def test_counts_of_inner_nodes_are_sums_and_so_is_their_noise(counted):
    counts, variance = node_counts(counted.counts, counted.variance)
    assert (counts[:, 1] == counted.counts.sum(axis=1)).all()
    assert (counts[:, 2] == counted.counts[:, :4].sum(axis=1)).all()
    assert (counts[:, 8:] == counted.counts).all()
    assert variance[[1, 2, 4, 8]] == pytest.approx(counted.variance * np.array([8, 4, 2, 1]))
    root = next(rule for rule in counted.rules(inner=True) if rule.node == 1)
    assert root.conditions == () and str(root).startswith("always")
    assert root.support_sd == pytest.approx((16 * counted.variance) ** 0.5)


def test_the_noise_of_a_confidence_is_what_noise_does_to_it():
    """Counts with normal noise, drawn often: the stated deviations are those that occur."""
    rng = np.random.default_rng(1)
    exact_counts, sd = np.array([300, 620, 80]), 9.0
    noisy = exact_counts + rng.normal(0, sd, (100_000, 3))
    trees = random_complete(rng, SIZES, 1, 1)
    schema = Schema(SCHEMA.features, Label("outcome", ["bad", "good", "fair"]))
    place = np.zeros(len(noisy), int)
    prior = np.array([0.5, 0.3, 0.2])
    rules = counted_rules(trees, schema, place, place + 2, noisy, sd**2, prior)
    confidence, support = rules._numbers["confidence"], rules._numbers["support"]
    assert rules[0].confidence_sd == pytest.approx(confidence.std(), rel=0.05)
    assert rules[0].support_sd == pytest.approx(support.std(), rel=0.02)
    assert isinstance(rules[:3], Rules) and len(rules[:3]) == 3


def test_a_leaf_without_rows_has_no_confidence():
    rng = np.random.default_rng(1)
    trees = random_complete(rng, SIZES, 1, 1)
    rules = counted_rules(
        trees, SCHEMA, np.array([0]), np.array([2]), np.array([[-5, 2]]), 4.0, np.array([0.5, 0.5])
    )
    assert rules[0].confidence is None and "no rows" in str(rules[0])
    assert len(rules.select(min_support=0)) == 0
    assert [len(rules.select(top, min_support=-9)) for top in (0, np.int64(1), None)] == [0, 1, 1]
    for top in (-1, 1.5, True, "3"):
        with pytest.raises(QuestionError, match="top must be a whole number of at least 0"):
            rules.select(top)


def test_rules_of_a_majority_forest_are_labels_alone():
    forest = MajorityForestClassifier(4.0, n_trees=5, max_depth=3, schema=SCHEMA, random_state=0)
    model = forest.fit(*patients()).model_
    rules = model.rules()
    assert [rule.label for rule in rules] == [SCHEMA.label.values[c] for c in model.labels.ravel()]
    assert rules[0].support is None and "support" not in rules[0].to_dict()
    assert all(rule.label == "good" for rule in model.rules(label="good"))
    with pytest.raises(QuestionError, match="labels alone"):
        rules.select(min_support=10)
