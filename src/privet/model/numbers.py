"""What models of numbers have in common: predictions, and intervals around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import row_numbers
from privet.model.base import ReleasedModel
from privet.model.protocol import Predictions


@dataclass(frozen=True)
class ResidualSizes:
    """Noisy rows by the absolute size of their residual.

    Attributes
    ----------
    edges : float64 (cells,)
        Where cells end, ascending; rows beyond the last are left out.
    rows : float64 (cells,)
        Empty where they were not asked.
    """

    edges: np.ndarray
    rows: np.ndarray

    @classmethod
    def checked(cls, edges: np.ndarray, rows: np.ndarray) -> ResidualSizes:
        """From a file, which may hold anything."""
        sound = (
            edges.dtype == rows.dtype == np.float64 and edges.ndim == 1 and rows.shape in (edges.shape, (0,))
        )
        if not sound or not (np.isfinite(edges).all() and np.isfinite(rows).all()):
            raise QuestionError("sizes of residuals are numbers by edge.")
        return cls(edges, rows)

    def quantile(self, share: float) -> float:
        """Size below which a share of the residuals is, by the noisy rows."""
        if not len(self.rows):
            raise QuestionError(
                "this model released no sizes of residuals: rows, budget or passes were too few, or it was "
                "merged of what parties published.",
                "ask for a larger epsilon, or add a batch to a merged model.",
            )
        below = np.maximum.accumulate(np.cumsum(self.rows))
        known = np.append(0.0, below / max(float(below[-1]), 1.0))
        return float(np.interp(share, known, np.append(0.0, self.edges)))


class NumberModel(ReleasedModel):
    """A released model that predicts numbers from a `Predictor`: see `Model` for what it answers."""

    sizes: ResidualSizes

    def predict(self, source: Any) -> np.ndarray:
        """Number of each row, within the target's public range.

        Parameters
        ----------
        source : frame, Arrow table, array, or path of a CSV or Parquet file
        """
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        return row_numbers(self.predictor, codes.features, self.schema.target)

    def predict_interval(self, source: Any, coverage: float = 0.9) -> np.ndarray:
        """Lower and upper end for each row, ``(rows, 2)``, that hold a share of all rows' numbers.

        The width is the same for every row, before the public range cuts it: it was read off the noisy sizes
        of the residuals at the end of the fit, and costs nothing.

        Parameters
        ----------
        source : as for ``predict``
        coverage : float
            Share of the rows, over all rows rather than among each kind of them.
        """
        half, target, middle = half_width(self, coverage), self.schema.target, self.predict(source)
        ends = np.stack([middle - half, middle + half], axis=1)
        return np.clip(ends, target.lower, target.upper)

    def score(self, source: Any, numbers: Any = None) -> float:
        """R² of the predictions: exact, so for rows that are public or the caller's own.

        Of rows that are protected, `privet.private_score` is the way to know.

        Parameters
        ----------
        source : as for ``predict``
        numbers : array-like, optional
            Left out where they stand in the table.
        """
        codes = encode(open_table(source, self.schema), self.schema, numbers)
        true = self.schema.target.value(np.asarray(codes.labels, float))
        errors = true - row_numbers(self.predictor, codes.features, self.schema.target)
        spread = ((true - true.mean()) ** 2).sum()
        # Numbers that are all the same: as scikit-learn has it.
        return float(1 - (errors**2).sum() / spread) if spread else float(not errors.any())

    def predictions(self, source: Any) -> Predictions:
        """Numbers of all rows."""
        return Predictions(self.predict(source).tolist())


def half_width(model: Any, coverage: float) -> float:
    """How far the intervals of a model of numbers reach on either side; a refusal where it says labels."""
    _ = model.schema.target
    if type(coverage) not in (int, float) or not 0 < coverage < 1:
        raise QuestionError("a coverage lies between 0 and 1.", "say, 0.9.")
    sizes: ResidualSizes = model.sizes
    return sizes.quantile(coverage)
