"""What models of labels have in common: shares and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import best_labels, decisions, log_shares, row_shares, to_choose
from privet.model.base import ReleasedModel
from privet.model.card import PrivacyCard
from privet.model.protocol import Predictions
from privet.model.weights import Weights, odds_of
from privet.structure import Scored


@dataclass(frozen=True, eq=False, repr=False)
class LabelModel(ReleasedModel):
    """A released model that predicts labels from a `Predictor`: see `Model` for what it answers."""

    weights: Weights = field(default=Weights(), kw_only=True)

    @property
    def scored(self) -> Scored:
        """What predictions are made of, and how its shares are weighed."""
        return self.weights.of(self.predictor)

    @property
    def label_shares(self) -> Sequence[float]:
        """Shares of the labels, as they were released."""
        raise QuestionError("this model released no shares of the labels.", "give the weights as a dict.")

    def weighed(self, class_weight: Any) -> Self:
        """The same model, whose shares are told as if rows of some labels counted more; costs nothing.

        The odds of a label are multiplied by its weight. Of shares that are right that is what weighing the
        rows would lead to; which splits and shapes were learnt does not change.

        Parameters
        ----------
        class_weight : dict or "balanced"
            Weight of each label, 1 of those left out. "balanced" gives all labels the same weight in sum,
            by their released shares.
        """
        classes = self.schema.classes
        balanced = isinstance(class_weight, str) and class_weight == "balanced"
        odds = odds_of(class_weight, classes, self.label_shares if balanced else None)
        told = ", ".join(f"{label} × {weight:.4g}" for label, weight in zip(classes, odds, strict=True))
        card = self.card.changed({"what": f"odds of labels: {told}"})
        return self._with(card, odds=odds)

    def with_threshold(self, threshold: float, **found: Any) -> Self:
        """The same model, which names the second of two labels where its share is above a threshold.

        Shares stay as they are. Costs nothing: `privet.private_threshold` finds a threshold at a price.

        Parameters
        ----------
        threshold : float
            Between 0 and 1.
        found : optional
            What the card says of how it was found.
        """
        if self.schema.n_labels != 2:
            raise QuestionError("a threshold is between two labels.", "weigh more of them: model.weighed.")
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < 1:
            raise QuestionError("a threshold lies between 0 and 1.", "say, 0.3.")
        told = {"what": f"threshold of {self.schema.classes[1]}: {threshold:.6g}", **found}
        choice = (float(threshold), 1 - float(threshold))
        return self._with(self.card.changed(told), choice=choice)

    def _with(self, card: PrivacyCard, **weights: Sequence[float]) -> Self:
        changes: dict[str, Any] = {"card": card, "weights": replace(self.weights, **weights)}
        return replace(self, **changes)

    def _header(self, **more: Any) -> dict[str, Any]:
        weights = {"weights": self.weights.to_dict()} if self.weights != Weights() else {}
        return super()._header(**weights, **more)

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
        return row_shares(self.scored, codes.features, self.schema.n_labels)

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
        shares = row_shares(self.scored, codes.features, self.schema.n_labels)
        return float((self.best(shares) == codes.labels).mean())

    def predict(self, source: Any) -> np.ndarray:
        """Label of each row: the one with the largest share, of equals the one that sorts first."""
        return np.asarray(self.classes[self.best(self.shares(source))])

    def best(self, shares: np.ndarray) -> np.ndarray:
        """Position, among the schema's labels, of the one that shares lead to."""
        return best_labels(to_choose(self.scored, shares), self.schema.classes)

    def predictions(self, source: Any) -> Predictions:
        """Labels and shares of all rows."""
        shares = self.shares(source)
        names = map(str, self.schema.classes)
        values = [self.schema.classes[i] for i in self.best(shares)]
        return Predictions(values, dict(zip(names, shares.T, strict=True)))
