"""The papers' tables and theorems, against numbers typed from the papers or worked out by hand."""

from __future__ import annotations

import doctest
import re
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import e, exp, floor, inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import privet
from privet.errors import QuestionError
from privet.theory import (
    best_number_of_trees,
    bojarski,
    fewest_rows,
    fletcher_islam_depth,
    jagannathan_height,
    private_vote_bound,
    published_label_loss,
    smooth_sensitivity,
)

# Fletcher and Islam 2017, table 4: continuous features, discrete features, depth.
TABLE_4 = {
    "SynthA": (5, 0, 5),
    "SynthB": (10, 0, 8),
    "SynthC": (15, 0, 12),
    "SynthD": (15, 0, 12),
    "SynthE": (15, 0, 12),
    "SynthF": (10, 0, 8),
    "SynthG": (20, 0, 15),
    "WallSensor": (4, 0, 4),
    "PenWritten": (16, 0, 12),
    "GammaTele": (10, 0, 8),
    "Adult": (6, 8, 9),
    "Mushroom": (0, 22, 11),
    "Claves": (0, 16, 8),
    "Nursery": (0, 8, 4),
}

# Fletcher and Islam 2017, table 2: gap, then the smooth sensitivity at ε = 0.01, 0.1 and 1.
TABLE_2 = """
0    1.00000  1.00000   1.00000
1    0.99004  0.90483   0.36788
5    0.95122  0.60653   0.00674
10   0.90483  0.36788   0.00005
50   0.60653  0.00674   1.93e-22
100  0.36788  0.00005   3.72e-44
500  0.00674  1.93e-22  7.12e-218
"""
# Digits that the paper cut off where it rounded elsewhere: e^−0.01, e^−0.05 and e^−0.1.
CUT = {"0.99004": "0.99005", "0.95122": "0.95123", "0.90483": "0.90484"}


@pytest.mark.parametrize("name", TABLE_4)
def test_depths_of_table_4(name):
    continuous, discrete, depth = TABLE_4[name]
    assert fletcher_islam_depth(continuous, discrete) == depth


def test_depth_is_at_least_one():
    assert fletcher_islam_depth(0, 1) == 1


def test_depth_is_the_first_that_leaves_less_than_half():
    for s in range(2, 300):
        d = fletcher_islam_depth(s, 0) - 1
        assert 2 * (s - 1) ** d < s**d and 2 * (s - 1) ** (d - 1) >= s ** (d - 1)
    assert fletcher_islam_depth(10**6, 0) == 693_148


@pytest.mark.parametrize("features", [(-1, 0), (0, -3), (2.5, 0), (float("nan"), 1)])
def test_numbers_of_features_that_are_none_are_refused(features):
    with pytest.raises(QuestionError, match="whole"):
        fletcher_islam_depth(*features)


@pytest.mark.parametrize("row", TABLE_2.strip().splitlines())
def test_sensitivities_of_table_2(row):
    gap, *printed = row.split()
    for text, epsilon in zip(printed, (0.01, 0.1, 1.0), strict=True):
        ours = smooth_sensitivity(int(gap), epsilon)
        assert (f"{ours:.2e}" if "e" in text else f"{ours:.5f}") == CUT.get(text, text)
        last_digit = Decimal(text).as_tuple().exponent
        assert abs(Decimal(ours) - Decimal(text)) < Decimal(10) ** last_digit


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_true_smooth_sensitivity_has_a_gap_of_one_less(epsilon):
    def scores(counts):
        return tuple(c == max(counts) for c in counts)

    def local(counts):
        moves = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        others = [(counts[0] + a, counts[1] + b) for a, b in moves]
        return any(min(o) >= 0 and scores(o) != scores(counts) for o in others)

    for counts in product(range(7), repeat=2):
        distances = (
            abs(a - counts[0]) + abs(b - counts[1]) for a, b in product(range(12), repeat=2) if local((a, b))
        )
        gap = abs(counts[0] - counts[1])
        assert exp(-min(distances) * epsilon) == smooth_sensitivity(max(gap - 1, 0), epsilon)


def test_published_label_is_not_private():
    # The losing label has probability 1/(1 + exp(ε/2·e^(gap·ε))): its log is −ε/2·e^(gap·ε) up to e^−10^16.
    assert published_label_loss((39, 0), (40, 0), 1.0) == pytest.approx((e**40 - e**39) / 2, rel=1e-12)
    assert f"{published_label_loss((39, 0), (40, 0), 1.0):.1e}" == "7.4e+16"


def test_published_label_loss_by_plain_probabilities():
    def probabilities(counts, epsilon):
        top, second, *_ = sorted(counts, reverse=True)
        odds = [exp(epsilon / (2 * exp(-(top - second) * epsilon))) if c == top else 1.0 for c in counts]
        return np.array(odds) / sum(odds)

    for counts, neighbour in (
        ((39, 0), (40, 0)),
        ((3, 3), (4, 3)),
        ((2, 3, 3), (2, 3, 4)),
        ((1, 5, 2), (0, 5, 2)),
        ((0, 0), (0, 1)),
    ):
        ratio = np.log(probabilities(counts, 0.1) / probabilities(neighbour, 0.1))
        assert published_label_loss(counts, neighbour, 0.1) == pytest.approx(np.abs(ratio).max(), rel=1e-9)


def test_published_label_loss_neither_overflows_nor_loses_symmetry():
    assert published_label_loss((700, 0), (701, 0), 1.0) == pytest.approx(exp(700) * (e - 1) / 2, rel=1e-9)
    assert published_label_loss((5_000, 0), (5_001, 0), 1.0) == inf
    assert published_label_loss((5_000, 9, 0), (5_000, 9, 1), 1.0) == 0
    assert published_label_loss((3, 3), (4, 3), 1.0) == published_label_loss((4, 3), (3, 3), 1.0)


@pytest.mark.parametrize(
    ("counts", "neighbour", "epsilon"),
    [
        ((3, 1), (3, 1), 1.0),
        ((3, 1), (5, 1), 1.0),
        ((3, 1), (4, 2), 1.0),
        ((3, 1), (3, 1, 1), 1.0),
        ((3,), (4,), 1.0),
        ((0, -1), (0, 0), 1.0),
        ((3, 1), (4, 1), 0.0),
        ((3, 1), (4, 1), float("nan")),
        ((1.5, 0), (2.5, 0), 1.0),
    ],
)
def test_leaves_that_are_not_neighbours_are_refused(counts, neighbour, epsilon):
    with pytest.raises(QuestionError, match="neighbouring"):
        published_label_loss(counts, neighbour, epsilon)


def test_height_of_the_data_sets_of_jagannathan():
    # b = 27/8; b^7 = 4988 ≤ 12960 < b^8 = 16834: min(8/2, 7 − 1).
    assert jagannathan_height(12_960, [3, 5, 4, 4, 3, 2, 3, 3]) == 4
    # b = 2; 2^8 ≤ 435 < 2^9: min(16/2, 8 − 1).
    assert jagannathan_height(435, [2] * 16) == 7


@given(base=st.integers(2, 12), power=st.integers(2, 40))
def test_height_is_exact_at_powers(base, power):
    many = [base] * 100
    assert jagannathan_height(base**power, many) == max(power - 1, 1)
    assert jagannathan_height(base**power - 1, many) == max(power - 2, 1)


def test_height_with_a_fractional_branching():
    # b = 5/2: b^2 = 6.25, b^3 = 15.625, b^4 = 39.0625.
    assert [jagannathan_height(n, [2, 3] * 5) for n in (6, 7, 15, 16, 39, 40)] == [1, 1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("n_rows", "sizes"), [(0, [2, 2]), (10, []), (10, [2, 0]), (10, [1, 1]), (9, [2.5]), (inf, [2])]
)
def test_heights_that_do_not_exist_are_refused(n_rows, sizes):
    with pytest.raises(QuestionError):
        jagannathan_height(n_rows, sizes)


def test_theorems_5_1_and_5_2_on_trees_counted_out():
    # Two trees over ten rows, leaves (label 0, label 1): errors 2/10 and 3/10, so ε = 1/4.
    trees = [[(4, 1), (1, 4)], [(6, 2), (1, 1)]]
    goodness = sum(max(leaf) for tree in trees for leaf in tree) / 20
    weight = sum((a * a + b * b) / (a + b) for tree in trees for a, b in tree) / 20
    assert goodness == bojarski.theorem_5_1(0.25) == 0.75
    assert weight == pytest.approx((3.4 + 3.4 + 5 + 1) / 20)
    assert weight >= bojarski.theorem_5_2(0.25) == 0.625


def test_theorem_5_3_by_hand():
    g = bojarski.theorem_5_3(10**6, 1, 0.9, 0.85, margin=0.4, thinness=20, confidence=1)
    # k = 2·ln(10^6)/(2·0.16) = 27.631/0.32 = 86.3; with δ/2 = 0.2: 27.631/0.08 = 345.4
    assert (g.training.n_trees, g.test.n_trees) == (87, 346)
    assert (g.training.error, g.test.error) == (pytest.approx(0.1), pytest.approx(0.15))
    assert g.training.failure == pytest.approx(1e-6)
    # φ = 0.4/(2·4.4·2·20) = 0.4/352; 2nφ² = 2·10^6·1.29132e-6 = 2.58264: the leaves fail for certain.
    assert g.test.terms["phi"] == pytest.approx(0.4 / 352)
    assert g.test.failure == 1
    assert g.test.vacuous
    # At n = 10^7: k = 2·16.1181/0.08 = 402.95 → 403, 16·403·e^(−25.8264) = 6448·6.0777e-12
    g = bojarski.theorem_5_3(10**7, 1, 0.9, 0.85, margin=0.4, thinness=20, confidence=1)
    assert g.test.n_trees == 403
    assert g.test.failure == pytest.approx(1e-7 + 6448 * exp(-2e7 * (0.4 / 352) ** 2), rel=1e-9, abs=0)
    assert (g.training.terms["level"], g.test.terms["level"]) == (0.9, pytest.approx(0.95))


def test_theorem_5_4_by_hand():
    majority = bojarski.theorem_5_4("majority", 1000, 1, 0.1, margin=0.1, thinness=20, confidence=0.5)
    threshold = bojarski.theorem_5_4("threshold", 1000, 1, 0.1, margin=0.1, thinness=20, confidence=0.5)
    assert majority.training.error == pytest.approx(0.1 / 0.4)
    assert majority.test.error == pytest.approx(0.15 / 0.4)
    assert threshold.training.error == pytest.approx(0.18 / 0.4)
    assert threshold.test.error == pytest.approx((0.3 - 2 * 0.0225) / 0.4)
    # 1.5·6.907755/0.02 = 518.08
    assert majority.training.n_trees == threshold.training.n_trees == 519
    assert majority.training.failure == pytest.approx(1 / sqrt(1000))


def test_theorem_5_5_by_hand():
    g = bojarski.theorem_5_5(10_000, 1, 0.2, margin=0.1, slack=0.02, thinness=10, confidence=1)
    assert g.training.error == pytest.approx(0.4 - 0.08 + 0.12)
    assert g.test.error == pytest.approx(0.6 - 0.18 + 0.12)
    # (1 − 10^−4)·(1 − e^(−2·10^4·4·10^−4)) = 0.9999·(1 − e^−8)
    assert g.training.probability == pytest.approx(0.9999 * (1 - exp(-8)), rel=1e-12)


def test_theorem_5_6_by_hand():
    shares = bojarski.theorem_5_6_shares("threshold", 0.05, margin=0.1, thinness=20)
    # 2·0.05 − 2·0.0025 = 0.095; ½ − 0.1 − 0.05 = 0.35; ½ − 0.1 − 0.1 = 0.3
    assert shares == (pytest.approx(1 - 0.095 / 0.35), pytest.approx(1 - 0.095 / 0.3))
    assert bojarski.theorem_5_6_shares("majority", 0.05, 0.1, 20)[0] == pytest.approx(1 - 0.05 / 0.35)
    g = bojarski.theorem_5_6(2 * 10**9, 1, 6000, 2.0, *shares, margin=0.1, thinness=20)
    # λ = 0.1/(24·20·2) = 0.1/960; λnη/k = 0.1/960·2·10^9·2/6000 = 69.444
    noise = 2e9 * 6000 * exp(-1e9 * 0.4 / 960 / 6000)
    # kδ²/2 = 6000·0.01/2 = 30
    vote = 2e9 * (exp(-30) + exp(-3000))
    assert g.training.terms["lambda"] == pytest.approx(0.1 / 960)
    assert g.training.failure == pytest.approx(vote + noise, rel=1e-9, abs=0)
    # φ = 0.1/(2·4.1·2·20) = 0.1/328; 2^4·6000·e^(−2·2·10^9·φ²) = 96000·e^(−371.8)
    assert g.test.failure == pytest.approx(
        vote + noise + 96_000 * exp(-4e9 * (0.1 / 328) ** 2), rel=1e-9, abs=0
    )
    assert g.training.error == pytest.approx(0.095 / 0.35)
    assert g.test.error == pytest.approx(0.095 / 0.3)


def test_theorem_5_6_with_few_trees_by_hand():
    g = bojarski.theorem_5_6(10, 0, 30, 1e6, 0.9, 0.9, margin=0.4, thinness=10)
    # kδ²/2 = 30·0.16/2 = 2.4; k/2 = 15; λnη/k = 0.4/240·10·10^6/30 = 555.6
    assert g.training.failure == pytest.approx(10 * (exp(-2.4) + exp(-15)), rel=1e-9, abs=0)


def test_theorem_5_7_by_hand():
    n, k = 10**21, best_number_of_trees(10**21, 1, 1.0)
    bound = bojarski.theorem_5_7(n, 1, 1.0, tree_error=0.04)
    # x = 0.04 + 0.025 = 0.065; (0.13 − 0.00845)/0.4 = 0.303875 = 39/320 + 0.19 − 0.008
    assert bound.error == pytest.approx(0.303875) == pytest.approx(39 / 320 + 0.19 - 0.008)
    # ⅛ + 0.18 − 0.008
    assert bound.terms["printed_error"] == pytest.approx(0.297)
    failure = n * (exp(-k / 200) + 2 * k * exp(-sqrt(n) / 19_200 / k))
    assert bound.n_trees == k
    assert bound.failure == pytest.approx(failure, rel=1e-9, abs=0)
    assert failure < 1


def test_constants_of_theorems_5_7_and_5_9_are_those_of_their_proofs():
    thinness, margin, slack = 40, 1 / 10, 1 / 20
    assert margin / (24 * thinness) == pytest.approx(1 / 9600)
    assert margin**2 / 2 == pytest.approx(1 / 200)
    assert 2 * slack**2 == pytest.approx(1 / 200)


def test_theorem_5_8_by_hand():
    g = bojarski.theorem_5_8(10**10, 1, 6000, 1.0, 0.1, margin=0.1, slack=2e-5, thinness=20)
    # x = 0.15: 0.3 − 0.045; x = 0.2: 0.4 − 0.08
    assert g.training.error == pytest.approx(0.255 + 0.1 + 2e-5)
    assert g.test.error == pytest.approx(0.32 + 0.1 + 2e-5)
    # 2nc² = 2·10^10·4·10^−10 = 8; λnη/k = 0.1/960·10^10/6000 = 173.6
    vote = 1e10 * (exp(-30) + exp(-3000) + 6000 * exp(-1e9 / 960 / 6000))
    assert g.training.probability == pytest.approx((1 - vote) * (1 - exp(-8)), rel=1e-9)


def test_theorem_5_9_by_hand():
    bound = bojarski.theorem_5_9(10**21, 1, 1.0, tree_error=0.1)
    assert bound.error == pytest.approx(0.2 + 0.19 - 0.02)
    # x = 0.125: 0.25 − 0.03125 + 0.1 + 0.05 = 0.36875; the statement rounds 0.19875 up to ⅕.
    assert bound.error >= 0.36875
    assert bound.failure == bojarski.theorem_5_7(10**21, 1, 1.0, 0.1).failure  # e^(−n/200) is nothing


@pytest.mark.parametrize(
    ("n_rows", "height", "epsilon"),
    [(1, 0, 0.1), (10**6, 4, 1.0), (10**12, 0, 1.0), (10**13, 1, 10.0), (10**15, 2, 1.0), (10**17, 4, 3.0)],
)
def test_best_number_of_trees_against_every_number(n_rows, height, epsilon):
    k = np.arange(1, 20_000, dtype=np.longdouble)
    rate = np.sqrt(np.longdouble(n_rows)) * epsilon / (2**height * 9600)
    values = np.exp(-k / 200) + 2 * k * np.exp(-rate / k)
    assert best_number_of_trees(n_rows, height, epsilon) == values.argmin() + 1


def test_best_number_of_trees_grows_from_one():
    best = [best_number_of_trees(10**p, 1, 1.0) for p in range(6, 24)]
    assert best == sorted(best)
    assert best[0] == 1
    assert best[-1] > 1000


def test_more_rows_trees_and_privacy_budget_help_as_the_theorems_say():
    def failures(**changes):
        arguments = {"n_rows": 10**21, "height": 1, "epsilon": 1.0, "tree_error": 0.05} | changes
        return bojarski.theorem_5_7(**arguments).failure

    assert failures(n_rows=10**20) > failures() > failures(n_rows=10**22)
    assert failures(epsilon=0.5) > failures() > failures(epsilon=2.0)
    assert failures(height=2) > failures() > failures(height=0)

    n, best = 10**21, best_number_of_trees(10**21, 1, 1.0)

    def objective(k):
        return exp(-k / 200) + 2 * k * exp(-sqrt(n) / 19_200 / k)

    down = [objective(k) for k in range(best // 2, best, 500)]
    up = [objective(k) for k in range(best, 2 * best, 500)]
    assert down == sorted(down, reverse=True)
    assert up == sorted(up)


@given(tree_error=st.floats(0.001, 0.499), margin=st.floats(0.01, 0.3))
def test_errors_grow_with_the_tree_error_and_private_ones_are_larger(tree_error, margin):
    for voting in ("majority", "threshold"):
        open_bound = bojarski.theorem_5_4(voting, 10**6, 2, tree_error, margin, 50, confidence=1)
        worse = bojarski.theorem_5_4(voting, 10**6, 2, tree_error + 0.001, margin, 50, confidence=1)
        training, test = bojarski.theorem_5_6_shares(voting, tree_error, margin, 50)
        ours = private_vote_bound(voting, 10**6, 2, 100, 1.0, tree_error, margin, 50)
        assert open_bound.training.error <= worse.training.error
        assert open_bound.training.error <= open_bound.test.error
        assert open_bound.training.error - 1e-12 <= 1 - training <= 1 - test
        assert open_bound.training.error <= ours.error


def laplace_trees(counts, n_trees, epsilon, rng):
    """Noisy counts (tree, label) of one leaf a tree."""
    return counts + rng.laplace(scale=n_trees / epsilon, size=(n_trees, len(counts)))


def mean_theta(noisy, clamp, rng):
    """Mean share of label 0 in the leaves: as in algorithm 2, or with negative counts set to 0."""
    if clamp:
        noisy = noisy.clip(0)
        return (noisy[:, 0] / noisy.sum(axis=1)).mean()
    coin = (noisy < 0).any(axis=1)
    theta = np.where(coin, rng.uniform(size=len(noisy)), noisy[:, 0] / noisy.sum(axis=1))
    return theta.mean()


def test_theorem_5_6_fails_where_negative_counts_become_coins():
    # A quarter of the rows has label 0. Of five binary features two equal the label and three are constant. A
    # tree of height 1 splits on one of them: rows of label 0 have weight 2/5·1 + 3/5·1/4 = 0.55, others 0.85.
    n, k, margin, thinness = 10**13, 60_000, 0.04, 100
    assert 0.5 + margin + 1 / thinness <= 0.55
    claim = bojarski.theorem_5_6(n, 1, k, 1.0, 1.0, 1.0, margin, thinness).training
    assert claim.error == 0
    assert claim.probability > 0.9999
    rng = np.random.default_rng(1)
    pure, constant = 2 * k // 5, 3 * k // 5

    def theta(clamp):
        own = laplace_trees(np.array([n / 4, 0]), k, 1.0, rng)[:pure]
        both = laplace_trees(np.array([n / 4, 3 * n / 4]), k, 1.0, rng)[:constant]
        return 0.4 * mean_theta(own, clamp, rng) + 0.6 * mean_theta(both, clamp, rng)

    # Half of the pure leaves have a negative other count and become coins: 2/5·3/4 + 3/5·1/4 = 0.45.
    assert theta(clamp=False) == pytest.approx(0.45, abs=0.01)
    assert theta(clamp=True) == pytest.approx(0.55, abs=0.01)


def test_theorem_5_6_fails_for_majority_voting_at_a_tie():
    # One leaf, m + 1 rows of one label and m of the other: the former have goodness 1.
    n, k = 10**9 + 1, 10_000
    share = (n + 1) / 2 / n
    claim = bojarski.theorem_5_6(n, 0, k, 1.0, share, share, margin=0.1, thinness=10).training
    assert claim.error < 0.5
    assert claim.probability > 0.999_99
    # Two draws of Laplace(b) differ by more than 1 with probability ½·e^(−1/b)·(1 + 1/(2b)).
    wrong_vote = 0.5 * exp(-1 / k) * (1 + 1 / (2 * k))
    wrong_label = binom.sf(k // 2 - 1, k, wrong_vote)  # a tie of votes is wrong for one of the labels
    assert wrong_label > 0.49


@pytest.mark.parametrize("voting", ["majority", "threshold"])
def test_our_bound_by_hand(voting):
    bound = private_vote_bound(voting, 10**9, 2, 5000, 1.0, 0.05, margin=0.1, thinness=20)
    if voting == "majority":
        # (0.05 + 0.05 + 0.1)/0.4; 2kδ² = 100; 0.05·10^9/(20·4·5000) = 125
        assert bound.error == pytest.approx(0.5)
        expected = 1e9 * exp(-100) + 16 * 5000 * exp(-125)
    else:
        # (0.095 + 0.05)/0.4; kδ²/2 = 25; the noise as above
        assert bound.error == pytest.approx(0.3625)
        expected = 1e9 * exp(-25) + 16 * 5000 * exp(-125)
    assert bound.failure == pytest.approx(expected, rel=1e-9, abs=0)


LEAF = st.tuples(st.integers(0, 50), st.integers(0, 50)).filter(any)
MOVE = st.fractions(-1, 1)


@given(leaf=LEAF, tolerance=st.fractions(0, Fraction(49, 100)), moves=st.tuples(MOVE, MOVE))
def test_proof_noise_within_a_tolerance_moves_a_clamped_leaf_by_no_more(leaf, tolerance, moves):
    rows = sum(leaf)
    noisy = [max(count + move * tolerance * rows, 0) for count, move in zip(leaf, moves, strict=True)]
    assert abs(noisy[0] / sum(noisy) - Fraction(leaf[0], rows)) <= tolerance
    right = leaf[0] if noisy[0] > noisy[1] else leaf[1] if noisy[1] > noisy[0] else min(leaf)
    assert right >= max(leaf) - 2 * tolerance * rows


@given(leaves=st.lists(LEAF, min_size=1, max_size=4), thinness=st.integers(1, 30))
def test_proof_thin_leaves_cost_one_part_in_the_thinness(leaves, thinness):
    leaves = leaves + [(0, 0)] * (4 - len(leaves))
    rows = sum(map(sum, leaves))
    tree_error = Fraction(sum(map(min, leaves)), rows)
    thick = [leaf for leaf in leaves if sum(leaf) * thinness * 4 >= rows and any(leaf)]
    goodness = Fraction(sum(map(max, thick)), rows)
    weight = sum(Fraction(a * a + b * b, a + b) for a, b in thick) / rows
    assert goodness >= 1 - tree_error - Fraction(1, thinness)
    assert weight >= 1 - 2 * tree_error + 2 * tree_error**2 - Fraction(1, thinness)


@given(scale=st.floats(0.1, 1000), at=st.floats(0, 5000))
def test_proof_tails_of_discrete_noise_are_at_most_twice_those_of_real_noise(scale, at):
    ratio = exp(-1 / scale)
    tail = 2 * ratio ** (floor(at) + 1) / (1 + ratio)
    assert tail <= 2 * exp(-at / scale) * (1 + 1e-9)


def test_fewest_rows_is_the_border():
    def bound(n_rows):
        return bojarski.theorem_5_7(n_rows, 1, 1.0, 0.05)

    border = fewest_rows(bound)
    assert not bound(border).vacuous
    assert bound(border - border // 10**6).vacuous


def test_a_bound_that_never_speaks_is_no_endless_search():
    with pytest.raises(QuestionError, match="large enough"):
        fewest_rows(lambda n: private_vote_bound("majority", n, 4, 10, 1.0, 0.05, 0.1, 20))


GOOD = {
    "theorem_5_1": {"tree_error": 0.1},
    "theorem_5_2": {"tree_error": 0.1},
    "theorem_5_3": {
        "n_rows": 100, "height": 1, "training_share": 0.9, "test_share": 0.9,
        "margin": 0.1, "thinness": 9, "confidence": 1,
    },
    "theorem_5_4": {
        "voting": "majority", "n_rows": 100, "height": 1, "tree_error": 0.1,
        "margin": 0.1, "thinness": 9, "confidence": 1,
    },
    "theorem_5_5": {
        "n_rows": 100, "height": 1, "tree_error": 0.1,
        "margin": 0.1, "slack": 0.1, "thinness": 9, "confidence": 1,
    },
    "theorem_5_6": {
        "n_rows": 100, "height": 1, "n_trees": 3, "epsilon": 1.0, "training_share": 0.9, "test_share": 0.9,
        "margin": 0.1, "thinness": 9,
    },
    "theorem_5_6_shares": {"voting": "threshold", "tree_error": 0.1, "margin": 0.1, "thinness": 9},
    "theorem_5_7": {"n_rows": 100, "height": 1, "epsilon": 1.0, "tree_error": 0.1},
    "theorem_5_8": {
        "n_rows": 100, "height": 1, "n_trees": 3, "epsilon": 1.0, "tree_error": 0.1,
        "margin": 0.1, "slack": 0.1, "thinness": 9,
    },
    "theorem_5_9": {"n_rows": 100, "height": 1, "epsilon": 1.0, "tree_error": 0.1},
    "best_number_of_trees": {"n_rows": 100, "height": 1, "epsilon": 1.0},
}  # fmt: skip
BAD = {
    "voting": ["sum"],
    "n_rows": [0, 1.5, inf, float("nan"), 1e301],
    "height": [-1, 0.5, inf, 5000],
    "n_trees": [0, 1.5, inf],
    "epsilon": [0.0, -1.0, inf, float("nan")],
    "tree_error": [0.0, 0.51, float("nan")],
    "margin": [0.0, 1.0],
    "thinness": [0],
    "confidence": [0],
    "slack": [0.0, 1.0],
    "training_share": [-0.1, 1.1],
    "test_share": [-0.1, 1.1],
}


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [(name, arg, value) for name, good in GOOD.items() for arg in good for value in BAD[arg]],
)
def test_assumptions_are_checked_and_named(name, argument, value):
    function = getattr(bojarski, name)
    function(**GOOD[name])
    with pytest.raises(QuestionError, match=argument.removeprefix("training_").removeprefix("test_")):
        function(**GOOD[name] | {argument: value})


def test_margins_end_at_a_half_but_for_probabilistic_averaging():
    for name in ("theorem_5_3", "theorem_5_4", "theorem_5_6"):
        with pytest.raises(QuestionError, match="½"):
            getattr(bojarski, name)(**GOOD[name] | {"margin": 0.5})
    for name in ("theorem_5_5", "theorem_5_8"):
        getattr(bojarski, name)(**GOOD[name] | {"margin": 0.5})
    with pytest.raises(QuestionError, match="2/K"):
        bojarski.theorem_5_6_shares("majority", 0.1, margin=0.3, thinness=10)


def test_numbers_of_the_page_on_theory():
    page = (Path(privet.__file__).parents[2] / "docs" / "theory.md").read_text()
    blocks = re.findall(r"^```pycon\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "theory.md", "docs/theory.md", 0)
    assert doctest.DocTestRunner().run(test).failed == 0
