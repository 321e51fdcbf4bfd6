"""Random trees with a child for every category, after Jagannathan et al. 2012.

A feature is tested once on a path. Trees of moderate size are written down node by node; of larger ones only
the split of every level is drawn, and what is kept of them is what a sparse release shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from privet.answers import NoisyCells
from privet.learners.random_trees import Ground, n_places
from privet.model.voting import node_sums
from privet.schema import Schema
from privet.structure import LevelTrees, MultiwayTrees, Views


def n_children(ground: Ground) -> np.ndarray:
    """Children that a split on each feature has; 1 where it parts nothing."""
    return np.where(ground.fans, ground.sizes, np.minimum(ground.sizes, 2))


def most_leaves(ground: Ground, height: int) -> int:
    """Leaves that a tree of a height can have at most."""
    return prod(np.sort(n_children(ground))[::-1][:height].tolist())


def draw_nodes(ground: Ground, height: int, random: np.random.RandomState) -> MultiwayTrees:
    """Trees whose every node draws its own split among the features not yet tested on its path."""
    children = n_children(ground)
    tree = np.arange(len(ground.choice))
    usable = np.tile(children > 1, (len(tree), 1))
    levels: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    first = len(tree)
    for _ in range(height):
        feature = _keys(usable, ground.weights, random).argmax(axis=1)
        width = children[feature]
        levels.append((ground.choice[tree, feature], _cuts(ground, feature, random), first + _before(width)))
        first += int(width.sum())
        parent = np.repeat(np.arange(len(tree)), width)
        tree, usable = tree[parent], usable[parent]
        usable[np.arange(len(tree)), feature[parent]] = False
    levels.append((np.full(len(tree), -1), np.zeros(len(tree)), np.arange(len(tree))))
    view, threshold, child = (np.concatenate(column) for column in zip(*levels, strict=True))
    return MultiwayTrees(
        ground.views,
        np.arange(len(ground.choice)),
        view.astype(np.int32),
        threshold.astype(np.uint16),
        child.astype(np.int64),
    )


def draw_levels(ground: Ground, height: int, random: np.random.RandomState) -> LevelTrees:
    """Trees whose nodes of a level share their split: a path has the law of a path of `draw_nodes`."""
    n_trees, children = len(ground.choice), n_children(ground)
    usable = np.tile(children > 1, (n_trees, 1))
    feature = np.argsort(-_keys(usable, ground.weights, random), axis=1)[:, :height]
    return LevelTrees(
        ground.views,
        np.take_along_axis(ground.choice, feature, axis=1).astype(np.int32),
        _cuts(ground, feature, random).astype(np.uint16),
        children[feature].astype(np.int64),
    )


def node_volumes(trees: MultiwayTrees, schema: Schema) -> np.ndarray:
    """Share of the public ranges that every node covers: a path tests a feature once."""
    volume = np.ones(len(trees.view))
    for level in trees.levels[1:]:
        above = trees.parent[level]
        size = _sizes(trees.views, schema)[trees.view[above]]
        below = trees.threshold[above] / size
        part = np.where(level == trees.child[above], below, 1 - below)
        volume[level] = volume[above] * np.where(trees.threshold[above] == 0, 1 / size, part)
    return volume


def path_volumes(
    trees: LevelTrees, schema: Schema, n_leaves: int, random: np.random.RandomState
) -> np.ndarray:
    """The same for leaves that are drawn uniformly, ``(trees, n_leaves)``."""
    size = _sizes(trees.views, schema)[trees.view][:, None]
    cut = trees.threshold[:, None]
    first = random.random_sample((len(trees.view), n_leaves, trees.view.shape[1])) < 0.5
    part = np.where(first, cut / size, 1 - cut / size)
    return np.asarray(np.where(cut == 0, 1 / size, part).prod(axis=2))


def stored_trees(
    levels: LevelTrees, released: Sequence[NoisyCells], n_labels: int
) -> tuple[MultiwayTrees, np.ndarray]:
    """What a sparse release shows, as trees: paths to stored leaves, and a silent leaf beside every path.

    Returns
    -------
    trees : MultiwayTrees
    counts : int64 (leaves, labels)
        Noisy counts of stored cells, zero elsewhere.
    """
    nodes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    counts: list[np.ndarray] = []
    roots, n_nodes, n_leaves = [], 0, 0
    for tree, cells in enumerate(released):
        roots.append(n_nodes)
        for level, (prefix, inner) in enumerate(_tries(levels.radix[tree], cells.cells // n_labels)):
            last = level == levels.radix.shape[1]
            width = 0 if last else int(levels.radix[tree, level])
            child = np.empty(len(prefix), np.int64)
            child[~inner] = n_leaves + np.arange((~inner).sum())
            child[inner] = n_nodes + len(prefix) + width * np.arange(inner.sum())
            view = np.where(inner, -1 if last else levels.view[tree, level], -1)
            cut = np.where(inner, 0 if last else levels.threshold[tree, level], 0)
            nodes.append((view, cut, child))
            said = np.zeros(((~inner).sum(), n_labels), np.int64)
            if last:
                said[np.searchsorted(prefix, cells.cells // n_labels), cells.cells % n_labels] = cells.values
            counts.append(said)
            n_nodes, n_leaves = n_nodes + len(prefix), n_leaves + len(said)
    view, cut, child = (np.concatenate(column) for column in zip(*nodes, strict=True))
    trees = MultiwayTrees(
        levels.views, np.array(roots, np.int64), view.astype(np.int32), cut.astype(np.uint16), child
    )
    return trees, np.concatenate(counts)


def pruned(trees: MultiwayTrees, counts: np.ndarray) -> tuple[MultiwayTrees, np.ndarray]:
    """Trees whose subtrees without rows are leaves. Only for exact counts: it tells where there are none."""
    sums = node_sums(trees, counts, 0.0)[0]
    empty = np.asarray(~sums.any(axis=1))
    above = trees.parent
    kept = (above < 0) | ~empty[above]
    number = np.cumsum(kept) - 1
    leaf = (empty | (trees.view < 0))[kept]
    child = np.where(leaf, np.cumsum(leaf) - 1, number[np.where(trees.view < 0, 0, trees.child)[kept]])
    view = np.where(leaf, -1, trees.view[kept]).astype(np.int32)
    threshold = np.where(leaf, 0, trees.threshold[kept]).astype(np.uint16)
    smaller = MultiwayTrees(trees.views, number[trees.roots], view, threshold, child)
    return smaller, sums[kept][leaf].astype(np.int64)


def _sizes(views: Views, schema: Schema) -> np.ndarray:
    """Codes of each view between which a threshold can lie, or each of which has a child."""
    return np.array([n_places(feature) for feature in schema.features])[views.source]


def _tries(radix: np.ndarray, leaves: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Nodes of each level, by the digits that lead to them, and which of them lead to stored leaves."""
    stored = [np.unique(leaves)]
    for base in radix[::-1]:
        stored.insert(0, np.unique(stored[0] // base))
    prefix, found = np.zeros(1, np.int64), []
    for level, base in enumerate(radix):
        inner = np.isin(prefix, stored[level])
        found.append((prefix, inner))
        prefix = (prefix[inner][:, None] * base + np.arange(base)).ravel()
    return [*found, (prefix, np.zeros(len(prefix), bool))]


def _keys(usable: np.ndarray, weights: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Random keys: a usable feature has the largest with the odds of its weight; others' are negative."""
    return np.where(usable, random.random_sample(usable.shape) ** (1 / weights), -1.0)


def _cuts(ground: Ground, feature: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Uniform thresholds; 0 where a split has a child for every code."""
    cut = 1 + (random.random_sample(feature.shape) * (ground.sizes[feature] - 1)).astype(np.int64)
    return np.where(ground.fans[feature], 0, cut)


def _before(width: np.ndarray) -> np.ndarray:
    return np.cumsum(width) - width
