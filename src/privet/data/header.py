"""Draft a schema from what a table declares: names, and types where there are some. No row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from privet.data.discreet import attempt
from privet.data.suspects import FREE_TEXT, IDENTIFIER, TIME, UNNAMED, Suspect, suspect
from privet.data.table import csv_names, damaged, require_columns, require_table_file, separated_otherwise
from privet.data.text import is_place, place_path, text_file
from privet.errors import DataError, SchemaError
from privet.schema import Categorical, Continuous, Feature, Label, Scalar, Schema

NUMBER, INTEGER, CATEGORY, TRUTH, DAY = "number", "integer", "category", "truth value", "date"
KINDS = (NUMBER, INTEGER, CATEGORY)
"""What may be said of a column."""

LEFT_OUT = (IDENTIFIER, FREE_TEXT, TIME, UNNAMED)


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
    source : a frame, an Arrow table, or the path of a CSV or Parquet file
        Of a file only the header is read.
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
    require_table_file(source)
    path = place_path(source)
    if path.suffix == ".parquet":
        read = partial(pa_parquet.read_schema, path)
        fields = list(attempt(read, (pa.ArrowException, OSError), damaged(path)))
        require_columns([field.name for field in fields], [field.name for field in fields])
        return {field.name: _of_arrow(field.type) for field in fields}
    names = csv_names(text_file(source))
    require_columns(names, names)
    return dict.fromkeys(names)


def require_named(found: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names that no column has."""
    for name in names:
        if name not in found:
            hint = separated_otherwise(found) or "give a name that stands in the table's first line."
            raise DataError(f"column {name!r} is missing.", hint, column=name)


def _looks(name: str, declared: Mapping[str, str | None]) -> str | None:
    return TIME if declared[name] == DAY else suspect(name)


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
    return DAY if pa.types.is_temporal(kind) else CATEGORY


def _feature(name: str, kind: str) -> Feature:
    if kind == TRUTH:
        return Categorical(name, [False, True])
    return Categorical(name) if kind == CATEGORY else Continuous(name, integer=kind == INTEGER)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if names[most:] else ""
    return ", ".join(map(repr, names[:most])) + more
