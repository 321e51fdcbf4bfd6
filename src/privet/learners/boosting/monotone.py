"""Monotone features: shapes as near as can be to what was fitted, and monotone.

That a score rises with a feature, or falls, is public knowledge. Its shape is made to, after every step, by
what was released alone: it costs nothing. Trees look at other features only. Brought into order one by one
they turned all noise one way, and cost more than the interactions were worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.isotonic import isotonic_regression

from privet.errors import QuestionError
from privet.learners.boosting.bins import Margin
from privet.schema import Continuous, Schema
from privet.structure import Additive


def directions(schema: Schema) -> np.ndarray:
    """1 for every feature with which the score rises, −1 where it falls, else 0."""
    return np.array(
        [f.direction if isinstance(f, Continuous) else 0 for f in schema.features], dtype=np.int64
    )


def told(schema: Schema) -> dict[str, str]:
    """What a card says of it: the features in which a model is monotone."""
    names = [f"{f.name} {f.monotone}" for f in schema.features if isinstance(f, Continuous) and f.monotone]
    return {"monotone": " and ".join(names)} if names else {}


@dataclass(frozen=True)
class Monotone:
    """Which features a model is monotone in.

    Attributes
    ----------
    signs : int64 (features,)
    placed : tuple of int
        Bins of each feature that stand in order; those behind them hold missing values.
    weights : tuple of array
        Of each bin: about one over the variance of its value in a shape.
    shares : tuple of array
        Of the rows, by bin.
    """

    signs: np.ndarray
    placed: tuple[int, ...]
    weights: tuple[np.ndarray, ...]
    shares: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, schema: Schema, margins: Sequence[Margin]) -> Monotone:
        """For the bins that a fit has cut."""
        placed = tuple(int(np.isfinite(margin.order).sum()) for margin in margins)
        # A value is a sum over the rows of its bin, with noise, divided by their number.
        weights = tuple(margin.mass**2 / (margin.mass + margin.variance.mean()) for margin in margins)
        return cls(directions(schema), placed, weights, tuple(margin.shares for margin in margins))

    def shaped(self, additive: Additive) -> Additive:
        """The model with its shapes in order; their means over the rows stay, which are the intercept's."""
        if not self.signs.any():
            return additive
        values = additive.shapes.copy()
        for j in np.flatnonzero(self.signs).tolist():
            where, n = additive.bins.slices[j], self.placed[j]
            shape = self.signs[j] * values[where, 0]
            rising = isotonic_regression(shape[:n], sample_weight=self.weights[j][:n])
            ordered = np.concatenate([np.maximum.accumulate(rising), shape[n:]])
            values[where, 0] = self.signs[j] * (ordered - self.shares[j] @ (ordered - shape))
        return replace(additive, shapes=values)


def check_monotone(schema: Schema) -> None:
    """Refuse what has no direction: a choice among more than two labels."""
    if directions(schema).any() and schema.n_scores != 1:
        raise QuestionError(
            "a score rises or falls with a feature where there are two labels, or a number is predicted.",
            "leave monotone out of the schema, or join labels.",
        )
