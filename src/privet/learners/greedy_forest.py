"""A greedy forest whose every node is a rule (Fletcher and Islam 2015), kept strictly private."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.learners.base import PrivateClassifier
from privet.learners.boosting_plan import Purse
from privet.learners.count_forest import noise_variance
from privet.learners.greedy_plan import CountEstimates, check_depth, count_sd
from privet.learners.growing import (
    Growth,
    Menu,
    check_continuous,
    grown,
    node_limit,
    open_splits,
    seedlings,
    split_menu,
)
from privet.learners.plan import FitPlan, PlannedQuestion
from privet.learners.pruning import children_of, prune_by_gini, without
from privet.learners.tree_growth import only, padded
from privet.model import RuleForest
from privet.privacy import Account, Budget, Charge, ChosenSplits, Protected, leaf_rows, split_choice
from privet.schema import Schema

CRITERION = "gini"
MOST_TREES = 1000
VOTINGS = ("posterior", "confidence")


class GreedyForestClassifier(PrivateClassifier):
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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0,
        *,
        n_trees: int = 4,
        max_depth: int = 5,
        min_rows: float = 100,
        voting: str = "posterior",
        continuous: str = "mechanism",
        n_bins: int = 10,
        schema: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_rows = min_rows
        self.voting = voting
        self.continuous = continuous
        self.n_bins = n_bins
        self.schema = schema
        self.account = account
        self.verbose = verbose

    def _learn(self, protected: Protected) -> RuleForest:
        self._check_parameters()
        protected.reserve(self._charges(protected.schema))
        menu = split_menu(protected.schema, self.continuous, self.n_bins)
        growth, known = self._grown(protected, menu)
        families = children_of(growth.trees, menu.branches(growth.trees))
        trees, kept = without(growth.trees, families, prune_by_gini(families, known.mean))
        learner = {
            "name": "greedy-forest",
            "trees": trees.n_trees,
            "depth": self.max_depth,
            "continuous": self.continuous,
        }
        card = self._card(protected, learner)
        variance = 1 / known.precision[kept]
        return RuleForest(trees, known.mean[kept], variance, self.voting, protected.schema, card)

    def _grown(self, protected: Protected, menu: Menu) -> tuple[Growth, CountEstimates]:
        """The forest, and the noisy label counts of its nodes."""
        n_trees, purse, n_labels = self._n_trees(menu), self._purse, len(protected.schema.label.values)
        growth, closed = seedlings(menu, n_trees), np.zeros(n_trees, bool)
        known = CountEstimates.none(n_trees, n_labels)
        for level in range(self._levels):
            noisy = protected.noisy_histogram(growth.trees, **purse.price(self._share))
            known = known.more(growth.leaves, noisy.values, noise_variance(noisy))
            closed |= self._settled(known.mean)
            splits = open_splits(growth, menu, closed)
            if level == self._levels - 1 or not splits.allowed.any():
                break
            if level == 0:
                chosen = self._roots(protected, menu, splits.allowed)
            else:
                chosen = protected.choose_split(growth.trees, splits, CRITERION, **purse.price(self._share))
            taller = grown(growth, menu, chosen)
            if len(taller.level) > node_limit(n_labels):
                break
            growth = taller
            known, closed = known.padded(len(growth.level)), padded(closed, len(growth.level))
        # What was planned for levels that did not come to be stays spent.
        protected.refine([])
        return growth, known

    def _roots(self, protected: Protected, menu: Menu, allowed: np.ndarray) -> ChosenSplits:
        """Splits of the roots, one after the other, each on a feature that no earlier root has."""
        n_trees = len(allowed)
        choice, threshold = np.full(n_trees, -1), np.zeros(n_trees, np.int64)
        start = seedlings(menu, 1)
        for tree in range(n_trees):
            left = allowed[tree] & ~np.isin(np.arange(allowed.shape[1]), choice[:tree])
            splits = only(open_splits(start, menu, np.zeros(1, bool)), left)
            price = self._purse.price(self._share / n_trees)
            chosen = protected.choose_split(start.trees, splits, CRITERION, **price)
            choice[tree], threshold[tree] = chosen.choice[0], chosen.threshold[0]
        return ChosenSplits(choice, threshold)

    def _settled(self, noisy_counts: np.ndarray) -> np.ndarray:
        """Nodes with too few rows, or with one label that holds them all."""
        rows = noisy_counts.sum(axis=1)
        return np.asarray((rows < self.min_rows) | (noisy_counts.max(axis=1) >= rows))

    def _charges(self, schema: Schema) -> list[Charge]:
        """Every question of a fit, in order."""
        n_trees = self._n_trees(split_menu(schema, self.continuous, self.n_bins))
        share, purse = self._share, self._purse
        histogram = Charge(leaf_rows(n_trees), purse.cost(share))
        if self._levels == 1:
            return [histogram]
        roots = [Charge(split_choice(CRITERION, 1), purse.cost(share / n_trees))] * n_trees
        level = [Charge(split_choice(CRITERION, n_trees), purse.cost(share)), histogram]
        return [histogram, *roots, histogram, *level * (self._levels - 2)]

    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        self._check_parameters()
        n_trees = self._n_trees(split_menu(schema, self.continuous, self.n_bins))
        asked = [
            PlannedQuestion(c, count_sd(c.cost, n_trees) if c.question == leaf_rows(n_trees) else None)
            for c in self._charges(schema)
        ]
        facts = {"passes over the rows": len(asked), "trees": n_trees, "depth at most": self._levels - 1}
        return FitPlan("greedy-forest", Budget(self.epsilon, self.delta), n_rows, asked, facts)

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

    @property
    def _purse(self) -> Purse:
        return Purse.of(Budget(self.epsilon, self.delta))

    def _check_parameters(self) -> None:
        check_continuous(self.continuous, self.n_bins)
        check_depth(self.max_depth)
        whole = isinstance(self.n_trees, int | np.integer) and not isinstance(self.n_trees, bool)
        if not whole or not 1 <= self.n_trees <= MOST_TREES:
            raise QuestionError(f"n_trees must be a whole number from 1 to {MOST_TREES}.")
        if self.voting not in VOTINGS:
            raise QuestionError(f"voting must be one of {', '.join(VOTINGS)}.")
        if not isinstance(self.min_rows, Real) or not self.min_rows >= 0:
            raise QuestionError("min_rows must be a number, and not negative.")
