"""The exact auditor: exact numbers, laws enumerated from the code, transcripts of whole learners."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from laws import gaussian_probabilities
from privet.answers import EXPONENTIAL, PERMUTE_AND_FLIP, Law
from privet.audit.enumeration import Enumerated, SealedBits
from privet.audit.exact import Explorer, compare, exponential_weights, pairs, permute_and_flip_law, tables
from privet.audit.exponentials import exponential
from privet.audit.mechanism_trials import additive_law, hockey_stick, selection_law, thinning_is_exact
from privet.errors import QuestionError
from privet.noise.samplers import GAUSSIAN, LAPLACE
from privet.noise.sparse import marking
from privet.privacy import Mechanisms

ONE = Fraction(1)


def test_sums_of_exponentials_are_compared_exactly():
    third = exponential(Fraction(1, 3))
    assert (third**3 - exponential(1)).sign() == 0
    assert not third**3 - exponential(1)
    almost = exponential(1) - Fraction(10**40 - 1, 10**40) * exponential(1)
    assert almost.sign() == 1
    assert (-almost).sign() == -1
    assert almost.log() == pytest.approx(-40 * log(10) - 1)
    assert float(2 - third) == pytest.approx(2 - exp(-1 / 3))
    assert exponential(5000).log() == -5000


def test_the_logarithm_of_a_negative_number_is_refused():
    with pytest.raises(ValueError, match="below zero"):
        (exponential(1) - 1).log()


def test_bits_under_audit_cannot_be_drawn():
    sealed = Mechanisms(SealedBits())
    assert not sealed.private
    for draw in (
        lambda: sealed.add(np.zeros(3, np.int64), Law(LAPLACE, ONE)),
        lambda: sealed.add(np.zeros(1, np.int64), Law(GAUSSIAN, ONE)),
        lambda: sealed.choose(np.zeros((1, 2), np.int64), Law(PERMUTE_AND_FLIP, ONE)),
        lambda: sealed.row_draws(),
        lambda: sealed.coin(ONE / 3),
        lambda: SealedBits().integer(8),
    ):
        with pytest.raises(QuestionError, match="auditor"):
            draw()


@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 1, 0), (2, 2, 1), (5, 4)])
def test_the_code_of_selections_has_the_law_of_the_papers(scores):
    rate, laws = Fraction(2, 3), []
    for name, rounds in ((PERMUTE_AND_FLIP, None), (EXPONENTIAL, 1)):
        explorer = Explorer()

        def run(name=name, rounds=rounds, explorer=explorer):
            return int(Enumerated(explorer, rounds).choose(np.array([scores]), Law(name, rate))[0])

        laws.append(explorer.law(run))
    odds = exponential(rate)
    flipped = permute_and_flip_law(scores, odds)
    weights = exponential_weights(scores, odds)
    for i in range(len(scores)):
        assert not laws[0].get(i, 0) - flipped[i]
        # Kept by the first round, out of all that it keeps: the normalised weight.
        assert not laws[1][i] * sum(weights) - weights[i] * sum(laws[1].values())


def test_draws_of_rows_are_enumerated_once_a_row():
    """Read again, also in another order, a row draws the same; another question's draws are others."""
    explorer = Explorer()

    def run():
        draws = [Enumerated(explorer).row_draws() for _ in range(2)]
        first = draws[0].below(2, np.array([7, 3]))
        assert draws[0].below(2, np.array([3, 7])).tolist() == first[::-1].tolist()
        return (*first.tolist(), *draws[1].below(3, np.array([7])).tolist())

    law = explorer.law(run)
    assert len(law) == 12 and set(law.values()) == {Fraction(1, 12)}


def test_coins_are_enumerated():
    explorer = Explorer()
    assert explorer.law(lambda: Enumerated(explorer).coin(Fraction(1, 3))) == {
        True: Fraction(1, 3),
        False: Fraction(2, 3),
    }


def test_a_ratio_of_exactly_e_to_the_epsilon_keeps_it():
    laws = {0: {"a": exponential(1), "b": 1 - exponential(1)}, 1: {"a": ONE}}
    worst = compare(laws, [(0, 1)], ONE)
    assert worst.loss == float("inf") and not worst.keeps
    laws = {0: {"a": exponential(1), "b": ONE}, 1: {"a": ONE, "b": exponential(-1)}}
    tight = compare(laws, [(0, 1)], ONE)
    assert tight.keeps and tight.loss == 0
    laws = {0: {"a": exponential(1) / 2, "b": 1 - exponential(1) / 2}, 1: {"a": ONE / 2, "b": ONE / 2}}
    exactly = compare(laws, [(0, 1)], ONE)
    assert exactly.keeps and exactly.loss == pytest.approx(1, abs=1e-15)
    assert not compare(laws, [(0, 1)], ONE - Fraction(1, 10**30)).keeps


def test_all_small_tables_and_their_neighbours_are_listed():
    listed = tables("ab", 2)
    assert listed == [(), ("a",), ("b",), ("a", "a"), ("a", "b"), ("b", "b")]
    assert list(pairs(listed)) == [
        (("a",), ()),
        (("b",), ()),
        (("a", "a"), ("a",)),
        (("a", "b"), ("b",)),
        (("a", "b"), ("a",)),
        (("b", "b"), ("b",)),
    ]


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), ONE, Fraction(4)])
def test_noisy_counts_and_permute_and_flip_lose_all_of_epsilon_and_no_more(epsilon):
    """The worst case is known in closed form: a log ratio of ε, attained. Both sides are certain."""
    slightly_less = epsilon - Fraction(1, 10**30)
    counts = range(4)
    noisy = {count: additive_law(count, epsilon) for count in counts}
    law = Law(PERMUTE_AND_FLIP, epsilon)
    chosen = {table: selection_law(law, table, None) for table in tables("ab", 3)}
    for laws, neighbouring, one_total in (
        (noisy, list(zip(counts[1:], counts, strict=False)), True),
        (chosen, list(pairs(chosen)), False),
    ):
        assert compare(laws, neighbouring, epsilon, one_total).keeps
        assert not compare(laws, neighbouring, slightly_less, one_total).keeps


def test_the_delta_of_gaussian_noise_is_bracketed_tightly():
    """Against a float sum over the rounded Gaussian."""
    variance, epsilon = Fraction(33), Fraction(1, 2)
    law = gaussian_probabilities(200, 33.0)
    expected = np.maximum(law[:-1] - np.exp(0.5) * law[1:], 0).sum()
    low, high = hockey_stick(variance, epsilon)
    assert low <= high and float(high - low) < 1e-16
    assert float(high) == pytest.approx(expected, rel=1e-9)


def test_marks_of_empty_cells_have_exactly_the_probability_of_their_noise():
    def slightly_wrong(n_cells, scale, threshold):
        return marking(n_cells, scale * Fraction(10**9, 10**9 + 1), threshold)

    assert thinning_is_exact(10**6, Fraction(2), 20)
    assert not thinning_is_exact(10**6, Fraction(2), 20, slightly_wrong)
