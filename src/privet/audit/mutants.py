"""Planted faults, each as small as those that have been shipped: the auditor must convict them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.interception import wrapped
from privet.audit.programs import QUESTIONS, Program
from privet.privacy import Ledger, Protected, Receipt, tree_questions, wall

WEAK = Fraction(4, 5)
"""What the weak mutants leave of the noise."""


def with_fault(program: Program, fault: Callable[[], AbstractContextManager[None]]) -> Program:
    """A program behind a wall that has a fault."""

    def faulty(protected: Protected) -> Any:
        with fault():
            return program(protected)

    return faulty


def weak_noise() -> AbstractContextManager[None]:
    """Noise of four fifths of its scale."""

    def wrapper(current: Callable[..., Any]) -> Callable[..., Any]:
        return lambda exact, scale, bits: current(exact, scale * WEAK, bits)

    return wrapped(wall, "laplace_counts", wrapper)


def visited_leaves_only() -> AbstractContextManager[None]:
    """Empty cells are left as they are: zero, without noise."""

    def wrapper(current: Callable[..., Any]) -> Callable[..., Any]:
        return lambda exact, scale, bits: np.where(exact == 0, 0, current(exact, scale, bits))

    return wrapped(wall, "laplace_counts", wrapper)


def parts_by_position() -> AbstractContextManager[None]:
    """Row i goes to part i modulo the number of parts."""
    return wrapped(
        tree_questions, "uniform_below", lambda _: lambda bounds, bits: np.arange(len(bounds)) % bounds
    )


@contextmanager
def unpaid() -> Iterator[None]:
    """A ledger that says yes and writes nothing."""
    reserve = Ledger.reserve
    try:
        setattr(Ledger, "reserve", lambda self, account, *rest: Receipt(account, 0, ""))  # noqa: B010
        yield
    finally:
        setattr(Ledger, "reserve", reserve)  # noqa: B010


def one_question_unpaid(epsilon: Fraction) -> Program:
    """Rows by label twice, the second time without paying."""

    def program(protected: Protected) -> Any:
        first = protected.noisy_label_rows(epsilon=epsilon)
        with unpaid():
            return first, protected.noisy_label_rows(epsilon=epsilon)

    return program


MUTANTS: dict[str, Callable[[Fraction], Program]] = {
    "noise-times-0.8": lambda e: with_fault(QUESTIONS["number-of-rows"](e), weak_noise),
    "unpaid-question": one_question_unpaid,
    "empty-leaves-left-out": lambda e: with_fault(QUESTIONS["rows-by-leaf"](e), visited_leaves_only),
    "parts-by-position": lambda e: with_fault(QUESTIONS["labels-of-own-rows"](e), parts_by_position),
}
"""Programs with a planted fault."""
