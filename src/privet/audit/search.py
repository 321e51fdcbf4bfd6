"""Find the tables on which a mechanism shows most, instead of guessing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.audit.statistical import Sampler, lower_bound

Table = tuple[Any, ...]


@dataclass(frozen=True)
class Pair:
    """A table, its neighbour that lacks a row, and the score of the search that found them."""

    table: Table
    neighbour: Table
    score: float


def search(
    sample: Sampler,
    universe: Sequence[Any],
    *,
    runs: int,
    steps: int,
    most_rows: int,
    random: np.random.Generator,
    restarts: int = 4,
) -> Pair:
    """Climb to a table and a row whose removal shows most, by short runs on each.

    Tables grow, shrink and change by a row at a time; the score is a lower bound with a doubt of a tenth.
    """

    def score(pair: tuple[Table, Table]) -> float:
        outputs, other = (sample(table, runs) for table in pair)
        return lower_bound(outputs, other, doubt=0.1).epsilon

    best: Pair | None = None
    for _ in range(restarts):
        size = int(random.integers(1, most_rows + 1))
        table = _drawn(universe, size, random)
        here = _with_neighbour(table, random)
        height = score(here)
        for _ in range(steps):
            there = _with_neighbour(_moved(here[0], universe, most_rows, random), random)
            if (found := score(there)) > height:
                here, height = there, found
        if best is None or height > best.score:
            best = Pair(*here, height)
    assert best is not None
    return best


def _drawn(universe: Sequence[Any], size: int, random: np.random.Generator) -> Table:
    """Rows of few kinds: many alike are what shows a mechanism that trusts large counts."""
    kinds = random.integers(len(universe), size=2)
    return tuple(universe[kinds[int(random.random() < 0.2)]] for _ in range(size))


def _moved(table: Table, universe: Sequence[Any], most_rows: int, random: np.random.Generator) -> Table:
    place, row = int(random.integers(len(table))), universe[int(random.integers(len(universe)))]
    moves = [
        (*table, row)[:most_rows],
        (*table, table[place])[:most_rows],
        table[:place] + table[place + 1 :] if len(table) > 1 else table,
        (*table[:place], row, *table[place + 1 :]),
    ]
    return moves[int(random.integers(len(moves)))]


def _with_neighbour(table: Table, random: np.random.Generator) -> tuple[Table, Table]:
    place = int(random.integers(len(table)))
    return table, table[:place] + table[place + 1 :]
