"""Bojarski et al. 2014, table 1: test error of majority voting and threshold averaging at η = 1000/n.

Trees and heights are those of the table. Twins without privacy show whether the trees are theirs. Three more
ways tell what the printed errors can follow from: the paper's own rule for leaves with a negative count;
noise that does not grow with the number of trees; and trees and heights chosen as the paper chose its own,
among all pairs and by the error on validation rows. That choice reads rows and is not charged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privet.data import encode, open_table
from privet.estimators import CountForestClassifier
from privet.kernels.predict import best_labels, normalised, row_shares
from privet.pictures.style import BLUE, FAINT, INK, SOFT, clean, new_figure, save_picture
from privet.privacy import Budget, Ledger, Protected, protect
from privet.schema import Label, Scalar, Schema
from privet.structure import LeafVotes
from privet.studies.datasets import real_table
from privet.studies.study import Study

BUDGET_ROWS = 1000
RUNS = 10
TRAINING = 0.9
CONFIDENCE = 1.96


@dataclass(frozen=True)
class Cell:
    """One cell of the table: percentage, half its interval, trees, height."""

    error: float
    interval: float
    n_trees: int
    height: int


PRIVATE, TWIN = "private", "not private"
TABLE_1 = {
    ("banknote", "majority"): {PRIVATE: Cell(5.44, 1.20, 21, 11), TWIN: Cell(3.09, 0.92, 21, 15)},
    ("banknote", "threshold"): {PRIVATE: Cell(5.22, 1.18, 7, 12), TWIN: Cell(3.46, 0.97, 17, 9)},
    ("transfusion", "majority"): {PRIVATE: Cell(23.42, 3.03, 1, 14), TWIN: Cell(22.19, 2.98, 1, 14)},
    ("transfusion", "threshold"): {PRIVATE: Cell(23.42, 3.03, 1, 13), TWIN: Cell(22.47, 2.99, 1, 14)},
    ("house_votes", "majority"): {PRIVATE: Cell(8.10, 2.56, 15, 9), TWIN: Cell(9.05, 2.70, 19, 6)},
    ("house_votes", "threshold"): {PRIVATE: Cell(6.90, 2.38, 15, 9), TWIN: Cell(5.95, 2.22, 13, 9)},
    ("mammographic", "majority"): {PRIVATE: Cell(16.95, 2.37, 5, 12), TWIN: Cell(16.95, 2.37, 9, 12)},
    ("mammographic", "threshold"): {PRIVATE: Cell(17.37, 2.40, 9, 8), TWIN: Cell(16.21, 2.33, 19, 15)},
    ("mushroom", "majority"): {PRIVATE: Cell(4.69, 0.46, 3, 13), TWIN: Cell(0.83, 0.20, 21, 15)},
    ("mushroom", "threshold"): {PRIVATE: Cell(4.16, 0.43, 3, 15), TWIN: Cell(0.26, 0.11, 13, 14)},
    ("adult", "majority"): {PRIVATE: Cell(22.18, 0.45, 3, 11), TWIN: Cell(21.70, 0.45, 3, 14)},
    ("adult", "threshold"): {PRIVATE: Cell(21.72, 0.45, 7, 11), TWIN: Cell(21.58, 0.45, 3, 14)},
    ("covertype", "majority"): {PRIVATE: Cell(38.75, 0.13, 3, 13), TWIN: Cell(33.39, 0.12, 21, 15)},
    ("covertype", "threshold"): {PRIVATE: Cell(37.82, 0.12, 3, 13), TWIN: Cell(30.80, 0.12, 21, 15)},
}
SMALL = ("transfusion", "house_votes")
LODGEPOLE = "2"
"""Covertype has seven labels; with two, this one is told from the rest."""

ADULT_ROWS = 32_561
"""The training part of Adult, which the paper has."""

OURS, POSTERIOR, PUBLISHED, UNSHARED, CHOSEN = "ours", "posterior", "published", "1/η", "chosen"
HEADS = {OURS: "ours", POSTERIOR: "post.", PUBLISHED: "publ.", UNSHARED: "1/η", CHOSEN: "chosen"}

VOTINGS = ("majority", "threshold")
SHORT = {"majority": "major.", "threshold": "thresh."}
TREES, HEIGHTS = range(1, 22, 2), range(1, 16)
"""Pairs among which the paper chose."""

VALIDATION = 0.1
MOST_ROWS = 100_000
"""Beyond these, forests of all pairs take too long."""

Row = dict[str, Any]


def run(quick: bool) -> Iterator[Row]:
    """One row a data set and way of voting; errors in percent."""
    names = SMALL if quick else tuple(dict.fromkeys(name for name, _ in TABLE_1))
    runs, pairs = (3, 7) if quick else (RUNS, 1)
    for name in names:
        table = prepared(name)
        chosen = _chosen(*table, runs, pairs) if len(table[2]) <= MOST_ROWS else {}
        for voting in VOTINGS:
            yield {
                "data": name,
                "voting": voting,
                "rows": len(table[2]),
                **{kind: _compared(*table, voting, kind, name, runs) for kind in (PRIVATE, TWIN)},
                CHOSEN: chosen.get(voting),
            }


def prepared(name: str) -> tuple[Schema, pa.Table, np.ndarray]:
    """Schema, rows and labels of a data set as the paper has it."""
    schema, table = real_table(name)
    if name == "adult":
        table = table.slice(0, ADULT_ROWS)
    rows = table.drop_columns([schema.label.name])
    labels = table.column(schema.label.name)
    if name == "covertype":
        schema = Schema(schema.features, Label(schema.label.name, ["other", LODGEPOLE]))
        lodgepole = pc.equal(labels.cast(pa.string()), LODGEPOLE)
        labels = pc.if_else(lodgepole, LODGEPOLE, "other")
    return schema, rows, labels.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class Split:
    """Rows to learn from, behind the wall, and rows to be asked about."""

    rows: Protected
    asked: np.ndarray
    truth: np.ndarray
    labels: Sequence[Scalar]

    @classmethod
    def of(
        cls, schema: Schema, rows: pa.Table, labels: np.ndarray, train: np.ndarray, test: np.ndarray
    ) -> Split:
        """Split a table; its account has room for every fit."""
        account = Ledger().create("study", Budget(10**5))
        learnt = protect(rows.take(train), schema, account, labels[train])
        asked = encode(open_table(rows.take(test), schema), schema, with_label=False)
        return cls(learnt, asked.features, labels[test], schema.classes)

    def wrong(self, votes: LeafVotes) -> np.ndarray:
        """Whether each row that is asked about gets another label than it has."""
        shares = row_shares(votes, self.asked, len(self.labels))
        return np.asarray(np.array(self.labels)[best_labels(shares, self.labels)] != self.truth)


def _splits(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    train, test = np.split(np.random.RandomState(seed).permutation(n_rows), [int(TRAINING * n_rows)])
    return train, test


def _compared(
    schema: Schema, rows: pa.Table, labels: np.ndarray, voting: str, kind: str, name: str, runs: int
) -> dict[str, Any]:
    cell, errors = TABLE_1[name, voting][kind], []
    for seed in range(runs):
        train, test = _splits(len(labels), seed)
        if kind == PRIVATE:
            split = Split.of(schema, rows, labels, train, test)
            errors.append(_private_errors(split, voting, cell, BUDGET_ROWS / len(train), seed))
        else:
            twin = _forest(math.inf, cell.n_trees, cell.height, seed, schema=schema, voting=voting)
            twin.fit(rows.take(train), labels[train])
            errors.append({OURS: float((twin.predict(rows.take(test)) != labels[test]).mean())})
    tested = runs * (len(labels) - int(TRAINING * len(labels)))
    found = {way: 100 * float(np.mean([run[way] for run in errors])) for way in errors[0]}
    return {
        "trees": cell.n_trees,
        "height": cell.height,
        "errors": found,
        "interval": CONFIDENCE * math.sqrt(found[OURS] * (100 - found[OURS]) / tested),
        "paper": cell.error,
        "paper interval": cell.interval,
    }


def _forest(epsilon: float, n_trees: int, height: int, seed: int, **options: Any) -> CountForestClassifier:
    return CountForestClassifier(
        epsilon, structure="bojarski", n_trees=n_trees, max_depth=height, random_state=seed, **options
    )


def _private_errors(split: Split, voting: str, cell: Cell, eta: float, seed: int) -> dict[str, float]:
    """Error of every way on the same trees; all but the last on the same noisy counts."""
    model: Any = _forest(eta, cell.n_trees, cell.height, seed).fit(split.rows).model_
    # A budget k times as large has the noise of one tree in each of k.
    unshared: Any = _forest(eta * cell.n_trees, cell.n_trees, cell.height, seed).fit(split.rows).model_
    said = published_values(model.counts, voting, np.random.RandomState(seed))
    votes = {
        OURS: model.with_voting(voting).predictor,
        POSTERIOR: model.with_voting("posterior").predictor,
        PUBLISHED: LeafVotes(model.trees, said),
        UNSHARED: unshared.with_voting(voting).predictor,
    }
    return {way: float(split.wrong(vote).mean()) for way, vote in votes.items()}


def published_values(noisy_counts: np.ndarray, voting: str, random: np.random.RandomState) -> np.ndarray:
    """What leaves say by algorithm 2: a random share where a count is negative, or both are zero."""
    silent = (noisy_counts < 0).any(axis=-1) | (noisy_counts == 0).all(axis=-1)
    drawn = random.random_sample(silent.shape)
    share = np.where(silent, drawn, normalised(np.maximum(noisy_counts, 0))[..., 1])
    if voting == "majority":
        share = (share > 0.5).astype(float)
    return np.stack([1 - share, share], axis=-1).astype(np.float32)


def _chosen(
    schema: Schema, rows: pa.Table, labels: np.ndarray, runs: int, every: int
) -> dict[str, dict[str, Any]]:
    """Trees, height and test error of the pair with the least validation error, for each way of voting.

    The forest of a pair is drawn once and fitted in every run, so that the choice among pairs is one among
    forests.
    """
    pairs = list(product(TREES, HEIGHTS))[::every]
    errors = np.zeros((runs, len(VOTINGS), len(pairs), 2))
    for run in range(runs):
        train, test = _splits(len(labels), run)
        kept, validation = np.split(train, [int((1 - VALIDATION) * len(train))])
        split = Split.of(schema, rows, labels, kept, np.concatenate([validation, test]))
        for place, (n_trees, height) in enumerate(pairs):
            forest: Any = _forest(BUDGET_ROWS / len(train), n_trees, height, place).fit(split.rows)
            for way, voting in enumerate(VOTINGS):
                wrong = split.wrong(forest.model_.with_voting(voting).predictor)
                parts = np.split(wrong, [len(validation)])
                errors[run, way, place] = [100 * part.mean() for part in parts]
    means, found = errors.mean(axis=0), {}
    for voting, mean in zip(VOTINGS, means, strict=True):
        best = int(mean[:, 0].argmin())
        n_trees, height = pairs[best]
        found[voting] = {"trees": n_trees, "height": height, "error": float(mean[best, 1])}
    return found


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, within eighty columns."""
    ways = "".join(f"{head:>7}" for head in HEADS.values())
    lines = [
        "Test error in %; *: within the paper's interval or better",
        f"{'':<32}{'private, η = 1000/n':^35}{'not private':>13}",
        f"{'':<13}{'voting':<8}{'paper':>10} {ways}{'paper':>7}{'ours':>6}",
    ]
    for row in rows:
        private, twin = row[PRIVATE], row[TWIN]
        errors = {**private["errors"], CHOSEN: row[CHOSEN] and row[CHOSEN]["error"]}
        told = "".join(_marked(errors[way], private) for way in HEADS)
        paper = f"{private['paper']:>5.2f}±{private['paper interval']:.2f}"
        beside = f"{twin['paper']:>6.2f}{_marked(twin['errors'][OURS], twin)}"
        lines.append(f"{row['data']:<13}{SHORT[row['voting']]:<8}{paper:>10}{told} {beside}".rstrip())
    return "\n".join([*(line.rstrip() for line in lines), ""])


def _marked(error: float | None, cell: Mapping[str, Any]) -> str:
    if error is None:
        return f"{'–':>6} "
    return f"{error:>6.2f}{'*' if error <= cell['paper'] + cell['paper interval'] else ' '}"


def draw(rows: Sequence[Row], path: Path) -> None:
    """The paper's intervals as bars, ours as dots with theirs, chosen forests as rings; private left."""
    figure = new_figure(9, 1.2 + 0.32 * len(rows))
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), (PRIVATE, TWIN), strict=True):
        clean(axes, f"{kind}, η = 1000/n" if kind == PRIVATE else kind)
        axes.grid(visible=False)
        places = np.arange(len(rows))
        found = [row[kind] for row in rows]
        paper, width = (np.array([cell[key] for cell in found]) for key in ("paper", "paper interval"))
        ours = np.array([cell["errors"][OURS] for cell in found])
        spread = np.array([cell["interval"] for cell in found])
        axes.barh(places, 2 * width, left=paper - width, height=0.55, color=FAINT, label="paper, 95 %")
        axes.plot(paper, places, "|", color=SOFT, markersize=9)
        axes.errorbar(
            ours, places, xerr=spread, fmt="o", color=BLUE, markersize=4, linewidth=1.2, label="ours"
        )
        if kind == PRIVATE:
            chosen = [math.nan if row[CHOSEN] is None else row[CHOSEN]["error"] for row in rows]
            axes.plot(chosen, places, "o", color=BLUE, fillstyle="none", markersize=6, label="chosen")
            axes.legend(fontsize=8, frameon=False, labelcolor=INK)
        axes.set_yticks(places, [f"{row['data']}, {row['voting']}" for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("test error in %", color=INK, fontsize=9)
    save_picture(figure, path)


STUDY = Study("bojarski-2014", run, as_text, draw, real=True)
