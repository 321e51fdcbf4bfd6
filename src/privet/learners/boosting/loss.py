"""What a fit lowers, and how rows are asked about it: the log loss of labels, or `Numbers`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from privet.answers import NoisySums
from privet.learners.boosting.bins import Totals, class_shares
from privet.learners.boosting.numbers import Numbers
from privet.learners.boosting.shapes import Start, linked
from privet.model import AdditiveModel, PrivacyCard
from privet.privacy.question import Question
from privet.privacy.questions.boosting import BinGradients, BinRows, LabelRows, LeafGradients, gradient_clip
from privet.schema import Schema, Target
from privet.structure import Additive, Bins

CLEAR = 1 / 6
"""Deviation of a share, by the share, from which on it is surely no rare label's."""

SAYS_LITTLE = 2
"""Deviation of all shares, by the error that common labels can bear, beyond which nothing is known."""


@dataclass(frozen=True)
class Labels:
    """The log loss of labels, whose gradients are clipped.

    Attributes
    ----------
    n_labels : int
    shares, least : tuple of float
        Of the labels as far as is known, and what they may be if rare; empty while nothing is known.
    """

    n_labels: int
    shares: tuple[float, ...] = ()
    least: tuple[float, ...] = ()

    label_kind: ClassVar[type[Question[Any]]] = LabelRows
    """Question that opens a fit."""

    bin_kind: ClassVar[type[Question[Any]]] = BinRows
    """Question of every feature's cells."""

    shape_kind: ClassVar[type[BinGradients]] = BinGradients
    """Question of a pass over shapes."""

    leaf_kind: ClassVar[type[LeafGradients]] = LeafGradients
    """Question of a pass over trees."""

    added_loss: ClassVar[float] = 0.02
    """Part of the class prior's log loss that errors of the class shares may add to it."""

    common_variance: ClassVar[float] = 0.4
    """Variance of a label, by that of equally frequent ones, from which on rows are worth as much: 1 in 9."""

    finds_width: ClassVar[bool] = False
    """Whether gradients are clipped at a width that is to be found."""

    curvature: ClassVar[float] = 0.25
    """Largest second derivative of a row's loss in one score, p(1 − p), for two labels and for more.

    That of the class shares is less, many times less where a label is rare, but the rows in which trees
    differ are not where the shares are: a step divided by the less was too long for them, and longer with
    every pass. Divided by the bound, trees that all say the same take steps that a momentum of m keeps stable
    up to 2 + 2m.
    """

    gradient_unit: ClassVar[float] = 1.0
    """What a sum of gradients is worth as it is answered, in the units of scores times curvature."""

    @property
    def clip(self) -> float:
        """What a row's gradient can be, in pure ε, by which evidence is told."""
        return float(gradient_clip(self.n_labels, 1))

    @property
    def n_columns(self) -> int:
        """Numbers that the first two kinds of questions have for each of their cells."""
        return self.n_labels

    def told(self, totals: Totals, n_rows: float) -> Labels:
        """The same when some rows by label are known, unless they say too little even of common labels."""
        fresh = Labels(self.n_labels)
        if totals.sd / n_rows > SAYS_LITTLE * fresh.share_error:
            return fresh
        shares = tuple(class_shares(totals, n_rows).tolist())
        fewer = np.maximum(totals.rows - totals.sd, 0.0)
        least = tuple(class_shares(Totals(fewer, totals.sd), n_rows).tolist())
        # The rarer a label may be, the more of what was counted may be nothing but noise.
        fewer += replace(fresh, shares=least).balance * (totals.rows - fewer)
        least = tuple(class_shares(Totals(fewer, totals.sd), n_rows).tolist())
        return replace(fresh, shares=shares, least=least)

    @property
    def balance(self) -> float:
        """What a row is worth beside one of common labels: where one is rare, few rows tell anything."""
        if self.n_labels < 2:
            return 1.0
        return min(self._variance(self.shares) / self._variance(()) / self.common_variance, 1.0)

    def _variance(self, shares: tuple[float, ...]) -> float:
        of = np.array(shares or [1 / self.n_labels] * self.n_labels)
        return float(of @ (1 - of))

    @property
    def share_error(self) -> float:
        """Error of a class share beyond which the log loss suffers visibly.

        An error e of a share s adds e²/2s to the mean log loss; where e is more than s, about e.
        """
        shares = np.array(self.least or [1 / self.n_labels] * self.n_labels)
        errors = np.geomspace(0.1, 1e-4, 100)
        added = np.minimum(errors[:, None] ** 2 / (2 * shares), errors[:, None]).sum(axis=1)
        few = np.flatnonzero(added <= -self.added_loss * (shares @ np.log(shares)))
        return float(errors[few[0]] if len(few) else errors[0])

    @property
    def clear_error(self) -> float:
        """Error at which it is clear of two labels that neither is far rarer than it seems."""
        return CLEAR * min(self.shares) if self.n_labels == 2 and self.shares else 1.0

    def label_rows(self) -> Question[Any]:
        """The question that opens a fit."""
        return LabelRows()

    def bin_rows(self, bins: Bins) -> Question[Any]:
        """The question of some cells."""
        return BinRows(bins)

    def bin_gradients(self, additive: Additive, asked: list[int]) -> Question[NoisySums]:
        """The question of a pass over shapes."""
        return BinGradients(additive, asked)

    def leaf_gradients(self, additive: Additive, n_trees: int) -> Question[NoisySums]:
        """The question of a pass over trees."""
        return LeafGradients(additive, n_trees)

    def released(self, additive: Additive) -> Additive:
        """A model as it is asked about, and released."""
        return additive

    def start(self, totals: Totals, n_rows: float) -> Start:
        """Where boosting starts."""
        return Start.of(class_shares(totals, n_rows), totals.sd / n_rows)

    def facts(self, totals: Totals, n_rows: float) -> dict[str, Any]:
        """What a card says of the labels."""
        return {"shares": [round(float(share), 6) for share in class_shares(totals, n_rows)]}

    def share_of(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Share of rows that have a label, not another, by the difference of their scores; its slope."""
        if self.n_labels <= 2:
            return linked(scores)
        p = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        return p, p * (1 - p)

    def model(
        self, additive: Additive, bin_shares: np.ndarray, bands: np.ndarray, schema: Schema, card: PrivacyCard
    ) -> AdditiveModel:
        """What is released."""
        return AdditiveModel(additive, bin_shares, bands, schema, card)


Loss = Labels | Numbers


def loss_of(schema: Schema) -> Loss:
    """What a fit under a schema lowers."""
    return Numbers.of(schema) if isinstance(schema.label, Target) else Labels(schema.n_labels)
