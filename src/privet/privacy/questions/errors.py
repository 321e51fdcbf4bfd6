"""Questions of how far a released model's numbers are off: rows by size of error, and sums of bounded errors.

As for labels, a predictor is arrays that the wall checks and evaluates itself, and what a row adds is an
integer within bounds that are enforced on the integer.

Proof note: ``docs/proofs/scores.md``, *Errors of numbers*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels.predict import row_numbers
from privet.kernels.tally import SQUARE_BOUND, row_powers, sum_losses
from privet.privacy.budget import Cost
from privet.privacy.laws import Change
from privet.privacy.question import Counts, Terms
from privet.privacy.questions.numbers import check_edges, numbers_by
from privet.schema import Schema, Target
from privet.soundness import check_predictor
from privet.structure import Predictor

BOUND = SQUARE_BOUND
"""Largest loss of a row in the whole units that are added up."""

POWERS = (1, 2)


class OfErrors(Counts):
    """What is asked of the rows' errors, within the target's public range."""

    predicts = (Target,)
    predictor: Predictor

    def check(self, schema: Schema) -> None:
        numbers_by(schema, 1.0)
        check_predictor(self.predictor, schema)

    def errors(self, batch: Batch, terms: Terms) -> np.ndarray:
        """Absolute error of each row, in the target's unit."""
        target = terms.schema.target
        true = target.value(0) + target.width * batch.labels.astype(float)
        return np.abs(true - row_numbers(self.predictor, batch.features, target))


@dataclass(frozen=True)
class ErrorRows(OfErrors):
    """Rows by the absolute error of a model, ``(edges + 1,)``.

    ``edges`` are where cells end, ascending, in the target's own unit; the last cell has no end.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row is in one cell, so both sensitivities are 1. Proof: *Errors of numbers*.
    """

    method = "noisy_error_rows"
    text = "rows by error of a model"
    predictor: Predictor
    edges: Sequence[float]

    def check(self, schema: Schema) -> None:
        super().check(schema)
        check_edges(self.edges)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        cells = np.searchsorted(np.array(self.edges, float), self.errors(batch, terms), side="right")
        return np.bincount(cells, minlength=len(self.edges) + 1)


@dataclass(frozen=True)
class ErrorSums(OfErrors):
    """Sums of the rows' losses u in 0 … b, of b − u, and of u²/8b rounded; b is 2¹⁴.

    A loss is the absolute error in widths to the ``power`` of 1 or 2, cut at 1. The first two sums add up
    to b times the number of rows.

    Privacy
    -------
    ε-DP or ρ-zCDP. A row adds u + (b − u) + u²/8b: the L1 sensitivity is b and an eighth of it, rounded;
    the sum of the squares is largest at u = b. Proof: *Losses of a model*, *Errors of numbers*.
    """

    method = "noisy_error_sums"
    text = "sums of a model's errors"
    predictor: Predictor
    power: int
    width: float

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> Change:
        eighth = (BOUND + 4) // 8
        return Change(BOUND + eighth, BOUND**2 + eighth**2)

    def check(self, schema: Schema) -> None:
        super().check(schema)
        numbers_by(schema, self.width)
        if type(self.power) is not int or self.power not in POWERS:
            raise QuestionError("errors are added up as they are, or squared.", "give a power of 1 or 2.")

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        return sum_losses(row_powers(self.errors(batch, terms) / self.width, self.power), BOUND)
