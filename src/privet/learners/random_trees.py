"""Random structures: drawn from the schema and a public seed, never from rows."""

from __future__ import annotations

import numpy as np

from privet.kernels.grow import grow_complete
from privet.schema import Categorical, Feature, Schema
from privet.structure import CompleteTrees, Views

ORDERS = 16
"""Random orders of each feature's categories that the trees of a forest choose among."""


def random_complete_trees(
    schema: Schema,
    n_trees: int,
    depth: int,
    random: np.random.RandomState,
    within_node: bool = True,
) -> CompleteTrees:
    """Complete binary trees with uniform features and uniform thresholds.

    A tree looks at a categorical feature in one random order of its categories; a threshold then
    parts them into two random sets, and the tree stays binary however many categories there are.
    A missing value is a category of its own where the schema says values may be missing; an unknown
    one goes with some category.
    """
    tables: list[tuple[int, np.ndarray]] = []
    views = np.empty((n_trees, len(schema.features)), np.int64)
    for j, feature in enumerate(schema.features):
        views[:, j] = j
        if isinstance(feature, Categorical) and not feature.ordered:
            orders = min(ORDERS, n_trees)
            first = len(schema.features) + len(tables)
            tables += [(j, _category_order(feature, random)) for _ in range(orders)]
            views[:, j] = first + random.randint(orders, size=n_trees)
    sizes = np.array([_size(feature) for feature in schema.features])
    numbers = random.random_sample((2, n_trees, 1 << depth))
    view, threshold = grow_complete(views, sizes, depth, within_node, numbers)
    return CompleteTrees(Views.of(len(schema.features), tables), view, threshold, depth)


def leaf_volumes(trees: CompleteTrees, schema: Schema) -> np.ndarray:
    """Share of the public ranges that every leaf covers, ``(trees, leaves)``.

    For trees of `random_complete_trees`, which look at a feature under one view each.
    """
    shape = (trees.n_trees, 1, len(schema.features))
    low = np.zeros(shape, np.float32)
    high = np.broadcast_to(np.array([_size(f) for f in schema.features], np.float32), shape)
    volume = np.ones(shape[:2])
    for level in range(trees.depth):
        nodes = slice(1 << level, 2 << level)
        feature = trees.views.source[trees.view[:, nodes]][..., None].astype(np.int64)
        first, last = (np.take_along_axis(ends, feature, 2) for ends in (low, high))
        cut = np.clip(trees.threshold[:, nodes, None], first, last)
        left = ((cut - first) / np.maximum(last - first, 1))[..., 0]
        volume = np.stack([volume * left, volume * (1 - left)], axis=2).reshape(trees.n_trees, -1)
        low, high = np.repeat(low, 2, axis=1), np.repeat(high, 2, axis=1)
        np.put_along_axis(high[:, 0::2], feature, cut, 2)
        np.put_along_axis(low[:, 1::2], feature, cut, 2)
    return volume


def _size(feature: Feature) -> int:
    """Codes of a feature between which a threshold can lie."""
    if isinstance(feature, Categorical):
        return len(feature.categories) + feature.missing
    return feature.n_cells + feature.missing


def _category_order(feature: Categorical, random: np.random.RandomState) -> np.ndarray:
    """Table that sends each code of a feature to its place in a random order."""
    size = _size(feature)
    strays = random.randint(size, size=feature.n_codes - size)
    return np.concatenate([random.permutation(size), strays]).astype(np.uint16)
