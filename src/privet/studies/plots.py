"""Pictures of results as papers draw them: lines, bars, boxes, ranges; hollow marks for what is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privet.pictures.style import INK, LABEL_COLOURS, SOFT, clean, new_figure, svg_of
from privet.studies.results import Point, Result
from privet.studies.study import BARS, BOXES, RANGES, Study

PANEL = 4.2, 3.0
ALONE = 6.4, 4.2
BARRED = 7.5
ACROSS, MOST_ACROSS = 3, 4
WIDE = 20
"""Times the least that the greatest x is, from which on the axis is a logarithm."""

BAR = 0.16
HOLLOW: Mapping[str, Any] = {
    "linewidth": 0, "marker": "o", "markersize": 5, "markerfacecolor": "none", "zorder": 3,
}  # fmt: skip


def draw(study: Study, result: Result, path: Path) -> None:
    """Write the picture of a result as SVG, the same each time it is drawn."""
    if study.view:
        study.view.draw(study, result, path)
        return
    panels = result.panels()
    most = MOST_ACROSS if len(panels) % MOST_ACROSS == 0 else ACROSS
    across = 1 if study.picture == BARS else min(most, len(panels))
    down = -(-len(panels) // across)
    ways = list(dict.fromkeys(point.way for point in result.points))
    xs = max(len({point.x for point in some}) for some in panels.values())
    wide, high = ALONE if len(panels) == 1 else PANEL
    if study.picture == BARS:
        wide, high = BARRED, 0.9 + BAR * xs * len(ways)
    figure = new_figure(wide * across, high * down + 0.3)
    colours = {way: LABEL_COLOURS[i % len(LABEL_COLOURS)] for i, way in enumerate(ways)}
    for number, (panel, points) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(down, across, number)
        clean(axes, panel)
        if study.picture == BARS:
            _bars(axes, study, points, colours)
        else:
            _lines(axes, study, points, colours)
    _legend(figure, study, result, across)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_of(figure), encoding="utf-8")


def name_of(study: Study, way: str) -> str:
    """A way's name, with what is to be said of one that keeps no promise."""
    return f"{way} ({study.promises[way]})" if way in study.promises else way


def _legend(figure: Any, study: Study, result: Result, across: int) -> None:
    """One legend for all panels, below them."""
    first = figure.axes[0]
    if any((p.panel, p.x, p.way) in study.paper for p in result.points):
        first.plot([], [], color=SOFT, label="as the paper prints it", **HOLLOW)
    named = {
        name: mark
        for axes in figure.axes
        for mark, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=min(len(named), 2 * across),
        fontsize=7, frameon=False, labelcolor=INK,
    )  # fmt: skip


def _bars(axes: Any, study: Study, points: Sequence[Point], colours: Mapping[str, str]) -> None:
    """A bar a way beside the name of each x, as long as the mean, with one standard deviation."""
    xs = list(dict.fromkeys(point.x for point in points))
    wide = 0.8 / len(colours)
    for number, (way, colour) in enumerate(colours.items()):
        some = [point for point in points if point.way == way]
        places = [xs.index(point.x) + (number - (len(colours) - 1) / 2) * wide for point in some]
        spread = [float(np.std(point.values)) for point in some]
        means = [point.mean for point in some]
        axes.barh(
            places, means, 0.9 * wide, xerr=spread, color=colour, ecolor=SOFT, label=name_of(study, way)
        )
        known = [(place, study.paper.get((p.panel, p.x, way))) for place, p in zip(places, some, strict=True)]
        found = [(place, number) for place, number in known if number is not None]
        if found:
            axes.plot([n for _, n in found], [place for place, _ in found], color=INK, **HOLLOW)
    axes.set_yticks(range(len(xs)), [str(x) for x in xs])
    axes.set_ylim(len(xs) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(study.score, color=INK, fontsize=9)
    if study.percent:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _lines(axes: Any, study: Study, points: Sequence[Point], colours: Mapping[str, str]) -> None:
    for way, colour in colours.items():
        some = [point for point in points if point.way == way]
        if some:
            _line(axes, study, some, colour)
    xs = list(dict.fromkeys(point.x for point in points))
    numbers = [float(x) for x in xs if not isinstance(x, str)]
    if numbers and min(numbers) > 0 and max(numbers) / min(numbers) >= WIDE:
        axes.set_xscale("log")
        shown = numbers if len(numbers) < 8 else numbers[::2]
        axes.set_xticks(shown, minor=False)
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(study.quantity or study.x, color=INK, fontsize=9)
    axes.set_ylabel(study.score, color=INK, fontsize=9)
    if study.percent:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _line(axes: Any, study: Study, some: Sequence[Point], colour: str) -> None:
    x = [point.x for point in some]
    mean = np.array([point.mean for point in some])
    error = np.array([point.error for point in some])
    boxes = np.array([point.box for point in some]).T
    if study.picture == BOXES:
        axes.vlines(x, boxes[0], boxes[4], color=colour, linewidth=0.8)
        axes.vlines(x, boxes[1], boxes[3], color=colour, linewidth=5, alpha=0.45)
        axes.plot(x, boxes[2], "_", color=colour, markersize=7)
    elif study.picture == RANGES:
        axes.plot(x, boxes[0], color=colour, linewidth=0.8, linestyle="dashed")
        axes.plot(x, boxes[4], color=colour, linewidth=0.8, linestyle="dotted")
    else:
        axes.fill_between(x, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        x, mean, color=colour, linewidth=1.4, marker="o", markersize=3, label=name_of(study, some[0].way)
    )
    known = [(p.x, study.paper[p.panel, p.x, p.way]) for p in some if (p.panel, p.x, p.way) in study.paper]
    if known:
        axes.plot([x for x, _ in known], [number for _, number in known], color=colour, **HOLLOW)
