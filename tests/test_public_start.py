"""A start: exact sensitivities of its question, models merged, starts that help and starts that do not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from laws import Noiseless
from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Budget,
    Categorical,
    Continuous,
    GreedyTreeClassifier,
    Label,
    Ledger,
    QuestionError,
    Schema,
    SchemaError,
    Target,
    load_model,
    protect,
)
from privet.cli import app
from privet.kernels.score import score
from privet.learners.boosting.loss import Labels
from privet.learners.boosting.merge import Common, Part, merged
from privet.learners.boosting.trust import weighed
from privet.privacy.laws import Change
from privet.privacy.questions.pairs import PairRows
from privet.structure import Additive, Bins

FEATURES = [Continuous("x", 0, 1), Continuous("z", 0, 1), Categorical("town", ["n", "s"])]
TWO = Schema(FEATURES, Label("ill", ["no", "yes"]))
NUMBER = Schema(FEATURES, Target("cost", -2, 8))


def people(n: int, seed: int, twist: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": random.random(n), "z": random.random(n), "town": random.choice(["n", "s"], n)})
    return frame, 4 * frame.x.to_numpy() + (2 + twist) * frame.z * (frame.town == "s") + random.normal(
        0, 0.7, n
    )


def labelled(n: int, seed: int, shuffled: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    frame, values = people(n, seed)
    labels = np.where(values > 2.5, "yes", "no")
    return frame, np.random.default_rng(0).permutation(labels) if shuffled else labels


def small(n_labels: int, random: np.random.Generator, bad: float | None = None) -> Additive:
    n_scores = 1 if n_labels <= 2 else n_labels
    shapes = random.normal(0, 3, (4, n_scores))
    if bad is not None:
        shapes[1:] = bad
    bins = Bins.of([np.arange(4, dtype=np.uint16)], [4])
    nothing = np.zeros((0, 1), np.int32), np.zeros((4, 0), np.uint8), np.zeros((0, 2, n_scores))
    return Additive(bins, np.zeros(n_scores), shapes, *nothing)


def asked_of(kind: str):
    """Questions about two models, odd ones among them, and the schema under which they are asked."""
    label = Target("y", 0, 4) if kind == "number" else Label("y", list(range(int(kind))))
    schema, random = Schema([Categorical("f", ["a", "b"])], label), np.random.default_rng(1)
    n_labels = 0 if kind == "number" else int(kind)
    models = [small(n_labels, random, bad) for bad in (None, None, np.nan, np.inf, -np.inf, 1e308)]
    edges = (-0.5, 0.0, 0.5), (-1.0, 1.0)
    width = (0.3,) if kind == "number" else ()
    name = "noisy_pair_target_rows" if kind == "number" else "noisy_pair_rows"
    asked = [(first, second, *edges, *width) for first in models for second in models]
    return schema, lambda rows: [getattr(rows, name)(*of, epsilon=1) for of in asked]


@pytest.mark.parametrize("kind", ["2", "3", "number"])
def test_no_neighbour_moves_an_answer_further_than_its_noise_covers(kind):
    schema, ask = asked_of(kind)
    values = [0.0, 1.7, 4.0] if kind == "number" else range(int(kind))
    rows = list(itertools.product(["a", "b"], values))
    tables = [t for size in (1, 2) for t in itertools.combinations_with_replacement(rows, size)]

    def answers(table):
        watched = Noiseless()
        frame = pd.DataFrame(table, columns=["f", "y"])
        ask(protect(frame, schema, Ledger().create("t", Budget(99)), mechanisms=watched))
        return [(seen, law.parameter) for seen, law in zip(watched.seen, watched.laws, strict=True)]

    exact = {table: answers(table) for table in tables}
    largest = 0.0
    for table, row in itertools.product(rows, rows):
        pairs = zip(exact[(table,)], exact[tuple(sorted((table, row)))], strict=True)
        largest = max(largest, *(float(np.abs(b - a).sum() / scale) for (a, scale), (b, _) in pairs))
    assert largest == 1


def test_a_sensitivity_that_forgets_the_other_labels_is_too_small(monkeypatch):
    monkeypatch.setattr(PairRows, "change", staticmethod(lambda cost, *sizes: Change(1, 1)))
    with pytest.raises(AssertionError):
        test_no_neighbour_moves_an_answer_further_than_its_noise_covers("3")


def test_scores_of_two_models_as_one_are_their_weighed_sum():
    known = BoostingClassifier(epsilon=50.0, delta=1e-6, schema=TWO).fit(*labelled(4000, 1)).model_
    own = BoostingClassifier(epsilon=3.0, schema=TWO).fit(*labelled(3000, 2)).model_
    parts = [Part(m.additive, m.bin_shares, m.bands) for m in (known, own)]
    common = Common.of(*parts, TWO)
    both = merged(*parts, common, (0.7, 0.4), np.array([0.25])).additive
    random = np.random.default_rng(3)
    codes = np.stack([random.integers(f.n_codes, size=2000) for f in TWO.features]).astype(np.uint16)
    wanted = 0.25 + 0.7 * score(known.additive, codes) + 0.4 * score(own.additive, codes)
    np.testing.assert_allclose(score(both, codes), wanted, atol=1e-9)
    for place in common.bins.slices:
        assert common.shares[place].sum() == pytest.approx(1)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_good_start_helps_and_a_worthless_one_is_left_out(delta, tmp_path):
    test, truth = labelled(6000, 9)
    losses, trusts = {}, {}
    for name, start in {"none": None, "good": labelled(8000, 1), "noise": labelled(8000, 1, True)}.items():
        losses[name], trusts[name] = [], []
        for seed in range(1 if name == "noise" else 3):
            model = BoostingClassifier(epsilon=0.1, delta=delta, schema=TWO, random_state=seed)
            model.fit(*labelled(4000, 2), public=start)
            shares = model.predict_proba(test)[np.arange(6000), (truth == "yes").astype(int)]
            losses[name].append(-np.log(shares).mean())
            trusts[name].append(model.privacy_card_.start)
    assert np.mean(losses["good"]) < np.mean(losses["none"]) - 0.02
    # Noise refuses a good one about once in twelve times.
    assert trusts["none"] == [{}] * 3 and "accepted" in [trust["trust"] for trust in trusts["good"]]
    assert trusts["noise"] == [{"public": True, "trust": "refused"}]


def test_a_start_for_numbers_helps():
    frame, numbers = people(8000, 1)
    start = BoostingRegressor(epsilon=50.0, delta=1e-6, schema=NUMBER).fit(frame, numbers)
    rows, test = people(3000, 2, twist=0.5), people(5000, 3, twist=0.5)
    scores = [
        np.mean(
            [BoostingRegressor(0.2, schema=NUMBER).fit(*rows, start=known).score(*test) for _ in range(12)]
        )
        for known in (None, start)
    ]
    assert scores[1] > scores[0] + 0.01


def test_what_started_saves_explains_and_tells(tmp_path):
    start = BoostingClassifier(epsilon=50.0, schema=TWO).fit(*labelled(4000, 1)).model_
    account = Ledger().create("clinic", Budget(2))
    model = BoostingClassifier(epsilon=0.5, schema=TWO, account=account, random_state=0)
    model.fit(*labelled(4000, 2), start=start)
    assert account.spent().epsilon == 0.5
    model.model_.save(tmp_path / "m.privet")
    loaded, test = load_model(tmp_path / "m.privet"), labelled(200, 5)[0]
    np.testing.assert_array_equal(loaded.shares(test), model.model_.shares(test))
    told = loaded.explain(test)
    np.testing.assert_allclose(told.totals[:, 0], model.model_.explain(test).totals[:, 0])
    card = str(loaded.card)
    assert "start      a model of data, ε=50.0: accepted, weight" in card
    assert "who is among both has the sum of both costs" in card
    again = BoostingClassifier(epsilon=1.0, schema=TWO, account=account, random_state=0)
    again.fit(*labelled(4000, 2), start=model)
    assert "the same account, where both are charged" in str(again.privacy_card_)


def test_the_plan_is_what_is_asked():
    rows = labelled(6000, 2)
    planned = BoostingClassifier(epsilon=0.5).plan(replace(TWO, max_rows=6000), start=True)
    assert [c.question for c in planned.questions].count("rows by the scores of two models") == 1
    assert float(sum(c.cost.epsilon for c in planned.questions)) == pytest.approx(0.5)
    model = BoostingClassifier(epsilon=0.5, schema=replace(TWO, max_rows=6000)).fit(*rows, public=rows)
    assert model.privacy_card_.questions[-1]["question"] == "rows by the scores of two models"
    few = BoostingClassifier(epsilon=0.01).plan(replace(TWO, max_rows=100), start=True)
    assert "rows by the scores of two models" not in [c.question for c in few.questions]
    model = BoostingClassifier(epsilon=0.01, schema=TWO).fit(*labelled(100, 3), public=rows)
    assert model.privacy_card_.start["trust"] == "not asked: too few rows"


def test_starts_that_do_not_fit_are_refused_for_nothing(account):
    rows = labelled(300, 2)
    known = BoostingClassifier(epsilon=5.0, schema=TWO).fit(*rows)
    tree = GreedyTreeClassifier(epsilon=5.0, schema=TWO).fit(*rows)
    wider = Schema([Continuous("x", 0, 2), *FEATURES[1:]], TWO.label)
    cost = BoostingRegressor(epsilon=5.0, schema=NUMBER).fit(*people(300, 2))

    def fit(schema=TWO, passes=None, **start):
        BoostingClassifier(epsilon=0.5, schema=schema, account=account, passes=passes).fit(*rows, **start)

    for error, call in [
        (QuestionError, lambda: fit(start=tree)),
        (QuestionError, lambda: fit(start=cost)),
        (QuestionError, lambda: fit(start="model.privet")),
        (QuestionError, lambda: fit(start=known, public=rows)),
        (QuestionError, lambda: fit(public=rows[0])),
        (QuestionError, lambda: fit(start=known, passes=1)),
        (SchemaError, lambda: fit(start=known, schema=wider)),
        (Exception, lambda: fit(public=(rows[0], np.full(300, "perhaps")))),
    ]:
        with pytest.raises(error):
            call()
    assert account.spent().epsilon == 0


def test_weights_follow_the_table():
    """Without noise, and from many rows, the weights are those by which the labels were drawn."""
    loss, random = Labels(2), np.random.default_rng(0)
    grid = np.array(list(itertools.product([-2.0, -0.7, 0.7, 2.0], repeat=2)))
    share, _ = loss.share_of(0.3 + grid @ [0.8, 0.5])
    rows = np.full(16, 1e5)
    noisy = np.stack([rows * (1 - share), rows * share], axis=1)
    trust = weighed(grid, noisy, 1.0, loss)
    assert trust.accepted
    assert trust.start == pytest.approx(0.8, abs=0.01) and trust.own == pytest.approx(0.5, abs=0.01)
    assert trust.shift == pytest.approx(0.3, abs=0.01)
    refused = [
        weighed(grid, noisy.mean(axis=0) + random.laplace(0, 2e5, (16, 2)), 2e5 * 2**0.5, loss).accepted
        for _ in range(200)
    ]
    assert np.mean(refused) < 0.15


def test_the_command_line_starts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("own.csv", 2), ("public.csv", 1)):
        frame, labels = labelled(3000, seed)
        frame.assign(ill=labels).to_csv(name, index=False)
    TWO.save("schema.json")
    run = lambda *a: app.run([str(part) for part in a])  # noqa: E731
    assert run("budget", "create", "own.csv", "--epsilon", 3) == 0
    fit = ("fit", "own.csv", "--schema", "schema.json", "--epsilon", 0.5)
    assert run(*fit, "--out", "a.privet", "--public", "public.csv") == 0
    assert run(*fit, "--out", "b.privet", "--start", "a.privet") == 0
    assert run(*fit, "--out", "c.privet", "--learner", "greedy-tree", "--start", "a.privet") == 2
    assert run(*fit, "--out", "c.privet", "--start", "missing.privet") == 5
    assert load_model("a.privet").card.start["public"] and load_model("b.privet").card.start["same account"]
    capsys.readouterr()
    assert run("plan", "schema.json", "--epsilon", 0.5, "--rows", 3000, "--start") == 0
    assert "rows by the scores of two" in capsys.readouterr().out
    assert Ledger("own.csv.ledger").account("own.csv").spent().epsilon == 1
