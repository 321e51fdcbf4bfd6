"""What boosting would ask and build, told before anything is paid for."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from privet.learners.boosting.loss import Loss, loss_of
from privet.learners.boosting.numbers import Numbers
from privet.learners.boosting.opening import further_shares, openings
from privet.learners.boosting.plan import Plan, whole_plan
from privet.learners.plan import QUANTILES, FitPlan, Leaves
from privet.learners.purse import Purse, sd_of
from privet.privacy import Budget
from privet.privacy.questions.boosting import gradient_clip
from privet.schema import Schema

LEAST_PART, MOST_PART = 0.1, 0.9
"""Share of the rows on one side of a cut, drawn uniformly."""

STEP = 0.01


def preview(
    budget: Budget,
    schema: Schema,
    n_rows: float,
    passes: int | None,
    settled: Purse | None = None,
    started: bool = False,
) -> FitPlan:
    """The plan of a fit whose noisy number of rows is ``n_rows``; see `openings` for ``settled``."""
    n_features, loss = len(schema.features), loss_of(schema)
    opening = openings(budget, schema, settled)[0]
    purse = opening.law(n_rows, n_features)
    spent = opening.spent(purse)
    shares = further_shares(purse, n_rows, n_features, loss, spent)
    labels = [opening.first, *(loss.label_kind.plan(purse.cost(share)) for share in shares)]
    spent = sum(shares, spent)
    if isinstance(loss, Numbers):
        more, share = loss.further(purse, n_rows, sd_of(labels[-1]), passes)
        labels, spent = [*labels, *more], spent + share
        passes = passes if passes is None else max(passes - len(more), 1)
    plan = whole_plan(n_rows, schema, loss, purse, spent, passes, settled is not None, started)
    charges = [*labels, *plan.charges(purse, n_features, loss, shown=True)]
    return FitPlan(
        "boosting",
        budget,
        n_rows,
        charges,
        {
            "passes over the rows": len(charges),
            "passes over shapes": plan.shape_passes,
            "rounds of trees": plan.rounds,
            "trees": plan.rounds * plan.n_trees,
            "depth": plan.depth if plan.rounds else 0,
            "leaves of each tree": 1 << plan.depth if plan.rounds else 0,
        },
        _leaves(plan, n_rows, loss, purse) if plan.rounds else None,
    )


def _leaves(plan: Plan, n_rows: float, loss: Loss, purse: Purse) -> Leaves:
    """Rows of a leaf under independent cuts, and what its rows' gradients must add up to over all passes."""
    clip = gradient_clip(loss.n_labels, purse.norm)
    largest = float(clip) if purse.pure else sqrt(clip)
    sd = sd_of(plan.leaf_gradients(purse, loss))
    return Leaves(n_rows * _part_quantiles(plan.depth), sd / sqrt(plan.tree_passes) / largest)


def _part_quantiles(depth: int) -> np.ndarray:
    """Quantiles of a product of uniform parts: of the sum of their logarithms, by convolution."""
    logs = np.arange(log(LEAST_PART), log(MOST_PART), STEP) + STEP / 2
    law = total = np.exp(logs) / np.exp(logs).sum()
    for _ in range(depth - 1):
        total = np.convolve(total, law)
    places = depth * logs[0] + STEP * np.arange(len(total))
    return np.exp(np.interp(QUANTILES, np.cumsum(total), places))
