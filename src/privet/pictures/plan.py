"""A plan drawn: what the budget is spent on, and which leaves will be able to speak."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.learners.plan import QUANTILES, FitPlan, Leaves
from privet.pictures.style import BLUE, INK, ORANGE, SOFT, clean, new_figure


def draw_plan(plan: FitPlan) -> Any:
    """A figure with two parts: shares of the budget by question, and rows of a leaf against their noise."""
    shares = plan.shares()
    figure = new_figure(8.5, 2.2 + 0.42 * len(shares) + (3.2 if plan.leaves else 0))
    heights = [1.1 + 0.42 * len(shares), 3.4] if plan.leaves else [1]
    parts = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    figure.suptitle(
        f"{plan.learner}, {plan.budget}, {plan.n_rows:,.0f} rows",
        x=0.01, ha="left", color=INK, weight="bold", fontsize=12,
    )  # fmt: skip
    _draw_shares(parts[0], shares)
    if plan.leaves is not None:
        _draw_leaves(parts[1], plan.leaves)
    return figure


def _draw_shares(axes: Any, shares: list[tuple[str, int, float, float | None]]) -> None:
    clean(axes, "What the budget is spent on")
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    places = np.arange(len(shares))
    parts = [share for _, _, share, _ in shares]
    axes.barh(places, parts, color=BLUE, height=0.62)
    for place, (_, times, share, sd) in zip(places, shares, strict=True):
        noise = "" if sd is None else f", noise ± {sd:,.3g}"
        asked = f", asked {times} times" if times > 1 else ""
        axes.annotate(
            f"{share:.1%}{asked}{noise}", (share, place), (5, 0), textcoords="offset points",
            va="center", color=SOFT, fontsize=8,
        )  # fmt: skip
    axes.set_yticks(places, [name for name, *_ in shares])
    axes.set_xlim(0, max(parts) * 1.6)
    axes.set_xticks([])
    axes.set_ylim(max(len(shares), 2) - 0.5, -0.5)


def _draw_leaves(axes: Any, leaves: Leaves) -> None:
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    clean(axes, f"Rows of a leaf against its noise: {leaves.thin:.0%} of the leaves are too thin to speak")
    # The very emptiest and fullest leaf depend on the draw of the trees.
    rows = np.maximum(leaves.rows, leaves.least / 1e3)[1:-1]
    axes.plot(QUANTILES[1:-1], rows, color=BLUE, linewidth=2.2)
    axes.axhspan(rows.min() / 2, leaves.least, color=ORANGE, alpha=0.1, linewidth=0)
    axes.axhline(leaves.least, color=ORANGE, linewidth=1.4, linestyle=(0, (5, 3)))
    # Beside the curve, not on it.
    x, shift, side, end = (0.01, 4, "left", "bottom") if leaves.thin > 0.5 else (0.99, -5, "right", "top")
    axes.annotate(
        f"{leaves.least:,.3g} rows, all of one label, {leaves.why}",
        (x, leaves.least), (0, shift), textcoords="offset points", ha=side, va=end, color=ORANGE, fontsize=8,
    )  # fmt: skip
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(rows.min() / 2, max(rows.max(), leaves.least) * 3)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel("leaves, from the emptiest to the fullest", color=INK, fontsize=8.5)
    axes.set_ylabel("expected rows, spread evenly", color=INK, fontsize=8.5)
