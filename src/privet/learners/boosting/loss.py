"""What a fit lowers, and how rows are asked about it: the loss of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from privet.learners.boosting.bins import Totals, class_shares
from privet.learners.boosting.shapes import Start
from privet.privacy.question import Question
from privet.privacy.questions.boosting import BinGradients, BinRows, LabelRows, LeafGradients
from privet.schema import Schema
from privet.structure import Additive, Bins


@dataclass(frozen=True)
class Labels:
    """The log loss of labels, whose gradients are clipped.

    Attributes
    ----------
    n_labels : int
    """

    n_labels: int

    label_kind: ClassVar[type[Question[Any]]] = LabelRows
    """Question that opens a fit."""

    bin_kind: ClassVar[type[Question[Any]]] = BinRows
    """Question of every feature's cells."""

    curvature: ClassVar[float] = 0.25
    """Largest second derivative of a row's loss in one score, p(1 − p), for two labels and for more.

    That of the class shares is less, many times less where a label is rare, but the rows in which trees
    differ are not where the shares are: a step divided by the less was too long for them, and longer with
    every pass. Divided by the bound, trees that all say the same take steps that a momentum of m keeps stable
    up to 2 + 2m.
    """

    @property
    def n_columns(self) -> int:
        """Numbers that the first two kinds of questions have for each of their cells."""
        return self.n_labels

    def label_rows(self) -> Question[Any]:
        """The question that opens a fit."""
        return LabelRows()

    def bin_rows(self, bins: Bins) -> Question[Any]:
        """The question of some cells."""
        return BinRows(bins)

    def bin_gradients(self, additive: Additive, asked: list[int]) -> Question[Any]:
        """The question of a pass over shapes."""
        return BinGradients(additive, asked)

    def leaf_gradients(self, additive: Additive, n_trees: int) -> Question[Any]:
        """The question of a pass over trees."""
        return LeafGradients(additive, n_trees)

    def start(self, totals: Totals, n_rows: float) -> Start:
        """Where boosting starts."""
        return Start.of(class_shares(totals, n_rows), totals.sd / n_rows)


Loss = Labels


def loss_of(schema: Schema) -> Loss:
    """What a fit under a schema lowers."""
    return Labels(schema.n_labels)
