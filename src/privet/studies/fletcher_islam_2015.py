"""Fletcher and Islam 2015: their greedy forest, strictly private, against DiffPID3 as it was published.

The paper compares itself with a DiffPID3 whose gini is divided by the rows of a node and has sensitivity 0.5,
so that attributes are chosen almost at random: the *straw man*. Friedman and Schuster never did that: their
gini is not divided and has sensitivity 2. Both are run here, and our own: the forest with our
votes, the tree with our shares. Depth 5 counts the root, as in the paper: there are four splits on a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from privet.estimators import GreedyForestClassifier
from privet.studies.curves import Row
from privet.studies.datasets import real_table
from privet.studies.study import Study
from privet.studies.ways import Folds, Way, greedy

NAMES = ("car", "krkopt", "connect4", "mushroom", "nursery", "tic_tac_toe")
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0)
LEVELS = 5
STRAW_MAN, DIFFPID3, TREE = "straw man", "DiffPID3", "tree ours"
FORESTS: Mapping[str, Mapping[str, Any]] = {
    "DPDF 1 tree": {"n_trees": 1, "voting": "confidence"},
    "DPDF 4 trees": {"n_trees": 4, "voting": "confidence"},
    "4 trees ours": {"n_trees": 4},
}


def ways(n_rows: int) -> dict[str, Way]:
    """Every way, for a table of so many rows.

    The straw man's exponent is ε·G/(2·0.5) of a gini that is divided by the rows of the node. In units of the
    gini that is not divided this is ε/rows, where the strict exponent is ε/2. The rows of the root are taken
    for those of every node: deeper down the exponent is larger, and still next to nothing.
    """
    forests = {
        name: Way(GreedyForestClassifier, {"max_depth": LEVELS, **more}) for name, more in FORESTS.items()
    }
    return {
        STRAW_MAN: greedy("gini", Fraction(2, n_rows), max_depth=LEVELS - 1),
        DIFFPID3: greedy("gini", max_depth=LEVELS - 1),
        **forests,
        TREE: greedy("max", max_depth=LEVELS - 1, shares="default", prune=True),
    }


def run(quick: bool = False) -> Iterator[Row]:
    """Every table at every budget, or the two smallest tables at one."""
    for name in ("car", "tic_tac_toe") if quick else NAMES:
        folds = Folds(name, 2) if quick else Folds(name)
        n_rows = real_table(name)[1].num_rows
        yield from folds.rows(name, "β", ways(n_rows), BUDGETS[-1:] if quick else BUDGETS)


def verdict(rows: Sequence[Row]) -> str:
    """How often a forest is ahead of each rival, by how many points in the mean, and how surely."""
    accuracy = {(row["figure"], row["x"], row["way"]): row["accuracy"] for row in rows}
    places = list(dict.fromkeys((row["figure"], row["x"]) for row in rows))
    rivals = (STRAW_MAN, DIFFPID3, TREE)
    lines = [f"{'ahead of':<15}" + "".join(f"{rival:>21}" for rival in rivals)]
    for forest in FORESTS:
        cells = []
        for rival in rivals:
            ahead = np.array([accuracy[*place, forest] - accuracy[*place, rival] for place in places])
            p = float(wilcoxon(ahead).pvalue) if np.any(ahead) else 1.0
            cells.append(f"{np.sum(ahead > 0)}/{len(ahead)} {100 * ahead.mean():+.1f} p={p:.1g}")
        lines.append(f"{forest:<15}" + "".join(f"{cell:>21}" for cell in cells))
    return "\n".join(lines) + "\n"


STUDY = Study("fletcher-islam-2015", run, verdict=verdict, real=True)
