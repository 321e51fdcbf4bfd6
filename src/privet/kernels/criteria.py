"""Criteria of choices as integers: how much a row can change them, and that it changes all one way.

Proof note: ``docs/proofs/splits.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, log2

import numpy as np

from privet.errors import QuestionError
from privet.kernels.splits import GINI, INFORMATION_GAIN, MAX
from privet.schema import Schema

CRITERIA = {"max": MAX, "gini": GINI, "information_gain": INFORMATION_GAIN}

GINI_BITS = 8
ENTROPY_BITS = 10
"""Fraction bits of a score: what is rounded away is far below any noise of a choice."""


@dataclass(frozen=True)
class Criterion:
    """A criterion, and the most that one row can change it, in units of its grid."""

    number: int
    fraction_bits: int
    sensitivity: int


def criterion_named(name: str, schema: Schema) -> Criterion:
    """The criterion of a name.

    ===================  =========================================  ===========================
    ``max``              rows that have their child's top label     1
    ``gini``             − rows · chance to mislabel at random      2
    ``information_gain`` − rows · entropy, in bits                  log2(N + 1) + 1/ln 2
    ===================  =========================================  ===========================

    The last column is the sensitivity; N is the schema's ``max_rows``.
    """
    if name == "max":
        return Criterion(MAX, 0, 1)
    if name == "gini":
        return Criterion(GINI, GINI_BITS, 2 << GINI_BITS)
    if name == "information_gain":
        return Criterion(INFORMATION_GAIN, ENTROPY_BITS, _entropy_sensitivity(schema))
    if name == "gain_ratio":
        raise QuestionError(
            "gain ratio cannot be used: one row can change it by any amount, and no noise would hide it.",
            "take max, gini or information_gain.",
        )
    raise QuestionError(f"there is no criterion {name!r}.", f"take one of {', '.join(CRITERIA)}.")


def entropy_table(criterion: Criterion, n_rows: int) -> np.ndarray:
    """Stand-in F(k) for k·log2(k), k = 0 … n_rows, in units: convex, no step above the sensitivity.

    Both hold whatever the floats do: steps are made to rise and are cut off, as integers.
    """
    if criterion.number != INFORMATION_GAIN:
        return np.zeros(1, np.int64)
    k = np.arange(1, max(n_rows, 1), dtype=np.float64)
    steps = np.floor((np.log2(k + 1) + k * np.log1p(1 / k) / log(2)) * (1 << criterion.fraction_bits))
    rising = np.minimum(np.maximum.accumulate(steps.astype(np.int64)), criterion.sensitivity)
    return np.concatenate([[0, 0], np.cumsum(rising)])


def quantile_scores(exact_rows: np.ndarray, share: Fraction) -> np.ndarray:
    """Minus the rows by which each cell misses a share, in units of 1/denominator of a row.

    A cell misses it by as many rows as must lie elsewhere for the share to fall into the cell: those
    below it beyond the share, or those above it beyond the rest.
    """
    up_to = np.cumsum(exact_rows, axis=-1)
    wanted = share.numerator * up_to[..., -1:]
    too_high = share.denominator * (up_to - exact_rows) - wanted
    too_low = wanted - share.denominator * up_to
    return -np.maximum(np.maximum(too_high, too_low), 0)


def _entropy_sensitivity(schema: Schema) -> int:
    if schema.max_rows is None:
        raise QuestionError(
            "information gain needs a public bound on the number of rows: what one row can change grows "
            "with it.",
            "set max_rows in the schema, or take the criterion max or gini.",
        )
    return ceil((log2(schema.max_rows + 1) + 1 / log(2)) * (1 << ENTROPY_BITS))
