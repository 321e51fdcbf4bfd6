"""Where numbers to predict lie in a public range that is far too wide: a noisy histogram, where that shows.

It shows in the sizes of the residuals about a mean that noise has carried away: next to none is small, or all
are no larger than the error of that mean. Whatever followed would be cut there.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privet.learners.boosting.numbers import CLEAR_SIZES, QUANTILE, WIDTH, WIDTH_BY_QUANTILE, Numbers
from privet.learners.boosting.zoom import FEW_VALUES, FEWEST_PART, segment_of, zoom_edges
from privet.learners.purse import Purse, sd_of
from privet.privacy.questions.finding import RangeRows
from privet.schema import Schema
from privet.structure import Bins

LOST, LIKELY_LOST, FEW_SMALL = 0.1, 0.5, 0.2
"""Error of the mean, in deviations that the residuals tell, from which on the range is looked into: where a
smaller share of the residuals is below half of their upper quartile, and where noise hides how many are."""

SHARES, CLEAR_ROWS, LEAST_ROWS = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 20), Fraction(1, 10)), 30, 15
"""What the question may have: the first that is clear, the last where there are so many rows by deviation of
a cell's noise at least."""

CERTAIN = 6.0
"""Deviations of a cell's noise that the numbers of a segment must show."""

NARROWER = 4
"""Times that the range must be wider than where numbers lie."""


def is_lost(loss: Numbers, error: float, sd: float) -> bool:
    """Whether residuals tell of the error of the mean alone; ``sd`` is that of the noise on their sizes."""
    if loss.reach is not None or loss.schema.target.n_cells <= FEW_VALUES:
        return False
    rows, upper = loss.sizes.rows, loss.sizes.quantile(QUANTILE)
    apart = error / (WIDTH_BY_QUANTILE / WIDTH * upper)
    if rows.sum() < CLEAR_SIZES * sd:
        return apart > LIKELY_LOST
    small = rows[loss.sizes.edges <= upper / 2].sum()
    return bool(apart > LOST and small < FEW_SMALL * rows.sum())


def reach_share(purse: Purse, n_rows: float) -> Fraction:
    """Share of the question, or 0 where its answer would be noise."""
    for share in SHARES:
        least = LEAST_ROWS if share == SHARES[-1] else CLEAR_ROWS
        if n_rows >= least * sd_of(RangeRows.plan(purse.cost(share), 1)):
            return share
    return Fraction(0)


def reach_rows(schema: Schema) -> RangeRows:
    """Rows by cell of the number to predict: narrow near zero, as wide as the range far from it."""
    codes = [np.zeros(feature.n_codes, np.int64) for feature in schema.features]
    return RangeRows(Bins.of(codes, [1] * len(codes)), (), tuple(zoom_edges(schema.target)[1:-1].tolist()))


def found_reach(
    schema: Schema, noisy_rows: np.ndarray, sd: float, n_rows: float
) -> tuple[float, float] | None:
    """Between which numbers most of those to predict lie, if that is a small part of their range."""
    target, edges = schema.target, zoom_edges(schema.target)
    segment = segment_of(noisy_rows, max(sd, n_rows / FEWEST_PART), CERTAIN * sd)
    if segment is None or NARROWER * (edges[segment.stop] - edges[segment.start]) > edges[-1]:
        return None
    low, high = (target.lower + target.width * float(edges[end]) for end in (segment.start, segment.stop))
    return low, high
