"""Zoom: where people are within the public ranges, before these are cut into cells.

Nobody knows how far numbers reach. In a range that is far too wide people share one of equal cells; so one
noisy histogram is asked first, over cells that are narrow near zero and as wide as the range far from it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privet.learners.purse import Purse, sd_of
from privet.learners.whereabouts import Ranks
from privet.privacy.questions.finding import RangeRows
from privet.schema import Continuous, Feature, Schema
from privet.structure import Bins

SHARES = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 20))
"""What the question may have: the first that tells where people are."""

CLEAR_ROWS, LEAST_ROWS = 30, 8
"""Rows by deviation of a cell's noise that are plenty, and below which the answer says too little."""

FEWEST_PASSES = 4
"""Questions after the labels, when their number is limited, of which this may be one."""

FEW_VALUES = 64
"""A feature of no more values keeps them all, or nearly."""

CLEAR = 2
"""Rows of a cell, in deviations of its noise, from which on some of them are believed."""

FEWEST_PART = 500
"""A cell belongs to the segment where people are with one row in so many, or a deviation of its noise."""

PLENTY, NARROW = 100, 8
"""Rows by deviation of a cell's noise below which cells follow the answer only where people are in so small a
part of the range: noise moves cells to where nobody is, and equal ones serve about as well."""

EVEN = 0.35
"""Share of the cells that are spread over the whole range, whatever the answer."""


def zoom_places(schema: Schema) -> tuple[int, ...]:
    """Features whose ranges may be too wide."""
    return tuple(
        j for j, f in enumerate(schema.features) if isinstance(f, Continuous) and f.n_cells > FEW_VALUES
    )


def zoom_share(purse: Purse, n_rows: float, schema: Schema, passes: int | None) -> Fraction:
    """Share of the question, or 0 where no range can be too wide or the answer would be noise.

    ``passes`` is the most questions after the labels; this is not among so few that others need them.
    """
    n_ranges = len(zoom_places(schema))
    if not n_ranges or (passes is not None and passes < FEWEST_PASSES):
        return Fraction(0)
    for share, least in zip(SHARES, (CLEAR_ROWS, CLEAR_ROWS, LEAST_ROWS), strict=True):
        if n_rows >= least * sd_of(RangeRows.plan(purse.cost(share), n_ranges)):
            return share
    return Fraction(0)


def zoom_edges(feature: Continuous) -> np.ndarray:
    """Codes at which cells begin, then the number of codes: powers of √2 on both sides of zero."""
    zero = round(min(max(-feature.lower / feature.width, 0), feature.n_cells))
    steps = np.round(np.sqrt(2) ** np.arange(33)).astype(np.int64)
    edges = np.concatenate([[0, zero, feature.n_cells], zero - steps, zero + steps])
    return np.unique(np.clip(edges, 0, feature.n_cells))


def zoom_bins(schema: Schema) -> Bins:
    """Those cells of every feature that has a range, and a cell for missing values; one of any other."""
    tables, sizes = zip(*map(_zoom_table, schema.features), strict=True)
    return Bins.of(tables, sizes)


def _zoom_table(feature: Feature) -> tuple[np.ndarray, int]:
    if not isinstance(feature, Continuous):
        return np.zeros(feature.n_codes, np.int64), 1
    edges = zoom_edges(feature)
    table = np.searchsorted(edges, np.arange(feature.n_codes), side="right") - 1
    table[-1] = len(edges) - 1 if feature.missing else 0
    return table, len(edges) - 1 + feature.missing


def zoomed(schema: Schema, noisy_rows: np.ndarray, bins: Bins, sd: float, n_rows: float) -> Ranks:
    """Rank of every code, by the answer."""
    return [
        _ranks(noisy_rows[where], zoom_edges(feature), sd, n_rows)
        if isinstance(feature, Continuous)
        else None
        for feature, where in zip(schema.features, bins.slices, strict=True)
    ]


def likely_ranks(schema: Schema, ranks: Ranks) -> Ranks:
    """Ranks of every code where noise would be all: what is not known of a range is taken for likely.

    People are as likely in any cell of `zoom_edges` as anywhere in the range.
    """
    known = ranks or [None] * len(schema.features)
    return [
        _likely(zoom_edges(feature)) if found is None and isinstance(feature, Continuous) else found
        for feature, found in zip(schema.features, known, strict=True)
    ]


def _likely(edges: np.ndarray) -> np.ndarray:
    codes, n_zooms = np.arange(edges[-1]), len(edges) - 1
    octaves = np.interp(codes, edges, np.arange(n_zooms + 1) / n_zooms)
    return np.asarray((codes / edges[-1] + octaves) / 2)


def _ranks(noisy_rows: np.ndarray, edges: np.ndarray, sd: float, n_rows: float) -> np.ndarray | None:
    """Part of the height is the range's; the rest follows the rows, where they are clear, or the segment."""
    rows = noisy_rows[: len(edges) - 1]
    segment = segment_of(rows, max(sd, n_rows / FEWEST_PART), 3 * sd)
    if segment is None:
        return None
    length = edges[segment.stop] - edges[segment.start]
    if n_rows < PLENTY * sd and length * NARROW > edges[-1]:
        return None
    clear = np.where(rows > CLEAR * sd, rows, 0.0)
    shares = clear / max(clear.sum(), n_rows)
    lengths = np.diff(edges).astype(float)
    inside = np.zeros(len(rows))
    inside[segment] = lengths[segment] / lengths[segment].sum()
    shares += (1 - shares.sum()) * inside
    shares = (1 - EVEN) * shares + EVEN * lengths / lengths.sum()
    return np.asarray(np.interp(np.arange(edges[-1]), edges, np.append(0.0, np.cumsum(shares))))


def segment_of(noisy_rows: np.ndarray, least: float, clear: float) -> slice | None:
    """Neighbouring cells with most rows beyond ``least`` in each, if that is clearly more than none."""
    before = np.append(0.0, np.cumsum(noisy_rows - least))
    gains = before[1:] - np.minimum.accumulate(before[:-1])
    last = int(gains.argmax())
    return slice(int(before[: last + 1].argmin()), last + 1) if gains[last] >= clear else None
