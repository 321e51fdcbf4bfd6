"""A greedy forest whose every node is a rule (Fletcher and Islam 2015), kept strictly private."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.answers import ChosenSplits
from privet.learners.finding import Given
from privet.learners.greedy_plan import DEEPEST, CountEstimates
from privet.learners.growing import (
    CONTINUOUS,
    Growth,
    Menu,
    grown,
    node_limit,
    open_splits,
    seedlings,
    split_menu,
)
from privet.learners.learner import Learner, delta
from privet.learners.parameters import number, one_of, whole, zoom
from privet.learners.plan import FitPlan
from privet.learners.pruning import children_of, prune_by_gini, without
from privet.learners.purse import Purse
from privet.learners.tree_growth import only, padded
from privet.model import RuleForest
from privet.model.voting import NODE_VOTINGS
from privet.privacy import Charge, Protected
from privet.privacy.questions.trees import LeafLabelRows, SplitChoice
from privet.schema import Schema

CRITERION = "gini"
MOST_TREES = 1000


@dataclass(eq=False, repr=False)
class GreedyForest(Learner):
    """A few greedy trees with different roots; every node releases noisy label counts: DPDF.

    Each node is a rule with a label, a confidence and a support. A leaf with fewer than ``min_rows`` noisy
    rows, or with one label alone, is split no further. A split above leaves is taken back if it is no purer
    than its node.

    The paper's own accounting does not keep its budget: its trees ask two questions more on a path than are
    paid for, and its noise follows from a noisy number of rows. Here a tree of ``max_depth`` levels of
    nodes has one split fewer than levels, and gini is not divided by the rows: its sensitivity is 2 and,
    since a row moves it one way, the exponent is twice the paper's.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; otherwise questions add up in zCDP.
    n_trees : int
        At most one for each feature is grown, for their roots differ.
    max_depth : int
        Levels of nodes, the root's included.
    min_rows : float
        Noisy rows that a node needs to be split.
    voting : {"posterior", "confidence"}
        "posterior" is ours: a leaf's shares follow from the noisy counts of all nodes on its path, as far as
        their noise lets each speak. "confidence" is the paper's: a leaf votes with its most frequent label,
        weighted by that label's share.
    continuous : {"mechanism", "bins"}
        As in `GreedyTreeClassifier`; the paper has categorical features only.
    n_bins : int
    zoom : bool
        As in `GreedyTreeClassifier`.
    schema : Schema, path, dict or "from-data"
    account : Account, optional
    verbose : bool

    Attributes
    ----------
    classes_, feature_names_in_ : ndarray
    model_ : RuleForest
        Its ``rules`` are those of leaves and, as sub-rules, of all nodes above them.
    privacy_card_ : PrivacyCard

    Privacy
    -------
    ε-DP, or (ε, δ)-DP by zCDP, under adding or removing one row. With τ trees of δ levels a path has δ
    histograms and δ − 1 choices, each with ε/(τ(2δ − 1)). Proof notes: *Splits*, *Discrete Laplace*,
    *Sequence*.
    """

    name = "greedy-forest"

    delta: float = delta()
    n_trees: int = whole(4, 1, MOST_TREES, "Number of trees.", "--trees")
    max_depth: int = whole(5, 1, DEEPEST, "Depth of every tree.", "--depth")
    min_rows: float = number(100, 0, help="Noisy rows that a node needs to be split.")
    voting: str = one_of("posterior", NODE_VOTINGS, "How leaves are combined.", "--voting")
    continuous: str = one_of("mechanism", CONTINUOUS, "How a range is split.")
    n_bins: int = whole(10, 2, 1000, "Equal bins of a range, where it is cut into bins.")
    zoom: bool = zoom()

    @property
    def _zooms(self) -> bool:
        return self.zoom

    def _learn(self, given: Given) -> RuleForest:
        protected = given.rows
        protected.reserve(self._known_charges(protected.schema, given.purse))
        menu = split_menu(protected.schema, self.continuous, self.n_bins, given.ranks)
        growth, known = self._grown(protected, menu, given.purse)
        families = children_of(growth.trees, menu.branches(growth.trees))
        trees, kept = without(growth.trees, families, prune_by_gini(families, known.mean))
        card = given.stamp({"trees": trees.n_trees, "depth": self.max_depth, "continuous": self.continuous})
        variance = 1 / known.precision[kept]
        return RuleForest(trees, known.mean[kept], variance, self.voting, protected.schema, card)

    def _grown(self, protected: Protected, menu: Menu, purse: Purse) -> tuple[Growth, CountEstimates]:
        """The forest, and the noisy label counts of its nodes."""
        n_trees, n_labels = self._n_trees(menu), protected.schema.n_labels
        growth, closed = seedlings(menu, n_trees), np.zeros(n_trees, bool)
        known = CountEstimates.none(n_trees, n_labels)
        for level in range(self._levels):
            noisy = protected.ask(LeafLabelRows(growth.trees), purse.cost(self._share))
            known = known.more(growth.leaves, noisy.values, noisy.variance)
            closed |= self._settled(known.mean)
            splits = open_splits(growth, menu, closed)
            if level == self._levels - 1 or not splits.allowed.any():
                break
            if level == 0:
                chosen = self._roots(protected, menu, splits.allowed, purse)
            else:
                question = SplitChoice(growth.trees, splits, CRITERION)
                chosen = protected.ask(question, purse.cost(self._share))
            taller = grown(growth, menu, chosen)
            if len(taller.level) > node_limit(n_labels):
                break
            growth = taller
            known, closed = known.padded(len(growth.level)), padded(closed, len(growth.level))
        # What was planned for levels that did not come to be stays spent.
        protected.refine([])
        return growth, known

    def _roots(self, protected: Protected, menu: Menu, allowed: np.ndarray, purse: Purse) -> ChosenSplits:
        """Splits of the roots, one after the other, each on a feature that no earlier root has."""
        n_trees = len(allowed)
        choice, threshold = np.full(n_trees, -1), np.zeros(n_trees, np.int64)
        start = seedlings(menu, 1)
        for tree in range(n_trees):
            left = allowed[tree] & ~np.isin(np.arange(allowed.shape[1]), choice[:tree])
            splits = only(open_splits(start, menu, np.zeros(1, bool)), left)
            cost = purse.cost(self._share / n_trees)
            chosen = protected.ask(SplitChoice(start.trees, splits, CRITERION), cost)
            choice[tree], threshold[tree] = chosen.choice[0], chosen.threshold[0]
        return ChosenSplits(choice, threshold)

    def _settled(self, noisy_counts: np.ndarray) -> np.ndarray:
        """Nodes with too few rows, or with one label that holds them all."""
        rows = noisy_counts.sum(axis=1)
        return np.asarray((rows < self.min_rows) | (noisy_counts.max(axis=1) >= rows))

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        """Every question of a fit, in order."""
        n_trees = self._n_trees(split_menu(schema, self.continuous, self.n_bins))
        share = self._share
        histogram = LeafLabelRows.plan(purse.cost(share), n_trees)
        if self._levels == 1:
            return [histogram]
        roots = [SplitChoice.plan(purse.cost(share / n_trees), 1, CRITERION, schema)] * n_trees
        level = [SplitChoice.plan(purse.cost(share), n_trees, CRITERION, schema), histogram]
        return [histogram, *roots, histogram, *level * (self._levels - 2)]

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        asked, n_trees = (
            self._known_charges(schema, purse),
            self._n_trees(split_menu(schema, self.continuous, self.n_bins)),
        )
        facts = {"passes over the rows": len(asked), "trees": n_trees, "depth at most": self._levels - 1}
        return FitPlan(self.name, self.budget, n_rows, asked, facts)

    def _n_trees(self, menu: Menu) -> int:
        """Trees that can have different roots."""
        return max(1, min(int(self.n_trees), int((menu.children > 1).sum())))

    @property
    def _levels(self) -> int:
        return int(self.max_depth)

    @property
    def _share(self) -> Fraction:
        """Part of the budget of a level's histograms, and of its choices, in all trees together."""
        return Fraction(1, 2 * self._levels - 1)
