"""Every draw has exactly the law it claims: tables, look-ups, ties, digits, and samples of them."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import factorial

import numpy as np
import opendp.prelude as opendp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import (
    PRECISE,
    exp_minus,
    follows,
    gaussian_probabilities,
    laplace_probability,
    same_law,
)
from privet.errors import QuestionError
from privet.noise import gaussian, samplers
from privet.noise.bits import WORD, RowDraws, SecureBits, StudyBits, uniform_below, uniform_integers
from privet.noise.inversion import TIE, InverseTable, _look_up, exp_bracket, invert

N = 200_000
SCALES = [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(173, 2), Fraction(3000), Fraction(10**7)]
VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(50), Fraction(12345, 7)]
PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
)


class ScriptedBits:
    """Bits that were written down beforehand."""

    private = False

    def __init__(self, words: list[int] = (), integers: list[int] = ()) -> None:
        self._words = list(words)
        self._integers = list(integers)

    def words(self, size: int) -> np.ndarray:
        taken, self._words = self._words[:size], self._words[size:]
        return np.array(taken, np.uint32)

    def integer(self, bits: int) -> int:
        return self._integers.pop(0)


def first_bits(value: Decimal, bits: int = WORD) -> int:
    """First bits of a number in [0, 1)."""
    shifted = PRECISE.multiply(value, Decimal(1 << bits))
    return min(int(shifted.to_integral_value(ROUND_FLOOR)), (1 << bits) - 1)


def geometric_below(gamma: Fraction, k: int) -> Decimal:
    return PRECISE.subtract(Decimal(1), exp_minus(gamma * (k + 1)))


def digit_below(gamma: Fraction, k: int) -> Decimal:
    size = 1 << samplers.DIGIT
    if k >= size - 1:
        return Decimal(1)
    inside = PRECISE.subtract(Decimal(1), exp_minus(gamma * size))
    return PRECISE.divide(geometric_below(gamma, k), inside)


def erf(square: Fraction) -> Decimal:
    """erf(√square) by its alternating series about zero, which needs more digits than it keeps."""
    with localcontext(Context(prec=400)):
        q, root = Decimal(square.numerator) / Decimal(square.denominator), Decimal(0)
        power, n = Decimal(1), 0
        while n < 2 * q or abs(power) > Decimal("1e-200"):
            root += power / (2 * n + 1)
            n += 1
            power *= -q / n
        return 2 * (q / PI).sqrt() * root


def gaussian_below(variance: Fraction, top: int) -> list[Decimal]:
    return [erf((2 * k + 1) ** 2 / (8 * variance)) for k in range(top)]


def poisson_below(k: int) -> Decimal:
    terms = sum((Fraction(1, factorial(i)) for i in range(k + 1)), Fraction(0))
    share = PRECISE.divide(Decimal(terms.numerator), Decimal(terms.denominator))
    return PRECISE.multiply(share, exp_minus(Fraction(1)))


@given(st.fractions(min_value=0, max_value=200, max_denominator=10**6), st.sampled_from([8, 64, 160]))
def test_bracket_of_the_exponential_encloses_it_tightly(x: Fraction, bits: int) -> None:
    low, high = exp_bracket(x, bits)
    truth = PRECISE.multiply(exp_minus(x), Decimal(1 << bits))
    assert low <= truth <= high
    assert high - low <= 2


@given(st.fractions(min_value=0, max_value=40, max_denominator=10**6), st.sampled_from([8, 64, 160]))
def test_bracket_of_the_error_function_encloses_it_tightly(square: Fraction, bits: int) -> None:
    low, high = gaussian.erf_bracket(square, bits)
    assert low <= PRECISE.multiply(erf(square), Decimal(1 << bits)) <= high
    assert high - low <= 2


@pytest.mark.parametrize("bits", [1, 64, 200])
def test_bracket_of_pi_encloses_it_tightly(bits: int) -> None:
    low, high = gaussian.pi_bracket(bits)
    assert low <= PRECISE.multiply(PI, Decimal(1 << bits)) <= high
    assert high - low <= 1


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(10**6 + 1, 10**6), Fraction(7, 3), Fraction(999)])
def test_brackets_that_follow_one_another_enclose_those_that_stand_alone(variance: Fraction) -> None:
    follow = list(gaussian.magnitude_brackets(variance, 96))
    alone = [gaussian.magnitude_bracket(variance, k, 128) for k in range(len(follow))]
    assert all(a[0] << 32 <= b[1] and b[0] <= a[1] << 32 for a, b in zip(follow, alone, strict=True))
    assert max(high - low for low, high in follow) <= 2
    assert (1 << 96) - follow[-1][0] < 1 << 46


@pytest.mark.parametrize("gamma", [Fraction(3), Fraction(1, 2), Fraction(7, 300), Fraction(1, 256)])
def test_geometric_table_holds_the_first_bits_of_the_law(gamma: Fraction) -> None:
    words = samplers._geometric_table(gamma).words
    with_decimals = [first_bits(geometric_below(gamma, k)) for k in range(len(words))]
    assert words.tolist() == with_decimals
    assert words[-1] == (1 << WORD) - 1


@pytest.mark.parametrize("gamma", [Fraction(1, 300), Fraction(1, 10**6), Fraction(1, 10**12)])
def test_digit_table_holds_the_first_bits_of_the_law(gamma: Fraction) -> None:
    words = samplers._digit_table(gamma).words
    assert words.tolist() == [first_bits(digit_below(gamma, k)) for k in range(len(words))]
    assert len(words) == 1 << samplers.DIGIT


@pytest.mark.parametrize("variance", VARIANCES)
def test_gaussian_table_holds_the_first_bits_of_the_law(variance: Fraction) -> None:
    words = samplers._gaussian_table(variance).words
    assert words.tolist() == [first_bits(p) for p in gaussian_below(variance, len(words))]


def test_poisson_table_holds_the_first_bits_of_the_law() -> None:
    words = samplers._poisson_table().words
    assert words.tolist() == [first_bits(poisson_below(k)) for k in range(len(words))]


@pytest.mark.parametrize(
    "table", [samplers._geometric_table(Fraction(1, 100)), samplers._gaussian_table(Fraction(40))]
)
def test_look_up_decides_exactly_where_first_bits_decide(table: InverseTable) -> None:
    near = np.concatenate([table.words.astype(np.int64) + d for d in (-1, 0, 1)])
    spread = np.random.default_rng(0).integers(0, 1 << WORD, 20_000)
    words = np.concatenate([near[(near >= 0) & (near < 1 << WORD)], spread]).astype(np.uint32)
    out = np.empty(len(words), np.int64)
    _look_up(0, len(words), words, table.words, table.guide, out)
    expected = np.searchsorted(table.words, words, side="left")
    ties = np.isin(words, table.words)
    assert ties.any()
    assert (out[ties] == TIE).all()
    assert (out[~ties] == expected[~ties]).all()


@given(st.integers(0, (1 << 96) - 1))
def test_further_bits_decide_ties_as_the_law_says(u: int) -> None:
    gamma = Fraction(1, 20)
    table = samplers._geometric_table(gamma)
    k = u % 40
    known = int(table.words[k])
    rest = u >> 32
    drawn = invert(table.bracket, ScriptedBits(integers=[rest, 1 << 40, 5]), known, WORD)
    value = PRECISE.divide(Decimal((known << 64) | rest), Decimal(1 << 96))
    at_most = [j for j in range(k + 2) if value < geometric_below(gamma, j)]
    assert drawn == at_most[0]


def test_a_tie_is_resolved_inside_a_bulk_draw() -> None:
    table = samplers._geometric_table(Fraction(1, 20))
    word = int(table.words[3])
    boundary = first_bits(geometric_below(Fraction(1, 20), 3), 96) & ((1 << 64) - 1)
    below = table.draw(1, ScriptedBits([word], [boundary - 1]))
    above = table.draw(1, ScriptedBits([word], [boundary + 1]))
    assert (below[0], above[0]) == (3, 4)


def test_draws_beyond_the_table_reach_the_tail() -> None:
    table = samplers._geometric_table(Fraction(1))
    last = (1 << WORD) - 1
    far = table.draw(1, ScriptedBits([last], [(1 << 64) - 1, (1 << 64) - 1, 0]))
    assert far[0] > len(table.words)


def test_digits_of_a_geometric_variable_are_independent() -> None:
    q = Fraction(5, 7)
    base = 4
    for value in range(40):
        low, high = value % base, value // base
        digit = (1 - q) * q**low / (1 - q**base)
        rest = (1 - q**base) * (q**base) ** high
        assert digit * rest == (1 - q) * q**value


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_noise_follows_its_law_and_no_other(scale: Fraction) -> None:
    sample = samplers.discrete_laplace(scale, N, SecureBits())
    width = max(1, int(scale * 8) // 200)
    binned = sample // width if width > 1 else sample

    def law(s: float) -> dict[int, float]:
        if width == 1:
            reach = int(12 * s) + 2
            return {k: laplace_probability(k, s) for k in range(-reach, reach + 1)}
        q = np.exp(-1 / s)
        tail = lambda k: q**k / (1 + q) if k >= 0 else 1 - q ** (1 - k) / (1 + q)  # noqa: E731
        reach = int(12 * s / width)
        return {b: float(tail(b * width) - tail((b + 1) * width)) for b in range(-reach, reach)}

    assert follows(binned, law(float(scale)))
    assert not follows(binned, law(float(scale) * 0.9))
    assert not follows(binned, law(float(scale) * 1.1))


@pytest.mark.parametrize("variance", VARIANCES)
def test_gaussian_noise_follows_its_law_and_no_other(variance: Fraction) -> None:
    sample = samplers.rounded_gaussian(variance, N, SecureBits())
    reach = int(12 * float(variance) ** 0.5) + 2

    def law(v: float) -> dict[int, float]:
        return dict(zip(range(-reach, reach + 1), gaussian_probabilities(reach, v), strict=True))

    assert follows(sample, law(float(variance)))
    assert not follows(sample, law(float(variance) * 0.81))
    assert not follows(sample, law(float(variance) * 1.21))


def test_noise_has_the_law_of_opendp() -> None:
    opendp.enable_features("contrib")
    vector = opendp.vector_domain(opendp.atom_domain(T=int))
    zeros = [0] * 60_000
    theirs = opendp.m.make_laplace(vector, opendp.l1_distance(T=int), scale=7.5)(zeros)
    ours = samplers.discrete_laplace(Fraction(15, 2), len(zeros), SecureBits())
    wrong = samplers.discrete_laplace(Fraction(15, 2) * Fraction(9, 10), len(zeros), SecureBits())
    assert same_law(ours, np.array(theirs))
    assert not same_law(wrong, np.array(theirs))
    theirs = opendp.m.make_gaussian(vector, opendp.l2_distance(T=int), scale=6.0)(zeros)
    ours = samplers.rounded_gaussian(Fraction(36), len(zeros), SecureBits())
    wrong = samplers.rounded_gaussian(Fraction(36) * Fraction(81, 100), len(zeros), SecureBits())
    assert same_law(ours, np.array(theirs))
    assert not same_law(wrong, np.array(theirs))


def test_poisson_and_coins_follow_their_laws() -> None:
    bits = SecureBits()
    sample = np.array([samplers.poisson(3, bits) for _ in range(20_000)])
    law = {k: float(np.exp(-3.0) * 3.0**k / factorial(k)) for k in range(30)}
    assert follows(sample, law)
    coins = samplers.bernoulli(lambda _, width: exp_bracket(Fraction(1), width), N, bits)
    assert follows(coins.astype(int), {1: float(np.exp(-1)), 0: float(1 - np.exp(-1))})


def test_a_gaussian_too_wide_for_its_table_is_refused() -> None:
    with pytest.raises(QuestionError, match="coarser grid"):
        samplers.rounded_gaussian(samplers.MAX_SIGMA_SQUARED + 1, 1, SecureBits())


def test_noise_too_wide_for_its_integers_is_refused() -> None:
    widest = 1 / samplers.MIN_RATE
    sample = samplers.discrete_laplace(widest, 20_000, SecureBits())
    assert np.abs(sample).mean() == pytest.approx(float(widest), rel=0.05)
    with pytest.raises(QuestionError, match="more budget"):
        samplers.discrete_laplace(widest + 1, 1, SecureBits())


def test_uniform_integers_keep_words_below_the_largest_multiple_only() -> None:
    bound = 3
    top = (1 << WORD) // bound * bound
    drawn = uniform_below(np.array([bound, bound]), ScriptedBits([top, 7, top - 1]))
    assert drawn.tolist() == [(top - 1) % bound, 1]
    assert uniform_integers(5, 1, ScriptedBits(integers=[255, 13])) == [3]


@pytest.mark.parametrize("bound", [1, 2, 3, 100, 1 << 20])
def test_uniform_integers_are_uniform(bound: int) -> None:
    sample = uniform_below(np.full(N, bound), SecureBits())
    pooled = sample * min(bound, 100) // bound
    groups = min(bound, 100)
    share = {g: (-(-(g + 1) * bound // groups) - -(-g * bound // groups)) / bound for g in range(groups)}
    assert bound == 1 or follows(pooled, share)
    assert sample.min() >= 0 and sample.max() < bound


def test_secure_noise_does_not_repeat_and_study_noise_does() -> None:
    def draw(bits) -> list[int]:
        return samplers.discrete_laplace(Fraction(100), 50, bits).tolist()

    assert draw(SecureBits()) != draw(SecureBits())
    assert draw(StudyBits(3)) == draw(StudyBits(3)) != draw(StudyBits(4))


KEYS = [bytes([k] * 32) for k in range(3)]


@pytest.mark.parametrize("bound", [2, 3, 1000, 3 << 30])
def test_draws_of_rows_are_uniform_and_those_of_two_keys_independent(bound: int) -> None:
    rows = np.arange(N)
    draws = np.array([RowDraws(key).below(bound, rows) for key in KEYS])
    groups = min(bound, 20)
    pooled = draws * groups // bound
    share = {g: (-(-(g + 1) * bound // groups) - -(-g * bound // groups)) / bound for g in range(groups)}
    for one in pooled:
        assert follows(one, share)
        assert not follows(np.where(np.arange(N) % 10, one, 0), share)
    for a, b in ((0, 1), (0, 2)):
        together = {i * groups + j: share[i] * share[j] for i in share for j in share}
        assert follows(pooled[a] * groups + pooled[b], together)
    # Neighbours in identity, and rows a whole stretch apart, do not draw alike.
    for step in (1, 4096):
        assert follows(pooled[0][:-step] * groups + pooled[0][step:], together)
    assert (draws[0] != draws[1]).any()


@given(st.lists(st.integers(0, 1 << 62), min_size=1, max_size=40), st.integers(1, 1 << 32), st.data())
def test_a_row_draws_the_same_in_any_order_batch_and_company(rows, bound, data) -> None:
    draws = RowDraws(KEYS[0])
    whole = dict(zip(rows, draws.below(bound, np.array(rows)).tolist(), strict=True))
    mixed = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    parts = [draws.below(bound, np.array(part, np.int64)).tolist() for part in (mixed[:cut], mixed[cut:])]
    assert [whole[row] for row in mixed] == parts[0] + parts[1]
    assert all(0 <= drawn < bound for drawn in whole.values())


@pytest.mark.parametrize("bound", [7, 3 << 30])
def test_a_row_draws_the_same_beside_its_neighbours_and_far_from_all_others(bound: int) -> None:
    rows = np.arange(3000, 30_000)
    few = [*rows[::997], 1 << 60]
    found = RowDraws(KEYS[0]).below(bound, np.array(few))
    assert (found[:-1] == RowDraws(KEYS[0]).below(bound, rows)[::997]).all()
    assert RowDraws(KEYS[0]).below(bound, rows[:0]).size == 0


def test_words_of_rows_above_the_largest_multiple_are_drawn_again() -> None:
    """A bound just above half of all words: nearly every second word is drawn anew, from the next text."""
    bound = (1 << 31) + 1
    drawn = RowDraws(KEYS[1]).below(bound, np.arange(10_000))
    assert drawn.max() < bound and follows(drawn * 2 // bound, {0: 0.5, 1: 0.5})
    first = RowDraws(KEYS[1])._words(np.arange(10_000), 0)
    again = RowDraws(KEYS[1])._words(np.arange(10_000), 1)
    kept = first < bound
    assert (drawn[kept] == first[kept]).all() and 0.4 < kept.mean() < 0.6
    second = ~kept & (again < bound)
    assert (drawn[second] == again[second]).all()
