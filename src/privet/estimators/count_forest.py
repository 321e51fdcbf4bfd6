"""The edge of count forests, which can be added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from privet.errors import BudgetError, QuestionError
from privet.estimators.weighted import WeightedClassifier
from privet.learners.count_forest import ROWS, CountForest
from privet.model import CountForest as CountModel
from privet.privacy import Account, Protected
from privet.schema import Schema
from privet.structure import MultiwayTrees


@dataclass(eq=False, repr=False)
class CountForestClassifier(WeightedClassifier, CountForest):
    __doc__ = CountForest.__doc__

    _batch = None
    _earlier = None

    def fit(self, X: Any, y: Any = None, unit: Any = None) -> Self:
        """Learn from rows, and forget what was learnt before."""
        return self._fit_batch(X, y, unit, None, None)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, unit: Any = None, batch: str | None = None
    ) -> Self:
        """Add a batch of people: its own noisy counts are added to those released before.

        Parameters
        ----------
        X, y, unit :
            As for ``fit``.
        classes :
            Not used, taken for scikit-learn's sake: the labels are the schema's.
        batch : str, optional
            Name under which these people are declared to be in no other batch: they are then
            charged in parallel to other batches. Without it they are charged in sequence. Protected
            rows carry the batch of their account.

        Returns
        -------
        self
        """
        if isinstance(X, Protected) and batch not in (None, X.batch_name):
            raise QuestionError(
                "protected rows carry the batch of their account.", "protect them with account.batch(name)."
            )
        return self._fit_batch(X, y, unit, batch, getattr(self, "model_", None))

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
        self._batch, self._earlier = batch, earlier
        try:
            return super().fit(X, y, unit)
        finally:
            self._batch = self._earlier = None

    def _starts_anew(self) -> bool:
        return self._earlier is None

    def _payer(self, schema: Schema) -> Account:
        account = super()._payer(schema)
        if self._batch is None:
            return account
        if self.account is None:
            # A ledger of this fit alone belongs to whoever fits.
            account.ledger.declare_batch(account.name, self._batch)
        return account.batch(self._batch)

    def learn(self, protected: Protected, earlier: CountModel | None = None) -> CountModel:
        """See `Learner.learn`."""
        return super().learn(protected, earlier or self._earlier)

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row; drawn by its weight where the way of voting says so."""
        check_is_fitted(self)
        if not self.model_.draws:
            return super().predict(X)
        cumulative = self.predict_proba(X).cumsum(axis=1)
        drawn = check_random_state(self.random_state).random_sample((len(cumulative), 1))
        return np.asarray(self.classes_[(cumulative < drawn).sum(axis=1).clip(max=len(self.classes_) - 1)])
