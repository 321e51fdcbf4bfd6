"""One fit of boosting: few questions, each asked of everything at once, and what follows from the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, sqrt
from typing import TypeVar

import numpy as np

from privet.answers import NoisySums
from privet.errors import BudgetExceeded
from privet.learners.boosting.bins import (
    CELLS_OF_NOISE,
    Margin,
    Totals,
    gather,
    is_noise,
    likely_margins,
    make_cells,
    n_cells,
    pooled_sum,
    pooled_totals,
    truncated_normal,
)
from privet.learners.boosting.caution import sharpened
from privet.learners.boosting.loss import loss_of
from privet.learners.boosting.merge import Part
from privet.learners.boosting.monotone import Monotone, told
from privet.learners.boosting.numbers import Numbers, constant, mean_share, width_charges, width_share
from privet.learners.boosting.opening import Opening, further_share, label_charges, openings, rest
from privet.learners.boosting.plan import Plan, dealt, whole_plan
from privet.learners.boosting.reach import found_reach, is_lost, reach_rows, reach_share
from privet.learners.boosting.shapes import (
    InterceptFilter,
    ShapePrior,
    Shapes,
    ShapeSteps,
    Start,
    first_shapes,
    first_step,
    spread,
    start_length,
)
from privet.learners.boosting.start import Start as KnownStart
from privet.learners.boosting.start import stacked, start_cells, told_of
from privet.learners.boosting.trees import LeafSteps, draw_trees, extended, favoured, level_energy
from privet.learners.boosting.zoom import likely_ranks, zoom_bins, zoom_places, zoomed
from privet.learners.finding import Given
from privet.learners.purse import LEAST_SD, sd_of
from privet.learners.whereabouts import Ranks
from privet.model import AdditiveModel, AdditiveNumbers
from privet.privacy import Budget
from privet.privacy.question import Question
from privet.privacy.questions.boosting import Gradients, LeafRows
from privet.privacy.questions.finding import RangeRows
from privet.privacy.questions.trees import SplitChoice
from privet.structure import Additive, Bins, MultiwayTrees, Splits

Answer = TypeVar("Answer")

DECIDING = Fraction(1, 10)
"""The most share of a count of the rows that is to tell whether anything but a mean can be learnt."""

LEAST_ABOUT, MOST_ABOUT = Fraction(1, 50), Fraction(3, 20)
"""Shares of the mean, once it is known where in a wide range numbers lie."""

SURE = 2.0
"""Deviations of noise that a number of rows surely differs by at most."""


class Fit:
    """One fit: the stages in order, each a few questions and what follows from their answers."""

    def __init__(
        self,
        given: Given,
        budget: Budget,
        random: np.random.RandomState,
        start: KnownStart | None = None,
    ) -> None:
        self.given = given
        self.protected = protected = given.rows
        self.budget = budget
        self.random = random
        self.start = start
        self.loss = loss_of(protected.schema)
        self.told = True  # whether rows are enough for anything but a mean
        self.purse = given.purse

    def learn(self, passes: int | None) -> AdditiveModel | AdditiveNumbers:
        """Ask everything and return the model."""
        schema, before = self.protected.schema, len(self.protected.asked)
        totals, spent = self._ask_labels()
        totals, spent, passes = self._about_mean(totals, spent, passes)
        n_rows = self._n_rows(totals)
        searched = self.given.searched
        plan = whole_plan(
            n_rows, schema, self.loss, self.purse, spent, passes, searched, self.start is not None
        )
        self.protected.refine(plan.charges(self.purse, len(schema.features), self.loss))
        ranks = self.given.ranks
        if plan.zoom_share:
            ranks = self._zoom(plan.zoom_share, n_rows)
        ask_cells = self._ask_slopes if plan.few else self._ask_bins
        bins, margins, totals = ask_cells(plan, totals, ranks)
        additive, start, shapes, n_rows = self._start(plan, bins, margins, totals)
        moved = spread(
            [m.shares for m in margins], [additive.shapes[where] for where in additive.bins.slices]
        )
        intercept = InterceptFilter(start, n_rows, moved)
        if plan.last_share:
            additive = self._ask_intercept(plan, additive, intercept)
        if plan.shape_passes:
            additive = self._fit_shapes(plan, additive, margins, start, shapes, intercept, n_rows)
        if plan.rounds:
            additive = self._fit_trees(plan, additive, margins, shapes, intercept, n_rows)
        bin_shares = np.concatenate([margin.shares for margin in margins])
        part = Part(additive, bin_shares, self._bands(plan, margins, start, shapes))
        trust = None
        if self.start and plan.start_share:
            ask = partial(self._ask, share=plan.start_share)
            cells = start_cells(self.purse, n_rows, self.loss, plan.start_share)
            part, trust = stacked(self.start.part, part, schema, self.loss, cells, ask)
        part, told_sure = self._sharpen(plan, part)
        self._narrow(part.additive, plan.width_share, n_rows)
        n_trees = plan.rounds * plan.n_trees
        sizes = {
            "questions": len(self.protected.asked) - before,
            "trees": n_trees,
            "depth": plan.depth if n_trees else 0,
            **told_sure,
            **told(schema),
            **self.loss.facts(totals, n_rows),
        }
        card = self.given.stamp(sizes)
        if self.start:
            card = replace(card, start=self.start.told | told_of(trust))
        return self.loss.model(part.additive, part.bin_shares, part.bands, schema, card)

    def _sharpen(self, plan: Plan, part: Part) -> tuple[Part, dict[str, float]]:
        """Scores as far apart as how often they are right allows, and by which factor."""
        if not plan.caution_share or isinstance(self.loss, Numbers):
            return part, {}
        ask = partial(self._ask, share=plan.caution_share)
        n_leaves = plan.rounds << plan.depth
        part, factor = sharpened(part, self.protected.schema, self.loss, n_leaves, ask)
        return part, {"scores multiplied by": round(factor, 3)}

    def _ask(self, question: Question[Answer], share: Fraction) -> Answer:
        return self.protected.ask(question, self.purse.cost(share))

    def _ask_sums(self, question: Question[NoisySums], share: Fraction) -> np.ndarray:
        return self._ask(question, share).values * self.loss.gradient_unit

    def _reserve(self) -> Opening:
        """Charge the whole fit in the first way that the account can pay."""
        refusals, settled = [], self.given.purse if self.given.searched else None
        for opening in openings(self.budget, self.protected.schema, settled):
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
        n_rows = self._n_rows(totals)
        # Of a rare label few rows are as few rows of a common one are.
        worth = n_rows * self.loss.told(totals, n_rows).balance
        self.purse = opening.law(worth, len(self.protected.schema.features))
        if len(opening.laws) > 1:
            self.protected.settle(instead=not self.purse.pure)
        return totals, opening.spent(self.purse)

    def _ask_labels(self) -> tuple[Totals, Fraction]:
        """Rows by label, asked again while it is worth it, and the share of the budget that took."""
        n_features = len(self.protected.schema.features)
        totals, spent = self._open()
        while True:
            self.loss = self.loss.told(totals, self._n_rows(totals))
            share = further_share(self.purse, self._surely(totals), n_features, self.loss, spent)
            if not share:
                break
            if self._undecided(totals) and spent < DECIDING:
                share = min(share, DECIDING)
            self.protected.refine(label_charges(self.purse, self.loss, share, spent))
            totals, spent = totals.merge(self._count_labels(share)), spent + share
        return totals, spent

    def _count_labels(self, share: Fraction) -> Totals:
        noisy = self._ask(self.loss.label_rows(), share)
        return Totals(noisy.values.astype(float), sd_of(self.loss.label_kind.plan(self.purse.cost(share))))

    def _n_rows(self, totals: Totals) -> float:
        """How many rows there seem to be, within the public bound."""
        bound = self.protected.schema.max_rows or inf
        return truncated_normal(totals.rows.sum(), totals.sd * sqrt(self.loss.n_columns), 1.0, bound)[0]

    def _surely(self, totals: Totals) -> float:
        """Of numbers, rows that there are in nearly all cases: what too few are asked is noise."""
        n_rows = self._n_rows(totals)
        if not self.loss.finds_width:
            return n_rows
        return max(n_rows - SURE * sqrt(self.loss.n_columns) * totals.sd, 1.0)

    def _undecided(self, totals: Totals) -> bool:
        """Of numbers, whether there may be rows enough for more than a mean, but not surely."""
        told = [
            width_share(self.purse, n, self.loss, None) for n in (self._n_rows(totals), self._surely(totals))
        ]
        return bool(told[0]) and not told[1]

    def _about_mean(
        self, totals: Totals, spent: Fraction, passes: int | None
    ) -> tuple[Totals, Fraction, int | None]:
        """Of numbers: see to it that residuals are about their mean, and cut where they are."""
        if not isinstance(self.loss, Numbers):
            return totals, spent, passes
        before, n_rows, surely = self.loss, self._n_rows(totals), self._surely(totals)
        self.told = 0 < width_share(self.purse, surely, before, None) <= (1 - spent) / 4
        share = width_share(self.purse, surely, before, passes)
        self.loss = before.about(totals, n_rows)
        if not share or share > (1 - spent) / 4:
            return self.loss.recast(totals, before), spent, passes
        self.protected.refine([*width_charges(self.purse, share), rest(self.purse, spent + share)])
        self._narrow(None, share, n_rows)
        noise = sd_of(width_charges(self.purse, share)[0])
        self.loss, spent = self.loss.of_deviation(), spent + share
        totals, asked = self.loss.recast(totals, before), 1
        error = self.loss.mean(totals, n_rows)[1]
        if passes is None and is_lost(self.loss, error, noise):
            found = self._look(surely, spent)
            spent += found[1]
            if found[0] is not None:
                return self._about_mean(found[0], spent, passes)
        if share := min(mean_share(self.purse, n_rows, self.loss, error), (1 - spent) / 4):
            self.protected.refine(label_charges(self.purse, self.loss, share, spent))
            totals, spent, asked = totals.merge(self._count_labels(share)), spent + share, 2
        return totals, spent, passes if passes is None else max(passes - asked, 1)

    def _look(self, n_rows: float, spent: Fraction) -> tuple[Totals | None, Fraction]:
        """Of numbers: where most lie in a range that is too wide, rows about there, and the share of both."""
        schema, share = self.protected.schema, reach_share(self.purse, n_rows)
        if not share or share > (1 - spent) / 4:
            return None, Fraction(0)
        self.protected.refine([RangeRows.plan(self.purse.cost(share), 1), rest(self.purse, spent + share)])
        noisy = self._ask(reach_rows(schema), share)
        sd = max(sqrt(noisy.variance), LEAST_SD)
        reach = found_reach(schema, noisy.values.astype(float), sd, n_rows)
        if reach is None:
            return None, share
        self.loss = Numbers.of(schema, reach)
        about = further_share(self.purse, n_rows, len(schema.features), self.loss, Fraction(0))
        about = min(max(about, LEAST_ABOUT), MOST_ABOUT)
        self.protected.refine(label_charges(self.purse, self.loss, about, spent + share))
        return self._count_labels(about), share + about

    def _narrow(self, additive: Additive | None, share: Fraction, n_rows: float) -> None:
        """Of numbers: cut residuals at what their sizes tell."""
        if isinstance(self.loss, Numbers) and share:
            noisy = self._ask(self.loss.width_rows(additive), share)
            self.loss = self.loss.narrowed(noisy.values, sqrt(noisy.variance), n_rows)

    def _zoom(self, share: Fraction, n_rows: float) -> Ranks:
        """Where people are within the public ranges."""
        schema, bins = self.protected.schema, zoom_bins(self.protected.schema)
        places = zoom_places(schema)
        noisy = self._ask(RangeRows(bins, places), share)
        asked = np.concatenate([np.arange(bins.n_bins)[bins.slices[j]] for j in places])
        noisy_rows = np.zeros(bins.n_bins)
        noisy_rows[asked] = noisy.values
        return zoomed(schema, noisy_rows, bins, max(sqrt(noisy.variance), LEAST_SD), n_rows)

    def _ask_bins(self, plan: Plan, totals: Totals, ranks: Ranks) -> tuple[Bins, list[Margin], Totals]:
        """Rows by cell and label: bins follow from them, and more of the labels."""
        schema, n_rows = self.protected.schema, self._n_rows(totals)
        sd = sd_of(self.loss.bin_kind.plan(self.purse.cost(plan.bin_share), len(schema.features)))
        sizes = n_rows, plan.cell_mass, sd * sqrt(self.loss.n_columns)
        noise = is_noise(*sizes) and not self.loss.finds_width and self.loss.n_labels <= 2
        if noise:
            cells, present = make_cells(schema, CELLS_OF_NOISE, likely_ranks(schema, ranks))
        else:
            cells, present = make_cells(schema, n_cells(*sizes), ranks)
        noisy_rows = self._ask(self.loss.bin_rows(cells), plan.bin_share).values
        totals = totals.merge(pooled_totals(cells, noisy_rows, sd))
        kept = CELLS_OF_NOISE if noise else 2
        return *gather(schema, cells, present, noisy_rows, sd, totals, kept), totals

    def _ask_slopes(self, plan: Plan, totals: Totals, ranks: Ranks) -> tuple[Bins, list[Margin], Totals]:
        """Sums of gradients by few cells of every feature, about the labels alone; more of the labels too."""
        schema, n_rows = self.protected.schema, max(self._n_rows(totals), 10.0)
        cells, present = make_cells(schema, CELLS_OF_NOISE, likely_ranks(schema, ranks))
        start, asked = self.loss.start(totals, n_rows), list(range(len(schema.features)))
        if plan.picks:
            asked = self._pick(plan, cells)
        about = constant(schema, start.intercept[0], cells)
        noisy = self._ask_sums(self.loss.bin_gradients(about, asked), plan.bin_share)
        sd = self._gradient_sd(len(asked), plan.bin_share)
        margins = likely_margins(schema, cells, present, noisy, sd, n_rows, asked)
        total = pooled_sum(cells, noisy, sd, asked)
        return cells, margins, totals.heard(start.slopes, *total)

    def _pick(self, plan: Plan, cells: Bins) -> list[int]:
        """Features that tell the label best, chosen one after another."""
        n_features, picked = len(self.protected.schema.features), []
        root = np.zeros(1, np.int64)
        tree = MultiwayTrees(cells.views, root, np.full(1, -1, np.int32), np.zeros(1, np.uint16), root)
        lowest = (np.diff(cells.first) < 2).astype(np.int32)[None]  # one cell is no split
        for _ in range(plan.picks):
            splits = Splits(np.arange(n_features, dtype=np.int32), lowest.copy(), np.zeros_like(lowest))
            chosen = self._ask(SplitChoice(tree, splits, plan.criterion), plan.pick_share / plan.picks)
            if chosen.choice[0] >= 0:
                picked.append(int(chosen.choice[0]))
                lowest[0, picked[-1]] = 1
        return sorted(picked)

    def _ask_intercept(self, plan: Plan, additive: Additive, intercept: InterceptFilter) -> Additive:
        """One sum of gradients over all rows: cells are of unknown size, and shapes may have shifted it."""
        everybody = np.zeros((1, 1), np.int32), np.zeros((additive.bins.n_bins, 1), np.uint8)
        asked = extended(replace(additive, leaves=additive.leaves[:0]), *everybody)
        noisy = self._ask_sums(self.loss.leaf_gradients(asked, 1), plan.last_share)
        sd = self.loss.gradient_unit * sd_of(plan.last(self.purse, self.loss))
        change = intercept.settle(noisy[0, 0], sd**2)
        return replace(additive, intercept=additive.intercept + change)

    def _start(
        self, plan: Plan, bins: Bins, margins: list[Margin], totals: Totals
    ) -> tuple[Additive, Start, Shapes, float]:
        """Class shares and starting shapes."""
        n_rows = max(self._n_rows(totals), 10.0)
        start = self.loss.start(totals, n_rows)
        shapes = first_shapes(margins, start)
        length = start_length(shapes, plan.overlap) if self.told else 0.0
        n_scores = len(start.intercept)
        additive = Additive(
            bins,
            start.intercept,
            length * np.concatenate(shapes.values),
            np.zeros((0, plan.depth), np.int32),
            np.zeros((bins.n_bins, 0), np.uint8),
            np.zeros((0, 1 << plan.depth, n_scores)),
        )
        self.monotone = Monotone.of(self.protected.schema, margins)
        return self.monotone.shaped(additive), start, shapes, n_rows

    def _fit_shapes(
        self,
        plan: Plan,
        additive: Additive,
        margins: Sequence[Margin],
        start: Start,
        shapes: Shapes,
        intercept: InterceptFilter,
        n_rows: float,
    ) -> Additive:
        """Passes over the shapes: noisy gradients by bin, a step of every asked shape."""
        asked = shapes.stronger(plan.least_energy)
        self._narrow(additive, plan.width_share * plan.narrows, n_rows)
        # The strongest in different blocks: where they repeat each other, one hears what the other has said.
        strongest = sorted(asked, key=lambda j: -shapes.energy[j])
        blocks = [sorted(block) for block in dealt(strongest, plan.blocks)]
        if plan.blocks > 1:
            questions = plan.shape_charges(self.purse, [len(block) for block in blocks], self.loss)
            self.protected.refine([*questions, *plan.later(self.purse, self.loss)])
        shares = plan.block_shares([len(block) for block in blocks])
        length = start_length(shapes, plan.overlap)
        stages = []
        for block, share in zip(blocks, shares, strict=True):
            sd = self._gradient_sd(len(block), share)
            own, last = [margins[j] for j in block], first_step(margins, start, shapes, block, length, sd)
            steps = (sd, plan.shape_passes, plan.shape_step, plan.adapt_step)
            stages.append(ShapeSteps(own, last, start.curvature, shapes.scales[block], *steps))
        for _ in range(plan.shape_passes):
            for block, share, stage in zip(blocks, shares, stages, strict=True):
                additive = self._shape_pass(additive, block, share, stage, intercept)
        return additive

    def _shape_pass(
        self,
        additive: Additive,
        block: list[int],
        share: Fraction,
        steps: ShapeSteps,
        intercept: InterceptFilter,
    ) -> Additive:
        """One step of some shapes."""
        where = [additive.bins.slices[j] for j in block]
        noisy = self._ask_sums(self.loss.bin_gradients(additive, block), share)
        pooled, moves = steps.take([noisy[place] for place in where])
        values = additive.shapes.copy()
        for place, move in zip(where, moves, strict=True):
            values[place] += move
        unit = self._gradient_step(self.loss.shape_kind, len(block), share)
        change = intercept.step(pooled, steps.sum_variance, steps.spread(moves), unit)
        return self.monotone.shaped(replace(additive, shapes=values, intercept=additive.intercept + change))

    def _fit_trees(
        self,
        plan: Plan,
        additive: Additive,
        margins: Sequence[Margin],
        shapes: Shapes,
        intercept: InterceptFilter,
        n_rows: float,
    ) -> Additive:
        """Rounds of trees: noisy rows by leaf once, then noisy gradients by leaf."""
        free = self.monotone.signs == 0
        several_bins = np.array([len(margin.mass) > 1 for margin in margins])
        weights = np.where(several_bins & free, (shapes.energy + 1e-9) ** plan.feature_power, 0.0)
        if not weights.any():
            weights += free
        weights = weights / weights.sum()
        self._narrow(additive, plan.width_share * plan.narrows, n_rows)
        for _ in range(plan.rounds):
            features, turns = draw_trees(
                additive.bins, margins, shapes.values, weights, plan.n_trees, plan.depth, self.random
            )
            grown = extended(additive, features, turns)
            # Trees that all look at one feature say the same: together they may take one step, not more.
            safe = replace(plan, tree_step=min(plan.tree_step, 1 / float((weights**2).sum())))
            additive, steps = self._fit_round(safe, grown, intercept, n_rows)
            energy = level_energy(additive.leaves[-plan.n_trees :], steps.shares)
            weights = favoured(weights, features, energy)
        return additive

    def _fit_round(
        self, plan: Plan, additive: Additive, intercept: InterceptFilter, n_rows: float
    ) -> tuple[Additive, LeafSteps]:
        rows_share, gradients_share = plan.leaf_shares(self.purse)
        sd = self.loss.gradient_unit * sd_of(plan.leaf_gradients(self.purse, self.loss))
        noisy_rows = self._ask(LeafRows(self.loss.released(additive), plan.n_trees), rows_share)
        steps = LeafSteps(noisy_rows.values, n_rows, sd, plan, self.purse, self.loss)
        sum_variance = sd**2 * (1 << plan.depth) / plan.n_trees
        unit = self._gradient_step(self.loss.leaf_kind, plan.n_trees, gradients_share)
        for _ in range(plan.tree_passes):
            noisy = self._ask_sums(self.loss.leaf_gradients(additive, plan.n_trees), gradients_share)
            leaves = additive.leaves.copy()
            pooled, move = steps.take(noisy, leaves[-plan.n_trees :])
            leaves[-plan.n_trees :] += move
            change = intercept.step(pooled, sum_variance, spread([*steps.shares], [*move]), unit)
            additive = replace(additive, leaves=leaves, intercept=additive.intercept + change)
        return additive, steps

    def _gradient_sd(self, n_shapes: int, share: Fraction) -> float:
        planned = self.loss.shape_kind.plan(self.purse.cost(share), n_shapes, self.loss.n_labels)
        return self.loss.gradient_unit * sd_of(planned)

    def _gradient_step(self, kind: type[Gradients], n_blocks: int, share: Fraction) -> float:
        """What a unit of gradients is worth in scores."""
        change = kind.change(self.purse.cost(share), n_blocks, self.loss.n_labels)
        return self.loss.gradient_unit * change.unit

    def _bands(self, plan: Plan, margins: Sequence[Margin], start: Start, shapes: Shapes) -> np.ndarray:
        """Posterior deviation of every shape's values, after the counts and the passes over it."""
        asked = shapes.stronger(plan.least_energy) if plan.shape_passes else []
        bands = []
        for j, margin in enumerate(margins):
            variance = start.gradients(margin)[1]
            if j in asked:
                sd = self._gradient_sd(len(asked), plan.shape_share)
                variance = 1 / (1 / variance + 1 / sd**2)
            bands.append(ShapePrior.of(margin, start.curvature).band(shapes.scales[j], variance))
        return np.concatenate(bands)
