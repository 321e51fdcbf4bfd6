"""Random structures: drawn from the schema, from noisy answers and a public seed, never from rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.kernels.grow import grow_complete
from privet.learners.boosting.bins import Margin, cell_table, is_ordered
from privet.learners.whereabouts import RANK_CELLS, Ranks
from privet.schema import Categorical, Feature, Schema
from privet.structure import Bins, CompleteTrees, Views

ORDERS = 16
"""Random orders of each feature's categories that the trees of a forest choose among."""

FAVOUR = 0.5
"""Power of a feature's energy by which it is favoured."""


@dataclass(frozen=True)
class Ground:
    """What random splits are drawn from.

    Attributes
    ----------
    views : Views
    choice : int64 (trees, features)
        View under which a tree looks at a feature.
    sizes : int64 (features,)
        Codes of a feature between which a threshold can lie, under any of its views.
    weights : float64 (features,)
        How likely a feature is drawn.
    fans : bool (features,)
        Whether a split has a child for every code instead of a threshold.
    """

    views: Views
    choice: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    fans: np.ndarray


def plain_ground(schema: Schema, n_trees: int, random: np.random.RandomState, ranks: Ranks = ()) -> Ground:
    """All features alike, thresholds anywhere in their ranges, categories in random orders.

    Where ranks are known, thresholds lie between cells of about equal mass. A threshold parts the categories
    of an order into two random sets, so that trees stay binary however many categories there are. A missing
    value is a category of its own where the schema says values may be missing; an unknown one goes with some
    category.
    """
    n_features = len(schema.features)
    tables: list[tuple[int, np.ndarray]] = []
    choice = np.empty((n_trees, n_features), np.int64)
    sizes = np.array([n_places(feature) for feature in schema.features])
    for j, feature in enumerate(schema.features):
        choice[:, j] = j
        if ranks and ranks[j] is not None:
            choice[:, j] = n_features + len(tables)
            sizes[j] = _add_ranked(tables, j, feature, ranks[j])
        elif isinstance(feature, Categorical) and not feature.ordered:
            orders = min(ORDERS, n_trees)
            first = n_features + len(tables)
            tables += [(j, _category_order(feature, random)) for _ in range(orders)]
            choice[:, j] = first + random.randint(orders, size=n_trees)
    views = Views.of(n_features, tables)
    return Ground(views, choice, sizes, np.ones(n_features), np.zeros(n_features, bool))


def _add_ranked(
    tables: list[tuple[int, np.ndarray]], j: int, feature: Feature, ranks: np.ndarray | None
) -> int:
    """Add a table of cells of about equal mass, and return how many codes it has."""
    table, cells = cell_table(feature, RANK_CELLS, ranks)
    tables.append((j, table))
    return cells + feature.missing


def fanned_ground(schema: Schema, n_trees: int, ranks: Ranks = ()) -> Ground:
    """All features alike: a child for every category, a threshold anywhere in a range of numbers."""
    n_features = len(schema.features)
    fans = np.array([isinstance(feature, Categorical) for feature in schema.features])
    sizes = np.array([n_places(feature) for feature in schema.features])
    view, tables = np.arange(n_features), list[tuple[int, np.ndarray]]()
    for j, feature in enumerate(schema.features):
        if fans[j] or (ranks and ranks[j] is not None):
            view[j] = n_features + len(tables)
            if fans[j]:
                tables.append((j, cell_table(feature, 0)[0]))
            else:
                sizes[j] = _add_ranked(tables, j, feature, ranks[j])
    return Ground(Views.of(n_features, tables), np.tile(view, (n_trees, 1)), sizes, np.ones(n_features), fans)


def informed_ground(
    schema: Schema,
    bins: Bins,
    margins: Sequence[Margin],
    shapes: Sequence[np.ndarray],
    energy: np.ndarray,
    n_trees: int,
    random: np.random.RandomState,
) -> Ground:
    """What noisy counts by bin and label tell: quantiles, orders of categories, features that matter.

    Thresholds lie between bins of about equal mass. Categories stand in the order of their shape,
    for several labels seen from random directions. A feature is drawn by a power of its energy.
    """
    tables: list[tuple[int, np.ndarray]] = []
    choice = np.empty((n_trees, len(margins)), np.int64)
    for j, (feature, shape) in enumerate(zip(schema.features, shapes, strict=True)):
        start = bins.views.start[j]
        table = bins.views.table[start : start + feature.n_codes]
        orders = 1 if is_ordered(feature) or shape.shape[1] == 1 else min(ORDERS, n_trees)
        choice[:, j] = len(tables) + random.randint(orders, size=n_trees)
        for _ in range(orders):
            places = np.arange(len(shape)) if is_ordered(feature) else _shape_order(shape, random)
            tables.append((j, places[table]))
    weights = (energy + 1e-9) ** FAVOUR
    sizes = np.array([len(margin.mass) for margin in margins])
    return Ground(Views.of(0, tables), choice, sizes, weights / weights.sum(), np.zeros(len(sizes), bool))


def grow(
    ground: Ground, depth: int, random: np.random.RandomState, within_node: bool = True
) -> CompleteTrees:
    """Complete binary trees with thresholds uniform in what a node can still hold, or anywhere."""
    numbers = random.random_sample((2, len(ground.choice), 1 << depth))
    drawn = grow_complete(ground.choice, ground.sizes, depth, within_node, numbers, ground.weights)
    return CompleteTrees(ground.views, *drawn, depth)


def random_complete_trees(
    schema: Schema,
    n_trees: int,
    depth: int,
    random: np.random.RandomState,
    within_node: bool = True,
    ranks: Ranks = (),
) -> CompleteTrees:
    """Complete binary trees with uniform features and uniform thresholds."""
    return grow(plain_ground(schema, n_trees, random, ranks), depth, random, within_node)


def leaf_volumes(trees: CompleteTrees, schema: Schema) -> np.ndarray:
    """Share of the public ranges that every leaf covers, ``(trees, leaves)``.

    For trees of `random_complete_trees`, which look at a feature under one view each.
    """
    shape = (trees.n_trees, 1, len(schema.features))
    low = np.zeros(shape, np.float32)
    high = np.broadcast_to(np.array([n_places(f) for f in schema.features], np.float32), shape)
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


def n_places(feature: Feature) -> int:
    """Codes of a feature between which a threshold can lie."""
    if isinstance(feature, Categorical):
        return len(feature.categories) + feature.missing
    return feature.n_cells + feature.missing


def _category_order(feature: Categorical, random: np.random.RandomState) -> np.ndarray:
    """Table that sends each code of a feature to its place in a random order."""
    size = n_places(feature)
    strays = random.randint(size, size=feature.n_codes - size)
    return np.concatenate([random.permutation(size), strays]).astype(np.uint16)


def _shape_order(shape: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Place of every bin in the order of its shape, seen from one direction."""
    direction = np.ones(1) if shape.shape[1] == 1 else random.random_sample(shape.shape[1]) - 0.5
    return np.argsort(np.argsort(shape @ direction, kind="stable"))
