"""A whole number within bounds, told from everything that only looks like one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privet.checks import exact, whole
from privet.errors import QuestionError, SchemaError


class Odd(int):
    """A number that says it is small, and is not."""

    def __le__(self, other):
        return True


@pytest.mark.parametrize("value", [1, 7, np.int8(7), np.uint64(1), 2**80])
def test_whole_numbers_come_back_as_plain_ones(value):
    number = whole(value, "depth", 1)
    assert type(number) is int and number == value


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        0,
        -1,
        11,
        2.0,
        np.float64(2),
        float("nan"),
        Fraction(2),
        "2",
        None,
        [2],
        np.array([2]),
        Odd(11),
    ],
)
def test_other_things_are_refused(value):
    with pytest.raises(QuestionError, match=r"^depth must be a whole number from 1 to 10\.\nHint: say, 3\.$"):
        whole(value, "depth", 1, 10, "say, 3.")


def test_bounds_are_included():
    assert [whole(value, "depth", 0, 2) for value in (0, 2)] == [0, 2]


def test_the_message_does_not_quote_and_the_kind_is_the_callers():
    with pytest.raises(SchemaError, match=r"^max_rows must be a whole number of at least 1\.$"):
        whole("someone's name", "max_rows", 1, error=SchemaError)


@pytest.mark.parametrize("value", ["9" * 900, "-" + "9" * 400, 10**400, Fraction(10**400), "1e400"])
def test_a_number_beyond_all_floats_is_none(value):
    with pytest.raises(QuestionError, match="must be a finite number"):
        exact(value, "delta")
