"""What every engine offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np


class Batch(NamedTuple):
    """Codes of some rows: ``(features, rows)`` and ``(rows,)``.

    ``rows`` are the rows' identities, the same in every pass. ``kept`` is a place for what a tally worked
    out of these rows and would work out again at the next question: a cache of the engine, which is dropped
    with it.
    """

    features: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    kept: dict[str, Any] | None = None


Total = TypeVar("Total")
"""What a tally returns: partial results that can be added up."""


class Draws(Protocol):
    """What each row draws for itself, a function of its identity."""

    def below(self, bound: int, rows: np.ndarray) -> np.ndarray:
        """An integer below ``bound`` for each row."""


class Engine(Protocol):
    """Where rows lie. Tallies are values, so that they can travel there."""

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """Apply a tally to batches that together hold every row once, and add the results."""

    def part(self, draws: Draws, bound: int, drawn: range) -> Self:
        """Engine of the rows whose draw below ``bound`` is among some."""
