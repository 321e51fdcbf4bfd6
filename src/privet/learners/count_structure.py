"""Structures of count forests: how deep, and what their splits are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log2, sqrt

import numpy as np

from privet.answers import Law
from privet.errors import QuestionError
from privet.learners.boosting.bins import (
    Totals,
    class_shares,
    gather,
    make_cells,
    n_cells,
    pooled_totals,
)
from privet.learners.boosting.shapes import Start, first_shapes
from privet.learners.finding import Given
from privet.learners.majority_forest import check_size, forest_depth
from privet.learners.multiway_trees import (
    draw_levels,
    draw_nodes,
    most_leaves,
    n_children,
    stored_trees,
)
from privet.learners.purse import Purse, sd_of
from privet.learners.random_trees import Ground, fanned_ground, grow, informed_ground, plain_ground
from privet.learners.whereabouts import Ranks
from privet.privacy import Protected
from privet.privacy.questions.boosting import BinRows
from privet.privacy.questions.trees import FrequentCells, LeafLabelRows
from privet.schema import Schema
from privet.structure import MAX_LEAVES, CompleteTrees, LevelTrees, MultiwayTrees
from privet.theory import jagannathan_height

LABEL_SHARE = Fraction(1, 20)
"""Part of the budget that asks how many rows have each label: the prior, and the size of the table."""

BIN_SHARE = Fraction(1, 4)
"""Part of the budget that asks for rows by bin and label, where a structure is informed by them."""

CELL_MASS = 2.0
"""Rows that a cell should hold, in standard deviations of its noise."""

SHALLOWEST, DEEPEST = 3, 13

MAX_WRITTEN_LEAVES = 1 << 20
"""Leaves of a forest of multi-way trees that is written down; beyond them the sparse release takes over."""

FALSE_CELLS = 100
"""Empty cells that the sparse release of a tree shows, about."""

STRUCTURES = ("adaptive", "fletcher-islam", "bojarski", "jagannathan")

Trees = CompleteTrees | MultiwayTrees


@dataclass(frozen=True)
class Shape:
    """Structure that a count forest is to have.

    Attributes
    ----------
    family : str
        One of `STRUCTURES`.
    n_trees : int
    max_depth : int or None
        What the family says, where it is None.
    disjoint : bool
        Whether each tree counts a part of the rows of its own.
    pure : bool
        Whether noise is Laplace's: the sparse release has no other.
    informed : bool
        Whether splits follow from rows by bin, which are asked first.
    """

    family: str
    n_trees: int
    max_depth: int | None
    disjoint: bool
    pure: bool
    informed: bool = False

    @property
    def counted(self) -> int:
        """How many trees a row is counted in."""
        return 1 if self.disjoint else self.n_trees

    @property
    def parts(self) -> int:
        """Into how many parts the rows are split."""
        return self.n_trees if self.disjoint else 1

    def check(self, schema: Schema) -> None:
        """Refuse what cannot be built."""
        if self.family == "bojarski" and self.max_depth is None:
            raise QuestionError('structure="bojarski" has no depth of its own.', "give max_depth (--depth).")
        depth = 1 if self.max_depth is None else self.max_depth
        if self.family != "jagannathan":
            check_size(self.n_trees, depth)
            return
        check_size(self.n_trees, 1)
        check_size(1, depth)
        if self.disjoint:
            raise QuestionError('structure="jagannathan" counts all rows in every tree.', 'set rows="all".')
        if self.depth(schema, 1.0, 1.0) < min(depth, _splittable(schema)):
            raise QuestionError(
                f"trees of depth {depth} have too many leaves.",
                "lower max_depth." if self.pure else "lower max_depth, or set delta=0.",
            )

    def depth(self, schema: Schema, n_rows: float, noise: float) -> int:
        """Depth, by a noisy or public number of rows and the noise of a leaf's count."""
        if self.family == "jagannathan":
            return self._height(schema, n_rows)
        if self.max_depth is not None:
            return int(self.max_depth)
        if self.family == "fletcher-islam":
            return forest_depth(schema, self.n_trees)
        return speaking_depth(n_rows / self.parts, noise)

    def _height(self, schema: Schema, n_rows: float) -> int:
        ground = fanned_ground(schema, self.n_trees)
        known = min(n_rows, schema.max_rows or n_rows)
        wanted = self.max_depth or jagannathan_height(max(int(known), 1), n_children(ground).tolist())
        most = MAX_LEAVES // schema.n_labels if self.pure else MAX_WRITTEN_LEAVES // self.n_trees
        height = min(wanted, _splittable(schema))
        while height > 1 and most_leaves(ground, height) > most:
            height -= 1
        return height

    def draw(self, ground: Ground, depth: int, random: np.random.RandomState) -> Trees | LevelTrees:
        """Trees of a depth from what their splits are drawn from."""
        if self.family != "jagannathan":
            return grow(ground, depth, random, within_node=self.family != "bojarski")
        written = self.is_written(ground, depth)
        return draw_nodes(ground, depth, random) if written else draw_levels(ground, depth, random)

    def is_written(self, ground: Ground, depth: int) -> bool:
        """Whether trees of a depth are written down with every leaf, or go through the sparse release."""
        if self.family != "jagannathan":
            return True
        return self.n_trees * most_leaves(ground, depth) <= MAX_WRITTEN_LEAVES

    def ground(self, schema: Schema, random: np.random.RandomState, ranks: Ranks) -> Ground:
        """What splits are drawn from where rows by bin are not asked."""
        if self.family == "jagannathan":
            return fanned_ground(schema, self.n_trees, ranks)
        return plain_ground(schema, self.n_trees, random, ranks)


def _splittable(schema: Schema) -> int:
    """Features that a split can part."""
    return int((n_children(fanned_ground(schema, 1)) > 1).sum())


def ask_counts(
    protected: Protected, shape: Shape, trees: Trees | LevelTrees, purse: Purse, share: Fraction
) -> tuple[Trees, np.ndarray, float]:
    """Noisy rows by leaf and label, the variance of their noise, and the trees that carry them.

    Privacy
    -------
    One question, at a share of the purse; trees too large to write down are asked for their frequent
    cells, and become what that answer shows.
    """
    cost = purse.cost(share)
    if isinstance(trees, LevelTrees):
        protected.refine([FrequentCells.plan(cost, shape.n_trees)])
        released = protected.ask(FrequentCells(trees, FALSE_CELLS), cost)
        stored, counts = stored_trees(trees, released, protected.schema.n_labels)
        return stored, counts, Law("laplace", released[0].scale).variance
    noisy = protected.ask(LeafLabelRows(trees, shape.disjoint), cost)
    return trees, noisy.values, noisy.variance


def speaking_depth(n_rows: float, noise: float) -> int:
    """Depth at which a leaf of average size holds about as many rows as its noise."""
    return int(np.clip(round(log2(max(n_rows / noise, 1))), SHALLOWEST, DEEPEST))


def ask_ground(
    given: Given, totals: Totals, n_trees: int, random: np.random.RandomState
) -> tuple[Ground, Totals]:
    """Ask for rows by bin and label: what splits are drawn from, and surer totals.

    Privacy
    -------
    One question, at `BIN_SHARE` of the purse; all else is computed from its answer.
    """
    schema = given.rows.schema
    cost = given.purse.cost(BIN_SHARE)
    sd = sd_of(BinRows.plan(cost, len(schema.features)))
    n_rows = max(float(totals.rows.sum()), 1.0)
    wanted = n_cells(n_rows, CELL_MASS, sd * sqrt(len(totals.rows)))
    cells, present = make_cells(schema, wanted, given.ranks)
    noisy_rows = given.rows.ask(BinRows(cells), cost).values
    totals = totals.merge(pooled_totals(cells, noisy_rows, sd))
    n_rows = max(float(totals.rows.sum()), 10.0)
    bins, margins = gather(schema, cells, present, noisy_rows, sd, totals)
    shapes = first_shapes(margins, Start.of(class_shares(totals, n_rows), totals.sd / n_rows))
    return informed_ground(schema, bins, margins, shapes.values, shapes.energy, n_trees, random), totals
