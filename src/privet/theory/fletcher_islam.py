"""Fletcher and Islam 2017: the depth of a random tree, and what their choice of a label leaks."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from math import exp, floor, inf, log, log1p

from privet.errors import QuestionError
from privet.theory.bound import MOST_ROWS, whole

# Exponents are exponentials themselves: exp(−exp(40)) must neither overflow nor lose its digits.
WIDE = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)


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
    if not all(whole(n, 0, MOST_ROWS) for n in (n_continuous, n_categorical)):
        raise QuestionError("numbers of features must be whole, and not negative.", "count them in a schema.")
    depth = int(n_categorical) // 2
    if n_continuous:
        # s and s − 1 share no factor, so that the quotient is whole for s = 2 alone: no rounding decides.
        depth += 2 if n_continuous == 1 else floor(log(2) / -log1p(-1 / n_continuous)) + 2
    return max(depth, 1)


def smooth_sensitivity(gap: int, epsilon: float) -> float:
    """Smooth sensitivity e^(−gap·ε) of "is this the most frequent label?", as published (theorem 1, table 2).

    For study only: it does **not** make the published mechanism private (:func:`published_label_loss`;
    ``docs/papers.md``). By its own definition it is also off by one: a gap of 1 already has a neighbour
    with a tie, so that e^(−max(gap − 1, 0)·ε) is the smooth sensitivity.

    Parameters
    ----------
    gap
        How many more rows the most frequent label has than the second.
    epsilon
        Privacy parameter of the question.

    >>> f"{smooth_sensitivity(10, 0.1):.5f} {smooth_sensitivity(500, 1.0):.2e}"
    '0.36788 7.12e-218'
    """
    if not (gap >= 0 and epsilon > 0):
        raise QuestionError(
            "a gap is at least 0 and epsilon above 0.", "take the difference of sorted counts."
        )
    return exp(-gap * epsilon)


def published_label_loss(counts: Sequence[int], neighbour: Sequence[int], epsilon: float) -> float:
    """Exact privacy loss of the published choice of a leaf's label, between two neighbouring leaves.

    The published mechanism draws label c with odds exp(ε·u(c)/(2S)), u being 1 for the most frequent labels
    and 0 for others, S the smooth sensitivity e^(−gap·ε). Were it ε-DP, no loss would exceed ε.

    Parameters
    ----------
    counts, neighbour
        Label counts of the leaf with and without one row.
    epsilon
        What the mechanism was told to spend.

    Returns
    -------
    float
        Largest absolute log ratio of a label's two probabilities; infinite only where it is beyond 10^308.

    >>> f"{published_label_loss((39, 0), (40, 0), epsilon=1.0):.2e}"
    '7.44e+16'
    >>> f"{published_label_loss((39, 0), (40, 0), epsilon=0.1):.2f}"
    '0.24'
    """
    moved = sorted(abs(a - b) for a, b in zip(counts, neighbour, strict=False))
    one_row = len(counts) == len(neighbour) >= 2 and moved == [0] * (len(counts) - 1) + [1]
    integral = all(whole(count, 0, MOST_ROWS) for count in (*counts, *neighbour))
    if not (one_row and integral and 0 < epsilon < inf):
        raise QuestionError(
            "these are not two neighbouring leaves and an epsilon above 0.",
            "give counts of the same two or more labels that differ by one row of one label.",
        )
    with localcontext(WIDE):
        pairs = zip(_log_probabilities(counts, epsilon), _log_probabilities(neighbour, epsilon), strict=True)
        return float(max(abs(a - b) for a, b in pairs))


def _log_probabilities(counts: Sequence[int], epsilon: float) -> list[Decimal]:
    """Log probability of each label under the published mechanism."""
    top, second = sorted(counts, reverse=True)[:2]
    exponent = Decimal(epsilon) / 2 * (int(top - second) * Decimal(epsilon)).exp()
    n_top = list(counts).count(top)
    normaliser = (n_top + (len(counts) - n_top) * (-exponent).exp()).ln()
    return [(0 if count == top else -exponent) - normaliser for count in counts]
