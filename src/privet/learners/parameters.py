"""Parameters of learners: each declared once, with its default, what it may be, and what it means.

Estimators, the command line, checks and documentation read the declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field, field, fields
from math import inf
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from privet.errors import QuestionError


class Parameter(NamedTuple):
    """What a parameter may be.

    Attributes
    ----------
    kind : type
        int, float or str.
    least, most : number, optional
        Bounds; they are excluded where ``strictly``.
    among : sequence of str
        All values that a text may have.
    optional : bool
        Whether None leaves it to the learner.
    help : str
        A line for the command line; without it the parameter is not offered there.
    flag : str
        Its name on the command line.
    """

    kind: type
    least: float | None = None
    most: float | None = None
    among: Sequence[str] = ()
    optional: bool = False
    help: str = ""
    flag: str = ""
    strictly: bool = False

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that it cannot have."""
        if value is None and self.optional:
            return
        if self.kind is str:
            if not isinstance(value, str) or value not in self.among:
                raise QuestionError(f"{name} must be one of {', '.join(self.among)}.")
            return
        if self.kind is bool:
            if not isinstance(value, bool | np.bool_):
                raise QuestionError(f"{name} must be True or False.")
            return
        number = isinstance(value, int | np.integer if self.kind is int else Real)
        fits = number and not isinstance(value, bool) and value == value
        if not fits or self._out(value):
            raise QuestionError(f"{name} must be a {self.words}.")

    def _out(self, value: Any) -> bool:
        low, high = (-inf if self.least is None else self.least), inf if self.most is None else self.most
        return value <= low or value >= high if self.strictly else value < low or value > high

    @property
    def words(self) -> str:
        """What it may be, in words."""
        number = "whole number" if self.kind is int else "number"
        if self.least is None:
            return number
        if self.most is None:
            return f"{number} of at least {self.least}"
        words = ("between", "and") if self.strictly else ("from", "to")
        return f"{number} {words[0]} {self.least} {words[1]} {self.most}"


def whole(default: int | None, least: int, most: int | None = None, help: str = "", flag: str = "") -> Any:
    """A whole number; left to the learner where the default is None."""
    return _declared(default, Parameter(int, least, most, (), default is None, help, flag))


def number(
    default: float, least: float, most: float | None = None, help: str = "", strictly: bool = False
) -> Any:
    """A number between two bounds, themselves excluded where ``strictly``."""
    return _declared(default, Parameter(float, least, most, help=help, strictly=strictly))


def one_of(default: str, among: Iterable[str], help: str = "", flag: str = "") -> Any:
    """One of some names."""
    return _declared(default, Parameter(str, None, None, tuple(among), False, help, flag))


def yes_or_no(default: bool, help: str = "", flag: str = "") -> Any:
    """A truth value."""
    return _declared(default, Parameter(bool, help=help, flag=flag))


def zoom() -> Any:
    """Whether a learner of thresholds looks where people are first."""
    return yes_or_no(True, "Look first where people are within wide ranges.")


def seed() -> Any:
    """What fixes the public structure, never the noise."""
    told = "Fixes the public structure, never the noise."
    parameter = Parameter(int, 0, 2**32 - 1, (), True, told, "--seed")
    return field(default=None, kw_only=True, metadata={"parameter": parameter, "unchecked": True})


def declared(of: Any) -> Iterator[tuple[Field[Any], Parameter]]:
    """Fields of a learner, or of an estimator, that are declared parameters."""
    return ((each, each.metadata["parameter"]) for each in fields(of) if "parameter" in each.metadata)


def check_parameters(learner: Any) -> None:
    """Refuse values that parameters cannot have, before anything is charged."""
    for each, parameter in declared(learner):
        if "unchecked" not in each.metadata:
            parameter.check(each.name, getattr(learner, each.name))


def _declared(default: Any, parameter: Parameter) -> Any:
    return field(default=default, kw_only=True, metadata={"parameter": parameter})
