"""Questions of a model's quality: losses of its predictions, and rows by score and label.

A predictor is arrays that the wall checks and evaluates by its own kernel. A function handed in could
remember rows, or look at several at once; arrays cannot. Whatever the arrays hold, what one row adds
follows from that row alone and is an integer within bounds that are enforced on the integer.

Proof note: ``docs/proofs/scores.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels import tally as kernel
from privet.kernels.predict import row_shares, to_choose
from privet.privacy.budget import Cost
from privet.privacy.laws import Change
from privet.privacy.question import Counts, Terms
from privet.privacy.questions.numbers import check_edges
from privet.schema import Schema
from privet.soundness import check_predictor
from privet.structure import Scored

SCORE_EDGES = kernel.CELL_EDGES
"""Shares at which the cells of `ScoreRows` end."""

LOSSES = {
    "errors": (1, 1),
    "log loss": (kernel.LOSS_BOUND, kernel.LARGEST_LOSS),
    "squared error": (kernel.SQUARE_BOUND, 1),
}
"""Largest loss of a row: in the whole units that are added up, and as it is."""


@dataclass(frozen=True)
class Losses(Counts):
    """Sums of the rows' losses u in 0 … b, of b − u, and of u²/8b rounded.

    ``loss`` is "errors", where b is 1, "log loss", cut at 7 nats, where b is 7·2¹⁴, or "squared error",
    half the squared distance of the shares from the label, where b is 2¹⁴. The first two sums add up
    to b times the number of rows, so no row needs to be counted besides.

    Privacy
    -------
    ε-DP or ρ-zCDP. A row adds u + (b − u) + u²/8b: the L1 sensitivity is b and an eighth of it, rounded;
    the sum of the squares is largest at u = b. Proof: *Losses of a model*.
    """

    method = "noisy_losses"
    text = "{} of a model"
    predictor: Scored
    loss: str

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> Change:
        bound, _ = LOSSES[sizes[0]]
        eighth = (bound + 4) // 8
        return Change(bound + eighth, bound**2 + eighth**2)

    def sizes(self, schema: Schema) -> tuple[str]:
        return (self.loss,)

    def check(self, schema: Schema) -> None:
        if self.loss not in LOSSES:
            raise QuestionError(f"there is no loss {self.loss!r}.", f"losses are {', '.join(LOSSES)}.")
        check_predictor(self.predictor, schema)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        values, labels = terms.schema.classes, batch.labels
        shares = row_shares(self.predictor, batch.features, len(values))
        if self.loss == "errors":
            exact = kernel.row_errors(to_choose(self.predictor, shares), labels, values)
        else:
            of_row = kernel.row_losses if self.loss == "log loss" else kernel.row_squares
            exact = of_row(shares, labels)
        return kernel.sum_losses(exact, LOSSES[self.loss][0])


@dataclass(frozen=True)
class PredictedRows(Counts):
    """Rows by the label that a model predicts and the one that they have, ``(labels, labels)``.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row is in one cell, so both sensitivities are 1. Proof: *Rows by prediction*.
    """

    method = "noisy_predicted_rows"
    text = "rows by prediction and label of a model"
    predictor: Scored

    def check(self, schema: Schema) -> None:
        check_predictor(self.predictor, schema)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        values = terms.schema.classes
        shares = row_shares(self.predictor, batch.features, len(values))
        return kernel.count_predicted(to_choose(self.predictor, shares), batch.labels, values)


@dataclass(frozen=True)
class Reliability(Counts):
    """Shares by bin of a share and by whether rows are as told, ``(bins, 2, 2)``, in units of 2⁻¹⁴.

    Of two labels it is the second's share, of more that of the predicted label. What a row's share u is
    missing to one comes first, then u itself: both add up to one a row, so rows need not be counted besides.

    Privacy
    -------
    ε-DP or ρ-zCDP. A row adds u and 2¹⁴ − u to two numbers of one bin: 2¹⁴ in L1 norm, and in L2 norm no
    more. Proof: *Shares by bin*.
    """

    method = "noisy_reliability"
    text = "shares by bin of a model"
    predictor: Scored

    @staticmethod
    def change(cost: Cost, *sizes: Any) -> Change:
        return Change(kernel.SHARE_UNITS, kernel.SHARE_UNITS**2)

    def check(self, schema: Schema) -> None:
        if schema.n_labels < 2:
            raise QuestionError("one label alone has no shares to check.", "ask for the accuracy.")
        check_predictor(self.predictor, schema)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        values = terms.schema.classes
        return kernel.sum_reliability(
            row_shares(self.predictor, batch.features, len(values)), batch.labels, values
        )


@dataclass(frozen=True)
class SureRows(Counts):
    """Rows by cell of the predicted label's share, and by whether they have another label or that one.

    ``(cells, 2)``; ``edges`` are the shares at which cells end, ascending.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row is in one cell, so both sensitivities are 1. Proof: *Rows by sureness*.
    """

    method = "noisy_sure_rows"
    text = "rows by how sure a model is and whether it is right"
    predictor: Scored
    edges: Sequence[float]

    def check(self, schema: Schema) -> None:
        if schema.n_labels < 2:
            raise QuestionError("one label alone is always right.", "count the rows.")
        check_edges(self.edges)
        check_predictor(self.predictor, schema)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        values = terms.schema.classes
        shares = row_shares(self.predictor, batch.features, len(values))
        return kernel.count_sure(shares, batch.labels, values, np.array(self.edges))


@dataclass(frozen=True)
class ScoreRows(Counts):
    """Rows by bin of a label's share and by whether they have that label, ``(labels, bins, 2)``.

    Of two labels the second is asked about, otherwise every one. A row that has the label counts
    ``labels − 1`` times: few rows have it, and most noise would fall on them. ``bins`` gathers the
    cells of a share; by default every cell is a bin.

    Privacy
    -------
    ε-DP or ρ-zCDP; a row counts once for two labels, else ``labels − 1`` times for its own label and once
    for each other one. Proof: *Rows by score*.
    """

    method = "noisy_score_rows"
    text = "rows by score and label of a model"
    predictor: Scored
    bins: np.ndarray | None = None

    @staticmethod
    def change(cost: Cost, *sizes: int) -> Change:
        own = kernel.own_weight(sizes[0])
        return Change(1, 1) if sizes[0] == 2 else Change(2 * own, own**2 + own)

    def sizes(self, schema: Schema) -> tuple[int]:
        return (schema.n_labels,)

    def check(self, schema: Schema) -> None:
        if schema.n_labels < 2:
            raise QuestionError("one label alone has no scores to rank.", "ask for its losses.")
        table, cells = self._table, kernel.CELLS
        if (
            table.shape != (cells,)
            or table.dtype.kind not in "iu"
            or not 0 <= table.min() <= table.max() < cells
        ):
            raise QuestionError(f"give each of {cells} cells a bin, from 0 to {cells - 1}.")
        check_predictor(self.predictor, schema)

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        shares = row_shares(self.predictor, batch.features, terms.schema.n_labels)
        return kernel.count_scores(shares, batch.labels, self._table, int(self._table.max()) + 1)

    @property
    def _table(self) -> np.ndarray:
        return np.arange(kernel.CELLS) if self.bins is None else np.array(self.bins)
