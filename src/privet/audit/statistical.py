"""A lower bound on ε from many runs on two neighbouring tables, with a stated confidence.

Half of the runs choose an event, the other half test it: if an event has probability at least p on
one table and at most q on the other, both with high confidence, then e^ε ≥ (p − δ)/q. The bounds are those of
Clopper and Pearson, which hold whatever the probabilities and however few the runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp
from typing import Any

import numpy as np
from scipy import stats

DOUBT = 1e-5
"""How often a bound may be wrong."""

CANDIDATES = 256
"""Most events that the first half of the runs is searched for, in each direction and order."""

Sampler = Callable[[Any, int], np.ndarray]
"""``sample(table, n)`` gives the outputs of n independent runs: ``(n,)`` or ``(n, numbers)``."""


@dataclass(frozen=True)
class LowerBound:
    """A bound on ε from below, and what it rests on.

    Attributes
    ----------
    epsilon : float
        At least this, with the confidence.
    confidence : float
    runs : int
        On each of the two tables.
    seen, seen_other : int
        How often the event happened on the table on which it is likelier, and on the other, in the half
        of the runs that tested it.
    swapped : bool
        Whether the event is likelier on the second table.
    event : str
    """

    epsilon: float
    confidence: float
    runs: int
    seen: int
    seen_other: int
    swapped: bool
    event: str

    @property
    def tested(self) -> int:
        """Runs of each table that tested the event."""
        return self.runs - self.runs // 2


@dataclass(frozen=True)
class Event:
    """A set of outcomes, and whether it is likelier on the second table."""

    members: Any
    swapped: bool
    text: str

    def count(self, outputs: np.ndarray) -> int:
        """How many outputs are in it."""
        return int(self.members(outputs).sum())


def at_least(k: Any, n: int, doubt: float) -> Any:
    """Probability that a success has at least, if k of n were seen."""
    return np.where(np.asarray(k) > 0, stats.beta.ppf(doubt, k, n - np.asarray(k) + 1), 0.0)


def at_most(k: Any, n: int, doubt: float) -> Any:
    """Probability that a success has at most, if k of n were seen."""
    return np.where(np.asarray(k) < n, stats.beta.isf(doubt, np.asarray(k) + 1, n - np.asarray(k)), 1.0)


def bound_from_counts(seen: Any, seen_other: Any, n: int, doubt: float, delta: float = 0.0) -> Any:
    """Lower bound on ε from how often an event happened in n runs on each table; at least 0."""
    likely, unlikely = at_least(seen, n, doubt / 2), at_most(seen_other, n, doubt / 2)
    return np.log(np.maximum(likely - delta, unlikely) / unlikely)


def lower_bound(
    outputs: np.ndarray, outputs_other: np.ndarray, doubt: float = DOUBT, delta: float = 0.0
) -> LowerBound:
    """Bound ε from below by outputs of as many runs on each of two neighbouring tables.

    Outputs of several numbers are taken as they are where few different ones occur. Otherwise they are
    reduced to one number: the sum of the log ratios of the numbers' frequencies, learnt from a third
    of the runs that is not used again.
    """
    if outputs.ndim > 1:
        outputs, outputs_other = joint(outputs, outputs_other)
    half = len(outputs) // 2
    event = choose_event(outputs[:half], outputs_other[:half], doubt, delta)
    a, b = (outputs_other, outputs) if event.swapped else (outputs, outputs_other)
    seen, seen_other, n = event.count(a[half:]), event.count(b[half:]), len(a) - half
    epsilon = float(bound_from_counts(seen, seen_other, n, doubt, delta))
    return LowerBound(epsilon, 1 - doubt, len(a), seen, seen_other, event.swapped, event.text)


def choose_event(a: np.ndarray, b: np.ndarray, doubt: float, delta: float) -> Event:
    """The event whose bound would be largest, of likelihood-ratio sets and of thresholds.

    Half of the runs put the outcomes in order, the other half says how many of them to take: the same
    runs would take their own accidents for a difference.
    """
    values, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    halves = [_tallies(each, len(values)) for each in (places[: len(a)], places[len(a) :])]
    n = len(a) - len(a) // 2
    best, chosen = -1.0, (values, False)
    for swapped in (False, True):
        (first, likely), (first_other, other) = halves[::-1] if swapped else halves
        ratio = (first + 0.5) / (first_other + 0.5)
        upwards = np.arange(len(values))
        for order in (np.argsort(-ratio, kind="stable"), upwards, upwards[::-1]):
            ends = np.unique(np.linspace(1, len(values), min(len(values), CANDIDATES)).astype(int))
            seen, seen_other = likely[order].cumsum()[ends - 1], other[order].cumsum()[ends - 1]
            bounds = bound_from_counts(seen, seen_other, n, doubt, delta)
            place = int(bounds.argmax())
            if bounds[place] > best:
                best, chosen = float(bounds[place]), (values[order[: ends[place]]], swapped)
    members, swapped = chosen
    return Event(lambda outputs: np.isin(outputs, members), swapped, describe(members))


def _tallies(places: np.ndarray, size: int) -> list[np.ndarray]:
    """How often each outcome occurs in the first half of some runs, and in the second."""
    half = len(places) // 2
    return [np.bincount(part, minlength=size) for part in (places[:half], places[half:])]


def describe(members: np.ndarray) -> str:
    """A set of outcomes in few words."""
    shown = ", ".join(str(value) for value in members[:4].tolist())
    return f"{{{shown}}}" if len(members) <= 4 else f"{{{shown}, … {len(members)} outcomes}}"


def joint(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of several numbers as one number each."""
    distinct, places = np.unique(np.concatenate([a, b]), axis=0, return_inverse=True)
    if len(distinct) > max(len(a) // 20, 16):
        return reduced(a, b)
    return places[: len(a)], places[len(a) :]


def reduced(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Several numbers a run to one: summed log ratios, learnt from the first third of the runs."""
    third = len(a) // 3
    scores = np.zeros((2, len(a) - third))
    for column in range(a.shape[1]):
        known = np.concatenate([a[:third, column], b[:third, column]])
        edges = np.unique(np.quantile(known, np.linspace(0, 1, 33)))
        bins = [np.searchsorted(edges, each[:, column], side="right") for each in (a, b)]
        counts = [np.bincount(each[:third], minlength=len(edges) + 1) for each in bins]
        weights = _log_ratios(*counts)
        scores += np.array([weights[each[third:]] for each in bins])
    # Few distinct scores keep sets of them readable, and lose nothing that their noise had not lost.
    a, b = np.round(scores, 3)
    return a, b


def _log_ratios(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log ratios of two frequencies, of those bins alone whose difference is no accident."""
    certain = np.abs(a - b) > 3 * np.sqrt(a + b + 1.0)
    return np.where(certain, np.log((a + 0.5) / (b + 0.5)), 0.0)


def repeated(run: Callable[[Any], Any]) -> Sampler:
    """Sampler of a program that gives one output a run: a number, a text, or a tuple of numbers."""
    return lambda table, n: np.array([run(table) for _ in range(n)])


def runs_needed(epsilon: float, excess: float, probability: float, doubt: float = DOUBT) -> int:
    """Runs on each table that show a loss of ε + excess to exceed ε.

    ``probability`` is that of the event on the table on which it is likelier. Found by doubling, with
    counts as they are expected.

    >>> runs_needed(1.0, 0.25, 0.3) < 30_000 < runs_needed(1.0, 0.05, 0.3)
    True
    """
    n = 64
    while True:
        expected = ceil(n * probability), ceil(n * probability * exp(-epsilon - excess))
        if bound_from_counts(*expected, n, doubt) > epsilon or n > 1 << 40:
            return 2 * n
        n = n * 5 // 4


def largest_provable(n: int, doubt: float = DOUBT) -> float:
    """Largest bound that n runs can give: an event seen always on one table and never on the other."""
    return float(bound_from_counts(n // 2, 0, n // 2, doubt))
