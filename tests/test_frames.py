"""What was released as frames, and parts of a row's score that add up to it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from privet import (
    BoostingClassifier,
    Categorical,
    Continuous,
    CountForestClassifier,
    CountForestRegressor,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Label,
    MajorityForestClassifier,
    Schema,
    Target,
)
from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import probabilities
from privet.kernels.vote import vote

FEATURES = [Continuous("age", 0, 100), Categorical("town", ["a", "b", "c"], missing=False)]
TWO, THREE = ("no", "yes"), ("low", "middle", "high")


def people(labels, n=4000):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"age": random.uniform(0, 100, n), "town": random.choice(["a", "b", "c"], n)})
    frame.loc[:50, "age"] = np.nan
    place = np.where(frame["town"] == "b", 0.5, frame["age"].fillna(50) / 100)
    return frame, np.array(labels)[np.minimum((place * len(labels)).astype(int), len(labels) - 1)]


@pytest.fixture(scope="module", params=[TWO, THREE], ids=["two labels", "three labels"])
def model(request):
    schema = Schema(FEATURES, Label("ill", request.param))
    return BoostingClassifier(8.0, delta=1e-6, schema=schema).fit(*people(request.param)).model_


def test_parts_add_up_to_the_score(model):
    rows, _ = people(TWO, 300)
    told = model.explain(rows)
    assert told.parts.shape == (300, 2, model.additive.n_scores) and told.noise.shape == (300, 2)
    shares = probabilities(told.totals, len(model.classes))
    assert np.allclose(shares, model.predict_proba(rows), atol=1e-12)
    assert (told.noise > 0).all()


def test_parts_are_those_that_pictures_show(model):
    rows, _ = people(TWO, 300)
    told, shapes = model.explain(rows), model.shapes_frame().to_pandas()
    column = next(name for name in shapes if name.startswith("effect"))
    in_b = np.flatnonzero(rows["town"] == "b")
    shown = shapes[(shapes["feature"] == "town") & (shapes["values"] == "town = b")]
    assert len(shown) == 1 and np.allclose(told.parts[in_b, 1, 0], shown[column])
    assert np.allclose(told.noise[in_b, 1], shown["band"])
    # Without what trees see together, a row hears the base and its parts.
    assert np.abs(told.together).mean() < np.abs(told.parts).mean()


def test_an_explanation_is_a_frame_and_a_page(model):
    rows, _ = people(TWO, 7)
    told = model.explain(rows)
    frame = pl.from_arrow(told.to_frame())
    assert frame.shape == (7 * 2 * model.additive.n_scores, 5)
    assert frame["part"].to_numpy() == pytest.approx(told.parts.ravel())
    assert told._repr_html_().count("<table>") == 5 and "an average row" in told._repr_html_()


def test_shapes_are_a_line_a_bin(model):
    frame = model.shapes_frame().to_pandas()
    assert len(frame) == model.additive.bins.n_bins
    assert frame.groupby("feature")["share"].sum().round(6).eq(1).all()
    released = frame[[name for name in frame if name.startswith("released")]]
    assert (released.to_numpy() == model.additive.shapes).all()
    assert "age is missing" in set(frame["values"]) or frame["values"].str.contains("missing").any()


def test_leaves_are_a_line_a_leaf(model):
    frame = model.trees_frame().to_pandas()
    assert len(frame) == np.prod(model.additive.leaves.shape[:2])
    adds = frame[[name for name in frame if name.startswith("adds")]]
    assert (adds.to_numpy() == model.additive.leaves.reshape(len(frame), -1)).all()
    assert all(isinstance(text, str) for told in frame["conditions"] for text in told)


@pytest.mark.parametrize("kind", [CountForestClassifier, MajorityForestClassifier, GreedyForestClassifier])
def test_forests_have_a_line_a_leaf_too(kind):
    schema = Schema(FEATURES, Label("ill", TWO))
    forest = kind(4.0, schema=schema).fit(*people(TWO)).model_
    frame = forest.trees_frame().to_pandas()
    rules = forest.rules()
    assert len(frame) == len(rules) and set(frame["label"]) <= {"no", "yes"}
    assert ("support" in frame) == rules.counted
    if rules.counted:
        assert frame["support"].iloc[0] == rules[0].support
    with pytest.raises(QuestionError):
        forest.shapes_frame()


FORESTS = [
    CountForestClassifier(4.0, n_trees=6),
    CountForestClassifier(4.0, n_trees=6, voting="sum", structure="jagannathan"),
    MajorityForestClassifier(4.0, n_trees=6),
    GreedyForestClassifier(4.0, n_trees=3),
    GreedyTreeClassifier(4.0),
    CountForestRegressor(4.0, n_trees=6),
]


@pytest.mark.parametrize("learner", FORESTS, ids=str)
def test_steps_of_a_forest_s_paths_add_up_to_what_its_trees_say(learner):
    X, y = people(THREE)
    numbers = isinstance(learner, CountForestRegressor)
    schema = Schema(FEATURES, Target("cost", 0, 2) if numbers else Label("ill", THREE))
    forest = clone(learner).set_params(schema=schema)
    forest.fit(X, np.searchsorted(np.sort(THREE), y).astype(float) if numbers else y)
    model, rows = forest.model_, X[:200]
    told = model.explain(rows)
    votes = model.predictor
    codes = encode(open_table(rows, schema), schema, with_label=False).features
    assert told.totals == pytest.approx(
        vote(votes.trees, codes, votes.values) / votes.trees.n_trees, rel=1e-4
    )
    if numbers:
        assert np.clip(told.totals[:, 0], 0, 2) == pytest.approx(forest.predict(rows), rel=1e-5)
    assert list(told.scores) == (["cost"] if numbers else list(THREE)) and not told.together.any()
    assert np.isnan(told.noise).all() == (votes.trees.n_trees == 1)
    # An average row hears what rows hear on average, as far as noise lets that be known.
    if model.leaf_rows is not None:
        assert told.base == pytest.approx(model.explain(X).totals.mean(axis=0), rel=0.3, abs=0.1)
    assert told.to_frame().num_rows == 200 * 2 * len(told.scores)
    assert "together" not in told._repr_html_() and "nan" not in told._repr_html_()


def test_a_feature_that_says_nothing_adds_next_to_nothing():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.uniform(0, 100, 8000), "town": random.choice(["a", "b", "c"], 8000)})
    y = np.where(X["age"] > 50, "yes", "no")
    schema = Schema(FEATURES, Label("ill", TWO))
    told = CountForestClassifier(8.0, schema=schema, random_state=0).fit(X, y).model_.explain(X[:500])
    age, town = np.abs(told.parts[..., 1]).mean(axis=0)
    assert age > 5 * town
    assert (told.parts[X["age"][:500] > 60, 0, 1] > 0).all()
