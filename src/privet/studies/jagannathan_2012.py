"""Jagannathan, Pillaipakkamnatt and Wright 2012 again: private ID3, random trees, updates, two parties.

Their figures are pictures without numbers; tables 1 and 2 are printed, and the text says how curves run.
*Sum* is their way of voting. The number of rows is public here, as it is there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from statistics import mode
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from privet.estimators import CountForestClassifier, CountingTreeClassifier, GreedyTreeClassifier
from privet.model import CountForest
from privet.parties import unite
from privet.privacy import Ledger, Repeatable, protect
from privet.schema import Schema
from privet.studies.claims import Claim, Judged, Points, ahead, at, beyond, gap, moves, near
from privet.studies.study import BARS, BOXES, Found, Quick, Study
from privet.studies.ways import ROOM, Public, cut, public

EPSILONS = (5, 4, 3, 2, 1, 0.75, 0.5, 0.25, 0.1, 0.01)
UPDATES = (1, 2, 4, 6, 8, 10)
EPSILON = 0.5
"""Of table 1 and of the updates."""

VOTINGS = ("sum", "posterior", "threshold", "majority")
SUM, ID3, ADAPTIVE, TWIN = "sum", "private ID3", "adaptive", "sum, not private"
ORIGINAL, MOST, GREEDY = "ID3, not private", "most frequent label", "greedy, max"
WHOLE, PARTED, TWICE = "one party, ε", "two parties, ε/2 each", "two parties, ε each"
TABLES = ("nursery", "house_votes", "mushroom")
TABLE_1: Mapping[str, tuple[float, float, float]] = {
    "nursery": (0.9819, 0.33, 0.46),
    "house_votes": (0.9448, 0.61, 0.40),
    "mushroom": (1.0, 0.52, 0.56),
}
"""ID3 without privacy, the most frequent label, private ID3."""

TABLE_2: Mapping[str, tuple[int, int, int]] = {
    "nursery": (8, 12_960, 3),
    "mushroom": (22, 8124, 2),
    "house_votes": (16, 435, 2),
}
FACTS = ("attributes", "rows", "labels")


@lru_cache(maxsize=4)
def prepared(name: str) -> Public:
    """Nursery as it is; Mushroom without the feature with missing values; missing votes by the majority."""
    table = public(name)
    rows = table.rows
    if name == "mushroom":
        rows = rows.drop_columns(["stalk-root"])
    if name == "house_votes":
        for place, vote in enumerate(rows.column_names):
            most = mode(rows[vote].drop_null().to_pylist())
            rows = rows.set_column(place, vote, rows[vote].fill_null(most))
    features = [replace(f, missing=False) for f in table.schema.features if f.name in rows.column_names]
    return Public(Schema(features, table.schema.label, rows.num_rows), rows, table.labels)


def facts(data: str, repeat: int) -> Found:
    """Attributes, rows and labels of a table as prepared."""
    table = prepared(data)
    counted = (len(table.schema.features), len(table.labels), len(np.unique(table.labels)))
    return {name: {"number": n} for name, n in zip(FACTS, counted, strict=True)}


def id3(data: str, repeat: int, fold: int, folds: int) -> Found:
    """Accuracy of private ID3, and of what it has to be better than."""
    table, seed = prepared(data), repeat * folds + fold
    train, test = cut(table.labels, repeat, fold, folds)
    rows, values = table.walled(train, seed), table.codes()
    encoder = OneHotEncoder(handle_unknown="ignore").fit(values[train])
    grown = DecisionTreeClassifier(criterion="entropy", random_state=seed)
    grown.fit(encoder.transform(values[train]), table.labels[train])
    most = mode(table.labels[train])
    found = {
        ORIGINAL: float(grown.score(encoder.transform(values[test]), table.labels[test])),
        MOST: float((table.labels[test] == most).mean()),
    }
    for way, learner in (
        (ID3, CountingTreeClassifier(EPSILON, variant="sum-queries")),
        (GREEDY, GreedyTreeClassifier(EPSILON)),
    ):
        found[way] = table.right(learner.fit(rows).model_.shares(table.rows.take(test)), test)
    return {way: {"accuracy": accuracy} for way, accuracy in found.items()}


def over_epsilon(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """Every way at an ε; a repetition is an ensemble, whose trees are the same at every ε."""
    table, seed = prepared(data), repeat * folds + fold
    train, test = cut(table.labels, repeat, fold, folds)
    rows, asked = table.walled(train, seed), table.rows.take(test)
    forest: dict[str, Any] = {"structure": "jagannathan", "random_state": repeat}
    found = _votings(table, CountForestClassifier(epsilon, **forest).fit(rows).model_, test)
    for way, learner in (
        (ADAPTIVE, CountForestClassifier(epsilon, random_state=repeat)),
        (ID3, CountingTreeClassifier(epsilon, variant="sum-queries")),
    ):
        found[way] = table.right(learner.fit(rows).model_.shares(asked), test)
    found[TWIN] = _twin(data, repeat, fold, folds)
    return {way: {"accuracy": accuracy} for way, accuracy in found.items()}


@lru_cache(maxsize=256)
def _twin(data: str, repeat: int, fold: int, folds: int) -> float:
    """The same trees without noise."""
    table = prepared(data)
    train, test = cut(table.labels, repeat, fold, folds)
    forest = CountForestClassifier(
        math.inf, structure="jagannathan", random_state=repeat, voting=SUM, schema=table.schema
    )
    model: Any = forest.fit(table.rows.take(train), table.labels[train]).model_
    return table.right(model.shares(table.rows.take(test)), test)


def over_updates(data: str, batches: int, repeat: int, fold: int, folds: int) -> Found:
    """Every way of voting after the rows came in equal batches, each at the whole ε."""
    table, seed = prepared(data), repeat * folds + fold
    train, test = cut(table.labels, repeat, fold, folds)
    forest = CountForestClassifier(EPSILON, structure="jagannathan", random_state=repeat)
    account = Ledger().create("study", ROOM)
    for number, part in enumerate(np.array_split(np.random.default_rng(seed).permutation(train), batches)):
        account.ledger.declare_batch(account.name, str(number))
        noise, payer = Repeatable(seed * max(UPDATES) + number), account.batch(str(number))
        forest.partial_fit(protect(table.rows.take(part), table.schema, payer, table.labels[part], noise))
    return {way: {"accuracy": right} for way, right in _votings(table, forest.model_, test).items()}


def two_parties(data: str, epsilon: float, repeat: int, fold: int, folds: int) -> Found:
    """One forest of all attributes beside the union of two, of halves of the attributes drawn at random."""
    table, seed = prepared(data), repeat * folds + fold
    train, test = cut(table.labels, repeat, fold, folds)
    names = np.random.default_rng(repeat).permutation(table.schema.feature_names)
    halves = [_part(table, set(part)) for part in np.array_split(names, 2)]
    forest: dict[str, Any] = {"structure": "jagannathan", "random_state": repeat, "voting": SUM}
    asked = table.rows.take(test)
    model: Any = CountForestClassifier(epsilon, **forest).fit(table.walled(train, seed)).model_
    found = {WHOLE: table.right(model.shares(asked), test)}
    for way, each in ((PARTED, Fraction(str(epsilon)) / 2), (TWICE, Fraction(str(epsilon)))):
        models: dict[str, Any] = {
            str(number): CountForestClassifier(each, **forest)
            .fit(part.walled(train, 2 * seed + number))
            .model_
            for number, part in enumerate(halves)
        }
        union = unite(models)
        found[way] = table.right(union.shares(asked.select(union.schema.feature_names)), test)
    return {way: {"accuracy": accuracy} for way, accuracy in found.items()}


def _part(table: Public, names: set[str]) -> Public:
    features = [feature for feature in table.schema.features if feature.name in names]
    schema = Schema(features, table.schema.label, table.schema.max_rows)
    return Public(schema, table.rows.select(schema.feature_names), table.labels)


def _votings(table: Public, model: CountForest, test: np.ndarray) -> dict[str, float]:
    rows = table.rows.take(test)
    return {way: table.right(model.with_voting(way).shares(rows), test) for way in VOTINGS}


def gradual(most: float) -> Claim:
    """No step from one ε to the next loses more than this, but for the last."""

    def judge(points: Points) -> Judged | None:
        means = [points.mean(SUM, place) for place in points.places]
        known = [mean for mean in means[:-1] if mean is not None]
        falls = [a - b for a, b in pairwise(known)]
        return (
            (max(falls) <= most, f"the largest step before the last is {points.told(-max(falls))}")
            if falls
            else None
        )

    return Claim("Accuracy drops gradually, not steeply", judge)


NAMES = {"nursery": "Nursery", "mushroom": "Mushroom", "house_votes": "Congressional Votes"}
TREES = "random trees, sum"
GAPS: Mapping[str, tuple[Claim, ...]] = {
    "mushroom": (gap("At ε = 1 private ID3 is about 20 points behind", TREES, ID3, (0.1, 0.3), at(1)),),
    "house_votes": (gap("At ε = 1 it is about 40 points behind", TREES, ID3, (0.3, 0.5), at(1)),),
}


def _over_epsilon(number: int, data: str) -> list[Study]:
    random = Study(
        f"jagannathan-2012/fig{number}a",
        f"Private random trees over ε, {NAMES[data]}",
        over_epsilon,
        [{"data": [data], "epsilon": EPSILONS}],
        repeats=10,
        folds=10,
        quick=Quick({"epsilon": (5, 0.5)}),
        panel="{data}",
        x="epsilon",
        quantity="ε",
        ways={way: way for way in (*VOTINGS, ADAPTIVE, TWIN)},
        claims=(
            moves("Accuracy falls with ε", SUM, up=False),
            gradual(0.2),
            near("At ε = 5 little is lost against no privacy", SUM, TWIN, 0.03, at(5)),
            ahead("At ε = 0.01 the noise overwhelms the trees", TWIN, SUM, at(0.01)),
        ),
        picture=BOXES,
        note="*Sum* is the paper's way of voting; *posterior* and *adaptive* are ours.",
    )
    return [
        random,
        random.showing(
            f"jagannathan-2012/fig{number}b",
            f"Private ID3 over ε, {NAMES[data]}",
            ways={ID3: ID3, SUM: TREES},
            claims=(
                ahead("Random trees are ahead of private ID3", TREES, ID3, most=True),
                *GAPS.get(data, ()),
            ),
        ),
    ]


def _updates(letter: str, data: str) -> Study:
    return Study(
        f"jagannathan-2012/fig4{letter}",
        f"Updates of {NAMES[data]} in equal batches, ε = 0.5",
        over_updates,
        [{"data": [data], "batches": UPDATES}],
        repeats=10,
        folds=10,
        quick=Quick({"batches": (1, 4)}),
        panel="{data}",
        x="batches",
        quantity="batches",
        claims=(moves("Accuracy falls gradually with the number of updates", SUM, up=False),),
        picture=BOXES,
    )


STUDIES = [
    Study(
        "jagannathan-2012/table1",
        "Private ID3 from sum queries, ε = 0.5",
        id3,
        [{"data": TABLES}],
        folds=10,
        panel="",
        picture=BARS,
        paper={
            ("", data, way): number
            for data, row in TABLE_1.items()
            for way, number in zip((ORIGINAL, MOST, ID3), row, strict=True)
        },
        tolerance=0.05,
        claims=(beyond(ahead("a greedy tree of the same ε is ahead", GREEDY, ID3, most=True)),),
        note="That no attribute is worth the noise is met; how a tree of noise guesses depends on details "
        "that the paper does not give. Their private ID3 guesses Votes worse than the most frequent label, "
        "ours does not.",
    ),
    Study(
        "jagannathan-2012/table2",
        "Attributes, rows and labels",
        facts,
        [{"data": TABLES}],
        panel="",
        score="number",
        percent=False,
        paper={
            ("", data, name): number
            for data, row in TABLE_2.items()
            for name, number in zip(FACTS, row, strict=True)
        },
        tolerance=0,
        neutral=True,
        picture=BARS,
        note="The paper counts the attribute of Mushroom that it removes, and three labels of Nursery, which "
        "has five: two of them are rare.",
    ),
    *_over_epsilon(1, "nursery"),
    *_over_epsilon(2, "mushroom"),
    *_over_epsilon(3, "house_votes"),
    _updates("a", "nursery"),
    _updates("b", "mushroom"),
    Study(
        "jagannathan-2012/fig5",
        "Two parties with other attributes of the same people, Congressional Votes",
        two_parties,
        [{"data": ["house_votes"], "epsilon": EPSILONS}],
        repeats=10,
        folds=10,
        quick=Quick({"epsilon": (5, 0.5)}),
        panel="{data}",
        x="epsilon",
        quantity="ε",
        promises={TWICE: "claims ε, keeps 2ε"},
        claims=(moves("Accuracy falls with ε", TWICE, up=False),),
        strict=PARTED,
        published=TWICE,
        behind="half of ε each is what the claim allows",
        picture=BOXES,
        note="The paper calls the union private without saying at what cost: both parties hold the same "
        "people, so ε of each adds up to 2ε. At the ε that is claimed each has half.",
    ),
]
