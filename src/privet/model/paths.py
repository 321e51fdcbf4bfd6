"""Why a forest tells a row what it does: along its path through each tree, every split moves what is said.

A node says the mean of the leaves below it, by their noisy rows. What a split adds is the difference of two
nodes, and goes to the feature that it looks at; from root to leaf all of them add up. Nothing is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from privet.kernels.route import route
from privet.model.frames import Explanation
from privet.schema import Schema, Target
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees

LEAST_ROWS = 1e-9
"""What a leaf without rows counts for, so that branches without any have a mean."""


def path_explanation(
    votes: LeafVotes, schema: Schema, codes: np.ndarray, rows: np.ndarray | None = None
) -> Explanation:
    """Parts of what the trees say of rows, mean over trees; ``noise`` is how far trees differ in them.

    Parameters
    ----------
    votes : LeafVotes
    schema : Schema
    codes : (features, rows)
    rows : (trees, leaves) or (leaves,), optional
        Noisy rows of the leaves; where they are not given, all leaves count alike.
    """
    trees, values = votes.trees, np.asarray(votes.values, float)
    weights = np.ones(values.shape[:-1]) if rows is None else np.maximum(rows, 0.0)
    n_trees, shape = trees.n_trees, (codes.shape[1], len(schema.features), values.shape[-1])
    base, total, squares = np.zeros(values.shape[-1]), np.zeros(shape), np.zeros(shape)
    for said, steps in _walked(trees, values, np.maximum(weights, LEAST_ROWS), codes):
        parts = np.zeros(shape)
        for row, feature, adds in steps:
            np.add.at(parts, (row, feature), adds)
        base += said
        total += parts
        squares += parts**2
    parts = total / n_trees
    # Trees are drawn, and have noise, alike: their scatter tells how far their mean would vary.
    scatter = np.maximum(squares / n_trees - parts**2, 0).mean(axis=2) / max(n_trees - 1, 1)
    noise = np.sqrt(scatter) if n_trees > 1 else np.full(shape[:2], np.nan)
    label = schema.label
    names = [label.name] if isinstance(label, Target) else list(map(str, schema.classes))
    nothing = np.zeros((shape[0], shape[2]))
    return Explanation(schema.feature_names, names, base / n_trees, parts, noise, nothing)


Step = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows, the features that their nodes look at, and what the splits add."""


def _walked(
    trees: CompleteTrees | MultiwayTrees, values: np.ndarray, weights: np.ndarray, codes: np.ndarray
) -> Iterator[tuple[np.ndarray, Sequence[Step]]]:
    """What the root of each tree says, and the steps of all rows from leaf to root."""
    leaves = route(trees, np.ascontiguousarray(codes)).astype(np.int64)
    if isinstance(trees, CompleteTrees):
        for tree in range(trees.n_trees):
            said = _complete_nodes(values[tree], weights[tree])
            above = np.arange(len(said)) // 2
            looks = trees.views.source[trees.view[tree]]
            yield said[1], _steps(trees.n_leaves + leaves[tree], 1, said, above, looks)
        return
    said = _multiway_nodes(trees, values, weights)
    leaf = np.flatnonzero(trees.view < 0)
    node_of = np.empty(len(leaf), np.int64)
    node_of[trees.child[leaf]] = leaf
    looks = trees.views.source[np.maximum(trees.view, 0)]
    for tree, root in enumerate(trees.roots.tolist()):
        yield said[root], _steps(node_of[leaves[tree]], root, said, trees.parent, looks)


def _steps(
    nodes: np.ndarray, root: int, said: np.ndarray, above: np.ndarray, looks: np.ndarray
) -> list[Step]:
    steps: list[Step] = []
    row = np.flatnonzero(nodes != root)
    while len(row):
        node = nodes[row]
        parent = above[node]
        steps.append((row, looks[parent], said[node] - said[parent]))
        nodes = nodes.copy()
        nodes[row] = parent
        row = row[parent != root]
    return steps


def _complete_nodes(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What every node of a complete tree says, ``(nodes, outputs)``."""
    levels = [(weights[:, None] * values, weights)]
    while len(levels[0][1]) > 1:
        sums, rows = levels[0]
        levels.insert(0, (sums[0::2] + sums[1::2], rows[0::2] + rows[1::2]))
    means = [sums / rows[:, None] for sums, rows in levels]
    return np.concatenate([np.zeros((1, values.shape[1])), *means[:-1], values])


def _multiway_nodes(trees: MultiwayTrees, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same of all nodes of multi-way trees."""
    leaf = np.flatnonzero(trees.view < 0)
    sums, rows = np.zeros((len(trees.view), values.shape[1])), np.zeros(len(trees.view))
    rows[leaf] = weights[trees.child[leaf]]
    sums[leaf] = rows[leaf, None] * values[trees.child[leaf]]
    for level in reversed(trees.levels[1:]):
        np.add.at(sums, trees.parent[level], sums[level])
        np.add.at(rows, trees.parent[level], rows[level])
    said = sums / rows[:, None]
    said[leaf] = values[trees.child[leaf]]
    return said
