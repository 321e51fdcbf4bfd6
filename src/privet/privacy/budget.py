"""Budgets and costs in whole numbers. Proof note: ``docs/proofs/composition.md``.

A cost is a whole number of units on a public grid: 10⁻¹² of ε, 10⁻²⁴ of ρ and 10⁻¹¹⁰ of δ. What somebody
asks for is rounded down to the grid before its noise is computed; what it costs besides is rounded up. So
sums are exact, and stay as short after a million questions as after one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from privet.checks import Number, exact
from privet.errors import QuestionError
from privet.privacy.profile import profile_epsilon, profile_price, profile_rho

MIN_DELTA = Fraction(1, 10**100)
UNITS = 10**12
"""Units of ε in 1; those of ρ are as many squared."""

DELTA_UNITS = 10**110
"""Units of δ in 1: the least δ that a budget can have is ten digits of them."""

ZCDP, GDP = ACCOUNTINGS = ("zcdp", "gdp")
"""How costs add up under a δ: in ρ, or in half of μ² of Gaussian differential privacy."""

LEAST, MOST = Fraction(1, 10**9), Fraction(10**6)
"""Smallest and largest ε that may be asked for."""


@dataclass(frozen=True)
class Cost:
    """What an answer costs: in pure ε, if it has such a cost, and in ρ of zCDP, both in units.

    An ε-DP answer costs ε²/2 in ρ, one that is also ε-bounded-range ε²/8. An answer that keeps this but for a
    probability has a δ of its own besides. Where all that has no ε has Gaussian noise, which is ``gaussian``,
    ρ is half of the μ² of Gaussian differential privacy as well.
    """

    epsilon_units: int | None
    rho_units: int
    delta_units: int = 0
    gaussian: bool = False

    def __post_init__(self) -> None:
        # Read once: whatever was handed in, it is a plain whole number from here on.
        units = None if self.epsilon_units is None else int(self.epsilon_units)
        object.__setattr__(self, "epsilon_units", units)
        object.__setattr__(self, "rho_units", int(self.rho_units))
        object.__setattr__(self, "delta_units", int(self.delta_units))
        object.__setattr__(self, "gaussian", bool(self.gaussian) and units is None)
        if min(self.rho_units, self.epsilon_units or 0, self.delta_units) < 0:
            raise QuestionError("a cost cannot be negative.", "nothing gives budget back.")

    @classmethod
    def pure(cls, epsilon: Number, bounded_range: bool = False) -> Cost:
        """Cost of an ε-DP answer; ε is rounded down to the grid."""
        units = _down(positive(epsilon), UNITS)
        return cls(units, -(-(units**2) // (8 if bounded_range else 2)))

    @classmethod
    def zcdp(cls, rho: Number, gaussian: bool = False) -> Cost:
        """Cost of a ρ-zCDP answer, with Gaussian noise if it says so; ρ is rounded down to the grid."""
        units = _down(positive(rho, "rho"), UNITS**2)
        if not units:
            raise QuestionError("rho must be at least 1e-24.", "less says nothing.")
        return cls(None, units, gaussian=gaussian)

    @classmethod
    def rounded_up(cls, epsilon: Fraction | None, rho: Fraction, delta: Fraction | int = 0) -> Cost:
        """The least cost on the grid that is not below what a ledger of any age states."""
        pure = None if epsilon is None else math.ceil(epsilon * UNITS)
        return cls(pure, math.ceil(rho * UNITS**2), math.ceil(delta * DELTA_UNITS))

    def with_delta(self, delta: Number) -> Cost:
        """The same with a δ of its own, rounded down to the grid."""
        return replace(self, delta_units=_down(exact(delta, "delta"), DELTA_UNITS))

    @property
    def epsilon(self) -> Fraction | None:
        """Cost in pure ε, if there is one."""
        return None if self.epsilon_units is None else Fraction(self.epsilon_units, UNITS)

    @property
    def rho(self) -> Fraction:
        """Cost in ρ."""
        return Fraction(self.rho_units, UNITS**2)

    @property
    def delta(self) -> Fraction:
        """Probability with which the answer does not keep its ε or ρ."""
        return Fraction(self.delta_units, DELTA_UNITS)

    def exceeds(self, other: Cost) -> bool:
        """Whether this costs more than another, in a law in which the other is paid for."""
        if self.rho_units > other.rho_units or self.delta_units > other.delta_units:
            return True
        if other.gaussian and not self.gaussian:
            return True  # with an ε it has another price where μ² adds up, and a choice has none
        if other.epsilon_units is None:
            return False
        return self.epsilon_units is None or self.epsilon_units > other.epsilon_units

    def priced(self, accounting: str) -> Cost:
        """What this costs where costs add up in a way: there, ρ may be half of μ²."""
        if accounting == ZCDP or self.gaussian:
            return self
        if self.epsilon is None:
            raise QuestionError(
                "this account adds up Gaussian noise, which not every answer in rho has.",
                "ask for an epsilon, or of an account that adds up in zCDP.",
            )
        units = math.ceil(profile_price(self.epsilon) * UNITS**2) if self.epsilon_units else 0
        return replace(self, rho_units=units)

    def __repr__(self) -> str:
        return f"<Cost: {self}>"

    def __str__(self) -> str:
        own = f", δ={_short(self.delta)}" if self.delta_units else ""
        return (f"ε={_short(self.epsilon)}" if self.epsilon is not None else f"ρ={_short(self.rho)}") + own


NOTHING = Cost(0, 0)


def in_sequence(costs: Iterable[Cost]) -> Cost:
    """Cost of answers about the same people: the sum."""
    listed = list(costs)
    return _joined(listed, sum)


def in_parallel(costs: Iterable[Cost]) -> Cost:
    """Cost of answers about disjoint people: the maximum."""
    listed = list(costs) or [NOTHING]
    return _joined(listed, max)


def _joined(costs: list[Cost], join: Callable[[Iterable[int]], int]) -> Cost:
    pure = [cost.epsilon_units for cost in costs if cost.epsilon_units is not None]
    return Cost(
        join(pure) if len(pure) == len(costs) else None,
        join(cost.rho_units for cost in costs),
        join(cost.delta_units for cost in costs),
        bool(costs) and all(cost.gaussian for cost in costs),
    )


@dataclass(frozen=True)
class Budget:
    """The most that may be learnt about any one person: (ε, δ); ε is rounded down to the grid.

    With δ = 0 costs add up in ε. With δ > 0 they may add up in ρ of zCDP instead, whichever fits. A part of δ
    may be set aside for questions that have a δ of their own, such as those that find which values people
    share: ``finding``. It is set before anything is asked, and ρ has the rest of δ.

    With ``accounting="gdp"`` costs add up in half of μ² of Gaussian differential privacy instead of ρ, which
    leaves 5 to 8 % less noise to Gaussian answers; an ε costs more there, and a choice in ρ is refused. An
    account keeps the one that it was made with.

    Examples
    --------
    >>> Budget(1).allows(in_sequence([Cost.pure(0.1)] * 10))
    True
    >>> Budget(1).allows(in_sequence([Cost.pure(0.1)] * 11))
    False
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    finding: Fraction = Fraction(0)
    accounting: str = ZCDP

    def __init__(
        self, epsilon: Number, delta: Number = 0, finding: Number = 0, accounting: str = ZCDP
    ) -> None:
        if accounting not in ACCOUNTINGS:
            raise QuestionError(f"accounting is {' or '.join(map(repr, ACCOUNTINGS))}.", "leave it out.")
        object.__setattr__(self, "accounting", accounting)
        object.__setattr__(self, "epsilon", Fraction(_down(positive(epsilon), UNITS), UNITS))
        object.__setattr__(self, "delta", exact(delta, "delta"))
        if self.delta != 0 and not MIN_DELTA <= self.delta < 1:
            raise QuestionError("delta must be 0, or at least 1e-100 and below 1.", "say, 1e-6.")
        object.__setattr__(self, "finding", exact(finding, "finding"))
        rest = self.delta - self.finding
        if any(part and part < MIN_DELTA for part in (self.finding, rest)):
            raise QuestionError(
                "finding is a part of delta: 0, or at least 1e-100, and all of delta or so much less.",
                "say, a tenth of delta.",
            )

    @property
    def rho(self) -> Fraction:
        """The most ρ, or half of μ², that gives ε and what of δ is not set aside; 0 where nothing is."""
        rest = self.delta - self.finding
        if not rest:
            return Fraction(0)
        profile = profile_rho(self.epsilon, rest) if self.accounting == GDP else None
        return profile if profile is not None else rho_of(self.epsilon, rest)

    def epsilon_of(self, rho: Fraction) -> Decimal:
        """Two digits, rounded down, of the ε that a ρ, or half of μ², gives: for people to read."""
        rest = self.delta - self.finding
        if self.accounting == GDP:
            return Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(profile_epsilon(rho, rest))
        return epsilon_of(rho, rest)

    def allows(self, cost: Cost) -> bool:
        """Whether a total stays within the budget."""
        in_pure = cost.epsilon is not None and cost.epsilon <= self.epsilon
        in_rho = self.delta > self.finding and cost.rho <= self.rho
        return cost.delta <= self.finding and (in_pure or in_rho)

    def __repr__(self) -> str:
        return f"<Budget: {self}>"

    def __str__(self) -> str:
        own = f" ({_short(self.finding)} of it to find values)" if self.finding else ""
        return f"ε={_short(self.epsilon)}" + (f", δ={_short(self.delta)}{own}" if self.delta else "")


@lru_cache(maxsize=256)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest ρ, rounded down, such that ρ-zCDP implies (ε, δ)-DP.

    For every order α > 1, ρ-zCDP gives δ = exp((α−1)(αρ−ε))·(1−1/α)^α/(α−1) (Canonne, Kamath and
    Steinke 2020, proposition 12). A float search chooses α; any α is valid. ρ is then computed
    from it with sixty digits and rounded down.
    """
    # Solved for ρ: (ε + (ln δ + ln(α−1) − α·ln(1−1/α))/(α−1))/α.
    best = max(((float(epsilon) + gain) / (1 + excess), excess) for excess, gain in _orders(delta))[1]
    return max(Fraction(0), rho_at_order(epsilon, delta, 1 + Decimal(f"{best:.12g}")))


def epsilon_of(rho: Fraction, delta: Fraction) -> Decimal:
    """Two digits, rounded down, of the ε for which `rho_of` gives a ρ: for people to read."""
    most = min((1 + excess) * float(rho) - gain for excess, gain in _orders(delta))
    return Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(most)


def _orders(delta: Fraction) -> Iterator[tuple[float, float]]:
    """Orders α to choose from, as α−1, and (ln δ + ln(α−1) − α·ln(1−1/α))/(α−1) at each."""
    for step in range(-5 * 512, 12 * 512):
        excess = math.exp(step / 512)
        gain = math.log(delta) + step / 512 - (1 + excess) * math.log1p(-1 / (1 + excess))
        yield excess, gain / excess


def rho_at_order(epsilon: Fraction, delta: Fraction, order: Decimal) -> Fraction:
    """The ρ that gives (ε, δ) at one order, rounded down."""
    with localcontext(Context(prec=60)):
        excess = order - 1
        gain = _decimal(delta).ln() + excess.ln() - order * (excess / order).ln()
        rho = (_decimal(epsilon) + gain / excess) / order
        # Sixty digits and a handful of steps: the error is far below the last digit kept, less one.
        digits = Decimal("1e-24")
        return Fraction(rho.quantize(digits, ROUND_FLOOR) - digits)


def bounded_range_epsilon(rho: Fraction) -> Fraction:
    """Largest ε, rounded down, whose bounded-range choice costs no more than ρ: ε²/8 ≤ ρ."""
    unit = 1 << 40
    return Fraction(math.isqrt(int(8 * rho * unit * unit)), unit)


def _down(value: Fraction, units: int) -> int:
    return math.floor(value * units)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def positive(value: Number, what: str = "epsilon") -> Fraction:
    """A positive number, exactly."""
    number = exact(value, what)
    if number <= 0:
        raise QuestionError(f"{what} must be above 0.", "0 would allow no answer at all.")
    if number > MOST or (what == "epsilon" and number < LEAST):
        raise QuestionError(
            f"{what} must lie between 1e-9 and 1e6.", "less says nothing, more protects nobody."
        )
    return number


def _short(value: Fraction | None) -> str:
    return "–" if value is None else f"{float(value):.6g}"
