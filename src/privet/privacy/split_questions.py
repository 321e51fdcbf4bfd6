"""Questions of growing trees: which split every open leaf takes, and the counts that splits are judged by.

Proof note: ``docs/proofs/splits.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.errors import QuestionError
from privet.kernels.splits import (
    LeafRows,
    Scoring,
    by_leaf,
    count_rows,
    count_splits,
    find_thresholds,
    route_batch,
    score_splits,
)
from privet.privacy.budget import Cost, Number
from privet.privacy.charges import Charge
from privet.privacy.criteria import Criterion, criterion_named, entropy_table
from privet.privacy.mechanisms import permute_and_flip, selection_rate
from privet.privacy.samplers import check_rate
from privet.privacy.selection import bounded_range_epsilon, exponential_ranges, weight_table
from privet.privacy.tree_questions import MAX_CELLS, TreeQuestions
from privet.privacy.wall import NoisyCounts, cost_of
from privet.soundness import check_splits, view_sizes
from privet.structure import MultiwayTrees, Splits


@dataclass(frozen=True)
class ChosenSplits:
    """The choice of every leaf, −1 where it may take none, and its threshold, 0 where it has none."""

    choice: np.ndarray
    threshold: np.ndarray


def open_leaf_rows(n_trees: int) -> str:
    """The question that `noisy_leaf_totals` asks, for plans."""
    return f"rows by leaf of {n_trees} trees"


def split_rows(by_label: bool) -> str:
    """The question that `noisy_split_counts` asks, for plans."""
    return "rows by leaf and code of every split" + (" and label" if by_label else "")


def split_choice(criterion: str, n_trees: int) -> str:
    """The question that `choose_split` asks, for plans."""
    return f"split of every open leaf of {n_trees} trees by {criterion}"


class SplitQuestions(TreeQuestions):
    """What can be asked of the leaves of growing trees."""

    __slots__ = ()

    def noisy_leaf_totals(
        self, trees: MultiwayTrees, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> NoisyCounts:
        """Rows of every leaf of every tree, whatever their label.

        Privacy
        -------
        ε-DP or ρ-zCDP over all trees together; a row is in one leaf a tree, so the L1 sensitivity and
        the squared L2 sensitivity are the number of trees. Proof: *Discrete Laplace*, *Discrete
        Gaussian*.
        """
        self._check(trees, MultiwayTrees)
        charge = Charge(open_leaf_rows(trees.n_trees), cost_of(epsilon, rho, trees.n_trees))
        exact_counts = self._ask(charge, lambda batch: count_rows(trees, batch.features, batch.kept))
        return self._with_noise(exact_counts, trees.n_trees, charge.cost)

    def noisy_split_counts(
        self,
        trees: MultiwayTrees,
        splits: Splits,
        *,
        by_label: bool,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisyCounts:
        """Rows of every leaf by the codes of every choice, ``(leaves, codes of all choices, labels)``.

        What a leaf may not take is zero plus noise. Without ``by_label`` there is one column.

        Privacy
        -------
        ε-DP or ρ-zCDP over all leaves and choices together. A row is in one leaf a tree, and there in one
        cell a choice, so both sensitivities are trees times the most choices of a leaf. Proof: *Counts of
        splits*.
        """
        sizes = self._check_splits(trees, splits)
        n_labels = len(self.schema.label.values) if by_label else 1
        if len(splits.lowest) * int(sizes.sum()) * n_labels > MAX_CELLS:
            raise QuestionError("these leaves have too many codes to count.", "take shallower trees.")
        sensitivity = trees.n_trees * max(int(splits.allowed.sum(axis=1).max()), 1)
        charge = Charge(split_rows(by_label), cost_of(epsilon, rho, sensitivity))
        exact_counts = self._ask(
            charge,
            lambda batch: count_splits(
                trees, splits, sizes, batch.features, batch.labels if by_label else 0 * batch.labels, n_labels
            ),
        )
        return self._with_noise(exact_counts, sensitivity, charge.cost)

    def choose_split(
        self,
        trees: MultiwayTrees,
        splits: Splits,
        criterion: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> ChosenSplits:
        """One split for every open leaf of every tree, each chosen among the leaf's own.

        A choice with thresholds weighs as much as one without: its thresholds share that weight.

        Privacy
        -------
        ε-DP, or ρ-zCDP, over all trees together: each is asked with its even share. A row is in one leaf a
        tree, and all scores of that leaf move one way, by at most the criterion's sensitivity. Without
        thresholds a pure ε buys permute-and-flip, otherwise the exponential mechanism, which is
        bounded-range: at ρ it has ε = √(8ρ). Proof: *Splits*, *Ranges of equal score*.
        """
        self._check_splits(trees, splits)
        measure = criterion_named(criterion, self.schema)
        charge = Charge(split_choice(criterion, trees.n_trees), cost_of(epsilon, rho))
        rate = choice_rate(charge.cost, trees.n_trees, measure)
        routed = self._ask(charge, lambda batch: route_batch(trees, batch.features, batch.labels, batch.kept))
        n_labels = len(self.schema.label.values)
        exact_rows = by_leaf(routed, np.asarray(splits.allowed.any(axis=1)), n_labels)
        pure = charge.cost.epsilon is not None
        return self._choose_splits(exact_rows, trees, splits, measure, rate, pure)

    def _choose_splits(
        self,
        exact_rows: LeafRows,
        trees: MultiwayTrees,
        splits: Splits,
        measure: Criterion,
        rate: Fraction,
        pure: bool,
    ) -> ChosenSplits:
        n_labels, table = len(self.schema.label.values), weight_table(rate)
        scoring = Scoring(
            measure.number,
            measure.fraction_bits,
            entropy_table(measure, exact_rows.n_rows),
            table.fine,
            table.coarse,
            table.shift,
        )
        exact_best, exact_mass = score_splits(exact_rows, trees.views, splits, n_labels, scoring)
        open_ = np.flatnonzero(splits.allowed.any(axis=1))
        choice, threshold = np.full(len(exact_best), -1), np.zeros(len(exact_best), np.int64)
        if pure and not splits.highest[splits.allowed].any():
            choice[open_] = self._choose_alone(exact_best[open_], splits.allowed[open_], rate)
            return ChosenSplits(choice, threshold)

        def locate(leaves: np.ndarray, choices: np.ndarray, points: np.ndarray) -> np.ndarray:
            asked = (open_[leaves], choices, points)
            return find_thresholds(exact_rows, trees.views, splits, n_labels, scoring, *asked)

        thresholds = np.where(splits.highest > 0, splits.highest - splits.lowest + 1, 0)[open_]
        chosen = exponential_ranges(
            exact_best[open_], exact_mass[open_], thresholds, locate, table, self._bits
        )
        choice[open_], threshold[open_] = chosen
        return ChosenSplits(choice, threshold)

    def _choose_alone(self, exact_scores: np.ndarray, allowed: np.ndarray, rate: Fraction) -> np.ndarray:
        """Permute-and-flip in every row among its allowed columns: rows with as many are chosen at once."""
        chosen = np.empty(len(exact_scores), np.int64)
        n_allowed = allowed.sum(axis=1)
        for size in np.unique(n_allowed):
            rows = np.flatnonzero(n_allowed == size)
            columns = np.nonzero(allowed[rows])[1].reshape(len(rows), size)
            scores = np.take_along_axis(exact_scores[rows], columns, axis=1)
            chosen[rows] = columns[np.arange(len(rows)), permute_and_flip(scores, rate, self._bits)]
        return chosen

    def _check_splits(self, trees: MultiwayTrees, splits: Splits) -> np.ndarray:
        """Numbers of codes of the choices, once trees and splits are known to be sound."""
        self._check(trees, MultiwayTrees)
        check_splits(splits, trees, self.schema)
        return view_sizes(trees.views, self.schema)[splits.view]


def choice_rate(cost: Cost, n_trees: int, measure: Criterion) -> Fraction:
    """Exponent per unit of score, or a refusal while it is free."""
    share = cost.epsilon / n_trees if cost.epsilon is not None else bounded_range_epsilon(cost.rho / n_trees)
    rate = selection_rate(share, Fraction(measure.sensitivity), monotone=True)
    check_rate(rate)
    return rate
