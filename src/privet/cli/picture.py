"""The demo's picture: accuracy as the privacy budget grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privet.pictures.style import BLUE, GRID, INK, SOFT


def draw_accuracy(
    path: Path, epsilons: Sequence[float], found: Mapping[str, np.ndarray], twin: float, majority: float
) -> None:
    """Draw accuracies by learner, ``(epsilons, repeats)``, between a non-private twin and guessing."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    figure = Figure(figsize=(8, 4.8), dpi=160, layout="constrained")
    axes = figure.add_subplot()
    for (name, accuracies), colour in zip(found.items(), (BLUE, SOFT), strict=True):
        mean, lowest, highest = accuracies.mean(axis=1), accuracies.min(axis=1), accuracies.max(axis=1)
        axes.fill_between(epsilons, lowest, highest, color=colour, alpha=0.15, linewidth=0)
        axes.plot(epsilons, mean, color=colour, linewidth=2.4, marker="o", markersize=5)
        _label(
            axes,
            f"private {name}: mean and range of {accuracies.shape[1]}",
            epsilons[-1],
            lowest[-1],
            -8,
            colour,
        )
    for height, text in (
        (twin, "without privacy (scikit-learn boosting)"),
        (majority, "always guessing the most frequent answer"),
    ):
        axes.axhline(height, color=SOFT, linewidth=1.4, linestyle=(0, (5, 3)), zorder=1)
        _label(axes, f"{text}: {height:.1%}", epsilons[-1], height, 4, SOFT)
    axes.set_xscale("log")
    axes.margins(y=0.08)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.set_xlabel("privacy budget ε   (left: more privacy · right: less)", color=INK)
    axes.set_ylabel("accuracy on people never seen", color=INK)
    axes.set_title(
        "What privacy costs: heart disease among invented patients",
        loc="left",
        color=INK,
        weight="bold",
        pad=12,
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    figure.savefig(path)


def _label(axes: Any, text: str, x: float, y: float, shift: int, colour: str) -> None:
    """Write beside a line what it is, ``shift`` points above or below it."""
    axes.annotate(
        text,
        (x, y),
        (0, shift),
        textcoords="offset points",
        ha="right",
        va="bottom" if shift > 0 else "top",
        color=colour,
    )
