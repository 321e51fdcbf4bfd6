"""Questions of a model's quality: losses of its predictions, and rows by score and label.

A predictor is arrays that the wall checks and evaluates by its own kernel. A function handed in could
remember rows, or look at several at once; arrays cannot. Whatever the arrays hold, what one row adds
follows from that row alone and is an integer within bounds that are enforced on the integer.

Proof note: ``docs/proofs/scores.md``.
"""

from __future__ import annotations

import numpy as np

from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels.predict import row_shares
from privet.kernels.tally import (
    CELLS,
    LARGEST_LOSS,
    LOSS_BOUND,
    count_scores,
    own_weight,
    row_errors,
    row_losses,
    sum_losses,
)
from privet.privacy.budget import Number
from privet.privacy.charges import Charge
from privet.privacy.wall import NoisyCounts, Wall, cost_of
from privet.soundness import check_predictor
from privet.structure import Predictor

SCORE_ROWS = "rows by score and label of a model"

LOSSES = {"errors": (1, 1), "log loss": (LOSS_BOUND, LARGEST_LOSS)}
"""Largest loss of a row: in the whole units that are added up, and as it is."""


class ScoreQuestions(Wall):
    """What can be asked of how well a released model predicts these rows."""

    __slots__ = ()

    def noisy_losses(self, predictor: Predictor, loss: str, *, epsilon: Number) -> NoisyCounts:
        """Sums of the rows' losses u in 0 … b, of b − u, and of u²/8b rounded.

        ``loss`` is "errors", where b is 1, or "log loss", cut at 7 nats, where b is 7·2¹⁴. The first two
        sums add up to b times the number of rows, so no row needs to be counted besides.

        Privacy
        -------
        ε-DP. A row adds u + (b − u) + u²/8b: the L1 sensitivity is b and an eighth of it, rounded. Proof:
        *Losses of a model*.
        """
        if loss not in LOSSES:
            raise QuestionError(f"there is no loss {loss!r}.", f"losses are {', '.join(LOSSES)}.")
        bound, _ = LOSSES[loss]
        sensitivity = bound + (bound + 4) // 8
        check_predictor(predictor, self.schema)
        values = self.schema.label.values
        charge = Charge(f"{loss} of a model", cost_of(epsilon, None, sensitivity))

        def kernel(batch: Batch) -> np.ndarray:
            shares, labels = row_shares(predictor, batch.features, len(values)), batch.labels
            exact = row_errors(shares, labels, values) if loss == "errors" else row_losses(shares, labels)
            return sum_losses(exact, bound)

        return self._with_noise(self._ask(charge, kernel), sensitivity, charge.cost)

    def noisy_score_rows(
        self, predictor: Predictor, bins: np.ndarray | None = None, *, epsilon: Number
    ) -> NoisyCounts:
        """Rows by bin of a label's share and by whether they have that label, ``(labels, bins, 2)``.

        Of two labels the second is asked about, otherwise every one. A row that has the label counts
        ``labels − 1`` times: few rows have it, and most noise would fall on them. ``bins`` gathers the
        cells of a share; by default every cell is a bin.

        Privacy
        -------
        ε-DP; the L1 sensitivity is 1 for two labels, and 2·(labels − 1) for more. Proof: *Rows by score*.
        """
        n_labels = len(self.schema.label.values)
        if n_labels < 2:
            raise QuestionError("one label alone has no scores to rank.", "ask for its losses.")
        table = np.arange(CELLS) if bins is None else np.array(bins)
        fits = table.shape == (CELLS,) and table.dtype.kind in "iu"
        if not fits or table.min() < 0 or table.max() >= CELLS:
            raise QuestionError(f"give each of {CELLS} cells a bin, from 0 to {CELLS - 1}.")
        check_predictor(predictor, self.schema)
        sensitivity = 1 if n_labels == 2 else 2 * own_weight(n_labels)
        charge = Charge(SCORE_ROWS, cost_of(epsilon, None, sensitivity))
        n_bins = int(table.max()) + 1

        def kernel(batch: Batch) -> np.ndarray:
            shares = row_shares(predictor, batch.features, n_labels)
            return count_scores(shares, batch.labels, table, n_bins)

        return self._with_noise(self._ask(charge, kernel), sensitivity, charge.cost)
