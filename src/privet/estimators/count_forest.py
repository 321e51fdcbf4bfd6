"""The edge of count forests, which can be added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from privet.errors import BudgetError, QuestionError
from privet.estimators.batched import BatchedEstimator
from privet.estimators.weighted import WeightedClassifier
from privet.learners.count_forest import ROWS, CountForest
from privet.model import CountForest as CountModel
from privet.privacy import Protected
from privet.structure import MultiwayTrees


@dataclass(eq=False, repr=False)
class CountForestClassifier(BatchedEstimator, WeightedClassifier, CountForest):
    __doc__ = CountForest.__doc__

    @classmethod
    def from_model(cls, model: CountModel, **parameters: Any) -> Self:
        """An estimator that goes on from a released model, say, one read from its file.

        Parameters
        ----------
        model : CountForest
            Released by this estimator; its schema, voting and structure are taken over.
        parameters :
            Of the estimator, for the batches to come: ``epsilon``, ``delta``, ``account``, …
        """
        learner = model.card.learner if isinstance(model, CountModel) else {}
        multiway = isinstance(model, CountModel) and isinstance(model.trees, MultiwayTrees)
        structure, rows = learner.get("structure"), learner.get("rows")
        if multiway != (structure == "jagannathan") or (multiway and rows != "all") or rows not in ROWS:
            raise QuestionError(
                "this model was not released by a count forest of one owner.",
                "give one that CountForestClassifier fitted.",
            )
        kept = {"structure": structure, "rows": rows, "n_trees": model.trees.n_trees}
        return super().from_model(model, **{"voting": model.voting, **kept, **parameters})

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:  # scikit-learn's name
        text = super().__repr__(N_CHAR_MAX)
        return f"{text} – not private" if self.is_twin else str(text)

    def _fit_batch(self, X: Any, y: Any, unit: Any, batch: str | None, earlier: CountModel | None) -> Self:
        if self.is_twin and (self.account is not None or isinstance(X, Protected)):
            raise BudgetError(
                "an infinite epsilon is charged to no account: its answers are exact.",
                "give a finite epsilon, or fit a table in hand without an account.",
            )
        return super()._fit_batch(X, y, unit, batch, earlier)

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row; drawn by its weight where the way of voting says so."""
        check_is_fitted(self)
        if not self.model_.draws:
            return super().predict(X)
        cumulative = self.predict_proba(X).cumsum(axis=1)
        drawn = check_random_state(self.random_state).random_sample((len(cumulative), 1))
        return np.asarray(self.classes_[(cumulative < drawn).sum(axis=1).clip(max=len(self.classes_) - 1)])
