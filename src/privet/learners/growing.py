"""Trees that grow level by level: which splits their open leaves may take, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privet.answers import ChosenSplits
from privet.learners.boosting.bins import cell_table
from privet.learners.whereabouts import RANK_CELLS, Ranks
from privet.privacy.questions.trees import MAX_CELLS
from privet.schema import Categorical, Continuous, Feature, Schema
from privet.structure import MultiwayTrees, Splits, Views

CONTINUOUS = ("mechanism", "bins")
MAX_NODES = 1 << 20
"""Nodes of growing trees: a level that would bring more is not grown."""


@dataclass(frozen=True)
class Menu:
    """One choice a feature.

    Attributes
    ----------
    views : Views
    view : int32 (features,)
    highest : int32 (features,)
        Highest threshold; 0 where a split has a child for every code of its view.
    children : int64 (features,)
        Children of a split.
    """

    views: Views
    view: np.ndarray
    highest: np.ndarray
    children: np.ndarray

    def branches(self, trees: MultiwayTrees) -> np.ndarray:
        """Number of children of every node of trees grown from this menu; 0 in a leaf."""
        of_view = np.zeros(len(self.views.source) + 1, np.int64)
        of_view[self.view] = self.children
        return of_view[trees.view]


@dataclass(frozen=True)
class Growth:
    """Growing trees.

    Attributes
    ----------
    trees : MultiwayTrees
        Leaves are numbered in the order of nodes.
    lowest, highest : int32 (nodes, features)
        Thresholds that are left to a node, as in `Splits`.
    level : int64 (nodes,)
        0 at a root.
    """

    trees: MultiwayTrees
    lowest: np.ndarray
    highest: np.ndarray
    level: np.ndarray

    @property
    def leaves(self) -> np.ndarray:
        """Nodes that are leaves, in the order of their numbers."""
        return np.flatnonzero(self.trees.view < 0)


def split_menu(schema: Schema, continuous: str, n_bins: int, ranks: Ranks = ()) -> Menu:
    """What every feature of a schema offers: thresholds if it is continuous and not cut into bins.

    Where ranks are known, thresholds lie between cells of about equal mass, and bins of a range that was
    found are equally full.
    """
    tables: list[np.ndarray | None] = []
    highest, children = [], []
    for feature, known in zip(schema.features, ranks or [None] * len(schema.features), strict=True):
        if isinstance(feature, Continuous) and continuous == "mechanism":
            cut, n_cells = (
                (None, feature.n_cells) if known is None else cell_table(feature, RANK_CELLS, known)
            )
            highest.append(n_cells - 1 + feature.missing)
            children.append(2)
        else:
            # Bins are as wide as each other in a range that its owner stated.
            cut = _branches(feature, n_bins, known if feature.declared else None)
            highest.append(0)
            children.append(int(cut.max()) + 1)
        tables.append(cut)
    kept = [(j, table) for j, table in enumerate(tables) if table is not None]
    places = iter(range(len(schema.features), len(schema.features) + len(kept)))
    view = [j if table is None else next(places) for j, table in enumerate(tables)]
    views = Views.of(len(schema.features), kept)
    return Menu(views, np.array(view, np.int32), np.array(highest, np.int32), np.array(children, np.int64))


def _branches(feature: Feature, n_bins: int, ranks: np.ndarray | None) -> np.ndarray:
    """Branch of every code of a feature.

    What is missing or unknown has a branch of its own where the schema expects it, and otherwise goes to
    the first.
    """
    if isinstance(feature, Categorical):
        known = np.arange(len(feature.categories))
    elif ranks is not None:
        known = cell_table(feature, n_bins, ranks)[0][:-1]
    else:
        known = np.arange(feature.n_cells) * min(n_bins, feature.n_cells) // feature.n_cells
    stray = known.max() + 1 if feature.missing else 0
    return np.concatenate([known, np.full(feature.n_codes - len(known), stray)])


def seedlings(menu: Menu, n_trees: int) -> Growth:
    """Trees that are a root each."""
    nodes = np.arange(n_trees, dtype=np.int64)
    trees = MultiwayTrees(
        menu.views, nodes, np.full(n_trees, -1, np.int32), np.zeros(n_trees, np.uint16), nodes.copy()
    )
    # One child is no split.
    lowest = np.where(menu.children > 1, np.minimum(menu.highest, 1), 1).astype(np.int32)
    highest = np.where(menu.children > 1, menu.highest, 0).astype(np.int32)
    shape = (n_trees, len(menu.view))
    return Growth(
        trees, np.broadcast_to(lowest, shape), np.broadcast_to(highest, shape), np.zeros(n_trees, np.int64)
    )


def open_splits(growth: Growth, menu: Menu, closed: np.ndarray) -> Splits:
    """What the leaves may take that are not ``closed`` (a bool for every node)."""
    leaves = growth.leaves
    shut = closed[leaves][:, None]
    lowest = np.where(shut, 1, growth.lowest[leaves]).astype(np.int32)
    return Splits(menu.view, lowest, np.where(shut, 0, growth.highest[leaves]).astype(np.int32))


def grown(growth: Growth, menu: Menu, chosen: ChosenSplits) -> Growth:
    """The trees after their leaves took the splits that were chosen for them.

    A feature with a child for every code is not offered again below; a threshold halves the range that is.
    """
    split = np.flatnonzero(chosen.choice >= 0)
    node, choice, cut = growth.leaves[split], chosen.choice[split], chosen.threshold[split]
    width = menu.children[choice]
    first = len(growth.trees.view) + np.concatenate([[0], np.cumsum(width)])[:-1]
    parent, offered = np.repeat(node, width), np.repeat(choice, width)
    second = np.arange(len(parent)) - np.repeat(first - len(growth.trees.view), width)
    lowest, highest = growth.lowest[parent].copy(), growth.highest[parent].copy()
    here, at = np.arange(len(parent)), np.repeat(cut, width)
    lowest[here, offered] = np.where(at == 0, 1, np.where(second == 1, at + 1, lowest[here, offered]))
    highest[here, offered] = np.where(at == 0, 0, np.where(second == 0, at - 1, highest[here, offered]))
    return Growth(
        _split(growth.trees, node, menu.view[choice], cut, first, len(parent)),
        np.concatenate([growth.lowest, lowest]),
        np.concatenate([growth.highest, highest]),
        np.concatenate([growth.level, growth.level[parent] + 1]),
    )


def _split(
    trees: MultiwayTrees, node: np.ndarray, view: np.ndarray, cut: np.ndarray, first: np.ndarray, more: int
) -> MultiwayTrees:
    views = np.concatenate([trees.view, np.full(more, -1, np.int32)])
    threshold = np.concatenate([trees.threshold, np.zeros(more, np.uint16)])
    child = np.concatenate([trees.child, np.zeros(more, np.int64)])
    views[node], threshold[node], child[node] = view, cut, first
    return numbered(replace(trees, view=views, threshold=threshold, child=child))


def numbered(trees: MultiwayTrees) -> MultiwayTrees:
    """The same trees, their leaves numbered in the order of nodes."""
    leaf = trees.view < 0
    return replace(trees, child=np.where(leaf, np.cumsum(leaf) - 1, trees.child))


def node_limit(n_labels: int) -> int:
    """Nodes beyond which trees do not grow: the wall could not count the labels of their leaves."""
    return min(MAX_NODES, MAX_CELLS // n_labels)
