"""Numbers to cells of the whole line of floats, and values to the texts among which categories are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.data.values import plain, text
from privet.schema import CELLS_BESIDE_ZERO, FRACTION_BITS

SHIFT = 52 - FRACTION_BITS
"""Bits of a float that its cell does not keep."""


def line_cells(values: np.ndarray) -> np.ndarray:
    """Cell of each float in the whole line: its sign and its first bits; the last code where it is missing.

    A cell holds its edge that is nearer to minus infinity, as cells of a range do.
    """
    bits = np.abs(np.asarray(values, np.float64)).view(np.int64)
    beside = np.where(values < 0, -((bits + (1 << SHIFT) - 1) >> SHIFT), bits >> SHIFT)
    cells = np.clip(CELLS_BESIDE_ZERO + beside, 0, 2 * CELLS_BESIDE_ZERO - 1)
    return np.where(np.isnan(values), 2 * CELLS_BESIDE_ZERO, cells)


def value_text(value: Any) -> str | None:
    """Text under which a value would be found among categories, None where it is missing."""
    found = plain(value)
    return None if found is None else text(found)
