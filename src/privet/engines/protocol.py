"""What every engine offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np


class Batch(NamedTuple):
    """Codes of some rows: ``(features, rows)`` and ``(rows,)``.

    ``kept`` is a place for what a kernel worked out of these rows and would work out again at the next
    question. An engine that holds on to its batches gives it; it is dropped with the engine.
    """

    features: np.ndarray
    labels: np.ndarray
    kept: dict[str, Any] | None = None


Total = TypeVar("Total")
"""What a kernel returns: partial results that can be added up."""


class Engine(Protocol):
    """Anything that can sum a kernel over all of its rows."""

    def sum(self, kernel: Callable[[Batch], Total]) -> Total:
        """Apply ``kernel`` to batches that together hold every row once, and add the results."""
