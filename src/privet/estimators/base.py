"""The scikit-learn edge of every estimator: tables in, a protected source to the learner, predictions out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from privet.data.columns import held
from privet.data.draft import schema_from_data
from privet.data.text import is_place
from privet.errors import PrivacyLeakWarning, QuestionError, SchemaError
from privet.estimators import rows
from privet.estimators.wrappers import refuse_wrappers, warn_of_wrappers
from privet.kernels.predict import decisions, log_shares
from privet.learners.elsewhere import Elsewhere
from privet.learners.learner import Learner, written
from privet.learners.parameters import check_parameters, declared
from privet.model import released
from privet.model.rules import Rules
from privet.privacy import Account, Budget, Ledger, Protected, protect
from privet.progress import progress_bar
from privet.schema import Label, Schema, Target

FROM_DATA = "from-data"

EXAMPLES = {Label: "Label('ill', ['no', 'yes'])", Target: "Target('price', 0, 1_000_000)"}
"""What a schema may predict, as one would write it."""


@dataclass(eq=False, repr=False)
class PrivateEstimator(BaseEstimator, Learner):  # type: ignore[misc]
    """Base of all estimators: a learner of the same parameters, and whose table it learns from."""

    predicts: ClassVar[type[Label | Target]]
    """What a schema must predict for it to learn."""

    schema: Any = field(default=None, kw_only=True)
    account: Account | None = field(default=None, kw_only=True)
    verbose: bool = field(default=False, kw_only=True)

    @property
    def budget(self) -> Budget:
        """What a fit may spend; on an account that others share it adds up as that one does."""
        own = super().budget
        if not isinstance(self.account, Account):
            return own
        return replace(own, accounting=self.account.accounting)

    def fit(self, X: Any, y: Any = None, unit: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : frame, Arrow table, array, path of a file, `Protected`, or a table of `connect`
            Columns of frames and files are found by their names; others may stand beside them.
        y : array-like
            What is to be predicted of each row; left out where it stands in the table, under the name that
            the schema has for it.
        unit : str or array-like, optional
            Whose each row is: an identifier for each row, or the name of a column of X. A person with all
            their rows is then what is protected. By default what the schema says; without a unit, a row.

        Returns
        -------
        self
        """
        refuse_wrappers()
        if isinstance(X, Elsewhere):
            return self._fit_elsewhere(X, y, unit)
        if isinstance(X, Protected):
            if unit is not None:
                raise QuestionError("protected rows say whose they are.", "leave the unit out.")
            self._set_names(X.schema)
            self._release(X, None)
            return self
        _ = self.budget
        known = None if self._reads_schema else self._schema(X, y)
        by_name = unit if isinstance(unit, str) else None
        if is_place(X):
            schema = known or self._schema(X, y)
            self._set_names(schema)
        else:
            X, y = rows.with_labels(held(X), y, known)
            given = X
            X, unit = rows.with_persons(X, unit, known)
            names = known.feature_names if known else None
            X = rows.validated(self, X, self._starts_anew(), names)
            rows.require_labels(self, given, y, known)
            y = rows.validated_labels(X, y)
            schema = known or self._schema(X, y)
        schema = schema if by_name is None else schema.by(by_name)
        account = self._payer(schema)
        with progress_bar("reading rows", self.verbose) as progress:
            self._release(protect(X, schema, account, y, progress=progress, unit=unit), y)
        return self

    def _fit_elsewhere(self, table: Elsewhere, y: Any, unit: Any) -> Self:
        if y is not None or unit is not None or self.account is not None or self._reads_schema:
            raise QuestionError(
                "a table that lies elsewhere has its own labels, persons and account.", "leave them out."
            )
        check_parameters(self)
        _ = self.budget
        self._check_predicted(table.schema)
        parameters = {
            each.name: value
            for each, _ in declared(self)
            if (value := getattr(self, each.name)) is not None and value != each.default
        }
        self._set_names(table.schema)
        self._keep(table.learn(self.name, {**parameters, "epsilon": written(self.epsilon)}), None)
        return self

    @classmethod
    def from_model(cls, model: Any, **parameters: Any) -> Self:
        """A fitted estimator from a released model, say, one read from its file.

        Parameters
        ----------
        model : Model
            Released by this learner; its schema is taken over.
        parameters :
            Of the estimator, for fits to come.
        """
        released_by = getattr(getattr(model, "card", None), "learner", {}).get("name")
        if released_by != cls.name:
            raise QuestionError(
                f"this model was not released by a {cls.__name__}.", f"give one that {cls.__name__} fitted."
            )
        estimator = cls(**{"schema": model.schema, **parameters})
        estimator._set_names(model.schema)
        estimator._keep(model, None)
        return estimator

    def rules(self, top: int | None = None, **selection: Any) -> Rules:
        """Rules of the fitted model, strongest first: see `privet.model.rules.Rules.select`."""
        check_is_fitted(self)
        return released(self.model_).rules(top, **selection)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in what all of them do alone, as `privet.explain` draws it; costs nothing."""
        check_is_fitted(self)
        try:
            told, why = released(self.model_).importances(), ""
        except QuestionError as error:
            told, why = {}, error.message
        if why:
            raise AttributeError(why)
        sizes = np.array([told[name] for name in self.model_.schema.feature_names])
        return np.asarray(sizes / max(sizes.sum(), np.finfo(float).tiny))

    def _html_repr(self) -> str:
        # scikit-learn parses the docstrings of what it shows, and warns of sections that it does not know.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return str(super()._html_repr())

    def __sklearn_clone__(self) -> Self:
        # Where threads or processes are to fit, whoever sends them can be seen here and not there.
        refuse_wrappers()
        copy: Self = super().__sklearn_clone__()
        return copy

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _starts_anew(self) -> bool:
        """Whether a fit forgets the features it knew."""
        return True

    def _payer(self, schema: Schema) -> Account:
        """The account to charge: the one given, or one of this fit alone."""
        if not isinstance(self.account, Account | None):
            raise QuestionError("account must be an account of a ledger.", "give ledger.account(name).")
        return self.account or Ledger().create("data", self.budget_for(schema))

    def _release(self, protected: Protected, y: Any) -> None:
        check_parameters(self)
        self._check_predicted(protected.schema)
        model = self.learn(protected)
        if self._reads_schema:
            caveats = [*model.card.caveats, "the schema was read from the rows"]
            model = replace(model, card=replace(model.card, private=False, caveats=caveats))
        self._keep(model, y)

    def _check_predicted(self, schema: Schema) -> None:
        """Refuse a schema that predicts something else, while that is free."""
        _ = schema.target if self.predicts is Target else schema.classes

    def _keep(self, model: Any, y: Any) -> None:
        """Take over what was released."""
        self.model_ = model
        self.privacy_card_ = model.card

    @property
    def _reads_schema(self) -> bool:
        """Whether the schema is taken from the rows."""
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def _rows(self, X: Any) -> Any:
        """Rows to be predicted: those of a file as they are, of a frame the columns that were learnt from."""
        check_is_fitted(self)
        warn_of_wrappers()
        if is_place(X):
            return X
        return rows.validated(self, held(X), False, getattr(self, "feature_names_in_", None))

    def _schema(self, X: Any, y: Any) -> Schema:
        if isinstance(self.schema, Schema):
            return self.schema
        if self._reads_schema:
            warnings.warn(
                "schema='from-data' reads bounds, categories and labels from the rows: the model "
                "gives them away and carries no privacy guarantee.",
                PrivacyLeakWarning,
                stacklevel=3,
            )
            return schema_from_data(X, y, self.predicts)
        if isinstance(self.schema, Mapping):
            return Schema.from_dict(self.schema)
        if isinstance(self.schema, str | Path):
            return Schema.load(self.schema)
        raise SchemaError(
            "a private learner needs a schema: what may stand in the table must be public.",
            f"Schema([Continuous('age', 0, 120), …], {EXAMPLES[self.predicts]}), or a JSON file "
            "drafted from a public sample with `privet schema draft`; schema='from-data' takes it "
            "from the rows and leaks it.",
        )

    def _set_names(self, schema: Schema) -> None:
        self.n_features_in_ = len(schema.features)
        self.feature_names_in_ = np.array(schema.feature_names, dtype=object)


@dataclass(eq=False, repr=False)
class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Base of the classifiers, which predict labels."""

    predicts = Label

    def predict_proba(self, X: Any) -> np.ndarray:
        """Weight of each of ``classes_`` for each row; they sum to one."""
        rows = self._rows(X)
        return np.asarray(self.model_.shares(rows)[:, self._order])

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return log_shares(self.predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds of the second of two ``classes_``; of more, the logarithm of each one's weight."""
        return decisions(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row."""
        best = self._best(X)
        return np.asarray(self.classes_[np.argsort(self._order)[best]])

    def _best(self, X: Any) -> np.ndarray:
        """Place among the schema's labels of the one that is predicted of each row."""
        told = self._rows(X)
        return np.asarray(self.model_.best(self.model_.shares(told)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of public rows, or of one's own: exact; ``y`` may stand in X under the schema's name."""
        if y is None:
            check_is_fitted(self)
            return float(self.model_.score(X))
        best = self._best(X)
        return float(np.average(rows.is_label(y, best, self.model_.schema), weights=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _keep(self, model: Any, y: Any) -> None:
        """Take over what was released, labels in the type of ``y``."""
        super()._keep(model, y)
        classes = rows.classes(model.schema.classes, y)
        self._order = np.argsort(classes)
        self.classes_ = classes[self._order]


@dataclass(eq=False, repr=False)
class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Base of the regressors, which predict numbers."""

    predicts = Target

    def predict(self, X: Any) -> np.ndarray:
        """Number of each row."""
        rows = self._rows(X)
        return np.asarray(self.model_.predict(rows))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Lower and upper end for each row, ``(rows, 2)``, that hold a share of all rows' numbers."""
        rows = self._rows(X)
        return np.asarray(self.model_.predict_interval(rows, coverage))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of public rows, or of one's own: exact; ``y`` may stand in X under the schema's name."""
        if y is None:
            check_is_fitted(self)
            return float(self.model_.score(X))
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
