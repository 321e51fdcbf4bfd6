"""A random forest that releases one label a leaf (Fletcher and Islam 2017), kept strictly private."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from privet.errors import QuestionError
from privet.learners.finding import Given
from privet.learners.forest_plan import forest_leaves, least_chosen
from privet.learners.learner import Learner
from privet.learners.parameters import seed, whole
from privet.learners.plan import FitPlan
from privet.learners.purse import Purse
from privet.learners.random_trees import random_complete_trees
from privet.model import LabelForest
from privet.privacy import Charge
from privet.privacy.questions.trees import LeafLabels
from privet.schema import Continuous, Schema, Target
from privet.structure import MAX_DEPTH
from privet.theory import fletcher_islam_depth

MAX_FOREST_LEAVES = 1 << 22
"""Leaves of a forest whose depth is chosen here: every one of them is stored."""

MAX_FOREST_CELLS = 1 << 27
"""Counts of a forest whose depth is chosen here, one a leaf and label."""

MAX_LEAVES = 1 << 26
"""Leaves of any forest: drawing its splits takes sixteen bytes for each."""


@dataclass(eq=False, repr=False)
class MajorityForest(Learner):
    """Random trees on disjoint rows, a most frequent label in every leaf, a majority vote.

    Every row goes to one tree, drawn at random, so each tree may use the whole ε. A leaf releases
    only its most frequent label, chosen by permute-and-flip: a label that is ``gap`` rows behind has
    odds of e^(−ε·gap) to be taken instead. The paper's own mechanism (smooth sensitivity put into the
    exponential mechanism) does not keep its ε and is not used.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    n_trees : int
    max_depth : int, optional
        Depth of every tree; by default theorem 2 of the paper, as far as four million leaves allow.
    schema : Schema, path, dict or "from-data"
        The public contract. "from-data" reads it from the rows, which no budget covers.
    random_state : int, RandomState or None
        Fixes the public structure alone. Noise always comes from the operating system.
    account : Account, optional
        Account of a `Ledger` to charge; by default a ledger of this fit alone.
    verbose : bool
        Show progress.

    Attributes
    ----------
    classes_ : ndarray
    feature_names_in_ : ndarray
    model_ : LabelForest
        What was released.
    privacy_card_ : PrivacyCard

    Privacy
    -------
    ε-DP under adding or removing one row. One question: the most frequent label of every leaf, in
    parallel over the trees' disjoint rows. Proof notes: *Permute-and-flip*, *Parallel composition*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Continuous, Label, MajorityForestClassifier, Schema
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = (X.sum(axis=1) > 1).astype(int)
    >>> forest = MajorityForestClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y)
    >>> bool(forest.score(X, y) > 0.8)
    True
    """

    name = "majority-forest"

    n_trees: int = whole(100, 1, 10**5, "Number of trees.", "--trees")
    max_depth: int | None = whole(None, 1, MAX_DEPTH, "Depth of every tree.", "--depth")
    random_state: Any = seed()

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        _ = check_random_state(self.random_state)
        _ = self._depth(schema)
        return [LeafLabels.plan(purse.cost(Fraction(1)), self.n_trees, True)]

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        depth = self._depth(schema)
        each = n_rows / self.n_trees
        return FitPlan(
            self.name,
            self.budget,
            n_rows,
            self._known_charges(schema, purse),
            {
                "passes over the rows": 1,
                "trees": self.n_trees,
                "depth": depth,
                "leaves of each tree": 1 << depth,
                "rows that a tree sees": each,
            },
            forest_leaves(schema, depth, each, least_chosen(float(purse.total)), self.random_state),
        )

    def _depth(self, schema: Schema) -> int:
        check_size(self.n_trees, 1 if self.max_depth is None else self.max_depth)
        return forest_depth(schema, self.n_trees) if self.max_depth is None else int(self.max_depth)

    def _learn(self, given: Given) -> LabelForest:
        protected, schema = given.rows, given.rows.schema
        depth = self._depth(schema)
        protected.reserve(self._known_charges(schema, given.purse))
        random = check_random_state(self.random_state)
        trees = random_complete_trees(schema, self.n_trees, depth, random, ranks=given.ranks)
        labels = protected.ask(LeafLabels(trees, own_rows=True), given.purse.cost(Fraction(1)))
        card = given.stamp({"trees": self.n_trees, "depth": depth})
        return LabelForest(trees, labels.astype(np.uint16), schema, card)


def forest_depth(schema: Schema, n_trees: int) -> int:
    """Depth of theorem 2, or less where the forest would have too many leaves to store."""
    columns = 2 if isinstance(schema.label, Target) else schema.n_labels
    n_continuous = sum(isinstance(feature, Continuous) for feature in schema.features)
    wanted = fletcher_islam_depth(n_continuous, len(schema.features) - n_continuous)
    leaves = min(MAX_FOREST_LEAVES, MAX_FOREST_CELLS // columns)
    return max(1, min(wanted, (leaves // n_trees).bit_length() - 1))


def check_size(n_trees: Any, depth: Any) -> None:
    """Refuse a forest that would have too many leaves."""
    if int(n_trees) << int(depth) > MAX_LEAVES:
        raise QuestionError(
            f"{n_trees} trees of depth {depth} have more than {MAX_LEAVES:,} leaves.",
            "take fewer or shallower trees.",
        )
