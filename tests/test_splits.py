"""Splits: criteria against plain twins and over all neighbours, exact choices, refusals."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache, reduce
from itertools import product
from math import log, log2
from operator import add

import numpy as np
import pandas as pd
import pytest

from laws import follows
from privet import Budget, Categorical, GreedyTreeClassifier, Label, Ledger, QuestionError, Schema, protect
from privet.audit.exact import Explorer, Rejected
from privet.kernels.criteria import ENTROPY_BITS, GINI_BITS, Criterion, criterion_named, entropy_table
from privet.kernels.splits import (
    GINI,
    INFORMATION_GAIN,
    MAX,
    SCALE,
    Pairs,
    Run,
    Scoring,
    _compact,
    child_score,
    count_labels,
    count_pairs,
    count_splits,
    find_thresholds,
    score_pairs,
)
from privet.noise.bits import SecureBits
from privet.noise.ranges import exponential_ranges, weight_table
from privet.privacy import Repeatable
from privet.privacy.budget import UNITS, bounded_range_epsilon
from privet.structure import MultiwayTrees, Splits, Views
from twins import random_codes, random_multiway, seen
from twins import route as plain_route

NAMES = ("max", "gini", "information_gain")
SMALL = Schema([Categorical("a", ["x", "y"])], Label("y", [0, 1, 2]), max_rows=100)


@cache
def measure(name: str) -> tuple[Criterion, np.ndarray]:
    criterion = criterion_named(name, SMALL)
    return criterion, entropy_table(criterion, 100)


def child(name: str, counts) -> int:
    criterion, table = measure(name)
    counts = np.array(counts, np.int64)
    return int(child_score(counts, counts.sum(), criterion.number, criterion.fraction_bits, table))


def true_score(name: str, counts) -> float:
    n, x = sum(counts), [c for c in counts if c]
    if name == "max":
        return max(counts)
    if name == "gini":
        return -(n - sum(c * c for c in x) / n) * 2**GINI_BITS if n else 0.0
    return sum(c * log2(c / n) for c in x) * 2**ENTROPY_BITS


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_paper_up_to_their_grid(name):
    for counts in product(range(12), repeat=3):
        assert abs(child(name, counts) - true_score(name, counts)) <= 1 + sum(counts) / 2


@pytest.mark.parametrize(
    "counts",
    [
        (2**31 - 1, 0),
        (2**31 - 2, 1),
        (2**31, 2**31),
        (2_200_000_000, 2_100_000_000, 7),
        (5 * 10**9, 4 * 10**9, 10**9),
        (2**40 + 12_345, 2**39 - 1, 3),
        (2**44, 2**44 - 1),
        (10**10, 0, 0),
    ],
)
def test_gini_is_exact_beyond_the_rows_whose_square_fits_into_64_bits(counts):
    """Of a leaf of billions of rows too, one more moves the score by no more than the sensitivity."""
    criterion, _ = measure("gini")

    def exact(listed) -> int:
        n = sum(listed)
        whole, rest = divmod(n * n - sum(c * c for c in listed), n)
        return -((whole << GINI_BITS) + (rest << GINI_BITS) // n)

    assert child("gini", counts) == exact(counts)
    for label in range(len(counts)):
        more = [c + (i == label) for i, c in enumerate(counts)]
        assert child("gini", more) == exact(more)
        assert 0 <= child("gini", counts) - child("gini", more) <= criterion.sensitivity


def test_information_gain_of_many_rows_stays_close_to_the_truth():
    criterion = criterion_named("information_gain", Schema(SMALL.features, SMALL.label, 10**6))
    table = entropy_table(criterion, 10**6)
    for counts in ((500_000, 400_000, 100_000), (999_000, 500, 500), (3, 999_990, 7)):
        exact = int(child_score(np.array(counts), 10**6, INFORMATION_GAIN, 0, table))
        assert abs(exact - true_score("information_gain", counts)) < 0.02 * criterion.sensitivity


@pytest.mark.parametrize("name", NAMES)
def test_a_row_moves_every_score_one_way_and_by_no_more_than_the_sensitivity(name):
    """All count vectors of a child with up to nine rows a label: every row that could be added."""
    criterion, _ = measure(name)
    moves = [
        child(name, [c + (i == label) for i, c in enumerate(counts)]) - child(name, counts)
        for counts in product(range(10), repeat=3)
        for label in range(3)
    ]
    if name == "max":
        assert set(moves) == {0, 1}
    else:
        assert max(moves) == 0
        assert min(moves) >= -criterion.sensitivity
    # Not much less would do: the sensitivity is that of the paper, not a loose one.
    reach = {"max": 1, "gini": 0.85, "information_gain": 0.6}[name]
    assert max(map(abs, moves)) >= reach * criterion.sensitivity


def test_sensitivities_are_those_of_the_paper():
    assert [criterion_named(name, SMALL).sensitivity for name in ("max", "gini")] == [1, 2 << GINI_BITS]
    bound = (log2(101) + 1 / log(2)) * 2**ENTROPY_BITS
    assert bound <= criterion_named("information_gain", SMALL).sensitivity <= bound + 1


def test_steps_of_the_entropy_table_rise_and_are_bounded_whatever_the_rows():
    for max_rows, n_rows in ((100, 100), (100, 5000), (1, 3), (10**6, 10**5)):
        criterion = criterion_named("information_gain", Schema(SMALL.features, SMALL.label, max_rows))
        table = entropy_table(criterion, n_rows)
        steps = np.diff(table)
        assert len(table) == n_rows + 1
        assert table[0] == 0 and (np.diff(steps) >= 0).all()
        assert steps.min() >= 0 and steps.max() <= criterion.sensitivity
    long, short = (entropy_table(criterion, n) for n in (500, 100))
    assert np.array_equal(long[:101], short)


def test_gini_is_exact_for_counts_of_millions():
    counts = (2**30, 2**30 - 7, 3)
    n = sum(counts)
    exact = Fraction(n * n - sum(c * c for c in counts), n) * 2**GINI_BITS
    assert child("gini", counts) == -(exact.numerator // exact.denominator)


def scoring(name: str, rate: Fraction, n_rows: int) -> Scoring:
    criterion, table = criterion_named(name, SMALL), weight_table(rate)
    entropy = entropy_table(criterion, n_rows)
    return Scoring(criterion.number, criterion.fraction_bits, entropy, table.fine, table.coarse, table.shift)


def random_case(seed: int):
    """Random trees over features of several codes, rows, and random choices for their leaves."""
    rng = np.random.default_rng(seed)
    sizes = [3, 6, 40]
    trees = random_multiway(rng, sizes, 2, 2)
    codes = random_codes(rng, sizes, 120, np.uint16)
    labels = rng.integers(0, 3, 120).astype(np.uint8)
    view = np.array([0, 1, 2, 4, 5], np.int32)
    lowest, highest = np.zeros((2, trees.n_leaves, len(view)), np.int32)
    for leaf, choice in product(range(trees.n_leaves), range(len(view))):
        kind = rng.integers(3)
        size = sizes[trees.views.source[view[choice]]]
        if kind == 0:
            lowest[leaf, choice] = 1
        elif kind == 1 and size > 3:
            lowest[leaf, choice], highest[leaf, choice] = np.sort(rng.integers(1, size, 2))
    return trees, Splits(view, lowest, highest), codes, labels


def plain_scores(name, trees, splits, codes, labels, where, leaf, choice) -> dict[int, int]:
    """Score by threshold of a choice of a leaf (0: a child for every code), row by row."""
    rows = [i for i, leaves in enumerate(where) if leaf in leaves]
    shown = [seen(trees.views, codes, splits.view[choice], i) for i in rows]

    def score(branches) -> int:
        counts: dict[int, list[int]] = {}
        for branch, i in zip(branches, rows, strict=True):
            counts.setdefault(branch, [0, 0, 0])[labels[i]] += 1
        return sum(child(name, c) for c in counts.values())

    low, high = splits.lowest[leaf, choice], splits.highest[leaf, choice]
    if low > high:
        return {}
    if high == 0:
        return {0: score(shown)}
    return {t: score([code >= t for code in shown]) for t in range(low, high + 1)}


def counted(trees, splits, pairs, codes, labels, batches=((0, 120),)):
    """Rows by leaf and label, and cells of pairs, from several batches."""
    sizes = np.full(len(splits.view), 50)
    parts = [(codes[:, a:b].copy(), labels[a:b], 3) for a, b in batches]
    totals = [count_labels(trees, *part) for part in parts]
    cells = [count_pairs(trees, splits.view, sizes, pairs, *part) for part in parts]
    return sum(totals[1:], totals[0]), reduce(add, cells)


@pytest.mark.parametrize("loose", [0, 1 << 22])
@pytest.mark.parametrize("batches", [((0, 120),), ((0, 7), (7, 7), (7, 60), (60, 120))])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_scores_every_threshold_as_its_plain_twin(name, batches, loose, monkeypatch):
    """From one batch or several, also where their cells are brought together on the way."""
    monkeypatch.setattr("privet.kernels.splits.LOOSE", loose)
    trees, splits, codes, labels = random_case(1)
    rate = Fraction(1, 50)
    numbers = scoring(name, rate, 120)
    pairs = Pairs(*np.nonzero(splits.allowed))
    totals, cells = counted(trees, splits, pairs, codes, labels, batches)
    best, mass = np.zeros((2, *splits.lowest.shape), np.int64)
    best[pairs.leaf, pairs.choice], mass[pairs.leaf, pairs.choice] = score_pairs(
        cells, pairs, totals, splits, numbers
    )
    table, where = weight_table(rate), plain_route(trees, codes).T
    for leaf, choice in product(range(trees.n_leaves), range(len(splits.view))):
        plain = plain_scores(name, trees, splits, codes, labels, where, leaf, choice)
        if not plain:
            assert mass[leaf, choice] == 0
            continue
        top = max(plain.values())
        weights = {t: table.bound(top - score) for t, score in plain.items()}
        assert best[leaf, choice] == top
        assert mass[leaf, choice] == sum(weights.values())
        if 0 in plain:
            continue
        ends = np.cumsum(list(weights.values()))
        points = np.concatenate([[0], ends - 1, ends[:-1]])
        (pair,) = np.flatnonzero((pairs.leaf == leaf) & (pairs.choice == choice))
        found = find_thresholds(cells, pairs, totals, splits, numbers, np.full(len(points), pair), points)
        place = np.searchsorted(ends, points, side="right")
        assert found[0].tolist() == [list(plain)[k] for k in place]
        assert found[1].tolist() == [top - list(plain.values())[k] for k in place]
        assert found[2].tolist() == (points - np.append(0, ends)[place]).tolist()


def test_cells_are_counts_of_rows_by_leaf_code_and_label():
    trees, splits, codes, labels = random_case(2)
    pairs = Pairs(*np.nonzero(splits.allowed))
    _, cells = counted(trees, splits, pairs, codes, labels, ((0, 50), (50, 120)))
    start, end, words = cells.run
    where = plain_route(trees, codes).T
    for p, (leaf, choice) in enumerate(zip(pairs.leaf, pairs.choice, strict=True)):
        found = Counter()
        for word in np.concatenate([words[a:b] for a, b in zip(start[:, p], end[:, p], strict=True)]):
            found[int(word) >> 48, int(word) >> 32 & 0xFFFF] += int(word) & 0xFFFFFFFF
        rows = [i for i, leaves in enumerate(where) if leaf in leaves]
        assert found == Counter((seen(trees.views, codes, splits.view[choice], i), labels[i]) for i in rows)


def test_cells_of_more_rows_than_a_word_tells_keep_them_all():
    """Words of 2³² − 1 rows each, brought together several times: none is lost, none is written over."""
    full = np.array([(3 << 48) | (1 << 32) | 0xFFFFFFFF] * 5 + [(4 << 48) | 7], np.uint64)
    start, end = np.array([[0, 5]]), np.array([[5, 6]])
    merged = _compact(Run(start, end, full), np.array([2, 2]), (8, 2))
    kept = [merged.words[a:b] for a, b in zip(merged.start[0], merged.end[0], strict=True)]
    assert sum(int(word) & 0xFFFFFFFF for word in kept[0]) == 5 * 0xFFFFFFFF
    assert {int(word) >> 32 for word in kept[0]} == {(3 << 16) | 1}
    assert kept[1].tolist() == [(4 << 48) | 7]


def test_choices_do_not_depend_on_how_many_cells_are_counted_at_a_time(schema, monkeypatch):
    """One pass over all pairs of a leaf and a choice, or one for each few of them."""

    def fitted(most):
        monkeypatch.setattr("privet.privacy.questions.trees.MAX_COUNTED", most)
        rows = protect(people(schema), schema, Ledger().create("p", Budget(9)), mechanisms=Repeatable(4))
        tree = GreedyTreeClassifier(epsilon=2, schema=schema, criterion="gini", max_depth=4).fit(rows)
        return {name: array.tolist() for name, array in tree.model_.to_file()[1].items()}

    assert fitted(1) == fitted(1500) == fitted(1 << 24)


def test_weights_bound_the_exponential_closely_from_above():
    for rate in (Fraction(1, 3), Fraction(1, 1000), Fraction(7, 3)):
        table = weight_table(rate)
        for gap in (0, 1, 2, 5, 100, 1000, 10**6, 10**12):
            exact = np.exp(-float(rate) * gap) * 2**SCALE
            assert exact <= table.bound(gap) * (1 + 1e-12)
            assert table.bound(gap) <= exact + 4


def test_choices_among_ranges_follow_the_exponential_mechanism_and_no_mutant():
    """Two choices with thresholds and one without: weights exp(rate·score) over thresholds of a choice."""
    rate, n = Fraction(1, 4), 60_000
    scores = [{1: 4, 2: 9, 3: 9, 4: 0}, {0: 7}, {1: 8, 2: 2}]
    table = weight_table(rate)
    best = np.tile([max(s.values()) for s in scores], (n, 1))
    weights = [[table.bound(max(s.values()) - q) for q in s.values()] for s in scores]
    mass = np.tile([sum(w) for w in weights], (n, 1))
    counts = np.tile([4, 0, 2], (n, 1))

    def locate(rows, choices, points):
        out = np.empty((3, len(rows)), np.int64)
        for k, (choice, point) in enumerate(zip(choices, points, strict=True)):
            ends = np.cumsum(weights[choice])
            i = int(np.searchsorted(ends, point, side="right"))
            threshold = list(scores[choice])[i]
            gap = max(scores[choice].values()) - scores[choice][threshold]
            out[:, k] = threshold, gap, point - (ends[i] - weights[choice][i])
        return out

    choice, threshold = exponential_ranges(best, mass, counts, locate, table, SecureBits())

    def law(rate):
        weight = {10 * c + t: np.exp(rate * q) / len(s) for c, s in enumerate(scores) for t, q in s.items()}
        return {outcome: w / sum(weight.values()) for outcome, w in weight.items()}

    drawn = 10 * choice + threshold
    assert follows(drawn, law(0.25))
    assert not follows(drawn, law(0.25 * 0.9))
    assert not follows(drawn, law(0.25 * 1.1))


def test_a_coin_between_two_integers_draws_further_bits():
    table = weight_table(Fraction(1))
    wanted = np.exp(-1) * 2**SCALE
    heads = sum(table.keeps(1, int(wanted), SecureBits()) for _ in range(4000))
    assert abs(heads / 4000 - wanted % 1) < 0.05


def test_bounded_range_epsilon_never_costs_more_than_rho():
    for rho in (Fraction(1, 8), Fraction(1, 3), Fraction(7, 10**6)):
        epsilon = bounded_range_epsilon(rho)
        assert epsilon**2 / 8 <= rho
        assert float(epsilon**2 / 8) == pytest.approx(float(rho))


def people(schema: Schema, n: int = 400):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "height": rng.uniform(0, 2.5, n),
            "age": rng.integers(0, 121, n),
            "town": rng.choice(["north", "south", "west"], n),
        }
    )
    frame["ill"] = np.where(frame["age"] > 60, "yes", "no")
    return frame


def root(n_features: int) -> MultiwayTrees:
    return MultiwayTrees(
        Views.of(n_features), np.array([0]), np.array([-1], np.int32), np.zeros(1, np.uint16), np.array([0])
    )


def menu() -> Splits:
    return Splits(
        np.array([0, 1, 2], np.int32), np.array([[1, 1, 0]], np.int32), np.array([[65_534, 120, 0]], np.int32)
    )


@pytest.mark.parametrize("cost", [{"epsilon": 2}, {"rho": Fraction(1, 2)}])
@pytest.mark.parametrize("criterion", NAMES)
def test_the_right_split_is_chosen_where_it_is_clear(schema, criterion, cost):
    schema = Schema(schema.features, schema.label, max_rows=500)
    account = Ledger().create("people", Budget(10, 1e-6))
    protected = protect(people(schema), schema, account)
    chosen = protected.choose_split(root(3), menu(), criterion, **cost)
    assert chosen.choice.tolist() == [1]
    assert 55 <= chosen.threshold[0] <= 66


def test_a_choice_is_charged_once_for_all_leaves(schema, account):
    protected = protect(people(schema), schema, account)
    protected.choose_split(root(3), menu(), "max", epsilon="1/3")
    assert account.spent().epsilon == Fraction(UNITS // 3, UNITS)


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ("gain_ratio", "by any amount"),
        ("information_gain", "max_rows"),
        ("entropy", "max, gini, information_gain"),
    ],
)
def test_criteria_that_cannot_be_are_refused_before_anything_is_charged(schema, account, criterion, words):
    protected = protect(people(schema), schema, account)
    with pytest.raises(QuestionError, match=words):
        protected.choose_split(root(3), menu(), criterion, epsilon=1)
    assert account.spent().epsilon == 0


@pytest.mark.parametrize(
    "change",
    [
        {"view": np.array([0, 1, 3], np.int32)},
        {"view": np.array([0, 1, 2])},
        {"highest": np.array([[65_536, 120, 0]], np.int32)},
        {"lowest": np.array([[0, 1, 0]], np.int32)},
        {"lowest": np.array([[1, 1]], np.int32)},
        {"lowest": np.array([[-4, 1, 0]], np.int32)},
    ],
)
def test_splits_that_do_not_fit_are_refused(schema, account, change):
    protected = protect(people(schema), schema, account)
    splits = Splits(**{**vars(menu()), **change})
    with pytest.raises(QuestionError, match="do not fit"):
        protected.choose_split(root(3), splits, "max", epsilon=1)
    assert account.spent().epsilon == 0


def test_counts_of_splits_are_counts_plus_the_noise_of_their_sensitivity(schema, account):
    frame = people(schema)
    protected = protect(frame, schema, account)
    splits = Splits(np.array([1, 2], np.int32), np.zeros((1, 2), np.int32), np.zeros((1, 2), np.int32))
    noisy = protected.noisy_split_counts(root(3), splits, by_label=True, epsilon=1)
    assert noisy.values.shape == (1, 122 + 5, 2)
    assert noisy.parameter == 2
    town = noisy.values[0, 122:125].sum(axis=1)
    assert np.abs(town - frame["town"].value_counts()[["north", "south", "west"]].to_numpy()).max() < 60
    plain = protected.noisy_split_counts(root(3), splits, by_label=False, epsilon=1)
    assert plain.values.shape == (1, 127, 1)


def test_totals_of_leaves(schema, account):
    protected = protect(people(schema), schema, account)
    noisy = protected.noisy_leaf_totals(root(3), epsilon=5)
    assert abs(int(noisy.values[0]) - 400) < 10


def test_the_constants_of_the_kernel_are_those_of_the_criteria():
    assert [criterion_named(name, SMALL).number for name in NAMES] == [MAX, GINI, INFORMATION_GAIN]


def test_one_round_of_the_code_has_exactly_the_law_of_the_exponential_mechanism():
    """Weights of two bits and odds of one half: every integer that can be drawn, every coin, in one law."""
    scores = [{1: 2, 2: 3, 3: 0}, {0: 4}, {1: 1, 2: 3}]
    explorer = Explorer()
    weight = {gap: Fraction(4, 2**gap) for gap in range(5)}

    class Halves:
        def bound(self, gap):
            return -(-weight[gap].numerator // weight[gap].denominator)

        def keeps(self, gap, point, bits):
            heads = min(max(weight[gap] - point, Fraction(0)), Fraction(1))
            return explorer.choose([(side, p) for side, p in ((True, heads), (False, 1 - heads)) if p])

    class Bits:
        """One whole number of eight bits a run; whatever needs a second one has rejected the first."""

        drawn = False

        def integer(self, width):
            if self.drawn:
                raise Rejected
            self.drawn = True
            return explorer.choose([(k, Fraction(1, 1 << width)) for k in range(1 << width)])

    bounds = [[Halves().bound(max(s.values()) - q) for q in s.values()] for s in scores]

    def locate(rows, choices, points):
        if not len(rows):
            return np.empty((3, 0), np.int64)
        (choice,), (point,) = choices, points
        ends = np.cumsum(bounds[choice])
        i = int(np.searchsorted(ends, point, side="right"))
        threshold, score = list(scores[choice].items())[i]
        return np.array(
            [[threshold], [max(scores[choice].values()) - score], [point - ends[i] + bounds[choice][i]]]
        )

    def run():
        best, mass = (
            [f(s) for s in part] for f, part in ((lambda s: max(s.values()), scores), (sum, bounds))
        )
        chosen = exponential_ranges(
            np.array([best]), np.array([mass]), np.array([[3, 0, 2]]), locate, Halves(), Bits()
        )
        return int(chosen[0][0]), int(chosen[1][0])

    law = explorer.law(run)
    wanted = {(c, t): Fraction(2**q, max(len(s), 1)) for c, s in enumerate(scores) for t, q in s.items()}
    kept, total = sum(law.values()), sum(wanted.values())
    assert {outcome: p / kept for outcome, p in law.items()} == {o: w / total for o, w in wanted.items()}


def test_counts_of_splits_agree_with_a_plain_twin():
    trees, splits, codes, labels = random_case(2)
    closed = np.where(splits.highest > 0, 1, splits.lowest).astype(np.int32)
    splits = Splits(splits.view, closed, np.zeros_like(splits.highest))
    sizes = np.array([[3, 6, 40][trees.views.source[v]] for v in splits.view])
    counts = count_splits(trees, splits, sizes, codes, labels, 3)
    plain, first = np.zeros_like(counts), np.cumsum(sizes) - sizes
    for row, leaves in enumerate(plain_route(trees, codes).T):
        for leaf, (choice, view) in product(leaves, enumerate(splits.view)):
            if splits.allowed[leaf, choice]:
                plain[leaf, first[choice] + seen(trees.views, codes, view, row), labels[row]] += 1
    assert plain.sum() > 0
    assert np.array_equal(counts, plain)
