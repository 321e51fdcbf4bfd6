"""The report of a model: effects that add up, gains that noise does not make, a page that stands alone."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from privet import (
    BoostingClassifier,
    Budget,
    Categorical,
    Continuous,
    CountForestClassifier,
    Date,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    Integer,
    Label,
    Ledger,
    MajorityForestClassifier,
    Schema,
    explain,
    plot_tree,
    protect,
)
from privet.cli.main import main
from privet.errors import PrivetError, QuestionError
from privet.kernels.score import score
from privet.model import UnionForest
from privet.model.effects import effects
from privet.model.gains import split_gains
from privet.model.sections import FeatureShapes
from privet.pictures.page import figure
from privet.pictures.report import main_figure
from privet.pictures.shapes import Shapes, _with_room
from privet.pictures.style import save_picture
from privet.privacy import Repeatable
from tests.servers.browser import NAMES, started

FEATURES = [
    Continuous("age", 0, 9, integer=True),
    Categorical("<ward>", ["a", "b & c"], missing=False),
    Continuous("dose", 0.0, 1.0),
    Categorical("stage", ["one", "two", "three"], ordered=True),
]
SCHEMA = Schema(FEATURES, Label("<outcome>", ["bad", "<good>"]))
SEVERAL = Schema(FEATURES, Label("outcome", ["bad", "fair", "good"]))


def patients(n=4000, schema=SCHEMA):
    rng = np.random.default_rng(0)
    age, ward, dose = rng.integers(0, 10, n), rng.integers(0, 2, n), rng.random(n)
    stage = rng.choice(["one", "two", "three"], n).astype(object)
    stage[rng.random(n) < 0.1] = None
    level = np.minimum((age > 4).astype(int) + (age % 2) * ward, len(schema.label.values) - 1)
    dose[::11] = np.nan
    names = np.array(FEATURES[1].categories, object)[ward]
    X = np.column_stack([age.astype(object), names, dose.astype(object), stage])
    return X, np.array(schema.label.values, object)[level]


LEARNERS = {
    "two labels": BoostingClassifier(4.0, 1e-6, schema=SCHEMA, random_state=0),
    "three labels": BoostingClassifier(4.0, 1e-6, schema=SEVERAL, random_state=0),
    "no trees": BoostingClassifier(0.05, schema=SCHEMA, random_state=0),
    "counts": CountForestClassifier(2.0, n_trees=8, max_depth=5, schema=SCHEMA, random_state=0),
    "a child for every category": CountForestClassifier(
        2.0, n_trees=8, max_depth=2, structure="jagannathan", schema=SCHEMA, random_state=0
    ),
    "rules": GreedyForestClassifier(8.0, schema=SCHEMA),
    "labels": MajorityForestClassifier(2.0, n_trees=8, max_depth=5, schema=SCHEMA, random_state=0),
}


@pytest.fixture(scope="module")
def models():
    return {name: learner.fit(*patients(schema=learner.schema)).model_ for name, learner in LEARNERS.items()}


@pytest.fixture(params=LEARNERS)
def model(request, models):
    return models[request.param]


@pytest.mark.parametrize("name", ["two labels", "three labels"])
def test_effects_are_means_over_independent_features(models, name):
    """Every mean is worked out anew, over all combinations of bins, from the scores of the model itself."""
    model = models[name]
    additive = replace(model.additive, features=model.additive.features[:5], leaves=model.additive.leaves[:5],
                       turns=np.ascontiguousarray(model.additive.turns[:, :5]))  # fmt: skip
    model = replace(model, additive=additive)
    told, places = effects(model), additive.bins.slices
    codes = [
        [np.flatnonzero(_bins(model, j) == b)[0] for b in range(p.stop - p.start)]
        for j, p in enumerate(places)
    ]
    cells = np.array(list(product(*(range(len(c)) for c in codes))))
    rows = np.array([[codes[j][b] for b in cells[:, j]] for j in range(4)], np.uint16)
    weight = np.prod([model.bin_shares[places[j]][cells[:, j]] for j in range(4)], axis=0)
    scores = score(additive, rows)
    assert weight.sum() == pytest.approx(1)
    mean = weight @ scores
    assert told.base == pytest.approx(mean)

    def given(j, b, other=None, c=None):
        held = (cells[:, j] == b) & ((cells[:, other] == c) if other is not None else True)
        return weight[held] @ scores[held] / weight[held].sum() - mean

    for j in range(4):
        assert told.single[places[j]][0] == pytest.approx(given(j, 0), abs=1e-9)
    (i, j), pair = next(iter(told.pairs.items()))
    assert pair[1, 0] == pytest.approx(given(i, 1, j, 0) - given(i, 1) - given(j, 0), abs=1e-9)


def _bins(model, j):
    views = model.additive.bins.views
    return views.table[views.start[j] : views.start[j] + model.schema.features[j].n_codes]


@pytest.mark.parametrize("name", ["two labels", "three labels", "no trees", "counts", "rules"])
def test_an_estimator_tells_what_matters_as_the_page_does(name):
    learner = clone(LEARNERS[name])
    assert not hasattr(learner, "feature_importances_")
    told = learner.fit(*patients(schema=learner.schema)).feature_importances_
    assert told.shape == (4,) and told.sum() == pytest.approx(1) and (told >= 0).all()
    if name != "no trees":
        assert told.argmax() == 0
    if name in ("two labels", "three labels"):
        listed = learner.model_.importances()
        assert list(listed) == [FEATURES[i].name for i in np.argsort(-told)]
        assert [*listed.values()] == pytest.approx(sorted(effects(learner.model_).importances, reverse=True))


def test_labels_alone_do_not_tell_what_matters():
    learner = clone(LEARNERS["labels"]).fit(*patients())
    assert not hasattr(learner, "feature_importances_")


def test_importances_tell_what_matters_from_noise(models):
    told = effects(models["two labels"])
    assert told.importances.argmax() == 0
    assert told.importances[0] > 3 * told.noise[0]
    assert told.importances[2] < 2 * told.noise[2]
    assert next(iter(told.weights)) == (0, 1)


def test_gains_find_the_feature_that_decides_and_nothing_in_noise(models):
    for name in ("counts", "a child for every category", "rules"):
        gains = models[name].importances()
        assert sum(gains.values()) == pytest.approx(1) and gains["age"] > 0.7
    forest, rng = models["counts"], np.random.default_rng(0)

    def found(leaves):
        nodes = np.concatenate([np.zeros((8, 32, 2)), leaves], axis=1)
        return split_gains(forest.trees, nodes, np.full(64, 2500.0), SCHEMA)

    noise = rng.normal(0, 50, forest.counts.shape).round()
    assert (found(noise) == 0).all()
    telling = 500 * np.array([1, -1]) * (np.arange(32) % 2)[None, :, None]
    assert found(1000 + noise + telling).sum() == pytest.approx(1)


class Page(HTMLParser):
    """Tags that are opened, and whether every one is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.links, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [v for name, v in attrs if name in ("src", "href", "xlink:href") and v[0] != "#"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_page_stands_alone_and_names_everything(model, tmp_path):
    text = explain(model, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == text
    page = Page(text)
    assert page.open == [] and page.links == []
    assert not {"script", "link", "img", "iframe", "outcome", "good", "ward"} & set(page.tags)
    assert "@import" not in text and "url(http" not in text
    assert model.card.promise in page.text and model.schema.label.name in page.text
    assert all(feature.name in page.text for feature in FEATURES)
    assert "nan" not in page.text.lower().replace("finance", "")


def test_the_page_of_a_union_tells_its_forests_apart():
    X, y = patients(1000)
    forests = []
    for j in (0, 2):
        schema = Schema([FEATURES[j]], SCHEMA.label)
        learner = CountForestClassifier(1.0, n_trees=2, max_depth=3, schema=schema)
        forests.append(learner.fit(X[:, [j]], y).model_)
    union = UnionForest(forests, "sum", Schema([FEATURES[0], FEATURES[2]], SCHEMA.label), forests[0].card)
    text = Page(explain(union)).text
    assert "Forest 1 of 2" in text and "It knows dose." in text and text.count("Strongest rules") == 2
    main_figure(union)
    with pytest.raises(QuestionError, match="no trees of its own"):
        plot_tree(union)


def test_the_same_model_gives_the_same_page(models):
    assert explain(models["two labels"]) == explain(models["two labels"])


def test_a_page_says_when_no_promise_holds():
    X, y = patients(500)
    account = Ledger().create("patients", Budget(1))
    protected = protect(X, SCHEMA, account, y, Repeatable(1))
    learner = CountForestClassifier(1.0, n_trees=3, max_depth=3).fit(protected)
    assert "No promise holds" in explain(learner)


def test_any_name_can_be_shown(tmp_path):
    """Dollars begin no formula, tags no element, long names no flood, and no letter is refused."""
    strange = ["$x^{$", "<b>bold</b>", "年齢", "a" * 300, "{" * 3, "back\\slash $1 and $2"]
    features = [Continuous(name, 0, 1) for name in strange[:3]] + [Categorical("$c_", strange, missing=True)]
    schema = Schema(features, Label("$y$", ["$a^$b$", "<i>"]))
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random((3000, 3)).astype(object), rng.choice(np.array(strange, object), 3000)])
    y = np.where(X[:, 0].astype(float) > 0.5, "$a^$b$", "<i>")
    for learner in (
        BoostingClassifier(8.0, 1e-6, schema=schema, random_state=0),
        CountForestClassifier(8.0, n_trees=3, max_depth=3, schema=schema, random_state=0),
    ):
        model = learner.fit(X, y).model_
        page = Page(explain(model))
        assert page.open == []
        assert "$x^{$" in page.text and "<b>bold</b>" in page.text and "年齢" in page.text
        save_picture(main_figure(model), tmp_path / f"{learner.__class__.__name__}.png")


def test_a_page_is_written_where_there_is_one_label_alone():
    schema = Schema([Continuous("x", 0, 1), Categorical("c", ["a", "b"])], Label("y", ["only"]))
    X = pd.DataFrame({"x": np.linspace(0, 1, 50), "c": ["a", "b"] * 25})
    for learner in (BoostingClassifier(schema=schema), CountForestClassifier(n_trees=2, schema=schema)):
        assert "only" in explain(learner.fit(X, ["only"] * 50))


def test_the_main_picture_is_drawn(model, tmp_path):
    main_figure(model).savefig(tmp_path / "main.png")
    assert (tmp_path / "main.png").stat().st_size > 10_000


def test_shapes_are_drawn_in_the_unit_of_their_feature(models):
    from matplotlib.figure import Figure

    told = next(each for each in models["two labels"].sections() if isinstance(each, FeatureShapes))
    shapes = Shapes(told)
    axes = Figure().add_subplot()
    shapes.draw(axes, 0)
    assert axes.get_xlim()[0] == 0 and axes.get_xlim()[1] >= 10
    assert "missing" in {text.get_text() for text in axes.texts}
    assert {"50%"} <= {text.get_text() for text in axes.get_yticklabels()}
    axes = Figure().add_subplot()
    shapes.draw(axes, 3)
    assert [t.get_text() for t in axes.get_yticklabels()] == ["one", "two", "three", "missing"]


def test_the_command_writes_a_page_and_a_picture(models, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    models["two labels"].save("model.privet")
    assert main(["explain", "model.privet", "--plot", "main.png", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": "model.privet.html", "picture": "main.png"}
    assert Path("model.privet.html").read_text().startswith("<!DOCTYPE html>")
    assert Path("main.png").read_bytes().startswith(b"\x89PNG")
    assert main(["explain", "model.privet"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["explain", "model.privet.html", "--out", "b.html"]) == 5
    assert not Path("b.html").exists()


def test_a_page_that_cannot_be_written_is_said_so(models, tmp_path):
    with pytest.raises(PrivetError, match="cannot write"):
        explain(models["labels"], tmp_path / "no" / "page.html")


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_page_is_written(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models["two labels"].save("model.privet")
    assert main(["explain", "model.privet", "--plot", "main.docx"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["model.privet"]


def test_a_page_follows_the_reader_s_theme_and_tells_numbers_where_one_points():
    schema = Schema(
        [Integer("age", 0, 120), Date("seen", "2015-01-01", "2024-12-31"),
         Categorical("work", ["1021", "7"], labels={"1021": "Sales manager"})],
        Label("ill", ["no", "yes"]),
    )  # fmt: skip
    random = np.random.default_rng(0)
    age, seen = random.integers(0, 121, 3000), random.integers(0, 3600, 3000)
    frame = {
        "age": age,
        "seen": np.datetime64("2015-01-01", "s") + seen.astype("timedelta64[D]"),
        "work": random.choice(["1021", "7"], 3000),
    }
    ill = np.where(age + random.normal(0, 10, 3000) > 60, "yes", "no")
    text = explain(BoostingClassifier(4.0, schema=schema, random_state=0).fit(pd.DataFrame(frame), ill))
    assert "prefers-color-scheme: dark" in text and "var(--ink, #1f2933)" in text and "<script" not in text
    spots = re.findall(r'<rect class="spot" x="([-0-9.]+)" .*?><title>(.*?)</title>', text)
    assert all(0 <= float(x) < 280 for x, _ in spots)
    told = [words for _, words in spots]
    assert any(re.match(r"age ≥ \d+: yes 9\d\.\d%, \d+\.\d% to \d+\.\d%; \d", words) for words in told)
    assert any(words.startswith("work = Sales manager: yes ") for words in told)
    assert any(re.match(r"20\d\d-\d\d-\d\d ≤ seen &lt; 20", words) for words in told)
    shares = re.findall(r"; (\d+\.\d)% of the rows", " ".join(w for w in told if "work" in w))
    assert sum(map(float, shares)) == pytest.approx(100, abs=0.3)
    assert len(re.findall(r">20[12]\d<", text)) >= 3 and not re.search(r">1[67],?\d\d\d<", text)


def test_rules_where_nobody_can_be_are_not_told_as_strong():
    schema = Schema([Integer("age", 0, 120), Categorical("sex", ["f", "m"])], Label("ill", ["no", "yes"]))
    random = np.random.default_rng(0)
    age = random.integers(0, 121, 4000)
    frame = pd.DataFrame({"age": age, "sex": random.choice(["f", "m"], 4000)})
    ill = np.where((age > 60) ^ (frame["sex"] == "f"), "yes", "no")
    model = GreedyTreeClassifier(epsilon=50.0, max_depth=3, schema=schema).fit(frame, ill)
    assert any("sex is missing" in rule.conditions for rule in model.rules())
    text = explain(model)
    chips = re.findall(r'class="chip">(.*?)</span>', text)
    assert "sex = f" in chips and "sex is missing" not in chips


def test_a_wide_tree_says_that_it_scrolls():
    wide = figure('<svg width="900.5pt" height="3pt">', wide=True)
    assert "@media all" in wide and 'tabindex="0"' in wide and "scroll it sideways" in wide
    assert "@media (max-width: 200px)" in figure('<svg width="100.5pt" height="3pt">', wide=True)


@pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="needs Chromium")
def test_nothing_is_cut_off_on_a_small_screen_but_trees_that_say_so(models, tmp_path):
    with started() as browser:
        page = browser.new_page(viewport={"width": 360, "height": 800})
        for kind, model in models.items():
            explain(model, tmp_path / f"{len(kind)}.html")
            page.goto((tmp_path / f"{len(kind)}.html").as_uri())
            cut = "[...document.querySelectorAll('%s')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
            assert page.evaluate(cut % "html, .card") == 0, kind
            hints = "[...document.querySelectorAll('.hint')].filter(e => e.offsetParent).length"
            assert page.evaluate(hints) == page.evaluate(cut % ".scroll")


@pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="needs Chromium")
def test_long_names_keep_their_numbers_on_a_small_screen_and_text_is_read_in_the_dark(models, tmp_path):
    name = "occupation_of_the_person_as_it_was_written_down"
    schema = Schema([Continuous(name, 0, 1), Continuous("x", 0, 1)], Label("y", ["a", "b"]))
    X = np.random.default_rng(0).random((2000, 2))
    long = BoostingClassifier(4.0, schema=schema).fit(X, np.where(X.sum(axis=1) > 1, "a", "b")).model_
    every = "[...document.querySelectorAll('%s')].filter(e => %s).length"
    cut = every % ("html, .card, figcaption", "e.scrollWidth > e.clientWidth + 1")
    black = every % ("svg text", "getComputedStyle(e).fill == 'rgb(0, 0, 0)'")
    with started() as browser:
        page = browser.new_page(viewport={"width": 360, "height": 800}, color_scheme="dark")
        for model in (long, models["three labels"]):
            explain(model, tmp_path / "page.html")
            page.goto((tmp_path / "page.html").as_uri())
            assert page.evaluate(cut) == 0
            assert page.evaluate(black) == 0


def test_ticks_that_stand_side_by_side_have_room():
    places, names = [0.0, 0.5, 1.0, 1.4, 3.0], list("abcde")
    assert _with_room(places, names, 1.0) == ([0.0, 1.0, 3.0], ["a", "c", "e"])
    assert _with_room(places, names, 0.0) == (places, names)
