"""The figure of the README: accuracy by ε beside rivals, by the bench: ``python -m bench.draw``."""

import json
from pathlib import Path

import numpy as np

from bench.report import RESULTS
from privet.pictures.style import BLUE, INK, ORANGE, SOFT, clean, new_figure

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "accuracy.png"
LINES = {
    "boosting": ("PRIVET boosting", BLUE, "-"),
    "boosting δ": ("PRIVET boosting, δ", BLUE, "--"),
    "DP-EBM": ("DP-EBM of interpret, δ", ORANGE, "--"),
    "dpl forest": ("random forest of diffprivlib", "#8e6c8a", "-"),
    "dpl logistic": ("logistic regression of diffprivlib", "#6a994e", "-"),
}
"""Learners that are drawn: what they are called, and how they are drawn."""

LIMIT, PRIOR = "LightGBM", "class prior"


def main() -> None:
    """Draw the mean area under the curve of the tables that all learners were fitted to."""
    rows = json.loads((RESULTS / "learners-all.json").read_text(encoding="utf-8"))["rows"]
    tables = set.intersection(*({r["table"] for r in rows if r["learner"] == learner} for learner in LINES))

    def mean(learner: str, epsilon: float | None) -> float:
        found = [r["AUC"]["mean"] for r in rows if (r["learner"], r["ε"]) == (learner, epsilon)
                 and r["table"] in tables]  # fmt: skip
        assert len(found) == len(tables), (learner, epsilon)
        return float(np.mean(found))

    figure = new_figure(7.2, 3.8)
    axes = figure.add_subplot()
    clean(axes, f"Mean area under the ROC curve, {len(tables)} tables of two labels")
    budgets = sorted({r["ε"] for r in rows if r["ε"] is not None})
    for learner, (name, colour, style) in LINES.items():
        values = [mean(learner, epsilon) for epsilon in budgets]
        axes.plot(budgets, values, style, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=name)
    limit = mean(LIMIT, None)
    axes.axhline(limit, color=SOFT, linewidth=1)
    axes.annotate("LightGBM, without privacy", (budgets[0], limit), (0, -10), textcoords="offset points",
                  color=SOFT, fontsize=8)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(budgets, [f"{epsilon:g}" for epsilon in budgets])
    axes.minorticks_off()
    axes.set_xlabel("ε", color=INK, size=9)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
