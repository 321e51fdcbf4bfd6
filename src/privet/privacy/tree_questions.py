"""Questions about trees: counts and most frequent labels of their leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels.count import count_assigned, count_cells, count_leaves
from privet.privacy.bits import uniform_below
from privet.privacy.budget import Number
from privet.privacy.charges import Charge
from privet.privacy.sparse import sparse_laplace, sparse_threshold
from privet.privacy.wall import NoisyCounts, Wall, cost_of, pure
from privet.soundness import check_structure
from privet.structure import CompleteTrees, LevelTrees, MultiwayTrees, Structure

MAX_CELLS = 1 << 28


@dataclass(frozen=True)
class NoisyCells:
    """Cells of one tree whose noisy count reached a public threshold; a cell is leaf × labels + label."""

    cells: np.ndarray
    values: np.ndarray
    threshold: int
    scale: Fraction


def leaf_rows(n_trees: int) -> str:
    """The question that `noisy_histogram` asks, for plans."""
    return f"rows by leaf and label of {n_trees} trees"


def frequent_cells(n_trees: int) -> str:
    """The question that `noisy_cells` asks, for plans."""
    return f"frequent cells of {n_trees} level-wise trees"


def random_parts(n: int) -> str:
    """How what is asked of random parts composes, for plans."""
    return f"parallel over {n} random parts"


def label_charge(n: int, epsilon: Number) -> Charge:
    """What choosing the labels of n trees' leaves costs, each tree on its own part of the rows."""
    return Charge(f"most frequent label of every leaf of {n} trees", cost_of(epsilon, None), random_parts(n))


class TreeQuestions(Wall):
    """What can be asked of trees of every shape."""

    __slots__ = ()

    def split(self, n: int) -> Parts:
        """Disjoint random parts: every row draws its own, whatever the other rows do.

        Privacy
        -------
        What is asked of the parts costs the maximum. Proof: *Parallel composition*.
        """
        return Parts(self, n)

    def noisy_histogram(
        self,
        structure: CompleteTrees | MultiwayTrees,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisyCounts:
        """Rows by leaf and label of every tree, empty leaves included.

        Privacy
        -------
        ε-DP or ρ-zCDP over all trees together; a row is in one cell a tree, so the L1 sensitivity
        and the squared L2 sensitivity are the number of trees. Proof: *Discrete Laplace*, *Discrete
        Gaussian*.
        """
        n_labels = len(self.schema.label.values)
        self._check(structure, CompleteTrees, MultiwayTrees)
        charge = Charge(leaf_rows(structure.n_trees), cost_of(epsilon, rho, structure.n_trees))
        exact_counts = self._ask(
            charge, lambda batch: count_leaves(structure, batch.features, batch.labels, n_labels)
        )
        return self._with_noise(exact_counts, structure.n_trees, charge.cost)

    def noisy_cells(
        self, structure: LevelTrees, *, epsilon: Number, false_cells: int = 1000
    ) -> list[NoisyCells]:
        """Rows by leaf and label of trees too large to write down, where they reach a threshold.

        ``false_cells`` is about how many empty cells a tree will show.

        Privacy
        -------
        ε-DP over all trees together, the set of stored cells included. Proof: *Sparse histogram*.
        """
        self._check(structure, LevelTrees)
        n_labels, n_trees = len(self.schema.label.values), structure.n_trees
        if isinstance(false_cells, bool) or not isinstance(false_cells, int) or false_cells < 1:
            raise QuestionError("false_cells must be a whole number above 0.", "say, 1000.")
        charge = Charge(frequent_cells(n_trees), cost_of(epsilon, None, n_trees))
        exact_cells = self._ask(
            charge, lambda batch: count_cells(structure, batch.features, batch.labels, n_labels)
        )
        scale = n_trees / pure(charge.cost)
        released = []
        trees = zip(structure.n_leaves, exact_cells.cells, exact_cells.counts, strict=True)
        for n_leaves, cells, counts in trees:
            threshold = sparse_threshold(n_leaves * n_labels, scale, false_cells)
            kept = sparse_laplace(cells, counts, n_leaves * n_labels, scale, threshold, self._bits)
            released.append(NoisyCells(*kept, threshold, scale))
        return released

    def choose_label(self, structure: CompleteTrees | MultiwayTrees, *, epsilon: Number) -> np.ndarray:
        """Most frequent label of every leaf of every tree, as label codes; empty leaves say any label.

        Privacy
        -------
        ε-DP: each tree is asked with ε/trees. Counts have sensitivity 1 and are monotone. Proof:
        *Permute-and-flip*.
        """
        n_labels = len(self.schema.label.values)
        self._check(structure, CompleteTrees, MultiwayTrees)
        question = f"most frequent label of every leaf of {structure.n_trees} trees"
        charge = Charge(question, cost_of(epsilon, None, structure.n_trees))
        exact_counts = self._ask(
            charge, lambda batch: count_leaves(structure, batch.features, batch.labels, n_labels)
        )
        return self._choose(exact_counts, pure(charge.cost) / structure.n_trees)

    def _check(self, structure: Structure, *kinds: type[Structure]) -> None:
        n_labels = len(self.schema.label.values)
        # No subclass: it could bring code along.
        if type(structure) not in kinds:
            names = " or ".join(kind.__name__ for kind in kinds)
            raise QuestionError(
                "these trees are not of the kind that this question is about.", f"give {names}."
            )
        check_structure(structure, self.schema)
        if isinstance(structure, LevelTrees):
            return
        trees = structure.n_trees if isinstance(structure, CompleteTrees) else 1
        if trees * structure.n_leaves * n_labels > MAX_CELLS:
            raise QuestionError(
                "these trees have too many leaves to give every one its noise.",
                "take fewer or shallower trees, or ask for the frequent cells of level-wise trees.",
            )


class Parts:
    """Random disjoint parts of protected rows, drawn anew for every question."""

    def __init__(self, protected: TreeQuestions, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise QuestionError("rows are split into a whole number of parts, 1 at least.")
        self._protected = protected
        self._n = n

    def choose_label(self, structure: CompleteTrees, *, epsilon: Number) -> np.ndarray:
        """Most frequent label of every leaf, tree ``t`` being asked of part ``t`` alone.

        Privacy
        -------
        ε-DP: a row is in one part and in one leaf of its tree. Proof: *Parallel composition*,
        *Permute-and-flip*.
        """
        self._check(structure)
        charge = label_charge(self._n, epsilon)
        exact_counts = self._protected._ask(charge, self._counter(structure))
        return self._protected._choose(exact_counts, pure(charge.cost))

    def _check(self, structure: CompleteTrees) -> None:
        self._protected._check(structure, CompleteTrees)
        if structure.n_trees != self._n:
            raise QuestionError(f"{self._n} parts need {self._n} trees, not {structure.n_trees}.")

    def _counter(self, structure: CompleteTrees) -> Callable[[Batch], np.ndarray]:
        """Kernel that gives every row a part of its own drawing and counts it in that part's tree."""
        n_labels, bits = len(self._protected.schema.label.values), self._protected._bits

        def kernel(batch: Batch) -> np.ndarray:
            part = uniform_below(np.full(len(batch.labels), self._n), bits)
            return count_assigned(structure, batch.features, batch.labels, n_labels, part)

        return kernel

    def noisy_histogram(
        self, structure: CompleteTrees, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> NoisyCounts:
        """Rows by leaf and label, tree ``t`` counting part ``t`` alone, empty leaves included.

        Privacy
        -------
        ε-DP or ρ-zCDP: a row is in one cell of one tree, so both sensitivities are 1. Proof: *Parallel
        composition*, *Discrete Laplace*, *Discrete Gaussian*.
        """
        self._check(structure)
        charge = Charge(leaf_rows(self._n), cost_of(epsilon, rho), random_parts(self._n))
        exact_counts = self._protected._ask(charge, self._counter(structure))
        return self._protected._with_noise(exact_counts, 1, charge.cost)
