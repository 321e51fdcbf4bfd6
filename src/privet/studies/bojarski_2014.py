"""Bojarski et al. 2014, table 1: test error of majority voting and threshold averaging at η = 1000/n.

Trees and heights are those of the table, which the paper chose by validation error: that choice read rows and
is not charged here either. Twins without privacy show whether the trees are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privet.learners import CountForestClassifier
from privet.pictures.style import BLUE, FAINT, INK, SOFT, clean, new_figure, save_picture
from privet.schema import Label, Schema
from privet.studies.datasets import real_table

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

Row = dict[str, Any]


def run(quick: bool) -> Iterator[Row]:
    """One row a data set and way of voting; errors in percent."""
    names = SMALL if quick else tuple(dict.fromkeys(name for name, _ in TABLE_1))
    for name in names:
        schema, rows, labels = prepared(name)
        for voting in ("majority", "threshold"):
            cells = TABLE_1[name, voting]
            row: Row = {"data": name, "voting": voting, "rows": len(labels)}
            for kind, cell in cells.items():
                row[kind] = _compared(schema, rows, labels, voting, cell, kind, 3 if quick else RUNS)
            yield row


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


def _compared(
    schema: Schema, rows: pa.Table, labels: np.ndarray, voting: str, cell: Cell, kind: str, runs: int
) -> dict[str, Any]:
    errors = [_error(schema, rows, labels, voting, cell, kind, seed) for seed in range(runs)]
    error = 100 * float(np.mean(errors))
    tested = runs * (len(labels) - int(TRAINING * len(labels)))
    return {
        "trees": cell.n_trees,
        "height": cell.height,
        "error": error,
        "interval": CONFIDENCE * math.sqrt(error * (100 - error) / tested),
        "paper": cell.error,
        "paper interval": cell.interval,
        "reached": error <= cell.error + cell.interval,
    }


def _error(
    schema: Schema, rows: pa.Table, labels: np.ndarray, voting: str, cell: Cell, kind: str, seed: int
) -> float:
    order = np.random.RandomState(seed).permutation(len(labels))
    train, test = np.split(order, [int(TRAINING * len(labels))])
    forest = CountForestClassifier(
        BUDGET_ROWS / len(train) if kind == PRIVATE else math.inf,
        structure="bojarski",
        n_trees=cell.n_trees,
        max_depth=cell.height,
        voting=voting,
        schema=schema,
        random_state=seed,
    )
    forest.fit(rows.take(train), labels[train])
    return float((forest.predict(rows.take(test)) != labels[test]).mean())


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, within eighty columns."""
    head = f"{'':<13}{'voting':<10}" + "".join(f"{kind:>12}{'paper':>12}{'':>4}" for kind in (PRIVATE, TWIN))
    lines = ["Test error in %, with 95 % intervals; ok: within the paper's interval or better", head]
    for row in rows:
        cells = "".join(
            f"{row[kind]['error']:>7.2f}±{row[kind]['interval']:<4.2f}"
            f"{row[kind]['paper']:>7.2f}±{row[kind]['paper interval']:<4.2f}"
            f"{'ok' if row[kind]['reached'] else '':>4}"
            for kind in (PRIVATE, TWIN)
        )
        lines.append(f"{row['data']:<13}{row['voting']:<10}{cells}".rstrip())
    return "\n".join([*(line.rstrip() for line in lines), ""])


def draw(rows: Sequence[Row], path: Path) -> None:
    """The paper's intervals as bars, ours as dots with theirs; private left, without privacy right."""
    figure = new_figure(9, 1.2 + 0.32 * len(rows))
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), (PRIVATE, TWIN), strict=True):
        clean(axes, f"{kind}, η = 1000/n" if kind == PRIVATE else kind)
        axes.grid(visible=False)
        places = np.arange(len(rows))
        found = [row[kind] for row in rows]
        paper, width = (np.array([cell[key] for cell in found]) for key in ("paper", "paper interval"))
        ours, spread = (np.array([cell[key] for cell in found]) for key in ("error", "interval"))
        axes.barh(places, 2 * width, left=paper - width, height=0.55, color=FAINT, label="paper, 95 %")
        axes.plot(paper, places, "|", color=SOFT, markersize=9)
        axes.errorbar(
            ours, places, xerr=spread, fmt="o", color=BLUE, markersize=4, linewidth=1.2, label="ours"
        )
        axes.set_yticks(places, [f"{row['data']}, {row['voting']}" for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("test error in %", color=INK, fontsize=9)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    save_picture(figure, path)
