"""Accuracies of several ways over a quantity, beside the paper's where they can be read: text and picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from privet.pictures.style import INK, LABEL_COLOURS, SOFT, clean, new_figure, save_picture

Row = dict[str, Any]
"""``figure``, ``quantity``, ``x``, ``way``, ``accuracy``, ``sd``, ``runs``, ``box`` (least, quartiles, most),
and ``paper`` where it is known."""

PANEL = 4.6, 3.4
ACROSS = 3
HOLLOW: Mapping[str, Any] = {"linewidth": 0, "marker": "o", "markersize": 6, "markerfacecolor": "none"}


def summary(
    figure: str,
    quantity: str,
    x: float | str,
    way: str,
    accuracies: Sequence[float],
    paper: float | None = None,
) -> Row:
    """One point of a curve."""
    return {
        "figure": figure,
        "quantity": quantity,
        "x": x,
        "way": way,
        "accuracy": float(np.mean(accuracies)),
        "sd": float(np.std(accuracies)),
        "runs": len(accuracies),
        "box": np.quantile(accuracies, [0, 0.25, 0.5, 0.75, 1]).tolist(),
        "paper": paper,
    }


def figures(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows by figure, in their order."""
    for figure, some in groupby(rows, key=lambda row: str(row["figure"])):
        yield figure, list(some)


def as_text(rows: Iterable[Row]) -> str:
    """A table for each figure: a line an x, a column a way, the paper's percentage in brackets."""
    return "\n".join(_table(figure, some) for figure, some in figures(rows))


def _table(figure: str, rows: Sequence[Row]) -> str:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    found = {(row["x"], row["way"]): _cell(row) for row in rows}
    lines = [[rows[0]["quantity"], *ways]]
    for x in dict.fromkeys(row["x"] for row in rows):
        lines.append([x if isinstance(x, str) else f"{x:g}", *(found.get((x, way), "–") for way in ways)])
    widths = [max(map(len, column)) + 2 for column in zip(*lines, strict=True)]
    runs = "–".join(str(n) for n in sorted({min(r["runs"] for r in rows), max(r["runs"] for r in rows)}))
    text = ["".join(f"{cell:>{w}}" for cell, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([f"{figure}; accuracy in %, {runs} runs", *text, ""])


def _cell(row: Row) -> str:
    paper = "" if row["paper"] is None else f" ({100 * row['paper']:.1f})"
    return f"{100 * row['accuracy']:.1f}{paper}"


def draw(rows: Sequence[Row], path: Path, boxes: Sequence[str] = ()) -> None:
    """A panel a figure: lines with the standard error of their means, hollow marks for the paper.

    Ways named in ``boxes`` have a box plot at every x instead of the error.
    """
    panels = list(figures(rows))
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = new_figure(PANEL[0] * across, PANEL[1] * down)
    colours: dict[str, str] = {}
    for number, (title, some) in enumerate(panels, start=1):
        axes = figure.add_subplot(down, across, number)
        clean(axes, title)
        for way in dict.fromkeys(row["way"] for row in some):
            colour = colours.setdefault(way, LABEL_COLOURS[len(colours) % len(LABEL_COLOURS)])
            _draw_way(axes, [row for row in some if row["way"] == way], colour, way in boxes)
        if any(row["paper"] is not None for row in some):
            axes.plot([], [], color=SOFT, label="paper", **HOLLOW)
        axes.set_xlabel(some[0]["quantity"], color=INK, fontsize=9)
        places = list(dict.fromkeys(row["x"] for row in some))
        if not isinstance(places[0], str):
            axes.set_xscale("log")
            axes.set_xticks(places, minor=False)
            axes.set_xticks([], minor=True)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.legend(fontsize=7, frameon=False, labelcolor=INK)
    save_picture(figure, path)


def _draw_way(axes: Any, points: Sequence[Row], colour: str, boxed: bool) -> None:
    x = [row["x"] for row in points]
    mean = np.array([row["accuracy"] for row in points])
    error = np.array([row["sd"] / np.sqrt(row["runs"]) for row in points])
    if isinstance(x[0], str):
        axes.errorbar(
            x, mean, error, color=colour, linewidth=0, elinewidth=1.6, marker="o", label=points[0]["way"]
        )
    else:
        if boxed:
            _draw_boxes(axes, points, colour)
        else:
            axes.fill_between(x, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x, mean, color=colour, linewidth=1.6, marker="o", markersize=3, label=points[0]["way"])
    known = [row for row in points if row["paper"] is not None]
    if known:
        axes.plot([row["x"] for row in known], [row["paper"] for row in known], color=colour, **HOLLOW)


def _draw_boxes(axes: Any, points: Sequence[Row], colour: str) -> None:
    """From the least to the most, thick between the quartiles, a dash at the median."""
    x = [row["x"] for row in points]
    least, low, middle, high, most = np.array([row["box"] for row in points]).T
    axes.vlines(x, least, most, color=colour, linewidth=0.8)
    axes.vlines(x, low, high, color=colour, linewidth=5, alpha=0.45)
    axes.plot(x, middle, "_", color=colour, markersize=7)
