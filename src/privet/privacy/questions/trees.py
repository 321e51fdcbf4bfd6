"""Questions about trees: counts of their leaves, most frequent labels, and how growing trees are split.

Proof notes: ``docs/proofs/splits.md``, ``docs/proofs/sparse.md``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privet.answers import PERMUTE_AND_FLIP, ChosenSplits, Law, NoisyCells, sparse_threshold
from privet.checks import whole
from privet.engines import Batch, Engine
from privet.errors import QuestionError
from privet.kernels import count, splits
from privet.kernels.criteria import criterion_named, entropy_table
from privet.kernels.splits import Cells, Pairs
from privet.noise.ranges import WeightTable, weight_table
from privet.privacy.budget import Cost
from privet.privacy.charges import Charge
from privet.privacy.laws import ScoreChange
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Counts, Question, Tally, Terms, pure_only
from privet.schema import Schema
from privet.soundness import check_splits, check_structure, view_sizes
from privet.structure import CompleteTrees, LevelTrees, MultiwayTrees, Splits, Structure

MAX_CELLS = 1 << 28
"""Cells of an answer: every one of them gets its noise."""

MAX_COUNTED = 1 << 24
"""Cells of splits that are counted at a time, eight bytes each."""


class OfLeaves:
    """What is asked of every leaf of every tree, empty leaves included.

    With ``own_rows`` every row draws a tree at random and is counted in that one alone. Sizes are the trees
    and whether rows have a tree of their own.
    """

    structure: CompleteTrees | MultiwayTrees
    own_rows: bool

    def check(self, schema: Schema) -> None:
        _check_trees(
            self.structure, schema, *([CompleteTrees] if self.own_rows else [CompleteTrees, MultiwayTrees])
        )

    def sizes(self, schema: Schema) -> tuple[int, bool]:
        return self.structure.n_trees, self.own_rows

    @classmethod
    def plan(cls, cost: Cost, *sizes: Any) -> Charge:
        n_trees, own_rows = (*sizes, False)[:2]
        # How many trees count a row comes first: it is how far the row moves the answer.
        charge: Charge = super().plan(cost, 1 if own_rows else n_trees, n_trees)  # type: ignore[misc]
        return replace(charge, composition=f"parallel over {n_trees} random parts") if own_rows else charge

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        counted = batch.features, batch.labels, terms.schema.n_labels
        if not self.own_rows:
            return count.count_leaves(self.structure, *counted)
        assert isinstance(self.structure, CompleteTrees)
        return count.count_assigned(
            self.structure, *counted, terms.draws.below(self.structure.n_trees, batch.rows)
        )


@dataclass(frozen=True)
class LeafLabelRows(OfLeaves, Counts):
    """Rows by leaf and label of every tree, empty leaves included.

    With ``own_rows`` every row draws a tree at random and is counted in that one alone.

    Privacy
    -------
    ε-DP or ρ-zCDP over all trees together; a row is in one cell a tree, so the L1 sensitivity
    and the squared L2 sensitivity are the number of trees, or 1 where it has a tree of its own. Proof:
    *Discrete Laplace*, *Rounded Gaussian*, *Parallel composition*.
    """

    method = "noisy_histogram"
    text = "rows by leaf and label of {1} trees"
    structure: CompleteTrees | MultiwayTrees
    own_rows: bool = False


@dataclass(frozen=True)
class LeafLabels(OfLeaves, Question[np.ndarray]):
    """Most frequent label of every leaf of every tree, as label codes; empty leaves say any label.

    With ``own_rows`` every row draws a tree at random and is counted in that one alone.

    Privacy
    -------
    ε-DP: each tree is asked with ε/trees, or with ε where every row has a tree of its own. Counts have
    sensitivity 1 and are monotone. Proof: *Permute-and-flip*, *Parallel composition*.
    """

    method = "choose_label"
    text = "most frequent label of every leaf of {1} trees"
    structure: CompleteTrees | MultiwayTrees
    own_rows: bool = False

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> ScoreChange:
        return ScoreChange(shares=sizes[0])

    def release(self, exact: np.ndarray, terms: Terms, mechanisms: Mechanisms) -> np.ndarray:
        return mechanisms.choose(exact, terms.law)


@dataclass(frozen=True)
class FrequentCells(Question[list[NoisyCells]]):
    """Rows by leaf and label of trees too large to write down, where they reach a threshold.

    ``false_cells`` is about how many empty cells a tree will show.

    Privacy
    -------
    ε-DP over all trees together, the set of stored cells included. Proof: *Sparse histogram*.
    """

    method = "noisy_cells"
    text = "frequent cells of {} level-wise trees"
    structure: LevelTrees
    false_cells: int = 1000

    def check(self, schema: Schema) -> None:
        _check_trees(self.structure, schema, LevelTrees)
        whole(self.false_cells, "false_cells", 1, hint="say, 1000.")

    def charge(self, schema: Schema, cost: Cost) -> Charge:
        pure_only(cost)
        return self.plan(cost, self.structure.n_trees)

    def tally(self, batch: Batch, terms: Terms) -> count.SparseCounts:
        return count.count_cells(self.structure, batch.features, batch.labels, terms.schema.n_labels)

    def release(self, exact: count.SparseCounts, terms: Terms, mechanisms: Mechanisms) -> list[NoisyCells]:
        released, scale = [], terms.law.parameter
        for n_leaves, cells, counts in zip(self.structure.n_leaves, exact.cells, exact.counts, strict=True):
            n_cells = n_leaves * terms.schema.n_labels
            threshold = sparse_threshold(n_cells, scale, self.false_cells)
            kept = mechanisms.keep_frequent(cells, counts, n_cells, scale, threshold)
            released.append(NoisyCells(*kept, threshold, scale))
        return released


class OfGrowing:
    """What is asked of the leaves of growing trees."""

    trees: MultiwayTrees
    splits: Splits

    def check(self, schema: Schema) -> None:
        _check_trees(self.trees, schema, MultiwayTrees)
        if hasattr(self, "splits"):
            check_splits(self.splits, self.trees, schema)


@dataclass(frozen=True)
class LeafTotals(OfGrowing, Counts):
    """Rows of every leaf of every tree, whatever their label.

    Privacy
    -------
    ε-DP or ρ-zCDP over all trees together; a row is in one leaf a tree, so the L1 sensitivity and
    the squared L2 sensitivity are the number of trees. Proof: *Discrete Laplace*, *Rounded
    Gaussian*.
    """

    method = "noisy_leaf_totals"
    text = "rows by leaf of {} trees"
    trees: MultiwayTrees

    def sizes(self, schema: Schema) -> tuple[int]:
        return (self.trees.n_trees,)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        return splits.count_rows(self.trees, batch.features, batch.kept)


@dataclass(frozen=True)
class SplitRows(OfGrowing, Counts):
    """Rows of every leaf by the codes of every choice, ``(leaves, codes of all choices, labels)``.

    What a leaf may not take is zero plus noise. Without ``by_label`` there is one column.

    Privacy
    -------
    ε-DP or ρ-zCDP over all leaves and choices together. A row is in one leaf a tree, and there in one
    cell a choice, so both sensitivities are trees times the most choices of a leaf. Proof: *Counts of
    splits*.
    """

    method = "noisy_split_counts"
    text = "rows by leaf and code of every split{1}"
    trees: MultiwayTrees
    splits: Splits
    by_label: bool

    def check(self, schema: Schema) -> None:
        super().check(schema)
        n_codes, n_labels = self._widths(schema)
        if len(self.splits.lowest) * int(n_codes.sum()) * n_labels > MAX_CELLS:
            raise QuestionError("these leaves have too many codes to count.", "take shallower trees.")

    def sizes(self, schema: Schema) -> tuple[int, str]:
        most = max(int(self.splits.allowed.sum(axis=1).max()), 1)
        return self.trees.n_trees * most, " and label" if self.by_label else ""

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        n_codes, n_labels = self._widths(terms.schema)
        labels = batch.labels if self.by_label else 0 * batch.labels
        return splits.count_splits(self.trees, self.splits, n_codes, batch.features, labels, n_labels)

    def _widths(self, schema: Schema) -> tuple[np.ndarray, int]:
        """Codes of the choices, and labels that are told apart."""
        n_codes = view_sizes(self.trees.views, schema)[self.splits.view]
        return n_codes, schema.n_labels if self.by_label else 1


class Scored(NamedTuple):
    """Exact scores of splits, ``(leaves, choices)``: see `splits.score_pairs`; and how thresholds are found.

    What a leaf may not take has a mass of 0.
    """

    best: np.ndarray
    mass: np.ndarray
    find: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    table: WeightTable


class SplitCells:
    """Rows by leaf, code and label, counted for as many leaves and choices at a time as memory may hold.

    Where all of them fit, they are counted once.
    """

    def __init__(
        self, question: "SplitChoice", rows: Engine, terms: Terms, totals: np.ndarray, scoring: splits.Scoring
    ) -> None:
        self._question, self._rows, self._terms = question, rows, terms
        self._totals, self._scoring = totals, scoring
        sizes = view_sizes(question.trees.views, terms.schema)[question.splits.view]
        self._most = np.minimum(totals.sum(axis=1)[:, None], sizes * terms.schema.n_labels)
        self._held: tuple[Pairs, Cells] | None = None

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Best score and mass of every pair of a leaf and a choice."""
        best, mass = np.zeros((2, *self._question.splits.lowest.shape), np.int64)
        pairs = Pairs(*np.nonzero(self._question.splits.allowed))
        for part, cells in self._counted(pairs):
            best[part.leaf, part.choice], mass[part.leaf, part.choice] = splits.score_pairs(
                cells, part, self._totals, self._question.splits, self._scoring
            )
            self._held = (part, cells) if len(part) == len(pairs) else None
        return best, mass

    def find(self, leaves: np.ndarray, choices: np.ndarray, points: np.ndarray) -> np.ndarray:
        """See `splits.find_thresholds`; a leaf is asked about once."""
        out, n_choices = np.empty((3, len(leaves)), np.int64), self._most.shape[1]
        number = leaves * n_choices + choices
        order = np.argsort(number)
        asked = Pairs(leaves[order], choices[order])
        for part, cells in [self._held] if self._held else self._counted(asked):
            held = part.leaf * n_choices + part.choice
            here = np.flatnonzero(np.isin(number, held))
            place = np.searchsorted(held, number[here])
            out[:, here] = splits.find_thresholds(
                cells, part, self._totals, self._question.splits, self._scoring, place, points[here]
            )
        return out

    def _counted(self, pairs: Pairs) -> Iterator[tuple[Pairs, Cells]]:
        ends = np.cumsum(self._most[pairs.leaf, pairs.choice])
        first = 0
        while first < len(pairs):
            before = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, before + MAX_COUNTED, side="right")), first + 1)
            part = pairs[first:last]
            yield part, self._rows.sum(Tally(self._question, self._terms, (part,)))
            first = last


@dataclass(frozen=True)
class SplitChoice(OfGrowing, Question[ChosenSplits]):
    """One split for every open leaf of every tree, each chosen among the leaf's own.

    A choice with thresholds weighs as much as one without: its thresholds share that weight.

    Privacy
    -------
    ε-DP, or ρ-zCDP, over all trees together: each is asked with its even share. A row is in one leaf a
    tree, and all scores of that leaf move one way, by at most the criterion's sensitivity. Without
    thresholds a pure ε buys permute-and-flip, otherwise the exponential mechanism, which is
    bounded-range: at ρ it has ε = √(8ρ). Proof: *Splits*, *Ranges of equal score*.
    """

    method = "choose_split"
    text = "split of every open leaf of {} trees by {}"
    trees: MultiwayTrees
    splits: Splits
    criterion: str

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> ScoreChange:
        n_trees, criterion, schema = sizes
        return ScoreChange(criterion_named(criterion, schema).sensitivity, shares=n_trees)

    def sizes(self, schema: Schema) -> tuple[int, str, Schema]:
        return self.trees.n_trees, self.criterion, schema

    def tally(self, batch: Batch, terms: Terms, pairs: Pairs | None = None) -> Any:
        """Rows by leaf and label, or those of some pairs of a leaf and a choice by code and label."""
        labels = batch.labels, terms.schema.n_labels, batch.kept
        if pairs is None:
            return splits.count_labels(self.trees, batch.features, *labels)
        sizes = view_sizes(self.trees.views, terms.schema)[self.splits.view]
        return splits.count_pairs(self.trees, self.splits.view, sizes, pairs, batch.features, *labels)

    def read(self, rows: Engine, terms: Terms) -> Scored:
        totals = rows.sum(Tally(self, terms))
        measure, table = criterion_named(self.criterion, terms.schema), weight_table(terms.law.parameter)
        entropy = entropy_table(measure, int(totals.sum(axis=1).max(initial=0)))
        weights = (table.fine, table.coarse, table.shift)
        scoring = splits.Scoring(measure.number, measure.fraction_bits, entropy, *weights)
        counted = SplitCells(self, rows, terms, totals, scoring)
        return Scored(*counted.scores(), counted.find, table)

    def release(self, exact: Scored, terms: Terms, mechanisms: Mechanisms) -> ChosenSplits:
        law, allowed, highest = terms.law, self.splits.allowed, self.splits.highest
        open_ = np.flatnonzero(allowed.any(axis=1))
        choice, threshold = np.full(len(allowed), -1), np.zeros(len(allowed), np.int64)
        best, mass = exact.best[open_], exact.mass[open_]
        if law.name == PERMUTE_AND_FLIP and not highest[allowed].any():
            choice[open_] = _choose_alone(best, allowed[open_], law, mechanisms)
            return ChosenSplits(choice, threshold)

        def locate(leaves: np.ndarray, choices: np.ndarray, points: np.ndarray) -> np.ndarray:
            return exact.find(open_[leaves], choices, points)

        thresholds = np.where(highest > 0, highest - self.splits.lowest + 1, 0)[open_]
        chosen = mechanisms.choose_in_ranges(best, mass, thresholds, locate, exact.table)
        choice[open_], threshold[open_] = chosen
        return ChosenSplits(choice, threshold)


def _choose_alone(exact: np.ndarray, allowed: np.ndarray, law: Law, mechanisms: Mechanisms) -> np.ndarray:
    """Choose in every row among its allowed columns: rows with as many are chosen at once."""
    chosen, n_allowed = np.empty(len(exact), np.int64), allowed.sum(axis=1)
    for size in np.unique(n_allowed):
        rows = np.flatnonzero(n_allowed == size)
        columns = np.nonzero(allowed[rows])[1].reshape(len(rows), size)
        scores = np.take_along_axis(exact[rows], columns, axis=1)
        chosen[rows] = columns[np.arange(len(rows)), mechanisms.choose(scores, law)]
    return chosen


def _check_trees(structure: Structure, schema: Schema, *kinds: type[Structure]) -> None:
    """Refuse trees of another kind, that do not send every row to one leaf, or that have too many leaves."""
    if type(structure) not in kinds:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise QuestionError("these trees are not of the kind that this question is about.", f"give {names}.")
    check_structure(structure, schema)
    trees = structure.n_trees if isinstance(structure, CompleteTrees) else 1
    if not isinstance(structure, LevelTrees) and trees * structure.n_leaves * schema.n_labels > MAX_CELLS:
        raise QuestionError(
            "these trees have too many leaves to give every one its noise.",
            "take fewer or shallower trees, or ask for the frequent cells of level-wise trees.",
        )
