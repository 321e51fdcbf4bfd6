"""What models of labels have in common: shares and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.data import encode, open_table
from privet.kernels.predict import best_labels, decisions, log_shares, row_shares
from privet.model.base import ReleasedModel
from privet.model.protocol import Predictions


class LabelModel(ReleasedModel):
    """A released model that predicts labels from a `Predictor`: see `Model` for what it answers."""

    @property
    def classes(self) -> np.ndarray:
        """Labels in the order of the schema, which the columns of shares have."""
        return np.array(self.schema.classes)

    @property
    def classes_(self) -> np.ndarray:
        """The same as ``classes``, by the name that scikit-learn has for it."""
        return self.classes

    def shares(self, source: Any) -> np.ndarray:
        """Share of each label for each row, ``(rows, labels)``.

        Parameters
        ----------
        source : frame, Arrow table, array, or path of a CSV or Parquet file
        """
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        return row_shares(self.predictor, codes.features, self.schema.n_labels)

    def predict_proba(self, source: Any) -> np.ndarray:
        """The same as ``shares``, by the name that scikit-learn has for it."""
        return self.shares(source)

    def predict_log_proba(self, source: Any) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return log_shares(self.shares(source))

    def decision_function(self, source: Any) -> np.ndarray:
        """Log-odds of the second of two labels; of more, the logarithm of each one's share."""
        return decisions(self.shares(source))

    def score(self, source: Any, labels: Any = None) -> float:
        """Share of rows whose label is predicted: exact, so for rows that are public or the caller's own.

        Of rows that are protected, `privet.private_score` is the way to know.

        Parameters
        ----------
        source : as for ``predict``
        labels : array-like, optional
            Left out where they stand in the table.
        """
        codes = encode(open_table(source, self.schema), self.schema, labels)
        shares = row_shares(self.predictor, codes.features, self.schema.n_labels)
        return float((best_labels(shares, self.schema.classes) == codes.labels).mean())

    def predict(self, source: Any) -> np.ndarray:
        """Label of each row: the one with the largest share, of equals the one that sorts first."""
        return np.asarray(self.classes[best_labels(self.shares(source), self.schema.classes)])

    def predictions(self, source: Any) -> Predictions:
        """Labels and shares of all rows."""
        shares = self.shares(source)
        names = map(str, self.schema.classes)
        values = [self.schema.classes[i] for i in best_labels(shares, self.schema.classes)]
        return Predictions(values, dict(zip(names, shares.T, strict=True)))
