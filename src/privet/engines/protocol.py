"""What every engine offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np


class Batch(NamedTuple):
    """Codes of some rows: ``(features, rows)`` and ``(rows,)``."""

    features: np.ndarray
    labels: np.ndarray


Total = TypeVar("Total")
"""What a kernel returns: partial results that can be added up."""


class Engine(Protocol):
    """Anything that can sum a kernel over all of its rows."""

    def sum(self, kernel: Callable[[Batch], Total]) -> Total:
        """Apply ``kernel`` to batches that together hold every row once, and add the results."""
