"""Random forests of noisy counts (Jagannathan et al. 2012, Bojarski et al. 2014), and our reading of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from privet.errors import BudgetError, QuestionError, SchemaError
from privet.learners.base import PrivateClassifier
from privet.learners.boosting_bins import Totals, class_shares
from privet.learners.boosting_plan import Purse
from privet.learners.count_structure import (
    BIN_SHARE,
    FALSE_CELLS,
    LABEL_SHARE,
    STRUCTURES,
    Shape,
    ask_counts,
    ask_ground,
    count_sd,
)
from privet.learners.count_structure import (
    noise_variance as noise_variance,
)
from privet.learners.forest_plan import forest_leaves, multiway_leaves, sparse_leaves, vote_bound
from privet.learners.multiway_trees import pruned
from privet.learners.plan import FitPlan, Leaves, PlannedQuestion, StatedBound
from privet.learners.random_trees import fanned_ground
from privet.model import CountForest, PrivacyCard
from privet.model.counts import SPARSE
from privet.model.voting import VOTINGS
from privet.privacy import (
    BIN_ROWS,
    LABEL_ROWS,
    Account,
    Budget,
    Charge,
    Protected,
    check_noise,
    frequent_cells,
    leaf_rows,
    random_parts,
)
from privet.privacy.budget import MOST
from privet.privacy.wall import pure
from privet.schema import Schema
from privet.structure import LevelTrees, MultiwayTrees, Structure

ROWS = ("all", "disjoint")
NOT_PRIVATE = "not private: counts are exact"

MANY_TREES = 60
FEW_ROWS = 1000
"""Rows below which Jagannathan et al. take five trees instead of ten."""


class CountForestClassifier(PrivateClassifier):
    """Random trees whose leaves release a noisy count of every label.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit, or of each batch. ``math.inf`` fits the twin that is not private, for
        comparison: a table in hand alone, never protected rows or an owner's account.
    delta : float
        0 for pure ε; otherwise all trees share one discrete Gaussian, whose noise grows with the root
        of their number only.
    n_trees : int, optional
        By default 30·√ε, between 10 and 60; 60 with a δ. For "jagannathan" 10, or 5 where the schema
        states fewer than 1,000 rows.
    max_depth : int, optional
        Depth of every tree; by default what the structure says.
    structure : {"adaptive", "fletcher-islam", "bojarski", "jagannathan"}
        "adaptive" first asks for rows by bin and label of every feature, and draws thresholds at private
        quantiles, features that matter more often, and cuts between categories of different labels;
        trees are as deep as the rows of a leaf cover its noise, and leaves that cannot speak over it
        leave that to their ancestors: see `privet.model.pruning`. The others are drawn from the schema
        alone: "fletcher-islam" has the depth of their theorem 2; "bojarski" draws thresholds from a feature's
        whole range and needs ``max_depth``; "jagannathan" has a child for every category, tests a
        feature once on a path, and has the height of their section 5.1. Such trees, where they are too
        large to write down, show the cells that a sparse release lets through. Their twin that is not
        private has its empty subtrees pruned, as the original random decision trees have.
    voting : {"posterior", "sum", "majority", "threshold", "probabilistic"}
        How leaves are combined: see `privet.model.voting.leaf_values`. "probabilistic" draws its
        predictions.
    rows : {"all", "disjoint"}
        Whether every tree counts all rows, the budget shared, or each its own random part, with all
        of it.
    schema : Schema, path, dict or "from-data"
    random_state : int, RandomState or None
        Fixes the public structure, and the draws of probabilistic voting. Never the noise.
    account : Account, optional
    verbose : bool

    Attributes
    ----------
    classes_, feature_names_in_ : ndarray
    model_ : CountForest
    privacy_card_ : PrivacyCard

    Privacy
    -------
    ε-DP, or (ε, δ)-DP by zCDP, under adding or removing one row. Questions in sequence: rows by label,
    rows by bin and label (an adaptive structure's first batch), and rows by leaf and label of all trees.
    Proof notes: *Discrete Laplace*, *Discrete Gaussian*, *Sums of gradients*, *Parallel composition*.
    """

    model_: CountForest
    _batch: str | None = None
    _earlier: CountForest | None = None

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0,
        *,
        n_trees: int | None = None,
        max_depth: int | None = None,
        structure: str = "adaptive",
        voting: str = "posterior",
        rows: str = "all",
        schema: Any = None,
        random_state: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.structure = structure
        self.voting = voting
        self.rows = rows
        self.schema = schema
        self.random_state = random_state
        self.account = account
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows, and forget what was learnt before."""
        return self._fit_batch(X, y, None, None)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, *, batch: str | None = None) -> Self:
        """Add a batch of people: its own noisy counts are added to those released before.

        Parameters
        ----------
        X, y :
            As for ``fit``.
        classes :
            Not used, taken for scikit-learn's sake: the labels are the schema's.
        batch : str, optional
            Name under which these people are declared to be in no other batch: they are then
            charged in parallel to other batches. Without it they are charged in sequence. Protected
            rows carry the batch of their account.

        Returns
        -------
        self
        """
        if isinstance(X, Protected) and batch not in (None, X.batch_name):
            raise QuestionError(
                "protected rows carry the batch of their account.", "protect them with account.batch(name)."
            )
        return self._fit_batch(X, y, batch, getattr(self, "model_", None))

    @classmethod
    def from_model(cls, model: CountForest, **parameters: Any) -> Self:
        """An estimator that goes on from a released model, say, one read from its file.

        Parameters
        ----------
        model : CountForest
            Released by this estimator; its schema, voting and structure are taken over.
        parameters :
            Of the estimator, for the batches to come: ``epsilon``, ``delta``, ``account``, …
        """
        learner = model.card.learner if isinstance(model, CountForest) else {}
        multiway = isinstance(model, CountForest) and isinstance(model.trees, MultiwayTrees)
        structure, rows = learner.get("structure"), learner.get("rows")
        if multiway != (structure == "jagannathan") or (multiway and rows != "all") or rows not in ROWS:
            raise QuestionError(
                "this model was not released by a count forest of one owner.",
                "give one that CountForestClassifier fitted.",
            )
        kept = {"structure": structure, "rows": rows, "n_trees": model.trees.n_trees}
        estimator = cls(**{"schema": model.schema, "voting": model.voting, **kept, **parameters})
        estimator._set_names(model.schema)
        estimator._keep(model, None)
        return estimator

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's name
        text = super().__repr__(N_CHAR_MAX)
        return f"{text} – not private" if self._is_twin else str(text)

    @property
    def _is_twin(self) -> bool:
        """Whether this is the twin that is not private."""
        return isinstance(self.epsilon, float) and self.epsilon == inf

    @property
    def _budget(self) -> Budget:
        # With the largest ε there is, noise differs from zero with a probability below e^(−10,000).
        return Budget(MOST) if self._is_twin else super()._budget

    def _fit_batch(self, X: Any, y: Any, batch: str | None, earlier: CountForest | None) -> Self:
        if self._is_twin and (self.account is not None or isinstance(X, Protected)):
            raise BudgetError(
                "an infinite epsilon is charged to no account: its answers are exact.",
                "give a finite epsilon, or fit a table in hand without an account.",
            )
        self._batch, self._earlier = batch, earlier
        try:
            return super().fit(X, y)
        finally:
            self._batch = self._earlier = None

    def _starts_anew(self) -> bool:
        return self._earlier is None

    def _payer(self) -> Account:
        account = super()._payer()
        return account if self._batch is None else account.batch(self._batch)

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row; drawn by its weight where voting is "probabilistic"."""
        check_is_fitted(self)
        if self.model_.voting != "probabilistic":
            return super().predict(X)
        cumulative = self.predict_proba(X).cumsum(axis=1)
        drawn = check_random_state(self.random_state).random_sample((len(cumulative), 1))
        return np.asarray(self.classes_[(cumulative < drawn).sum(axis=1).clip(max=len(self.classes_) - 1)])

    def _learn(self, protected: Protected) -> CountForest:
        shape, random = self._shape(protected.schema), check_random_state(self.random_state)
        purse = Purse.of(self._budget)
        plan = self._plan(protected.schema, shape, purse)
        for charge, sensitivity in plan:
            check_noise(sensitivity, charge.cost)
        protected.reserve([charge for charge, _ in plan])
        by_label = protected.noisy_label_rows(**purse.price(LABEL_SHARE))
        totals = Totals(by_label.values.astype(np.float64), sqrt(noise_variance(by_label)))
        drawn, totals = self._trees(protected, shape, purse, totals, random)
        trees, counts, variance = ask_counts(protected, shape, drawn, purse, self._leaf_share)
        if self._is_twin and isinstance(trees, MultiwayTrees) and self._earlier is None:
            trees, counts = pruned(trees, counts)
        prior = class_shares(totals, max(float(totals.rows.sum()), 1.0))
        learner = {
            "name": "count-forest",
            "trees": shape.n_trees,
            "depth": trees.depth,
            "structure": self.structure,
            "rows": self.rows,
        }
        if isinstance(drawn, LevelTrees) or (self._earlier and SPARSE in self._earlier.card.learner):
            learner[SPARSE] = "frequent ones only"
        card = self._card(protected, learner)
        if self._is_twin:
            card = replace(card, delta="0", private=False, caveats=[*card.caveats, NOT_PRIVATE])
        card = replace(card, batches=[_history(protected.batch_name, card)])
        released = CountForest(trees, counts, variance, prior, self.voting, protected.schema, card)
        return released if self._earlier is None else added(self._earlier, released)

    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        shape, budget = self._shape(schema), Budget(self.epsilon, self.delta)
        purse = Purse.of(budget)
        plan = self._plan(schema, shape, purse)
        sds = [count_sd(sensitivity, charge.cost) for charge, sensitivity in plan]
        depth = shape.depth(schema, n_rows, purse.sd(shape.counted, Fraction(1), self._leaf_share))
        charges = [charge for charge, _ in plan]
        written = shape.is_written(fanned_ground(schema, 1), depth)
        if not written:
            charges[-1] = replace(charges[-1], question=frequent_cells(shape.n_trees))
        facts: dict[str, int | float | str] = {
            "passes over the rows": len(plan),
            "trees": shape.n_trees,
            "depth": depth,
            "rows that a tree sees": n_rows / shape.parts,
            "noise of a leaf's count": sds[-1],
        }
        if shape.family != "jagannathan":
            facts["leaves of each tree"] = 1 << depth
        return FitPlan(
            "count-forest",
            budget,
            n_rows,
            [PlannedQuestion(charge, sd) for charge, sd in zip(charges, sds, strict=True)],
            facts,
            self._leaves(schema, shape, depth, n_rows / shape.parts, sds[-1], written),
            [self._bound(schema, shape, depth, n_rows, charges[-1])],
        )

    def _leaves(
        self, schema: Schema, shape: Shape, depth: int, n_rows: float, sd: float, written: bool
    ) -> Leaves:
        """Leaves of trees like those that a fit would draw."""
        least = sqrt(2) * sd
        if shape.family != "jagannathan":
            within_node = shape.family != "bojarski"
            return forest_leaves(schema, depth, n_rows, least, self.random_state, within_node)
        if written:
            return multiway_leaves(schema, depth, n_rows, least, self.random_state)
        cost = Purse.of(self._budget).cost(self._leaf_share)
        scale = shape.n_trees / pure(cost)
        return sparse_leaves(schema, depth, n_rows, least, self.random_state, scale, FALSE_CELLS)

    def _bound(self, schema: Schema, shape: Shape, depth: int, n_rows: float, asked: Charge) -> StatedBound:
        provable = shape.family in ("fletcher-islam", "bojarski") and not shape.disjoint
        epsilon = float(asked.cost.epsilon) if provable and asked.cost.epsilon is not None else None
        return vote_bound(self.voting, len(schema.label.values), n_rows, depth, shape.n_trees, epsilon)

    @property
    def _asks_bins(self) -> bool:
        """Whether splits are informed by rows by bin; the structure of later batches is given."""
        return self.structure == "adaptive" and self._earlier is None

    @property
    def _leaf_share(self) -> Fraction:
        return 1 - LABEL_SHARE - (BIN_SHARE if self._asks_bins else 0)

    def _plan(self, schema: Schema, shape: Shape, purse: Purse) -> list[tuple[Charge, int]]:
        """Every question, and the sensitivity of its counts."""
        composition = random_parts(shape.n_trees) if shape.disjoint else "sequence"
        labels = (Charge(LABEL_ROWS, purse.cost(LABEL_SHARE)), 1)
        bins = (Charge(BIN_ROWS, purse.cost(BIN_SHARE)), len(schema.features))
        cost = purse.cost(self._leaf_share)
        leaves = (Charge(leaf_rows(shape.n_trees), cost, composition), shape.counted)
        return [labels, bins, leaves] if self._asks_bins else [labels, leaves]

    def _trees(
        self,
        protected: Protected,
        shape: Shape,
        purse: Purse,
        totals: Totals,
        random: np.random.RandomState,
    ) -> tuple[Structure, Totals]:
        """The structure of the earlier batches, or a new one from public and noisy quantities."""
        if self._earlier is not None:
            return self._earlier.trees, totals
        if self._asks_bins:
            ground, totals = ask_ground(protected, purse, totals, shape.n_trees, random)
        else:
            ground = shape.ground(protected.schema, random)
        noise = purse.sd(shape.counted, Fraction(1), self._leaf_share)
        depth = shape.depth(protected.schema, float(totals.rows.sum()), noise)
        return shape.draw(ground, depth, random), totals

    def _shape(self, schema: Schema) -> Shape:
        """Structure that is wanted, once all parameters have been checked."""
        for name, allowed in (("structure", STRUCTURES), ("voting", VOTINGS), ("rows", ROWS)):
            if getattr(self, name) not in allowed:
                raise QuestionError(f"{name} must be one of {', '.join(allowed)}.")
        if self._earlier is not None:
            return self._kept_shape(schema, self._earlier)
        n_trees = self._n_trees(schema) if self.n_trees is None else self.n_trees
        pure = not self._budget.delta
        shape = Shape(self.structure, n_trees, self.max_depth, self.rows == "disjoint", pure)
        shape.check(schema)
        return shape

    def _kept_shape(self, schema: Schema, earlier: CountForest) -> Shape:
        """Structure of the batches before: counts of another one could not be added to theirs."""
        if schema.fingerprint != earlier.schema.fingerprint:
            raise SchemaError("this batch has another schema than those before.", "encode it alike.")
        first = earlier.card.learner
        for name, given, kept in (
            ("n_trees", self.n_trees, earlier.trees.n_trees),
            ("structure", self.structure, first["structure"]),
            ("rows", self.rows, first["rows"]),
        ):
            if given not in (None, kept):
                raise QuestionError(
                    f"{name} cannot change between batches.", f"set it to {kept!r} as before, or fit anew."
                )
        disjoint, pure = self.rows == "disjoint", not self._budget.delta
        return Shape(self.structure, earlier.trees.n_trees, None, disjoint, pure)

    def _n_trees(self, schema: Schema) -> int:
        """Number of trees by default."""
        if self.structure == "jagannathan":
            return 5 if schema.max_rows is not None and schema.max_rows < FEW_ROWS else 10
        return default_trees(float(self._budget.epsilon), float(self._budget.delta))


def default_trees(epsilon: float, delta: float = 0) -> int:
    """Fewer trees where little can be asked of each; all from public quantities."""
    return MANY_TREES if delta else int(np.clip(round(30 * sqrt(epsilon)), 10, MANY_TREES))


def prices(budget: Budget) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """What rows by label and rows by leaf cost of a budget, as the wall takes it."""
    name, whole = ("rho", budget.rho) if budget.delta else ("epsilon", budget.epsilon)
    return {name: whole * LABEL_SHARE}, {name: whole * (1 - LABEL_SHARE)}


def label_prior(noisy_rows: np.ndarray, variance: float) -> np.ndarray:
    """Shares of the labels from noisy rows by label."""
    totals = Totals(noisy_rows.astype(np.float64), sqrt(variance))
    return class_shares(totals, max(float(noisy_rows.sum()), 1.0))


def added(earlier: CountForest, later: CountForest) -> CountForest:
    """Two releases of one structure, as one: counts add up, and so does their noise."""
    rows = [max(float(model.counts.sum()), 1.0) for model in (earlier, later)]
    prior = rows[0] * earlier.prior + rows[1] * later.prior
    batches = [*earlier.card.batches, *later.card.batches]
    epsilon, delta = (exposure(batches, name) for name in ("epsilon", "delta"))
    card = replace(
        later.card,
        epsilon=epsilon,
        delta=delta,
        batches=batches,
        private=earlier.card.private and later.card.private,
        caveats=sorted({*earlier.card.caveats, *later.card.caveats}),
    )
    return replace(
        later,
        counts=earlier.counts + later.counts,
        variance=earlier.variance + later.variance,
        prior=prior / prior.sum(),
        card=card,
    )


def exposure(batches: Sequence[Mapping[str, Any]], name: str) -> str:
    """What the most exposed person has cost: undeclared batches add up, declared ones are disjoint."""
    if any(batch[name] == str(inf) for batch in batches):
        return str(inf)
    everyone, declared = Fraction(0), {"": Fraction(0)}
    for batch in batches:
        cost = Fraction(batch[name])
        if batch["batch"] is None:
            everyone += cost
        else:
            declared[batch["batch"]] = declared.get(batch["batch"], Fraction(0)) + cost
    return written(everyone + max(declared.values()))


def written(value: Fraction) -> str:
    """An exact number as a card states it: a decimal where that is short."""
    text = f"{float(value):.12g}"
    return text if Fraction(text) == value else str(value)


def _history(batch: str | None, card: PrivacyCard) -> dict[str, Any]:
    return {"batch": batch, "epsilon": card.epsilon, "delta": card.delta, "receipt": card.receipt}
