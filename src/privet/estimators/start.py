"""The edge of learners that may start from what is known already: another model, or rows that are public."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from privet.errors import QuestionError
from privet.estimators.base import PrivateEstimator
from privet.learners.elsewhere import Elsewhere
from privet.privacy import Protected

PUBLIC_BUDGET = {"epsilon": 100.0, "delta": 1e-6}
"""Under which public rows are learnt from: their noise is far below what so few questions leave unsaid."""


@dataclass(eq=False, repr=False)
class StartedEstimator(PrivateEstimator):
    """Base of the estimators that may start from another model."""

    _start: Any = None

    def fit(self, X: Any, y: Any = None, unit: Any = None, *, start: Any = None, public: Any = None) -> Self:
        """Learn from rows, and start from what is known already.

        Parameters
        ----------
        X : frame, Arrow table, array, path of a file, or `Protected`
            Columns of frames and files are found by their names; others may stand beside them.
        y : array-like
            What is to be predicted of each row; left out where it stands in the table, under the name that
            the schema has for it.
        unit : str or array-like, optional
            Whose each row is: an identifier for each row, or the name of a column of X. A person with all
            their rows is then what is protected. By default what the schema says; without a unit, a row.
        start : fitted estimator or released model, optional
            Of the same learner, under the same features and label. It is weighed by one question of the rows,
            and left out where they do not bear it out. What it cost its own rows, it cost.
        public : (X, y), optional
            Rows that are public, in the form of X and y: the same learner makes a start of them first. They
            are not protected.

        Returns
        -------
        self
        """
        if isinstance(X, Elsewhere) and not (start is None and public is None):
            raise QuestionError(
                "a table that lies elsewhere is learnt from without a start.", "leave it out."
            )
        if start is not None and public is not None:
            raise QuestionError("a fit has one start.", "give a model or public rows.")
        if public is not None and not (isinstance(public, tuple | list) and len(public) == 2):
            raise QuestionError("public rows are a pair.", "public=(X, y); y is None where X has it.")
        self._start = (start, public)
        try:
            return super().fit(X, y, unit)
        finally:
            self._start = None

    def learn(self, protected: Protected, start: Any = None, public: bool = False) -> Any:
        """See `Learner.learn`; a start is that of the fit, if none is given."""
        given, rows = self._start or (None, None)
        start = given if start is None else start
        if rows is not None:
            # A bound on the private rows, and whose they are, say nothing of these.
            schema = replace(protected.schema, max_rows=None, unit=None)
            known = {"schema": schema, "account": None, "verbose": False, **PUBLIC_BUDGET}
            start = type(self)(**{**self.get_params(), **known, "passes": None}).fit(*rows)
        return super().learn(protected, start, public or rows is not None)  # type: ignore[call-arg]
