"""How a model's shares are weighed after it was learnt: before they are told, and before a label is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.schema import Scalar
from privet.structure import Predictor, Scored, Weighed

LEAST_SHARE = 1e-3
"""A label of fewer rows is not weighed further: noise would decide by how much."""


@dataclass(frozen=True)
class Weights:
    """Of every label, in the order of the schema; empty where nothing is weighed.

    Attributes
    ----------
    odds : sequence of float
        By which shares are multiplied before they are told.
    choice : sequence of float
        By which they are multiplied once more before the largest names a label.
    """

    odds: Sequence[float] = ()
    choice: Sequence[float] = ()

    def of(self, predictor: Predictor) -> Scored:
        """A predictor whose shares are weighed in this way."""
        if not (self.odds or self.choice):
            return predictor
        n_labels = max(len(self.odds), len(self.choice))
        odds, choice = (np.array(of, float) if of else np.ones(n_labels) for of in (self.odds, self.choice))
        return Weighed(predictor, odds, choice)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"odds": list(self.odds), "choice": list(self.choice)}

    @classmethod
    def from_dict(cls, told: Any, n_labels: int) -> Weights:
        """From a file, which may hold anything."""
        found = [tuple(told[name]) for name in ("odds", "choice")]
        for weights in found:
            if weights and (len(weights) != n_labels or not all(map(is_weight, weights))):
                raise QuestionError("a label's weight is a positive number.")
        return cls(*found)


def is_weight(value: Any) -> bool:
    """Whether something is a positive number that can be divided by."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and isfinite(value) and 1e-9 <= value <= 1e9


def odds_of(
    weights: Any, classes: Sequence[Scalar], shares: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Weight of every label: as given, 1 where none is; or balanced, by the labels' shares."""
    if isinstance(weights, str) and weights == "balanced":
        shares = [1.0] * len(classes) if shares is None else shares
        return tuple(1 / (len(classes) * max(float(share), LEAST_SHARE)) for share in shares)
    if not isinstance(weights, Mapping):
        raise QuestionError(
            "class_weight is a dict of labels and weights, or 'balanced'.", "or leave it out."
        )
    unknown = [label for label in weights if label not in classes]
    if unknown or not all(map(is_weight, weights.values())):
        raise QuestionError(
            "class_weight gives labels of the schema positive numbers.", f"labels are {list(classes)}."
        )
    return tuple(float(weights.get(label, 1)) for label in classes)
