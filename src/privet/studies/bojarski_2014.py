"""Bojarski et al. 2014: majority voting, threshold averaging and probabilistic averaging at η = 1000/n.

Trees and heights of table 1 are those of the table. Twins without privacy show whether the trees are theirs.
Three more ways tell what the printed errors can follow from: the paper's own rule for leaves with a negative
count; noise that does not grow with the number of trees; and trees and heights chosen as the paper chose
its own, among all pairs and by the error on validation rows. That choice reads rows and is not charged.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.tree import DecisionTreeClassifier

from privet.data import encode, open_table
from privet.estimators import CountForestClassifier
from privet.kernels.predict import best_labels, normalised, row_shares
from privet.model import CountForest
from privet.schema import Label, Schema
from privet.structure import LeafVotes
from privet.studies.bojarski_printed import TABLE_1
from privet.studies.study import Found
from privet.studies.ways import Public, public

BUDGET_ROWS = 1000
"""η is this many, divided by the rows to learn from."""

RUNS = 10
TRAINING, VALIDATION = 0.9, 0.1
LODGEPOLE = "2"
"""Covertype has seven labels; with two, this one is told from the rest."""

ADULT_ROWS = 32_561
"""The training part of Adult, which the paper has."""

OURS, POSTERIOR, PUBLISHED, UNSHARED = "ours", "posterior", "their rule", "noise of one tree"
TWIN, GREEDY = "not private", "a greedy tree, not private"
MAJORITY, THRESHOLD, PROBABILISTIC = "dpRFMV", "dpRFTA", "dpRFPA"
VOTINGS = {MAJORITY: "majority", THRESHOLD: "threshold", PROBABILISTIC: "probabilistic"}
TREES, HEIGHTS = tuple(range(1, 22, 2)), tuple(range(1, 16))
"""Pairs among which the paper chose."""

MANY = (1, 3, 5, 9, 15, 21, 41, 61, 81, 101)
"""Trees of figure 2; the paper has every number up to 101."""


@lru_cache(maxsize=8)
def prepared(name: str) -> Public:
    """A data set as the paper has it."""
    table = public(name)
    if name == "adult":
        return Public(table.schema, table.rows.slice(0, ADULT_ROWS), table.labels[:ADULT_ROWS])
    return two_labels(table) if name == "covertype" else table


def two_labels(table: Public) -> Public:
    """Lodgepole pine against the rest."""
    schema = Schema(table.schema.features, Label(table.schema.label.name, ["other", LODGEPOLE]))
    lodgepole = pc.equal(pa.array(table.labels).cast(pa.string()), LODGEPOLE)
    labels = pc.if_else(lodgepole, LODGEPOLE, "other").to_numpy(zero_copy_only=False)
    return Public(schema, table.rows, labels)


def parts(n_rows: int, repeat: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from, to choose by, to be asked about."""
    learnt, test = np.split(np.random.RandomState(repeat).permutation(n_rows), [int(TRAINING * n_rows)])
    train, validation = np.split(learnt, [int((1 - VALIDATION) * len(learnt))])
    return train, validation, test


def forest(eta: float, n_trees: int, height: int, seed: int, **options: Any) -> CountForestClassifier:
    """Their forest."""
    return CountForestClassifier(
        eta, structure="bojarski", n_trees=n_trees, max_depth=height, random_state=seed, **options
    )


class Asked:
    """Rows that are asked about, in codes."""

    def __init__(self, table: Public, rows: np.ndarray) -> None:
        codes = encode(open_table(table.rows.take(rows), table.schema), table.schema, with_label=False)
        self._codes, self._truth, self._values = codes.features, table.labels[rows], table.schema.classes

    def error(self, votes: LeafVotes) -> float:
        """Share of rows that get another label than they have."""
        shares = row_shares(votes, self._codes, len(self._values))
        return float((np.array(self._values)[best_labels(shares, self._values)] != self._truth).mean())

    def drawn_error(self, votes: LeafVotes) -> float:
        """The same where a label is drawn by its share: the mean over all draws."""
        shares = row_shares(votes, self._codes, len(self._values))
        place = np.array([list(self._values).index(label) for label in self._truth])
        return float(1 - shares[np.arange(len(place)), place].mean())

    def errors(self, model: CountForest) -> dict[str, float]:
        """Error of every way of voting over the same counts."""
        votes = {way: model.with_voting(voting).predictor for way, voting in VOTINGS.items()}
        return {
            way: self.drawn_error(each) if way == PROBABILISTIC else self.error(each)
            for way, each in votes.items()
        }


def of_table(data: str, voting: str, repeat: int) -> Found:
    """Errors of all ways with the trees and the height that table 1 has for a data set and a voting."""
    table, printed = prepared(data), TABLE_1[data, voting]
    train, validation, test = parts(len(table.labels), repeat)
    learnt = np.concatenate([train, validation])
    asked, eta = Asked(table, test), BUDGET_ROWS / len(learnt)
    shape = printed.n_trees, printed.height
    model: Any = forest(eta, *shape, repeat).fit(table.walled(learnt, repeat)).model_
    # A budget k times as large has the noise of one tree in each of k.
    one: Any = forest(eta * printed.n_trees, *shape, repeat).fit(table.walled(learnt, repeat)).model_
    said = published_values(model.counts, voting, np.random.RandomState(repeat))
    twin = forest(
        math.inf, printed.twin_trees, printed.twin_height, repeat, schema=table.schema, voting=voting
    )
    exact: Any = twin.fit(table.rows.take(learnt), table.labels[learnt]).model_
    greedy = greedy_tree(table.labels[learnt], repeat).fit(table.codes()[learnt], table.labels[learnt])
    wrong = greedy.predict(table.codes()[test]) != table.labels[test]
    errors = {
        OURS: asked.error(model.with_voting(voting).predictor),
        POSTERIOR: asked.error(model.with_voting("posterior").predictor),
        PUBLISHED: asked.error(LeafVotes(model.trees, said)),
        UNSHARED: asked.error(one.with_voting(voting).predictor),
        TWIN: asked.error(exact.predictor),
        GREEDY: float(wrong.mean()),
    }
    return {way: {"test error": error} for way, error in errors.items()}


def greedy_tree(labels: np.ndarray, seed: int) -> DecisionTreeClassifier:
    """A tree with the defaults of rpart: few rows are not split, nor where a hundredth is not gained."""
    _, counts = np.unique(labels, return_counts=True)
    impurity = 1 - float(((counts / len(labels)) ** 2).sum())
    return DecisionTreeClassifier(
        min_samples_split=20, min_samples_leaf=7, min_impurity_decrease=impurity / 100, random_state=seed
    )


def published_values(noisy_counts: np.ndarray, voting: str, random: np.random.RandomState) -> np.ndarray:
    """What leaves say by algorithm 2: a random share where a count is negative, or both are zero."""
    silent = (noisy_counts < 0).any(axis=-1) | (noisy_counts == 0).all(axis=-1)
    drawn = random.random_sample(silent.shape)
    share = np.where(silent, drawn, normalised(np.maximum(noisy_counts, 0))[..., 1])
    if voting == "majority":
        share = (share > 0.5).astype(float)
    return np.stack([1 - share, share], axis=-1).astype(np.float32)


def chosen(data: str, every: int, repeat: int) -> Found:
    """Test error, trees and height of the pair with the least validation error, means over ten runs.

    The forest of a pair is drawn once and fitted in every run, so that the choice among pairs is one among
    forests. Only every so manieth pair is tried in the small form.
    """
    table, pairs = prepared(data), list(product(TREES, HEIGHTS))[::every]
    runs = 2 if every > 1 else RUNS
    errors = np.zeros((runs, len(pairs), 2, 2))
    for run in range(runs):
        train, validation, test = parts(len(table.labels), run)
        rows, eta = table.walled(train, run), BUDGET_ROWS / (len(train) + len(validation))
        judges = Asked(table, validation), Asked(table, test)
        for place, (n_trees, height) in enumerate(pairs):
            model: Any = forest(eta, n_trees, height, place).fit(rows).model_
            for part, judge in enumerate(judges):
                found = judge.errors(model)
                errors[run, place, :, part] = found[MAJORITY], found[THRESHOLD]
    means, told = errors.mean(axis=0), {}
    for number, way in enumerate((MAJORITY, THRESHOLD)):
        best = int(means[:, number, 0].argmin())
        told[way] = {"test error": means[best, number, 1], "trees": pairs[best][0], "height": pairs[best][1]}
    return told


def by_shape(data: str, k: int, h: int, eta_rows: float, repeat: int) -> Found:
    """Errors of all ways of voting with k trees of height h at η = eta_rows/n."""
    table, asked = prepared(data), _asked(data, repeat)
    train, validation, _ = parts(len(table.labels), repeat)
    eta = eta_rows / (len(train) + len(validation))
    model: Any = forest(eta, k, h, repeat).fit(_rows(data, repeat)).model_
    on_test, on_validation = asked[1].errors(model), asked[0].errors(model)
    return {
        way: {"test error": error, "validation error": on_validation[way]} for way, error in on_test.items()
    }


def by_budget(data: str, h: int, eta_rows: float, most: int, repeat: int) -> Found:
    """Test errors at an η where the number of trees is chosen by the validation error."""
    tried = [by_shape(data, k, h, eta_rows, repeat) for k in MANY if k <= most]
    return {
        way: {"test error": min(tried, key=lambda found: found[way]["validation error"])[way]["test error"]}
        for way in VOTINGS
    }


@lru_cache(maxsize=32)
def _rows(data: str, repeat: int) -> Any:
    table = prepared(data)
    return table.walled(parts(len(table.labels), repeat)[0], repeat)


@lru_cache(maxsize=32)
def _asked(data: str, repeat: int) -> tuple[Asked, Asked]:
    table = prepared(data)
    _, validation, test = parts(len(table.labels), repeat)
    return Asked(table, validation), Asked(table, test)
