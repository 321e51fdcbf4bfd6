"""Shapes of trees as arrays: public, and the same for a learner, a kernel and a model.

A split looks at a *view*: the codes of a feature as they are, or sent through a table (an order of
categories, a coarser grid). View ``j`` is feature ``j`` itself for every feature; further views come
after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

MAX_DEPTH = 24
"""Deepest complete tree: its leaves must be materialised, every one of them."""

MAX_LEAVES = 1 << 62
"""Most leaves of a tree that is never materialised: a leaf's number is a 64-bit integer."""


@dataclass(frozen=True)
class Views:
    """Columns that splits look at.

    Attributes
    ----------
    source : int32 (views,)
        Feature that a view reads.
    start : int64 (views,)
        Where its table begins in ``table``; −1 for the codes as they are.
    table : uint16
        Tables of all views, one after the other.
    """

    source: np.ndarray
    start: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, n_features: int, tables: Sequence[tuple[int, np.ndarray]] = ()) -> Views:
        """Views of every feature as it is, then of ``(feature, table)`` pairs."""
        sizes = [len(table) for _, table in tables]
        start = np.concatenate([np.full(n_features, -1), np.cumsum([0, *sizes])[: len(sizes)]])
        source = np.concatenate([np.arange(n_features), [feature for feature, _ in tables]])
        table = np.concatenate([np.zeros(0, np.uint16), *(table for _, table in tables)])
        return cls(source.astype(np.int32), start.astype(np.int64), table.astype(np.uint16))


@dataclass(frozen=True)
class CompleteTrees:
    """Complete binary trees of one depth, without child pointers.

    Node 1 is the root, the children of node ``i`` are ``2i`` and ``2i + 1``; a row goes to the
    second when its code is at least the threshold. Leaves are numbered from the left.

    Attributes
    ----------
    views : Views
    view, threshold : uint16 (trees, 2**depth)
        Slot 0 is not used.
    depth : int
    """

    views: Views
    view: np.ndarray
    threshold: np.ndarray
    depth: int

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.view)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of each tree."""
        return 1 << self.depth


@dataclass(frozen=True)
class MultiwayTrees:
    """Trees with pointers: a split has two children, or one for every code of its view.

    Attributes
    ----------
    views : Views
    roots : int64 (trees,)
    view : int32 (nodes,)
        −1 in a leaf.
    threshold : uint16 (nodes,)
        0 where the split has a child for every code.
    child : int64 (nodes,)
        First child of a split; number of a leaf, counted over all trees.
    """

    views: Views
    roots: np.ndarray
    view: np.ndarray
    threshold: np.ndarray
    child: np.ndarray

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees together."""
        return int((self.view < 0).sum())

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of every node; −1 of a root. Children of a split stand side by side."""
        split = np.flatnonzero(self.view >= 0)
        split = split[np.argsort(self.child[split])]
        place = np.searchsorted(self.child[split], np.arange(len(self.view)), side="right") - 1
        parent = split[place] if len(split) else np.full(len(self.view), -1)
        parent[self.roots] = -1
        return parent

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """Nodes of each level, roots first."""
        level, above = np.zeros(len(self.view), np.int64), self.parent
        while (above >= 0).any():
            level += above >= 0
            above = np.where(above >= 0, self.parent[above], -1)
        return [np.flatnonzero(level == depth) for depth in range(int(level.max()) + 1)]

    @cached_property
    def tree_of(self) -> np.ndarray:
        """Tree of every node."""
        tree = np.empty(len(self.view), np.int64)
        tree[self.roots] = np.arange(len(self.roots))
        for level in self.levels[1:]:
            tree[level] = tree[self.parent[level]]
        return tree

    @property
    def depth(self) -> int:
        """Levels of splits of the deepest tree."""
        return len(self.levels) - 1


@dataclass(frozen=True)
class LevelTrees:
    """Trees whose nodes of one level share their split; too many leaves to write down.

    A leaf's number has one digit a level, so any leaf can be named without a list of them. A path
    of such a tree has the same law as a path of a tree that draws a split for every node.

    Attributes
    ----------
    views : Views
    view : int32 (trees, levels)
    threshold : uint16 (trees, levels)
        0 where the level has a child for every code.
    radix : int64 (trees, levels)
        Number of children.
    """

    views: Views
    view: np.ndarray
    threshold: np.ndarray
    radix: np.ndarray

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.view)

    @property
    def n_leaves(self) -> list[int]:
        """Number of leaves of each tree."""
        return [int(np.prod(row.astype(object))) for row in self.radix]


@dataclass(frozen=True)
class Splits:
    """Splits that the leaves of growing trees may take: each leaf chooses among its own.

    Attributes
    ----------
    view : int32 (choices,)
        View that a choice looks at.
    lowest, highest : int32 (leaves, choices)
        Thresholds that a leaf may take, both included; 0 and 0 where a choice has a child for every
        code; ``highest`` is below ``lowest`` where a leaf may not take it.
    """

    view: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @property
    def allowed(self) -> np.ndarray:
        """Whether a leaf may take a choice, ``(leaves, choices)``."""
        return np.asarray(self.lowest <= self.highest)


MAX_OBLIVIOUS_DEPTH = 8
"""Deepest oblivious tree: a leaf's number must fit into eight bits."""


@dataclass(frozen=True)
class Bins:
    """The codes of every feature gathered into bins, which are numbered over all features.

    Attributes
    ----------
    views : Views
        View ``j`` sends the codes of feature ``j`` to its bins 0, 1, …
    first : int64 (features + 1,)
        Number of each feature's first bin, then the number of all bins.
    """

    views: Views
    first: np.ndarray

    @classmethod
    def of(cls, tables: Sequence[np.ndarray], sizes: Sequence[int]) -> Bins:
        """Bins from a table and a number of bins for every feature."""
        views = Views.of(0, list(enumerate(tables)))
        return cls(views, np.cumsum([0, *sizes]).astype(np.int64))

    @property
    def n_bins(self) -> int:
        """Number of bins of all features together."""
        return int(self.first[-1])

    @property
    def slices(self) -> list[slice]:
        """Where each feature's bins lie among all bins."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.first)]


@dataclass(frozen=True)
class Additive:
    """Scores that add up: an intercept, a value for each feature's bin, a value for each tree's leaf.

    The trees are oblivious: all nodes of a level ask the same, so that the number of a row's leaf is
    the sum of what its bins contribute.

    Attributes
    ----------
    bins : Bins
    intercept : float64 (scores,)
        One score for two labels, the second label's; otherwise one a label.
    shapes : float64 (bins, scores)
    features : int32 (trees, depth)
        Feature that a level looks at.
    turns : uint8 (bins, trees)
        Bits of the leaf's number that a bin sets; the first level has the highest bit.
    leaves : float64 (trees, 2**depth, scores)
    """

    bins: Bins
    intercept: np.ndarray
    shapes: np.ndarray
    features: np.ndarray
    turns: np.ndarray
    leaves: np.ndarray

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.leaves)

    @property
    def depth(self) -> int:
        """Levels of each tree."""
        return int(self.features.shape[1])

    @property
    def n_scores(self) -> int:
        """Number of scores of a row."""
        return len(self.intercept)


@dataclass(frozen=True)
class LeafVotes:
    """Trees, what their leaves say, and how that becomes shares of the labels.

    Attributes
    ----------
    trees : CompleteTrees or MultiwayTrees
    values : (trees, leaves, labels) of complete trees, (leaves, labels) of multi-way trees
        What a row's leaves say is added up; shares are those of the sum, negative ones taken as zero.
    prior : float64 (labels,), optional
        Shares of the labels at large. Where they are given, the trees' mean is moved away from them, since
        trees that agree with each other are too timid.
    """

    trees: CompleteTrees | MultiwayTrees
    values: np.ndarray
    prior: np.ndarray | None = None


Structure = CompleteTrees | MultiwayTrees | LevelTrees


Predictor = LeafVotes | Additive
"""All that predictions are made of: arrays, no code."""


@dataclass(frozen=True)
class Weighed:
    """A predictor of labels whose shares are weighed.

    Attributes
    ----------
    predictor : LeafVotes or Additive
    odds : float64 (labels,)
        By which shares are multiplied before they are told.
    choice : float64 (labels,)
        By which they are multiplied once more before the largest names a label.
    """

    predictor: Predictor
    odds: np.ndarray
    choice: np.ndarray


Scored = Predictor | Weighed
"""The same, weighed perhaps: what rows are asked about."""

STRUCTURES = frozenset(
    {Views, CompleteTrees, MultiwayTrees, LevelTrees, Splits, Bins, Additive, LeafVotes, Weighed}
)
"""All shapes that a question may be about."""
