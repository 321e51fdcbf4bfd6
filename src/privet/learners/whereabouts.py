"""Where people are on the line of numbers, by noisy rows in cells that are narrow near zero and wide far off.

The cells are halves of octaves on both sides of zero, so that a range which is a million times too wide has
a few dozen of them more than one that fits. People are where neighbouring cells hold more rows than noise
would, and most rows of a feature are never far from such a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from privet.schema import CELLS_BESIDE_ZERO, FRACTION_BITS, Continuous

Ranks = Sequence[np.ndarray | None]
"""About which share of the rows lies below each code, by feature; None where that is not known."""

LEAST_POWER, MOST_POWER = -30, 60
"""Octaves that are cut into cells; what is nearer to zero, or farther off, has a cell on each side."""

PARTS = 2
"""Cells of an octave, equally wide."""

DRIFT, CERTAIN = 1.0, 2.0
"""Deviations of noise that a cell must hold to be worth having, and a segment as a whole."""

CLEAR, HEAVY, LIGHT = 4.0, 6.0, 1.0
"""Deviations of its noise beyond which people are believed to be in a segment, and of a cell's besides, for
there are many segments: tails of Laplace noise are heavy, those of Gaussian noise are light."""

BESIDE = 2.0
"""Deviations more that another segment must hold: one that is noise would widen the range by any factor."""

FEWEST_PART = 200
"""Another segment belongs to the range if it has one row in so many: outliers that are far off do not."""

NARROWER = 4
"""A public range is read anew where people are in a part so many times narrower."""

CLEAR_CELL = 2
"""Deviations of a cell's noise from which on some of its rows are believed."""

RANK_CELLS = 1024
"""Cells of about equal mass that thresholds lie between."""

EVEN = 0.35
"""Share of the ranks that is spread evenly over the range, whatever the answer."""


def line_edges(feature: Continuous) -> np.ndarray:
    """Codes of the whole line at which cells begin, then the number of codes, within the feature's bounds."""
    octaves = np.arange(0 if feature.integer else LEAST_POWER, MOST_POWER) + 1023
    cells = (1 << FRACTION_BITS) // PARTS
    beside = (octaves[:, None] << FRACTION_BITS) + cells * np.arange(PARTS)
    beside = np.append(beside.ravel(), (MOST_POWER + 1023) << FRACTION_BITS)
    zero, line = CELLS_BESIDE_ZERO, feature.opened
    inner = np.concatenate([zero - beside[::-1], [zero], zero + beside])
    if not feature.is_open:
        values = np.array([line.edge(code) for code in inner.tolist()])
        inner = inner[(values > feature.lower) & (values < feature.upper)]
    return np.concatenate([[0], inner, [line.n_cells]])


@dataclass(frozen=True)
class Noise:
    """Deviation of a cell's noise, and how far its tails reach."""

    sd: float
    tail: float

    def most(self, n_cells: int) -> float:
        """Rows that a segment shows by noise alone next to never."""
        return self.sd * (CLEAR * sqrt(n_cells) + self.tail)


@dataclass(frozen=True)
class Place:
    """A feature as it is read from here on, and the rank of each of its codes, if that is known."""

    feature: Continuous
    ranks: np.ndarray | None = None


def found_place(
    feature: Continuous, noisy_rows: np.ndarray, sd: float, n_rows: float, pure: bool = True
) -> Place:
    """Where people are, by noisy rows of the cells between `line_edges`.

    Where noise hides it, a public range stays as it is, and of the whole line the likeliest part is taken.
    """
    edges = line_edges(feature)
    segments = _segments(noisy_rows, Noise(sd, HEAVY if pure else LIGHT), n_rows, feature.is_open)
    if not segments:
        return Place(feature)
    first, last = min(a for a, _ in segments), max(b for _, b in segments)
    ends = np.array([feature.opened.edge(code) for code in edges.tolist()])
    if not feature.is_open:
        ends = np.clip(ends, feature.lower, feature.upper + feature.integer)
    # The outermost cells have no end: there, the next power stands for it.
    farthest = 2.0 ** (MOST_POWER + 1)
    low, high = max(ends[first], -farthest), min(ends[last], farthest)
    read, tiny = feature, high - low < 2.0 ** (2 * LEAST_POWER)
    if feature.is_open or (NARROWER * (high - low) < feature.upper - feature.lower and not tiny):
        read = _ranged(feature, low, high)
    return Place(read, _ranks(read, np.clip(ends, -farthest, farthest), noisy_rows, segments, sd, n_rows))


def _ranged(feature: Continuous, low: float, high: float) -> Continuous:
    before = feature.declared or feature
    lower, upper = low, high
    if feature.integer:
        lower = ceil(low)
        upper = max(ceil(high) - 1, lower + 1)
    return replace(feature, lower=lower, upper=upper, declared=before)


def _segments(noisy_rows: np.ndarray, noise: Noise, n_rows: float, surely: bool) -> list[tuple[int, int]]:
    """Segments of cells that hold people: the best, at any rate where ``surely``, and others beside it."""
    first, last = _best_segment(noisy_rows, noise.sd)
    if not surely and noisy_rows[first:last].sum() < noise.most(last - first):
        return []
    found, beside = [(first, last)], [(0, first), (last, len(noisy_rows))]
    while beside:
        begin, end = beside.pop()
        if end == begin:
            continue
        first, last = (begin + place for place in _best_segment(noisy_rows[begin:end], noise.sd))
        rows = noisy_rows[first:last].sum()
        if rows >= max(noise.most(last - first) + BESIDE * noise.sd, n_rows / FEWEST_PART):
            found.append((first, last))
            beside += [(begin, first), (last, end)]
    return found


def _best_segment(noisy_rows: np.ndarray, sd: float) -> tuple[int, int]:
    """Neighbouring cells whose rows are farthest beyond the noise of so many cells."""
    n = len(noisy_rows)
    before = np.append(0.0, np.cumsum(noisy_rows - DRIFT * sd))
    penalty = CERTAIN * sd * np.sqrt(np.arange(n + 1))
    begin, end = np.triu_indices(n + 1, 1)
    best = int((before[end] - before[begin] - penalty[end - begin]).argmax())
    return int(begin[best]), int(end[best])


def _ranks(
    feature: Continuous,
    ends: np.ndarray,
    noisy_rows: np.ndarray,
    segments: Sequence[tuple[int, int]],
    sd: float,
    n_rows: float,
) -> np.ndarray:
    """Part of the height is the range's; the rest follows clear rows, else the segments."""
    upper = feature.upper + feature.integer
    lengths = np.diff(np.clip(ends, feature.lower, upper))
    inside = np.zeros(len(noisy_rows))
    for first, last in segments:
        inside[first:last] = lengths[first:last]
    within = lengths > 0
    clear = np.where((noisy_rows > CLEAR_CELL * sd) & within, noisy_rows, 0.0)
    shares = clear / max(clear.sum(), n_rows)
    if inside.sum() > 0:
        shares += (1 - shares.sum()) * inside / inside.sum()
    shares = (1 - EVEN) * shares / max(shares.sum(), 1e-12) + EVEN * lengths / lengths.sum()
    places = feature.lower + feature.width * np.arange(feature.n_cells)
    return np.interp(places, ends, np.append(0.0, np.cumsum(shares))).clip(0, np.nextafter(1, 0))
