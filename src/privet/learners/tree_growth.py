"""Grow one tree level by level, by whatever way of choosing its splits, and tell what its nodes hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet.answers import ChosenSplits, NoisyCounts
from privet.learners.greedy_plan import CountEstimates, LevelShares
from privet.learners.growing import Growth, Menu, grown, node_limit, open_splits, seedlings
from privet.learners.pruning import children_of, corrected_counts, prune_by_errors, without
from privet.learners.purse import Purse, sd_of
from privet.privacy import Protected
from privet.privacy.questions.trees import LeafLabelRows, LeafTotals
from privet.structure import MultiwayTrees, Splits

Choose = Callable[[MultiwayTrees, Splits, Fraction], ChosenSplits]
"""Chooses the splits of a level, each of its questions having a share of the budget."""


def grow_tree(
    protected: Protected,
    menu: Menu,
    plan: LevelShares,
    purse: Purse,
    choose: Choose,
    most_nodes: int | None = None,
) -> tuple[Growth, CountEstimates, NoisyCounts]:
    """A tree, what is known of the rows of its nodes, and the noisy label counts of its leaves.

    A level that would bring more than ``most_nodes``, or more than the wall can count, is not grown. What
    was planned for levels that do not come to be stays spent.
    """
    n_labels = protected.schema.n_labels
    growth, rows = _grown(protected, menu, plan, purse, choose, most_nodes or node_limit(n_labels))
    cost = purse.cost(plan.leaves)
    protected.refine([LeafLabelRows.plan(cost, 1)])
    noisy = protected.ask(LeafLabelRows(growth.trees), cost)
    totals = noisy.values.sum(axis=1, keepdims=True)
    return growth, rows.more(growth.leaves, totals, noisy.variance * n_labels), noisy


def _grown(
    protected: Protected, menu: Menu, plan: LevelShares, purse: Purse, choose: Choose, most_nodes: int
) -> tuple[Growth, CountEstimates]:
    least = sd_of(LeafLabelRows.plan(purse.cost(plan.leaves), 1)) * protected.schema.n_labels
    growth, rows, closed = seedlings(menu, 1), CountEstimates.none(1, 1), np.zeros(1, bool)

    def asked(share: Fraction) -> CountEstimates:
        noisy = protected.ask(LeafTotals(growth.trees), purse.cost(share))
        return rows.more(growth.leaves, noisy.values[:, None], noisy.variance)

    for rows_share, split_share in zip(plan.rows, plan.split, strict=True):
        rows = asked(rows_share)
        closed |= too_few(growth, menu, rows.mean[:, 0], least)
        splits = open_splits(growth, menu, closed)
        if not splits.allowed.any():
            return growth, rows
        taller = grown(growth, menu, choose(growth.trees, splits, split_share))
        if len(taller.level) > most_nodes:
            return growth, rows
        rows, closed = rows.padded(len(taller.level)), padded(closed, len(taller.level))
        growth = taller
    return growth, asked(plan.last_rows) if plan.last_rows else rows


def released_tree(
    growth: Growth, menu: Menu, rows: CountEstimates, noisy: NoisyCounts, certainty: float | None
) -> tuple[MultiwayTrees, np.ndarray, np.ndarray]:
    """The tree, label counts of its nodes and the variance of their noise; pruned if a certainty is given."""
    trees = growth.trees
    released = np.zeros((len(trees.view), noisy.values.shape[1]))
    released[growth.leaves] = noisy.values
    families = children_of(trees, menu.branches(trees))
    counts = corrected_counts(families, rows.from_below(families).mean[:, 0], released)
    variance = np.full(len(counts), noisy.variance)
    for node, children in reversed(families):
        variance[node] = variance[children].sum()
    if certainty is None:
        return trees, counts, variance
    trees, kept = without(trees, families, prune_by_errors(families, counts, certainty))
    return trees, counts[kept], variance[kept]


def too_few(growth: Growth, menu: Menu, rows: np.ndarray, least: float) -> np.ndarray:
    """Nodes whose children would hold, on average, fewer than so many rows."""
    offered = growth.lowest <= growth.highest
    return np.asarray(rows < least * np.where(offered, menu.children, 1).max(axis=1))


def padded(closed: np.ndarray, n_nodes: int) -> np.ndarray:
    """The same for more nodes, the new ones open."""
    return np.concatenate([closed, np.zeros(n_nodes - len(closed), bool)])


def only(splits: Splits, allowed: np.ndarray) -> Splits:
    """The same splits where ``allowed``, and none elsewhere."""
    lowest = np.where(allowed, splits.lowest, 1).astype(np.int32)
    return replace(splits, lowest=lowest, highest=np.where(allowed, splits.highest, 0).astype(np.int32))
