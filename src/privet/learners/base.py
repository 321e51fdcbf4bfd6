"""The scikit-learn edge of every classifier: tables in, a protected source to the learner, labels out."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from privet.data import schema_from_data
from privet.errors import PrivacyLeakWarning, QuestionError, SchemaError
from privet.learners.plan import FitPlan, public_rows
from privet.model import AdditiveModel, CountForest, PrivacyCard, RuleForest
from privet.model.effects import effects
from privet.model.gains import forest_gains
from privet.model.rules import Rules
from privet.privacy import NEIGHBOURS, Account, Budget, Ledger, Protected, protect
from privet.privacy.budget import exact
from privet.progress import progress_bar
from privet.schema import Scalar, Schema
from privet.version import __version__

FROM_DATA = "from-data"


class Released(Protocol):
    """What a learner must return."""

    @property
    def card(self) -> PrivacyCard:
        """The privacy card."""

    @property
    def schema(self) -> Schema:
        """The public contract of the rows."""

    def shares(self, source: Any) -> np.ndarray:
        """Weight of each label for each row."""

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers. A subclass has ``epsilon``, ``schema``, ``account``, ``verbose``."""

    epsilon: Any
    schema: Any
    account: Account | None
    verbose: bool

    @abstractmethod
    def _learn(self, protected: Protected) -> Released:
        """Ask, learn, and return a model."""

    @abstractmethod
    def _outline(self, schema: Schema, n_rows: float) -> FitPlan:
        """What ``_learn`` would ask and build, by the functions that it plans with itself."""

    def plan(self, schema: Schema, n_rows: float | None = None) -> FitPlan:
        """What a fit would ask and build, from public quantities alone; nothing is charged.

        Parameters
        ----------
        schema : Schema
        n_rows : number, optional
            Publicly known, or a guess; by default the schema's ``max_rows``.

        Returns
        -------
        FitPlan
        """
        Budget(self.epsilon, self._delta)
        return self._outline(schema, public_rows(schema, n_rows))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : frame, Arrow table, array, or `Protected`
        y : array-like
            The label of each row; not given with a `Protected`, which has its own.

        Returns
        -------
        self
        """
        if isinstance(X, Protected):
            self._set_names(X.schema)
            self._release(X, None)
            return self
        _ = self._budget
        X = self._validated(X, reset=self._starts_anew())
        y = self._validated_labels(X, y)
        schema = self._schema(X, y)
        account = self._payer()
        with progress_bar("reading rows", self.verbose) as progress:
            self._release(protect(X, schema, account, y, progress=progress), y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Weight of each of ``classes_`` for each row; they sum to one."""
        check_is_fitted(self)
        shares = self.model_.shares(self._validated(X, reset=False))
        return np.asarray(shares[:, self._order])

    def predict(self, X: Any) -> np.ndarray:
        """Label of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def rules(self, top: int | None = None, **selection: Any) -> Rules:
        """Rules of the fitted model, strongest first: see `privet.model.rules.Rules.select`."""
        check_is_fitted(self)
        if not hasattr(self.model_, "rules"):
            raise QuestionError(
                "this model has shapes, not rules.", "look at them with privet.explain(model)."
            )
        found: Rules = self.model_.rules(top, **selection)
        return found

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in what all of them do alone, as `privet.explain` draws it; costs nothing."""
        check_is_fitted(self)
        if isinstance(self.model_, AdditiveModel):
            sizes = effects(self.model_).importances
        elif isinstance(self.model_, CountForest | RuleForest):
            sizes = forest_gains(self.model_)
        else:
            raise AttributeError("leaves that released labels alone do not tell what matters.")
        return np.asarray(sizes / max(sizes.sum(), np.finfo(float).tiny))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.classifier_tags.poor_score = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _starts_anew(self) -> bool:
        """Whether a fit forgets the features it knew."""
        return True

    def _payer(self) -> Account:
        """The account to charge: the one given, or one of this fit alone."""
        if not isinstance(self.account, Account | None):
            raise QuestionError("account must be an account of a ledger.", "give ledger.account(name).")
        return self.account or Ledger().create("data", self._budget)

    @property
    def _budget(self) -> Budget:
        """What a fit may spend; a refusal where its parameters name no budget."""
        return Budget(self.epsilon, self._delta)

    @property
    def _delta(self) -> Any:
        return getattr(self, "delta", 0)

    def _release(self, protected: Protected, y: np.ndarray | None) -> None:
        self._asked_before = len(protected.asked)
        self._keep(self._learn(protected), y)

    def _keep(self, model: Released, y: np.ndarray | None) -> None:
        """Take over what was released, labels in the type of ``y``."""
        classes = _classes(model.schema.label.values, y)
        self.model_ = model
        self.privacy_card_ = model.card
        self._order = np.argsort(classes)
        self.classes_ = classes[self._order]

    def _card(self, protected: Protected, learner: Mapping[str, Any]) -> PrivacyCard:
        caveats = []
        if not protected.private:
            caveats.append("noise was drawn from a repeatable generator")
        if isinstance(self.schema, str) and self.schema == FROM_DATA:
            caveats.append("the schema was read from the rows")
        return PrivacyCard(
            epsilon=written(self.epsilon),
            delta=written(self._delta) if self._delta else "0",
            neighbours=NEIGHBOURS,
            private=not caveats,
            caveats=caveats,
            questions=[charge.to_dict() for charge in protected.asked[self._asked_before :]],
            schema=protected.schema.fingerprint,
            account=protected.account_name,
            receipt=protected.receipt.hash if protected.receipt else "",
            learner=learner,
            version=__version__,
        )

    def _schema(self, X: Any, y: np.ndarray) -> Schema:
        if isinstance(self.schema, Schema):
            return self.schema
        if isinstance(self.schema, str) and self.schema == FROM_DATA:
            warnings.warn(
                "schema='from-data' reads bounds, categories and labels from the rows: the model "
                "gives them away and carries no privacy guarantee.",
                PrivacyLeakWarning,
                stacklevel=3,
            )
            return schema_from_data(X, y)
        if isinstance(self.schema, Mapping):
            return Schema.from_dict(self.schema)
        if isinstance(self.schema, str | Path):
            return Schema.load(self.schema)
        raise SchemaError(
            "a private learner needs a schema: what may stand in the table must be public.",
            "Schema([Continuous('age', 0, 120), …], Label('ill', ['no', 'yes'])), or a JSON file "
            "drafted from a public sample with `privet schema draft`; schema='from-data' takes it "
            "from the rows and leaks it.",
        )

    def _validated(self, X: Any, reset: bool) -> Any:
        """Let scikit-learn check what it knows; frames keep their columns' types."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        if isinstance(X, list | tuple):
            # One type for all values would let one row change how the others are read.
            X = np.array(X, object)
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)

    def _validated_labels(self, X: Any, y: Any) -> np.ndarray:
        if y is None:
            raise SchemaError(
                f"{type(self).__name__} requires y to be passed, but the target y is None.",
                "fit(X, y).",
            )
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        # Integers are labels whatever they are, and need not be sorted out to know that.
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        return np.asarray(y)

    def _set_names(self, schema: Schema) -> None:
        self.n_features_in_ = len(schema.features)
        self.feature_names_in_ = np.array(schema.feature_names, dtype=object)


def is_frame(X: Any) -> bool:
    """Whether X is a frame of some library rather than an array."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def _classes(values: Sequence[Scalar], y: np.ndarray | None) -> np.ndarray:
    """Label values in the type of ``y``: a schema may write '0' where a table has 0."""
    classes = np.array(values)
    if y is None or classes.dtype.kind != "U" or y.dtype.kind not in "iufbO":
        return classes
    if y.dtype.kind == "O":
        return classes.astype(object)
    read: Any = {"b": {"False": False, "True": True}.__getitem__, "f": float}.get(y.dtype.kind, int)
    try:
        return np.array([read(value) for value in classes.tolist()], y.dtype)
    except (KeyError, ValueError, OverflowError):
        return classes


def written(value: Any) -> str:
    """A number as a card states it: exactly what was charged."""
    return str(exact(value)) if isinstance(value, Fraction | str) else repr(float(value))
