"""Private selection: its exact law against e^((2+η)ε), the law of the number of runs, and the estimator."""

from __future__ import annotations

import itertools
import logging
from decimal import Decimal
from fractions import Fraction
from math import comb, factorial, prod

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from laws import PRECISE, follows
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
    MajorityForestClassifier,
    PrivateSelection,
    QuestionError,
    Schema,
    load_model,
    private_score,
    protect,
)
from privet.audit.enumeration import Enumerated, EnumeratedDraws
from privet.audit.exact import Explorer, largest_ratio
from privet.estimators import CLASSIFIERS
from privet.learners.score import METRICS as EVERY
from privet.privacy import Repeatable, Secure
from privet.privacy.questions.runs import RunLaw, held_out_share

TWICE = 2
"""e^ε of a run: its law may double or halve between neighbours."""

# Laws of one run's outcome, worst first, on neighbouring tables; every ratio is at most 2.
RUNS = [
    ({"low": Fraction(2, 3), "high": Fraction(1, 3)}, {"low": Fraction(1, 3), "high": Fraction(2, 3)}),
    (
        {"low": Fraction(1, 2), "middle": Fraction(2, 6), "high": Fraction(1, 6)},
        {"low": Fraction(3, 6), "middle": Fraction(1, 6), "high": Fraction(2, 6)},
    ),
    (
        {"low": 1 - Fraction(4002, 10**6), "middle": Fraction(2, 10**6), "high": Fraction(4000, 10**6)},
        {"low": 1 - Fraction(8001, 10**6), "middle": Fraction(1, 10**6), "high": Fraction(8000, 10**6)},
    ),
]


def best_of(run: dict[str, Fraction], generating) -> dict[str, Fraction]:
    """Law of the best of K runs: E[Q(≤y)^K] − E[Q(<y)^K], ``generating(x)`` being E[x^K]."""
    law, below = {}, Fraction(0)
    for outcome, probability in run.items():
        law[outcome] = generating(below + probability) - generating(below)
        below += probability
    return law


def geometric(gamma: Fraction):
    return lambda x: gamma * x / (1 - (1 - gamma) * x)


def logarithmic(gamma: Fraction):
    """E[x^K] for η = 0, to 120 digits."""

    def ln(x: Fraction) -> Decimal:
        return PRECISE.ln(PRECISE.divide(Decimal(x.numerator), Decimal(x.denominator)))

    return lambda x: PRECISE.divide(ln(1 - (1 - gamma) * x), ln(gamma))


def loss(generating) -> Fraction:
    """Largest ratio between neighbours, over all runs that keep their ε."""
    assert all(largest_ratio(a, b) <= TWICE for a, b in RUNS)
    return max(largest_ratio(best_of(a, generating), best_of(b, generating)) for a, b in RUNS)


GAMMAS = [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6)]


@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_best_of_a_random_number_of_runs_keeps_its_cost(gamma):
    assert loss(geometric(gamma)) <= TWICE**3
    assert loss(logarithmic(gamma)) <= TWICE**2


def test_no_smaller_cost_would_do():
    """With many runs the ratio comes near the bound: neither 2ε for η = 1 nor ε for η = 0 is enough."""
    assert loss(geometric(Fraction(1, 10**6))) > Fraction(79, 10)
    assert loss(logarithmic(Fraction(1, 10**6))) > Decimal("3.9")


@pytest.mark.parametrize("runs", [3, 4, 10, 100])
def test_a_fixed_number_of_runs_would_break_it(runs):
    """The best of a known number of runs costs as much as all of them."""
    assert (loss(lambda x: x**runs) > TWICE**3) == (runs > 3)
    assert loss(lambda x: x**runs) > TWICE**2


def weight(k: int, eta: Fraction) -> Fraction:
    return prod(((part + eta) / (part + 1) for part in range(1, k)), start=Fraction(1))


class FewCoins(Enumerated):
    """Every path of coins up to seven runs: beyond what is looked at, heads end it."""

    flips = 0

    def coin(self, probability):
        self.flips += 1
        return self.flips > 13 or super().coin(probability)


@pytest.mark.parametrize("eta", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_an_attempt_has_exactly_its_law(eta):
    """Every path of coins up to seven runs, with its exact probability."""
    explorer, gamma = Explorer(), Fraction(1, 5)
    law = explorer.law(lambda: RunLaw(eta, gamma).attempt(FewCoins(explorer)))
    for k in range(1, 7):
        assert law[k] == gamma * (1 - gamma) ** (k - 1) * weight(k, eta)
    assert weight(5, Fraction(0)) == Fraction(1, 5) and weight(5, Fraction(1)) == 1
    # Papernot and Steinke state the law by binomial coefficients: C(k + η − 1, k) for whole η.
    assert all(weight(k, Fraction(1)) == comb(k, k) for k in range(1, 9))
    assert all(weight(k, Fraction(0)) == Fraction(factorial(k - 1), factorial(k)) for k in range(1, 9))


def test_the_number_of_runs_follows_its_law_and_has_its_mean():
    law = RunLaw.of_mean(4, "0.5")
    mechanisms, gamma = Secure(), float(law.gamma)
    drawn = np.array([law.draw(mechanisms) for _ in range(50_000)])
    weights = {k: (1 - gamma) ** k * float(weight(k, law.eta)) for k in range(1, 300)}
    exact = {k: w / sum(weights.values()) for k, w in weights.items()}
    assert abs(sum(k * p for k, p in exact.items()) - 4) < 0.3
    assert follows(drawn, exact)
    other = RunLaw(law.eta, law.gamma * Fraction(4, 5))
    assert not follows(np.array([other.draw(mechanisms) for _ in range(50_000)]), exact)


@pytest.mark.parametrize("runs", [2, 5, 30, 1000])
def test_a_geometric_number_of_runs_has_exactly_its_mean(runs):
    assert RunLaw.of_mean(runs, 1).gamma == Fraction(1, runs)
    assert RunLaw.of_mean(runs, 1).factor == 3 and RunLaw.of_mean(runs, 0).factor == 2


TOY = Schema([Categorical("f", ["a"])], Label("y", [0, 1]))


def toy(n_rows: int, mechanisms=None):
    frame = pd.DataFrame({"f": ["a"] * n_rows, "y": [0] * n_rows})
    return protect(frame, TOY, Ledger().create("toy", Budget(3)), mechanisms=mechanisms)


def coins_of(runs: int) -> list[bool]:
    """Coins by which so many runs are drawn: go on and be kept, until the last."""
    return [False, True] * (runs - 1) + [True]


class GivenRuns(Secure):
    """Mechanisms whose coins draw these numbers of runs, one after the other."""

    def __init__(self, *numbers: int) -> None:
        super().__init__()
        self._coins = itertools.chain.from_iterable(map(coins_of, numbers))

    def coin(self, probability):
        return next(self._coins)


class GivenRunsWithoutNoise(GivenRuns):
    def add(self, exact, law):
        return exact


class AllSelections(Enumerated):
    """Every selection of one run or two: rows are in either part, and noise is randomised response.

    Before a number of runs is drawn, candidates are rehearsed, and there are no rows.
    """

    numbers = {1: Fraction(1, 3), 2: Fraction(2, 3)}
    _coins = None

    def coin(self, probability):
        if self._coins is None:
            self._coins = iter(coins_of(self._explorer.choose(list(self.numbers.items()))))
        return next(self._coins)

    def add(self, exact, law):
        """Is there more than one row? True with odds of two to one."""
        if self._coins is None:
            assert not exact.any()
            return exact
        truth = int(exact.sum() > 1)
        told = self._explorer.choose([(truth, Fraction(2, 3)), (1 - truth, Fraction(1, 3))])
        return np.full(exact.shape, told)

    def row_draws(self):
        return Ends(self._explorer)


class Ends(EnumeratedDraws):
    """Rows draw the smallest number or the largest."""

    def below(self, bound, rows):
        return super().below(2, rows) * (bound - 1)


def test_the_code_takes_the_best_of_its_runs_and_nothing_else():
    """Exact law of ``choose_run``, every part, candidate and answer enumerated, against the formula."""

    def make_run(name, bonus):
        def run(learnt, held, epsilon):
            a = int(learnt.noisy_label_rows(epsilon=epsilon).values[0])
            b = int(held.noisy_label_rows(epsilon=epsilon).values[0])
            return (name, a), a + b + bonus

        return run

    candidates = [make_run("plain", Fraction(0)), make_run("keen", Fraction(1, 2))]

    def law(n_rows):
        explorer = Explorer()

        def run():
            rows = toy(n_rows, AllSelections(explorer))
            best = rows.choose_run(candidates, epsilon=3, runs=2)
            return best.candidate, best.made, best.score

        return explorer.law(run)

    for n_rows in (1, 2):
        assert law(n_rows) == expected_law(n_rows, AllSelections.numbers)


def expected_law(n_rows: int, numbers) -> dict:
    """The same, by the formula: average over the parts of E[Q(≤y)^K] − E[Q(<y)^K]."""
    total: dict = {}
    for places in itertools.product([0, 1], repeat=n_rows):  # 0: held out, as the smallest draw is
        learnt, held = sum(places), n_rows - sum(places)
        run: dict = {}
        for candidate, (name, bonus) in enumerate([("plain", Fraction(0)), ("keen", Fraction(1, 2))]):
            for a, b in itertools.product([0, 1], repeat=2):
                odds = [
                    Fraction(2, 3) if x == (n > 1) else Fraction(1, 3) for x, n in ((a, learnt), (b, held))
                ]
                outcome = (candidate, (name, a), a + b + bonus)
                run[outcome] = run.get(outcome, 0) + odds[0] * odds[1] / 2
        # Outcomes of one score are equally likely to come first: give each its share of the tie.
        scores = sorted({outcome[2] for outcome in run})
        below = Fraction(0)
        for score in scores:
            tied = {y: p for y, p in run.items() if y[2] == score}
            mass = sum(tied.values())
            best = sum(w * ((below + mass) ** k - below**k) for k, w in numbers.items())
            for outcome, probability in tied.items():
                total[outcome] = total.get(outcome, 0) + best * probability / mass / 2**n_rows
            below += mass
    return total


def test_a_run_can_spend_no_more_than_its_part():
    """Each part has ε/(2 + η) and is closed after it; the outer account is charged once, and first."""
    rows, left = toy(5), []

    def greedy(learnt, held, epsilon):
        for part in (learnt, held):
            part.noisy_count(epsilon=epsilon)
            with pytest.raises(BudgetExceeded):
                part.noisy_count(epsilon="1e-9")
            with pytest.raises(QuestionError):
                part.noisy_count(epsilon=1, rho=1)
        left.append(rows._account.spent().epsilon)
        return None, 0.0

    rows.choose_run([greedy], epsilon=3, runs=5)
    assert left[0] == 0 and set(left[1:]) == {3}  # the rehearsal comes before the charge
    events = rows._account.ledger.events()
    assert [event["kind"] for event in events] == ["budget", "charge"]
    assert rows.asked[0].question == "the best of a random number of runs, 5 on average, over 1 candidates"
    assert rows.asked[0].cost.epsilon == 3


def test_parts_are_disjoint_whole_and_the_same_for_all_runs():
    counts = []

    def run(learnt, held, epsilon):
        parts = [int(part.noisy_label_rows(epsilon=epsilon).values.sum()) for part in (learnt, held)]
        counts.append(tuple(parts))
        return None, 0.0

    toy(5000, GivenRunsWithoutNoise(4)).choose_run([run], epsilon=3, runs=4)
    assert counts[0] == (0, 0) and len(counts) == 5
    assert len(set(counts[1:])) == 1 and sum(counts[1]) == 5000
    assert 850 < counts[1][1] < 1150  # a fifth; five standard deviations either way


def test_an_error_in_a_run_tells_nothing_and_stays_paid_for():
    rows, tried = toy(5), []

    def run(learnt, held, epsilon):
        tried.append(epsilon)
        if len(tried) > 1:  # the first is the rehearsal
            raise ValueError("five rows")
        return None, 0.0

    with pytest.raises(QuestionError, match="could not be answered") as raised:
        rows.choose_run([run], epsilon=3, runs=5)
    assert raised.value.__context__ is raised.value.__cause__ is None
    assert "five" not in str(raised.value)
    assert len(tried) == 2 and rows._account.spent().epsilon == 3


@pytest.mark.parametrize("wrong", [{"runs": 1}, {"runs": 2.5}, {"runs": True}, {"eta": -1}, {"eta": 2}])
def test_what_has_no_proof_is_refused_for_nothing(wrong):
    rows = toy(5)
    for parameters in (wrong, {"held_out": 0}, {"held_out": 1}, {"held_out": "1/3"}):
        with pytest.raises(QuestionError):
            rows.choose_run([lambda *_: (None, 0.0)], **{"epsilon": 1, "runs": 3, **parameters})
    for outcome in (None, 3, (None, None), (None, "good"), (None, 10**400)):
        with pytest.raises(QuestionError, match="its score"):
            rows.choose_run([lambda *_, outcome=outcome: outcome], epsilon=1, runs=3)
    with pytest.raises(QuestionError, match="no candidate"):
        rows.choose_run([], epsilon=1, runs=3)
    assert rows._account.spent().epsilon == 0
    assert held_out_share(0.2) == Fraction(1, 5)


SCHEMA = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))


def square(n: int = 6000, seed: int = 0):
    X = np.random.default_rng(seed).random((n, 2))
    return X, (X.sum(axis=1) > 1).astype(int)


def protected(X, y, mechanisms):
    return protect(X, SCHEMA, Ledger().create("square", Budget(6)), y, mechanisms)


GRID = {"max_depth": [1, 5], "structure": ["bojarski"]}


def search(**changes) -> PrivateSelection:
    given = {"epsilon": 6.0, "schema": SCHEMA, "runs": 8} | changes
    given.setdefault("candidates", CountForestClassifier(n_trees=5, random_state=0))
    return PrivateSelection(param_grid=GRID, **given)


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "auc"])
def test_the_better_candidate_is_chosen(metric):
    X, y = square()
    # A random number of runs is at times one, of the worse candidate.
    fitted = search(metric=metric).fit(protected(X, y, GivenRuns(20)))
    X = pd.DataFrame(X, columns=["x", "z"])
    assert fitted.best_params_ == {"max_depth": 5, "structure": "bojarski"} and fitted.best_index_ == 1
    assert fitted.score(X, y) > 0.8
    assert fitted.best_estimator_.max_depth == 5
    sign = -1 if metric == "log_loss" else 1
    assert 0 < sign * fitted.best_score_ <= 1  # the largest of many noisy scores, cut at 1
    assert private_score(fitted, X, y, metric=metric, epsilon=5).value > 0


def test_it_is_charged_once_and_its_card_says_so(tmp_path):
    X, y = square(2000)
    account = Ledger().create("square", Budget(2))
    fitted = search(epsilon=2.0, account=account).fit(X, y)
    assert account.spent().epsilon == 2
    events = account.ledger.events()
    assert [event["kind"] for event in events] == ["budget", "charge"]
    card = fitted.privacy_card_
    assert card.epsilon == "2.0" and card.private and card.receipt == events[-1]["hash"]
    assert [q["question"] for q in card.questions] == [events[-1]["charges"][0]["question"]]
    assert card.learner["chosen from"] == 2 and card.learner["name"] == "count-forest"
    assert fitted.best_estimator_.privacy_card_ == fitted.best_estimator_.model_.card == card
    assert [batch["epsilon"] for batch in card.batches] == ["2.0"]
    fitted.model_.save(tmp_path / "best.privet")
    assert load_model(tmp_path / "best.privet").card == card
    with pytest.raises(BudgetExceeded):
        search(epsilon=0.1, account=account).fit(X, y)


def test_runs_that_did_not_win_leave_no_trace(caplog, capsys):
    X, y = square(1500)
    mechanisms = GivenRuns(5, 25)
    caplog.set_level(logging.DEBUG)
    one, two = (search().fit(protected(X, y, mechanisms)) for _ in range(2))
    any_number = search().fit(X, y)
    assert not list(mechanisms._coins)
    assert vars(one).keys() == vars(two).keys()
    assert not caplog.records and capsys.readouterr() == ("", "")
    known = set(search().get_params(deep=False)) | {"n_features_in_", "model_", "privacy_card_", "classes_"}
    known |= {"_order", "best_estimator_", "best_score_", "best_index_", "best_params_"}
    assert vars(any_number).keys() <= known
    assert vars(one).keys() <= known | {"feature_names_in_"}


@pytest.mark.parametrize("in_a_file", [False, True])
def test_progress_does_not_tell_how_many_runs_there_are(in_a_file, tmp_path):
    """Each run finds the range anew, and so reads its part under another schema than the run before."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=500), "y": rng.integers(0, 2, 500)})
    table.to_parquet(tmp_path / "rows.parquet")
    schema = Schema([Continuous("x")], Label("y", [0, 1]))
    forest = CountForestClassifier(n_trees=1, max_depth=1, structure="fletcher-islam")
    seen, drawn = [], []
    for runs in (1, 3, 6):
        calls = []
        account = Ledger().create("people", Budget(6))
        source = tmp_path / "rows.parquet" if in_a_file else table
        rows = protect(source, schema, account, None, Repeatable(runs), calls.append)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunLaw, "draw", lambda law, mechanisms, n=runs: drawn.append(n) or n)
            PrivateSelection([forest], epsilon=6.0, runs=2).fit(rows)
        seen.append(calls)
    assert drawn == [1, 3, 6]
    assert seen[0] == seen[1] == seen[2]


def test_runs_do_not_share_a_generator():
    """Trees of the best run, or numbers drawn later, would tell how many runs there were and of what."""
    seeds = []

    class Spied(CountForestClassifier):
        def fit(self, X, y=None):
            seeds.append(self.random_state)
            return super().fit(X, y)

    X, y = square(300)
    before = np.random.get_state()
    fitted = search(candidates=Spied(n_trees=5)).fit(X, y)
    after = np.random.get_state()
    assert (before[1] == after[1]).all() and before[2] == after[2]
    assert len(set(seeds)) == len(seeds) and None not in seeds
    assert fitted.best_estimator_.random_state is None


def test_a_list_of_different_learners():
    X, y = square()
    learners = [
        MajorityForestClassifier(n_trees=5, max_depth=1),
        BoostingClassifier(),
        CountForestClassifier(),
    ]
    account = Ledger().create("square", Budget(9))
    fitted = PrivateSelection(learners, epsilon=9, metric="auc", eta=0, schema=SCHEMA, account=account).fit(
        X, y
    )
    assert type(fitted.best_estimator_) is type(learners[fitted.best_index_])
    assert fitted.best_params_ == {
        name: value
        for name, value in learners[fitted.best_index_].get_params().items()
        if name not in ("epsilon", "delta", "schema", "account")
    }
    assert fitted.best_estimator_.epsilon == Fraction(9, 2)
    assert account.spent().epsilon == 9


def test_it_behaves_as_scikit_learn_expects():
    X, y = square(3000)
    names = np.array(["blue", "red"])[y]
    schema = Schema(SCHEMA.features, Label("y", ["red", "blue"]))
    fresh = search(schema=schema)
    copy = clone(fresh)
    assert copy is not fresh and copy.get_params(deep=False)["param_grid"] == GRID
    assert "candidates__max_depth" in fresh.get_params()
    copy.set_params(candidates__n_trees=3, epsilon=30.0)
    frame = pd.DataFrame(X, columns=["x", "z"])
    model = make_pipeline(FunctionTransformer(), copy).fit(frame, names)
    assert set(model.predict(frame)) == {"blue", "red"}
    assert model.score(frame, names) > 0.7
    best = copy.best_estimator_
    assert best.n_trees == 3 and (best.predict(frame) == model.predict(frame)).all()
    assert (best.predict_proba(frame) == copy.predict_proba(frame)).all()
    assert copy.predict_proba(frame).sum(axis=1) == pytest.approx(1)
    assert list(copy.classes_) == ["blue", "red"]


def test_protected_rows_can_be_chosen_from():
    X, y = square(2000)
    account = Ledger().create("square", Budget(3))
    rows = protect(X, SCHEMA, account, y)
    fitted = search(epsilon=3).fit(rows)
    assert (
        account.spent().epsilon == 3 and fitted.predict(pd.DataFrame(X, columns=["x", "z"])).shape == y.shape
    )


def test_very_few_rows_are_no_error():
    """A part of the rows may well be empty."""
    learners = [learner() for learner in CLASSIFIERS.values()]
    for n, metric in enumerate([name for name in EVERY if EVERY[name].predicts is Label], 1):
        X, y = square(n)
        fitted = PrivateSelection(learners, epsilon=0.5, metric=metric, runs=10, schema=SCHEMA).fit(X, y)
        assert fitted.predict(X).shape == (n,)


def test_nothing_is_charged_for_what_cannot_run(account):
    X, y = square(300)
    forest = CountForestClassifier()
    wrong = [
        PrivateSelection(forest, {"epsilon": [1, 2]}),
        PrivateSelection(forest, {"delta": [1e-6]}),
        PrivateSelection(CountForestClassifier(delta=1e-6)),
        PrivateSelection([forest], {"max_depth": [2]}),
        PrivateSelection([]),
        PrivateSelection([LogisticRegression()]),
        PrivateSelection([PrivateSelection([forest])]),
        PrivateSelection([forest], metric="f2"),
        PrivateSelection([forest], epsilon=0),
        PrivateSelection([forest], runs=1),
        PrivateSelection([forest], eta=3),
        PrivateSelection([forest, CountForestClassifier(voting="loud")]),
        PrivateSelection(forest, {"max_depth": [2, 99]}),
    ]
    for selection in wrong:
        with pytest.raises(QuestionError):
            selection.set_params(schema=SCHEMA, account=account).fit(X, y)
    with pytest.raises(DataError):
        PrivateSelection([forest], schema=SCHEMA, account=account).fit(X, np.where(y, 7, y))
    assert account.spent().epsilon == 0


def test_a_selection_is_planned_as_it_is_charged():
    schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]), max_rows=5_000)
    search = PrivateSelection(BoostingClassifier(), {"passes": [1, 2]}, epsilon=3.0, eta=0, schema=schema)
    plan = search.plan(schema)
    assert plan.facts["candidates"] == 2 and plan.facts["epsilon of a run"] == 1.5
    assert plan.facts["rows that a run learns from"] == 4_000
    assert "a random number of runs" in str(plan)
    X = np.random.default_rng(0).random((300, 1))
    search.fit(X, (X[:, 0] > 0.5).astype(int))
    assert [charge.to_dict() for charge in plan.questions] == search.privacy_card_.questions


def test_no_candidates_are_said_to_be_none():
    with pytest.raises(QuestionError, match="no candidate"):
        PrivateSelection([]).plan(Schema([Continuous("x", 0, 1)], Label("y", [0, 1])), 100)
