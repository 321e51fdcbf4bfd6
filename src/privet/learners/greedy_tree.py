"""A greedy tree after ID3 and C4.5 (Friedman and Schuster 2010), kept strictly private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privet.answers import ChosenSplits
from privet.kernels.criteria import CRITERIA, criterion_named
from privet.learners.finding import Given
from privet.learners.greedy_plan import DEEPEST, SHARES, LevelShares, default_shares, even_shares
from privet.learners.growing import CONTINUOUS, Menu, split_menu
from privet.learners.learner import Learner, delta
from privet.learners.parameters import number, one_of, whole, yes_or_no, zoom
from privet.learners.plan import FitPlan
from privet.learners.purse import Purse
from privet.learners.tree_growth import grow_tree, only, released_tree
from privet.model import RuleForest
from privet.privacy import Charge, Cost, Protected
from privet.privacy.questions.trees import LeafLabelRows, LeafTotals, SplitChoice
from privet.schema import Schema
from privet.structure import MultiwayTrees, Splits


@dataclass(eq=False, repr=False)
class GreedyTree(Learner):
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
    zoom : bool
        Look first where people are within the public ranges, for a few percent of the budget, so that
        thresholds lie there however wide these are.
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

    name = "greedy-tree"

    delta: float = delta()
    criterion: str = one_of("max", CRITERIA, "What a split of a greedy tree is judged by.", "--criterion")
    max_depth: int = whole(5, 1, DEEPEST, "Depth of every tree.", "--depth")
    continuous: str = one_of("mechanism", CONTINUOUS, "How a range is split.")
    n_bins: int = whole(10, 2, 1000, "Equal bins of a range, where it is cut into bins.")
    prune: bool = yes_or_no(True, "Take back splits that tell nothing.")
    certainty: float = number(0.25, 0, 1, "Certainty of pruning, as C4.5 has it.", strictly=True)
    shares: str = one_of("default", SHARES, "How levels share the budget.")
    zoom: bool = zoom()

    @property
    def _zooms(self) -> bool:
        return self.zoom

    def _learn(self, given: Given) -> RuleForest:
        protected, purse = given.rows, given.purse
        protected.reserve(self._known_charges(protected.schema, purse))
        menu = split_menu(protected.schema, self.continuous, self.n_bins, given.ranks)

        def choose(trees: MultiwayTrees, splits: Splits, share: Fraction) -> ChosenSplits:
            if self.shares == "paper":
                for choice in np.flatnonzero(menu.highest).tolist():
                    splits = self._with_threshold(protected, trees, splits, choice, purse.cost(share))
            return protected.ask(SplitChoice(trees, splits, self.criterion), purse.cost(share))

        growth, rows, noisy = grow_tree(protected, menu, self._level_shares(menu), purse, choose)
        released = released_tree(growth, menu, rows, noisy, float(self.certainty) if self.prune else None)
        facts = {
            "criterion": self.criterion,
            "depth": self.max_depth,
            "continuous": self.continuous,
            "shares": self.shares,
        }
        return RuleForest(*released, "counts", protected.schema, given.stamp(facts))

    def _with_threshold(
        self,
        protected: Protected,
        trees: MultiwayTrees,
        splits: Splits,
        choice: int,
        cost: Cost,
    ) -> Splits:
        """The same splits with one threshold left of a choice."""
        alone = only(splits, np.arange(len(splits.view)) == choice)
        threshold = protected.ask(SplitChoice(trees, alone, self.criterion), cost).threshold
        lowest, highest = splits.lowest.copy(), splits.highest.copy()
        taken = alone.allowed[:, choice]
        lowest[taken, choice] = highest[taken, choice] = threshold[taken]
        return replace(splits, lowest=lowest, highest=highest)

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        charges = self._known_charges(schema, purse)
        facts = {"passes over the rows": len(charges), "depth at most": int(self.max_depth)}
        return FitPlan(self.name, self.budget, n_rows, charges, facts)

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        """Every question of a fit, in order."""
        criterion_named(self.criterion, schema)
        plan = self._level_shares(split_menu(schema, self.continuous, self.n_bins))
        charges = []
        for rows_share, split_share in zip(plan.rows, plan.split, strict=True):
            charges.append(LeafTotals.plan(purse.cost(rows_share), 1))
            split = SplitChoice.plan(purse.cost(split_share), 1, self.criterion, schema)
            charges += [split] * plan.choices
        if plan.last_rows:
            charges.append(LeafTotals.plan(purse.cost(plan.last_rows), 1))
        return [*charges, LeafLabelRows.plan(purse.cost(plan.leaves), 1)]

    def _level_shares(self, menu: Menu) -> LevelShares:
        if self.shares == "paper":
            return even_shares(int(self.max_depth), int((menu.highest > 0).sum()))
        return default_shares(int(self.max_depth))
