"""Formulas of the papers as plain functions of public quantities."""

from __future__ import annotations

from fractions import Fraction


def fletcher_islam_depth(n_continuous: int, n_categorical: int) -> int:
    """Depth of a random tree after Fletcher and Islam 2017, theorem 2 and table 4.

    Of s continuous features, drawn with replacement, s·((s−1)/s)^d are expected not to be tested on a
    path of depth d. The depth is the smallest for which that is below half of them, plus one, as
    their table counts it; half of the categorical features come on top.

    >>> [fletcher_islam_depth(s, 0) for s in (4, 5, 10, 15, 16, 20)]
    [4, 5, 8, 12, 12, 15]
    >>> fletcher_islam_depth(6, 8), fletcher_islam_depth(0, 22)
    (9, 11)
    """
    depth = n_categorical // 2
    if n_continuous:
        tested = 0
        while Fraction(n_continuous - 1, n_continuous) ** tested >= Fraction(1, 2):
            tested += 1
        depth += tested + 1
    return max(depth, 1)
