"""Structures of count forests: how deep, and what their splits are drawn from."""

from __future__ import annotations

from fractions import Fraction
from math import log2, sqrt

import numpy as np

from privet.learners.boosting_bins import (
    Totals,
    class_shares,
    gather,
    make_cells,
    n_cells,
    pooled_totals,
)
from privet.learners.boosting_plan import Purse
from privet.learners.boosting_shapes import Start, first_shapes
from privet.learners.random_trees import Ground, informed_ground
from privet.privacy import Protected

LABEL_SHARE = Fraction(1, 20)
"""Part of the budget that asks how many rows have each label: the prior, and the size of the table."""

BIN_SHARE = Fraction(1, 4)
"""Part of the budget that asks for rows by bin and label, where a structure is informed by them."""

CELL_MASS = 2.0
"""Rows that a cell should hold, in standard deviations of its noise."""

SHALLOWEST, DEEPEST = 3, 13


def speaking_depth(n_rows: float, noise: float) -> int:
    """Depth at which a leaf of average size holds about as many rows as its noise."""
    return int(np.clip(round(log2(max(n_rows / noise, 1))), SHALLOWEST, DEEPEST))


def ask_ground(
    protected: Protected, purse: Purse, totals: Totals, n_trees: int, random: np.random.RandomState
) -> tuple[Ground, Totals]:
    """Ask for rows by bin and label: what splits are drawn from, and surer totals.

    Privacy
    -------
    One question, at `BIN_SHARE` of the purse; all else is computed from its answer.
    """
    schema = protected.schema
    sd = purse.sd(len(schema.features), Fraction(1), BIN_SHARE)
    n_rows = max(float(totals.rows.sum()), 1.0)
    cells, present = make_cells(schema, n_cells(n_rows, CELL_MASS, sd * sqrt(len(totals.rows))))
    noisy_rows = protected.noisy_bin_rows(cells, **purse.price(BIN_SHARE)).values
    totals = totals.merge(pooled_totals(cells, noisy_rows, sd))
    n_rows = max(float(totals.rows.sum()), 10.0)
    bins, margins = gather(schema, cells, present, noisy_rows, sd, totals)
    shapes = first_shapes(margins, Start.of(class_shares(totals, n_rows), totals.sd / n_rows))
    return informed_ground(schema, bins, margins, shapes.values, shapes.energy, n_trees, random), totals
