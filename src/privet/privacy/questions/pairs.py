"""Questions of two models at once: rows by cell of both their scores, by which the two are weighed.

A row is in one cell, which follows from it and the released models alone.

Proof note: ``docs/proofs/gradients.md``, *Two models*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels import gradients as kernel
from privet.privacy.budget import Cost
from privet.privacy.laws import Change
from privet.privacy.question import Counts, Terms
from privet.privacy.questions.numbers import SoftRows
from privet.schema import Schema
from privet.structure import Additive

MOST_CELLS = 64
"""By the score of one model."""


class OfPair:
    """What is asked about the scores of two models, which ``first_edges`` and ``second_edges`` cut."""

    first: Additive
    first_edges: Sequence[float]
    second_edges: Sequence[float]

    def check(self, schema: Schema) -> None:
        super().check(schema)  # type: ignore[misc]
        for edges in (self.first_edges, self.second_edges):
            if not edges or len(edges) >= MOST_CELLS or {*map(type, edges)} != {float}:
                raise QuestionError(f"give 1 to {MOST_CELLS - 1} edges, which are real numbers.")
            if not all(map(isfinite, edges)) or any(b <= a for a, b in pairwise(edges)):
                raise QuestionError("edges are finite and ascend.", "sort them, each once.")

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Both, as arrays."""
        return np.array(self.first_edges), np.array(self.second_edges)

    @property
    def n_cells(self) -> int:
        """Cells of both scores together."""
        return (len(self.first_edges) + 1) * (len(self.second_edges) + 1)


@dataclass(frozen=True)
class PairRows(OfPair, Counts):
    """Rows by cell of two models' scores: by label, ``(cells, 2)``, or by contrast, ``(cells, 1)``.

    Of two labels a row is in the cell of its scores. Of more it is in a cell for each label that it
    has not: of how far the score of its own is above that one's, under either model.

    Privacy
    -------
    ε-DP or ρ-zCDP. A row adds 1 to one count for two labels, else labels − 1 to counts that may be the
    same one: labels − 1 in L1 norm, and its square in squared L2 norm. Proof: *Two models*.
    """

    method = "noisy_pair_rows"
    text = "rows by the scores of two models"
    first: Additive
    second: Additive
    first_edges: Sequence[float]
    second_edges: Sequence[float]

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> Change:
        others = max(sizes[0] - 1, 1)
        return Change(others, others**2)

    def sizes(self, schema: Schema) -> tuple[int]:
        return (schema.n_labels,)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        models, n_labels = (self.first, self.second, self.edges), terms.schema.n_labels
        if n_labels <= 2:
            place = 2 * kernel.cells_of_pair(*models, batch.features) + batch.labels
            return np.bincount(place, minlength=2 * self.n_cells).reshape(-1, 2)
        cells = kernel.cells_of_contrasts(*models, batch.features, batch.labels)
        return np.bincount(cells.ravel(), minlength=self.n_cells)[:, None]


@dataclass(frozen=True)
class PairTargetRows(OfPair, SoftRows):
    """Rows below and above the second model's score by cell of two models' scores, ``(cells, 2)``.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row adds 1 in L1 norm to one cell, and no more in squared L2 norm. Proof: *Residuals*,
    *Two models*.
    """

    method = "noisy_pair_target_rows"
    text = "rows by the scores of two models and the number to predict"
    first: Additive
    additive: Additive
    first_edges: Sequence[float]
    second_edges: Sequence[float]
    width: float

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        grid = self.grid(terms)
        cells = kernel.cells_of_pair(self.first, self.additive, self.edges, batch.features)
        residuals = kernel.whole_residuals(self.additive, batch.features, batch.labels, grid)
        sums = np.zeros((self.n_cells, 2), np.int64)
        np.add.at(sums, cells, np.stack([grid.bound - residuals, grid.bound + residuals], axis=1))
        return sums
