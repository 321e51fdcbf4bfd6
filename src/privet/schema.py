"""The public contract of a table: what may stand in it, known before any row is read."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from privet.checks import whole
from privet.errors import SchemaError

MAX_CELLS = 65_535
"""Cells of a continuous range. One code of 16 bits is left for *missing*."""

MAX_CATEGORIES = 65_533
"""Categories of a feature. Two codes of 16 bits are left for *missing* and *unknown*."""

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Continuous:
    """A number in a public range; values outside are clamped to it.

    An integer feature with at most 65,535 possible values keeps each of them; any other range is
    cut into 65,535 equal cells. ``missing`` says whether values are known to be missing at times; one
    that is missing all the same is read, not refused.
    """

    name: str
    lower: float
    upper: float
    integer: bool = False
    missing: bool = True
    role: ClassVar[str] = "feature"

    def __post_init__(self) -> None:
        _check_name(self.name)
        for bound_name in ("lower", "upper"):
            object.__setattr__(self, bound_name, _plain(getattr(self, bound_name)))
        for bound in (self.lower, self.upper):
            if isinstance(bound, bool) or not isinstance(bound, int | float):
                raise SchemaError(f"{self.role} {self.name!r}: bounds must be numbers.")
            if not math.isfinite(bound):
                raise SchemaError(
                    f"{self.role} {self.name!r}: bounds must be finite.",
                    "state a range wide enough for every plausible value; others are clamped.",
                )
        if not self.lower < self.upper:
            raise SchemaError(
                f"{self.role} {self.name!r}: lower must be below upper.",
                "widen the range, or drop a column that can take one value only.",
            )
        if self.width == 0 or not math.isfinite(1 / self.width):
            raise SchemaError(
                f"{self.role} {self.name!r}: the range is too narrow or too wide for floating point.",
                "change its unit.",
            )
        if self.integer and not (float(self.lower).is_integer() and float(self.upper).is_integer()):
            raise SchemaError(
                f"{self.role} {self.name!r}: integers need integer bounds.",
                "round lower down and upper up.",
            )

    @property
    def n_cells(self) -> int:
        """Number of cells the range is cut into."""
        if self.integer and self.upper - self.lower < MAX_CELLS:
            return int(self.upper - self.lower) + 1
        return MAX_CELLS

    @property
    def n_codes(self) -> int:
        """Cells and the code of *missing*, which is the last."""
        return self.n_cells + 1

    @property
    def width(self) -> float:
        """Width of a cell; an integer stands for the unit interval above it."""
        return (self.upper - self.lower + self.integer) / self.n_cells

    def edge(self, cell: int) -> float:
        """Lower edge of a cell: the threshold a reader of a rule sees."""
        return self.lower + cell * self.width

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        return {
            "name": self.name,
            "type": "continuous",
            "lower": self.lower,
            "upper": self.upper,
            "integer": self.integer,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class Categorical:
    """One of a public list of categories; any other value is coded as *unknown*.

    ``missing`` says whether values are known to be missing at times, so that learners treat that as a
    category of its own.
    """

    name: str
    categories: Sequence[Scalar]
    ordered: bool = False
    missing: bool = True
    role: ClassVar[str] = "feature"

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "categories", _listed(f"feature {self.name!r}", self.categories))
        _check_values(f"feature {self.name!r}", self.categories, at_least=1)

    @property
    def n_codes(self) -> int:
        """Categories, then the code of *missing*, then that of *unknown*."""
        return len(self.categories) + 2

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        return {
            "name": self.name,
            "type": "categorical",
            "categories": list(self.categories),
            "ordered": self.ordered,
            "missing": self.missing,
        }


Feature = Continuous | Categorical


@dataclass(frozen=True)
class Label:
    """What is to be predicted: one of a public list of values."""

    name: str
    values: Sequence[Scalar]
    role: ClassVar[str] = "label"

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "values", _listed(f"label {self.name!r}", self.values))
        _check_values(f"label {self.name!r}", self.values, at_least=1)

    def to_dict(self) -> dict[str, Any]:
        """Return the label as plain data."""
        return {"name": self.name, "values": list(self.values)}


@dataclass(frozen=True)
class Target(Continuous):
    """What is to be predicted: a number in a public range; values outside are clamped to it.

    Rows hold it as the number of its cell, as they hold a continuous feature.
    """

    missing: bool = field(default=False, init=False)
    role: ClassVar[str] = "target"

    def value(self, cell: Any) -> Any:
        """Number that a cell, or a place between cells, stands for: the middle, of integers the integer."""
        keeps_each = self.integer and self.width == 1
        return self.lower + self.width * (cell + (0 if keeps_each else 0.5))

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain data."""
        return {"name": self.name, "lower": self.lower, "upper": self.upper, "integer": self.integer}


@dataclass(frozen=True)
class Schema:
    """Features, a label or a target, and, if it is public, a bound on the number of rows.

    Nothing in a schema may be read from private rows: bounds, categories and label values come from
    documentation, a code book, a law or a public sample.

    Examples
    --------
    >>> schema = Schema([Continuous("age", 0, 120, integer=True)], Label("ill", ["no", "yes"]))
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    features: Sequence[Feature]
    label: Label | Target
    max_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise SchemaError("a schema needs at least one feature.")
        if not isinstance(self.label, Label | Target) or any(isinstance(f, Target) for f in self.features):
            raise SchemaError("a schema has one label or target, beside its features.")
        names = Counter([*self.feature_names, self.label.name])
        twice = [name for name, times in names.items() if times > 1]
        if twice:
            raise SchemaError(f"column {twice[0]!r} is named more than once.", "name each once.")
        if self.max_rows is not None:
            hint = "leave it out if no bound is public."
            bound = whole(self.max_rows, "max_rows", 1, hint=hint, error=SchemaError)
            object.__setattr__(self, "max_rows", bound)

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return [feature.name for feature in self.features]

    @property
    def classes(self) -> Sequence[Scalar]:
        """Values of the label; a refusal where a number is to be predicted."""
        if isinstance(self.label, Target):
            raise SchemaError(
                f"{self.label.name!r} is a number, and this is for labels.",
                "use a regressor, or cut the number into ranges and list them as a Label.",
            )
        return self.label.values

    @property
    def target(self) -> Target:
        """The number that is to be predicted; a refusal where that is a label."""
        if isinstance(self.label, Label):
            raise SchemaError(
                f"{self.label.name!r} is a label, and this is for numbers.",
                "use a classifier, or say Target(name, lower, upper).",
            )
        return self.label

    @property
    def n_labels(self) -> int:
        """Number of label values."""
        return len(self.classes)

    @property
    def fingerprint(self) -> str:
        """A digest that models and ledger entries carry to say which contract they were made under."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        data: dict[str, Any] = {
            "features": [feature.to_dict() for feature in self.features],
            self.label.role: self.label.to_dict(),
        }
        if self.max_rows is not None:
            data["max_rows"] = self.max_rows
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Read a schema from plain data.

        Keys that describe a table without constraining it (notes, sources, file names) are passed
        over. A documented number of ``rows`` is taken as the public bound ``max_rows``.
        """
        try:
            features = [_feature(item) for item in data["features"]]
            label = _label(data)
            max_rows = data.get("max_rows", data.get("rows"))
        except (KeyError, TypeError, AttributeError) as error:
            raise SchemaError(
                f"this is not a schema ({type(error).__name__}: {error}).",
                'it needs "features" (a list), and "label" (with "name" and "values") or "target" '
                '(with "name", "lower" and "upper").',
            ) from None
        return cls(features, label, max_rows)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a JSON file."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SchemaError(
                f"there is no schema file {str(path)!r}.",
                "write one, or draft one with `privet schema draft`.",
            ) from None
        except OSError as error:
            raise SchemaError(f"cannot read {str(path)!r} ({error.strerror}).", "check the path.") from None
        except (ValueError, RecursionError):
            hint = "a schema is a JSON file in UTF-8; `privet schema draft` writes one."
            raise SchemaError(f"{str(path)!r} is not JSON.", hint) from None
        return cls.from_dict(data)

    def save(self, path: str | Path) -> None:
        """Write the schema to a JSON file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")


def canonical(value: object) -> str:
    """Text under which a category or label value is found, whatever type a table reads it as.

    >>> canonical(1), canonical(1.0), canonical("1"), canonical(True)
    ('1', '1', '1', 'True')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _feature(item: Mapping[str, Any]) -> Feature:
    kind = item.get("type")
    missing = bool(item.get("missing", item.get("allow_missing", True)))
    if kind == "continuous":
        integer = bool(item.get("integer", False))
        return Continuous(item["name"], item["lower"], item["upper"], integer, missing)
    if kind == "categorical":
        ordered = bool(item.get("ordered", False))
        return Categorical(item["name"], item["categories"], ordered, missing)
    raise SchemaError(
        f"feature {item.get('name')!r} has type {kind!r}.", 'use "continuous" or "categorical".'
    )


def _label(data: Mapping[str, Any]) -> Label | Target:
    if "target" not in data:
        return Label(data["label"]["name"], data["label"]["values"])
    if "label" in data:
        raise SchemaError("a schema has a label or a target, not both.", "leave one of them out.")
    target = data["target"]
    if target.get("lower") is None or target.get("upper") is None:
        raise SchemaError(
            f"target {target.get('name')!r} has no bounds.",
            "state a public range wide enough for every plausible value; others are clamped.",
        )
    return Target(target["name"], target["lower"], target["upper"], bool(target.get("integer", False)))


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise SchemaError("every feature and the label need a name (text).")


def _listed(what: str, values: object) -> tuple[Scalar, ...]:
    """Values as a tuple; a text is not taken for a list of its letters."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise SchemaError(f"{what}: values must be a list.", 'write ["no", "yes"].')
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    """A number, text or truth value of numpy as Python's own, which is what a file of the schema holds."""
    return value.item() if isinstance(value, np.generic) else value


def _check_values(what: str, values: Sequence[Scalar], at_least: int) -> None:
    if len(values) < at_least:
        raise SchemaError(f"{what} has no values.", "list every value that may occur.")
    if len(values) > MAX_CATEGORIES:
        raise SchemaError(f"{what} has more than {MAX_CATEGORIES:,} values.", "group rare values.")
    if any(not isinstance(value, str | int | float | bool) for value in values):
        raise SchemaError(f"{what}: values must be text, numbers or truth values.")
    if len({canonical(value) for value in values}) != len(values):
        raise SchemaError(f"{what} lists a value twice.", "list each once (1, 1.0 and '1' are the same).")
