"""Gaussian differential privacy: conversions, prices, and accounts that add up in μ²."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr, ndtri

from laws import composed_delta, gaussian_probabilities, rounded
from privet import BoostingClassifier, GreedyTreeClassifier, Ledger, protect
from privet.errors import BudgetExceeded, QuestionError
from privet.privacy import GDP, Budget, Charge, Cost, in_sequence
from privet.privacy.budget import rho_of
from privet.privacy.profile import LARGE, profile_epsilon, profile_price, profile_rho
from privet.privacy.questions import QUESTIONS
from privet.privacy.questions.boosting import BinRows, LabelRows
from privet.privacy.questions.columns import RowCount

DELTA = Fraction(1, 10**6)
epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=10**4)


def delta_of(epsilon: float, mu: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def mu_of(rho: Fraction) -> float:
    return float(2 * rho) ** 0.5


@settings(max_examples=40, deadline=None)
@given(epsilons, st.sampled_from(["1e-2", "1e-6", "1e-9"]))
def test_the_conversion_keeps_delta_and_gives_nothing_away(epsilon, delta):
    mu = mu_of(profile_rho(epsilon, Fraction(delta)))
    assert delta_of(float(epsilon), mu) <= float(delta) * (1 + 1e-6)
    assert delta_of(float(epsilon), mu * (1 + 1e-6)) > float(delta) * (1 - 1e-6)


def test_a_delta_below_any_float_sum_is_converted():
    mu = mu_of(profile_rho(Fraction(1), Fraction(1, 10**100)))
    above, below = log_ndtr(mu / 2 - 1 / mu), 1 + log_ndtr(-mu / 2 - 1 / mu)
    assert (above + np.log1p(-np.exp(below - above))) / np.log(10) == pytest.approx(-100, abs=1e-3)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "4", "8"])
def test_there_is_at_least_five_percent_less_noise_than_in_zcdp(epsilon):
    ratio = rho_of(Fraction(epsilon), DELTA) / profile_rho(Fraction(epsilon), DELTA)
    assert float(ratio) ** 0.5 < 0.95


def test_a_large_epsilon_is_converted_as_in_zcdp():
    large = Budget(LARGE + 1, DELTA, accounting=GDP)
    assert profile_rho(large.epsilon, DELTA) is None
    assert large.rho == replace(large, accounting="zcdp").rho
    # Where the two meet what is allowed does not fall.
    assert profile_rho(Fraction(LARGE), DELTA) > rho_of(Fraction(LARGE), DELTA)


def best_test_of_epsilon(epsilon: float, alpha: np.ndarray) -> np.ndarray:
    return np.maximum(0, np.maximum(1 - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - alpha)))


def best_test_of_mu(mu: float, alpha: np.ndarray) -> np.ndarray:
    return ndtr(-ndtri(alpha) - mu)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "8", "30", "65", "200"])
def test_an_epsilon_is_within_its_price_and_not_within_less(epsilon):
    """No test tells more of the dearest ε-DP answer than of two normal laws that far apart."""
    alpha = np.concatenate([np.logspace(-300, -2, 3000), np.linspace(0.01, 1, 3001)[:-1]])
    # Where the lines of ε meet: there the normal laws are nearest to them.
    alpha = np.append(alpha, [1 / (1 + np.exp(float(epsilon)))])
    mu = mu_of(profile_price(Fraction(epsilon)))
    told = best_test_of_epsilon(float(epsilon), alpha)
    assert (best_test_of_mu(mu, alpha) <= told + 1e-12).all()
    if float(epsilon) <= 8:
        assert (best_test_of_mu(mu * 0.999, alpha) > told).any()


def test_priced_as_in_rho_an_epsilon_would_break_the_promise():
    """Randomised response in what is left of a promise whose δ is large."""
    epsilon, delta = Fraction(1, 1000), Fraction(1, 5)
    rho = profile_rho(epsilon, delta)

    def delta_of_response(own: float) -> float:
        return float((np.exp(own) - np.exp(float(epsilon))) / (1 + np.exp(own)))

    as_in_rho = float(2 * rho) ** 0.5
    assert delta_of_response(as_in_rho) > delta
    low, high = Fraction(0), Fraction(1)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if profile_price(middle) <= rho else (low, middle)
    assert delta_of_response(float(low)) <= delta


@pytest.mark.parametrize("parts", [(1,), (1, 1, 1), (5, 1)])
def test_composed_answers_keep_epsilon_and_delta_and_would_not_with_less_noise(parts):
    """Hockey-stick divergence of rounded Gaussians, from their laws, against the δ that was promised."""
    budget = Budget(1, "1e-3", accounting=GDP)
    shares = [budget.rho * part / sum(parts) for part in parts]
    assert 0.8e-3 < composed_delta([rounded(rho) for rho in shares], 1) <= 1e-3
    assert composed_delta([rounded(rho * Fraction(6, 5)) for rho in shares], 1) > 1e-3


def test_noise_that_the_answers_choose_keeps_epsilon_and_delta():
    """After a first answer two small ones, or one large one: hockey-stick, both ways."""
    budget = Budget(1, "1e-3", accounting=GDP)

    def delta(rho: Fraction, sign: int) -> float:
        first, whole, half = (rounded(part)[::sign] for part in (rho / 2, rho / 2, rho / 4))
        mass, loss = first[1:], np.log(first[1:]) - np.log(first[:-1])
        # The whole where the answer is even: what is left is spent at once there.
        even = np.arange(len(mass)) % 2 == 0
        total = sum(m * composed_delta([whole], 1 - x) for m, x in zip(mass[even], loss[even], strict=True))
        odd = zip(mass[~even], loss[~even], strict=True)
        return float(total + sum(m * composed_delta([half, half], 1 - x) for m, x in odd if m > 1e-9))

    assert max(delta(budget.rho, sign) for sign in (1, -1)) <= 1e-3
    assert max(delta(2 * budget.rho, sign) for sign in (1, -1)) > 1e-3


def account(budget: Budget | None = None, path: Path | None = None):
    return Ledger(path).create("people", budget or Budget(1, DELTA, accounting=GDP))


def test_gaussian_answers_spend_all_that_the_profile_allows_and_no_more():
    whole = Budget(1, DELTA, accounting=GDP)
    own = account(whole)
    half = Cost.zcdp(whole.rho / 2, gaussian=True)
    own.reserve([BinRows.plan(half, 3)])
    own.reserve([BinRows.plan(half, 3)])
    with pytest.raises(BudgetExceeded):
        own.reserve([BinRows.plan(Cost.zcdp("1e-20", gaussian=True), 3)])
    # In zCDP as much does not fit.
    other = account(replace(whole, accounting="zcdp"))
    other.reserve([BinRows.plan(half, 3)])
    with pytest.raises(BudgetExceeded):
        other.reserve([BinRows.plan(half, 3)])


def test_an_epsilon_is_charged_at_its_price_beside_gaussian_answers():
    own = account()
    own.reserve([LabelRows.plan(Cost.pure("0.1"))])
    own.reserve([BinRows.plan(Cost.zcdp("1e-6", gaussian=True), 3)])
    assert own.spent().rho == pytest.approx(float(profile_price(Fraction(1, 10))) + 1e-6, rel=1e-9)
    assert own.spent().rho >= profile_price(Fraction(1, 10)) + Fraction(1, 10**6)


def test_a_choice_paid_in_rho_is_refused_there_and_costs_nothing():
    own = account()
    with pytest.raises(QuestionError, match="Gaussian"):
        own.reserve([Charge("a choice", Cost.zcdp("1e-6"))])
    assert not own.spent().rho_units


def test_what_is_paid_for_as_gaussian_pays_for_nothing_else():
    gaussian, pure = Cost.zcdp("1/8", gaussian=True), Cost.pure("1/4")
    assert pure.rho < gaussian.rho and pure.exceeds(gaussian) and Cost.zcdp("1/9").exceeds(gaussian)
    assert in_sequence([Cost.zcdp("1/16", gaussian=True), pure]).exceeds(gaussian)
    assert not in_sequence([Cost.zcdp("1/16", gaussian=True)] * 2).exceeds(gaussian)
    assert not gaussian.exceeds(Cost.zcdp("1/8"))


@pytest.mark.parametrize("dearer", [Cost.pure(1), Cost.pure(2, bounded_range=True)])
def test_what_is_left_of_a_mixed_plan_pays_no_more_than_it_was_charged(schema, people, dearer):
    """A plan of both kinds of cost sums up to a ρ in which an ε costs less than on this account."""
    own = account(Budget(8, DELTA, accounting=GDP))
    rows = protect(pd.DataFrame(people), schema, own)
    mixed = [Cost.zcdp("0.5", gaussian=True), Cost.pure("0.1")]
    rows.reserve([RowCount.plan(cost) for cost in mixed])
    choice = QUESTIONS["choose"](("age < 40", "age >= 40"))
    left = in_sequence(mixed)
    assert not dearer.exceeds(left) and dearer.priced(GDP).rho > in_sequence(c.priced(GDP) for c in mixed).rho
    with pytest.raises(QuestionError, match="left of the plan"):
        rows.refine([choice.charge(schema, dearer)])
    # Read anew, what is left pays for the first plan after: no more then either.
    again = rows.under(schema)
    with pytest.raises(QuestionError, match="left of the plan"):
        again.ask(choice, dearer)
    again.refine([choice.charge(schema, Cost.pure("0.5"))])
    again.ask(choice, Cost.pure("0.5"))


def test_a_choice_cannot_be_asked_as_gaussian(schema, people):
    rows = protect(pd.DataFrame(people), schema, account())
    choice = QUESTIONS["choose"](("age < 40", "age >= 40"))
    with pytest.raises(QuestionError, match="no Gaussian noise"):
        rows.ask(choice, Cost.zcdp("1e-4", gaussian=True))
    assert not rows.asked


def test_grants_caps_and_a_reopened_file_add_up_as_the_account_did_at_first(tmp_path):
    path = tmp_path / "people.ledger"
    own = account(path=path)
    own.ledger.grant("people", Budget(2, DELTA))
    own.ledger.set_cap("people", "ada", Budget(1, DELTA))
    own.ledger.close()
    again = Ledger(path)
    state = again.state("people")
    assert state.budget == Budget(2, DELTA, accounting=GDP)
    assert state.analysts["ada"].cap == Budget(1, DELTA, accounting=GDP)
    again.verify()


def test_boosting_has_less_noise_on_an_account_of_its_own_and_follows_one_that_others_share(schema):
    own = BoostingClassifier(1.0, 1e-6, schema=schema)
    shared = account(Budget(1, DELTA))
    on_shared = BoostingClassifier(1.0, 1e-6, schema=schema, account=shared)
    less, more = (
        next(q for q in learner.plan(schema, 50_000).questions if q.cost.epsilon is None)
        for learner in (own, on_shared)
    )
    assert less.question == more.question and less.noise_sd < 0.95 * more.noise_sd


def test_a_learner_that_chooses_is_refused_in_rho_and_served_in_epsilon(schema, people):
    people = pd.DataFrame(people)
    own = account(Budget(3, DELTA, accounting=GDP))
    with pytest.raises(QuestionError, match="no Gaussian noise"):
        GreedyTreeClassifier(1.0, delta=1e-6, schema=schema, account=own).fit(people)
    assert not own.spent().rho_units
    GreedyTreeClassifier(1.0, schema=schema, account=own).fit(people)
    assert own.spent().epsilon == 1


def test_the_epsilon_that_is_left_is_told_about_right():
    budget = Budget(1, DELTA, accounting=GDP)
    assert profile_epsilon(budget.rho, DELTA) == pytest.approx(1, rel=1e-6)
    assert float(budget.epsilon_of(budget.rho)) == pytest.approx(1, rel=0.02)


def test_rounding_adds_a_twelfth_to_the_variance():
    law = gaussian_probabilities(200, 50.0)
    variance = float(law @ np.arange(-200, 201) ** 2)
    assert variance == pytest.approx(50 + 1 / 12, rel=1e-9)
    charge = LabelRows.plan(Cost.zcdp("1/100", gaussian=True))
    assert charge.noise_sd == pytest.approx(variance**0.5)
