"""What a random forest can be expected to come to: its leaves, and the bound that holds for its vote."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Any, Literal, cast

import numpy as np
from sklearn.utils import check_random_state

from privet.answers import sparse_threshold
from privet.learners.multiway_trees import draw_levels, draw_nodes, most_leaves, node_volumes, path_volumes
from privet.learners.plan import Leaves, StatedBound
from privet.learners.random_trees import fanned_ground, leaf_volumes, random_complete_trees
from privet.schema import Schema
from privet.theory import Bound, private_vote_bound

PREVIEWED_LEAVES, PREVIEWED_TREES = 1 << 16, 1 << 8
"""Leaves, and multi-way trees at most, that are drawn to see how large leaves are."""

SHOWN = "are just shown by the sparse release"

MISTAKE = 0.159
"""How often noise may outvote a leaf that agrees with itself: as often as it exceeds one deviation."""

TREE_ERROR, MOST_FAILURE = 0.1, 0.05
MARGINS, THINNESSES = np.arange(0.02, 0.5, 0.02).tolist(), (5, 10, 20, 50, 100)
"""Mean error of a single tree for which the bound is told, and what is tried to make it say the most."""

NEEDS = "none is known: it needs two labels, complete trees drawn blindly, Laplace noise, rows='all'"
BOUND = f"bound on the error, if a tree errs by {TREE_ERROR:.0%}"


def forest_leaves(
    schema: Schema, depth: int, n_rows: float, least: float, random_state: Any, within_node: bool = True
) -> Leaves:
    """Leaves of random trees of a depth, each of which sees a number of rows."""
    random = check_random_state(random_state)
    n_trees = max(1, PREVIEWED_LEAVES >> depth)
    trees = random_complete_trees(schema, n_trees, depth, random, within_node)
    return Leaves.of(n_rows * leaf_volumes(trees, schema), least)


def multiway_leaves(schema: Schema, height: int, n_rows: float, least: float, random_state: Any) -> Leaves:
    """The same of trees with a child for every category."""
    random = check_random_state(random_state)
    enough = PREVIEWED_LEAVES // most_leaves(fanned_ground(schema, 1), height)
    n_trees = int(np.clip(enough, 1, PREVIEWED_TREES))
    trees = draw_nodes(fanned_ground(schema, n_trees), height, random)
    return Leaves.of(n_rows * node_volumes(trees, schema)[trees.view < 0], least)


def sparse_leaves(
    schema: Schema,
    height: int,
    n_rows: float,
    outvoting: float,
    random_state: Any,
    scale: Fraction,
    false_cells: int,
) -> Leaves:
    """The same of trees too large to write down: some leaves are drawn, which need to reach a threshold."""
    random = check_random_state(random_state)
    trees = draw_levels(fanned_ground(schema, PREVIEWED_TREES), height, random)
    n_labels = schema.n_labels
    least = [sparse_threshold(n * n_labels, scale, false_cells) for n in trees.n_leaves]
    expected = n_rows * path_volumes(trees, schema, PREVIEWED_LEAVES // PREVIEWED_TREES, random)
    return Leaves.of(expected, max(float(np.median(least)), outvoting), SHOWN)


def least_chosen(epsilon: float) -> float:
    """Rows that a leaf needs to have its label chosen: another is taken with probability ½·e^(−ε·rows)."""
    return log(0.5 / MISTAKE) / float(epsilon)


def vote_bound(
    voting: str, n_labels: int, n_rows: float, height: int, n_trees: int, epsilon: float | None
) -> StatedBound:
    """The bound on a vote of noisy counts that can be proved, where its assumptions hold."""
    if voting not in ("majority", "threshold"):
        return StatedBound(BOUND, f"none is known for {voting} voting")
    if n_labels != 2 or epsilon is None:
        return StatedBound(BOUND, NEEDS)
    way = cast(Literal["majority", "threshold"], voting)

    def best(rows: int) -> Bound:
        tried = [
            private_vote_bound(way, rows, height, n_trees, epsilon, TREE_ERROR, margin, thinness)
            for margin in MARGINS
            for thinness in THINNESSES
        ]
        return min(tried, key=lambda b: (b.vacuous, b.failure > MOST_FAILURE, b.error))

    found = best(int(n_rows))
    if found.vacuous:
        return StatedBound(BOUND, _nothing(best, n_rows), found)
    return StatedBound(BOUND, f"{found.error:.0%}, with probability {found.probability:.1%}", found)


def _nothing(best: Callable[[int], Bound], n_rows: float) -> str:
    # With a number of trees, more rows drown the noise but ask more of the vote: there may be no way out.
    more = map(int, np.geomspace(n_rows, 1e18, 60))
    enough = next((rows for rows in more if not best(rows).vacuous), None)
    if enough is None:
        return "says nothing, however many rows there are: more trees are needed"
    return f"says nothing below about {enough:.0e} rows"
