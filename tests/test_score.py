"""Scores of models: exact sensitivities over all neighbours, charges, refusals, and how near they come."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    roc_auc_score,
)

from laws import Noiseless
from privet import (
    BoostingClassifier,
    Budget,
    BudgetExceeded,
    Categorical,
    Continuous,
    CountForestClassifier,
    DataError,
    Label,
    Ledger,
    QuestionError,
    Schema,
    SchemaError,
    load_model,
    private_score,
    protect,
)
from privet.estimators import CLASSIFIERS
from privet.kernels.predict import row_shares
from privet.kernels.tally import (
    CELLS,
    LOSS_BOUND,
    SHARE_UNITS,
    SQUARE_BOUND,
    count_predicted,
    count_scores,
    count_sure,
    row_errors,
    row_losses,
    row_squares,
    sum_reliability,
)
from privet.learners.score import METRICS as EVERY
from privet.noise.samplers import LAPLACE
from privet.privacy import Repeatable
from privet.privacy.budget import UNITS
from privet.structure import Additive, Bins, CompleteTrees, LeafVotes, MultiwayTrees, Views

METRICS = {name: metric for name, metric in EVERY.items() if metric.predicts is Label}
METRIC_NAMES = list(METRICS)


def small_schema(n_labels: int) -> Schema:
    """One feature of three codes, of which only the categories are ever met."""
    return Schema([Categorical("f", ["a", "b"])], Label("y", list(range(n_labels))))


def additive(rng, n_labels: int, values: np.ndarray | None = None) -> Additive:
    n_scores = 1 if n_labels == 2 else n_labels
    shapes = rng.normal(0, 3, (4, n_scores)) if values is None else values
    bins = Bins.of([np.arange(4, dtype=np.uint16)], [4])
    nothing = np.zeros((0, 1), np.int32), np.zeros((4, 0), np.uint8), np.zeros((0, 2, n_scores))
    return Additive(bins, np.zeros(n_scores), shapes, *nothing)


def forest(rng, n_labels: int, values: np.ndarray | None = None) -> LeafVotes:
    split = np.full((2, 2), 1, np.uint16)
    trees = CompleteTrees(Views.of(1), np.zeros((2, 2), np.uint16), split, 1)
    prior = rng.dirichlet(np.ones(n_labels))
    return LeafVotes(trees, rng.normal(size=(2, 2, n_labels)) if values is None else values, prior)


def pointers(rng, n_labels: int) -> LeafVotes:
    trees = MultiwayTrees(
        Views.of(1),
        np.array([0], np.int64),
        np.array([0, -1, -1, -1, -1], np.int32),
        np.zeros(5, np.uint16),
        np.array([1, 0, 1, 2, 3], np.int64),
    )
    return LeafVotes(trees, rng.random((4, n_labels)))


def poisoned(rng, n_labels: int):
    """Predictors of a forged file: every value that is not a plain number, and very large ones."""
    for bad in (np.nan, np.inf, -np.inf, 1e308, -1e308):
        n_scores = 1 if n_labels == 2 else n_labels
        some = rng.normal(size=(4, n_scores))
        some[1:] = bad
        yield additive(rng, n_labels, some)
        votes = rng.random((2, 2, n_labels))
        votes[:, 1] = bad
        yield forest(rng, n_labels, votes)
        yield LeafVotes(forest(rng, n_labels).trees, votes)


def predictors(n_labels: int):
    rng = np.random.default_rng(n_labels)
    yield from (additive(rng, n_labels), forest(rng, n_labels), pointers(rng, n_labels))
    yield from poisoned(rng, n_labels)


def questions(predictor, n_labels: int):
    bins = np.arange(CELLS) // 37
    yield lambda rows: rows.noisy_losses(predictor, "errors", epsilon=1)
    yield lambda rows: rows.noisy_losses(predictor, "log loss", epsilon=1)
    yield lambda rows: rows.noisy_losses(predictor, "squared error", epsilon=1)
    yield lambda rows: rows.noisy_predicted_rows(predictor, epsilon=1)
    yield lambda rows: rows.noisy_reliability(predictor, epsilon=1)
    yield lambda rows: rows.noisy_sure_rows(predictor, (0.4, 0.6, 0.9), epsilon=1)
    yield lambda rows: rows.noisy_score_rows(predictor, epsilon=1)
    yield lambda rows: rows.noisy_score_rows(predictor, bins, epsilon=1)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_no_neighbour_moves_an_answer_further_than_its_noise_covers(n_labels):
    """All tables of one and two rows, all their neighbours, sound and forged models."""
    schema = small_schema(n_labels)
    rows = list(itertools.product(["a", "b"], range(n_labels)))
    tables = [t for size in (1, 2) for t in itertools.combinations_with_replacement(rows, size)]

    def answers(table):
        frame, watched = pd.DataFrame(table, columns=["f", "y"]), Noiseless()
        for predictor in predictors(n_labels):
            for ask in questions(predictor, n_labels):
                ask(protect(frame, schema, Ledger().create("t", Budget(9)), mechanisms=watched))
        assert {law.name for law in watched.laws} == {LAPLACE}
        return [(seen, law.parameter) for seen, law in zip(watched.seen, watched.laws, strict=True)]

    exact = {table: answers(table) for table in tables}
    largest = np.zeros(len(next(iter(exact.values()))))
    for table in tables:
        for more in [tuple(sorted((*table, row))) for row in rows if len(table) == 1]:
            pairs = zip(exact[table], exact[more], strict=True)
            change = np.array([np.abs(b - a).sum() / scale for (a, scale), (b, _) in pairs], float)
            largest = np.maximum(largest, change)
    assert (largest <= 1).all()
    # Nor is there more noise than the worst of the questions' rows need.
    assert largest.reshape(-1, 8).max(axis=0).tolist() == [1] * 8


@pytest.mark.parametrize("n_labels", [2, 3])
def test_what_a_row_adds_stays_in_its_bounds_whatever_its_shares(n_labels):
    odd = [0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, -1.0, 2.0, 1e-320, 1e308]
    shares = np.array(list(itertools.product(odd, repeat=n_labels)))
    for label in range(n_labels):
        labels = np.full(len(shares), label)
        assert set(row_errors(shares, labels, range(n_labels)).tolist()) <= {0, 1}
        losses = row_losses(shares, labels)
        assert losses.min() == 0 and losses.max() == LOSS_BOUND
        squares = row_squares(shares, labels)
        assert squares.min() == 0 and squares.max() == SQUARE_BOUND
        assert count_predicted(shares, labels, range(n_labels)).sum(axis=0)[label] == len(shares)
        for share in shares:
            parts = sum_reliability(share[None], labels[:1], range(n_labels))
            assert parts.min() >= 0 and parts.sum() == SHARE_UNITS and np.count_nonzero(parts) <= 2
        assert count_sure(shares, labels, range(n_labels), np.array([0.4, 0.6])).sum() == len(shares)
        counts = count_scores(shares, labels, np.arange(CELLS), CELLS)
        weights = np.array([1, n_labels - 1])
        assert (counts.sum(axis=1) / weights).sum(axis=1).tolist() == [len(shares)] * len(counts)


def test_losses_are_those_of_a_plain_twin():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3) / 9, 4000)
    labels = rng.integers(3, size=4000)
    exact = [min(-np.log(max(share[label], 1e-300)), 7) for share, label in zip(shares, labels, strict=True)]
    np.testing.assert_allclose(row_losses(shares, labels) / 2**14, exact, atol=2**-15)
    assert max(exact) == 7 and min(exact) < 0.1
    errors = [share.argmax() != label for share, label in zip(shares, labels, strict=True)]
    assert row_errors(shares, labels, range(3)).tolist() == errors


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_is_predicted_alike_wherever_it_stands(n_labels):
    rng = np.random.default_rng(1)
    codes = rng.integers(4, size=(1, 3000)).astype(np.uint8)
    for predictor in predictors(n_labels):
        whole = row_shares(predictor, codes, n_labels)
        for first in (1, 2, 3, 5, 8, 513, 2990):
            part = row_shares(predictor, np.ascontiguousarray(codes[:, first:]), n_labels)
            assert part.tobytes() == whole[first:].tobytes()


def test_forged_arrays_are_refused_for_nothing(account):
    rng = np.random.default_rng(0)
    schema = small_schema(3)
    frame = pd.DataFrame({"f": ["a"], "y": [1]})
    sound = forest(rng, 3)

    class Remembering(LeafVotes):
        pass

    forged = [
        Remembering(sound.trees, sound.values),
        LeafVotes(sound.trees, sound.values[:, :1]),
        LeafVotes(sound.trees, sound.values[..., :2]),
        LeafVotes(sound.trees, sound.values.astype(object)),
        LeafVotes(sound.trees, sound.values.astype(np.float16)),
        LeafVotes(sound.trees, sound.values.astype(">f8")),
        LeafVotes(sound.trees, sound.values, sound.prior[:2]),
        LeafVotes(pointers(rng, 3).trees, sound.values),
        lambda codes: codes,
    ]
    for predictor in forged:
        for ask in questions(predictor, 3):
            with pytest.raises(QuestionError):
                ask(protect(frame, schema, account))
    for bins in (np.zeros(3, int), np.full(CELLS, -1), np.full(CELLS, CELLS), np.zeros(CELLS)):
        with pytest.raises(QuestionError):
            protect(frame, schema, account).noisy_score_rows(sound, bins, epsilon=1)
    with pytest.raises(QuestionError, match="no loss"):
        protect(frame, schema, account).noisy_losses(sound, "regret", epsilon=1)
    assert account.spent().epsilon == 0


SCHEMA = Schema(
    [Continuous("x", 0, 1), Continuous("z", 0, 1), Categorical("town", ["n", "s"])],
    Label("class", ["a", "b", "c"]),
)
TWO = Schema(SCHEMA.features, Label("class", ["a", "b"]))


def people(n: int, n_labels: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.random(n), "z": rng.random(n), "town": rng.choice(["n", "s"], n)})
    score = 4 * frame.x + frame.z * (frame.town == "s") + rng.normal(0, 0.7, n)
    cuts = [2.2] if n_labels == 2 else [1.6, 3.0]
    frame["class"] = np.array(["a", "b", "c"])[np.digitize(score, cuts)]
    return frame


LEARNERS = list(CLASSIFIERS.values())


@pytest.fixture(scope="module")
def fitted():
    models = {}
    for schema, n_labels in ((TWO, 2), (SCHEMA, 3)):
        rows = people(8000, n_labels, seed=0)
        for learner in LEARNERS:
            model = learner(epsilon=2.0, schema=schema)
            models[learner, n_labels] = model.fit(rows.drop(columns="class"), rows["class"])
    return models


def exact_score(model, rows: pd.DataFrame, metric: str) -> float:
    shares, labels = model.predict_proba(rows.drop(columns="class")), rows["class"].to_numpy()
    if metric == "accuracy":
        return accuracy_score(labels, model.classes_[shares.argmax(axis=1)])
    if metric == "log_loss":
        return -np.log(np.maximum(shares, np.exp(-7)))[np.arange(len(rows)), labels_code(labels)].mean()
    own = labels_code(labels)[:, None] == np.arange(shares.shape[1])
    predicted = model.classes_[shares.argmax(axis=1)]
    if metric == "balanced_accuracy":
        return balanced_accuracy_score(labels, predicted)
    if metric == "f1":
        scores = f1_score(labels, predicted, average=None, labels=model.classes_)
        return scores[1] if len(scores) == 2 else scores.mean()
    if metric == "brier":
        return ((shares - own) ** 2).sum(axis=1).mean() / 2
    if metric == "calibration_error":
        return error_by_bins(shares, own)
    if metric == "average_precision":
        scores = [average_precision_score(own[:, k], shares[:, k]) for k in range(shares.shape[1])]
        return scores[1] if len(scores) == 2 else np.mean(scores)
    if shares.shape[1] == 2:
        return roc_auc_score(labels, shares[:, 1])
    return roc_auc_score(labels, shares / shares.sum(axis=1, keepdims=True), multi_class="ovr")


def error_by_bins(shares: np.ndarray, own: np.ndarray) -> float:
    told = shares.argmax(axis=1) if shares.shape[1] > 2 else np.ones(len(shares), int)
    rows = np.arange(len(shares))
    share, as_told = shares[rows, told], own[rows, told]
    bins = np.minimum((share * 10).astype(int), 9)
    return sum(abs((as_told - share)[bins == b].sum()) for b in range(10)) / len(shares)


def labels_code(labels: np.ndarray) -> np.ndarray:
    return np.searchsorted(["a", "b", "c"], labels)


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_scores_of_every_learner_come_near_the_exact_ones(fitted, learner, n_labels, metric):
    model, rows = fitted[learner, n_labels], people(30_000, n_labels, seed=1)
    exact = exact_score(model, rows, metric)
    ledger = Ledger().create("held out", Budget(1))
    protected = protect(rows, model.model_.schema, ledger, mechanisms=Repeatable(3))
    score = private_score(model, protected, metric=metric, epsilon=1)
    assert abs(score.value - exact) < (0.03 if metric == "average_precision" else 0.01)
    assert score.interval[0] < exact < score.interval[1]
    # Of a single tree's few leaves many rows have equal scores, which the interval allows for.
    assert score.interval[1] - score.interval[0] < (0.5 if metric in ("auc", "average_precision") else 0.08)
    assert abs(score.noisy_rows - 30_000) < 400
    assert ledger.spent().epsilon == 1 and not score.private


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_a_score_costs_what_it_says_and_is_receipted(fitted, metric):
    account = Ledger().create("held out", Budget(1))
    rows = people(500, 2, seed=2)
    model = fitted[BoostingClassifier, 2]
    score = private_score(model, rows, metric=metric, epsilon="1/4", account=account)
    assert account.spent().epsilon == Fraction(1, 4) == Fraction(score.epsilon)
    assert score.private and score.account == "held out"
    assert account.ledger.events()[-1]["hash"] == score.receipt
    assert {type(number) for number in (score.value, score.noisy_rows, *score.interval)} == {float}
    assert str(score).startswith(f"{metric} {score.value:.4f}, 95 % interval")
    private_score(model, rows, metric=metric, epsilon="3/4", account=account)
    with pytest.raises(BudgetExceeded, match="spent"):
        private_score(model, rows, metric=metric, epsilon="1e-6", account=account)


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_a_score_costs_no_more_than_it_says_where_its_price_is_off_the_grid(fitted, metric):
    account = Ledger().create("held out", Budget(1))
    score = private_score(
        fitted[BoostingClassifier, 2], people(50, 2, seed=2), metric=metric, epsilon="1/3", account=account
    )
    # Both questions of an area are rounded down.
    assert 0 < Fraction(score.epsilon) - account.spent().epsilon < Fraction(2, UNITS)


def test_a_model_from_a_file_scores_as_the_one_that_was_saved(fitted, tmp_path):
    rows = people(3000, 3, seed=3)
    for learner in LEARNERS:
        model = fitted[learner, 3]
        model.model_.save(tmp_path / f"{learner.__name__}.privet")
        loaded = load_model(tmp_path / f"{learner.__name__}.privet")
        for metric in METRIC_NAMES:
            one, two = (
                private_score(m, study(rows, SCHEMA, 5), metric=metric, epsilon=1) for m in (model, loaded)
            )
            assert one.value == two.value and one.interval == two.interval


def study(rows: pd.DataFrame, schema: Schema, seed: int):
    return protect(rows, schema, Ledger().create("study", Budget(100)), mechanisms=Repeatable(seed))


def test_rows_may_come_with_their_labels_apart(fitted):
    rows = people(4000, 2, seed=4)
    model = fitted[CountForestClassifier, 2]
    together = private_score(model, rows, metric="accuracy", epsilon=10)
    apart = private_score(model, rows.drop(columns="class"), rows["class"], metric="accuracy", epsilon=10)
    assert abs(together.value - apart.value) < 0.01
    wider = Schema(TWO.features, TWO.label, max_rows=10_000).to_dict()
    assert private_score(model, rows, metric="accuracy", epsilon=10, schema=wider).value > 0.8


def test_nothing_is_charged_for_what_cannot_be_answered(fitted, account):
    model, rows = fitted[BoostingClassifier, 2], people(50, 2, seed=5)
    good = {"metric": "accuracy", "epsilon": 1, "account": account}
    unknown = rows.assign(**{"class": "z"})
    other = Schema([Continuous("x", 0, 2), *TWO.features[1:]], TWO.label)
    for error, call in [
        (QuestionError, lambda: private_score(model, rows, **{**good, "metric": "f2"})),
        (QuestionError, lambda: private_score(model, rows, **{**good, "epsilon": 0})),
        (QuestionError, lambda: private_score(LogisticRegression(), rows, **good)),
        (NotFittedError, lambda: private_score(BoostingClassifier(), rows, **good)),
        (SchemaError, lambda: private_score(model, rows, **good, schema=other)),
        (DataError, lambda: private_score(model, unknown, **good)),
        (DataError, lambda: private_score(model, rows.drop(columns="class"), **good)),
        (DataError, lambda: private_score(model, rows.drop(columns="class"), [1, 2], **good)),
        (QuestionError, lambda: private_score(model, protect(rows, TWO, account), **good)),
        (
            SchemaError,
            lambda: private_score(model, protect(rows, other, account), metric="auc", epsilon=1),
        ),
    ]:
        with pytest.raises(error):
            call()
    assert account.spent().epsilon == 0


def test_one_label_alone_has_an_accuracy_but_no_curve(account):
    schema = Schema([Continuous("x", 0, 1)], Label("y", ["only"]))
    X, y = np.linspace(0, 1, 300)[:, None], np.full(300, "only")
    model = CountForestClassifier(epsilon=1.0, schema=schema).fit(X, y)
    assert private_score(model, X, y, metric="accuracy", epsilon=5).value > 0.95
    with pytest.raises(QuestionError, match="curve"):
        private_score(model, X, y, metric="auc", epsilon=1, account=account)
    assert account.spent().epsilon == 0


@pytest.mark.parametrize(("metric", "epsilon"), [(m, e) for m in METRIC_NAMES for e in (0.02, 0.5)])
def test_intervals_hold_the_score_of_the_population(fitted, metric, epsilon):
    """By the binomial law fewer than 0.9·400 of intervals that hold with 95 % are one in 10⁵ runs."""
    model = fitted[BoostingClassifier, 2]
    truth = exact_score(model, people(400_000, 2, seed=6), metric)
    rows = people(400 * 800, 2, seed=7)
    held = 0
    for i in range(400):
        part = study(rows[i * 800 : (i + 1) * 800].reset_index(drop=True), TWO, i)
        low, high = private_score(model, part, metric=metric, epsilon=epsilon).interval
        held += low <= truth <= high
    assert held >= 0.9 * 400
