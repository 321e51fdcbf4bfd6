"""Checks of numbers that many functions share."""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from privet.errors import PrivetError, QuestionError

Number = int | float | str | Fraction

LONG = re.compile(r"[eE][+-]?_?[0-9_]{6}|[^/]{1000}")
"""Of a text: an exponent, or a number, whose digits would take long to write out."""


def whole(
    value: Any,
    name: str,
    least: int,
    most: int | None = None,
    hint: str = "",
    error: type[PrivetError] = QuestionError,
) -> int:
    """Take a whole number within bounds, both included, as a plain `int`.

    numpy's integers are taken, truth values and floats are not. What was given is not quoted: it may be a
    column that came to the wrong place.

    Parameters
    ----------
    value : object
    name : str
        What the number is, for the message.
    least, most : int
        Without ``most`` there is no upper bound.
    hint : str
        What to do instead.
    error : type
        What is raised.

    Examples
    --------
    >>> whole(3, "n_trees", 1)
    3
    >>> whole(True, "n_trees", 1, 1000, "say, 30.")
    Traceback (most recent call last):
    ...
    privet.errors.QuestionError: n_trees must be a whole number from 1 to 1,000.
    Hint: say, 30.
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    bounds = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    raise error(f"{name} must be a whole number {bounds}.", hint)


def exact(value: Number, what: str = "epsilon") -> Fraction:
    """The number a user wrote, exactly: 0.1 is one tenth, not the float nearest to it."""
    try:
        if isinstance(value, bool) or (isinstance(value, str) and LONG.search(value)):
            raise ValueError
        if isinstance(value, Integral):
            found = Fraction(int(value))
        elif isinstance(value, Real) and not isinstance(value, Fraction):
            found = Fraction(repr(float(value)))
        else:
            found = Fraction(value)
        float(found)  # refuses what is beyond all floats: messages and cards say numbers as floats
        return found
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        raise QuestionError(f"{what} must be a finite number.", "write it as 0.5, '0.5' or '1/2'.") from None
