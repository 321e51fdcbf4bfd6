"""The recommended learner: few questions, each asked of everything at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from privet.errors import BudgetExceeded, QuestionError
from privet.learners.base import PrivateClassifier
from privet.learners.boosting_bins import (
    Margin,
    Totals,
    class_shares,
    gather,
    make_cells,
    n_cells,
    pooled_totals,
    truncated_normal,
)
from privet.learners.boosting_opening import Opening, further_share, label_charges, openings
from privet.learners.boosting_plan import Plan, Purse, make_plan
from privet.learners.boosting_preview import preview
from privet.learners.boosting_shapes import (
    InterceptFilter,
    ShapePrior,
    Shapes,
    ShapeSteps,
    Start,
    first_shapes,
    started,
)
from privet.learners.boosting_trees import LeafSteps, draw_trees, extended, favoured, level_energy
from privet.learners.plan import FitPlan
from privet.model import AdditiveModel
from privet.privacy import Account, Budget, Protected
from privet.privacy.gradients import gradient_clip
from privet.schema import Schema
from privet.structure import Additive


class BoostingClassifier(PrivateClassifier):
    """Shapes and interaction trees, boosted from a handful of noisy answers.

    A private learner loses most where it asks many small questions one after another. This one asks
    few, of all features at once, and shrinks every answer as far as its known noise demands.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; a small number, say 1e-6, for less noise under a slightly weaker promise.
    passes : int, optional
        Most questions to ask after the rows by label; each reads all rows once. By default as many as
        the number of rows and the budget make worthwhile.
    schema : Schema, path, dict or "from-data"
        The public contract. "from-data" reads it from the rows, which no budget covers.
    random_state : int, RandomState or None
        Fixes the structure of the trees alone. Noise always comes from the operating system.
    account : Account, optional
        Account of a `Ledger` to charge; by default a ledger of this fit alone.
    verbose : bool
        Show progress.

    Attributes
    ----------
    classes_ : ndarray
    feature_names_in_ : ndarray
    model_ : AdditiveModel
        What was released.
    privacy_card_ : PrivacyCard

    Privacy
    -------
    (ε, δ)-DP under adding or removing one row, and ε-DP with δ = 0. The questions are rows by label, rows
    by cell and label of every feature, and sums of bounded gradients by bin and by leaf; their costs
    add up to the budget. Proof notes: *Sums of gradients*, *Sequence*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingClassifier, Continuous, Label, Schema
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = (X.sum(axis=1) > 1).astype(int)
    >>> model = BoostingClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        passes: int | None = None,
        schema: Any = None,
        random_state: Any = None,
        account: Account | None = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.passes = passes
        self.schema = schema
        self.random_state = random_state
        self.account = account
        self.verbose = verbose

    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        check_passes(self.passes)
        return preview(Budget(self.epsilon, self.delta), schema, n_rows, self.passes)

    def _learn(self, protected: Protected) -> AdditiveModel:
        check_passes(self.passes)
        random = check_random_state(self.random_state)
        return Boosting(protected, Budget(self.epsilon, self.delta), random).learn(self)


def check_passes(passes: object) -> None:
    """Refuse what is not a number of passes."""
    whole = isinstance(passes, int | np.integer) and not isinstance(passes, bool)
    if passes is not None and not (whole and passes >= 1):  # type: ignore[operator]
        raise QuestionError("passes must be a whole number of at least 1.", "leave it out to have it chosen.")


class Boosting:
    """One fit: the stages in order, each a few questions and what follows from their answers."""

    def __init__(self, protected: Protected, budget: Budget, random: np.random.RandomState) -> None:
        self.protected = protected
        self.budget = budget
        self.random = random
        self.n_labels = len(protected.schema.label.values)
        self.purse = Purse.of(budget)

    def learn(self, learner: BoostingClassifier) -> AdditiveModel:
        """Ask everything and return the model."""
        schema = self.protected.schema
        totals, spent = self._ask_labels()
        n_rows = self._n_rows(totals)
        plan = make_plan(n_rows, len(schema.features), self.n_labels, self.purse, spent, learner.passes)
        self.protected.refine(plan.charges(self.purse))
        additive, margins, start, shapes, n_rows = self._ask_bins(plan, totals, n_rows)
        intercept = InterceptFilter(start, n_rows)
        if plan.shape_passes:
            additive = self._fit_shapes(plan, additive, margins, start, shapes, intercept)
        if plan.rounds:
            additive = self._fit_trees(plan, additive, margins, start, shapes, intercept, n_rows)
        n_trees = plan.rounds * plan.n_trees
        sizes = {
            "questions": len(self.protected.asked) - learner._asked_before,
            "trees": n_trees,
            "depth": plan.depth if n_trees else 0,
        }
        card = learner._card(self.protected, {"name": "boosting", **sizes})
        bin_shares = np.concatenate([margin.shares for margin in margins])
        return AdditiveModel(additive, bin_shares, self._bands(plan, margins, start, shapes), schema, card)

    @property
    def clip(self) -> Fraction:
        """Bound on a row's gradient, in the norm of the noise."""
        return gradient_clip(self.n_labels, self.purse.norm)

    def _reserve(self) -> Opening:
        """Charge the whole fit in the first way that the account can pay."""
        refusals = []
        for opening in openings(self.budget, self.protected.schema):
            try:
                self.protected.reserve(*opening.plans())
            except BudgetExceeded as refusal:
                refusals.append(refusal)
            else:
                return opening
        # Of several refusals the one that leaves most to ask for: a budget spent in ρ may have some ε left.
        raise max(refusals, key=lambda refusal: refusal.left / refusal.limit)

    def _open(self) -> tuple[Totals, Fraction]:
        """The first count of the labels and its share; the law of all other questions follows from it."""
        opening = self._reserve()
        self.purse = opening.purse
        try:
            totals = self._count_labels(opening.share)
        except BaseException:
            # Both plans have this question, so the cheaper one may stand; a charge given back has no receipt.
            if len(opening.laws) > 1 and self.protected.receipt is not None:
                self.protected.settle(instead=True)
            raise
        self.purse = opening.law(self._n_rows(totals), len(self.protected.schema.features), self.n_labels)
        if len(opening.laws) > 1:
            self.protected.settle(instead=not self.purse.pure)
        return totals, opening.spent(self.purse)

    def _ask_labels(self) -> tuple[Totals, Fraction]:
        """Rows by label, asked again while it is worth it, and the share of the budget that took."""
        n_features = len(self.protected.schema.features)
        totals, spent = self._open()
        while share := further_share(self.purse, self._n_rows(totals), n_features, self.n_labels, spent):
            self.protected.refine(label_charges(self.purse, share, spent))
            totals, spent = totals.merge(self._count_labels(share)), spent + share
        return totals, spent

    def _count_labels(self, share: Fraction) -> Totals:
        noisy = self.protected.noisy_label_rows(**self.purse.price(share))
        return Totals(noisy.values.astype(float), self.purse.sd(1, Fraction(1), share))

    def _n_rows(self, totals: Totals) -> float:
        """How many rows there seem to be, within the public bound."""
        bound = self.protected.schema.max_rows or inf
        return truncated_normal(totals.rows.sum(), totals.sd * sqrt(self.n_labels), 1.0, bound)[0]

    def _ask_bins(
        self, plan: Plan, totals: Totals, n_rows: float
    ) -> tuple[Additive, list[Margin], Start, Shapes, float]:
        """Rows by cell and label: bins, class shares and starting shapes follow from them."""
        schema = self.protected.schema
        sd = self.purse.sd(len(schema.features), Fraction(1), plan.bin_share)
        cells, present = make_cells(schema, n_cells(n_rows, plan.cell_mass, sd * sqrt(self.n_labels)))
        noisy_rows = self.protected.noisy_bin_rows(cells, **self.purse.price(plan.bin_share)).values
        totals = totals.merge(pooled_totals(cells, noisy_rows, sd))
        bins, margins = gather(schema, cells, present, noisy_rows, sd, totals)
        n_rows = max(self._n_rows(totals), 10.0)
        start = Start.of(class_shares(totals, n_rows), totals.sd / n_rows)
        shapes = first_shapes(margins, start)
        n_scores = len(start.intercept)
        additive = Additive(
            bins,
            start.intercept,
            np.concatenate(started(shapes, plan.overlap)),
            np.zeros((0, plan.depth), np.int32),
            np.zeros((bins.n_bins, 0), np.uint8),
            np.zeros((0, 1 << plan.depth, n_scores)),
        )
        return additive, margins, start, shapes, n_rows

    def _fit_shapes(
        self,
        plan: Plan,
        additive: Additive,
        margins: Sequence[Margin],
        start: Start,
        shapes: Shapes,
        intercept: InterceptFilter,
    ) -> Additive:
        """Passes over the shapes: noisy gradients by bin, a step of every asked shape."""
        asked = shapes.stronger(plan.least_energy)
        sd = self.purse.sd(len(asked), self.clip, plan.shape_pass_share)
        asked_margins = [margins[j] for j in asked]
        steps = ShapeSteps(
            asked_margins,
            start.curvature,
            shapes.scale,
            sd,
            plan.shape_passes,
            plan.shape_step,
            plan.adapt_step,
        )
        where = [additive.bins.slices[j] for j in asked]
        for _ in range(plan.shape_passes):
            price = self.purse.price(plan.shape_pass_share)
            noisy = self.protected.noisy_bin_gradients(additive, asked, **price).values
            pooled, moves = steps.take([noisy[place] for place in where])
            values = additive.shapes.copy()
            for place, move in zip(where, moves, strict=True):
                values[place] += move
            change = intercept.step(pooled, steps.sum_variance)
            additive = replace(additive, shapes=values, intercept=additive.intercept + change)
        return additive

    def _fit_trees(
        self,
        plan: Plan,
        additive: Additive,
        margins: Sequence[Margin],
        start: Start,
        shapes: Shapes,
        intercept: InterceptFilter,
        n_rows: float,
    ) -> Additive:
        """Rounds of trees: noisy rows by leaf once, then noisy gradients by leaf."""
        several_bins = np.array([len(margin.mass) > 1 for margin in margins])
        weights = np.where(several_bins, (shapes.energy + 1e-9) ** plan.feature_power, 0.0)
        if not weights.any():
            weights += 1.0
        weights = weights / weights.sum()
        for _ in range(plan.rounds):
            features, turns = draw_trees(
                additive.bins, margins, shapes.values, weights, plan.n_trees, plan.depth, self.random
            )
            grown = extended(additive, features, turns)
            # Trees that all look at one feature say the same: together they may take one step, not more.
            safe = replace(plan, tree_step=min(plan.tree_step, 1 / float((weights**2).sum())))
            additive, steps = self._fit_round(safe, grown, start, intercept, n_rows)
            energy = level_energy(additive.leaves[-plan.n_trees :], steps.shares)
            weights = favoured(weights, features, energy)
        return additive

    def _fit_round(
        self, plan: Plan, additive: Additive, start: Start, intercept: InterceptFilter, n_rows: float
    ) -> tuple[Additive, LeafSteps]:
        rows_share, gradients_share = plan.leaf_shares(self.purse)
        sd = self.purse.sd(plan.n_trees, self.clip, gradients_share)
        noisy_rows = self.protected.noisy_leaf_rows(additive, plan.n_trees, **self.purse.price(rows_share))
        steps = LeafSteps(noisy_rows.values, n_rows, start.curvature, sd, plan, self.purse)
        sum_variance = sd**2 * (1 << plan.depth) / plan.n_trees
        for _ in range(plan.tree_passes):
            price = self.purse.price(gradients_share)
            noisy = self.protected.noisy_leaf_gradients(additive, plan.n_trees, **price).values
            leaves = additive.leaves.copy()
            pooled, move = steps.take(noisy, leaves[-plan.n_trees :])
            leaves[-plan.n_trees :] += move
            change = intercept.step(pooled, sum_variance)
            additive = replace(additive, leaves=leaves, intercept=additive.intercept + change)
        return additive, steps

    def _bands(self, plan: Plan, margins: Sequence[Margin], start: Start, shapes: Shapes) -> np.ndarray:
        """Posterior deviation of every shape's values, after the counts and the passes over it."""
        asked = shapes.stronger(plan.least_energy) if plan.shape_passes else []
        bands = []
        for j, margin in enumerate(margins):
            variance = start.gradients(margin)[1]
            if j in asked:
                sd = self.purse.sd(len(asked), self.clip, plan.shape_share)
                variance = 1 / (1 / variance + 1 / sd**2)
            bands.append(ShapePrior.of(margin, start.curvature).band(shapes.scale, variance))
        return np.concatenate(bands)
