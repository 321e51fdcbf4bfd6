"""Bojarski, Choromanska, Choromanski and LeCun 2014: error bounds of three ways of voting.

The theorems as the paper states them, for two labels and complete binary trees of one height. Where
statement and proof differ, a docstring says which one is computed. Not all of them hold:
``docs/theory.md`` shows where, and :func:`privet.theory.private_vote_bound` is what remains.

======================  =====================  ==================================================
here                    in the paper           meaning
======================  =====================  ==================================================
``n_rows``              n                      training rows, and as many test rows
``height``              h                      of every tree; it has 2^h leaves
``n_trees``             k                      trees in the forest
``epsilon``             η                      privacy of the whole forest; noise of scale k/η
``tree_error``          ε                      mean training error of a single random tree, 0 < ε ≤ ½
``margin``              δ                      how far above ½ a row's mean vote must lie
``thinness``            K                      leaves with fewer than n/(K·2^h) rows are given up
``confidence``          C                      the bound fails with probability n^(−C)
``slack``               c                      what the coins of probabilistic averaging may cost
======================  =====================  ==================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from math import ceil, log, sqrt
from typing import Literal

from privet.errors import QuestionError
from privet.theory.bound import Bound, Guarantee, check, either, first, probability

Voting = Literal["majority", "threshold"]


def theorem_5_1(tree_error: float) -> float:
    """Least mean *goodness*: the share of all trees that vote for a row's own label, averaged over rows.

    >>> theorem_5_1(0.25)
    0.75
    """
    check(tree_error=tree_error)
    return 1 - tree_error


def theorem_5_2(tree_error: float) -> float:
    """Least mean *weight*: the share of a row's own label in its leaf, averaged over trees and rows.

    >>> theorem_5_2(0.25)
    0.625
    """
    check(tree_error=tree_error)
    return (1 - tree_error) ** 2 + tree_error**2


def theorem_5_3(
    n_rows: int,
    height: int,
    training_share: float,
    test_share: float,
    margin: float,
    thinness: float,
    confidence: float,
) -> Guarantee:
    """Not private, majority voting or threshold averaging, from the share of rows that vote clearly.

    Parameters
    ----------
    training_share, test_share
        μ: share of training rows with a goodness (majority) or weight (threshold) of at least ½ + δ, and
        of test rows with ½ + δ + 1/K.

    Notes
    -----
    The number of trees is (1 + C)·ln(n)/(2δ²), for the test rows with δ/2 in the place of δ, rounded up. The
    part on test rows does not hold for majority voting (``docs/theory.md``).

    >>> bound = theorem_5_3(1000, 2, 0.9, 0.8, margin=0.25, thinness=10, confidence=1).training
    >>> bound.n_trees, round(bound.error, 3), round(bound.failure, 6)
    (111, 0.1, 0.001)
    """
    check(n_rows=n_rows, height=height, margin=margin, thinness=thinness, confidence=confidence)
    check(training_share=training_share, test_share=test_share)
    level = {"level": 0.5 + margin}, {"level": 0.5 + margin + 1 / thinness}
    errors = 1 - training_share, 1 - test_share
    return _logarithmic_forest(n_rows, height, errors, level, margin, thinness, confidence)


def theorem_5_4(
    voting: Voting,
    n_rows: int,
    height: int,
    tree_error: float,
    margin: float,
    thinness: float,
    confidence: float,
) -> Guarantee:
    """Not private, majority voting or threshold averaging, from the mean tree error alone.

    >>> g = theorem_5_4("majority", 10**9, 2, 0.1, margin=0.25, thinness=10, confidence=1)
    >>> round(g.training.error, 3), round(g.test.error, 3), g.training.n_trees, g.test.n_trees
    (0.4, 0.8, 332, 1327)
    """
    check(n_rows=n_rows, height=height, tree_error=tree_error)
    check(margin=margin, thinness=thinness, confidence=confidence)
    lost = shortfall(voting, tree_error), shortfall(voting, tree_error + 1 / thinness)
    errors = lost[0] / (0.5 - margin), lost[1] / (0.5 - margin)
    return _logarithmic_forest(n_rows, height, errors, ({}, {}), margin, thinness, confidence)


def theorem_5_5(
    n_rows: int,
    height: int,
    tree_error: float,
    margin: float,
    slack: float,
    thinness: float,
    confidence: float,
) -> Guarantee:
    """Not private, probabilistic averaging.

    Notes
    -----
    The statement has e^(−2nε²) where the proof has e^(−2nc²), and no number of trees; both are taken
    from the proof.

    >>> g = theorem_5_5(10**6, 1, 0.1, margin=0.2, slack=0.01, thinness=20, confidence=1)
    >>> round(g.training.error, 3), round(g.test.error, 3)
    (0.39, 0.465)
    """
    check(n_rows=n_rows, height=height, tree_error=tree_error)
    check(wide_margin=margin, slack=slack, thinness=thinness, confidence=confidence)
    errors = tuple(
        shortfall("threshold", e) + margin + slack for e in (tree_error, tree_error + 1 / thinness)
    )
    coins = probability(-2 * n_rows * slack**2)
    return _logarithmic_forest(
        n_rows, height, (errors[0], errors[1]), ({}, {}), margin, thinness, confidence, coins
    )


def theorem_5_6(
    n_rows: int,
    height: int,
    n_trees: int,
    epsilon: float,
    training_share: float,
    test_share: float,
    margin: float,
    thinness: float,
) -> Guarantee:
    """Private, majority voting or threshold averaging, from the share of rows that vote clearly.

    Parameters
    ----------
    training_share, test_share
        μ: share of training rows with a goodness (majority) or weight (threshold) of at least ½ + δ + 1/K,
        and of test rows with ½ + δ + 2/K; :func:`theorem_5_6_shares` bounds both from below.

    Notes
    -----
    The statement is computed; it does not hold (``docs/theory.md``). Its proof ends with other terms,
    n·(e^(−kδ²/2) + e^(−n/2) + 2k·e^(−λ√n·η/k)).

    >>> g = theorem_5_6(10**9, 1, 2500, 1.0, 0.9, 0.8, margin=0.2, thinness=10)
    >>> round(g.training.error, 3), f"{g.training.failure:.1e}"
    (0.1, '1.9e-13')
    """
    check(n_rows=n_rows, height=height, n_trees=n_trees, epsilon=epsilon, margin=margin, thinness=thinness)
    check(training_share=training_share, test_share=test_share)
    errors = 1 - training_share, 1 - test_share
    return _private_forest(n_rows, height, n_trees, epsilon, errors, margin, thinness)


def theorem_5_6_shares(
    voting: Voting, tree_error: float, margin: float, thinness: float
) -> tuple[float, float]:
    """Least shares μ of training and of test rows that theorem 5.6 asks for.

    >>> [round(share, 3) for share in theorem_5_6_shares("majority", 0.1, margin=0.05, thinness=20)]
    [0.75, 0.714]
    """
    check(tree_error=tree_error, margin=margin, thinness=thinness)
    room = 0.5 - margin - 1 / thinness, 0.5 - margin - 2 / thinness
    if room[1] <= 0:
        raise QuestionError(
            f"½ − δ − 2/K must be above 0; with margin={margin} and thinness={thinness} it is not.",
            "lower margin or raise thinness.",
        )
    lost = shortfall(voting, tree_error)
    return max(0.0, 1 - lost / room[0]), max(0.0, 1 - lost / room[1])


def theorem_5_7(n_rows: int, height: int, epsilon: float, tree_error: float) -> Bound:
    """Private threshold averaging on training rows, with the best number of trees (K = 40, δ = 1/10).

    Notes
    -----
    The statement's error ⅛ + 9/2·ε − 5ε², kept as the term ``printed_error``, does not follow from its own
    proof: (2x − 2x²)/(½ − δ) with x = ε + 1/40 is 39/320 + 19/4·ε − 5ε², which is larger for ε > 1/80. The
    latter is computed.

    >>> bound = theorem_5_7(10**23, 1, 1.0, tree_error=0.05)
    >>> round(bound.error, 4), round(bound.terms["printed_error"], 4), bound.vacuous
    (0.3469, 0.3375, False)
    """
    check(n_rows=n_rows, height=height, epsilon=epsilon, tree_error=tree_error)
    failure, n_trees, terms = _best_forest(n_rows, height, epsilon)
    error = shortfall("threshold", tree_error + 1 / 40) / 0.4
    printed = 1 / 8 + 9 / 2 * tree_error - 5 * tree_error**2
    return Bound(min(1.0, error), failure, n_trees, {**terms, "printed_error": printed})


def theorem_5_8(
    n_rows: int,
    height: int,
    n_trees: int,
    epsilon: float,
    tree_error: float,
    margin: float,
    slack: float,
    thinness: float,
) -> Guarantee:
    """Private, probabilistic averaging.

    >>> g = theorem_5_8(10**9, 1, 2500, 1.0, 0.1, margin=0.2, slack=0.05, thinness=20)
    >>> round(g.training.error, 3), round(g.test.error, 3)
    (0.505, 0.57)
    """
    check(n_rows=n_rows, height=height, n_trees=n_trees, epsilon=epsilon, tree_error=tree_error)
    check(wide_margin=margin, slack=slack, thinness=thinness)
    x = tree_error + 1 / thinness, tree_error + 2 / thinness
    errors = (shortfall("threshold", x[0]) + margin + slack, shortfall("threshold", x[1]) + margin + slack)
    coins = probability(-2 * n_rows * slack**2)
    return _private_forest(n_rows, height, n_trees, epsilon, errors, margin, thinness, coins)


def theorem_5_9(n_rows: int, height: int, epsilon: float, tree_error: float) -> Bound:
    """Private probabilistic averaging on training rows, with the best number of trees.

    Notes
    -----
    It is theorem 5.8 at K = 40, δ = 1/10 and c = 1/20, with the noise term of theorem 5.7.

    The statement's probability 1 − n(…)(1 − e^(−n/200)) has lost a bracket: by theorem 5.8, from which it
    is to follow, (1 − n(…))·(1 − e^(−n/200)) is meant, and computed.

    >>> bound = theorem_5_9(10**23, 1, 1.0, tree_error=0.05)
    >>> round(bound.error, 4), bound.vacuous
    (0.29, False)
    """
    check(n_rows=n_rows, height=height, epsilon=epsilon, tree_error=tree_error)
    failure, n_trees, terms = _best_forest(n_rows, height, epsilon)
    error = 1 / 5 + 19 / 10 * tree_error - 2 * tree_error**2
    return Bound(min(1.0, error), either(failure, probability(-n_rows / 200)), n_trees, terms)


def best_number_of_trees(n_rows: int, height: int, epsilon: float) -> int:
    """k_opt of theorems 5.7 and 5.9: the integer k ≥ 1 with the least e^(−k/200) + 2k·e^(−γ√n·η/k).

    γ = 1/(2^h·9600). Where two are equally good, the smaller.

    Notes
    -----
    The function falls, then rises: with u = γ√n·η/k its slope is negative iff ln(1+u) − u < −ln 400 − k/200,
    whose left side rises in k while its right side falls. So the first k that k + 1 does not improve on is
    found by bisection; values are compared with 60 digits.

    >>> best_number_of_trees(10**6, 10, 1.0), best_number_of_trees(10**20, 1, 1.0)
    (1, 9251)
    """
    check(n_rows=n_rows, height=height, epsilon=epsilon)
    with localcontext(prec=60):
        exponent = Decimal(n_rows).sqrt() * Decimal(epsilon) / (2**height * 9600)

        def value(k: int) -> Decimal:
            return (Decimal(-k) / 200).exp() + 2 * k * (-exponent / k).exp()

        return first(lambda k: value(k) <= value(k + 1))


def shortfall(voting: Voting, tree_error: float) -> float:
    """Mean goodness or weight that rows lack of 1; 2x − 2x² is largest at ½, where it stays."""
    if voting not in ("majority", "threshold"):
        raise QuestionError(f"no such voting: {voting!r}.", 'take "majority" or "threshold".')
    x = min(tree_error, 0.5) if voting == "threshold" else tree_error
    return x if voting == "majority" else 2 * x - 2 * x**2


def _logarithmic_forest(
    n_rows: int,
    height: int,
    errors: tuple[float, float],
    terms: tuple[Mapping[str, float], Mapping[str, float]],
    margin: float,
    thinness: float,
    confidence: float,
    coins: float = 0.0,
) -> Guarantee:
    """Theorems 5.3 to 5.5: as many trees as make the vote fail with probability n^(−C)."""
    trees = [ceil((1 + confidence) * log(n_rows) / (2 * m**2)) or 1 for m in (margin, margin / 2)]
    failure = either(probability(-confidence * log(n_rows)), coins)
    phi, leaves = _leaf_failure(n_rows, height, trees[1], margin, thinness)
    return Guarantee(
        Bound(min(1.0, errors[0]), failure, trees[0], terms[0]),
        Bound(min(1.0, errors[1]), min(1.0, failure + leaves), trees[1], {**terms[1], "phi": phi}),
    )


def _private_forest(
    n_rows: int,
    height: int,
    n_trees: int,
    epsilon: float,
    errors: tuple[float, float],
    margin: float,
    thinness: float,
    coins: float = 0.0,
) -> Guarantee:
    """Theorems 5.6 and 5.8: the vote, or the noise, fails for one of n rows."""
    rate = margin / (24 * thinness * 2**height)
    exponents = (
        -n_trees * margin**2 / 2,
        -n_trees / 2,
        log(n_trees) - rate * n_rows * epsilon / n_trees,
    )
    failure = either(min(1.0, sum(probability(log(n_rows) + e) for e in exponents)), coins)
    phi, leaves = _leaf_failure(n_rows, height, n_trees, margin, thinness)
    terms = {"lambda": rate, "phi": phi}
    return Guarantee(
        Bound(min(1.0, errors[0]), failure, n_trees, terms),
        Bound(min(1.0, errors[1]), min(1.0, failure + leaves), n_trees, terms),
    )


def _best_forest(n_rows: int, height: int, epsilon: float) -> tuple[float, int, dict[str, float]]:
    """Failure and size of the forest of theorems 5.7 and 5.9."""
    k = best_number_of_trees(n_rows, height, epsilon)
    gamma = 1 / (2**height * 9600)
    exponents = (-k / 200, log(2 * k) - gamma * sqrt(n_rows) * epsilon / k, -n_rows / 2)
    failure = min(1.0, sum(probability(log(n_rows) + e) for e in exponents))
    return failure, k, {"gamma": gamma}


def _leaf_failure(
    n_rows: int, height: int, n_trees: int, margin: float, thinness: float
) -> tuple[float, float]:
    """φ, and the probability 2^(h+3)·k·e^(−2nφ²) that training and test counts of some leaf differ by 2φn."""
    phi = margin / (2 * (4 + margin) * 2**height * thinness)
    return phi, probability((height + 3) * log(2) + log(n_trees) - 2 * n_rows * phi**2)
