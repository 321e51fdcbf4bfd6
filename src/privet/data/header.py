"""Draft a schema from what a table declares: names, and types where there are some. No row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa

from privet.data.codes import holds_categories
from privet.data.opened import open_source
from privet.data.suspects import FREE_TEXT, IDENTIFIER, ODD, TIME, UNNAMED, Suspect, suspect
from privet.data.table import require_columns, separated_otherwise
from privet.data.text import is_place
from privet.errors import DataError, SchemaError
from privet.schema import Categorical, Continuous, Feature, Label, Scalar, Schema

NUMBER, INTEGER, CATEGORY, TRUTH, DAY = "number", "integer", "category", "truth value", "date"
KINDS = (NUMBER, INTEGER, CATEGORY)
"""What may be said of a column."""

UNKNOWN = "unknown"
LEFT_OUT = (IDENTIFIER, FREE_TEXT, TIME, UNNAMED, ODD)


class HeaderDraft(NamedTuple):
    """A schema with ranges and lists left open, and columns to look at again."""

    schema: Schema
    suspects: Sequence[Suspect]


def draft_from_header(
    source: Any,
    label: str,
    values: Sequence[Scalar],
    kinds: Mapping[str, str] | None = None,
    omit: Sequence[str] = (),
) -> HeaderDraft:
    """Draft a schema from names and declared types alone; ranges and lists of categories are left open.

    Parameters
    ----------
    source : a frame, an Arrow table, or where rows lie
        Of files only headers are read, of databases only names and types.
    label : str
        Name of the label's column.
    values : sequence
        All values that the label can have, by what is publicly known.
    kinds : dict, optional
        ``"number"``, ``"integer"`` or ``"category"``, by name, of columns whose type is not declared, as
        those of a CSV file, or declared otherwise; under ``"*"`` that of all others.
    omit : sequence of str
        Columns to leave out.

    Returns
    -------
    HeaderDraft
        Columns whose name says that they hold identifiers, free text or dates are left out, unless ``kinds``
        names them.
    """
    declared, said = declared_kinds(source), dict(kinds or {})
    others = said.pop("*", None)
    require_named([*declared], [*omit, *said, label])
    if not set(said.values()) | {others or NUMBER} <= {*KINDS}:
        raise SchemaError("a column holds one of " + ", ".join(KINDS) + ".", "say which.")
    names = [name for name in declared if name not in omit and name != label]
    looks = {name: _looks(name, declared) for name in names if name not in said}
    suspects = [Suspect(name, kind) for name, kind in looks.items() if kind]
    left_out = {column for column, kind in suspects if kind in LEFT_OUT}
    told = {name: said.get(name) or declared[name] or others for name in names if name not in left_out}
    unknown = [name for name, kind in told.items() if kind is None]
    if unknown:
        raise SchemaError(
            f"nothing says what {_some(unknown)} hold: a CSV file, or a column of objects, declares no type.",
            "say which are numbers, integers or categories: kinds=, or --number, --integer, --category, and "
            "--others for the rest; --from-values reads it all from a PUBLIC sample.",
        )
    if not told:
        raise SchemaError("no column is left beside the label.", "omit fewer.")
    features = [_feature(name, str(kind)) for name, kind in told.items()]
    return HeaderDraft(Schema(features, Label(label, values)), suspects)


def declared_kinds(source: Any) -> dict[str, str | None]:
    """What each column declares to hold; None where it declares nothing, as in a CSV file."""
    if not is_place(source):
        frame = nw.from_native(source, eager_only=True)
        require_columns(frame.columns, frame.columns)
        return {str(name): _of_series(frame[name]) for name in frame.columns}
    place = open_source(source, None)
    require_columns(place.names, place.names)
    return {field.name: _of_arrow(field.type) for field in place.declared()}


def require_named(found: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names that no column has."""
    for name in names:
        if name not in found:
            hint = separated_otherwise(found) or "give a name that stands in the table's first line."
            raise DataError(f"column {name!r} is missing.", hint, column=name)


def _looks(name: str, declared: Mapping[str, str | None]) -> str | None:
    by_type = {DAY: TIME, UNKNOWN: ODD}
    return by_type.get(str(declared[name])) or suspect(name)


def _of_series(series: nw.Series[Any]) -> str | None:
    """What a column of a frame declares; one of objects nothing, though its first values would tell."""
    if series.implementation.is_pandas_like() and series.to_native().dtype == object:
        return None
    dtype: Any = series.dtype
    if dtype.is_integer():
        return INTEGER
    if dtype.is_numeric():
        return NUMBER
    if dtype == nw.Boolean:
        return TRUTH
    if dtype.is_temporal():
        return DAY
    return CATEGORY if dtype in (nw.String, nw.Categorical, nw.Enum) else None


def _of_arrow(kind: pa.DataType) -> str | None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind):
        return INTEGER
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBER
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_null(kind):
        return None
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return DAY
    return CATEGORY if holds_categories(pa.chunked_array([], kind)) else UNKNOWN


def _feature(name: str, kind: str) -> Feature:
    if kind == TRUTH:
        return Categorical(name, [False, True])
    return Categorical(name) if kind == CATEGORY else Continuous(name, integer=kind == INTEGER)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if names[most:] else ""
    return ", ".join(map(repr, names[:most])) + more
