"""What boosting would ask and build, told before anything is paid for."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np

from privet.learners.boosting_opening import further_shares, openings
from privet.learners.boosting_plan import Plan, Purse, make_plan
from privet.learners.plan import QUANTILES, FitPlan, Leaves, PlannedQuestion
from privet.privacy import Budget, Charge
from privet.privacy.gradients import (
    BIN_GRADIENTS,
    BIN_ROWS,
    LABEL_ROWS,
    LEAF_GRADIENTS,
    LEAF_ROWS,
    gradient_clip,
    noise_sd,
)
from privet.schema import Schema

LEAST_PART, MOST_PART = 0.1, 0.9
"""Share of the rows on one side of a cut, drawn uniformly."""

STEP = 0.01


def preview(budget: Budget, schema: Schema, n_rows: float, passes: int | None) -> FitPlan:
    """The plan of a fit whose noisy number of rows is ``n_rows``."""
    n_features, n_labels = len(schema.features), len(schema.label.values)
    opening = openings(budget, schema)[0]
    purse = opening.law(n_rows, n_features, n_labels)
    spent = opening.spent(purse)
    shares = further_shares(purse, n_rows, n_features, n_labels, spent)
    plan = make_plan(n_rows, n_features, n_labels, purse, sum(shares, spent), passes)
    clip, one = gradient_clip(n_labels, purse.norm), Fraction(1)
    blocks = {
        LABEL_ROWS: (1, one),
        BIN_ROWS: (n_features, one),
        BIN_GRADIENTS: (n_features, clip),
        LEAF_ROWS: (plan.n_trees, one),
        LEAF_GRADIENTS: (plan.n_trees, clip),
    }

    def noise(charge: Charge) -> float:
        return noise_sd(*blocks[charge.question], charge.cost)

    labels = [opening.purse.cost(opening.share), *(purse.cost(share) for share in shares)]
    charges = [*(Charge(LABEL_ROWS, cost) for cost in labels), *plan.charges(purse)]
    return FitPlan(
        "boosting",
        budget,
        n_rows,
        [PlannedQuestion(charge, noise(charge)) for charge in charges],
        {
            "passes over the rows": len(charges),
            "passes over shapes": plan.shape_passes,
            "rounds of trees": plan.rounds,
            "trees": plan.rounds * plan.n_trees,
            "depth": plan.depth if plan.rounds else 0,
            "leaves of each tree": 1 << plan.depth if plan.rounds else 0,
        },
        _leaves(plan, n_rows, noise(charges[-1]), clip, purse) if plan.rounds else None,
    )


def _leaves(plan: Plan, n_rows: float, sd: float, clip: Fraction, purse: Purse) -> Leaves:
    """Rows of a leaf under independent cuts, and what its rows' gradients must add up to over all passes."""
    largest = float(clip) if purse.pure else sqrt(clip)
    return Leaves(n_rows * _part_quantiles(plan.depth), sd / sqrt(plan.tree_passes) / largest)


def _part_quantiles(depth: int) -> np.ndarray:
    """Quantiles of a product of uniform parts: of the sum of their logarithms, by convolution."""
    logs = np.arange(log(LEAST_PART), log(MOST_PART), STEP) + STEP / 2
    law = total = np.exp(logs) / np.exp(logs).sum()
    for _ in range(depth - 1):
        total = np.convolve(total, law)
    places = depth * logs[0] + STEP * np.arange(len(total))
    return np.exp(np.interp(QUANTILES, np.cumsum(total), places))
