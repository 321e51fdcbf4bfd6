"""The plan of boosting: how many questions of which kind, and which share of the budget each has.

Everything here follows from public quantities: features, labels, the budget, and a number of rows that is
itself a noisy answer.

Where the numbers below come from. *Evidence* is rows by what one of them weighs against the noise: n·μ
with a δ, n·ε over features, √2 and the clip in pure ε. Its steps, and the numbers between them, were
found by trying plans on public tables (adult, magic, bank_marketing, credit_default, mushroom,
acs_income_ne and made ones), at ε from 0.1 to 8, by the mean of area under the curve and log loss;
differences below about .003 are noise. So those tables flatter them slightly. Whoever changes one runs
``python -m bench parts`` (what parts of the plan are worth), ``bench learners`` (five tables, DP-EBM),
``bench safety`` (log loss beside the class prior's, made tables too) and last ``bench learners-all`` (all
tables), and says what became better and worse.

- Shares: rows by cell need most where little is known, trees where there is evidence for them.
- Steps: shapes .2 in six passes or .35 in two; longer ones let shapes that repeat each other go too far,
  see ``LONGEST_STEP``. Trees 2 to 2.8 with a momentum of .5 to .7, which is stable up to 2 + 2 × momentum
  where the curvature is right (see `Labels.curvature`).
- Trees: 64 with a δ, since noise adds up slowly; few and shallow in pure ε, deeper with the evidence, so
  that a leaf keeps about 40 (δ) or 100 rows.
- Numbers in pure ε: two to four trees a round, one round after the other, and shapes in blocks (`dealt`),
  found on the tables of ``bench regression``: what is asked in turn costs what it costs at once.
- Prior scales of leaves, powers of energies and pulls are as first found; the benches above were not run
  over them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log, log2, sqrt
from typing import Any

import numpy as np

from privet.learners.boosting.caution import caution_charge, caution_share
from privet.learners.boosting.loss import Loss
from privet.learners.boosting.monotone import directions
from privet.learners.boosting.numbers import LATER_WIDTH, Numbers, width_charges, width_share
from privet.learners.boosting.start import start_charge, start_share
from privet.learners.boosting.zoom import zoom_places, zoom_share
from privet.learners.purse import Purse, sd_of
from privet.privacy import Charge
from privet.privacy.laws import WIDEST_VARIANCE
from privet.privacy.questions.boosting import LeafRows
from privet.privacy.questions.finding import RangeRows
from privet.privacy.questions.trees import SplitChoice
from privet.schema import Schema
from privet.structure import MAX_OBLIVIOUS_DEPTH

LONGEST_STEP = 0.4
"""Of all shapes at once: shapes of features that repeat each other take the same step together."""

SURE_OVERLAP = 0.2
"""How far shapes are at least taken to repeat each other where one pass is all that looks at them again."""

WIDEST_SD = sqrt(WIDEST_VARIANCE)
"""Standard deviation of the widest Gaussian noise that can be drawn."""

FEW_FOR_TREES = 150
"""Evidence below which a number's shapes are asked twice and trees not at all: they would fit noise."""

SHAPES = "passes over shapes, dealt out by what was found"

ROWS_OF_A_ROUND, FEWEST_ROUNDS = 1000, 2
"""Rows times ε that a round of a number's trees takes in pure ε, and the least rounds that there are."""

ROWS_OF_A_LEAF = 80
"""Rows times ε that a leaf of such a tree keeps at least: four times its noise."""

PURE_SIZES: Sequence[tuple[int, str, dict[str, Any]]] = (
    (0, "0.4", {"blocks": 4, "rounds": 12, "tree_passes": 1, "n_trees": 2, "depth": 5, "tree_step": 1.2}),
    (
        50_000,
        "0.5",
        {"blocks": 4, "rounds": 12, "tree_passes": 1, "n_trees": 4, "depth": 6, "tree_step": 1.8},
    ),
    (
        300_000,
        "0.5",
        {"blocks": 2, "rounds": 4, "tree_passes": 2, "n_trees": 16, "depth": 7, "tree_step": 2.5},
    ),
)
"""From so many rows times ε on: the share of trees, and sizes, rounds the most there are. Where rows are many
every round and block is a pass over them that takes its time, and noise is small either way."""

FEW_ROWS = 12
"""Rows by deviation of a number's noise, were rows by cell and label to have all but a tenth of the budget,
below which sums of gradients by cell are asked in their place, then one sum over all rows, and no more."""

PICK_SHARE, MOST_PICKS, FEWEST_PICKS = Fraction(1, 2), 12, 3
"""Of the choices of features that are asked alone; how many there are at most, and at least."""

PART_OF_FEATURES, CLEARLY, SPARE = 4, 0.18, 2.0
"""Choices are at most this part of the features, and so few that each is clear: a feature by which that
part of the rows has its label right passes the best of the noise, the logarithm of the features, and more."""

BALANCED = 0.35
"""Share of the rarer label from which on features are chosen by whose labels they tell, else by gini."""

LEAST_LAST, MOST_LAST = Fraction(1, 50), Fraction(1, 4)
"""What that last sum may have."""

GAUSSIAN_TREES = 64
"""Trees of a round under Gaussian noise."""


@dataclass(frozen=True)
class Plan:
    """Sizes, steps and shares of every stage; a stage without questions has share 0.

    Attributes
    ----------
    bin_share, shape_share, tree_share : Fraction
        They and what the labels took add up to one.
    cell_mass : float
        Rows that a cell should hold, in standard deviations of its noise.
    shape_passes : int
    shape_step : float
        0 where a pass over the shapes would be noise.
    adapt_step : bool
        Change the length of a step by what the last one left of the slope.
    overlap : float
        How far the features' shapes are taken to repeat each other at the start.
    least_energy : float
        Shapes with less than this share of the largest energy are not asked again.
    rounds, tree_passes, n_trees, depth : int
        ``tree_passes`` and ``n_trees`` are those of one round.
    tree_step, momentum, pull : float
    tree_scale : float
        Prior standard deviation of a leaf; with ``adapt_scale`` the most it may be.
    adapt_scale : bool
    feature_power : float
        A level's feature is drawn by its energy to this power.
    width_share, zoom_share, start_share, caution_share : Fraction
        Of each question of the residuals' sizes, of the one where people are in the public ranges, of
        the one how far a start can be trusted, and of the one how sure several labels should be told.
    n_ranges : int
        How many ranges the second of these is about.
    blocks : int
        Parts that shapes are dealt out to, asked one after another in every pass.
    few : bool
        Whether rows are so few that sums of gradients by cell are asked in the place of rows by cell.
    last_share : Fraction
        Of one sum of gradients over all rows after these.
    picks : int
        How many features are chosen one by one to be asked alone, or 0 for all.
    pick_share : Fraction
        Of all choices.
    criterion : str
        What they are chosen by.
    rows_weight : Fraction, optional
        Share of a round's count of rows, by that of each of its passes.
    """

    bin_share: Fraction
    shape_share: Fraction
    tree_share: Fraction
    cell_mass: float
    shape_passes: int
    shape_step: float
    adapt_step: bool
    overlap: float
    least_energy: float
    rounds: int
    tree_passes: int
    n_trees: int
    depth: int
    tree_step: float
    momentum: float
    pull: float
    tree_scale: float
    adapt_scale: bool
    feature_power: float
    width_share: Fraction = Fraction(0)
    zoom_share: Fraction = Fraction(0)
    n_ranges: int = 0
    start_share: Fraction = Fraction(0)
    caution_share: Fraction = Fraction(0)
    blocks: int = 1
    few: bool = False
    last_share: Fraction = Fraction(0)
    picks: int = 0
    pick_share: Fraction = Fraction(0)
    criterion: str = "max"
    rows_weight: Fraction | None = None

    def charges(self, purse: Purse, n_features: int, loss: Loss, shown: bool = False) -> list[Charge]:
        """Every question after the labels, in order, were every shape asked in every pass.

        Blocks of shapes are dealt out when it is known which are asked: until then they are one reserve,
        unless the plan is to be ``shown``.
        """
        zoom = [RangeRows.plan(purse.cost(self.zoom_share), self.n_ranges)] if self.zoom_share else []
        picks = [self.pick(purse)] * self.picks if self.picks else []
        charges = [*zoom, *picks, self.cells(purse, n_features, loss)]
        if self.shape_passes:
            sizes = [len(block) for block in dealt(range(n_features), self.blocks)]
            reserve = [Charge(SHAPES, purse.cost(self.shape_share))]
            asked = self.shape_charges(purse, sizes, loss) if shown or self.blocks == 1 else reserve
            charges += [*self._narrowing(purse), *asked]
        return [*charges, *self.later(purse, loss)]

    def cells(self, purse: Purse, n_features: int, loss: Loss) -> Charge:
        """The question of every feature's cells."""
        cost = purse.cost(self.bin_share)
        if self.few:
            return loss.shape_kind.plan(cost, self.picks or n_features, loss.n_labels)
        return loss.bin_kind.plan(cost, n_features)

    def pick(self, purse: Purse) -> Charge:
        """One choice of a feature."""
        cost = purse.cost(self.pick_share / self.picks)
        return SplitChoice.plan(cost, 1, self.criterion, None)

    def shape_charges(self, purse: Purse, sizes: Sequence[int], loss: Loss) -> list[Charge]:
        """All passes over the shapes, in blocks of some sizes."""
        shares = self.block_shares(sizes)
        one = [
            loss.shape_kind.plan(purse.cost(share), size, loss.n_labels)
            for size, share in zip(sizes, shares, strict=True)
        ]
        return one * self.shape_passes

    def later(self, purse: Purse, loss: Loss) -> list[Charge]:
        """Every question after the shapes."""
        charges = [self.last(purse, loss)] if self.last_share else []
        if self.rounds:
            passes = [self.leaf_gradients(purse, loss)] * self.tree_passes
            charges += [*self._narrowing(purse), *[self.leaf_rows(purse), *passes] * self.rounds]
        return [
            *charges,
            *start_charge(purse, loss, self.start_share),
            *caution_charge(purse, self.caution_share),
            *width_charges(purse, self.width_share),
        ]

    def last(self, purse: Purse, loss: Loss) -> Charge:
        """One sum of gradients over all rows."""
        return loss.leaf_kind.plan(purse.cost(self.last_share), 1, loss.n_labels)

    def block_shares(self, sizes: Sequence[int]) -> list[Fraction]:
        """Share of a pass over each block of shapes.

        In either law noise is then what it is where all are asked at once: L1 norms add up, and so do
        squared L2 norms.
        """
        return [self.shape_pass_share * size / sum(sizes) for size in sizes]

    def _narrowing(self, purse: Purse) -> list[Charge]:
        return width_charges(purse, self.width_share) if self.narrows else []

    @property
    def widths(self) -> int:
        """Questions of the residuals' sizes: before shapes, before trees, and last."""
        if not self.width_share:
            return 0
        return 1 + self.narrows * (bool(self.shape_passes) + bool(self.rounds))

    @property
    def narrows(self) -> bool:
        """Whether sizes of residuals are clear enough to be asked anew before every stage."""
        return 0 < self.width_share < LATER_WIDTH

    def leaf_rows(self, purse: Purse) -> Charge:
        """A round's count of rows."""
        return LeafRows.plan(purse.cost(self.leaf_shares(purse)[0]), self.n_trees)

    def leaf_gradients(self, purse: Purse, loss: Loss) -> Charge:
        """A pass over a round's trees."""
        return loss.leaf_kind.plan(purse.cost(self.leaf_shares(purse)[1]), self.n_trees, loss.n_labels)

    @property
    def shape_pass_share(self) -> Fraction:
        """Share of one pass over the shapes."""
        return self.shape_share / max(self.shape_passes, 1)

    def leaf_shares(self, purse: Purse) -> tuple[Fraction, Fraction]:
        """Shares of a round's count of rows and of each of its passes.

        A row is counted with half the weight of a pass, in the norm of the noise, unless the plan says less.
        """
        weight = self.rows_weight or (Fraction(1, 2) if purse.pure else Fraction(1, 4))
        unit = self.tree_share / (max(self.rounds, 1) * (self.tree_passes + weight))
        return unit * weight, unit


def dealt(features: Sequence[int], n_blocks: int) -> list[list[int]]:
    """Features in at most so many blocks, dealt out in turn."""
    n_blocks = min(n_blocks, len(features))
    return [list(features[first::n_blocks]) for first in range(n_blocks)]


def make_plan(
    n_rows: float,
    n_features: int,
    loss: Loss,
    purse: Purse,
    spent: Fraction,
    passes: int | None = None,
    width: Fraction = Fraction(0),
    zoom: Fraction = Fraction(0),
    start: Fraction = Fraction(0),
    trees: bool = True,
    caution: Fraction = Fraction(0),
) -> Plan:
    """The plan for a noisy number of rows, after the labels have had a share.

    ``passes`` is the most questions it may have; None leaves that to the plan. ``width`` is the share of
    each question of the residuals' sizes, ``zoom`` that of where people are, ``start`` that of trust,
    ``caution`` that of how sure several labels should be told. Trees may be left out.
    """
    left = 1 - spent - zoom - start - caution
    if are_few(n_rows, n_features, loss, purse):
        return _few_plan(n_rows, n_features, loss, purse, left, passes, zoom, start)
    choose = _pure_plan if purse.pure else _gaussian_plan
    plan = choose(n_rows, n_features, loss, purse)
    if not trees:
        plan = replace(plan, rounds=0, tree_passes=0)
    if passes is not None:
        others = bool(zoom) + bool(start) + bool(caution) + replace(plan, width_share=width).widths
        plan = _within(plan, passes - 1 - others)
    scaled = replace(plan, tree_share=plan.tree_share * left)
    if plan.rounds and not purse.pure and sd_of(scaled.leaf_rows(purse)) > WIDEST_SD:
        plan = replace(plan, rounds=0, tree_passes=0)
    shape_share = plan.shape_share * left if plan.shape_passes else Fraction(0)
    tree_share = plan.tree_share * left if plan.rounds else Fraction(0)
    plan = replace(plan, shape_share=shape_share, tree_share=tree_share, width_share=width, zoom_share=zoom)
    plan = replace(plan, start_share=start, caution_share=caution)
    return replace(plan, bin_share=left - shape_share - tree_share - plan.widths * width)


def whole_plan(
    n_rows: float,
    schema: Schema,
    loss: Loss,
    purse: Purse,
    spent: Fraction,
    passes: int | None,
    searched: bool = False,
    started: bool = False,
) -> Plan:
    """The plan for a schema: what is asked beforehand, unless it was ``searched``, and about a start, too."""
    width = min(width_share(purse, n_rows, loss, passes), LATER_WIDTH, (1 - spent) / 20)
    zoom = Fraction(0) if searched else zoom_share(purse, n_rows, schema, passes)
    start = start_share(purse, n_rows, loss) if started else Fraction(0)
    # With a start the question of trust says it too.
    caution = Fraction(0) if started else caution_share(purse, n_rows, loss, passes)
    trees = not directions(schema).all()
    sizes = n_rows, len(schema.features)
    plan = make_plan(*sizes, loss, purse, spent, passes, width, zoom, start, trees, caution)
    return replace(plan, n_ranges=len(zoom_places(schema)))


def are_few(n_rows: float, n_features: int, loss: Loss, purse: Purse) -> bool:
    """Whether rows by cell of every feature would be little but noise, however large their share.

    Rows of two labels alone: where both are about as frequent a gradient has less noise than two counts.
    """
    if loss.n_labels != 2 or loss.balance < 1:
        return False
    return n_rows < FEW_ROWS * sd_of(loss.bin_kind.plan(purse.cost(Fraction(9, 10)), n_features))


def _few_plan(
    n_rows: float,
    n_features: int,
    loss: Loss,
    purse: Purse,
    left: Fraction,
    passes: int | None,
    zoom: Fraction,
    start: Fraction,
) -> Plan:
    """One large question of everything at once, and where scores are in the mean."""
    needed = 1 / (purse.strength * max(n_rows, 1.0) * loss.share_error)
    enough = Fraction(needed / sqrt(2) if purse.pure else needed**2 / 4).limit_denominator(1000)
    last = min(max(enough, LEAST_LAST), MOST_LAST) * left
    if passes is not None and passes <= 1 + bool(zoom) + bool(start):
        last = Fraction(0)
    choose, nothing = _pure_plan if purse.pure else _gaussian_plan, Fraction(0)
    picks = _n_picks(n_rows, n_features, purse) if passes is None else 0
    pick_share = PICK_SHARE * (left - last) if picks else nothing
    common = isinstance(loss, Numbers) or min(loss.shares or (BALANCED,)) >= BALANCED
    return replace(
        choose(n_rows, n_features, loss, purse), few=True, bin_share=left - last - pick_share,
        last_share=last, picks=picks, pick_share=pick_share, criterion="max" if common else "gini",
        shape_passes=0, shape_share=nothing, rounds=0, tree_passes=0, tree_share=nothing, zoom_share=zoom,
        start_share=start,
    )  # fmt: skip


def _n_picks(n_rows: float, n_features: int, purse: Purse) -> int:
    """In pure ε, where noise grows with the features that are asked, how many to choose among many."""
    if not purse.pure:
        return 0
    told = CLEARLY * float(PICK_SHARE) * n_rows * purse.strength
    picks = min(int(told / (log(n_features) + SPARE)), n_features // PART_OF_FEATURES, MOST_PICKS)
    return picks if picks >= FEWEST_PICKS else 0


def _within(plan: Plan, passes: int) -> Plan:
    """Fewer passes: one over the shapes, then as many rounds of trees as fit, then more over shapes.

    Fewer steps are longer ones.
    """
    if plan.shape_passes * plan.blocks + plan.rounds * (1 + plan.tree_passes) > passes:
        plan = replace(plan, blocks=1)
    if plan.shape_step and not plan.shape_passes and passes == 1:
        # Too few for a round of trees, which takes its place: one pass over the shapes.
        plan = replace(plan, rounds=0, shape_passes=1, shape_share=plan.tree_share, shape_step=LONGEST_STEP)
    shapes = min(plan.shape_passes, passes, 1)
    tree_passes = min(plan.tree_passes, max(passes - shapes - 1, 0))
    rounds = min(plan.rounds, (passes - shapes) // (1 + tree_passes)) if tree_passes else 0
    shapes = min(plan.shape_passes, passes - rounds * (1 + tree_passes))
    step = min(plan.shape_step * plan.shape_passes / max(shapes, 1), LONGEST_STEP)
    # No later pass sees to it that what the start has too much is taken back.
    overlap = max(plan.overlap, SURE_OVERLAP) if shapes == 1 else plan.overlap
    return replace(
        plan, shape_passes=shapes, shape_step=step, overlap=overlap, rounds=rounds,
        tree_passes=tree_passes if rounds else 0,
    )  # fmt: skip


def _shares(bins: str, trees: str) -> tuple[Fraction, Fraction, Fraction]:
    return Fraction(bins), 1 - Fraction(bins) - Fraction(trees), Fraction(trees)


def _gaussian_plan(n_rows: float, n_features: int, loss: Loss, purse: Purse) -> Plan:
    """Noise adds up slowly here: many passes over many trees."""
    evidence = n_rows * loss.balance * purse.strength
    rounds = int(np.clip(round(log2(max(evidence / 100, 1.01))), 1, 4))
    wanted = min(round(log2(max(evidence / 60, 1))), floor(log2(max(n_rows / 40, 1))))
    several = loss.n_labels > 2
    passes = 3 * rounds + (4 if evidence >= 20_000 else 0)
    if loss.finds_width and evidence < FEW_FOR_TREES:
        rounds = passes = 0
    return Plan(
        *_shares("0.2", "0.3" if rounds == 1 else "0.4" if evidence < 5000 else "0.5"),
        cell_mass=1.0,
        shape_passes=6 if rounds else 2,
        shape_step=0.2,
        adapt_step=True,
        overlap=0.2,
        least_energy=0.0,
        rounds=rounds,
        tree_passes=passes // max(rounds, 1),
        n_trees=GAUSSIAN_TREES,
        depth=int(np.clip(wanted, 2, MAX_OBLIVIOUS_DEPTH)),
        tree_step=2.0 if several else 2.8,
        momentum=0.7 if several else 0.5,
        pull=10.0,
        tree_scale=0.6,
        adapt_scale=True,
        feature_power=0.5 if several else 0.75,
    )


def _pure_plan(n_rows: float, n_features: int, loss: Loss, purse: Purse) -> Plan:
    """Noise adds up fast here: few passes, few trees, and none where they would drown in it."""
    clip = loss.clip
    evidence = n_rows * loss.balance * purse.strength / (n_features * sqrt(2) * clip)
    plan = Plan(
        *_shares("0.4", "0"),
        cell_mass=2.0,
        shape_passes=2 if evidence >= 200 else 0,
        shape_step=0.35 if evidence >= 200 else 0.0,
        adapt_step=False,
        overlap=0.1 if not loss.finds_width or evidence >= 200 else 0.3,
        least_energy=0.0,
        rounds=0,
        tree_passes=0,
        n_trees=0,
        depth=0,
        tree_step=2.5,
        momentum=0.5,
        pull=0.0,
        tree_scale=0.3,
        adapt_scale=loss.finds_width,
        feature_power=0.75,
    )
    if evidence < (200 if loss.finds_width else 100):
        return plan  # trees of a number that no pass over the shapes comes before fit noise
    if loss.finds_width:
        plan = replace(plan, least_energy=0.03 if evidence < 4000 else 0.0)
        return _pure_numbers(plan, n_rows, purse)
    plan = _pure_binary(plan, evidence) if loss.n_labels <= 2 else _pure_several(plan, evidence)
    deepest = floor(log2(max(n_rows / 100, 1)))
    return replace(plan, depth=max(min(plan.depth, deepest), 2))


def _pure_binary(plan: Plan, evidence: float) -> Plan:
    if evidence < 4000:
        _, shapes, trees = _shares("0.4", "0.4")
        n_trees, depth, step = (4, 3, 1.5) if evidence < 400 else (8, 5, 2.0)
        return replace(
            plan, shape_share=shapes, tree_share=trees, rounds=2, tree_passes=1, n_trees=n_trees, depth=depth,
            tree_step=step, tree_scale=0.5, least_energy=0.03,
        )  # fmt: skip
    _, shapes, trees = _shares("0.4", "0.5")
    passes, n_trees, depth = (1, 8, 6) if evidence < 8000 else (2, 16, 7)
    return replace(
        plan, shape_share=shapes, tree_share=trees, rounds=4, tree_passes=passes, n_trees=n_trees,
        depth=depth, tree_scale=0.5, pull=10.0,
    )  # fmt: skip


def _pure_numbers(plan: Plan, n_rows: float, purse: Purse) -> Plan:
    """Few trees a round and many rounds: L1 norms add up over trees, whether asked at once or in turn."""
    rows = n_rows * purse.strength
    share, sizes = [(share, sizes) for least, share, sizes in PURE_SIZES if rows >= least][-1]
    rounds = int(np.clip(round(rows / ROWS_OF_A_ROUND), FEWEST_ROUNDS, sizes["rounds"]))
    deepest = floor(log2(max(min(n_rows / 100, rows / ROWS_OF_A_LEAF), 1)))
    depth = min(sizes["depth"], max(deepest, 2))
    _, shape_share, tree_share = _shares("0.4", share)
    plan = replace(plan, shape_share=shape_share, tree_share=tree_share, tree_scale=0.5, pull=10.0)
    return replace(plan, **{**sizes, "rounds": rounds, "depth": depth})


def _pure_several(plan: Plan, evidence: float) -> Plan:
    if evidence < 1000:
        _, shapes, trees = _shares("0.4", "0.5")
        return replace(
            plan, shape_passes=0, shape_share=shapes, tree_share=trees, rounds=2, tree_passes=1, n_trees=4,
            depth=5, tree_step=2.2, tree_scale=0.8, pull=1.0, rows_weight=Fraction(1, 8),
        )  # fmt: skip
    share, passes, n_trees, depth, step = ("0.3", 2, 8, 5, 1.8) if evidence < 4000 else ("0.4", 4, 16, 6, 1.6)
    _, shapes, trees = _shares("0.4", share)
    return replace(
        plan, shape_share=shapes, tree_share=trees, rounds=1, tree_passes=passes, n_trees=n_trees,
        depth=depth, tree_step=step, least_energy=0.03 if evidence < 4000 else 0.0,
    )  # fmt: skip
