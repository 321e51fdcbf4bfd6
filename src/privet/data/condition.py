"""Conditions on rows, written as text and read by a small grammar of our own.

::

    condition   = conjunction { "or" conjunction }
    conjunction = factor { "and" factor }
    factor      = "not" factor | "(" condition ")" | test
    test        = column ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                | column ["not"] "in" "(" value { "," value } ")"
                | column "is" ["not"] ("missing" | "unknown")

A condition is data: it is turned into tables that say which codes of a column are meant, and nothing
in it is ever run. Every name and value must be in the schema, so that what a condition means, and
whether it is refused, depends on public things alone.

A missing or unknown value is equal to nothing, above nothing and below nothing; ``not`` turns a truth
value around, and ``!=`` and ``not in`` are short for it. Numbers that the schema cannot tell apart,
because they lie in one cell of a range, are equal.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from privet.data.codes import encode_number
from privet.errors import QuestionError
from privet.schema import Categorical, Continuous, Feature, Label, Moment, Schema, Target, canonical

MAX_LENGTH = 2000
MAX_DEPTH = 40
TOKEN = re.compile(
    r"""\s*(?:(?P<sign>[<>!=]=|[<>=(),])|'(?P<single>(?:[^']|'')*)'|"(?P<double>(?:[^"]|"")*)"|"""
    r"""(?P<bare>[^\s<>!=(),'"]+))"""
)
COMPARISONS: Mapping[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KEYWORDS = ("and", "or", "not", "in", "is")
END = ("end", "")

Token = tuple[str, str]
"""Kind (``sign``, ``keyword``, ``word``, ``quoted`` or ``end``) and text."""


@dataclass(frozen=True)
class Allowed:
    """Rows whose code in one column is allowed; the label stands behind the features."""

    column: int
    allowed: np.ndarray

    @property
    def columns(self) -> set[int]:
        """Columns that it looks at."""
        return {self.column}

    def holds(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Whether each row is meant."""
        codes = labels if self.column == len(features) else features[self.column]
        return self.allowed[codes]


@dataclass(frozen=True)
class Not:
    """Rows that another condition does not mean."""

    part: Condition

    @property
    def columns(self) -> set[int]:
        """Columns that it looks at."""
        return self.part.columns

    def holds(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Whether each row is meant."""
        return ~self.part.holds(features, labels)


@dataclass(frozen=True)
class Joined:
    """Rows that all, or any, of some conditions mean."""

    join: Callable[[np.ndarray, np.ndarray], np.ndarray]
    parts: Sequence[Condition]

    @property
    def columns(self) -> set[int]:
        """Columns that it looks at."""
        return set().union(*(part.columns for part in self.parts))

    def holds(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Whether each row is meant."""
        return reduce(self.join, (part.holds(features, labels) for part in self.parts))


Condition = Allowed | Not | Joined


def read_condition(text: str, schema: Schema) -> Condition:
    """Read a condition on the rows of a schema.

    Examples
    --------
    >>> schema = Schema([Continuous("age", 0, 120, integer=True)], Label("ill", ["no", "yes"]))
    >>> condition = read_condition("age >= 37 and ill = yes", schema)
    >>> condition.holds(np.array([[36, 37, 90]]), np.array([1, 1, 0])).tolist()
    [False, True, False]
    """
    if not isinstance(text, str):
        raise QuestionError("a condition must be text.", "write for example 'age >= 37'.")
    if len(text) > MAX_LENGTH:
        raise QuestionError(f"a condition may have {MAX_LENGTH:,} characters at most.")
    reader = _Reader(_tokens(text), schema)
    condition = reader.condition(0)
    reader.end()
    return condition


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        found = TOKEN.match(text, place)
        if found is None:
            raise QuestionError(
                f"the condition cannot be read from {_shown(text[place:end].lstrip())} on.",
                "put values with unusual signs in quotes, and close every quote.",
            )
        place = found.end()
        tokens.append(_token(found))
    return [*tokens, END]


def _token(found: re.Match[str]) -> Token:
    for name, quote in (("single", "'"), ("double", '"')):
        if found[name] is not None:
            return "quoted", found[name].replace(2 * quote, quote)
    if found["sign"] is not None:
        return "sign", found["sign"]
    word = found["bare"]
    return ("keyword", word.lower()) if word.lower() in KEYWORDS else ("word", word)


class _Reader:
    """Goes through the tokens once, from left to right."""

    def __init__(self, tokens: Sequence[Token], schema: Schema) -> None:
        self._tokens = iter(tokens)
        self._next = next(self._tokens)
        self._schema = schema

    def end(self) -> None:
        if self._next != END:
            raise self._unexpected("'and' or 'or'")

    def condition(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise QuestionError(f"a condition may be nested {MAX_DEPTH} times at most.", "simplify it.")
        return self._joined("or", operator.or_, lambda: self._conjunction(depth))

    def _conjunction(self, depth: int) -> Condition:
        return self._joined("and", operator.and_, lambda: self._factor(depth))

    def _joined(
        self,
        word: str,
        join: Callable[[np.ndarray, np.ndarray], np.ndarray],
        read: Callable[[], Condition],
    ) -> Condition:
        parts = [read()]
        while self._taken("keyword", word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Joined(join, tuple(parts))

    def _factor(self, depth: int) -> Condition:
        turned = False
        while self._taken("keyword", "not"):
            turned = not turned
        if self._taken("sign", "("):
            inner = self.condition(depth + 1)
            self._require("sign", ")")
        else:
            inner = self._test()
        return Not(inner) if turned else inner

    def _test(self) -> Condition:
        name = self._word("the name of a column")
        column, feature = find_column(name, self._schema)
        if self._taken("keyword", "is"):
            turned = self._taken("keyword", "not")
            test = Allowed(column, _state(feature, self._word("'missing' or 'unknown'")))
            return Not(test) if turned else test
        turned = self._taken("keyword", "not")
        if turned or self._next == ("keyword", "in"):
            self._require("keyword", "in")
            allowed = np.logical_or.reduce([_compared(feature, "=", value) for value in self._values()])
            return Not(Allowed(column, allowed)) if turned else Allowed(column, allowed)
        sign = self._sign()
        value = self._word("a value")
        test = Allowed(column, _compared(feature, "=" if sign == "!=" else sign, value))
        return Not(test) if sign == "!=" else test

    def _values(self) -> list[str]:
        self._require("sign", "(")
        values = [self._word("a value")]
        while self._taken("sign", ","):
            values.append(self._word("a value"))
        self._require("sign", ")")
        return values

    def _sign(self) -> str:
        kind, text = self._next
        if kind != "sign" or text not in (*COMPARISONS, "!="):
            raise self._unexpected("a comparison")
        return self._advance()

    def _word(self, wanted: str) -> str:
        if self._next[0] not in ("word", "quoted"):
            raise self._unexpected(wanted)
        return self._advance()

    def _taken(self, kind: str, text: str) -> bool:
        if self._next != (kind, text):
            return False
        self._advance()
        return True

    def _require(self, kind: str, text: str) -> None:
        if not self._taken(kind, text):
            raise self._unexpected(repr(text))

    def _advance(self) -> str:
        text = self._next[1]
        self._next = next(self._tokens, END)
        return text

    def _unexpected(self, wanted: str) -> QuestionError:
        found = "its end" if self._next == END else _shown(self._next[1])
        return QuestionError(
            f"the condition has {found} where {wanted} should stand.",
            "write for example: age >= 37 and town in (north, 'far south').",
        )


def find_column(name: str, schema: Schema) -> tuple[int, Feature | Label]:
    """A column of a schema by its name; the label stands behind the features."""
    columns: list[Feature | Label] = [*schema.features, schema.label]
    for column, feature in enumerate(columns):
        if feature.name == name:
            return column, feature
    names = ", ".join(as_written(feature.name) for feature in columns)
    raise QuestionError(f"there is no column {_shown(name)} in the schema.", f"columns are {names}.")


def as_written(text: object) -> str:
    """A name or a value as a condition has it: in quotes, where it would be read as something else.

    >>> as_written("age"), as_written("blood pressure"), as_written('12" pipe'), as_written("or")
    ('age', '"blood pressure"', '"12"" pipe"', '"or"')
    """
    word = str(text)
    found = TOKEN.fullmatch(word)
    bare = found is not None and found["bare"] == word and word.lower() not in KEYWORDS
    return word if bare else '"' + word.replace('"', '""') + '"'


def _compared(feature: Feature | Label, sign: str, text: str) -> np.ndarray:
    """Codes whose values compare so with a value."""
    compare = COMPARISONS[sign]
    if isinstance(feature, Continuous):
        return np.append(compare(*_numbers(feature, text)), False)
    values = feature.values if isinstance(feature, Label) else _categories(feature)
    position = _position(feature, values, text)
    ordered = isinstance(feature, Categorical) and feature.ordered
    if compare is not operator.eq and not ordered:
        raise QuestionError(f"the values of {feature.name!r} have no order.", "use '=', '!=' or 'in'.")
    # Neither *missing* nor *unknown* is any of the values.
    others = [] if isinstance(feature, Label) else [False, False]
    return np.append(compare(np.arange(len(values)), position), np.array(others, bool))


def _numbers(feature: Continuous, text: str) -> tuple[np.ndarray, float]:
    """What stands in every cell, and a number to compare it with: cells themselves where they are wide."""
    number = _number(feature, text)
    is_date = isinstance(feature, Moment)
    if feature.is_open and not math.isfinite(number):
        raise QuestionError(f"{_shown(text)} is not a number.")
    if not feature.is_open and not feature.lower <= number <= feature.upper:
        raise QuestionError(
            f"{_shown(text)} is not a {'date' if is_date else 'number'} in the public range of "
            f"{feature.name!r}.",
            f"its values lie between {_told(feature, feature.lower)} and {_told(feature, feature.upper)}; "
            "others are clamped.",
        )
    cells = np.arange(feature.n_cells)
    if feature.integer and not feature.is_open and feature.width == 1:
        return cells, number - feature.lower
    return cells, encode_number(number, feature)


def _number(feature: Continuous, text: str) -> float:
    """The number that a text is for a feature, NaN where it is none."""
    if isinstance(feature, Moment):
        found = feature.number(text)
        return math.nan if found is None else found
    try:
        return float(text)
    except ValueError:
        return math.nan


def _told(feature: Continuous, value: float) -> str:
    told = feature.shown(value)
    return told if isinstance(told, str) else f"{told:g}"


def _categories(feature: Feature) -> Sequence[object]:
    if feature.is_open:
        raise QuestionError(
            f"the values of {feature.name!r} are open.", "ask which are common, and go on with them."
        )
    return feature.categories if isinstance(feature, Categorical) else ()


def _position(feature: Feature | Label, values: Sequence[object], text: str) -> int:
    known = [canonical(value) for value in values]
    for spelling in (text, _as_number(text)):
        if spelling in known:
            return known.index(spelling)
    shown = ", ".join(known[:12]) + (", …" if known[12:] else "")
    raise QuestionError(f"{feature.name!r} has no value {_shown(text)} in the schema.", f"it has {shown}.")


def _as_number(text: str) -> str:
    """Text of a number as the schema would write it: ``1.0`` as ``1``."""
    try:
        return canonical(float(text))
    except ValueError:
        return text


def _state(feature: Feature | Label, word: str) -> np.ndarray:
    """The code of *missing* or *unknown* alone."""
    codes: dict[str, int] = {}
    if isinstance(feature, Categorical):
        codes = {"missing": -2, "unknown": -1}
    elif isinstance(feature, Continuous) and not isinstance(feature, Target):
        codes = {"missing": -1}
    if word.lower() not in codes:
        known = " or ".join(codes)
        raise QuestionError(
            f"{feature.name!r} is never {_shown(word)}.",
            f"it can be {known}." if known else f"the {feature.role} is always known.",
        )
    assert not isinstance(feature, Label)
    allowed = np.zeros(feature.n_codes, bool)
    allowed[codes[word.lower()]] = True
    return allowed


def _shown(text: object) -> str:
    written = str(text)
    return repr(written if len(written) <= 40 else written[:40] + "…")
