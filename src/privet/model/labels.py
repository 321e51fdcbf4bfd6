"""What models of labels have in common: shares, labels, and the same answers in other forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import best_labels, decisions, log_shares, row_shares
from privet.model.card import PrivacyCard
from privet.model.file import write_model
from privet.model.frames import Explanation, rules_frame
from privet.model.protocol import Predictions
from privet.model.rules import Rules
from privet.model.tree import DEEPEST_TEXT, ShownTree, tree_text
from privet.notebook import facts_html, plural
from privet.schema import Scalar, Schema
from privet.structure import Predictor


class LabelModel(ABC):
    """A released model that predicts labels from a `Predictor`: see `Model` for what it answers."""

    kind: ClassVar[str]
    title: ClassVar[str]
    schema: Schema
    card: PrivacyCard

    @property
    @abstractmethod
    def predictor(self) -> Predictor:
        """What predictions are made of."""

    @property
    def every_leaf(self) -> np.ndarray | None:
        """What was released of every leaf; None where which leaves there are depends on answers."""
        return None

    @property
    def classes(self) -> np.ndarray:
        """Labels in the order of the schema, which the columns of shares have."""
        return np.array(self.schema.classes)

    @property
    def classes_(self) -> np.ndarray:
        """The same as ``classes``, by the name that scikit-learn has for it."""
        return self.classes

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns that rows need."""
        return np.array(self.schema.feature_names, object)

    @property
    def n_features_in_(self) -> int:
        """How many they are."""
        return len(self.schema.features)

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

    def __repr__(self) -> str:
        learnt = f"{self.schema.label.name} from {plural(len(self.schema.features), 'feature')}"
        return f"<{type(self).__name__}: {learnt}, {self.card.promise}>"

    def _repr_html_(self) -> str:
        return facts_html(self.title, self.card.rows())

    def explain(self, source: Any) -> Explanation:
        """Why rows are told what they are told: parts of their scores, by feature; of additive models."""
        raise QuestionError("this model's answers do not part by features.", "look at its rules.")

    def shapes_frame(self) -> pa.Table:
        """Shapes as a frame: see `privet.model.frames.shapes_frame`; of additive models."""
        raise QuestionError("this model has no shapes.", "look at its trees_frame.")

    def trees_frame(self) -> pa.Table:
        """Leaves of all trees as a frame, a line a leaf: see `privet.model.frames.rules_frame`."""
        return rules_frame(self.rules())

    @abstractmethod
    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """Paths of its trees, and what they say."""

    @abstractmethod
    def tree(self, number: int = 0) -> ShownTree:
        """One of its trees, to be shown."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""

    @abstractmethod
    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""

    def to_dict(self) -> dict[str, Any]:
        """Card and structure, as plain data."""
        return {"card": self.card.to_dict(), "structure": self.describe()}

    def to_text(self, tree: int = 0, max_depth: int = DEEPEST_TEXT) -> str:
        """A tree as text: see `privet.export_text`."""
        return tree_text(self.tree(tree), max_depth)

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""
        write_model(path, *self.to_file())

    def _header(self, **more: Any) -> dict[str, Any]:
        """What every model's file says of it, and more."""
        return {"kind": self.kind, "schema": self.schema.to_dict(), "card": self.card.to_dict(), **more}


def largest_first(names: Sequence[str], sizes: np.ndarray) -> dict[str, float]:
    """Sizes by name, the largest first."""
    return dict(sorted(zip(names, sizes.tolist(), strict=True), key=lambda item: -item[1]))
