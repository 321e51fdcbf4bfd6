"""What sums of costs come to: each is rounded down to the public grid, so that a budget is hardly left."""

from __future__ import annotations

from fractions import Fraction

from privet.privacy import Account
from privet.privacy.budget import UNITS

GRID = {"epsilon": Fraction(1, UNITS), "rho": Fraction(1, UNITS**2)}


def fills(total: Fraction, whole: Fraction, n_questions: int, unit: str = "epsilon") -> bool:
    """Whether questions spend a budget: no more than all of it, and a unit less for each at most."""
    return 0 <= whole - total <= n_questions * GRID[unit]


def n_charged(account: Account) -> int:
    """Questions that an account's ledger holds, asked or not."""
    return sum(len(event.get("charges", ())) for event in account.ledger.events())
