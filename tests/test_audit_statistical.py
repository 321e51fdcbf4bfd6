"""The statistical auditor: its bounds hold, and have the power that they state."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from privet.answers import Law
from privet.audit import floats, published_2017
from privet.audit.one_run import epsilon_of, judge, one_run, p_value
from privet.audit.search import search
from privet.audit.statistical import (
    at_least,
    at_most,
    bound_from_counts,
    largest_provable,
    lower_bound,
    repeated,
    runs_needed,
)
from privet.audit.trial import QUICK
from privet.noise.bits import SecureBits
from privet.noise.samplers import LAPLACE
from privet.privacy import Repeatable

ONE = Fraction(1)


def noisy(count: int, scale: Fraction, n: int, seed: int) -> np.ndarray:
    return Repeatable(seed).add(np.full(n, count), Law(LAPLACE, scale))


def test_clopper_pearson_bounds_enclose_the_share():
    assert at_least(0, 100, 0.01) == 0 and at_most(100, 100, 0.01) == 1
    assert at_least(100, 100, 0.01) == pytest.approx(0.01 ** (1 / 100))
    assert at_most(0, 100, 0.01) == pytest.approx(1 - 0.01 ** (1 / 100))
    for k in (1, 37, 99):
        assert at_least(k, 100, 0.01) < k / 100 < at_most(k, 100, 0.01)


def test_bounds_fail_no_more_often_than_they_may():
    """The truth is log(0.3/0.1), and the event is the one that shows it: the tightest case."""
    random = np.random.default_rng(0)
    seen = random.binomial(500, 0.3, 20_000), random.binomial(500, 0.1, 20_000)
    wrong = np.mean(bound_from_counts(*seen, 500, 0.05) > log(3))
    assert 0 < wrong < 0.05


def test_a_true_epsilon_is_not_refuted_and_four_fifths_of_the_noise_are():
    for seed in range(5):
        good = lower_bound(noisy(6, ONE, 50_000, seed), noisy(5, ONE, 50_000, seed + 100))
        assert 0.8 < good.epsilon < 1
        weak = Fraction(4, 5)
        bad = lower_bound(noisy(6, weak, 50_000, seed), noisy(5, weak, 50_000, seed + 100))
        assert 1 < bad.epsilon < 1.25
        assert bad.confidence == 1 - 1e-5 and bad.runs == 50_000


def test_a_delta_is_taken_off():
    outputs = np.repeat([0, 1], [900, 100]), np.repeat([0, 1], [1000, 0])
    rng = np.random.default_rng(0)
    mixed = [rng.permutation(each) for each in outputs]
    assert lower_bound(*mixed).epsilon > 0.5
    assert lower_bound(*mixed, delta=0.1).epsilon == 0


def test_several_numbers_are_reduced_without_looking_at_the_test():
    rng = np.random.default_rng(1)
    a, b = rng.laplace(size=(2, 30_000, 40))
    a[:, 7] += 1.0
    assert lower_bound(a, b).epsilon > 0.5
    assert lower_bound(*rng.laplace(size=(2, 30_000, 40))).epsilon < 0.1


def test_few_outputs_are_looked_at_jointly():
    """Each bit alone is a fair coin on both tables; on one of them the two agree."""
    rng = np.random.default_rng(2)
    bits = rng.integers(0, 2, (2, 20_000))
    together, apart = np.stack([bits[0], bits[0]], axis=1), bits.T
    assert lower_bound(together, apart).epsilon > 0.5


def test_power_is_stated():
    assert runs_needed(1.0, 0.25, 0.3) < 30_000
    assert runs_needed(1.0, 0.25, 0.3) < runs_needed(1.0, 0.1, 0.3) < runs_needed(1.0, 0.1, 0.03)
    assert largest_provable(1000) == pytest.approx(3.7, abs=0.3)


def test_programs_of_one_output_a_run_can_be_sampled():
    outputs = repeated(lambda table: len(table) + int(SecureBits().integer(8)) % 2)((1, 2, 3), 50)
    assert set(outputs.tolist()) == {3, 4}


def test_the_search_finds_the_table_that_gives_it_away():
    """A mechanism that fails where three rows of one kind meet, and nowhere else."""
    random = np.random.default_rng(3)

    def sample(table, n):
        told = table.count("b") >= 3
        return random.random(n) < (0.9 if told else 0.1)

    found = search(sample, ("a", "b"), runs=200, steps=30, most_rows=6, random=random)
    assert (found.table.count("b") >= 3) != (found.neighbour.count("b") >= 3)
    assert found.score > 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), ONE])
def test_fletcher_and_islam_2017_is_convicted_by_its_outputs_alone(epsilon):
    verdict = published_2017.sampled_label("published", epsilon, QUICK)
    assert verdict.broken and verdict.loss > 2 * epsilon and verdict.confidence == 1 - 1e-5


def test_fletcher_and_islam_2017_is_convicted_exactly():
    verdict = published_2017.exact_label("published", ONE, QUICK)
    assert verdict.broken and verdict.loss == pytest.approx(7.44e16, rel=1e-3)
    assert verdict.witness["table"] == "(39, 0)" and verdict.witness["neighbour"] == "(40, 0)"
    assert published_2017.exact_label("published", ONE / 10, QUICK).loss == pytest.approx(0.24, abs=0.005)


def test_last_bits_give_textbook_noise_away_and_ours_not():
    outputs = floats.textbook(1, 2000, ONE)
    assert floats.reachable(outputs, 1, ONE).all()
    assert floats.reachable(outputs, 0, ONE).mean() < 0.7
    assert floats.exact_float("textbook", ONE, QUICK).broken
    assert floats.sampled_float("textbook", ONE, QUICK).loss > 5
    ours = floats.sampled_float("ours", ONE, QUICK, floats.ours)
    assert not ours.broken and ours.loss < 1


def test_one_run_bounds_hold_and_have_power():
    """Each canary's score is its coin plus Laplace noise: exactly ε-DP."""
    random = np.random.default_rng(4)

    def scores(epsilon):
        return lambda included: included + random.laplace(size=len(included)) / epsilon

    for epsilon in (0.5, 1.0, 4.0):
        run = one_run(scores(epsilon), 20_000, random)
        assert epsilon / 2 < run.epsilon < epsilon
    assert one_run(scores(1.25), 200_000, random).epsilon > 1
    assert one_run(lambda included: random.random(len(included)), 5000, random).epsilon == 0


def test_one_run_takes_a_delta_into_account():
    assert p_value(1000, 100, 95, 1.0) < p_value(1000, 100, 95, 1.0, delta=1e-6)
    assert epsilon_of(1000, 100, 100) > epsilon_of(1000, 100, 100, delta=1e-8) > 0
    included = np.arange(100) % 2 == 0
    perfect = judge(included.astype(float), included)
    assert perfect.right == perfect.guesses and perfect.epsilon > 1
