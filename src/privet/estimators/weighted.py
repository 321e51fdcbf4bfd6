"""The edge of classifiers whose labels may have weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from privet.data.values import text
from privet.estimators.base import PrivateClassifier
from privet.model.weights import odds_of
from privet.schema import Schema


@dataclass(eq=False, repr=False)
class WeightedClassifier(PrivateClassifier):
    """Base of the classifiers that released shares of rows: the odds of labels are weighed after the fit."""

    class_weight: Any = field(default=None, kw_only=True)

    def _check_predicted(self, schema: Schema) -> None:
        """Refuse a schema that predicts something else, and weights that it has no labels for."""
        super()._check_predicted(schema)
        if self.class_weight is not None:
            odds_of(self._weights(schema), schema.classes)

    def _weights(self, schema: Schema) -> Any:
        """Weights by the labels of the schema, which may be written in another type than those given."""
        if not isinstance(self.class_weight, Mapping):
            return self.class_weight
        known = {text(label): label for label in schema.classes}
        return {known.get(text(label), label): weight for label, weight in self.class_weight.items()}

    def _keep(self, model: Any, y: Any) -> None:
        """Take over what was released, and weigh it."""
        weighed = self.class_weight is not None and not model.weights.odds
        super()._keep(model.weighed(self._weights(model.schema)) if weighed else model, y)
