"""Models answer for themselves: every kind the same questions, and nobody else looks which one it is."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import privet
from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Label,
    Ledger,
    MajorityForestClassifier,
    PrivacyCard,
    Schema,
    UnionForest,
    explain,
    export_text,
    load_model,
    plot_tree,
    private_score,
)
from privet.cli.main import main
from privet.errors import ModelFileError, QuestionError
from privet.model import MODELS, CountForest, LabelForest, kinds
from privet.model.file import write_model
from privet.model.labels import LabelModel
from privet.model.protocol import Model, Predictions
from privet.model.sections import Section, Sizes
from privet.model.voting import NODE_WAYS, VOTINGS, WAYS

SOURCE = Path(privet.__file__).parent
SCHEMA = Schema(
    [Continuous("age", 0, 9, integer=True), Categorical("ward", ["a", "b"], missing=False)],
    Label("outcome", ["good", "bad"]),
)
SHAPE = {"n_trees": 4, "max_depth": 3, "schema": SCHEMA, "random_state": 0}


def patients(n=3000):
    rng = np.random.default_rng(0)
    age, ward = rng.integers(0, 10, n), rng.choice(["a", "b"], n)
    return np.column_stack([age.astype(object), ward]), np.where(age > 4, "bad", "good").astype(object)


def united():
    X, y = patients(1000)
    forests = []
    for j in (0, 1):
        schema = Schema([SCHEMA.features[j]], SCHEMA.label)
        shape = {**SHAPE, "schema": schema, "structure": "fletcher-islam"}
        forests.append(CountForestClassifier(2.0, **shape).fit(X[:, [j]], y).model_)
    return UnionForest(forests, "sum", SCHEMA, forests[0].card)


MAKE = {
    "additive": lambda: BoostingClassifier(4.0, schema=SCHEMA, random_state=0).fit(*patients()).model_,
    "count-forest": lambda: CountForestClassifier(4.0, **SHAPE).fit(*patients()).model_,
    "label-forest": lambda: MajorityForestClassifier(4.0, **SHAPE).fit(*patients()).model_,
    "rule-forest": lambda: GreedyForestClassifier(8.0, schema=SCHEMA).fit(*patients()).model_,
    "union-forest": united,
}

OF_NUMBERS = {"additive-numbers", "number-forest"}
"""Tried in test_regression.py and test_number_forest.py: they have no labels."""


@pytest.fixture(scope="module")
def models():
    return {kind: make() for kind, make in MAKE.items()}


def test_every_kind_is_declared_and_tried_here(models):
    assert {model.kind for model in MODELS} == {*MAKE, *OF_NUMBERS} == set(kinds.KINDS)
    questions = [name for name in vars(Model) if not name.startswith("_")]
    assert {"predict", "rules", "importances", "sections", "to_file"} <= set(questions)
    for model in models.values():
        assert [name for name in questions if not hasattr(model, name)] == []


@pytest.mark.parametrize("kind", MAKE)
def test_a_loaded_model_predicts(models, kind, tmp_path):
    models[kind].save(tmp_path / "m")
    model, X = load_model(tmp_path / "m"), patients(200)[0]
    shares = model.shares(X)
    assert type(model) is kinds.KINDS[kind]
    assert (model.predict_proba(X) == shares).all() and shares.shape == (200, 2)
    assert list(model.classes) == ["good", "bad"]
    clear = shares[:, 0] != shares[:, 1]
    assert (model.predict(X)[clear] == model.classes[shares.argmax(axis=1)][clear]).all()
    told = model.predictions(X)
    assert list(told.values) == model.predict(X).tolist() and (told.shares["bad"] == shares[:, 1]).all()


def test_of_equal_shares_the_label_that_sorts_first_is_predicted(models):
    forest = models["label-forest"]
    level = np.tile(np.array([[0], [1]], np.uint16), (2, forest.trees.n_leaves))
    even = replace(forest, labels=level)
    X = patients(5)[0]
    assert (even.shares(X) == 0.5).all()
    assert even.predict(X).tolist() == ["bad"] * 5 == list(even.predictions(X).values)


def test_models_predict_as_their_estimators_do():
    X, y = patients()
    for learner in (CountForestClassifier(4.0, **SHAPE), CountingTreeClassifier(4.0, schema=SCHEMA)):
        learner.fit(X, y)
        assert (learner.model_.predict(X[:300]) == learner.predict(X[:300])).all()


@pytest.mark.parametrize("kind", MAKE)
def test_a_model_tells_its_importances_or_why_it_cannot(models, kind):
    model = models[kind]
    if kind == "label-forest":
        with pytest.raises(QuestionError, match="labels alone"):
            model.importances()
        return
    told = model.importances()
    assert next(iter(told)) == "age" and set(told) == {"age", "ward"}
    assert list(told.values()) == sorted(told.values(), reverse=True)
    assert kind == "additive" or sum(told.values()) == pytest.approx(1)


@pytest.mark.parametrize("kind", MAKE)
def test_a_model_tells_its_rules_and_trees_or_why_it_cannot(models, kind):
    model = models[kind]
    if kind in ("additive", "union-forest"):
        with pytest.raises(QuestionError, match=r"not rules|no rules"):
            model.rules()
    else:
        assert len(model.rules(2)) == 2
    if kind == "union-forest":
        with pytest.raises(QuestionError, match="no trees of its own"):
            model.to_text()
    else:
        assert model.to_text(1, 2) == export_text(model, 1, 2)
    assert json.loads(json.dumps(model.to_dict()))["structure"] == json.loads(json.dumps(model.describe()))


def test_a_file_of_another_kind_than_the_one_wanted_is_refused(models, tmp_path):
    models["label-forest"].save(tmp_path / "m")
    assert load_model(tmp_path / "m", LabelForest).kind == "label-forest"
    with pytest.raises(ModelFileError, match="holds a 'label-forest', not a 'count-forest'"):
        load_model(tmp_path / "m", CountForest)


ASKED_BY_CLASS = {"audit/detectors.py", "audit/program_trials.py", "learners/count_forest.py"}
"""Where a kind of release is a condition, not a case among others. No file is to be added."""


def test_nobody_else_looks_which_class_a_model_is():
    names, found = {model.__name__ for model in MODELS}, set()
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith("model/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "isinstance",
                "issubclass",
            )
            if called and names & {getattr(n, "id", "") for n in ast.walk(node)}:
                found.add(place)
    assert found <= ASKED_BY_CLASS


@dataclass(frozen=True)
class Constant:
    """A further kind of model: it says the same number of every row."""

    value: float
    schema: Schema
    card: PrivacyCard
    kind: ClassVar[str] = "constant"
    title: ClassVar[str] = "A number"
    predictor = scored = None
    to_dict, save = LabelModel.to_dict, LabelModel.save

    def predict(self, source):
        return np.full(len(source) if hasattr(source, "__len__") else 3, self.value)

    def predictions(self, source):
        return Predictions(self.predict(source).tolist())

    def importances(self):
        return {"age": 0.5, "ward": 0.0}

    def rules(self, top=None, *, label=None):
        raise QuestionError("a number has no rules.")

    def tree(self, number=0):
        raise QuestionError("a number has no trees.")

    def to_text(self, tree=0, max_depth=6):
        return f"always {self.value}"

    def sections(self):
        yield Section("One number", f"It is {self.value}.")
        yield Sizes("What matters", "Little.", ["age", "ward"], np.array([0.5, 0.0]))

    def describe(self):
        return {"kind": self.kind, "value": self.value}

    def to_file(self):
        head = {"kind": self.kind, "schema": self.schema.to_dict(), "card": self.card.to_dict()}
        return head, {"value": np.array([self.value])}

    @classmethod
    def from_file(cls, header, arrays):
        return cls(
            float(arrays["value"][0]), Schema.from_dict(header["schema"]), PrivacyCard(**header["card"])
        )


def test_a_further_kind_of_model_needs_its_class_and_one_line(models, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = Constant(2.5, SCHEMA, models["additive"].card)
    model.save("m")
    with pytest.raises(ModelFileError, match="holds a 'constant'"):
        load_model("m")
    monkeypatch.setattr(kinds, "MODELS", (*MODELS, Constant))
    monkeypatch.setattr(kinds, "KINDS", {**kinds.KINDS, "constant": Constant})
    assert load_model("m") == model
    page = explain(model)
    assert "A number of 2 features" in page and "It is 2.5." in page and "What matters" in page
    assert export_text(model) == "always 2.5"
    with pytest.raises(QuestionError, match="no trees"):
        plot_tree(model)
    Path("rows.csv").write_text("age,ward\n1,a\n2,b\n3,b\n")
    assert main(["predict", "m", "rows.csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["prediction", "2.5", "2.5", "2.5"]
    assert main(["predict", "m", "rows.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"prediction": 2.5}] * 3
    assert main(["describe", "m", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["structure"] == {"kind": "constant", "value": 2.5}
    assert main(["explain", "m"]) == 0
    assert main(["explain", "m", "--out", "page.html", "--plot", "main.png"]) == 2
    assert "no picture stands for this model" in capsys.readouterr().err and not Path("page.html").exists()
    learner = BoostingClassifier(1.0, schema=SCHEMA).fit(*patients(300))
    learner.model_ = model
    assert learner.feature_importances_.tolist() == [1.0, 0.0]
    with pytest.raises(QuestionError, match="a number has no rules"):
        learner.rules()
    account = Ledger().create("held out", Budget(1))
    with pytest.raises(QuestionError):
        private_score(model, *patients(50), epsilon=0.1, account=account)
    assert account.spent().epsilon == 0


def test_a_way_of_voting_that_there_is_not_is_refused(models):
    for kind in ("count-forest", "union-forest"):
        with pytest.raises(QuestionError, match="voting must be one of"):
            models[kind].with_voting("dictator")


def test_ways_of_voting_say_what_they_do():
    assert tuple(WAYS) == VOTINGS and [name for name, way in WAYS.items() if way.draws] == ["probabilistic"]
    assert all(way.words for way in (*WAYS.values(), *NODE_WAYS.values()))


@pytest.mark.parametrize("voting", [*VOTINGS, "dictator", ["sum"], None])
def test_a_file_names_a_way_of_voting_that_there_is(models, voting, tmp_path):
    header, arrays = models["count-forest"].to_file()
    write_model(tmp_path / "m", {**header, "voting": voting}, arrays)
    if voting in VOTINGS:
        assert load_model(tmp_path / "m").voting == voting
    else:
        with pytest.raises(ModelFileError, match="sound model"):
            load_model(tmp_path / "m")


SQUARE = '''

def squared_shares(leaves: LeafCounts) -> np.ndarray:
    """Shares of the labels, those of frequent labels raised."""
    return normalised(label_shares(leaves) ** 2)


WAYS = {**WAYS, "squared": Way("its shares of the labels, squared", squared_shares, draws=True)}
VOTINGS = tuple(WAYS)
'''

TRIAL = """
import numpy as np, runpy, sys
from privet import CountForestClassifier, Continuous, Label, Schema, load_model
from privet.cli.main import main
from privet.parties import draw_structure
schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
X = np.random.default_rng(0).random((500, 1))
forest = CountForestClassifier(4.0, n_trees=3, voting="squared", random_state=0, schema=schema)
print(forest.plan(schema, 500))
forest.fit(X, (X[:, 0] > 0.5).astype(int)).model_.save("m")
once = [forest.set_params(random_state=seed).predict(X).tolist() for seed in (0, 1)]
assert once[0] != once[1]
model = load_model("m")
assert model.draws and not np.array_equal(model.shares(X), model.with_voting("threshold").shares(X))
assert draw_structure(schema, voting="squared").voting == "squared"
assert "`squared`" in runpy.run_path(sys.argv[1])["myst_substitutions"]["voting_table"]
assert main(["fit", "--help"]) == 0
"""


def test_a_way_of_voting_is_added_in_one_file(tmp_path):
    """Done on a copy of the package in which ``model/voting.py`` alone differs."""
    copy = tmp_path / "src" / "privet"
    (copy / "model").mkdir(parents=True)
    for folder, target in ((SOURCE, copy), (SOURCE / "model", copy / "model")):
        for path in folder.iterdir():
            if path.name not in ("model", "voting.py", "__pycache__"):
                (target / path.name).symlink_to(path)
    (copy / "model" / "voting.py").write_text((SOURCE / "model" / "voting.py").read_text() + SQUARE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "COLUMNS": "300"}
    conf = SOURCE.parents[1] / "docs" / "conf.py"
    done = subprocess.run(
        [sys.executable, "-c", TRIAL, str(conf)],
        capture_output=True, encoding="utf-8", env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "squared" in done.stdout and "none is known for squared voting" in done.stdout


@pytest.mark.parametrize("kind", MAKE)
def test_a_model_is_a_predictor_under_scikit_learns_names(models, kind):
    model, (X, y) = models[kind], patients(400)
    shares = model.predict_proba(X)
    assert list(model.classes_) == ["good", "bad"] and model.n_features_in_ == 2
    assert list(model.feature_names_in_) == ["age", "ward"]
    with np.errstate(divide="ignore"):
        assert (model.predict_log_proba(X) == np.log(shares)).all()
    sure = model.decision_function(X)
    assert sure.shape == (400,) and ((sure > 0) == (shares[:, 1] > shares[:, 0])).all()
    assert model.score(X, y) == (model.predict(X) == y).mean()
    frame = pd.DataFrame(X, columns=["age", "ward"]).assign(other=1, outcome=y)
    assert model.score(frame) == model.score(X, y)
    assert (model.predict(frame[["outcome", "ward", "other", "age"]]) == model.predict(X)).all()


@pytest.mark.parametrize(
    "learner",
    [
        BoostingClassifier(4.0, passes=2, schema=SCHEMA),
        CountForestClassifier(4.0, **SHAPE),
        CountingTreeClassifier(4.0, schema=SCHEMA),
        GreedyForestClassifier(4.0, schema=SCHEMA),
        GreedyTreeClassifier(4.0, schema=SCHEMA),
        MajorityForestClassifier(4.0, **SHAPE),
    ],
    ids=lambda learner: learner.name,
)
def test_an_estimator_comes_back_from_its_model(learner):
    X, y = patients()
    X = pd.DataFrame(X, columns=SCHEMA.feature_names)
    learner.fit(X, y)
    again = type(learner).from_model(learner.model_)
    assert (again.predict(X[:300]) == learner.predict(X[:300])).all()
    assert (again.decision_function(X[:300]) == learner.decision_function(X[:300])).all()
    assert list(again.classes_) == list(learner.classes_) and again.privacy_card_ == learner.privacy_card_
    other = GreedyTreeClassifier if isinstance(learner, BoostingClassifier) else BoostingClassifier
    with pytest.raises(QuestionError, match="not released by"):
        other.from_model(learner.model_)
