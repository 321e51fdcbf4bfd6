"""Put other functions in place of the wall's own: to enumerate its choices, to watch it, to break it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from privet.audit.exact import Explorer, Rejected
from privet.audit.exponentials import exponential
from privet.errors import QuestionError
from privet.privacy.bits import uniform_below
from privet.privacy.samplers import geometric

WALL = "privet.privacy"


@contextmanager
def replaced(
    functions: Mapping[Callable[..., Any], Callable[..., Any]], modules: Sequence[ModuleType] | None = None
) -> Iterator[None]:
    """Replace functions wherever the wall, or one of some modules, refers to them.

    A replacement that is put in place while another one is, is called by it: functions that are
    looked up in their own module find the last one.
    """
    where = modules or [module for name, module in list(sys.modules.items()) if name.startswith(WALL)]
    before = [
        (module, name, original)
        for module in where
        for name, original in vars(module).items()
        if callable(original) and any(original is function for function in functions)
    ]
    try:
        for module, name, original in before:
            setattr(module, name, functions[original])
        yield
    finally:
        for module, name, original in before:
            setattr(module, name, original)


@contextmanager
def wrapped(
    module: ModuleType, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    """Wrap whatever function a module has under a name now."""
    current = getattr(module, name)
    try:
        setattr(module, name, wrapper(current))
        yield
    finally:
        setattr(module, name, current)


class SealedBits:
    """Bits that refuse to be drawn: an audited program may not draw what the auditor does not see."""

    private = False

    def words(self, size: int) -> NoReturn:
        """Refuse."""
        raise QuestionError("this draws noise in a way that the auditor does not know.")

    def integer(self, bits: int) -> NoReturn:
        """Refuse."""
        self.words(bits)


class Geometric:
    """A geometric variable of which nothing is known yet but that one comparison may be asked of it."""

    def __init__(self, gamma: Fraction, explorer: Explorer) -> None:
        self._gamma = gamma
        self._explorer = explorer
        self._asked = False

    def __ge__(self, k: Any) -> bool:
        if k <= 0:
            return True
        if self._asked:
            raise QuestionError("a variable whose law is enumerated was compared twice.")
        self._asked = True
        heads = exponential(self._gamma * int(k))
        return bool(self._explorer.choose([(True, heads), (False, 1 - heads)]))


def enumerated(explorer: Explorer, rounds: int | None = None) -> AbstractContextManager[None]:
    """Enumerate the coins and uniform choices of mechanisms.

    With ``rounds``, whatever draws uniform choices more often than that has rejected its earlier ones.
    Rounds are independent, so the law of what the first keeps is the law of what comes out.
    """
    begun = 0

    def coins(gamma: Fraction, size: int, bits: Any) -> np.ndarray:
        return np.array([Geometric(gamma, explorer) for _ in range(size)], object)

    def uniform(bounds: np.ndarray, bits: Any) -> np.ndarray:
        nonlocal begun
        begun += 1
        if rounds is not None and begun > rounds:
            raise Rejected
        return choose_uniformly(explorer, bounds)

    return replaced({geometric: coins, uniform_below: uniform})


def choose_uniformly(explorer: Explorer, bounds: np.ndarray) -> np.ndarray:
    """One uniform integer below each bound, every one of them in some run."""
    options = [[(i, Fraction(1, int(bound))) for i in range(int(bound))] for bound in bounds]
    return np.array([explorer.choose(each) for each in options], np.int64)
