"""A greedy tree after ID3 and C4.5 (Friedman and Schuster 2010), kept strictly private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.learners.base import PrivateClassifier
from privet.learners.boosting_plan import Purse
from privet.learners.greedy_plan import (
    SHARES,
    LevelShares,
    check_depth,
    count_sd,
    default_shares,
    even_shares,
)
from privet.learners.growing import Menu, check_continuous, split_menu
from privet.learners.plan import FitPlan, PlannedQuestion
from privet.learners.tree_growth import grow_tree, only, released_tree
from privet.model import RuleForest
from privet.privacy import (
    Account,
    Budget,
    Charge,
    ChosenSplits,
    Protected,
    leaf_rows,
    open_leaf_rows,
    split_choice,
)
from privet.privacy.criteria import criterion_named
from privet.schema import Schema
from privet.structure import MultiwayTrees, Splits


class GreedyTreeClassifier(PrivateClassifier):
    """One tree whose splits are chosen greedily: DiffPID3, and DiffPC4.5 with thresholds and pruning.

    Level by level every open leaf releases a noisy number of rows, then chooses its split by a criterion.
    A categorical feature has a branch for each category and is used once on a path; a continuous one is cut
    at a threshold. A leaf with too few rows for their noise is split no further. The leaves release noisy
    label counts, from which the tree is pruned without further questions.

    The papers' exponent is doubled at no cost, since all three criteria move one way when a row is added.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; otherwise questions add up in zCDP.
    criterion : {"max", "gini", "information_gain"}
        What a split is judged by. Information gain needs a schema with ``max_rows``.
    max_depth : int
    continuous : {"mechanism", "bins"}
        Thresholds of continuous features are chosen among all cells of the public range, or the range is
        cut into ``n_bins`` equal bins, each a branch.
    n_bins : int
    prune : bool
        Replace subtrees that mislabel no fewer rows than a leaf would, by C4.5's pessimistic estimate.
    certainty : float
        Of that estimate: the lower, the more is pruned.
    shares : {"default", "paper"}
        How the budget is shared. "paper" gives every question the same, and asks for a threshold of every
        continuous feature before it asks for the feature; "default" chooses both at once.
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
    ε-DP, or (ε, δ)-DP by zCDP, under adding or removing one row. A row is in one leaf of a level, so the
    leaves of a level cost what one leaf costs; levels add up. Proof notes: *Splits*, *Discrete Laplace*,
    *Sequence*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Continuous, GreedyTreeClassifier, Label, Schema
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    >>> X = np.random.default_rng(0).random((5_000, 2))
    >>> y = (X[:, 0] > 0.4).astype(int)
    >>> tree = GreedyTreeClassifier(epsilon=1.0, max_depth=2, schema=schema).fit(X, y)
    >>> bool(tree.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0,
        *,
        criterion: str = "max",
        max_depth: int = 5,
        continuous: str = "mechanism",
        n_bins: int = 10,
        prune: bool = True,
        certainty: float = 0.25,
        shares: str = "default",
        schema: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.criterion = criterion
        self.max_depth = max_depth
        self.continuous = continuous
        self.n_bins = n_bins
        self.prune = prune
        self.certainty = certainty
        self.shares = shares
        self.schema = schema
        self.account = account
        self.verbose = verbose

    def _learn(self, protected: Protected) -> RuleForest:
        schema, purse = protected.schema, self._purse
        self._check_parameters(schema)
        protected.reserve(self._charges(schema))
        menu = split_menu(schema, self.continuous, self.n_bins)

        def choose(trees: MultiwayTrees, splits: Splits, share: Fraction) -> ChosenSplits:
            if self.shares == "paper":
                for choice in np.flatnonzero(menu.highest).tolist():
                    splits = self._with_threshold(protected, trees, splits, choice, purse.price(share))
            return protected.choose_split(trees, splits, self.criterion, **purse.price(share))

        growth, rows, noisy = grow_tree(protected, menu, self._level_shares(menu), purse, choose)
        released = released_tree(growth, menu, rows, noisy, float(self.certainty) if self.prune else None)
        learner = {
            "name": "greedy-tree",
            "criterion": self.criterion,
            "depth": self.max_depth,
            "continuous": self.continuous,
            "shares": self.shares,
        }
        return RuleForest(*released, "counts", schema, self._card(protected, learner))

    def _with_threshold(
        self,
        protected: Protected,
        trees: MultiwayTrees,
        splits: Splits,
        choice: int,
        price: Mapping[str, Fraction],
    ) -> Splits:
        """The same splits with one threshold left of a choice."""
        alone = only(splits, np.arange(len(splits.view)) == choice)
        threshold = protected.choose_split(trees, alone, self.criterion, **price).threshold
        lowest, highest = splits.lowest.copy(), splits.highest.copy()
        taken = alone.allowed[:, choice]
        lowest[taken, choice] = highest[taken, choice] = threshold[taken]
        return replace(splits, lowest=lowest, highest=highest)

    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        self._check_parameters(schema)
        charges = self._charges(schema)
        asked = [
            PlannedQuestion(c, None if c.question == split_choice(self.criterion, 1) else count_sd(c.cost, 1))
            for c in charges
        ]
        facts = {"passes over the rows": len(charges), "depth at most": int(self.max_depth)}
        return FitPlan("greedy-tree", Budget(self.epsilon, self.delta), n_rows, asked, facts)

    def _charges(self, schema: Schema) -> list[Charge]:
        """Every question of a fit, in order."""
        plan = self._level_shares(split_menu(schema, self.continuous, self.n_bins))
        charges = []
        for rows_share, split_share in zip(plan.rows, plan.split, strict=True):
            charges.append(Charge(open_leaf_rows(1), self._purse.cost(rows_share)))
            split = Charge(split_choice(self.criterion, 1), self._purse.cost(split_share))
            charges += [split] * plan.choices
        if plan.last_rows:
            charges.append(Charge(open_leaf_rows(1), self._purse.cost(plan.last_rows)))
        return [*charges, Charge(leaf_rows(1), self._purse.cost(plan.leaves))]

    def _level_shares(self, menu: Menu) -> LevelShares:
        if self.shares == "paper":
            return even_shares(int(self.max_depth), int((menu.highest > 0).sum()))
        return default_shares(int(self.max_depth))

    @property
    def _purse(self) -> Purse:
        return Purse.of(Budget(self.epsilon, self.delta))

    def _check_parameters(self, schema: Schema) -> None:
        criterion_named(self.criterion, schema)
        check_continuous(self.continuous, self.n_bins)
        if self.shares not in SHARES:
            raise QuestionError(f"shares must be one of {', '.join(SHARES)}.")
        check_depth(self.max_depth)
        if not isinstance(self.certainty, Real) or not 0 < self.certainty < 1:
            raise QuestionError("certainty must lie between 0 and 1.", "C4.5 takes 0.25.")
