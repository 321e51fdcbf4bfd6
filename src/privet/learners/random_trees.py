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
