"""Trees from noisy counts alone: the baselines that better ways of choosing splits are held against."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.learners.base import PrivateClassifier
from privet.learners.boosting_plan import Purse
from privet.learners.count_forest import noise_variance
from privet.learners.greedy_plan import CountEstimates, check_depth, count_sd, even_shares
from privet.learners.growing import (
    MAX_NODES,
    Menu,
    check_continuous,
    grown,
    open_splits,
    seedlings,
    split_menu,
)
from privet.learners.plan import FitPlan, PlannedQuestion
from privet.learners.tree_growth import grow_tree, padded, released_tree
from privet.model import RuleForest
from privet.privacy import (
    Account,
    Budget,
    Charge,
    ChosenSplits,
    Protected,
    leaf_rows,
    open_leaf_rows,
    split_rows,
)
from privet.schema import Schema
from privet.structure import MultiwayTrees, Splits

VARIANTS = ("sulq", "sum-queries")
SULQ_DEPTH = 5
MAX_CELLS = 1 << 24
"""Counts that a level may ask for: a tree that noise drives on is not grown beyond."""


class CountingTreeClassifier(PrivateClassifier):
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
        Equal bins that a continuous feature is cut into.
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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0,
        *,
        variant: str = "sulq",
        max_depth: int | None = None,
        n_bins: int = 10,
        schema: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.variant = variant
        self.max_depth = max_depth
        self.n_bins = n_bins
        self.schema = schema
        self.account = account
        self.verbose = verbose

    def _learn(self, protected: Protected) -> RuleForest:
        schema = protected.schema
        self._check_parameters()
        protected.reserve([charge for charge, _ in self._charges(schema)])
        menu = split_menu(schema, "bins", self.n_bins)
        released = self._sulq(protected, menu) if self.variant == "sulq" else self._sums(protected, menu)
        learner = {"name": "counting-tree", "variant": self.variant, "depth": self._depth(schema)}
        return RuleForest(*released, "counts", schema, self._card(protected, learner))

    def _sulq(self, protected: Protected, menu: Menu) -> tuple[MultiwayTrees, np.ndarray, np.ndarray]:
        purse = self._purse

        def choose(trees: MultiwayTrees, splits: Splits, share: Fraction) -> ChosenSplits:
            price = purse.price(share / 2)
            rows = protected.noisy_split_counts(trees, splits, by_label=False, **price).values
            counts = protected.noisy_split_counts(trees, splits, by_label=True, **price).values
            return most_informative(rows[:, :, 0], counts, splits, menu)

        plan = even_shares(self._depth(protected.schema), 0)
        most = most_nodes(menu, len(protected.schema.label.values))
        growth, rows, noisy = grow_tree(protected, menu, plan, purse, choose, most)
        return released_tree(growth, menu, rows, noisy, None)

    def _sums(self, protected: Protected, menu: Menu) -> tuple[MultiwayTrees, np.ndarray, np.ndarray]:
        n_labels, purse = len(protected.schema.label.values), self._purse
        growth, known, closed = seedlings(menu, 1), CountEstimates.none(1, n_labels), np.zeros(1, bool)
        for share in self._sum_shares(menu):
            splits = open_splits(growth, menu, closed)
            if not splits.allowed.any():
                break
            noisy = protected.noisy_split_counts(growth.trees, splits, by_label=True, **purse.price(share))
            counts, variance = noisy.values, noise_variance(noisy)
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

    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        self._check_parameters()
        asked = [
            PlannedQuestion(charge, count_sd(charge.cost, width)) for charge, width in self._charges(schema)
        ]
        facts = {"passes over the rows": len(asked), "depth at most": self._depth(schema)}
        return FitPlan("counting-tree", Budget(self.epsilon, self.delta), n_rows, asked, facts)

    def _charges(self, schema: Schema) -> list[tuple[Charge, int]]:
        """Every question of a fit in order, and how many counts one row changes in its answer."""
        menu, purse = split_menu(schema, "bins", self.n_bins), self._purse
        offered = int((menu.children > 1).sum())
        if self.variant == "sum-queries":
            return [
                (Charge(split_rows(True), purse.cost(share)), offered - level)
                for level, share in enumerate(self._sum_shares(menu))
            ]
        plan = even_shares(self._depth(schema), 0)
        charges = []
        for level, (rows, split) in enumerate(zip(plan.rows, plan.split, strict=True)):
            charges.append((Charge(open_leaf_rows(1), purse.cost(rows)), 1))
            for by_label in (False, True):
                left = max(offered - level, 1)
                charges.append((Charge(split_rows(by_label), purse.cost(split / 2)), left))
        charges.append((Charge(open_leaf_rows(1), purse.cost(plan.last_rows)), 1))
        return [*charges, (Charge(leaf_rows(1), purse.cost(plan.leaves)), 1)]

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

    @property
    def _purse(self) -> Purse:
        return Purse.of(Budget(self.epsilon, self.delta))

    def _check_parameters(self) -> None:
        if self.variant not in VARIANTS:
            raise QuestionError(f"variant must be one of {', '.join(VARIANTS)}.")
        check_continuous("bins", self.n_bins)
        if self.max_depth is not None:
            check_depth(self.max_depth)


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
