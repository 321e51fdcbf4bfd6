"""What every engine offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from privet.schema import Schema


class Batch(NamedTuple):
    """Codes of some rows: ``(features, rows)`` and ``(rows,)``.

    ``rows`` are the rows' identities, the same in every pass: unsigned where they are keys. ``kept`` is a
    place for what a tally worked out of these rows and would work out again at the next question: a cache of
    the engine, dropped with it. ``texts`` are the rows' values, as text, of features whose categories
    the schema leaves open.
    """

    features: np.ndarray
    labels: np.ndarray
    rows: np.ndarray
    kept: dict[str, Any] | None = None
    texts: Mapping[int, np.ndarray] | None = None


Total = TypeVar("Total")
"""What a tally returns: partial results that can be added up."""


class Draws(Protocol):
    """What each row draws for itself, a function of its identity."""

    def below(self, bound: int, rows: np.ndarray) -> np.ndarray:
        """An integer below ``bound`` for each row."""


class Engine(Protocol):
    """Where rows lie. Tallies are values, so that they can travel there.

    A tally may have two public properties that save reading: ``columns``, the places of the features that it
    looks at, and ``again``, whether the rows will be read again after it.
    """

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """Apply a tally to batches that together hold every row once, and add the results."""

    def part(self, draws: Draws, bound: int, taken: range) -> Self:
        """Engine of the rows whose draw below ``bound`` is among some."""

    def under(self, schema: Schema) -> Self:
        """Engine of the same rows, read under another schema of the same columns; each keeps its identity."""
