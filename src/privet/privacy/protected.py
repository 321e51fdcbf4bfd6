"""The wall: rows on one side, questions on the other.

A learner holds a `Protected` and nothing else. Every question is charged before a row is read, asks a
whole level or a whole forest at once, and returns only what a mechanism let through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from privet.data import Codes, encode, open_table
from privet.engines import Batch, Engine, MemoryEngine
from privet.errors import DataError, PrivetError, QuestionError
from privet.kernels.count import count_assigned, count_cells, count_leaves
from privet.kernels.gradients import (
    Grid,
    count_bins,
    count_leaves_of_last,
    sum_gradients_by_bin,
    sum_gradients_by_leaf,
)
from privet.privacy.bits import Bits, SecureBits, uniform_below
from privet.privacy.budget import Cost, Number, in_sequence
from privet.privacy.gradients import (
    BIN_GRADIENTS,
    BIN_ROWS,
    LABEL_ROWS,
    LEAF_GRADIENTS,
    LEAF_ROWS,
    NoisySums,
    check_asked,
    gradient_clip,
    gradient_grid,
    last_trees,
    noise_sd,
)
from privet.privacy.ledger import Account, Charge, Receipt
from privet.privacy.mechanisms import (
    gaussian_counts,
    laplace_counts,
    permute_and_flip,
    selection_rate,
)
from privet.privacy.samplers import check_rate, check_variance
from privet.privacy.sparse import sparse_laplace, sparse_threshold
from privet.schema import Schema
from privet.soundness import check_additive, check_bins, check_structure
from privet.structure import (
    Additive,
    Bins,
    CompleteTrees,
    LevelTrees,
    MultiwayTrees,
    Structure,
)

NEIGHBOURS = "add or remove one row"
MAX_CELLS = 1 << 28
SLICE = 1 << 16
"""Leaves whose labels are chosen at a time: their coins need little memory."""


@dataclass(frozen=True)
class NoisyCounts:
    """Counts with noise, and the noise's law: ``laplace`` (scale) or ``gaussian`` (variance)."""

    values: np.ndarray
    law: str
    parameter: Fraction


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


def random_parts(n: int) -> str:
    """How what is asked of random parts composes, for plans."""
    return f"parallel over {n} random parts"


class Protected:
    """Rows behind the wall.

    Parameters
    ----------
    engine : Engine
        Where the rows lie.
    schema : Schema
    account : Account
        Whose budget pays.
    bits : SecureBits or StudyBits
    """

    __slots__ = ("_account", "_asked", "_bits", "_engine", "_planned", "_receipt", "_schema")

    def __init__(self, engine: Engine, schema: Schema, account: Account, bits: Bits | None = None) -> None:
        self._schema = schema
        self._engine = engine
        self._account = account
        self._bits: Bits = bits or SecureBits()
        self._asked: list[Charge] = []
        self._planned: list[Charge] = []
        self._receipt: Receipt | None = None

    def __repr__(self) -> str:
        return f"Protected({self._account.name!r}, {len(self.schema.features)} features)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise QuestionError("protected rows cannot be copied or pickled.", "pass the object itself.")

    @property
    def schema(self) -> Schema:
        """The public contract under which rows are read."""
        return self._schema

    @property
    def account_name(self) -> str:
        """Name of the data set that pays."""
        return self._account.name

    @property
    def batch_name(self) -> str | None:
        """Name of the disjoint batch that pays, if it is one."""
        return self._account.batch_name

    @property
    def asked(self) -> tuple[Charge, ...]:
        """What has been asked through this object, in order."""
        return tuple(self._asked)

    @property
    def receipt(self) -> Receipt | None:
        """Where the last charge stands in the ledger."""
        return self._receipt

    @property
    def private(self) -> bool:
        """False where the noise can be repeated, as in studies and tests."""
        return self._bits.private

    def reserve(self, plan: Sequence[Charge]) -> None:
        """Charge a whole plan before its first question, or refuse it whole.

        The questions that follow must be those of the plan, in its order and at no higher cost.
        What is planned and not asked stays spent.
        """
        self._receipt = self._account.reserve(plan, self.schema.fingerprint)
        self._planned = list(plan)

    def refine(self, plan: Sequence[Charge]) -> None:
        """Replace what is left of the plan by questions that cost no more than it.

        Privacy
        -------
        Whatever the answers so far, the questions left cost no more than was reserved for them: the
        two compose in sequence. Proof: *Sequence*.
        """
        wanted, left = in_sequence(c.cost for c in plan), in_sequence(c.cost for c in self._planned)
        if _exceeds(wanted, left):
            raise QuestionError(f"{left} is left of the plan, not {wanted}.", "plan within what is left.")
        self._planned = list(plan)

    def batch(self, source: Any, name: str, labels: Any = None) -> Protected:
        """A later, disjoint set of people, whose questions cost in parallel to those of others.

        Privacy
        -------
        Holds if nobody of this batch is in another one; the ledger keeps that declaration. Proof:
        *Parallel composition*.
        """
        return protect(source, self.schema, self._account.batch(name), labels, self._bits)

    def split(self, n: int) -> Parts:
        """Disjoint random parts: every row draws its own, whatever the other rows do.

        Privacy
        -------
        What is asked of the parts costs the maximum. Proof: *Parallel composition*.
        """
        return Parts(self, n)

    def noisy_count(self, *, epsilon: Number | None = None, rho: Number | None = None) -> NoisyCounts:
        """Number of rows.

        Privacy
        -------
        ε-DP or ρ-zCDP; sensitivity 1. Proof: *Discrete Laplace*, *Discrete Gaussian*.
        """
        charge = Charge("number of rows", _cost(epsilon, rho, 1))
        exact_rows = self._ask(charge, lambda batch: np.array([len(batch.labels)]))
        return self._with_noise(exact_rows, 1, charge.cost)

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
        self._check(structure)
        charge = Charge(leaf_rows(structure.n_trees), _cost(epsilon, rho, structure.n_trees))
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
        n_labels, n_trees = len(self.schema.label.values), structure.n_trees
        self._check(structure)
        question = f"frequent cells of {n_trees} level-wise trees"
        charge = Charge(question, _cost(epsilon, None, n_trees))
        exact_cells = self._ask(
            charge, lambda batch: count_cells(structure, batch.features, batch.labels, n_labels)
        )
        scale = n_trees / _pure(charge.cost)
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
        self._check(structure)
        question = f"most frequent label of every leaf of {structure.n_trees} trees"
        charge = Charge(question, _cost(epsilon, None, structure.n_trees))
        exact_counts = self._ask(
            charge, lambda batch: count_leaves(structure, batch.features, batch.labels, n_labels)
        )
        return self._choose(exact_counts, _pure(charge.cost) / structure.n_trees)

    def noisy_label_rows(self, *, epsilon: Number | None = None, rho: Number | None = None) -> NoisyCounts:
        """Rows by label.

        Privacy
        -------
        ε-DP or ρ-zCDP; a row has one label, so both sensitivities are 1. Proof: *Discrete Laplace*,
        *Discrete Gaussian*.
        """
        n_labels = len(self.schema.label.values)
        charge = Charge(LABEL_ROWS, _cost(epsilon, rho, 1))
        exact_rows = self._ask(charge, lambda batch: np.bincount(batch.labels, minlength=n_labels))
        return self._with_noise(exact_rows, 1, charge.cost)

    def noisy_bin_rows(
        self, bins: Bins, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> NoisyCounts:
        """Rows by bin and label of every feature, ``(bins, labels)``.

        Privacy
        -------
        ε-DP or ρ-zCDP over all features together; a row is in one bin a feature, so the L1 sensitivity
        and the squared L2 sensitivity are the number of features. Proof: *Sums of gradients*.
        """
        check_bins(bins, self.schema)
        n_labels, n_features = len(self.schema.label.values), len(self.schema.features)
        charge = Charge(BIN_ROWS, _cost(epsilon, rho, n_features))
        exact_rows = self._ask(charge, lambda batch: count_bins(bins, batch.features, batch.labels, n_labels))
        return self._with_noise(exact_rows, n_features, charge.cost)

    def noisy_bin_gradients(
        self,
        additive: Additive,
        features: Sequence[int],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
    ) -> NoisySums:
        """Sums of the rows' clipped gradients by bin of some features, ``(bins, scores)``.

        Bins of features that are not asked are zero.

        Privacy
        -------
        ε-DP or ρ-zCDP over all asked features together. Proof: *Sums of gradients*.
        """
        check_additive(additive, self.schema)
        asked = np.array(features, np.int64)
        check_asked(asked, len(self.schema.features))
        charge = Charge(BIN_GRADIENTS, _cost(epsilon, rho))
        grid = self._grid(len(asked), charge.cost)
        exact_sums = self._ask(
            charge, lambda batch: sum_gradients_by_bin(additive, asked, batch.features, batch.labels, grid)
        )
        rows = np.concatenate([np.arange(additive.bins.n_bins)[additive.bins.slices[j]] for j in asked])
        noisy = self._noisy_sums(exact_sums[rows], len(asked), grid, charge.cost)
        values = np.zeros(exact_sums.shape)
        values[rows] = noisy.values
        return NoisySums(values, noisy.sd)

    def noisy_leaf_rows(
        self, additive: Additive, n_trees: int, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> NoisyCounts:
        """Rows by leaf of the last trees of a model, ``(trees, leaves)``.

        Privacy
        -------
        ε-DP or ρ-zCDP; a row is in one leaf a tree, so the L1 sensitivity and the squared L2
        sensitivity are the number of trees. Proof: *Sums of gradients*.
        """
        check_additive(additive, self.schema)
        asked = last_trees(n_trees, additive)
        charge = Charge(LEAF_ROWS, _cost(epsilon, rho, asked))
        exact_rows = self._ask(charge, lambda batch: count_leaves_of_last(additive, asked, batch.features))
        return self._with_noise(exact_rows, asked, charge.cost)

    def noisy_leaf_gradients(
        self, additive: Additive, n_trees: int, *, epsilon: Number | None = None, rho: Number | None = None
    ) -> NoisySums:
        """Sums of the rows' clipped gradients by leaf of the last trees, ``(trees, leaves, scores)``.

        Privacy
        -------
        ε-DP or ρ-zCDP over all asked trees together. Proof: *Sums of gradients*.
        """
        check_additive(additive, self.schema)
        asked = last_trees(n_trees, additive)
        charge = Charge(LEAF_GRADIENTS, _cost(epsilon, rho))
        grid = self._grid(asked, charge.cost)
        exact_sums = self._ask(
            charge, lambda batch: sum_gradients_by_leaf(additive, asked, batch.features, batch.labels, grid)
        )
        return self._noisy_sums(exact_sums, asked, grid, charge.cost)

    def _grid(self, n_blocks: int, cost: Cost) -> Grid:
        """Grid of the gradients, refused while it is free if its noise could not be drawn."""
        grid = gradient_grid(len(self.schema.label.values), n_blocks, cost)
        check_noise(n_blocks * grid.bound, cost)
        return grid

    def _noisy_sums(self, exact_sums: np.ndarray, n_blocks: int, grid: Grid, cost: Cost) -> NoisySums:
        """A row changes each block by a gradient within the grid's bound, in the norm of the noise."""
        noisy = self._with_noise(exact_sums, n_blocks * grid.bound, cost)
        clip = gradient_clip(len(self.schema.label.values), grid.norm)
        return NoisySums(
            np.ldexp(noisy.values.astype(np.float64), -grid.fraction_bits), noise_sd(n_blocks, clip, cost)
        )

    def _ask(self, charge: Charge, kernel: Callable[[Batch], Any]) -> Any:
        """Charge, then read. The only place where rows are reached."""
        if not self._planned:
            self.reserve([charge])
        planned = self._planned.pop(0)
        same = (planned.question, planned.composition) == (charge.question, charge.composition)
        if not same or _exceeds(charge.cost, planned.cost):
            raise QuestionError(
                f"the plan has {planned.question!r} at {planned.cost} next, "
                f"not {charge.question!r} at {charge.cost}.",
                "ask what was planned, in its order.",
            )
        try:
            exact_answer = self._engine.sum(kernel)
        except DataError:
            if not self._asked and self._receipt is not None:
                self._account.ledger._cancel(self._receipt, "the table does not fit its schema")
                self._planned, self._receipt = [], None
            raise
        self._asked.append(charge)
        return exact_answer

    def _with_noise(self, exact_counts: np.ndarray, sensitivity: int, cost: Cost) -> NoisyCounts:
        """Laplace noise by L1 sensitivity where the cost is pure, else Gaussian by squared L2 sensitivity."""
        if cost.epsilon is not None:
            scale = sensitivity / cost.epsilon
            return NoisyCounts(laplace_counts(exact_counts, scale, self._bits), "laplace", scale)
        variance = sensitivity / (2 * cost.rho)
        return NoisyCounts(gaussian_counts(exact_counts, variance, self._bits), "gaussian", variance)

    def _choose(self, exact_counts: np.ndarray, epsilon: Fraction) -> np.ndarray:
        rate = selection_rate(epsilon, Fraction(1), monotone=True)
        flat = exact_counts.reshape(-1, exact_counts.shape[-1])
        parts = [flat[first : first + SLICE] for first in range(0, len(flat), SLICE)]
        chosen = [permute_and_flip(part, rate, self._bits) for part in parts]
        return np.concatenate(chosen).reshape(exact_counts.shape[:-1])

    def _check(self, structure: Structure) -> None:
        n_labels = len(self.schema.label.values)
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

    def __init__(self, protected: Protected, n: int) -> None:
        if n < 1:
            raise QuestionError("rows cannot be split into fewer than 1 part.")
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
        charge = self.charge(structure, epsilon)
        exact_counts = self._protected._ask(charge, self._counter(structure))
        return self._protected._choose(exact_counts, _pure(charge.cost))

    def _check(self, structure: CompleteTrees) -> None:
        if structure.n_trees != self._n:
            raise QuestionError(f"{self._n} parts need {self._n} trees, not {structure.n_trees}.")
        self._protected._check(structure)

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
        charge = Charge(leaf_rows(self._n), _cost(epsilon, rho), random_parts(self._n))
        exact_counts = self._protected._ask(charge, self._counter(structure))
        return self._protected._with_noise(exact_counts, 1, charge.cost)

    def charge(self, structure: CompleteTrees, epsilon: Number) -> Charge:
        """What `choose_label` will cost."""
        question = f"most frequent label of every leaf of {structure.n_trees} trees"
        return Charge(question, _cost(epsilon, None), random_parts(self._n))


def protect(
    source: Any,
    schema: Schema,
    account: Account,
    labels: Any = None,
    bits: Bits | None = None,
    progress: Callable[[float], None] | None = None,
) -> Protected:
    """Put a table behind the wall. Column names are checked now, rows are read when paid for.

    Parameters
    ----------
    source : a frame, an Arrow table, a numpy array, or the path of a CSV or Parquet file
    schema : Schema
    account : Account
    labels : array-like, optional
        The label of each row, where it does not stand in the table.
    bits : SecureBits or StudyBits, optional
    progress : callable, optional
        Told which share of the rows has been read.
    """
    table = open_table(source, schema)
    table.require(schema.feature_names if labels is not None else [*schema.feature_names, schema.label.name])

    def load() -> Codes:
        try:
            codes = encode(table, schema, labels)
        except PrivetError:
            raise
        except Exception:
            codes = None
        if codes is None:  # raised here, where no exception that may quote a row is its context
            raise DataError(
                "the table could not be read through its schema.",
                "give columns of numbers, text or truth values; convert dates and other types.",
            )
        if schema.max_rows is not None and codes.n_rows > schema.max_rows:
            raise DataError(
                "the table has more rows than the schema's max_rows allows.",
                "raise max_rows: it must bound the rows, publicly.",
            )
        return codes

    return Protected(MemoryEngine(load, progress), schema, account, bits)


def check_noise(sensitivity: int, cost: Cost) -> None:
    """Refuse, before anything is charged, noise that could not be drawn."""
    if cost.epsilon is not None:
        check_rate(cost.epsilon / sensitivity)
    else:
        check_variance(sensitivity / (2 * cost.rho))


def _cost(epsilon: Number | None, rho: Number | None, sensitivity: int = 1) -> Cost:
    """Cost of an answer, read once from what the caller gave."""
    if (epsilon is None) == (rho is None):
        raise QuestionError("give either epsilon or rho.")
    cost = Cost.pure(epsilon) if epsilon is not None else Cost.zcdp(rho or 0)
    check_noise(sensitivity, cost)
    return cost


def _pure(cost: Cost) -> Fraction:
    assert cost.epsilon is not None
    return cost.epsilon


def _exceeds(asked: Cost, planned: Cost) -> bool:
    if asked.epsilon is None or planned.epsilon is None:
        return asked.epsilon is not planned.epsilon or asked.rho > planned.rho
    return asked.epsilon > planned.epsilon or asked.rho > planned.rho
