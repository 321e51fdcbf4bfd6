"""Random forests of noisy counts (Jagannathan et al. 2012, Bojarski et al. 2014), and our reading of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, sqrt
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from privet.errors import QuestionError, SchemaError
from privet.learners.boosting.bins import Totals, class_shares
from privet.learners.count_structure import (
    BIN_SHARE,
    FALSE_CELLS,
    LABEL_SHARE,
    STRUCTURES,
    Shape,
    ask_counts,
    ask_ground,
)
from privet.learners.finding import Given
from privet.learners.forest_plan import forest_leaves, multiway_leaves, sparse_leaves, vote_bound
from privet.learners.learner import Learner, delta
from privet.learners.multiway_trees import pruned
from privet.learners.parameters import one_of, seed, whole, zoom
from privet.learners.plan import FitPlan, Leaves, StatedBound
from privet.learners.purse import Purse, sd_of
from privet.learners.random_trees import fanned_ground
from privet.model import CountForest as CountModel
from privet.model import PrivacyCard
from privet.model.counts import SPARSE
from privet.model.voting import VOTINGS
from privet.privacy import Budget, Charge, Protected
from privet.privacy.budget import MOST
from privet.privacy.question import pure_only
from privet.privacy.questions.boosting import BinRows, LabelRows
from privet.privacy.questions.trees import FrequentCells, LeafLabelRows
from privet.schema import Schema
from privet.structure import MAX_DEPTH, LevelTrees, MultiwayTrees, Structure

ROWS = ("all", "disjoint")
NOT_PRIVATE = "not private: counts are exact"

MANY_TREES = 60
FEW_ROWS = 1000
"""Rows below which Jagannathan et al. take five trees instead of ten."""


@dataclass(eq=False, repr=False)
class CountForest(Learner):
    """Random trees whose leaves release a noisy count of every label.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit, or of each batch. ``math.inf`` fits the twin that is not private, for
        comparison: a table in hand alone, never protected rows or an owner's account.
    delta : float
        0 for pure ε; otherwise all trees share one rounded Gaussian, whose noise grows with the root
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
    voting : str
        How leaves are combined: a name of `privet.model.voting.WAYS`, which says what each does.
    rows : {"all", "disjoint"}
        Whether every tree counts all rows, the budget shared, or each its own random part, with all
        of it.
    zoom : bool
        For "adaptive": look first where people are within the public ranges, for a few percent of the budget,
        so that thresholds lie there however wide these are.
    schema : Schema, path, dict or "from-data"
    random_state : int, RandomState or None
        Fixes the public structure, and the draws of a way of voting that has some. Never the noise.
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
    Proof notes: *Discrete Laplace*, *Rounded Gaussian*, *Sums of gradients*, *Parallel composition*.
    """

    name = "count-forest"

    delta: float = delta()
    n_trees: int | None = whole(None, 1, 10**5, "Number of trees.", "--trees")
    max_depth: int | None = whole(None, 1, MAX_DEPTH, "Depth of every tree.", "--depth")
    structure: str = one_of("adaptive", STRUCTURES, "Structure of a count forest.", "--structure")
    voting: str = one_of("posterior", VOTINGS, "How leaves are combined.", "--voting")
    rows: str = one_of("all", ROWS, "Whether each tree counts all rows or a part of its own.", "--counted")
    zoom: bool = zoom()
    random_state: Any = seed()

    @property
    def is_twin(self) -> bool:
        """Whether this is the twin that is not private."""
        return isinstance(self.epsilon, float) and self.epsilon == inf

    @property
    def budget(self) -> Budget:
        """See `Learner.budget`."""
        # With the largest ε there is, noise differs from zero with a probability below e^(−10,000).
        return Budget(MOST) if self.is_twin else super().budget

    @property
    def _zooms(self) -> bool:
        return self.zoom and self.structure == "adaptive"

    def learn(self, protected: Protected, earlier: CountModel | None = None) -> CountModel:
        """See `Learner.learn`; counts are added to those of ``earlier`` batches, in their structure."""
        self.check_contract(protected.schema)
        if earlier is None:
            return super().learn(protected)
        same_contract(protected.schema, earlier.schema)
        same = protected.schema.fingerprint == earlier.schema.fingerprint
        rows = protected if same else protected.under(earlier.schema)
        return self._learn(Given(rows, self.purse, self.stamp(rows)), earlier)

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        _ = check_random_state(self.random_state)
        return self._plan(schema, self._shape(schema, None), purse)

    def _learn(self, given: Given, earlier: CountModel | None = None) -> CountModel:
        protected, purse = given.rows, given.purse
        shape, random = self._shape(protected.schema, earlier), check_random_state(self.random_state)
        plan = self._plan(protected.schema, shape, purse)
        for charge in plan:
            _ = charge.law
        protected.reserve(plan)
        by_label = protected.ask(LabelRows(), purse.cost(LABEL_SHARE))
        totals = Totals(by_label.values.astype(np.float64), sqrt(by_label.variance))
        drawn, totals = self._trees(given, shape, totals, random, earlier)
        trees, counts, variance = ask_counts(protected, shape, drawn, purse, leaf_share(shape))
        if self.is_twin and isinstance(trees, MultiwayTrees) and earlier is None:
            trees, counts = pruned(trees, counts)
        prior = class_shares(totals, max(float(totals.rows.sum()), 1.0))
        facts = {
            "trees": shape.n_trees,
            "depth": trees.depth,
            "structure": self.structure,
            "rows": self.rows,
        }
        if isinstance(drawn, LevelTrees) or (earlier and SPARSE in earlier.card.learner):
            facts[SPARSE] = "frequent ones only"
        card = given.stamp(facts)
        if self.is_twin:
            card = replace(card, delta="0", private=False, caveats=[*card.caveats, NOT_PRIVATE])
        card = replace(card, batches=[batch_of(protected.batch_name, card)])
        released = CountModel(trees, counts, variance, prior, self.voting, protected.schema, card)
        return released if earlier is None else added(earlier, released)

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        Budget(self.epsilon)  # there is no plan for the twin that is not private
        shape = self._shape(schema, None)
        charges = self._plan(schema, shape, purse)
        noise = sd_of(charges[-1])
        depth = shape.depth(schema, n_rows, noise)
        written = shape.is_written(fanned_ground(schema, 1), depth)
        if not written:
            charges[-1] = FrequentCells.plan(charges[-1].cost, shape.n_trees)
        facts: dict[str, int | float | str] = {
            "passes over the rows": len(charges),
            "trees": shape.n_trees,
            "depth": depth,
            "rows that a tree sees": n_rows / shape.parts,
            "noise of a leaf's count": noise,
        }
        if shape.family != "jagannathan":
            facts["leaves of each tree"] = 1 << depth
        return FitPlan(
            self.name,
            self.budget,
            n_rows,
            charges,
            facts,
            self._leaves(schema, shape, purse, depth, n_rows / shape.parts, noise, written),
            [self._bound(schema, shape, depth, n_rows, charges[-1], searched)],
        )

    def _leaves(
        self,
        schema: Schema,
        shape: Shape,
        purse: Purse,
        depth: int,
        n_rows: float,
        sd: float,
        written: bool,
    ) -> Leaves:
        """Leaves of trees like those that a fit would draw."""
        least = sqrt(2) * sd
        if shape.family != "jagannathan":
            within_node = shape.family != "bojarski"
            return forest_leaves(schema, depth, n_rows, least, self.random_state, within_node)
        if written:
            return multiway_leaves(schema, depth, n_rows, least, self.random_state)
        scale = shape.n_trees / pure_only(purse.cost(leaf_share(shape)))
        return sparse_leaves(schema, depth, n_rows, least, self.random_state, scale, FALSE_CELLS)

    def _bound(
        self, schema: Schema, shape: Shape, depth: int, n_rows: float, asked: Charge, searched: bool
    ) -> StatedBound:
        provable = shape.family in ("fletcher-islam", "bojarski") and not (shape.disjoint or searched)
        epsilon = float(asked.cost.epsilon) if provable and asked.cost.epsilon is not None else None
        return vote_bound(self.voting, schema.n_labels, n_rows, depth, shape.n_trees, epsilon)

    def _plan(self, schema: Schema, shape: Shape, purse: Purse) -> list[Charge]:
        """Every question of a fit, in order."""
        labels = LabelRows.plan(purse.cost(LABEL_SHARE))
        bins = [BinRows.plan(purse.cost(BIN_SHARE), len(schema.features))] * shape.informed
        leaves = LeafLabelRows.plan(purse.cost(leaf_share(shape)), shape.n_trees, shape.disjoint)
        return [labels, *bins, leaves]

    def _trees(
        self,
        given: Given,
        shape: Shape,
        totals: Totals,
        random: np.random.RandomState,
        earlier: CountModel | None,
    ) -> tuple[Structure, Totals]:
        """The structure of the earlier batches, or a new one from public and noisy quantities."""
        if earlier is not None:
            return earlier.trees, totals
        if shape.informed:
            ground, totals = ask_ground(given, totals, shape.n_trees, random)
        else:
            ground = shape.ground(given.rows.schema, random, given.ranks)
        noise = sd_of(self._plan(given.rows.schema, shape, given.purse)[-1])
        depth = shape.depth(given.rows.schema, float(totals.rows.sum()), noise)
        return shape.draw(ground, depth, random), totals

    def _shape(self, schema: Schema, earlier: CountModel | None) -> Shape:
        """Structure that is wanted."""
        if earlier is not None:
            return self._kept_shape(schema, earlier)
        n_trees = self._n_trees(schema) if self.n_trees is None else self.n_trees
        pure = not self.budget.delta
        informed = self.structure == "adaptive"
        shape = Shape(self.structure, n_trees, self.max_depth, self.rows == "disjoint", pure, informed)
        shape.check(schema)
        return shape

    def _kept_shape(self, schema: Schema, earlier: CountModel) -> Shape:
        """Structure of the batches before: counts of another one could not be added to theirs."""
        same_contract(schema, earlier.schema)
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
        disjoint, pure = self.rows == "disjoint", not self.budget.delta
        return Shape(self.structure, earlier.trees.n_trees, None, disjoint, pure)

    def _n_trees(self, schema: Schema) -> int:
        """Number of trees by default."""
        if self.structure == "jagannathan":
            return 5 if schema.max_rows is not None and schema.max_rows < FEW_ROWS else 10
        return default_trees(float(self.budget.epsilon), float(self.budget.delta))


def same_contract(schema: Schema, earlier: Schema) -> None:
    """Refuse rows of another contract; under the same one they are read as the rows before them were."""
    if schema.declared.fingerprint != earlier.declared.fingerprint:
        raise SchemaError("this batch has another schema than those before.", "encode it alike.")


def leaf_share(shape: Shape) -> Fraction:
    """Part of the budget that asks for the leaves."""
    return 1 - LABEL_SHARE - (BIN_SHARE if shape.informed else 0)


def default_trees(epsilon: float, delta: float = 0) -> int:
    """Fewer trees where little can be asked of each; all from public quantities."""
    return MANY_TREES if delta else int(np.clip(round(30 * sqrt(epsilon)), 10, MANY_TREES))


def label_prior(noisy_rows: np.ndarray, variance: float) -> np.ndarray:
    """Shares of the labels from noisy rows by label."""
    totals = Totals(noisy_rows.astype(np.float64), sqrt(variance))
    return class_shares(totals, max(float(noisy_rows.sum()), 1.0))


def added(earlier: CountModel, later: CountModel) -> CountModel:
    """Two releases of one structure, as one: counts add up, and so does their noise."""
    rows = [max(float(model.counts.sum()), 1.0) for model in (earlier, later)]
    prior = rows[0] * earlier.prior + rows[1] * later.prior
    card = joined_card(earlier.card, later.card)
    return replace(
        later,
        counts=earlier.counts + later.counts,
        variance=earlier.variance + later.variance,
        prior=prior / prior.sum(),
        card=card,
    )


def joined_card(earlier: PrivacyCard, later: PrivacyCard) -> PrivacyCard:
    """The card of what two batches released: what the most exposed person has cost."""
    batches = [*earlier.batches, *later.batches]
    epsilon, delta = (exposure(batches, name) for name in ("epsilon", "delta"))
    return replace(
        later,
        epsilon=epsilon,
        delta=delta,
        batches=batches,
        private=earlier.private and later.private,
        caveats=sorted({*earlier.caveats, *later.caveats}),
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


def batch_of(batch: str | None, card: PrivacyCard) -> dict[str, Any]:
    """What a card says of one batch."""
    return {"batch": batch, "epsilon": card.epsilon, "delta": card.delta, "receipt": card.receipt}
