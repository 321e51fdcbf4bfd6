"""What noise an answer gets: a function of the most one person can move it and of what it costs.

Plans, previews and what learners shrink by ask these functions too, so that none of them can drift from
what is drawn.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt

from privet.answers import EXPONENTIAL, PERMUTE_AND_FLIP, Law
from privet.errors import QuestionError
from privet.noise.inversion import exp_bracket
from privet.noise.samplers import ADDITIVE, GAUSSIAN, LAPLACE, MAX_SIGMA_SQUARED, check_rate
from privet.privacy.budget import Cost, bounded_range_epsilon

TAIL_BITS = 1024
"""Bits to which tails are bracketed: far finer than the square of the least δ."""

WIDEST_VARIANCE = MAX_SIGMA_SQUARED
"""Of Gaussian noise that can be drawn, in units."""

OF_ITS_OWN = Law("of its own", Fraction(0))
"""Law of a question that is made of others."""


@dataclass(frozen=True)
class Change:
    """The most that one person moves the whole numbers of an answer.

    Attributes
    ----------
    l1, l2_squared : int
        In L1 norm, and in squared L2 norm, in units.
    unit : float
        What a unit is worth in the answer as it is released; a power of two.
    """

    l1: int
    l2_squared: int
    unit: float = 1.0


@dataclass(frozen=True)
class ScoreChange:
    """The most that one person moves any score by which something is chosen.

    Attributes
    ----------
    sensitivity : Fraction or int
    monotone : bool
        Whether adding a person never moves two scores in opposite directions: a factor of two goes then.
    shares : int
        Choices about the same people that are paid for together, each with an even share.
    """

    sensitivity: Fraction | int = 1
    monotone: bool = True
    shares: int = 1


def law_of(change: Change | ScoreChange, cost: Cost) -> Law:
    """The law of the noise, or a refusal of noise that could not be drawn.

    Privacy
    -------
    The answer is then within its cost: ε-DP if it has an ε, and ρ-zCDP. Proofs: *Discrete Laplace*,
    *Rounded Gaussian*, *Permute-and-flip*, *Exponential*.
    """
    if isinstance(change, Change):
        law = _law_of_numbers(change, cost)
        ADDITIVE[law.name].check(law.parameter)
    else:
        law = _law_of_choice(change, cost)
        check_rate(law.parameter)
    return law


def noise_sd(change: Change, cost: Cost) -> float:
    """Standard deviation of the noise on a number of an answer, as it is released.

    Told of noise, too, that is too wide to be drawn.
    """
    return change.unit * sqrt(_law_of_numbers(change, cost).variance)


@lru_cache(maxsize=256)
def common_threshold(law: Law, n_new: int, delta: Fraction) -> int:
    """Least noisy count that ``n_new`` keys with one row each reach with probability δ at most.

    Privacy
    -------
    Decided in whole numbers, on the side of safety. Proof: *Common values*.
    """
    if not delta:
        raise QuestionError(
            "values that people share cannot be found in pure epsilon: a value that one person alone has "
            "would have to be shown as often as one that nobody has, and any text may be such a value.",
            "list the categories in the schema, or set a delta, say 1e-6.",
        )
    low, high = 1, 1 << 62
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _rarely_reached(law, middle, delta / n_new) else (middle + 1, high)
    return 1 + low


def _rarely_reached(law: Law, count: int, probability: Fraction) -> bool:
    """Whether noise is certainly at least ``count`` with no more than a probability."""
    scale = 1 << TAIL_BITS
    if law.name == LAPLACE:
        # a^t/(1 + a), a = exp(−1/s).
        tail = exp_bracket(count / law.parameter, TAIL_BITS)[1]
        once = exp_bracket(1 / law.parameter, TAIL_BITS)[0]
        return Fraction(tail, scale + once) <= probability
    # Below a Gaussian's tail beyond t − 1, hence below exp(−x²/2)/(x·√2π), x = (t − 1)/σ; squared, and
    # 2π > 6.28.
    x_squared = (count - 1) ** 2 / law.parameter
    tail = exp_bracket(x_squared, TAIL_BITS)[1]
    return Fraction(tail, scale) <= probability**2 * Fraction(157, 25) * x_squared


def selection_rate(epsilon: Fraction, sensitivity: Fraction | int, monotone: bool) -> Fraction:
    """Exponent per unit of score that an ε-DP selection may use."""
    return epsilon / Fraction(sensitivity) / (1 if monotone else 2)


def _law_of_numbers(change: Change, cost: Cost) -> Law:
    name, price = (GAUSSIAN, cost.rho) if cost.epsilon is None else (LAPLACE, cost.epsilon)
    return Law(name, ADDITIVE[name].parameter(change.l1, change.l2_squared, price))


def _law_of_choice(change: ScoreChange, cost: Cost) -> Law:
    """Permute-and-flip where the whole of ε²/2 is paid in ρ, else the exponential mechanism.

    The latter is bounded-range: ε²/8 in ρ pays for it.
    """
    epsilon, shares = cost.epsilon, change.shares
    ranged = bounded_range_epsilon(cost.rho / shares)
    if epsilon is None:
        name, each = EXPONENTIAL, ranged
    elif 2 * cost.rho >= epsilon**2 / shares:
        name, each = PERMUTE_AND_FLIP, epsilon / shares
    else:
        name, each = EXPONENTIAL, min(epsilon / shares, ranged)
    return Law(name, selection_rate(each, change.sensitivity, change.monotone))
