"""Jagannathan, Pillaipakkamnatt and Wright 2012: how high a private random tree should be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privet.errors import QuestionError
from privet.theory.bound import MOST_ROWS, whole


def jagannathan_height(n_rows: int, domain_sizes: Sequence[int]) -> int:
    """Height of a random tree: min(⌊k/2⌋, ⌊log_b n⌋ − 1), and at least 1 (section 5.1).

    Parameters
    ----------
    n_rows
        n, public or a noisy count.
    domain_sizes
        For each of the k features the number of children that a split on it makes: the number of
        categories, or 2 for a continuous feature, which is split at one threshold. Their mean is b. The
        paper has categorical features only; the 2 is our reading of its remark on thresholds.

    Notes
    -----
    The logarithm is taken exactly: ``math.log(5**3, 5)`` is less than 3.

    >>> jagannathan_height(12_960, [3, 5, 4, 4, 3, 2, 3, 3])  # Nursery
    4
    >>> jagannathan_height(435, [2] * 16)  # Congressional Votes
    7
    >>> jagannathan_height(5**3, [5] * 9), jagannathan_height(5**3 - 1, [5] * 9)
    (2, 1)
    """
    k = len(domain_sizes)
    sound = whole(n_rows, 1, MOST_ROWS) and all(whole(size, 1, MOST_ROWS) for size in domain_sizes)
    if not sound or k == 0:
        raise QuestionError(
            f"no height for {n_rows} rows and {k} features.",
            "give whole numbers: at least one row and one feature, each with a domain of at least 1.",
        )
    branching = Fraction(sum(map(int, domain_sizes)), k)
    if branching == 1:
        raise QuestionError(
            "every feature has one value only, so that no split parts anything.",
            "leave constant features out.",
        )
    height, leaves = 0, branching**2
    while height < k // 2 and leaves <= n_rows:
        height, leaves = height + 1, leaves * branching
    return max(height, 1)
