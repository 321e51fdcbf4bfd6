"""Estimators that can be added to: each batch of people has noise of its own, and released numbers add up."""

from __future__ import annotations

from typing import Any, Self

from privet.errors import QuestionError
from privet.estimators.base import PrivateEstimator
from privet.privacy import Account, Protected
from privet.schema import Schema


class BatchedEstimator(PrivateEstimator):
    """An estimator whose learner takes what was released before."""

    _batch = None
    _earlier = None

    def fit(self, X: Any, y: Any = None, unit: Any = None) -> Self:
        """Learn from rows, and forget what was learnt before."""
        return self._fit_batch(X, y, unit, None, None)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, unit: Any = None, batch: str | None = None
    ) -> Self:
        """Add a batch of people: its own noisy numbers are added to those released before, in their trees.

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
        return self._add_batch(X, y, unit, batch)

    def _add_batch(self, X: Any, y: Any, unit: Any, batch: str | None) -> Self:
        if isinstance(X, Protected) and batch not in (None, X.batch_name):
            raise QuestionError(
                "protected rows carry the batch of their account.", "protect them with account.batch(name)."
            )
        return self._fit_batch(X, y, unit, batch, getattr(self, "model_", None))

    def _fit_batch(self, X: Any, y: Any, unit: Any, batch: str | None, earlier: Any) -> Self:
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

    def learn(self, protected: Protected, earlier: Any = None) -> Any:
        """See `Learner.learn`."""
        return super().learn(protected, earlier or self._earlier)  # type: ignore[call-arg]
