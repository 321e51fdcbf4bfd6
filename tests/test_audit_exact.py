"""The exact auditor: exact numbers, laws enumerated from the code, transcripts of whole learners."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from privet.audit.exact import Explorer, compare, exponential_weights, pairs, permute_and_flip_law, tables
from privet.audit.exponentials import exponential
from privet.audit.interception import SealedBits, enumerated
from privet.errors import QuestionError
from privet.privacy import mechanisms

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
    with pytest.raises(QuestionError, match="auditor"):
        mechanisms.laplace_counts(np.zeros(3, np.int64), ONE, SealedBits())
    with pytest.raises(QuestionError, match="auditor"):
        SealedBits().integer(8)


@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 1, 0), (2, 2, 1), (5, 4)])
def test_the_code_of_selections_has_the_law_of_the_papers(scores):
    laws = []
    for mechanism, rounds in ((mechanisms.permute_and_flip, None), (mechanisms.exponential, 1)):
        explorer = Explorer()

        def run(mechanism=mechanism, rounds=rounds, explorer=explorer):
            with enumerated(explorer, rounds):
                return int(mechanism(np.array([scores]), Fraction(2, 3), SealedBits())[0])

        laws.append(explorer.law(run))
    odds = exponential(Fraction(2, 3))
    flipped = permute_and_flip_law(scores, odds)
    weights = exponential_weights(scores, odds)
    for i in range(len(scores)):
        assert not laws[0].get(i, 0) - flipped[i]
        # Kept by the first round, out of all that it keeps: the normalised weight.
        assert not laws[1][i] * sum(weights) - weights[i] * sum(laws[1].values())


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
