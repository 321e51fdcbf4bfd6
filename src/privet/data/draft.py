"""The owner's desk: draft a schema from the values of a public sample; `data.header` needs none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from privet.data.codes import numbers
from privet.data.columns import Coded, Column, open_column, series_column
from privet.data.discreet import attempt
from privet.data.header import require_named
from privet.data.opened import located, read_public
from privet.data.outside import wrong_lines
from privet.data.suspects import (
    CODE,
    EMPTY,
    FREE_TEXT,
    IDENTIFIER,
    TIME,
    UNNAMED,
    WRITTEN,
    ZIP,
    Suspect,
    suspect,
)
from privet.data.table import (
    csv_names,
    damaged,
    require_columns,
    require_table_file,
    separated_otherwise,
    wrong_type,
)
from privet.data.text import Place, TextFile, is_place, place_path, text_file
from privet.data.values import is_nested, plain, text
from privet.errors import DataError, SchemaError
from privet.schema import Categorical, Continuous, Date, Feature, Label, Schema, Target, canonical

MAX_DRAFT_CATEGORIES = 1000

MOST_DISTINCT = 20
"""Distinct texts beyond which a column that hardly repeats any is taken for an identifier."""

LONG = 40
"""Mean length of texts beyond which they are taken for free text."""

DAY = re.compile(r"[12]\d{3}-\d{2}-\d{2}")
ZIP_CODE = re.compile(r"\d{5}(-\d{4})?")
WRITTEN_NUMBER = re.compile(r"[$€£]? ?[-+−]?\d{1,3}([ ,.'’]?\d{3})*([.,]\d+)? ?[%$€£]?")
SIGNS = re.compile(r"[ ,'’$€£%]|[.].*[.]")
"""Numbers as people write them, which no program reads without being told how."""

NINES = re.compile(r"-?9+|-1")
"""What often stands for a number that is missing, where it lies far from all others."""


class SampleDraft(NamedTuple):
    """A schema, and columns whose values a public file must not hold."""

    schema: Schema
    suspects: Sequence[Suspect]


def draft_schema(source: Any, label: str | None = None, omit: Sequence[str] = ()) -> SampleDraft:
    """Draft a schema from a *public* sample; everything in the draft is read from its rows.

    Parameters
    ----------
    source : a frame, an Arrow table, or the path of a CSV or Parquet file
    label : str, optional
        Name of the label's column; the last column if not given.
    omit : sequence of str
        Columns to leave out: keys, free text, empty ones.

    Returns
    -------
    SampleDraft
        Numbers become continuous features bounded by the smallest and largest value seen, rounded
        outward to two digits; text becomes categorical, days become dates between whole years. Identifiers
        and free text are left out, lists of ZIP codes are left open.
    """
    columns = _all_columns(source)
    names = list(columns)
    if not len(next(iter(columns.values()), ())):
        raise DataError("the table has no rows.", "check the file or the filter that made it.")
    require_named(names, [*omit, *([] if label is None else [label])])
    names = [name for name in names if name not in omit]
    if label in omit or not names:
        raise SchemaError("no label is left to draft.", "omit fewer columns.")
    label = names[-1] if label is None else label
    if len(names) < 2:
        hint = separated_otherwise([*columns]) or "omit fewer."
        raise SchemaError("no column is left beside the label.", hint)
    drafted = {name: _draft_public(name, columns[name]) for name in names if name != label}
    suspects = [found for found in drafted.values() if isinstance(found, Suspect)]
    suspects += [Suspect(name, CODE) for name in drafted if _code_for_missing(columns[name]) is not None]
    codes = {found.column: Categorical(found.column) for found in suspects if found.kind == ZIP}
    features = [codes.get(name, found) for name, found in drafted.items()]
    kept = [feature for feature in features if not isinstance(feature, Suspect)]
    if not kept:
        raise SchemaError("no column is left beside the label.", " ".join(each.told for each in suspects))
    return SampleDraft(Schema(kept, Label(label, _draft_labels(source, label, columns[label]))), suspects)


def _draft_public(name: str, column: Column) -> Feature | Suspect:
    """A feature, or what a column looks like whose values must not stand in a public file."""
    kind = suspect(name)
    if kind in (IDENTIFIER, FREE_TEXT, ZIP, UNNAMED):
        return Suspect(name, str(kind))
    if column.null_count == len(column):
        return Suspect(name, EMPTY)
    if _is_number(column.type) or pa.types.is_boolean(column.type):
        return _draft_feature(name, column)
    if pa.types.is_temporal(column.type):
        return Suspect(name, TIME)
    if pa.types.is_dictionary(column.type):
        column = pa_compute.cast(column, column.type.value_type)
    values = [str(value) for value in pa_compute.unique(column.drop_null()).to_pylist()]
    if values and all(DAY.fullmatch(value) for value in values):
        bounds: Any = f"{min(values)[:4]}-01-01", f"{max(values)[:4]}-12-31"
        return Date(name, *bounds)
    if values and all(ZIP_CODE.fullmatch(value) for value in values):
        return Suspect(name, ZIP)
    if all(map(WRITTEN_NUMBER.fullmatch, values)) and any(map(SIGNS.search, values)):
        return Suspect(name, WRITTEN)
    if len(values) > MOST_DISTINCT and 2 * len(values) > len(column):
        return Suspect(name, IDENTIFIER)
    if values and sum(map(len, values)) > LONG * len(values):
        return Suspect(name, FREE_TEXT)
    return _draft_feature(name, column)


def schema_from_data(X: Any, y: Any, predicts: type[Label | Target] = Label) -> Schema:
    """The schema that the rows themselves have: bounds, categories, and labels or a target as they occur.

    Nothing protects what it gives away; callers warn.
    """
    if isinstance(X, np.ndarray):
        columns = {f"x{i}": _typed(X[:, i], f"x{i}") for i in range(X.shape[1])}
    else:
        columns = dict(_all_columns(X))
    features = [_draft_feature(name, column, rounded=False) for name, column in columns.items()]
    if predicts is Target:
        return Schema(features, _draft_target("target" if "target" not in columns else "the target", y))
    labels = _distinct("label", _typed(open_column(y), "label"))
    if any(isinstance(value, float) and not value.is_integer() for value in labels):
        raise DataError(
            "Unknown label type: continuous. A classifier learns classes.", "cut the numbers into ranges."
        )
    return Schema(features, Label("label" if "label" not in columns else "the label", labels))


def _all_columns(source: Any) -> Mapping[str, Column]:
    if is_place(source):
        table = _read_whole(source)
        require_columns(table.column_names, table.column_names)
        return {name: table.column(name) for name in table.column_names}
    frame = nw.from_native(source, eager_only=True)
    return {str(name): _typed(series_column(frame[name]), str(name)) for name in frame.columns}


def _typed(column: Column, name: str) -> Column:
    """A column with one type for all values: what is drafted from it is given away in any case."""
    if isinstance(column, pa.ChunkedArray):
        return column
    if isinstance(column, Coded):
        column = column.entries[column.rows]
    values = [plain(value) for value in column.tolist()]
    if any(is_nested(value) for value in values):
        raise wrong_type(name, "categories")

    def as_text() -> pa.Array:
        return pa.array([None if value is None else text(value) for value in values], pa.string())

    try:
        typed = pa.array(values)
    except (pa.ArrowException, OverflowError):
        typed = None
    if typed is None:
        typed = attempt(as_text, (TypeError, ValueError), wrong_type(name, "categories"))
    return pa.chunked_array([typed])


def _read_whole(place: Place) -> pa.Table:
    if not isinstance(place, TextFile) and not located(place).is_one_file:
        return read_public(place)
    require_table_file(place)
    path, file = place_path(place), None
    try:
        if path.suffix == ".parquet":
            return pa_parquet.read_table(path)
        file = text_file(place)
        table = _read_csv(file)
        # Dates and truth values are categories, and a fit will read them as they are written.
        texts = [field.name for field in table.schema if not _is_number(field.type)]
        return _read_csv(file, texts) if texts else table
    except (pa.ArrowException, OSError, EOFError):
        raise _unread(path, file) from None


def _unread(path: Path, file: TextFile | None) -> DataError:
    """Why a public file cannot be read, and where."""
    wrong = wrong_lines(file) if file is not None else {}
    if not wrong:
        return damaged(path)
    told = "; ".join(f"{kind} in {', '.join(map(str, lines))}" for kind, lines in wrong.items())
    hint = separated_otherwise(csv_names(file)) if file is not None else ""
    if any(kind.startswith("not in ") for kind in wrong):
        hint = "say how it is written: --encoding latin-1, cp1252 or utf-16; TextFile(path, encoding=…)."
    return DataError(f"{path.name!r} has lines that cannot be read: {told}.", hint or "mend these lines.")


def _read_csv(file: TextFile, texts: Sequence[str] = ()) -> pa.Table:
    types = dict.fromkeys(texts, pa.string())
    options = pa_csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    form = pa_csv.ParseOptions(delimiter=file.separates)
    with pa.input_stream(file.place, compression="detect") as stream:
        lines = pa_csv.ReadOptions(encoding=file.encoding)
        return pa_csv.read_csv(stream, read_options=lines, parse_options=form, convert_options=options)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def _draft_labels(source: Any, label: str, column: Column) -> list[Any]:
    """Label values; those of a CSV as they are written where a number would not be found again."""
    values = _distinct(label, column)
    if not is_place(source) or not _is_number(column.type):
        return values
    is_text = isinstance(source, TextFile) or (
        located(source).is_one_file and place_path(source).suffix != ".parquet"
    )
    if not is_text:
        return values
    written = _distinct(label, _read_csv(text_file(source), [label]).column(label))
    return values if {canonical(value) for value in values} == set(written) else written


def _draft_feature(name: str, column: Column, rounded: bool = True) -> Feature:
    if _is_number(column.type):
        values = numbers(column, name).astype(np.float64)
        code = _code_for_missing(column) if rounded else None
        values = values[np.isfinite(values) & (values != code)]
        if len(values) == 0:
            raise SchemaError(f"column {name!r} has no values to draft from.", "leave it out.")
        integer = bool((values == np.floor(values)).all())
        lower, upper = float(values.min()), float(values.max())
        if rounded:
            lower, upper = _round_out(lower, upper, integer)
        return Continuous(name, lower, upper if upper > lower else lower + 1, integer)
    return Categorical(name, _distinct(name, column))


def _code_for_missing(column: Column) -> float | None:
    """The smallest or largest number, if it looks like a code: −1 or nines, and far from all others."""
    if not _is_number(column.type):
        return None
    listed = np.unique(numbers(column, "").astype(np.float64))
    listed = listed[np.isfinite(listed)]
    for code, others in ((listed[:1], listed[1:]), (listed[-1:], listed[:-1])):
        if len(others) > 2 and NINES.fullmatch(f"{code[0]:.0f}"):
            gap = float(np.abs(others - code[0]).min())
            if gap > 2 * np.ptp(others):
                return float(code[0])
    return None


def _draft_target(name: str, y: Any) -> Target:
    """A target with the bounds that occur."""
    found = _draft_feature(name, _typed(open_column(y), name), rounded=False)
    if not isinstance(found, Continuous):
        raise DataError("Unknown label type: text. A regressor learns numbers.", "use a classifier.")
    return Target(name, found.lower, found.upper, found.integer)


def _round_out(low: float, high: float, integer: bool) -> tuple[float, float]:
    """Bounds rounded outward to two digits, so that a draft does not quote the extreme rows."""
    span = max(high - low, abs(high) / 10, 1e-9)
    unit = 10 ** math.floor(math.log10(span) - 0.5)
    unit = max(unit, 1) if integer else unit
    lower, upper = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return (int(lower), int(upper)) if integer else (float(lower), float(upper))


def _distinct(name: str, column: Column) -> list[Any]:
    values = [v for v in pa_compute.unique(column).to_pylist() if v is not None and v == v]
    if not values:
        raise SchemaError(f"column {name!r} has no values to draft from.", "leave it out.")
    if len(values) > MAX_DRAFT_CATEGORIES:
        raise SchemaError(
            f"column {name!r} has more than {MAX_DRAFT_CATEGORIES:,} distinct values.",
            "it looks like free text or a key: leave it out, or group its values.",
        )
    return sorted(values, key=str) if all(isinstance(v, str) for v in values) else sorted(values)
