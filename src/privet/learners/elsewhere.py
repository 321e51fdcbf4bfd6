"""Tables that lie elsewhere and are learnt from there: only the request goes, only the model comes back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from privet.schema import Schema


class Elsewhere(ABC):
    """A table whose owner fits for whoever asks; an estimator's ``fit`` takes one in the place of rows."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The public contract of its rows."""

    @abstractmethod
    def learn(self, learner: str, parameters: Mapping[str, Any]) -> Any:
        """Have a model fitted, by the learner's name and its parameters that are not their defaults."""

    @abstractmethod
    def score(self, model: Any, metric: str, *, epsilon: Any) -> Mapping[str, Any]:
        """Have a released model scored there."""
