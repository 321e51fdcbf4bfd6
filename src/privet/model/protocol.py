"""What every released model answers, so that nobody else needs to know which one it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from privet.model.card import PrivacyCard
from privet.model.rules import Rules
from privet.model.sections import Section
from privet.model.tree import ShownTree
from privet.schema import Scalar, Schema
from privet.structure import Predictor, Scored


@dataclass(frozen=True)
class Predictions:
    """What a model says of rows.

    Attributes
    ----------
    values : sequence
        A value for each row.
    shares : dict of arrays (rows,)
        By label, where labels are predicted.
    """

    values: Sequence[Scalar]
    shares: Mapping[str, np.ndarray] = field(default_factory=dict)


class Model(Protocol):
    """A released model: it predicts, tells what it is and what it has learnt, and goes into a file.

    Whatever reads, shows or scores a model asks these questions alone. What a model cannot answer it refuses
    by a `QuestionError` that says why. A model of labels inherits most answers from `LabelModel`.
    """

    kind: ClassVar[str]
    """What its file calls it."""

    title: ClassVar[str]
    """What a page calls it."""

    @property
    def schema(self) -> Schema:
        """The public contract of the rows."""

    @property
    def card(self) -> PrivacyCard:
        """What it promises."""

    @property
    def predictor(self) -> Predictor:
        """What predictions are made of: arrays, which the wall can evaluate too."""

    @property
    def scored(self) -> Scored:
        """The same with all that is done to shares, as rows are asked about it behind the wall."""

    def predict(self, source: Any) -> np.ndarray:
        """A value for each row of a table."""

    def predictions(self, source: Any) -> Predictions:
        """The same with all that belongs to it."""

    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """Paths of its trees, and what they say."""

    def importances(self) -> dict[str, float]:
        """What each feature matters, largest first."""

    def tree(self, number: int = 0) -> ShownTree:
        """One of its trees, to be shown."""

    def sections(self) -> Iterator[Section]:
        """What a page shows of it, in this order."""

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Card and structure, as plain data."""

    def to_text(self, tree: int = 0, max_depth: int = ...) -> str:
        """A tree as text."""

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of its file."""

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds, checked: whoever writes a file may write anything."""
