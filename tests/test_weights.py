"""Weights of labels, thresholds and shapes set by hand: what they do, where they are kept, what they cost."""

from __future__ import annotations

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from privet import (
    BoostingClassifier,
    Budget,
    Continuous,
    CountForestClassifier,
    GreedyTreeClassifier,
    Label,
    Ledger,
    MajorityForestClassifier,
    ModelFileError,
    PrivateSelection,
    QuestionError,
    Schema,
    export_onnx,
    export_sql,
    load_model,
    private_score,
    private_threshold,
    protect,
)
from privet.cli import app
from privet.kernels.predict import row_shares, to_choose
from privet.learners.threshold import best_threshold
from privet.model.file import read_model, write_model
from privet.privacy.questions.scores import SCORE_EDGES
from privet.soundness import check_predictor
from privet.structure import Weighed

FEATURES = [Continuous("x", 0, 1), Continuous("z", 0, 1)]
RARE = Schema(FEATURES, Label("ill", ["no", "yes"]))
THREE = Schema(FEATURES, Label("kind", [0, 1, 2]))


def people(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """One in nine is ill, and no share of the ill is above a half."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": random.random(n), "z": random.random(n)})
    return frame, np.where(random.random(n) < 0.44 * frame.x * frame.z, "yes", "no")


def kinds(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    frame, ill = people(n, seed)
    return frame, (ill == "yes").astype(int) + (frame.z > 0.9).to_numpy().astype(int)


@pytest.fixture(scope="module")
def model():
    return BoostingClassifier(epsilon=3.0, schema=RARE, random_state=0).fit(*people(12_000, 0))


@pytest.mark.parametrize("learner", [BoostingClassifier, CountForestClassifier, GreedyTreeClassifier])
def test_odds_are_multiplied_by_weights(learner):
    fitted = learner(epsilon=3.0, schema=RARE, class_weight={"yes": 5}).fit(*people(6000, 0))
    test = people(500, 1)[0]
    shares, odds = fitted.predict_proba(test), fitted.model_.weights.odds
    plain = row_shares(fitted.model_.predictor, codes_of(test), 2)
    assert odds == (1.0, 5.0)
    wanted = plain * [1, 5] / (plain * [1, 5]).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, wanted)
    assert "changed    odds of labels: no × 1, yes × 5" in str(fitted.privacy_card_)
    assert (fitted.predict(test) == fitted.model_.predict(test)).all()


def codes_of(frame: pd.DataFrame) -> np.ndarray:
    cells = [np.minimum(frame[f.name] / f.width, f.n_cells - 1) for f in FEATURES]
    return np.stack(cells).astype(np.uint16)


def test_balanced_weights_come_from_released_shares_and_cost_nothing():
    rows, account = people(12_000, 0), Ledger().create("clinic", Budget(5))
    fitted = BoostingClassifier(epsilon=5.0, schema=RARE, class_weight="balanced", account=account).fit(*rows)
    assert account.spent().epsilon == 5
    ill = (rows[1] == "yes").mean()
    np.testing.assert_allclose(fitted.model_.weights.odds, [0.5 / (1 - ill), 0.5 / ill], rtol=0.1)
    recall = [(fitted.predict(rows[0]) == rows[1])[rows[1] == label].mean() for label in ("no", "yes")]
    assert min(recall) > 0.6
    forest = CountForestClassifier(epsilon=5.0, schema=THREE, class_weight="balanced").fit(*kinds(9000, 0))
    assert np.argmax(forest.model_.weights.odds) == 2


def test_labels_of_weights_may_be_written_in_the_type_of_y():
    schema = Schema(FEATURES, Label("ill", ["0", "1"]))
    frame, ill = people(500, 0)
    weights = {1: 4, 0: 2}
    fitted = BoostingClassifier(epsilon=1.0, schema=schema, class_weight=weights).fit(
        frame, (ill == "yes") * 1
    )
    assert fitted.model_.weights.odds == (2.0, 4.0)


def test_weights_that_cannot_be_had_are_refused_for_nothing(account):
    rows = people(100, 0)
    for weight in ("fair", {"maybe": 1}, {"yes": 0}, {"yes": -1}, {"yes": np.nan}, {"yes": "2"}, [1, 2], 3):
        learner = BoostingClassifier(epsilon=0.5, schema=RARE, account=account, class_weight=weight)
        with pytest.raises(QuestionError):
            learner.fit(*rows)
    assert account.spent().epsilon == 0
    with pytest.raises(TypeError):
        MajorityForestClassifier(class_weight="balanced")
    with pytest.raises(QuestionError, match="no shares"):
        MajorityForestClassifier(epsilon=1.0, schema=RARE).fit(*rows).model_.weighed("balanced")


def test_a_threshold_is_that_of_a_plain_twin():
    """Of exact counts, one cell a bin: no other edge has a larger F1."""
    random = np.random.default_rng(0)
    bins = np.arange(256)
    rows = np.stack([random.poisson(np.linspace(90, 1, 256)), random.poisson(np.linspace(1, 30, 256))], 1)
    found = best_threshold(rows.astype(float), bins, "f1")
    shares = np.repeat(
        np.tile(np.append(SCORE_EDGES - 1e-9, 0.9999), 2), np.concatenate([rows[:, 0], rows[:, 1]])
    )
    labels = np.repeat([0, 1], rows.sum(axis=0))
    scores = [f1_score(labels, shares > edge) for edge in SCORE_EDGES]
    assert f1_score(labels, shares > found) == max(scores)


def test_a_private_threshold_names_more_of_the_ill(model):
    test, truth = people(20_000, 3)
    account = Ledger().create("held out", Budget(1))
    bold = private_threshold(model, *people(20_000, 2), epsilon=1, account=account)
    assert account.spent().epsilon == 1
    before, after = (f1_score(truth == "yes", m.predict(test) == "yes") for m in (model, bold))
    assert after > before + 0.2
    shares = model.predict_proba(test)[:, 1]
    best = max(f1_score(truth == "yes", shares > t) for t in np.linspace(0.05, 0.5, 46))
    assert after > best - 0.03
    np.testing.assert_array_equal(bold.predict_proba(test), model.model_.predict_proba(test))
    assert "by f1, ε=1.0 charged to held out" in str(bold.card) or "ε=1 charged" in str(bold.card)
    rows = protect(test.assign(ill=truth), RARE, Ledger().create("more", Budget(9)))
    assert abs(private_score(bold, rows, metric="f1", epsilon=5).value - after) < 0.02
    assert abs(private_score(bold, rows, metric="accuracy", epsilon=4).value - bold.score(test, truth)) < 0.01
    again = BoostingClassifier.from_model(bold)
    assert (again.predict(test) == bold.predict(test)).all()


def test_what_is_weighed_is_saved_and_taken_elsewhere(model, tmp_path):
    test = people(300, 4)[0]
    told = model.model_.weighed({"yes": 2.5}).with_threshold(0.35)
    told.save(tmp_path / "m.privet")
    loaded = load_model(tmp_path / "m.privet")
    assert loaded.weights == told.weights and loaded.card == told.card
    np.testing.assert_array_equal(loaded.predict(test), told.predict(test))
    assert len(set(told.predict(test))) == 2
    export_onnx(told, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    fed = {name: test[[name]].to_numpy() for name in ("x", "z")}
    label, shares = session.run(["label", "shares"], fed)
    np.testing.assert_allclose(shares, told.shares(test), atol=1e-12)
    assert (label == told.predict(test)).all()
    people_table = test  # noqa: F841 – read by the query
    found = duckdb.sql(export_sql(told, "people_table")).df()
    np.testing.assert_allclose(found["share_yes"], told.shares(test)[:, 1], atol=1e-12)
    assert (found["prediction"].to_numpy() == told.predict(test)).all()


def test_forged_weights_are_refused(model, tmp_path):
    header, arrays = model.model_.weighed({"yes": 2}).to_file()
    for odds in ([1], [1, 0], [1, -2], [1, "2"], [1, None], [1, float("inf")], "ab", 3):
        forged = {**header, "weights": {"odds": odds, "choice": []}}
        write_model(tmp_path / "forged", forged, arrays)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "forged")
    read_model(tmp_path / "forged")
    sound = model.model_.predictor
    for odds in (np.ones(3), np.ones(2, np.float32), np.ones((2, 1))):
        with pytest.raises(QuestionError):
            check_predictor(Weighed(sound, odds, np.ones(2)), RARE)
    with pytest.raises(QuestionError):
        check_predictor(Weighed(Weighed(sound, np.ones(2), np.ones(2)), np.ones(2), np.ones(2)), RARE)


def test_whatever_weights_are_a_row_stays_in_its_bounds(model):
    codes = codes_of(people(50, 5)[0])
    for odd in (np.nan, np.inf, -1.0, 0.0, 1e308):
        weighed = Weighed(model.model_.predictor, np.array([1, odd]), np.array([odd, 1.0]))
        rows = protect(people(50, 5)[0].assign(ill="no"), RARE, Ledger().create("t", Budget(99)))
        assert row_shares(weighed, codes, 2).shape == (50, 2) == to_choose(weighed, np.ones((50, 2))).shape
        assert abs(rows.noisy_predicted_rows(weighed, epsilon=50).values.sum() - 50) <= 4
        assert abs(rows.noisy_losses(weighed, "errors", epsilon=40).values[:2].sum() - 50) <= 4


def test_a_shape_is_set_by_hand(model):
    frame = model.model_.shapes_frame().to_pandas()
    values = frame.loc[frame.feature == "z", "released"].to_numpy()
    flat = model.model_.with_shape("z", np.zeros(len(values)))
    assert (flat.shapes_frame().to_pandas().query("feature == 'z'")["released"] == 0).all()
    assert flat.card.changes == [{"what": "shape of z set by hand"}]
    assert model.model_.card.changes == []
    for feature, wrong in (("y", values), ("z", values[:-1]), ("z", values * np.nan), ("z", "flat")):
        with pytest.raises(QuestionError):
            model.model_.with_shape(feature, wrong)


def test_thresholds_that_cannot_be_had_are_refused_for_nothing(model, account):
    rows = people(100, 0)
    three = BoostingClassifier(epsilon=1.0, schema=THREE).fit(*kinds(300, 0))
    for call in (
        lambda: private_threshold(model, *rows, metric="auc", epsilon=0.5, account=account),
        lambda: private_threshold(model, *rows, epsilon=0, account=account),
        lambda: private_threshold(three, *kinds(100, 0), epsilon=0.5, account=account),
        lambda: model.model_.with_threshold(1),
        lambda: three.model_.with_threshold(0.5),
    ):
        with pytest.raises(QuestionError):
            call()
    assert account.spent().epsilon == 0


def test_a_selection_keeps_the_weights_of_its_best():
    grid = {"max_depth": [2, 3], "class_weight": [{"yes": 3}]}
    search = PrivateSelection(GreedyTreeClassifier(), grid, epsilon=3.0, schema=RARE, metric="f1")
    search.fit(*people(3000, 0))
    assert search.model_.weights.odds == (1.0, 3.0)
    assert search.privacy_card_.changes


def test_the_command_line_chooses_a_threshold(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame, ill = people(4000, 6)
    frame.assign(ill=ill).to_csv("held.csv", index=False)
    model.model_.save("m.privet")
    run = lambda *a: app.run([str(part) for part in a])  # noqa: E731
    assert run("budget", "create", "held.csv", "--epsilon", 2) == 0
    assert run("threshold", "m.privet", "held.csv", "--epsilon", 1, "--out", "t.privet") == 0
    assert "threshold of yes" in capsys.readouterr().out
    assert load_model("t.privet").weights.choice
    assert run("threshold", "m.privet", "held.csv", "--epsilon", 1, "--out", "u", "--metric", "auc") == 2
    assert run("threshold", "m.privet", "held.csv", "--epsilon", 1, "--out", "t.privet") != 0
    assert Ledger("held.csv.ledger").account("held.csv").spent().epsilon == 1
