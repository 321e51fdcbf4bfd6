"""What all models have in common, whatever they predict: names of columns, and answers in other forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.model.card import PrivacyCard
from privet.model.file import write_model
from privet.model.frames import Explanation, rules_frame
from privet.model.paths import path_explanation
from privet.model.rules import Rules
from privet.model.tree import DEEPEST_TEXT, ShownTree, tree_text
from privet.notebook import facts_html, plural
from privet.schema import Scalar, Schema
from privet.structure import LeafVotes, Predictor, Scored


class ReleasedModel(ABC):
    """A released model that predicts from a `Predictor`: see `Model` for what it answers."""

    kind: ClassVar[str]
    title: ClassVar[str]
    schema: Schema
    card: PrivacyCard

    @property
    @abstractmethod
    def predictor(self) -> Predictor:
        """What predictions are made of."""

    @property
    def scored(self) -> Scored:
        """The same, as rows are asked about it behind the wall."""
        return self.predictor

    @property
    def every_leaf(self) -> np.ndarray | None:
        """What was released of every leaf; None where which leaves there are depends on answers."""
        return None

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns that rows need."""
        return np.array(self.schema.feature_names, object)

    @property
    def n_features_in_(self) -> int:
        """How many they are."""
        return len(self.schema.features)

    def __repr__(self) -> str:
        learnt = f"{self.schema.label.name} from {plural(len(self.schema.features), 'feature')}"
        return f"<{type(self).__name__}: {learnt}, {self.card.promise}>"

    def _repr_html_(self) -> str:
        return facts_html(self.title, self.card.rows())

    @property
    def leaf_rows(self) -> np.ndarray | None:
        """Noisy rows of every leaf of a forest; None where none were released."""
        return None

    def explain(self, source: Any) -> Explanation:
        """Why rows are told what they are told: what each feature adds, with the noise of that.

        Of forests these are the steps of a row's paths, mean over the trees: they add up to what the trees
        say on average, from which shares follow.

        Parameters
        ----------
        source : as for ``predict``
        """
        codes = encode(open_table(source, self.schema), self.schema, with_label=False).features
        votes = self.predictor
        if not isinstance(votes, LeafVotes):
            raise QuestionError("this model's answers do not part by features.")
        return path_explanation(votes, self.schema, codes, self.leaf_rows)

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
