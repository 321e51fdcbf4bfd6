"""Mechanisms keep their ε: exactly, over all neighbours of small tables, and broken ones do not."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from laws import choice_law, exponential_law, follows, gaussian_probabilities
from privet.answers import EXPONENTIAL, PERMUTE_AND_FLIP, Law
from privet.audit.exact import largest_ratio, permute_and_flip_law
from privet.noise.samplers import LAPLACE
from privet.privacy import Repeatable, Secure
from privet.privacy.laws import selection_rate

HALF = Fraction(1, 2)
"""exp(−ε) for ε = log 2: probabilities become fractions, and e^ε is exactly 2."""

COUNTS = list(product(range(4), repeat=3))


@pytest.mark.parametrize(
    ("name", "law_of"), [(PERMUTE_AND_FLIP, permute_and_flip_law), (EXPONENTIAL, exponential_law)]
)
@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 1, 0), (2, 2, 1), (0, 2, 1), (5, 4)])
def test_the_code_of_a_selection_has_the_law_of_the_paper(name, law_of, scores):
    """The mechanism's own code, its coins and its choices enumerated."""
    law = dict(choice_law(name, tuple(max(scores) - score for score in scores), HALF))
    assert [law.get(i, 0) for i in range(len(scores))] == law_of(scores, HALF)


@pytest.mark.parametrize("law_of", [permute_and_flip_law, exponential_law])
def test_monotone_selection_keeps_epsilon_at_twice_the_exponent(law_of):
    """Counts: a row more adds one to one score. exp(ε·gap) loses ε, tightly; exp(2ε·gap) does not."""

    def worst(odds):
        ratios = []
        for counts in COUNTS:
            for label in range(3):
                more = tuple(c + (i == label) for i, c in enumerate(counts))
                laws = [dict(enumerate(law_of(c, odds))) for c in (counts, more)]
                ratios.append(largest_ratio(*laws))
        return max(ratios)

    assert worst(HALF) <= 2
    assert worst(HALF) > Fraction(9, 5)
    assert worst(HALF**2) > 2


@pytest.mark.parametrize("law_of", [permute_and_flip_law, exponential_law])
def test_general_selection_needs_the_factor_two(law_of):
    """Scores that move in opposite directions: exp(ε·gap/2) loses ε, exp(ε·gap) more."""

    def worst(odds):
        ratios = []
        for scores, moves in product(COUNTS, product((-1, 0, 1), repeat=3)):
            moved = tuple(s + m for s, m in zip(scores, moves, strict=True))
            laws = [dict(enumerate(law_of(c, odds))) for c in (scores, moved)]
            ratios.append(largest_ratio(*laws))
        return max(ratios)

    # odds per unit of 1/2 mean ε/(2Δ) = log 2: e^ε is 4.
    assert worst(HALF) <= 4
    assert worst(Fraction(1, 4)) > 4


def test_selection_rate():
    assert selection_rate(Fraction(1), Fraction(2), monotone=True) == Fraction(1, 2)
    assert selection_rate(Fraction(1), Fraction(2), monotone=False) == Fraction(1, 4)


@pytest.mark.parametrize("law_of", [permute_and_flip_law, exponential_law])
def test_selection_samples_follow_the_law_and_no_mutant(law_of):
    name = PERMUTE_AND_FLIP if law_of is permute_and_flip_law else EXPONENTIAL
    scores = (7, 5, 5, 0)
    chosen = Secure().choose(np.tile(scores, (100_000, 1)), Law(name, Fraction(1, 3)))
    law = {
        rate: dict(enumerate(float(p) for p in law_of(scores, Fraction(np.exp(-rate)))))
        for rate in (1 / 3, 0.9 / 3, 1.1 / 3)
    }
    assert follows(chosen, law[1 / 3])
    assert not follows(chosen, law[0.9 / 3])
    assert not follows(chosen, law[1.1 / 3])


def test_permute_and_flip_is_never_worse_than_exponential():
    """McKenna and Sheldon 2020: the expected score is at least as high."""
    for counts in COUNTS:
        expected = [
            sum(p * s for p, s in zip(law(counts, HALF), counts, strict=True))
            for law in (permute_and_flip_law, exponential_law)
        ]
        assert expected[0] >= expected[1]


def test_discrete_laplace_keeps_epsilon_exactly():
    """P(x) ∝ odds^|x|: a count that moves by one changes any probability by at most 1/odds."""
    support = range(-50, 51)
    for shift, bound in ((1, 2), (2, 4)):
        ratios = [HALF ** (abs(x) - abs(x - shift)) for x in support]
        assert max(max(ratios), 1 / min(ratios)) == bound


def test_rounded_gaussian_keeps_rho():
    """Rényi divergence of every order between neighbours is at most ρ times the order."""
    variance, reach = 3.0, 40
    law = gaussian_probabilities(reach, variance)
    shifted, law = law[:-1], law[1:]
    rho = 1 / (2 * variance)
    for order in (1.5, 2.0, 5.0, 17.0):
        terms = order * np.log(law) + (1 - order) * np.log(shifted)
        divergence = np.log(np.sum(np.exp(terms))) / (order - 1)
        assert divergence <= rho * order + 1e-12
        assert divergence > 0.95 * rho * order  # rounding adds a twelfth to the variance


def test_single_counts_follow_the_law():
    law, secure = Law(LAPLACE, Fraction(1)), Secure()
    draws = np.array([secure.add(np.array([100]), law)[0] for _ in range(3000)])
    q = np.exp(-1)
    assert follows(draws - 100, {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-20, 21)})
    assert not follows(draws - 101, {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-20, 21)})


def test_study_noise_is_repeatable_for_single_counts_too():
    draw = [Repeatable(1).add(np.array([0]), Law(LAPLACE, Fraction(50)))[0] for _ in (1, 2)]
    assert draw[0] == draw[1]
