"""What models with noisy label counts in their nodes have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from privet.model.base import largest_first
from privet.model.consistent import consistent
from privet.model.gains import split_gains
from privet.model.labels import LabelModel
from privet.model.rules import Rules, Trees
from privet.model.sections import MOST_RULES, ONE_TREE, LabelShares, RuleList, Section, Sizes, TreePicture
from privet.model.tree import Said, ShownTree, check_tree, counts_said
from privet.schema import Scalar

NOT_SHOWN = Said(("too few rows to be shown",))

PRIOR = "Noisy shares of the labels."
GAINS = (
    "How much the splits on each feature tell labels apart, as a share of what all splits do. What noise "
    "adds is taken off; splits whose rows drown in it are not counted."
)
STRONGEST = (
    "Paths of the trees whose label lies furthest above its mean share, in deviations of noise and "
    "chance. ± is the standard deviation of the noise."
)


class CountedModel(LabelModel):
    """A model of trees with noisy label counts, of every node or of leaves that nodes are sums of."""

    trees: Trees
    prior: np.ndarray
    tree_words: ClassVar[str] = ONE_TREE

    @property
    def kept(self) -> np.ndarray | None:
        """Nodes that are not pruned, ``(trees, nodes)``; None where no tree is."""
        return None

    @property
    def label_shares(self) -> Sequence[float]:
        """Shares of the labels, as they were released."""
        shares: list[float] = np.asarray(self.prior, float).tolist()
        return shares

    @property
    def is_sparse(self) -> bool:
        """Whether counts below a threshold were not released."""
        return False

    @property
    def alike(self) -> bool:
        """Whether every tree counted all rows anew, and inner nodes are sums over its leaves."""
        return False

    @abstractmethod
    def every_count(self) -> tuple[np.ndarray, np.ndarray]:
        """Noisy counts of every node and the variance of their noise; those of inner nodes may be sums.

        ``(trees, nodes, labels)`` for complete trees, ``(nodes, labels)`` for others.
        """

    @abstractmethod
    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """Rules, strongest first."""

    def importances(self) -> dict[str, float]:
        """Share of each feature in what all splits tell apart, as far as noise lets it be seen."""
        return largest_first(self.schema.feature_names, self._gains())

    def tree(self, number: int = 0) -> ShownTree:
        """One tree, to be shown: what a node says are its counts, made consistent, with their noise."""
        check_tree(number, self.trees.n_trees)
        counts, variance = self.every_count()
        told = consistent(self.trees, number, self.schema, counts, variance, self.alike)

        def said(node: int) -> Said:
            if not self.is_sparse:
                return counts_said(*told(node), self.schema)
            # What was released lies above a threshold, and adds up as it is.
            shown = counts[node].any()
            return counts_said(counts[node], float(variance[node]), self.schema) if shown else NOT_SHOWN

        kept = None if self.kept is None else self.kept[number]
        return ShownTree(self.trees, number, self.schema, said, counts.shape[-1], kept)

    def sections(self) -> Iterator[Section]:
        """Shares of the labels, what matters, the strongest rules, a tree."""
        labels, names = list(map(str, self.schema.classes)), self.schema.feature_names
        yield LabelShares("Before any feature is looked at", PRIOR, labels, self.prior)
        yield Sizes("What matters", GAINS, names, self._gains())
        yield RuleList("Strongest rules", STRONGEST, self.rules(MOST_RULES))
        yield TreePicture("One tree", self.tree_words, self.tree())

    def _gains(self) -> np.ndarray:
        return split_gains(self.trees, *self.every_count(), self.schema)
