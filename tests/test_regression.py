"""Numbers to predict: the questions over all neighbours, a fit from end to end, what it promises."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Budget,
    Categorical,
    Continuous,
    Label,
    Ledger,
    QuestionError,
    Schema,
    SchemaError,
    Target,
    explain,
    export_onnx,
    export_sql,
    export_text,
    load_model,
    protect,
)
from privet.cli.main import main
from privet.engines import Batch
from privet.kernels import gradients as kernel
from privet.learners.boosting.numbers import TAIL_FACTORS, Numbers, likely_sizes, tail_factor
from privet.learners.boosting.plan import dealt, make_plan
from privet.learners.purse import Purse
from privet.privacy import Cost, Repeatable, in_sequence
from privet.privacy.question import Terms
from privet.privacy.questions.numbers import (
    BinResiduals,
    BinTargetRows,
    LeafResiduals,
    ResidualRows,
    TargetRows,
    numbers_by,
)
from tests.test_boosting_questions import leaf_of_row, plain_scores, random_additive

TINY = Schema([Categorical("a", ["x"]), Categorical("b", ["x"])], Target("y", -1, 3, integer=True))
SCHEMA = Schema(
    [Continuous("x", 0, 1), Continuous("z", 0, 1), Categorical("town", ["n", "s"])],
    Target("price", 0, 100),
    max_rows=20_000,
)


def terms(cost: Cost, schema: Schema = TINY) -> Terms:
    return Terms(schema, cost, None, None)


def questions(rng, scale, width):
    additive = random_additive(rng, 2, 2, n_trees=3, scale=scale)
    return [
        TargetRows(additive, width),
        BinTargetRows(additive, width),
        BinResiduals(additive, (0, 1), width),
        LeafResiduals(additive, 3, width),
        ResidualRows(additive, (0.5, 1.0, 2.0)),
    ]


def all_tables(n_rows: int):
    """Every table of a few rows, as sets of rows: order cannot matter to sums."""
    rows = list(itertools.product(range(3), range(3), range(TINY.target.n_cells)))
    for table in itertools.combinations_with_replacement(rows, n_rows):
        array = np.array(table).T
        yield array[:-1].astype(np.uint8), array[-1].astype(np.uint16)


def batch(codes, labels) -> Batch:
    return Batch(np.ascontiguousarray(codes), np.ascontiguousarray(labels), np.arange(len(labels)))


@pytest.mark.parametrize("width", [0.3, 2.0])
@pytest.mark.parametrize("cost", [Cost.pure("0.5"), Cost.zcdp("0.1"), Cost.zcdp("1e-6")], ids=str)
def test_a_row_changes_every_question_by_no_more_than_it_says(cost, width):
    """Over all tables of two rows and all of one: what is charged for is the most, and it is reached."""
    for question in questions(np.random.default_rng(0), 1.0, width):
        change, paid = question.charge(TINY, cost).change, terms(cost)
        l1, l2_squared = [], []
        alone = {}
        for codes, labels in all_tables(1):
            alone[tuple(codes[:, 0]), labels[0]] = question.tally(batch(codes, labels), paid)
        for codes, labels in itertools.islice(all_tables(2), 0, None, 7):
            both = question.tally(batch(codes, labels), paid)
            for i in (0, 1):
                moved = both - alone[tuple(codes[:, i]), labels[i]]
                l1.append(int(np.abs(moved).sum()))
                l2_squared.append(int((moved.astype(object) ** 2).sum()))
        assert max(l1) <= change.l1 and max(l2_squared) <= change.l2_squared
        if cost.epsilon is not None:
            assert max(l1) == change.l1
        elif width == 0.3:
            assert max(l2_squared) == change.l2_squared


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e308, -1e308])
def test_the_bound_holds_for_any_score(odd):
    rng = np.random.default_rng(1)
    codes, labels = np.zeros((2, 1), np.uint8), np.array([4], np.uint16)
    for question in questions(rng, 1.0, 1e-3)[:4]:
        question = replace(
            question, additive=replace(question.additive, shapes=np.full_like(question.additive.shapes, odd))
        )
        for cost in (Cost.pure(1), Cost.zcdp("0.01")):
            moved = question.tally(batch(codes, labels), terms(cost)).astype(object)
            change = question.charge(TINY, cost).change
            assert np.abs(moved).sum() <= change.l1 and (moved**2).sum() <= change.l2_squared


def test_residuals_equal_their_plain_twins():
    rng = np.random.default_rng(2)
    additive = random_additive(rng, 3, 2, n_trees=4)
    schema = Schema([Categorical(n, ["x"]) for n in "abc"], Target("y", -2, 2))
    codes = rng.integers(3, size=(3, 400)).astype(np.uint8)
    labels = rng.integers(schema.target.n_cells, size=400).astype(np.uint16)
    cost, width = Cost.pure("0.5"), 1.5
    residuals = np.array(
        [
            schema.target.value(int(y)) - plain_scores(additive, c)[0]
            for c, y in zip(codes.T, labels, strict=True)
        ]
    )
    clipped = np.clip(residuals / width, -1, 1)
    paid = terms(cost, schema)
    unit = 0.5 ** BinResiduals(additive, (0,), width).grid(paid).fraction_bits
    found = BinResiduals(additive, (0, 2), width).tally(batch(codes, labels), paid)[:3, 0] * unit
    expected = np.bincount(codes[0], clipped, 3)
    np.testing.assert_allclose(found, expected, atol=400 * unit)
    found = LeafResiduals(additive, 2, width).tally(batch(codes, labels), paid)[1, :, 0] * unit
    leaf = [leaf_of_row(additive, c, 3) for c in codes.T]
    np.testing.assert_allclose(found, np.bincount(leaf, clipped, 4), atol=400 * unit)
    question = BinTargetRows(additive, width)
    below, above = question.tally(batch(codes, labels), paid)[:3].T * question.change(cost, 3).unit
    np.testing.assert_allclose(below + above, np.bincount(codes[0], minlength=3))
    np.testing.assert_allclose(above - below, expected, atol=800 * unit)
    sizes = ResidualRows(additive, (0.5, 1.0)).tally(batch(codes, labels), paid)
    np.testing.assert_array_equal(sizes, np.histogram(np.abs(residuals), [0, 0.5, 1, np.inf])[0])


def test_questions_of_numbers_refuse_what_they_cannot_answer():
    account = Ledger().create("people", Budget(1))
    rows = protect(pd.DataFrame({"a": ["x"], "b": [None], "y": [2]}), TINY, account)
    additive = random_additive(np.random.default_rng(0), 2, 2)
    for width in (0, -1.0, float("nan"), float("inf"), 1e-320, "1"):
        with pytest.raises(QuestionError, match="width"):
            rows.noisy_target_rows(additive, width, epsilon=0.1)
    for edges in ((), (2.0, 1.0), (1.0, float("inf")), ("1",), tuple(range(2000))):
        with pytest.raises(QuestionError, match="edge"):
            rows.noisy_residual_rows(additive, edges, epsilon=0.1)
    with pytest.raises(SchemaError, match="is a number"):
        rows.noisy_bin_gradients(additive, [0], epsilon=0.1)
    assert not rows.asked
    labelled = replace(TINY, label=Label("y", [0, 1, 2]))
    rows = protect(pd.DataFrame({"a": ["x"], "b": [None], "y": [2]}), labelled, account)
    with pytest.raises(SchemaError, match="is a label"):
        rows.noisy_target_rows(additive, 1.0, epsilon=0.1)


def people(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.random(n), "z": rng.random(n), "town": rng.choice(["n", "s"], n)})
    frame["price"] = 20 + 40 * frame.x + 25 * frame.z * (frame.town == "s") + rng.normal(0, 4, n)
    return frame


@pytest.fixture(scope="module")
def fitted():
    rows = people(15_000)
    found = {}
    for delta in (0, 1e-6):
        model = BoostingRegressor(epsilon=1, delta=delta, schema=SCHEMA, random_state=0)
        found[delta] = model.fit(rows.drop(columns="price"), rows.price)
    return found


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_learns_and_keeps_its_promise(fitted, delta):
    model, fresh = fitted[delta], people(4000, seed=1)
    assert model.score(fresh.drop(columns="price"), fresh.price) > 0.85
    assert model.model_.score(fresh) == pytest.approx(
        model.score(fresh.drop(columns="price"), fresh.price), abs=1e-4
    )
    card = model.privacy_card_
    assert card.private and card.promise.startswith("1" if not delta else "(1")
    assert {q["question"] for q in card.questions} >= {
        "rows by the number to predict",
        "sums of residuals by bin",
    }


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_what_is_charged_is_what_was_planned(delta):
    account = Ledger().create("people", Budget(1, delta))
    rows = people(3000)
    model = BoostingRegressor(epsilon=1, delta=delta, schema=SCHEMA, account=account)
    model.fit(rows.drop(columns="price"), rows.price)
    spent = account.spent()
    assert spent.epsilon <= 1 if not delta else spent.rho <= Budget(1, delta).rho
    planned = model.plan(SCHEMA, 3000).to_dict()["questions"]
    assert planned[0]["question"] == model.privacy_card_.questions[0]["question"]


def test_intervals_hold_what_they_say(fitted):
    fresh = people(4000, seed=2)
    X, y = fresh.drop(columns="price"), fresh.price.to_numpy()
    for model, coverage in itertools.product(fitted.values(), (0.5, 0.9)):
        low, high = model.predict_interval(X, coverage).T
        assert abs(((low <= y) & (y <= high)).mean() - coverage) < 0.08
    with pytest.raises(QuestionError, match="coverage"):
        fitted[0].predict_interval(X, 1.0)
    few = BoostingRegressor(epsilon=0.01, schema=SCHEMA).fit(X[:50], y[:50])
    with pytest.raises(QuestionError, match="no sizes"):
        few.predict_interval(X)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_intervals_go_wherever_predictions_go(delta, fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows, released = people(300, seed=4), fitted[delta].model_
    ends = released.predict_interval(rows, 0.8)
    told = duckdb.sql(export_sql(released, "rows", coverage=0.8)).df()
    np.testing.assert_allclose(told[["lower", "upper"]], ends)
    export_onnx(released, "m.onnx", coverage=0.8)
    given = {name: rows[[name]].to_numpy(object if name == "town" else float) for name in ("x", "z", "town")}
    middle, *both = onnxruntime.InferenceSession("m.onnx").run(None, given)
    np.testing.assert_allclose(np.stack(both, axis=1), ends)
    np.testing.assert_allclose(middle, released.predict(rows))
    rows.to_csv("rows.csv", index=False)
    released.save("m")
    assert main(["predict", "m", "rows.csv", "--coverage", "0.8", "--out", "p.csv"]) == 0
    np.testing.assert_allclose(pd.read_csv("p.csv")[["lower", "upper"]], ends)
    capsys.readouterr()
    assert main(["predict", "m", "rows.csv", "--coverage", "0.8", "--id", "town", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert list(first) == ["town", "prediction", "lower", "upper"]
    assert first["lower"] == pytest.approx(ends[0, 0])
    assert main(["export", "m", "--to", "duckdb", "--coverage", "0.8"]) == 0
    assert "lower" in Path("m.sql").read_text() and '"lower"' not in export_sql(released, "rows")
    assert main(["predict", "m", "rows.csv", "--coverage", "2"]) == 2
    with pytest.raises(QuestionError, match="coverage"):
        export_sql(released, "rows", coverage=0)


def test_predictions_stay_in_the_public_range():
    """However little there is to learn from: no answer diverges."""
    rows = people(200)
    for epsilon in (1e-3, 0.1, 100.0):
        model = BoostingRegressor(epsilon=epsilon, schema=SCHEMA, random_state=0)
        found = model.fit(rows.drop(columns="price"), rows.price).predict(rows.drop(columns="price"))
        assert found.shape == (200,) and (found >= 0).all() and (found <= 100).all()


def test_a_released_model_tells_and_keeps_what_it_learnt(fitted, tmp_path):
    model, fresh = fitted[1e-6], people(50, seed=3)
    X = fresh.drop(columns="price")
    model.model_.save(tmp_path / "m.privet")
    again = load_model(tmp_path / "m.privet")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    assert BoostingRegressor.from_model(again).predict(X).shape == (50,)
    with pytest.raises((QuestionError, SchemaError)):
        BoostingClassifier.from_model(again)
    told = again.explain(X)
    np.testing.assert_allclose(np.clip(told.totals[:, 0], 0, 100), model.predict(X))
    assert told.scores == ["price"] and again.shapes_frame().num_rows == again.additive.bins.n_bins
    assert next(iter(again.importances())) == "x" and "importance by feature" in again.describe()
    assert "price" in explain(again) and "x" in export_text(model)


def test_the_command_line_chooses_by_the_schema(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = people(3000)
    rows.to_csv("people.csv", index=False)
    SCHEMA.save("schema.json")

    def call(*arguments) -> int:
        return main([str(argument) for argument in arguments])

    assert call("budget", "create", "people.csv", "--epsilon", 3) == 0
    fit = ["fit", "people.csv", "--schema", "schema.json", "--epsilon", 1]
    assert call(*fit, "--out", "m") == 0
    assert call("plan", "schema.json", "--epsilon", 1) == 0
    assert call("predict", "m", "people.csv", "--out", "p.csv") == 0
    assert pd.read_csv("p.csv").prediction.corr(rows.price) > 0.7
    assert call("describe", "m") == 0 and "price from 0 to 100" in capsys.readouterr().out
    assert call("explain", "m", "--out", "m.html") == 0 and Path("m.html").exists()
    assert call(*fit, "--out", "f", "--learner", "majority-forest") == 2
    assert "predicts no numbers" in capsys.readouterr().err


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize(("epsilon", "most"), [("0.1", 0.06), ("1", 0.15)])
def test_numbers_that_lie_close_together_in_a_wide_range_lose_next_to_nothing(epsilon, delta, most):
    """Little budget says about the mean, however far that is from the middle: no noise is learnt."""
    rng = np.random.default_rng(5)
    X, y = rng.random((1500, 4)), 80 + 4 * rng.normal(size=1500)
    schema = Schema([Continuous(name, 0, 1) for name in "abcd"], Target("y", 0, 100))
    losses = []
    for seed in range(5):
        account = Ledger().create("people", Budget(epsilon, delta))
        rows = protect(X, schema, account, y, mechanisms=Repeatable(seed))
        told = BoostingRegressor(epsilon, delta, random_state=seed).fit(rows).model_.predict(X)
        losses.append(((told - y) ** 2).mean() / y.var() - 1)
    assert np.mean(losses) < most, losses


def test_sizes_of_residuals_are_found_under_much_noise():
    """The guess is four times too large, and the noise of a cell is a tenth of all rows."""
    rng, edges = np.random.default_rng(6), 100 * 2.0 ** (-np.arange(24, -1, -1) / 2)
    exact = np.histogram(np.abs(rng.normal(0, 3, 2000)), [0, *edges, np.inf])[0]
    for seed in range(5):
        noisy = exact + np.random.default_rng(seed).laplace(scale=140, size=exact.shape)
        rows = likely_sizes(noisy, 200, 2000, edges, 4 * 3.45, 0.5)
        assert rows.sum() == pytest.approx(2000)
        assert 0.4 < np.interp(0.75, rows.cumsum()[:-1] / 2000, edges) / 3.45 < 2.5


def test_outliers_that_carry_most_squares_widen_the_clip():
    edges = 2.0 ** np.arange(10)
    rows = np.array([0, 0, 500, 400, 100, 0, 0, 0, 0, 0.0])
    assert tail_factor(rows, edges, 7.0) == 1
    rows[8] = 30
    assert tail_factor(rows, edges, 7.0) == TAIL_FACTORS[-1]


@pytest.mark.parametrize("max_rows", [None, 500, 20_000])
@pytest.mark.parametrize("epsilon", ["0.001", "0.05", "0.2", "0.7", "3", "50"])
def test_no_answer_makes_a_plan_cost_more_than_there_is(epsilon, max_rows):
    """Noisy numbers of rows may be far off: whatever they say, a fit ends within its budget."""
    rows, schema = people(400), replace(SCHEMA, max_rows=max_rows)
    for delta, seed in itertools.product((0, "1e-6"), range(6)):
        account = Ledger().create("people", Budget(epsilon, delta))
        protected = protect(rows, schema, account, mechanisms=Repeatable(seed))
        BoostingRegressor(epsilon, delta, random_state=0).fit(protected)
        BoostingRegressor(epsilon, delta).plan(schema, max_rows or 10 ** (seed + 1))


@pytest.mark.parametrize("budget", [Budget(4), Budget(1, "1e-6", accounting="gdp")])
def test_blocks_of_shapes_cost_and_tell_what_all_at_once_would(budget):
    """In turn or at once: the same noise on every bin, and no more than was reserved."""
    purse, loss = Purse.of(budget), Numbers.of(SCHEMA)
    for n_features, n_asked, n_blocks in itertools.product((1, 3, 11), (1, 3, 10), (1, 2, 4, 30)):
        plan = make_plan(10_000, n_features, loss, purse, Fraction(1, 50), width=Fraction(1, 100))
        plan = replace(plan, blocks=n_blocks)
        blocks = dealt(range(min(n_asked, n_features)), n_blocks)
        assert sorted(itertools.chain(*blocks)) == list(range(min(n_asked, n_features)))
        asked = plan.shape_charges(purse, [len(block) for block in blocks], loss)
        assert len(asked) == plan.shape_passes * len(blocks) and len(blocks) <= n_blocks
        at_once = loss.shape_kind.plan(purse.cost(plan.shape_pass_share), min(n_asked, n_features), 0)
        for charge in asked:
            assert charge.noise_sd == pytest.approx(at_once.noise_sd, rel=1e-3)
        reserve = purse.cost(plan.shape_share)
        assert not in_sequence(charge.cost for charge in asked).exceeds(reserve)


def test_what_is_asked_of_a_model_is_what_was_asked_before(monkeypatch):
    """Scores of rows are kept from question to question, of numbers as of labels."""
    calls, run = [], kernel.run
    monkeypatch.setattr(
        kernel, "run", lambda loop, *rest, **k: (calls.append(loop), run(loop, *rest, **k))[1]
    )
    rows = people(20_000)
    model = BoostingRegressor(4, 1e-6, schema=SCHEMA, random_state=0).fit(rows)
    asked = [question["question"] for question in model.privacy_card_.questions]
    assert asked.count("rows by leaf of oblivious trees") >= 3
    passes = sum("residuals by bin" in question for question in asked)
    # A model that says one number, twice at most, and every model whose shapes have changed.
    assert calls.count(kernel._add_shapes) <= passes + 6


def test_residuals_are_the_same_whether_scores_are_kept_or_not():
    rng = np.random.default_rng(3)
    additive = random_additive(rng, 2, 2, n_trees=9)
    codes = rng.integers(3, size=(2, 500)).astype(np.uint8)
    labels = rng.integers(TINY.target.n_cells, size=500).astype(np.uint16)
    numbers, kept = numbers_by(TINY, 1.0), {}
    for n_trees in (0, 4, 9):
        part = replace(
            additive,
            features=additive.features[:n_trees],
            turns=additive.turns[:, :n_trees],
            leaves=additive.leaves[:n_trees],
        )
        alone, again = (kernel.residuals(part, codes, labels, numbers, place) for place in (None, kept))
        np.testing.assert_array_equal(alone, again)
        plain = [
            TINY.target.value(int(y)) - plain_scores(part, c)[0] for c, y in zip(codes.T, labels, strict=True)
        ]
        np.testing.assert_allclose(alone, plain, atol=1e-9)


def test_most_of_a_budget_is_not_spent_on_a_mean_while_more_may_be_told():
    """Where the first answer leaves open whether rows are enough, a second one tells."""
    rng, found = np.random.default_rng(0), []
    schema = Schema([Continuous(f"x{j}", 0, 1) for j in range(6)], Target("y", 0, 2))
    for seed in range(9):
        X = rng.random((2800, 6))
        y = X[:, 0] + X[:, 1] ** 2
        found.append(BoostingRegressor(0.1, 1e-6, schema=schema, random_state=seed).fit(X, y).score(X, y))
    assert sorted(found)[-3] > 0.15, found


@pytest.mark.parametrize(("lower", "upper"), [(0, 1e31), (-1e300, 1), (0, 1e-31)])
def test_bounds_that_errors_could_not_be_told_by_are_refused(lower, upper):
    with pytest.raises(SchemaError, match="target 'y'"):
        Target("y", lower, upper)
    assert Continuous("x", 0, 1e300).upper == 1e300  # of a feature nothing is squared


def test_a_number_that_is_always_the_same_has_a_score():
    rows = people(3000).assign(price=50.0)
    model = BoostingRegressor(1, schema=SCHEMA).fit(rows)
    assert model.model_.score(rows) == 0.0


def test_one_bound_of_a_target_is_refused_by_its_name():
    with pytest.raises(SchemaError, match="target 'y' has one bound"):
        Target("y", 0)
