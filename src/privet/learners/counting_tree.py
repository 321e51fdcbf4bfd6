"""Trees from noisy counts alone: the baselines that better ways of choosing splits are held against."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.answers import ChosenSplits
from privet.learners.finding import Given
from privet.learners.greedy_plan import DEEPEST, CountEstimates, even_shares
from privet.learners.growing import MAX_NODES, Menu, grown, open_splits, seedlings, split_menu
from privet.learners.learner import Learner, delta
from privet.learners.parameters import one_of, whole, zoom
from privet.learners.plan import FitPlan
from privet.learners.purse import Purse
from privet.learners.tree_growth import grow_tree, padded, released_tree
from privet.model import RuleForest
from privet.privacy import Charge, Protected
from privet.privacy.questions.trees import LeafLabelRows, LeafTotals, SplitRows
from privet.schema import Schema
from privet.structure import MultiwayTrees, Splits

AND_LABEL = " and label"
VARIANTS = ("sulq", "sum-queries")
SULQ_DEPTH = 5
MAX_CELLS = 1 << 24
"""Counts that a level may ask for: a tree that noise drives on is not grown beyond."""


@dataclass(eq=False, repr=False)
class CountingTree(Learner):
    """A tree like ID3 whose splits follow from noisy counts of all its candidates.

    Every candidate of a leaf costs a part of the budget, so that the counts are far noisier than a choice
    would be: `GreedyTreeClassifier` is the better learner. This one is what it is compared with.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; otherwise questions add up in zCDP.
    variant : {"sulq", "sum-queries"}
        "sulq": the SuLQ-based ID3 of Friedman and Schuster 2010, algorithm 1. "sum-queries": the private ID3
        of Jagannathan et al. 2012, section 4, in which every query on a path has the same share; label
        counts of a node are those of the query that its parent was split by.
    max_depth : int, optional
        By default 5, or for sum queries as many as there are features.
    n_bins : int
        Bins that a continuous feature is cut into: equally wide, or in a range that was found, equally full.
    zoom : bool
        As in `GreedyTreeClassifier`.
    schema : Schema, path, dict or "from-data"
    account : Account, optional
    verbose : bool

    Attributes
    ----------
    classes_, feature_names_in_ : ndarray
    model_ : RuleForest
    privacy_card_ : PrivacyCard

    Privacy
    -------
    ε-DP, or (ε, δ)-DP by zCDP, under adding or removing one row. A row is in one leaf of a level, and there
    in one cell of every candidate. Proof notes: *Counts of splits*, *Discrete Laplace*, *Sequence*.
    """

    name = "counting-tree"

    delta: float = delta()
    variant: str = one_of("sulq", VARIANTS, "Whose tree.")
    max_depth: int | None = whole(None, 1, DEEPEST, "Depth of every tree.", "--depth")
    n_bins: int = whole(10, 2, 1000, "Equal bins of a range, where it is cut into bins.")
    zoom: bool = zoom()

    @property
    def _zooms(self) -> bool:
        return self.zoom

    def _learn(self, given: Given) -> RuleForest:
        protected, schema = given.rows, given.rows.schema
        protected.reserve(self._known_charges(schema, given.purse))
        menu = split_menu(schema, "bins", self.n_bins, given.ranks)
        grow = self._sulq if self.variant == "sulq" else self._sums
        released = grow(protected, menu, given.purse)
        card = given.stamp({"variant": self.variant, "depth": self._depth(schema)})
        return RuleForest(*released, "counts", schema, card)

    def _sulq(
        self, protected: Protected, menu: Menu, purse: Purse
    ) -> tuple[MultiwayTrees, np.ndarray, np.ndarray]:
        def choose(trees: MultiwayTrees, splits: Splits, share: Fraction) -> ChosenSplits:
            cost = purse.cost(share / 2)
            rows, counts = (
                protected.ask(SplitRows(trees, splits, by_label), cost).values for by_label in (False, True)
            )
            return most_informative(rows[:, :, 0], counts, splits, menu)

        plan = even_shares(self._depth(protected.schema), 0)
        most = most_nodes(menu, protected.schema.n_labels)
        growth, rows, noisy = grow_tree(protected, menu, plan, purse, choose, most)
        return released_tree(growth, menu, rows, noisy, None)

    def _sums(
        self, protected: Protected, menu: Menu, purse: Purse
    ) -> tuple[MultiwayTrees, np.ndarray, np.ndarray]:
        n_labels = protected.schema.n_labels
        growth, known, closed = seedlings(menu, 1), CountEstimates.none(1, n_labels), np.zeros(1, bool)
        for share in self._sum_shares(menu):
            splits = open_splits(growth, menu, closed)
            if not splits.allowed.any():
                break
            noisy = protected.ask(SplitRows(growth.trees, splits, True), purse.cost(share))
            counts, variance = noisy.values, noisy.variance
            if len(growth.level) == 1:
                known = known.more(growth.leaves, *_root_counts(counts, variance, splits, menu))
            chosen = most_informative(counts.sum(axis=2), counts, splits, menu)
            taller = grown(growth, menu, chosen)
            if len(taller.level) > most_nodes(menu, n_labels):
                break
            known = known.padded(len(taller.level))
            new = np.arange(len(growth.level), len(taller.level))
            known = known.more(new, _children_counts(counts, chosen, menu), variance)
            growth, closed = taller, _settled(known.mean, padded(closed, len(taller.level)))
        protected.refine([])
        return growth.trees, known.mean, 1 / np.where(known.precision > 0, known.precision, np.inf)

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        asked = self._known_charges(schema, purse)
        facts = {"passes over the rows": len(asked), "depth at most": self._depth(schema)}
        return FitPlan(self.name, self.budget, n_rows, asked, facts)

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        """Every question of a fit, in order."""
        menu = split_menu(schema, "bins", self.n_bins)
        offered = int((menu.children > 1).sum())
        if self.variant == "sum-queries":
            shares = enumerate(self._sum_shares(menu))
            return [
                SplitRows.plan(purse.cost(share), max(offered - level, 1), AND_LABEL)
                for level, share in shares
            ]
        plan = even_shares(self._depth(schema), 0)
        charges = []
        for level, (rows, split) in enumerate(zip(plan.rows, plan.split, strict=True)):
            charges.append(LeafTotals.plan(purse.cost(rows), 1))
            left, cost = max(offered - level, 1), purse.cost(split / 2)
            charges += [SplitRows.plan(cost, left, ""), SplitRows.plan(cost, left, AND_LABEL)]
        charges.append(LeafTotals.plan(purse.cost(plan.last_rows), 1))
        return [*charges, LeafLabelRows.plan(purse.cost(plan.leaves), 1)]

    def _sum_shares(self, menu: Menu) -> list[Fraction]:
        """Shares of the levels: one part for each feature that is left, all parts being equal."""
        offered = max(int((menu.children > 1).sum()), 1)
        depth = offered if self.max_depth is None else min(int(self.max_depth), offered)
        queries = [offered - level for level in range(depth)]
        return [Fraction(n, sum(queries)) for n in queries]

    def _depth(self, schema: Schema) -> int:
        if self.max_depth is not None:
            return int(self.max_depth)
        return SULQ_DEPTH if self.variant == "sulq" else len(schema.features)


def most_informative(
    noisy_rows: np.ndarray, noisy_counts: np.ndarray, splits: Splits, menu: Menu
) -> ChosenSplits:
    """The choice of every leaf with the most information by noisy counts; those not above 0 are skipped.

    ``noisy_rows`` is ``(leaves, codes of all choices)``, ``noisy_counts`` has labels besides.
    """
    known = (noisy_counts > 0) & (noisy_rows > 0)[:, :, None]
    ratio = np.where(known, noisy_counts / np.where(noisy_rows > 0, noisy_rows, 1)[:, :, None], 1.0)
    terms = np.where(known, noisy_counts * np.log2(ratio), 0.0).sum(axis=2)
    gains = np.add.reduceat(terms, np.cumsum(menu.children) - menu.children, axis=1)
    gains = np.where(splits.allowed, gains, -np.inf)
    choice = np.where(splits.allowed.any(axis=1), gains.argmax(axis=1), -1)
    return ChosenSplits(choice, np.zeros(len(choice), np.int64))


def _children_counts(noisy_counts: np.ndarray, chosen: ChosenSplits, menu: Menu) -> np.ndarray:
    """Label counts of the children of the chosen splits, in the order in which they grow."""
    first = np.cumsum(menu.children) - menu.children
    taken = [(leaf, c) for leaf, c in enumerate(chosen.choice) if c >= 0]
    return np.concatenate([noisy_counts[leaf, first[c] : first[c] + menu.children[c]] for leaf, c in taken])


def _settled(noisy_counts: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Nodes that are closed, seem empty, or seem to have one label."""
    return closed | (noisy_counts.sum(axis=1) <= 0) | ((noisy_counts > 0).sum(axis=1) <= 1)


def _root_counts(
    noisy_counts: np.ndarray, variance: float, splits: Splits, menu: Menu
) -> tuple[np.ndarray, float]:
    """Label counts of the root: the mean over its choices, each of which counts all rows; and their noise."""
    counted = np.repeat(splits.allowed[0], menu.children)
    n_choices = int(splits.allowed[0].sum())
    return noisy_counts[:, counted].sum(axis=1) / n_choices, variance * int(counted.sum()) / n_choices**2


def most_nodes(menu: Menu, n_labels: int) -> int:
    """Nodes beyond which the counts of a level would be too many."""
    return min(MAX_NODES, MAX_CELLS // (int(menu.children.sum()) * n_labels))
