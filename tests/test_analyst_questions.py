"""Questions of analysts: conditions mean what they say, choices keep their ε, mistakes cost nothing."""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws import AtOdds, Noiseless, exponential_law, follows, gaussian_probabilities, laplace_probability
from privet import Budget, Categorical, Continuous, Label, Ledger, Schema, protect
from privet.answers import Law
from privet.audit.exact import Explorer, largest_ratio, neighbours, permute_and_flip_law
from privet.audit.stand import Paid, Rows
from privet.data import axis
from privet.data.axis import cell_value, read_axes
from privet.data.codes import encode_number
from privet.data.condition import read_condition
from privet.engines import Batch
from privet.errors import BudgetExceeded, QuestionError
from privet.privacy import Protected, Repeatable, Secure
from privet.privacy.questions.columns import quantile_scores

HALF = Fraction(1, 2)
LEVELS = ["low", "middle", "high"]
SCHEMA = Schema(
    [
        Continuous("age", 0, 9, integer=True),
        Continuous("height", 0.5, 2.5),
        Categorical("town", ["north", "far south", 3, "in"]),
        Categorical("grade", LEVELS, ordered=True),
    ],
    Label("ill", ["no", "yes"]),
)


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Rows with missing values, unknown towns and ages that are clamped."""
    random = np.random.default_rng(seed)
    age = random.integers(-1, 11, n).astype(float)
    height = random.uniform(0.4, 2.6, n)
    age[random.random(n) < 0.1] = np.nan
    height[random.random(n) < 0.1] = np.nan
    towns = np.array(["north", "far south", "3", "in", "elsewhere", None], object)
    grades = np.array([*LEVELS, None], object)
    return pd.DataFrame(
        {
            "age": age,
            "height": height,
            "town": random.choice(towns, n),
            "grade": random.choice(grades, n),
            "ill": random.choice(["no", "yes"], n),
        }
    )


PEOPLE = people()


def rows(table=PEOPLE, schema=SCHEMA, budget=100, mechanisms=None) -> Protected:
    account = Ledger().create("people", Budget(budget, "1e-6"))
    return protect(table, schema, account, mechanisms=mechanisms or Repeatable(0))


def exact_rows() -> Protected:
    """Rows whose answers have no noise, so that exact ones can be compared."""
    return rows(mechanisms=Noiseless())


# Conditions, against the same in pandas.

COMPARE = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def quoted(value: str) -> str:
    return "'" + value + "'"


def compared(name, column, sign, value, text):
    """Text of a comparison and what it means; a missing value compares with nothing."""
    known = column.notna()
    meant = ~known if sign == "!=" else pd.Series(False, column.index)
    return f"{name} {sign} {text}", meant.where(~known, COMPARE[sign](column.where(known, value), value))


tests = st.one_of(
    st.tuples(st.sampled_from(list(COMPARE)), st.sampled_from([0, 3, 9, 2.5, 8.999])).map(
        lambda t: ("age", t[0], t[1], str(t[1]))
    ),
    st.tuples(st.sampled_from(list(COMPARE)), st.sampled_from(LEVELS)).map(
        lambda t: ("grade", t[0], t[1], t[1])
    ),
    st.tuples(st.sampled_from(["=", "!="]), st.sampled_from(["north", "far south", "3", "in"])).map(
        lambda t: ("town", t[0], t[1], quoted(t[1]))
    ),
    st.tuples(st.sampled_from(["=", "!="]), st.sampled_from(["no", "yes"])).map(
        lambda t: ("ill", t[0], t[1], f'"{t[1]}"')
    ),
    st.tuples(st.sampled_from(["in", "not in"]), st.sets(st.sampled_from(["north", "3"]), min_size=1)).map(
        lambda t: ("town", t[0], sorted(t[1]), f"({', '.join(sorted(t[1]))})")
    ),
    st.tuples(st.sampled_from(["is", "is not"]), st.sampled_from(["age", "town", "grade"])).map(
        lambda t: (t[1], t[0], None, "missing")
    ),
)
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner), st.tuples(st.sampled_from(["and", "or"]), inner, inner)
    ),
    max_leaves=8,
)


def twin(condition, frame) -> tuple[str, pd.Series]:
    """The condition as text, and in pandas."""
    if condition[0] == "not":
        text, meant = twin(condition[1], frame)
        return f"not ({text})", ~meant
    if condition[0] in ("and", "or"):
        (left, a), (right, b) = (twin(part, frame) for part in condition[1:])
        return f"({left}) {condition[0]} ({right})", a & b if condition[0] == "and" else a | b
    name, sign, value, text = condition
    column = frame[name]
    if sign in ("is", "is not"):
        meant = column.isna()
        return f"{name} {sign} {text}", meant if sign == "is" else ~meant
    if sign in ("in", "not in"):
        meant = column.isin(value)
        return f"{name} {sign} {text}", meant if sign == "in" else ~meant
    if name == "age":
        return compared(name, column.clip(0, 9), sign, value, text)
    if name == "grade":
        return compared(name, column.map(LEVELS.index, na_action="ignore"), sign, LEVELS.index(value), text)
    meant = column == value
    return f"{name} {sign} {text}", meant if sign == "=" else ~meant


@settings(max_examples=150, deadline=None)
@given(condition=conditions)
def test_conditions_mean_what_they_mean_in_pandas(condition):
    text, meant = twin(condition, PEOPLE)
    assert exact_rows().noisy_count(text, epsilon=1).values[0] == meant.sum()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("age>=3 AND ill=yes OR town=north", "((age >= 3) and ill = yes) or town = north"),
        ("not age = 3 and ill = yes", "(not (age = 3)) and ill = yes"),
        ("not not age = 3", "age = 3"),
        ("town = 3.0", "town = 3"),
        ("town = 'in'", 'town in ("in")'),
        ("age = 1e0", "age = 1"),
        ("\t'age'\n<\n4 ", "age < 4"),
        ("town is unknown", "town not in (north, 'far south', 3, 'in') and town is not missing"),
    ],
)
def test_ways_to_write_the_same(text, same):
    counts = [int(exact_rows().noisy_count(t, epsilon=1).values[0]) for t in (text, same)]
    assert counts[0] == counts[1] > 0


@settings(max_examples=200, deadline=None)
@given(threshold=st.floats(0.5, 2.5), values=st.lists(st.floats(0.5, 2.5), min_size=1, max_size=20))
def test_real_thresholds_hold_up_to_a_cell(threshold, values):
    """Numbers in one cell are equal; any others compare as they are."""
    feature = SCHEMA.features[1]
    cells = np.array([encode_number(v, feature) for v in values])
    codes = np.zeros((4, len(values)), np.int64)
    codes[1] = cells
    same = cells == encode_number(threshold, feature)
    for sign in COMPARE:
        condition = read_condition(f"height {sign} {threshold!r}", SCHEMA)
        meant = condition.holds(codes, np.zeros(len(values), np.int64))
        truth = np.array([COMPARE[sign](v, threshold) for v in values])
        assert (meant[same] == (sign in ("=", "==", "<=", ">="))).all()
        assert (meant[~same] == truth[~same]).all()
    assert all(encode_number(cell_value(feature, int(c)), feature) == c for c in cells)


MISTAKES = {
    "ages > 3": "no column 'ages'",
    "age > 10": "public range of 'age'",
    "age > -1": "public range",
    "age = nan": "public range",
    "age = old": "public range",
    "town = nowhere": "no value 'nowhere'",
    "town < north": "no order",
    "ill >= no": "no order",
    "age is unknown": "never 'unknown'",
    "ill is missing": "always known",
    "town is not here": "never 'here'",
    "town = in": "'in' where a value",
    "": "its end where the name",
    "age": "a comparison",
    "age >": "its end where a value",
    "age > 3 and": "the name of a column",
    "age > 3 ill = yes": "'ill' where 'and' or 'or'",
    "(age > 3": r"its end where '\)'",
    "age > 3)": r"'\)' where",
    "age in 3": r"where '\('",
    "age in (3": r"where '\)'",
    "age in ()": "where a value",
    "age not 3": "where 'in'",
    "age ! 3": "cannot be read",
    "age = 'three": "cannot be read",
    "age < < 3": "where a value",
    "__import__('os')": "no column '__import__'",
    "(" * 60 + "age = 3" + ")" * 60: "nested",
    "age = 3 or " * 300 + "age = 3": "characters",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[:20])
def test_a_mistaken_condition_says_what_is_wrong_and_costs_nothing(text):
    protected = rows()
    for ask in (
        lambda: protected.noisy_count(text, epsilon=1),
        lambda: protected.noisy_column_rows("town", text, epsilon=1),
        lambda: protected.choose_item("town", where=text, epsilon=1),
        lambda: protected.noisy_quantile("age", "1/2", where=text, epsilon=1),
        lambda: protected.choose(["age = 3", text], epsilon=1),
        lambda: protected.choose(["age = 3"], text, epsilon=1),
    ):
        with pytest.raises(QuestionError, match=MISTAKES[text]):
            ask()
    assert protected._account.spent().epsilon == 0 and protected.asked == ()


def test_other_mistakes_cost_nothing():
    protected = rows()
    wide = Schema([Continuous(f"x{i}", 0, 1) for i in range(3)], Label("y", [0, 1]))
    for ask in (
        lambda: protected.noisy_count(7, epsilon=1),
        lambda: protected.noisy_count("age = 3"),
        lambda: protected.noisy_column_rows("weight", epsilon=1),
        lambda: protected.noisy_column_rows(["town", "town"], epsilon=1),
        lambda: protected.noisy_column_rows([4], epsilon=1),
        lambda: protected.noisy_column_rows("age", bins=0, epsilon=1),
        lambda: protected.noisy_column_rows("age", bins=True, epsilon=1),
        lambda: protected.noisy_column_rows("age", bins=2.0, epsilon=1),
        lambda: protected.noisy_column_rows("age", epsilon=1, rho=1),
        lambda: protected.choose_item("town", by="town", epsilon=1),
        lambda: protected.choose_item("town"),
        lambda: protected.choose_item("town", epsilon=1, rho=1),
        lambda: protected.choose_item("town", rho=-1),
        lambda: protected.choose([], epsilon=1),
        lambda: protected.choose("age = 3", epsilon=1),
        lambda: protected.noisy_quantile("town", "1/2", epsilon=1),
        lambda: protected.noisy_quantile("age", 0, epsilon=1),
        lambda: protected.noisy_quantile("age", 1, epsilon=1),
        lambda: protected.noisy_quantile("age", "1/3000000", epsilon=1),
        lambda: protected.noisy_quantile("age", "0.999999", epsilon="1e-9"),
        lambda: protected.noisy_quantile("age", "half", epsilon=1),
        lambda: protected.noisy_quantile("age", "1/2", by="age", epsilon=1),
        lambda: rows(schema=wide).noisy_column_rows(["x0", "x1"], bins=60_000, epsilon=1),
    ):
        with pytest.raises((QuestionError, ValueError)):
            ask()
    assert protected._account.spent().epsilon == 0


# Answers without noise are those of pandas.


def test_tables_hold_every_cell_and_every_row():
    answer = exact_rows().noisy_column_rows(["town", "age"], bins=5, epsilon=1)
    assert answer.columns == ("town", "age") and answer.values.shape == (5, 6)
    assert answer.cells[0] == ("north", "far south", 3, "in", "(other)")
    assert answer.cells[1] == ("0 to 1", "2 to 3", "4 to 5", "6 to 7", "8 to 9", "(missing)")
    assert answer.values.sum() == len(PEOPLE)
    found = {(town, age): count for town, age, count in answer.rows()}
    north = PEOPLE["town"] == "north"
    assert found["north", "8 to 9"] == (north & (PEOPLE["age"] >= 8)).sum()
    assert found["north", "(missing)"] == (north & PEOPLE["age"].isna()).sum()
    assert (
        found["(other)", "0 to 1"]
        == ((PEOPLE["town"].isna() | (PEOPLE["town"] == "elsewhere")) & (PEOPLE["age"] < 2)).sum()
    )
    only = exact_rows().noisy_column_rows("ill", "age >= 4", epsilon=1)
    assert list(only.rows()) == [
        (v, ((PEOPLE["age"] >= 4) & (PEOPLE["ill"] == v)).sum()) for v in ("no", "yes")
    ]
    assert list(exact_rows().noisy_column_rows((), epsilon=1).rows()) == [(len(PEOPLE),)]


def test_bins_of_a_range_are_named_by_what_they_hold():
    schema = Schema(
        [Continuous("income", 0, 10**6, integer=True), Continuous("share", 0, 1)], Label("y", [0, 1])
    )
    income, share = read_axes(["income", "share"], schema, 4)
    income_width = schema.features[0].width
    assert share.cells == (
        "0 to 0.250004",
        "0.250004 to 0.500008",
        "0.500008 to 0.750011",
        "0.750011 to 1",
        "(missing)",
    )
    edges = [tuple(map(int, cell.split(" to "))) for cell in income.cells[:4]]
    assert edges[0][0] < income_width and edges[-1][1] > 10**6 - income_width
    assert all(low < high < behind for (low, high), (behind, _) in pairwise(edges))
    counts = np.bincount(share.cell)
    assert counts[:4].max() - counts[:4].min() <= 1 and counts[4] == 1


def test_items_and_quantiles_are_those_of_pandas():
    known = PEOPLE[PEOPLE["town"].isin(["north", "far south", "3", "in"])]
    most = exact_rows().choose_item("town", by="ill", where="age >= 2", epsilon=1)
    least = exact_rows().choose_item("town", by="ill", least=True, rho=1)
    for (ill, town), (_, rarest) in zip(most.rows(), least.rows(), strict=True):
        counts = known[(known["ill"] == ill) & (known["age"] >= 2)]["town"].value_counts()
        assert counts[str(town)] == counts.max()
        counts = known[known["ill"] == ill]["town"].value_counts()
        assert counts[str(rarest)] == counts.min()
    assert most.law == "permute-and-flip" and least.law == "exponential"
    ages = PEOPLE["age"].clip(0, 9).dropna().sort_values().to_numpy()
    for share in ("0.1", "0.5", "0.77"):
        value = exact_rows().noisy_quantile("age", share, epsilon=1).value
        wanted = float(share) * len(ages)
        assert (ages < value).sum() <= wanted <= (ages <= value).sum()
    heights = PEOPLE["height"].clip(0.5, 2.5)
    by_town = exact_rows().noisy_quantile("height", "0.5", by=["town"], epsilon=1)
    for town, value in list(by_town.rows())[:4]:
        assert abs(value - heights[PEOPLE["town"] == str(town)].median()) < 0.02
    chosen = exact_rows().choose(["age < 2", "age >= 2", "ill = yes"], epsilon=1)
    assert chosen.value == "age >= 2"
    assert exact_rows().choose(["age < 2", "age >= 2", "ill = yes"], least=True, epsilon=1).value == "age < 2"


# Sensitivities and laws, over all neighbours of small tables.

TOY = Schema([Continuous("x", 0, 2, integer=True), Categorical("g", ["a"])], Label("y", [0, 1]))
UNIVERSE = list(product(range(4), (0, 1), (0,)))
"""Codes of x (three cells and missing), of g (a, and missing) and of the label."""


def toy(table, mechanisms=None) -> Protected:
    codes = np.array([row[:2] for row in table], np.uint8).reshape(-1, 2).T
    labels = np.array([row[2] for row in table], np.uint8)
    return Protected(Rows(codes, labels), TOY, Paid(), mechanisms)


def tables(most: int):
    return [t for size in range(most + 1) for t in combinations_with_replacement(UNIVERSE, size)]


def exact_of(ask):
    """What a question would show without noise."""
    mechanisms = Noiseless()
    return lambda table: (ask(toy(table, mechanisms)), mechanisms.seen.pop())[1]


@pytest.mark.parametrize(
    ("ask", "l1"),
    [
        (lambda p: p.noisy_count("x >= 1 and g = a or y = 0", epsilon=1), 1),
        (lambda p: p.noisy_column_rows(["x", "g"], "not x = 2", epsilon=1), 1),
        (lambda p: p.choose_item("x", by="g", bins=3, epsilon=1), 1),
        (lambda p: p.choose_item("x", by="g", bins=3, least=True, epsilon=1), 1),
        (lambda p: p.choose(["x >= 0", "x >= 1", "g = a"], epsilon=1), 3),
        (lambda p: p.choose(["x >= 0", "x >= 1", "g = a"], least=True, epsilon=1), 3),
    ],
)
def test_counts_move_by_one_and_all_the_same_way(ask, l1):
    """Every score by at most one, none of them against another, and only in one group."""
    exact = exact_of(ask)
    moves = []
    for table in tables(2):
        for more in UNIVERSE:
            moves.append(exact((*table, more)) - exact(table))
    moves = np.array([move.ravel() for move in moves])
    assert np.abs(moves).max() == 1
    assert ((moves >= 0).all(axis=1) | (moves <= 0).all(axis=1)).all()
    assert np.abs(moves).sum(axis=1).max() == l1


@pytest.mark.parametrize("share", [HALF, Fraction(1, 4), Fraction(9, 10)])
def test_quantile_scores_move_by_their_sensitivity_at_most(share):
    """max(q, 1 − q) of a row, in both directions at once: twice that between two candidates."""
    units, sensitivity = share.denominator, max(share, 1 - share) * share.denominator
    worst, apart = 0, 0
    for counts in product(range(4), repeat=4):
        for cell in range(4):
            both = np.array([counts, counts])
            both[1, cell] += 1
            scores = quantile_scores(both, share)
            assert (scores.max(axis=1) == 0).all()
            move = scores[1] - scores[0]
            worst, apart = max(worst, np.abs(move).max()), max(apart, move.max() - move.min())
    assert worst == sensitivity
    assert sensitivity < apart <= 2 * sensitivity
    mechanisms = Noiseless()
    toy([UNIVERSE[0]], mechanisms).noisy_quantile("x", share, epsilon=1)
    assert [law.parameter for law in mechanisms.laws] == [1 / Fraction(2 * sensitivity)]
    assert units == share.denominator


def law_of(ask, table, odds, rates):
    explorer = Explorer()

    def run():
        mechanisms = AtOdds(explorer, odds)
        answer = ask(toy(table, mechanisms))
        rates.update(mechanisms.rates)
        return tuple(answer.values.ravel().tolist())

    return explorer.law(run)


QUESTIONS = {
    "most frequent": (lambda p, cost: p.choose_item("x", by="g", bins=3, **cost), 1),
    "least frequent": (lambda p, cost: p.choose_item("x", by="g", bins=3, least=True, **cost), 1),
    "choose": (lambda p, cost: p.choose(["x >= 0", "x >= 1", "g = a"], **cost), 1),
    "choose least": (lambda p, cost: p.choose(["x < 2", "x >= 1", "g = a"], least=True, **cost), 1),
    "median": (lambda p, cost: p.noisy_quantile("x", "1/2", by="g", **cost), 2),
    "third": (lambda p, cost: p.noisy_quantile("x", "1/3", **cost), 4),
}
"""The question, and units of score that a selection at rate ε divides by: 2Δ where it is not monotone."""


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("cost", ["epsilon", "rho"])
def test_choices_keep_epsilon_exactly_over_all_neighbours(name, cost):
    """At odds of e^(−ε/divisor) = 1/2 a unit no answer is over e^ε = 2^divisor likelier; at 1/4 some are."""
    ask, divisor = QUESTIONS[name]
    price = {"epsilon": 1} if cost == "epsilon" else {"rho": "1/8"}
    rates = set()
    small = tables(3 if divisor > 1 else 2)

    def worst(odds) -> Fraction:
        laws = {t: law_of(lambda p: ask(p, price), t, odds, rates) for t in small}
        return max(largest_ratio(laws[t], laws[other]) for t in small for other in neighbours(t, []))

    assert worst(HALF) <= 2**divisor
    assert rates == {Fraction(1, divisor)}
    assert worst(HALF**2) > 2**divisor


def test_samples_of_the_exponential_mechanism_follow_its_law_however_many_tries_it_takes():
    scores = np.tile([0, -3, -3, *[-9] * 60], (60_000, 1))
    chosen = Repeatable(1).choose(scores, Law("exponential", Fraction(1, 2)))

    def law(rate):
        weights = np.exp(scores[0] * rate)
        return dict(enumerate((weights / weights.sum()).tolist()))

    assert follows(chosen, law(0.5))
    assert not follows(chosen, law(0.45)) and not follows(chosen, law(0.55))


def test_quantile_samples_have_the_law_of_permute_and_flip():
    frame = pd.DataFrame({"x": [0, 1, 1, 2, 2], "g": ["a", "a", "b", "b", "b"], "y": [0] * 5})
    wanted = permute_and_flip_law(
        quantile_scores(np.array([[1, 2, 2]]), HALF)[0].tolist(), Fraction(np.exp(-0.25))
    )
    protected = protect(frame, TOY, Paid(), mechanisms=Secure())
    drawn = np.array([protected.noisy_quantile("x", "1/2", epsilon="1/2").value for _ in range(2000)])
    assert follows(drawn, {k: float(p) for k, p in enumerate(wanted)})
    assert not follows(drawn, {k: float(p) for k, p in enumerate(wanted[::-1])})


# Costs.


def test_every_question_costs_what_it_says_before_a_row_is_read():
    account = Ledger().create("toy", Budget(10, "1e-6"))
    seen = []

    class Watched:
        def sum(self, tally):
            seen.append(account.spent())
            return tally(Batch(np.zeros((2, 3), np.uint8), np.zeros(3, np.uint8), np.arange(3)))

    protected = Protected(Watched(), TOY, account)
    price = {"epsilon": "1/10"}
    asks = [
        lambda: protected.noisy_count("x = 1", **price),
        lambda: protected.noisy_column_rows(["x", "g"], **price),
        lambda: protected.choose_item("x", by=["g", "y"], **price),
        lambda: protected.noisy_quantile("x", "1/2", by="g", **price),
        lambda: protected.choose(["x = 1", "x > 1"], **price),
    ]
    for number, ask in enumerate(asks, start=1):
        ask()
        assert seen[-1].epsilon == account.spent().epsilon == Fraction(number, 10)
    assert [c.composition for c in protected.asked] == [
        "sequence",
        "sequence",
        "parallel over g, y",
        "parallel over g",
        "sequence",
    ]
    assert protected.asked[0].question == "number of rows where x = 1"
    before = account.spent().rho
    protected.noisy_quantile("x", "1/2", rho="1/50")
    spent = account.spent().rho - before
    assert spent <= Fraction(1, 50) and Fraction(1, 50) - spent < Fraction(1, 10**11)


def test_a_question_beyond_the_budget_is_refused_unread():
    protected = rows(budget=1)
    protected.choose_item("town", epsilon="1/2")
    with pytest.raises(BudgetExceeded):
        protected.noisy_quantile("age", "1/2", epsilon=2000)


# Margins: what is said of the noise is true of its law, and tight.


@pytest.mark.parametrize("scale", [0.3, 1, 10, 250])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_laplace_margin(scale, confidence):
    k = Law("laplace", Fraction(str(scale))).margin(confidence)
    inside = [sum(laplace_probability(j, scale) for j in range(-m, m + 1)) for m in (k - 1, k)]
    assert inside[1] >= confidence - 1e-12 and (k == 0 or inside[0] < confidence)


def test_gaussian_margin():
    law = gaussian_probabilities(400, 50.0)
    k = Law("gaussian", Fraction(50)).margin(0.95)
    assert law[400 - k : 401 + k].sum() >= 0.95 > law[401 - k : 400 + k].sum()


@pytest.mark.parametrize("law", ["permute-and-flip", "exponential"])
def test_selection_margin_is_the_worst_case_exactly(law):
    """Over all scores of four candidates; it is reached by one best and three others just behind it."""
    exact_law = permute_and_flip_law if law == "permute-and-flip" else exponential_law
    odds = Fraction(np.exp(-0.5))
    gap = Law(law, Fraction(1, 2)).gap(4, 0.9)

    def missed(scores, g):
        p = exact_law(scores, odds)
        return sum(p[i] for i in range(4) if max(scores) - scores[i] > g)

    reach = range(gap + 3)
    worst = max(missed((gap + 2, *rest), gap) for rest in combinations_with_replacement(reach, 3))
    assert worst <= 0.1
    assert missed((gap, 0, 0, 0), gap - 1) > 0.1
    assert Law(law, Fraction(1, 2)).gap(1, 0.9) == 0


def test_confidence_is_a_probability():
    for confidence in (0, 1, 95):
        with pytest.raises(QuestionError, match="say, 0"):
            rows().noisy_count(epsilon=1).margin(confidence)


def test_cells_that_nobody_is_told_of_are_not_named(monkeypatch):
    """A range has tens of thousands of them, and every batch counts in them."""
    named, real = [], axis._bin_names
    monkeypatch.setattr(axis, "_bin_names", lambda *of: named.append(of) or real(*of))
    frame = pd.DataFrame({"x": np.linspace(0, 1, 99), "y": 0})
    schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
    people = protect(frame, schema, Ledger().create("people", Budget(9)))
    people.noisy_quantile("x", "0.5", epsilon=1)
    people.noisy_moments("x", epsilon=1)
    assert not named
    people.noisy_column_rows("x", epsilon=1)
    assert len(named) == 1
