"""Random forests of noisy means: count forests where a number is to be predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import hypot, inf, sqrt
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from privet.errors import QuestionError
from privet.learners.boosting.bins import Totals, gather, make_cells, n_cells, pooled_totals, truncated_normal
from privet.learners.boosting.numbers import Numbers
from privet.learners.boosting.reach import found_reach, is_lost, reach_rows, reach_share
from privet.learners.boosting.shapes import first_shapes
from privet.learners.count_forest import batch_of, default_trees, joined_card, same_contract
from privet.learners.count_structure import CELL_MASS, speaking_depth
from privet.learners.finding import Given
from privet.learners.forest_plan import forest_leaves
from privet.learners.learner import Learner, delta
from privet.learners.majority_forest import check_size
from privet.learners.parameters import seed, whole
from privet.learners.plan import FitPlan
from privet.learners.purse import LEAST_SD, Purse, sd_of
from privet.learners.random_trees import Ground, grow, informed_ground
from privet.model.number_forest import Ground as Shared
from privet.model.number_forest import NumberForest as NumberModel
from privet.model.numbers import ResidualSizes
from privet.privacy import Charge, Protected
from privet.privacy.questions.errors import ErrorRows
from privet.privacy.questions.finding import RangeRows
from privet.privacy.questions.numbers import BinTargetRows, LeafTargetRows, ResidualRows, TargetRows
from privet.schema import Schema
from privet.structure import MAX_DEPTH

MEAN_SHARE, SIZES_SHARE, BIN_SHARE = Fraction(1, 10), Fraction(1, 20), Fraction(1, 4)
"""Of the mean, of the residuals' sizes about it and the errors' at the end, and of rows by bin."""

LEAF_SHARE = 1 - MEAN_SHARE - 2 * SIZES_SHARE - BIN_SHARE

WIDER = 2.0
"""Clip of the leaves' sums in that of boosting: residuals are about one number here, not about a model."""

NONE_YET = ResidualSizes(np.zeros(0), np.zeros(0))


@dataclass(eq=False, repr=False)
class NumberForest(Learner):
    """Random trees whose leaves release rows below and above a number, that is, a noisy mean.

    Thresholds are drawn at private quantiles, features that matter more often; trees are as deep as the rows
    of a leaf cover its noise, and leaves that cannot speak over it leave that to their ancestors.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; otherwise all trees share one Gaussian, whose noise grows with the root of their number.
    n_trees : int, optional
        By default 30·√ε, between 10 and 60; 60 with a δ.
    max_depth : int, optional
        By default what the rows of a leaf cover.
    schema : Schema, path, dict or "from-data"
        The public contract, with a `Target`.
    random_state : int, RandomState or None
        Fixes the draws of the structure. Never the noise.
    account : Account, optional
    verbose : bool

    Attributes
    ----------
    feature_names_in_ : ndarray
    model_ : NumberForest
    privacy_card_ : PrivacyCard

    Privacy
    -------
    ε-DP, or (ε, δ)-DP by zCDP, under adding or removing one row. Questions in sequence: rows below and above
    a number, sizes of residuals, rows by bin and by leaf of all trees below and above a number, and rows by
    error. Proof notes: *Residuals*, *Errors of numbers*, *Sequence*.
    """

    name = "count-forest"

    delta: float = delta()
    n_trees: int | None = whole(None, 1, 10**5, "Number of trees.", "--trees")
    max_depth: int | None = whole(None, 1, MAX_DEPTH, "Depth of every tree.", "--depth")
    random_state: Any = seed()

    def learn(self, protected: Protected, earlier: NumberModel | None = None) -> NumberModel:
        """See `Learner.learn`; rows are added to those of ``earlier`` batches, in their trees."""
        if earlier is None:
            found: NumberModel = super().learn(protected)
            history = batch_of(protected.batch_name, found.card)
            return replace(found, card=replace(found.card, batches=[history]))
        self.check_contract(protected.schema)
        same_contract(protected.schema, earlier.schema)
        for name, given, kept in (
            ("n_trees", self.n_trees, earlier.trees.n_trees),
            ("max_depth", self.max_depth, earlier.trees.depth),
        ):
            if given not in (None, kept):
                raise QuestionError(
                    f"{name} cannot change between batches.", f"set it to {kept} as before, or fit anew."
                )
        same = protected.schema.fingerprint == earlier.schema.fingerprint
        rows = protected if same else protected.under(earlier.schema)
        return self._add(Given(rows, self.purse, self.stamp(rows)), earlier)

    def _add(self, given: Given, earlier: NumberModel) -> NumberModel:
        """Rows by leaf of the trees that are there, and rows by error of what all batches say together."""
        protected, ground, trees = given.rows, earlier.ground, earlier.trees
        sizes = given.purse.cost(SIZES_SHARE)
        leaves = given.purse.cost(1 - SIZES_SHARE)
        plan = [LeafTargetRows.plan(leaves, trees.n_trees), ErrorRows.plan(sizes)]
        for charge in plan:
            _ = charge.law
        protected.reserve(plan)
        noisy = protected.ask(LeafTargetRows(trees, ground.centre, ground.width), leaves)
        facts = {"trees": trees.n_trees, "depth": trees.depth}
        model = replace(earlier, rows=earlier.rows + noisy.values, sd=hypot(earlier.sd, noisy.sd))
        before = earlier.sizes
        if not len(before.rows):  # merged of what parties published: nobody has looked at errors yet
            edges = Numbers.of(protected.schema).edges
            before = ResidualSizes(edges, np.zeros(len(edges)))
        errors = protected.ask(ErrorRows(model.predictor, before.edges.tolist()), sizes)
        told = ResidualSizes(before.edges, before.rows + errors.values[:-1].astype(float))
        card = given.stamp(facts)
        card = replace(card, batches=[batch_of(protected.batch_name, card)])
        return replace(model, sizes=told, card=joined_card(earlier.card, card))

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        _ = check_random_state(self.random_state)
        check_size(self._n_trees, 1 if self.max_depth is None else self.max_depth)
        sizes = purse.cost(SIZES_SHARE)
        return [
            TargetRows.plan(purse.cost(MEAN_SHARE)),
            ResidualRows.plan(sizes),
            BinTargetRows.plan(purse.cost(BIN_SHARE), len(schema.features)),
            LeafTargetRows.plan(purse.cost(LEAF_SHARE), self._n_trees),
            ErrorRows.plan(sizes),
        ]

    def _learn(self, given: Given) -> NumberModel:
        protected, purse, random = given.rows, given.purse, check_random_state(self.random_state)
        schema, once = protected.schema, purse.cost(SIZES_SHARE)
        plan = self._known_charges(schema, purse)
        for charge in plan:
            _ = charge.law
        protected.reserve(plan)
        opening = Numbers.of(schema)
        asked = protected.ask(opening.label_rows(), purse.cost(MEAN_SHARE))
        totals = Totals(asked.values.astype(float), sd_of(plan[0]))
        bound = schema.max_rows or inf
        n_rows = truncated_normal(totals.rows.sum(), sqrt(2) * totals.sd, 1.0, bound)[0]
        about = opening.about(totals, n_rows)
        sizes = protected.ask(about.width_rows(None), once)
        loss = about.narrowed(sizes.values, sqrt(sizes.variance), n_rows).of_deviation()
        totals, leaf_share = loss.recast(totals, opening), LEAF_SHARE
        if is_lost(loss, loss.mean(totals, n_rows)[1], sqrt(sizes.variance)):
            loss, totals, leaf_share = self._looked(given, loss, totals, n_rows)
        ground, mean = self._ground(given, loss, totals, n_rows, random)
        counted = LeafTargetRows.plan(purse.cost(leaf_share), self._n_trees)
        depth = speaking_depth(n_rows, sd_of(counted)) if self.max_depth is None else self.max_depth
        trees = grow(ground, depth, random)
        width = WIDER * loss.width
        noisy = protected.ask(LeafTargetRows(trees, float(loss.centre), width), counted.cost)
        shared = Shared(float(loss.centre), width, loss.unit, mean)
        facts = {"trees": self._n_trees, "depth": depth}
        edges = [float(edge) for edge in loss.edges]
        model = NumberModel(trees, noisy.values, noisy.sd, shared, NONE_YET, schema, given.stamp(facts))
        errors = protected.ask(ErrorRows(model.predictor, edges), once)
        told = ResidualSizes(loss.edges, errors.values[:-1].astype(float))
        return NumberModel(trees, noisy.values, noisy.sd, shared, told, schema, given.stamp(facts))

    def _looked(
        self, given: Given, loss: Numbers, totals: Totals, n_rows: float
    ) -> tuple[Numbers, Totals, Fraction]:
        """About where numbers lie in a range that is too wide, and what is left for the leaves."""
        protected, purse, schema = given.rows, given.purse, given.rows.schema
        share = reach_share(purse, n_rows)
        if not share:
            return loss, totals, LEAF_SHARE
        left = LEAF_SHARE - share - 2 * SIZES_SHARE
        mean, sizes = purse.cost(SIZES_SHARE), purse.cost(SIZES_SHARE)
        protected.refine(
            [
                RangeRows.plan(purse.cost(share), 1),
                TargetRows.plan(mean),
                ResidualRows.plan(sizes),
                BinTargetRows.plan(purse.cost(BIN_SHARE), len(schema.features)),
                LeafTargetRows.plan(purse.cost(left), self._n_trees),
                ErrorRows.plan(purse.cost(SIZES_SHARE)),
            ]
        )
        noisy = protected.ask(reach_rows(schema), purse.cost(share))
        reach = found_reach(schema, noisy.values.astype(float), max(sqrt(noisy.variance), LEAST_SD), n_rows)
        opening = Numbers.of(schema, reach)
        asked = protected.ask(opening.label_rows(), mean)
        totals = Totals(asked.values.astype(float), sd_of(TargetRows.plan(mean)))
        about = opening.about(totals, n_rows)
        told = protected.ask(about.width_rows(None), sizes)
        found = about.narrowed(told.values, sqrt(told.variance), n_rows).of_deviation()
        return found, found.recast(totals, opening), left

    def _ground(
        self, given: Given, loss: Numbers, totals: Totals, n_rows: float, random: np.random.RandomState
    ) -> tuple[Ground, float]:
        """What splits are drawn from, by rows below and above the mean in every cell, and a surer mean."""
        schema, cost = given.rows.schema, given.purse.cost(BIN_SHARE)
        sd = sd_of(BinTargetRows.plan(cost, len(schema.features)))
        cells, present = make_cells(schema, n_cells(n_rows, CELL_MASS, sd * sqrt(2)), given.ranks)
        noisy_rows = given.rows.ask(loss.bin_rows(cells), cost).values
        totals = totals.merge(pooled_totals(cells, noisy_rows, sd))
        bins, margins = gather(schema, cells, present, noisy_rows, sd, totals)
        start = loss.start(totals, max(n_rows, 10.0))
        shapes = first_shapes(margins, start)
        drawn = informed_ground(schema, bins, margins, shapes.values, shapes.energy, self._n_trees, random)
        return drawn, float(loss.unit * start.intercept[0])

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        charges = self._known_charges(schema, purse)
        noise = sd_of(charges[3])
        depth = speaking_depth(n_rows, noise) if self.max_depth is None else self.max_depth
        facts: dict[str, int | float | str] = {
            "passes over the rows": len(charges),
            "trees": self._n_trees,
            "depth": depth,
            "leaves of each tree": 1 << depth,
        }
        leaves = forest_leaves(schema, depth, n_rows, sqrt(2) * noise, self.random_state)
        return FitPlan(self.name, self.budget, n_rows, charges, facts, leaves)

    @property
    def _n_trees(self) -> int:
        if self.n_trees is not None:
            return self.n_trees
        return default_trees(float(self.budget.epsilon), float(self.budget.delta))
