"""One value of one row: whether it is missing, which number it is, which category.

Nothing here sees two values at a time. A column may reach us as objects, as an array, as an Arrow column
or as text in a file, and one odd row can decide which of these it is; so equal values must mean the same
in all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from privet.schema import Scalar

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,6})?")
"""A number as JSON writes it: ``1.0`` and ``1e3`` are, ``01`` (a key, perhaps) is not.

No number that is listed has more digits in its exponent, and Python's decimals refuse it beyond eighteen.
"""

LONGEST_NUMBER = 400
"""Digits of the largest number that a category can be; what is larger is unknown."""

LARGEST_NUMBER = 10**LONGEST_NUMBER

TRUTH = (("False", "True"), ("false", "true"), ("0", "1"))
"""Ways to write truth values. One that a schema does not list is read as the first one that it lists."""


SIMPLE = (str, int, float, bool, type(None))


def plain(value: Any) -> Any:
    """The value as Python's own kind, None where it is missing.

    >>> plain(np.float32(1.5)), plain(np.str_("a")), plain(np.bool_(True)), plain(float("nan"))
    (1.5, 'a', True, None)
    """
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, np.generic):
        value = _from_numpy(value)
    elif isinstance(value, pa.Scalar):
        value = value.as_py()
    elif isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(value[()])
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Decimal):
        return None if value.is_nan() else value
    for kind in (float, str, int):
        # What a subclass says of itself must not matter: it is equal to the value below it.
        if isinstance(value, kind) and not isinstance(value, bool):
            value = getattr(kind, f"__{kind.__name__}__")(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _from_numpy(value: np.generic) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else str(value)
    return float(value) if isinstance(value, np.floating) else value.item()


def number(value: Any) -> float | None:
    """The number that a value is, NaN where it is missing, None where it is none.

    >>> number(True), number(Decimal("2.50")), number(10**400), number("3")
    (1.0, 2.5, inf, None)
    """
    if type(value) is float:
        return value
    value = plain(value)
    if value is None:
        return math.nan
    try:
        return float(value) if isinstance(value, Real | Decimal) else None
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_nested(value: Any) -> bool:
    """Whether a value holds values itself: no category does."""
    if type(value) in SIMPLE:
        return False
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | memoryview)


def text(value: Any) -> str:
    """Text under which a value that is there is found among categories: equal numbers have equal texts.

    >>> text(1), text(1.0), text(Decimal("1.00")), text("1"), text(True), text(Decimal("2.50"))
    ('1', '1', '1', '1', 'True', '2.5')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < LARGEST_NUMBER else hex(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return repr(bytes(value))
    return _other_text(value)


def _decimal_text(value: Decimal) -> str:
    nearest = float(value)
    if math.isinf(nearest) or Decimal(repr(nearest)) == value:
        return text(nearest)
    if value == value.to_integral_value():
        return text(int(value))
    return str(value.normalize(Context(prec=len(value.as_tuple().digits), traps=[])))


def _other_text(value: Any) -> str:
    """What a date, a fraction or any other object calls itself, or its address if it cannot say."""
    try:
        if isinstance(value, Real) and float(value) == value:
            return text(float(value))
        return str(value)
    except Exception:
        return object.__repr__(value)


class Lookup:
    """Code of each value of a column, found from that value alone.

    A value is found under its text. One that is not listed so may still be equal to one that is:
    ``1`` is ``True`` where the schema lists truth values and no 0 or 1, and the other way around; ``1.0``
    in a file of text is 1, also that truth value, where the schema lists the number; the number is ``"1.0"``
    where it lists that.

    Attributes
    ----------
    missing, unknown : int
        Codes of a value that is not there, and of one that is not listed.
    """

    def __init__(self, listed: Sequence[Scalar]) -> None:
        self.missing, self.unknown = len(listed), len(listed) + 1
        self._truths = any(isinstance(value, bool) for value in listed)
        self._texts: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._spelled: dict[str, int] = {}
        for code, value in enumerate(listed):
            self._texts.setdefault(text(value), code)
            if isinstance(value, str):
                self._spelled.setdefault(_as_number(value), code)
            elif not isinstance(value, bool):
                self._numbers.setdefault(text(value), code)
        self._add_truth_values()

    def _add_truth_values(self) -> None:
        listed = {**self._spelled, **self._texts}
        known = [family for family in TRUTH if not listed.keys().isdisjoint(family)]
        for family in TRUTH:
            if known and family not in known:
                names = zip(family, known[0], strict=True)
                aliases = {alias: listed[name] for alias, name in names if name in listed}
                self._texts |= aliases
                if family == TRUTH[-1] and self._truths:
                    self._numbers |= aliases

    @property
    def spellings(self) -> dict[str, int]:
        """Codes by the texts that other programs write values as: numbers also with zeros behind the point.

        >>> Lookup([0, 1]).spellings["1.0"], Lookup([False, True]).spellings["true"]
        (1, 1)
        """
        numbers = {w: code for w, code in {**self._numbers, **self._spelled}.items() if NUMBER.fullmatch(w)}
        longer = {
            w + zeros: code for w, code in numbers.items() if w.isdigit() for zeros in ("", ".0", ".00")
        }
        return {**numbers, **longer, **self._texts}

    def code(self, value: Any) -> int:
        """Code of one value; it must not be nested."""
        if type(value) is str and value in self._texts:
            return self._texts[value]
        value = plain(value)
        if value is None:
            return self.missing
        written = text(value)
        if written in self._texts:
            return self._texts[written]
        if isinstance(value, str):
            return self._numbers.get(_as_number(value), self.unknown) if self._numbers else self.unknown
        return self._spelled.get(written, self.unknown)


def _as_number(written: str) -> str:
    """Text of the number that a text spells, or the text itself."""
    spells = len(written) < LONGEST_NUMBER and NUMBER.fullmatch(written)
    return text(Decimal(written)) if spells else written
