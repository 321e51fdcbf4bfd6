"""Questions of boosting: rows by label and bin, and sums of gradients by bin and leaf.

Proof note: ``docs/proofs/gradients.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.kernels.gradients import (
    Grid,
    count_bins,
    count_leaves_of_last,
    sum_gradients_by_bin,
    sum_gradients_by_leaf,
)
from privet.privacy.budget import Cost, Number
from privet.privacy.charges import Charge
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
from privet.privacy.wall import NoisyCounts, Wall, check_noise, cost_of
from privet.soundness import check_additive, check_bins
from privet.structure import Additive, Bins


class BoostingQuestions(Wall):
    """What can be asked of bins and of the leaves of oblivious trees."""

    __slots__ = ()

    def noisy_label_rows(self, *, epsilon: Number | None = None, rho: Number | None = None) -> NoisyCounts:
        """Rows by label.

        Privacy
        -------
        ε-DP or ρ-zCDP; a row has one label, so both sensitivities are 1. Proof: *Discrete Laplace*,
        *Discrete Gaussian*.
        """
        n_labels = len(self.schema.label.values)
        charge = Charge(LABEL_ROWS, cost_of(epsilon, rho, 1))
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
        charge = Charge(BIN_ROWS, cost_of(epsilon, rho, n_features))
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
        charge = Charge(BIN_GRADIENTS, cost_of(epsilon, rho))
        grid = self._grid(len(asked), charge.cost)
        exact_sums = self._ask(
            charge, lambda batch: sum_gradients_by_bin(additive, asked, *batch[:2], grid, batch.kept)
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
        charge = Charge(LEAF_ROWS, cost_of(epsilon, rho, asked))
        exact_rows = self._ask(
            charge, lambda batch: count_leaves_of_last(additive, asked, batch.features, batch.kept)
        )
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
        charge = Charge(LEAF_GRADIENTS, cost_of(epsilon, rho))
        grid = self._grid(asked, charge.cost)
        exact_sums = self._ask(
            charge, lambda batch: sum_gradients_by_leaf(additive, asked, *batch[:2], grid, batch.kept)
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
