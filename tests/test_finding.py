"""Questions that find what a contract leaves open: common values and rows by range."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import exp

import numpy as np
import pandas as pd
import pytest

from laws import FALSE_ALARM, gaussian_probabilities, laplace_probability
from privet import Budget, Categorical, Continuous, Label, Ledger, Schema, protect
from privet.answers import Law
from privet.audit.losses import Answer, loss_of
from privet.errors import BudgetError, QuestionError
from privet.noise.bits import SecureBits
from privet.privacy import Mechanisms, Repeatable
from privet.privacy.laws import common_threshold
from privet.privacy.questions.finding import LONGEST_VALUE, can_be_found
from privet.structure import Bins

OPEN = Schema(
    [Categorical("town"), Categorical("job"), Continuous("age", 0, 9, integer=True)], Label("ill", [0, 1])
)
FINDING = Fraction(1, 10**7)


def asked(towns, jobs=None, budget=None, schema=OPEN):
    frame = pd.DataFrame({"town": towns, "job": jobs if jobs is not None else towns, "age": 3, "ill": 0})
    account = Ledger().create("people", budget or Budget(100, "1e-6", FINDING))
    return protect(frame, schema, account, mechanisms=Repeatable(0)), account


class Given(Mechanisms):
    """Noise that is given."""

    def __init__(self, noise: int) -> None:
        super().__init__(SecureBits())
        self.given = noise

    def noise(self, law: Law, size: int) -> np.ndarray:
        return np.full(size, self.given)


def shown_law(count: int, law: Law, threshold: int, reach: int = 60) -> dict:
    """What is shown of one value, with probabilities: its noisy count, or None."""
    found: dict = {}
    chances = (
        [laplace_probability(k, float(law.parameter)) for k in range(-reach, reach + 1)]
        if law.name == "laplace"
        else gaussian_probabilities(reach, float(law.parameter)).tolist()
    )
    for noise, chance in zip(range(-reach, reach + 1), chances, strict=True):
        exact = np.array([count] if count else [], np.int64)
        keys = [(0, "v")] if count else []
        kept, noisy = Given(noise).keep_common(keys, exact, law, threshold)
        outcome = int(noisy[0]) if kept else None
        found[outcome] = found.get(outcome, 0.0) + chance
    return found


def joint(laws: list[dict]) -> dict:
    return reduce(lambda a, b: {(*x, y): p * q for x, p in a.items() for y, q in b.items()}, laws, {(): 1.0})


def beyond(p: dict, q: dict, epsilon: float) -> float:
    """Least δ with which p keeps ε against q."""
    return sum(max(0.0, weight - exp(epsilon) * q.get(outcome, 0.0)) for outcome, weight in p.items())


@pytest.mark.parametrize("law", [Law("laplace", Fraction(2)), Law("gaussian", Fraction(5))])
@pytest.mark.parametrize("others", [(0, 0), (0, 3), (6, 1), (9, 5)])
def test_neighbours_differ_by_no_more_than_was_paid_exactly(law, others):
    """A row adds one to a value of each of two features, which others have or nobody has."""
    delta = Fraction(1, 50)
    threshold = common_threshold(law, 2, delta)
    without = joint([shown_law(n, law, threshold) for n in others])
    with_it = joint([shown_law(n + 1, law, threshold) for n in others])
    if law.name == "laplace":
        paid = 2 / float(law.parameter)
        assert beyond(with_it, without, paid) <= delta + 1e-9
        assert beyond(without, with_it, paid) <= 1e-9
    else:
        # 1/σ² in ρ: what of the law is not a value that one row alone has is within it at order 2.
        kept = {
            o: p for o, p in with_it.items() if all(n or v is None for n, v in zip(others, o, strict=True))
        }
        mass = sum(kept.values())
        assert 1 - mass <= delta + 1e-9
        moment = sum((p / mass) ** 2 / without[o] for o, p in kept.items() if without.get(o, 0) > 0)
        assert np.log(moment) <= 2 * (1 / float(law.parameter)) + 1e-6


@pytest.mark.parametrize("law", [Law("laplace", Fraction(7, 2)), Law("gaussian", Fraction(30))])
@pytest.mark.parametrize("n_new", [1, 3])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)])
def test_the_threshold_is_the_smallest_that_keeps_delta(law, n_new, delta):
    threshold = common_threshold(law, n_new, delta)

    def shown(least: int) -> float:
        new = {(j, "v"): 1 for j in range(n_new)}
        return loss_of(
            Answer("common", (*law, least), new, None), Answer("common", (*law, least), {}, None)
        ).delta

    assert shown(threshold) <= delta
    assert shown(threshold - (1 if law.name == "laplace" else 3)) > delta


def test_a_threshold_that_is_too_low_is_convicted():
    law, delta = Law("laplace", Fraction(2)), Fraction(1, 50)
    threshold = common_threshold(law, 1, delta)
    for low, kept in ((threshold, True), (threshold - 1, False), (threshold - 3, False)):
        alone = beyond(shown_law(1, law, low), shown_law(0, law, low), 0.5)
        assert (alone <= delta + 1e-12) is kept


def test_it_is_refused_in_pure_epsilon_before_it_costs():
    rows, account = asked(["a"] * 50, budget=Budget(10))
    with pytest.raises(QuestionError, match="cannot be found in pure epsilon"):
        rows.common_values([0], epsilon=1)
    with pytest.raises(BudgetError, match="left to find values with"):
        rows.common_values([0], epsilon=1, delta=FINDING)
    with pytest.raises(QuestionError, match="no delta of its own"):
        rows.noisy_count(epsilon=1, delta=FINDING)
    assert not account.spent().rho_units


def test_what_many_share_is_found_and_the_rest_is_not():
    towns = ["north"] * 900 + ["Łódź <b>"] * 400 + ["rare"] * 3 + [None] * 100 + [f"t{i}" for i in range(300)]
    rows, account = asked(np.array(towns, object), np.arange(len(towns)) % 2)
    found = rows.common_values([0, 1], epsilon=2, delta=FINDING)
    assert [text for text, _ in found.of(0)] == ["north", "Łódź <b>"]
    assert sorted(text for text, _ in found.of(1)) == ["0", "1"]
    assert all(n >= found.threshold for n in found.values)
    assert list(found.keys) == sorted(found.keys)
    assert account.spent().delta == FINDING and account.spent().epsilon == 2
    with pytest.raises(BudgetError, match="left to find values with"):
        rows.common_values([0], epsilon=1, delta=FINDING)


@pytest.mark.parametrize(
    "text", ["", None, "a\nb", "\x1b[31m", "x" * (LONGEST_VALUE + 1), "a\u202eb", "\ud800"]
)
def test_hostile_values_are_never_found(text):
    assert not can_be_found(text)
    if text == "\ud800":
        return  # pandas has no such text
    rows, _ = asked(np.array([text] * 500 + ["fine"] * 500, object))
    assert rows.common_values([0], epsilon=20, delta=FINDING).of(0)[0][0] == "fine"


def test_nothing_is_shown_of_nobody():
    rows, _ = asked(np.array(["a"] * 5, object))
    found = rows.common_values([0], epsilon="0.1", delta=FINDING)
    assert found.keys == () and found.of(0) == []


@pytest.mark.parametrize("places", [[2], [0, 0], [7], [], [True]])
def test_only_open_categories_are_asked_once_each(places):
    rows, account = asked(["a"] * 5)
    with pytest.raises(QuestionError):
        rows.common_values(places, epsilon=1, delta=FINDING)
    assert not account.spent().rho_units


def test_numbers_have_no_list_of_values():
    schema = Schema([Continuous("age", 0, 120)], Label("ill", ["no", "yes"]))
    account = Ledger().create("people", Budget(1, "1e-6", FINDING))
    rows = protect(pd.DataFrame({"age": [1.0], "ill": ["no"]}), schema, account)
    with pytest.raises(QuestionError, match="numbers have no list"):
        rows.common_values([0], epsilon=1, delta=FINDING)


def test_rows_by_range_are_counted_once_a_feature():
    schema = Schema(
        [Continuous("x", 0, 1), Categorical("c", ["a"]), Continuous("z", 0, 1)], Label("y", [0, 1])
    )
    table = np.where(np.arange(65_536) < 30_000, 0, 1)
    bins = Bins.of([table, np.zeros(3, np.int64), table], [2, 1, 2])
    X = pd.DataFrame({"x": [0.1] * 30 + [0.9] * 70, "c": "a", "z": [0.1] * 60 + [0.9] * 40, "y": 0})
    rows = protect(X, schema, Ledger().create("people", Budget(1000)), mechanisms=Repeatable(0))
    answer = rows.noisy_range_rows(bins, [2, 0], epsilon=900)
    assert answer.values.tolist() == [60, 40, 30, 70]
    assert answer.parameter == Fraction(2, 900)
    for places in ([1], [0, 0], [5]):
        with pytest.raises(QuestionError):
            rows.noisy_range_rows(bins, places, epsilon=1)


def test_a_value_that_one_person_has_is_shown_as_rarely_as_stated():
    """Runs of the whole question with fresh noise; false alarms are as rare as `FALSE_ALARM`."""
    from scipy import stats

    law, delta, runs = Law("laplace", Fraction(2)), Fraction(1, 20), 3000
    threshold = common_threshold(law, 1, delta)
    sound = Mechanisms(SecureBits())
    shown = sum(len(sound.keep_common([(0, "v")], np.array([1]), law, threshold)[0]) for _ in range(runs))
    assert stats.binom.sf(shown - 1, runs, float(delta)) > FALSE_ALARM
    low = sum(len(sound.keep_common([(0, "v")], np.array([1]), law, threshold - 3)[0]) for _ in range(runs))
    assert stats.binom.sf(low - 1, runs, float(delta)) < FALSE_ALARM
