"""The public contract of a table: what may stand in it, known before any row is read."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from privet.checks import whole
from privet.dates import DAY, clock, day_text, moment_text
from privet.errors import SchemaError
from privet.notebook import facts_html, plural

MAX_CELLS = 65_535
"""Cells of a continuous range. One code of 16 bits is left for *missing*."""

MAX_CATEGORIES = 65_533
"""Categories of a feature. Two codes of 16 bits are left for *missing* and *unknown*."""

FRACTION_BITS = 4
"""Bits of a float's fraction that a cell of the whole line keeps: a sixteenth of an octave."""

CELLS_BESIDE_ZERO = 2047 << FRACTION_BITS
"""Cells of the whole line on each side of zero: the first bits of every finite float."""

FARTHEST = 10.0**30
"""Largest bound of a number to be predicted, and one over the narrowest range."""

LARGEST = int(np.finfo(np.float64).max)
"""Of the numbers that a float holds."""

MONOTONE = {"up": 1, "down": -1}
"""Which way a prediction goes as a feature rises."""

Scalar = str | int | float | bool

TO_BE_FOUND: Any = None
"""In the place of bounds or a list that a contract leaves open; nothing reads them before they are found."""


@dataclass(frozen=True)
class Continuous:
    """A number in a public range; values outside are clamped to it.

    An integer feature with at most 65,535 possible values keeps each of them; any other range is
    cut into 65,535 equal cells. ``missing`` says whether values are known to be missing at times; one
    that is missing all the same is read, not refused.

    Without bounds the range is *open*: a learner finds it first, privately, at a price. Cells are then
    those of the whole line of floats, sixteen to an octave. ``declared`` is the feature as it stood in the
    public contract, where its range was found.

    ``monotone`` is public knowledge: with ``"up"``, the higher the number, the likelier is the second of two
    labels, or the higher the number that is predicted; with ``"down"``, the other way around.
    """

    name: str
    lower: float = TO_BE_FOUND
    upper: float = TO_BE_FOUND
    integer: bool = False
    missing: bool = True
    role: ClassVar[str] = "feature"
    declared: Continuous | None = field(default=None, kw_only=True)
    monotone: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_declared(self)
        self._check_monotone()
        for bound_name in ("lower", "upper"):
            object.__setattr__(self, bound_name, _plain(getattr(self, bound_name)))
        if self.is_open:
            return
        if self.lower is None or self.upper is None:
            raise SchemaError(
                f"{self.role} {self.name!r} has one bound.",
                "state both, or none to have them found privately.",
            )
        for bound in (self.lower, self.upper):
            if isinstance(bound, bool) or not isinstance(bound, int | float):
                raise SchemaError(f"{self.role} {self.name!r}: bounds must be numbers.")
            if not abs(bound) <= LARGEST:
                raise SchemaError(
                    f"{self.role} {self.name!r}: bounds must be finite.",
                    "state a range wide enough for every plausible value, or none to have it found.",
                )
        if not self.lower < self.upper:
            raise SchemaError(
                f"{self.role} {self.name!r}: lower must be below upper.",
                "widen the range, or drop a column that can take one value only.",
            )
        if not 0 < self.width < math.inf or not math.isfinite(1 / self.width):
            raise SchemaError(
                f"{self.role} {self.name!r}: the range is too narrow or too wide for floating point.",
                "change its unit.",
            )
        if self.integer and not (float(self.lower).is_integer() and float(self.upper).is_integer()):
            raise SchemaError(
                f"{self.role} {self.name!r}: integers need integer bounds.",
                "round lower down and upper up.",
            )

    def _check_monotone(self) -> None:
        if self.monotone not in (None, *MONOTONE) or not isinstance(self.monotone, str | None):
            raise SchemaError(
                f"feature {self.name!r}: monotone must be {' or '.join(MONOTONE)}, or left out."
            )
        if self.monotone and self.role != "feature":
            raise SchemaError(f"{self.role} {self.name!r} cannot be monotone.", "say it of features.")

    @property
    def direction(self) -> int:
        """1 if what is predicted rises with it, −1 if it falls, 0 if nothing is known."""
        return 0 if self.monotone is None else MONOTONE[self.monotone]

    @property
    def is_open(self) -> bool:
        """Whether its range is to be found."""
        return self.lower is None and self.upper is None

    @property
    def opened(self) -> Continuous:
        """The same with cells of the whole line: what its range is found from."""
        if self.is_open:
            return self
        return replace(self, lower=TO_BE_FOUND, upper=TO_BE_FOUND, declared=self.declared or self)

    @property
    def n_cells(self) -> int:
        """Number of cells the range is cut into."""
        if self.is_open:
            return 2 * CELLS_BESIDE_ZERO
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

    @property
    def told(self) -> str:
        """What may stand in it, in words.

        >>> Continuous("age", 0, 120, integer=True).told
        'whole number from 0 to 120, may be missing'
        """
        kind = "whole number" if self.integer else "number"
        bounds = ", its range to be found" if self.is_open else f" from {self.lower:,} to {self.upper:,}"
        return kind + bounds + _may_be_missing(self.missing) + _goes(self.monotone)

    def shown(self, value: float) -> Any:
        """A number of its range as a reader knows it: itself."""
        return value

    def edge(self, cell: int) -> float:
        """Lower edge of a cell: the threshold a reader of a rule sees."""
        return _line_edge(cell) if self.is_open else self.lower + cell * self.width

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        bounds = {} if self.is_open else {"lower": self.lower, "upper": self.upper}
        return {
            "name": self.name,
            "type": "continuous",
            **bounds,
            "integer": self.integer,
            "missing": self.missing,
            **_monotone(self),
            **_declared(self),
        }


@dataclass(frozen=True, repr=False)
class Moment(Continuous):
    """A day or a moment in a public range, held as the number that it is; see `Date` and `DateTime`."""

    integer: bool = field(default=False, init=False)
    kind: ClassVar[str]
    what: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, self._bound(getattr(self, name)))
        super().__post_init__()
        if self.is_open and self.declared is None:
            raise SchemaError(
                f"feature {self.name!r} has no bounds.",
                "state both, as in '2020-01-01': dates are not found.",
            )

    def __repr__(self) -> str:
        if self.is_open:
            return f"{type(self).__name__}({self.name!r})"
        return f"{type(self).__name__}({self.name!r}, {self.shown(self.lower)!r}, {self.shown(self.upper)!r})"

    def number(self, value: Any) -> float | None:
        """The number that a value is, NaN where it is missing, None where it is no date."""
        found = clock(value)
        return None if found is None else self.number_of(*found)

    def number_of(self, day: Any, second: Any) -> Any:
        """Which of both it holds."""
        raise NotImplementedError

    @property
    def told(self) -> str:
        """What may stand in it, in words."""
        bounds = f" from {self.shown(self.lower)} to {self.shown(self.upper)}"
        return self.what + bounds + _may_be_missing(self.missing) + _goes(self.monotone)

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        bounds = {} if self.is_open else {"lower": self.shown(self.lower), "upper": self.shown(self.upper)}
        return {
            "name": self.name,
            "type": self.kind,
            **bounds,
            "missing": self.missing,
            **_monotone(self),
            **_declared(self),
        }

    def _bound(self, bound: Any) -> Any:
        """A bound as a number; one that is a number already came from here."""
        if bound is None or (isinstance(bound, int | float) and not isinstance(bound, bool)):
            return bound
        found = self.number(bound)
        if found is None or not math.isfinite(found):
            raise SchemaError(
                f"{self.role} {self.name!r}: bounds must be dates.",
                "write '2020-01-01' or '2020-01-01T08:30'.",
            )
        return int(found) if self.integer else found


@dataclass(frozen=True, repr=False)
class Date(Moment):
    """A day in a public range, both ends included; days outside are clamped to it.

    Cells hold days since 1970. A value is a date, or the day of a moment as it is written, in its own zone.

    Examples
    --------
    >>> Date("admitted", "2020-01-01", "2024-12-31").n_cells
    1827
    """

    integer: bool = field(default=True, init=False)
    kind: ClassVar[str] = "date"
    what: ClassVar[str] = "day"

    def number_of(self, day: Any, second: Any) -> Any:
        """The day."""
        return day

    def shown(self, value: float) -> str:
        """A day, as ISO 8601 writes it."""
        return day_text(math.ceil(value - 1e-9))


@dataclass(frozen=True, repr=False)
class DateTime(Moment):
    """A moment in a public range; moments outside are clamped to it.

    Cells hold seconds since 1970 in UTC, 65,535 equal cells to a range: ten years are cut into pieces of 80
    minutes. A moment without a zone is taken as it stands.
    """

    kind: ClassVar[str] = "datetime"
    what: ClassVar[str] = "moment"

    def number_of(self, day: Any, second: Any) -> Any:
        """The instant."""
        return second

    def shown(self, value: float) -> str:
        """A moment, as ISO 8601 writes it, with as much of it as a cell of the range can tell."""
        if value in (self.lower, self.upper):
            text = moment_text(value)
            return text.removesuffix(".000000").removesuffix(":00")
        return moment_text(
            value, "minutes" if self.is_open or self.upper - self.lower > DAY else "milliseconds"
        )


def Integer(  # noqa: N802 – read as a kind of feature
    name: str,
    lower: int = TO_BE_FOUND,
    upper: int = TO_BE_FOUND,
    missing: bool = True,
    monotone: str | None = None,
) -> Continuous:
    """A whole number; without bounds its range is open.

    >>> Integer("children").is_open, Integer("age", 0, 120).n_cells
    (True, 121)
    """
    return Continuous(name, lower, upper, True, missing, monotone=monotone)


@dataclass(frozen=True)
class Categorical:
    """One of a public list of categories; any other value is coded as *unknown*.

    ``missing`` says whether values are known to be missing at times, so that learners treat that as a
    category of its own.

    Without a list the categories are *open*: a learner first finds, privately, those that many people
    share. ``declared`` is the feature as it stood in the public contract, where they were found.

    ``labels`` say what codes stand for, in rules and pictures alone: ``{"1021": "Sales manager"}``.
    """

    name: str
    categories: Sequence[Scalar] = TO_BE_FOUND
    ordered: bool = False
    missing: bool = True
    role: ClassVar[str] = "feature"
    declared: Categorical | None = field(default=None, kw_only=True)
    labels: Mapping[Scalar, str] = field(default_factory=dict, kw_only=True, hash=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_declared(self)
        if self.is_open:
            if self.ordered or self.labels:
                needing = "an order needs" if self.ordered else "labels need"
                raise SchemaError(f"feature {self.name!r}: {needing} a list of categories.", "list them.")
            return
        object.__setattr__(self, "categories", _listed(f"feature {self.name!r}", self.categories))
        _check_values(f"feature {self.name!r}", self.categories, at_least=1)
        self._check_labels()

    def _check_labels(self) -> None:
        if not isinstance(self.labels, Mapping) or not all(isinstance(t, str) for t in self.labels.values()):
            raise SchemaError(
                f"feature {self.name!r}: labels say what categories stand for.",
                'write {"1021": "Sales manager"}.',
            )
        known, labels = {canonical(value) for value in self.categories}, dict(self.labels)
        if not {canonical(_plain(value)) for value in labels} <= known:
            raise SchemaError(
                f"feature {self.name!r}: a label belongs to no category.", "list that category."
            )
        object.__setattr__(self, "labels", {canonical(_plain(value)): text for value, text in labels.items()})

    @property
    def names(self) -> list[str]:
        """What readers see for each category: its label, or itself."""
        return [self.labels.get(text, text) for text in map(canonical, self.categories)]

    @property
    def is_open(self) -> bool:
        """Whether its categories are to be found."""
        return self.categories is None

    @property
    def n_codes(self) -> int:
        """Categories, then the code of *missing*, then that of *unknown*."""
        return (0 if self.is_open else len(self.categories)) + 2

    @property
    def told(self) -> str:
        """What may stand in it, in words."""
        if self.is_open:
            return "category, the list to be found" + _may_be_missing(self.missing)
        kind = "ordered category" if self.ordered else "category"
        return f"{kind}: {_some(self.names)}" + _may_be_missing(self.missing)

    def to_dict(self) -> dict[str, Any]:
        """Return the feature as plain data."""
        listed = {} if self.is_open else {"categories": list(self.categories)}
        return {
            "name": self.name,
            "type": "categorical",
            **listed,
            "ordered": self.ordered,
            "missing": self.missing,
            **({"labels": dict(self.labels)} if self.labels else {}),
            **_declared(self),
        }


Feature = Continuous | Categorical

MOMENTS: Mapping[str, type[Moment]] = {"date": Date, "datetime": DateTime}
"""Features of time, as files of a schema call them."""


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

    @property
    def told(self) -> str:
        """What may stand in it, in words."""
        return f"label: {_some(self.values)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the label as plain data."""
        return {"name": self.name, "values": list(self.values)}


@dataclass(frozen=True)
class Target(Continuous):
    """What is to be predicted: a number in a public range; values outside are clamped to it.

    Rows hold it as the number of its cell, as they hold a continuous feature. Without bounds its range is
    open, as a feature's may be.
    """

    missing: bool = field(default=False, init=False)
    role: ClassVar[str] = "target"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_open:
            return
        far, wide = max(abs(self.lower), abs(self.upper)), self.upper - self.lower
        if far > FARTHEST or wide * FARTHEST < 1:
            # Errors are squared, and forests keep single precision.
            raise SchemaError(
                f"target {self.name!r}: bounds are too large, or too close together, to tell errors by.",
                "change its unit.",
            )

    def value(self, cell: Any) -> Any:
        """Number that a cell, or a place between cells, stands for: the middle, of integers the integer."""
        keeps_each = self.integer and self.width == 1
        return self.lower + self.width * (cell + (0 if keeps_each else 0.5))

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain data."""
        bounds = {} if self.is_open else {"lower": self.lower, "upper": self.upper}
        return {"name": self.name, **bounds, "integer": self.integer, **_declared(self)}


@dataclass(frozen=True)
class Schema:
    """Features, a label or a target, who is protected, and, if it is public, a bound on their number.

    ``unit`` names the column that says whose a row is: a person with all their rows is then what one person
    may add or remove. Without it, a person is a row. ``max_rows`` bounds the persons.

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
    unit: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise SchemaError("a schema needs at least one feature.")
        if not isinstance(self.label, Label | Target) or any(isinstance(f, Target) for f in self.features):
            raise SchemaError("a schema has one label or target, beside its features.")
        if self.unit is not None and (not isinstance(self.unit, str) or not self.unit):
            raise SchemaError("a schema's unit is the name of a column (text).", "say, patient.")
        units = [] if self.unit is None else [self.unit]
        names = Counter([*self.feature_names, self.label.name, *units])
        twice = [name for name, times in names.items() if times > 1]
        if twice:
            raise SchemaError(f"column {twice[0]!r} is named more than once.", "name each once.")
        if self.max_rows is not None:
            hint = "leave it out if no bound is public."
            bound = whole(self.max_rows, "max_rows", 1, hint=hint, error=SchemaError)
            object.__setattr__(self, "max_rows", bound)

    def __repr__(self) -> str:
        bound = "" if self.max_rows is None else f", at most {self.max_rows:,} rows"
        return f"<Schema: {plural(len(self.features), 'feature')} → {self.label.name}{bound}>"

    def _repr_html_(self) -> str:
        columns = [*self.features, self.label]
        return facts_html(repr(self).strip("<>"), [(column.name, column.told) for column in columns])

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
    def open_features(self) -> list[int]:
        """Places of the features whose range or categories are to be found."""
        return [j for j, feature in enumerate(self.features) if feature.is_open]

    @property
    def declared(self) -> Schema:
        """The contract as its owner wrote it: without what was found since."""
        features = [feature.declared or feature for feature in self.features]
        label: Any = (self.label.declared if isinstance(self.label, Target) else None) or self.label
        if label is self.label and features == list(self.features):
            return self
        return replace(self, features=features, label=label)

    def filled(self, found: Mapping[int, Feature]) -> Schema:
        """The same contract with some features, by place, as found; the target stands behind them."""
        features = [found.get(j, feature) for j, feature in enumerate(self.features)]
        label: Any = found.get(len(features), self.label)
        return replace(self, features=features, label=label)

    @property
    def target_is_open(self) -> bool:
        """Whether the range of what is to be predicted is to be found."""
        return isinstance(self.label, Target) and self.label.is_open

    @property
    def counted(self) -> str:
        """What the numbers of an answer are numbers of."""
        return "rows" if self.unit is None else "persons"

    @property
    def neighbours(self) -> str:
        """What one person may add or remove, as cards say it."""
        return "add or remove one " + ("row" if self.unit is None else "person with all their rows")

    def by(self, unit: str) -> Schema:
        """The same contract by person, whose rows a column tells; a refusal where it tells another."""
        if self.unit not in (None, unit):
            raise SchemaError(f"the schema's unit is {self.unit!r}, not {unit!r}.", "leave the unit out.")
        return replace(self, unit=unit)

    @property
    def n_labels(self) -> int:
        """Number of label values."""
        return len(self.classes)

    @property
    def n_scores(self) -> int:
        """Scores of a row under an additive model: one a label, but one for two labels, or for a number."""
        return 1 if isinstance(self.label, Target) or self.n_labels <= 2 else self.n_labels

    @property
    def fingerprint(self) -> str:
        """A digest that models and ledger entries carry to say which contract they were made under.

        What codes are called is no part of it.
        """
        data = self.to_dict()
        for feature in data["features"]:
            for told in (feature, feature.get("declared", {})):
                told.pop("labels", None)
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        data: dict[str, Any] = {
            "features": [feature.to_dict() for feature in self.features],
            self.label.role: self.label.to_dict(),
        }
        if self.max_rows is not None:
            data["max_rows"] = self.max_rows
        if self.unit is not None:
            data["unit"] = self.unit
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
            max_rows, unit = data.get("max_rows", data.get("rows")), data.get("unit")
        except (KeyError, TypeError, AttributeError) as error:
            raise SchemaError(
                f"this is not a schema ({type(error).__name__}: {error}).",
                'it needs "features" (a list), and "label" (with "name" and "values") or "target" '
                '(with "name", "lower" and "upper").',
            ) from None
        return cls(features, label, max_rows, unit)

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
    monotone = item.get("monotone")
    before: Any = _feature(item["declared"]) if item.get("declared") else None
    if kind == "continuous":
        integer = bool(item.get("integer", False))
        bounds = item.get("lower", TO_BE_FOUND), item.get("upper", TO_BE_FOUND)
        return Continuous(item["name"], *bounds, integer, missing, declared=before, monotone=monotone)
    if isinstance(kind, str) and kind in MOMENTS:
        bounds = item.get("lower", TO_BE_FOUND), item.get("upper", TO_BE_FOUND)
        return MOMENTS[kind](item["name"], *bounds, missing, declared=before, monotone=monotone)
    if kind == "categorical":
        ordered = bool(item.get("ordered", False))
        listed = item.get("categories", TO_BE_FOUND)
        labels = item.get("labels", {})
        return Categorical(item["name"], listed, ordered, missing, declared=before, labels=labels)
    raise SchemaError(
        f"feature {item.get('name')!r} has type {kind!r}.",
        'use "continuous", "categorical", "date" or "datetime".',
    )


def _label(data: Mapping[str, Any]) -> Label | Target:
    if "target" not in data:
        return Label(data["label"]["name"], data["label"]["values"])
    if "label" in data:
        raise SchemaError("a schema has a label or a target, not both.", "leave one of them out.")
    target = data["target"]
    bounds = target.get("lower", TO_BE_FOUND), target.get("upper", TO_BE_FOUND)
    before: Any = _label({"target": target["declared"]}) if target.get("declared") else None
    return Target(target["name"], *bounds, bool(target.get("integer", False)), declared=before)


def _some(values: Sequence[Scalar], most: int = 8) -> str:
    """Values, or the first of them and how many more there are."""
    more = len(values) - most
    return ", ".join(map(str, values[:most])) + (f" and {more:,} more" if more > 0 else "")


def _may_be_missing(missing: bool) -> str:
    return ", may be missing" if missing else ""


def _goes(monotone: str | None) -> str:
    return f", what is predicted goes {monotone} with it" if monotone else ""


def _monotone(feature: Continuous) -> dict[str, Any]:
    return {} if feature.monotone is None else {"monotone": feature.monotone}


def _declared(feature: Feature) -> dict[str, Any]:
    return {} if feature.declared is None else {"declared": feature.declared.to_dict()}


def _check_declared(feature: Feature) -> None:
    """Refuse a feature that was found where another kind was declared, or where that was found too."""
    before = feature.declared
    if before is None:
        return
    if type(before) is not type(feature) or before.name != feature.name or before.declared is not None:
        raise SchemaError(f"feature {feature.name!r} was declared as something else.", "leave declared out.")


def _line_edge(cell: int) -> float:
    """Lower edge of a cell of the whole line: a float of which only the first bits are set."""
    beside = cell - CELLS_BESIDE_ZERO
    if abs(beside) >= CELLS_BESIDE_ZERO:
        return math.copysign(float(np.finfo(np.float64).max), beside)
    first_bits = np.int64(abs(beside) << (52 - FRACTION_BITS))
    return math.copysign(float(first_bits.view(np.float64)), beside)


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
