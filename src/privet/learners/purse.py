"""A budget to be shared out among questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from privet.privacy import GDP, Budget, Charge, Cost

LEAST_SD = 1e-9
"""What learners take for the deviation of noise that is next to none: they divide by it."""


@dataclass(frozen=True)
class Purse:
    """A budget in one of two laws: pure ε with Laplace noise, or ρ with Gaussian noise.

    ``gaussian`` says that all of ρ is for Gaussian noise, of which it is half of μ² too.
    """

    total: Fraction
    pure: bool
    gaussian: bool = False

    @classmethod
    def of(cls, budget: Budget) -> Purse:
        """All of a budget, in ρ if it has a δ."""
        if not budget.delta:
            return cls(budget.epsilon, True)
        return cls(budget.rho, False, budget.accounting == GDP)

    @property
    def norm(self) -> int:
        """Norm in which the noise sees a row's gradient."""
        return 1 if self.pure else 2

    @property
    def strength(self) -> float:
        """What one row weighs against a unit of noise: ε, or μ = √(2ρ)."""
        return float(self.total) if self.pure else sqrt(2 * self.total)

    def cost(self, share: Fraction) -> Cost:
        """Cost of a question that has a share of the budget."""
        return Cost.pure(self.total * share) if self.pure else Cost.zcdp(self.total * share, self.gaussian)


def sd_of(charge: Charge) -> float:
    """Standard deviation of the noise on a number of a planned answer, for formulas that divide by it."""
    return max(charge.noise_sd or 0.0, LEAST_SD)
