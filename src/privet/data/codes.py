"""Columns to codes: one or two bytes a value, features first.

A row's code depends on that row and the schema alone. Nothing that can be seen while rows are read, a
warning or the text of an error, depends on them either, but for this: a table that does not fit its schema
is refused. What is refused, with a message that names the column at most and is the same whatever the row
and wherever it stands:

- a column whose declared type holds no numbers, or no categories, as the schema wants them;
- a value in a column of objects, or a field of a file, that is no number where one is wanted, or that holds
  values itself;
- a label that is missing or not listed, a target that is missing;
- two rows of one person with one key, where a key column is named;
- a table without rows, rows of different lengths, or labels or identifiers that are not as many as the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute

from privet.compiled import compiled, run
from privet.data.columns import Coded, Column, objects, open_column
from privet.data.discreet import read_discreetly
from privet.data.keys import row_keys
from privet.data.line import line_cells, value_text
from privet.data.table import Table, is_plain, wrong_type
from privet.data.values import Lookup, is_nested, number, plain
from privet.dates import clocks
from privet.errors import DataError
from privet.schema import Categorical, Continuous, Feature, Moment, Schema, Target

if TYPE_CHECKING:
    from privet.data.persons import Persons

PIECE = 1 << 17
"""Rows whose numbers are brought into one type and layout at a time, where they are not."""

BLOCK = 256
"""Rows encoded at a time: their values of all columns stay in the first cache."""

SPAN = 1 << 16
"""Integers that are looked up in one table, and how many of them at a time."""

ARRAYS_OF_NUMBERS = "biuf"
ARRAYS_OF_CATEGORIES = "biufUS"
NUMERIC = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_null,
)
READABLE = (
    *NUMERIC,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


@dataclass(frozen=True)
class Codes:
    """Codes of the features, ``(features, rows)``, and of the label, ``(rows,)``, if it was read.

    ``texts`` holds, by place, what each row has in a feature whose categories are open, None where that is
    missing. ``persons`` are the identities of those whose rows they are, ``(rows, 2)``, where rows are not
    persons. ``keys`` are the rows' own, where a column says which row is which.
    """

    features: np.ndarray
    labels: np.ndarray | None
    texts: Mapping[int, np.ndarray] = field(default_factory=dict)
    persons: np.ndarray | None = None
    keys: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows: exact, hence private."""
        return int(self.features.shape[1])

    def only(self, places: np.ndarray) -> Codes:
        """The rows at some places, of whom nobody needs to know any more whose they are."""
        labels = None if self.labels is None else self.labels[places]
        texts = {j: values[places] for j, values in self.texts.items()}
        keys = None if self.keys is None else self.keys[places]
        return Codes(np.ascontiguousarray(self.features[:, places]), labels, texts, keys=keys)


def code_dtype(n_codes: int) -> type[np.uint8] | type[np.uint16]:
    """Smallest unsigned type that holds codes ``0 … n_codes − 1``."""
    return np.uint8 if n_codes <= 256 else np.uint16


def no_rows(schema: Schema) -> Codes:
    """Codes of nobody."""
    features = np.zeros((len(schema.features), 0), _dtype(schema))
    texts = {j: objects([]) for j in _texts_of(schema)}
    return Codes(features, np.zeros(0, _label_dtype(schema)), texts)


def _texts_of(schema: Schema) -> list[int]:
    """Places of the features whose categories are open."""
    return [j for j in schema.open_features if isinstance(schema.features[j], Categorical)]


def encode(
    table: Table,
    schema: Schema,
    labels: Any = None,
    with_label: bool = True,
    persons: Persons | None = None,
    places: Sequence[int] | None = None,
    key: str | None = None,
) -> Codes:
    """Read a table through its schema.

    Parameters
    ----------
    table : Table
    schema : Schema
    labels : array-like, optional
        The label of each row, where it does not stand in the table.
    with_label : bool
        False for rows that are to be predicted.
    persons : Persons, optional
        Who says whose each row is.
    places : sequence of int, optional
        Of the features that are read, by default all; the codes of others are 0.
    key : str, optional
        Column that says which row is which.

    Returns
    -------
    Codes
        Continuous values outside their range are clamped; missing values and unknown categories
        have codes of their own.
    """
    read = range(len(schema.features)) if places is None else places
    codes: Codes = read_discreetly(partial(_encode, table, schema, labels, with_label, persons, read, key))
    return codes


def _encode(
    table: Table,
    schema: Schema,
    labels: Any,
    with_label: bool,
    persons: Persons | None,
    places: Sequence[int],
    key: str | None,
) -> Codes:
    names = schema.feature_names
    from_table = with_label and labels is None
    beside = [*([schema.label.name] if from_table else []), *(persons.columns if persons else [])]
    wanted = list(dict.fromkeys([*(names[j] for j in places), *beside, *([key] if key else [])]))
    table.require(wanted)
    if table.names is None and from_table:
        raise DataError("an array carries no label.", "pass the labels beside it.")
    texts: dict[int, np.ndarray] = {}
    if table.block is not None and all(map(_holds_numbers, schema.features)):
        codes = _encode_block(table.block, schema.features)
        columns: Any = {}
    else:
        columns = table.fetch(wanted)
        codes = np.zeros((len(names), len(columns[wanted[0]])), _dtype(schema))
        for j in places:
            _encode_feature(columns[names[j]], schema.features[j], codes[j])
        texts = {j: value_texts(columns[names[j]], names[j]) for j in _texts_of(schema) if j in places}
    if codes.shape[1] == 0:
        raise no_rows_at_all()
    if not with_label:
        return Codes(codes, None, texts)
    label_column = columns[schema.label.name] if from_table else open_column(labels)
    coded_labels = encode_label(label_column, schema, codes.shape[1])
    whose = persons.identities(columns, codes.shape[1]) if persons else None
    keys = None if key is None else row_keys(columns[key], key)
    return Codes(codes, coded_labels, texts, whose, keys)


def no_rows_at_all() -> DataError:
    """Return the error of a table that is empty."""
    return DataError("the table has no rows.", "check the file or the filter that made it.")


def encode_label(column: Column, schema: Schema, n_rows: int) -> np.ndarray:
    """Codes of the label or target; what is missing, or no label, is an error, since it cannot be learnt.

    A target outside its range is clamped, as a feature is.
    """
    label = schema.label
    if len(column) != n_rows:
        raise DataError("features and labels have different numbers of rows.", "give one label a row.")
    codes = np.empty(n_rows, _label_dtype(schema))
    if isinstance(label, Target):
        _encode_feature(column, label, codes)
        if (codes >= label.n_cells).any():
            raise DataError(
                f"target {label.name!r} is missing in some rows.",
                "drop those rows; `privet schema check` counts them.",
                column=label.name,
            )
        return codes
    encode_categorical(column, Categorical(label.name, label.values), codes)
    if (codes >= schema.n_labels).any():
        raise DataError(
            f"label {label.name!r} is missing, or not among the schema's values, in some rows.",
            f"drop those rows or add the value ({label.told}); `privet schema check` counts them.",
            column=label.name,
        )
    return codes


def _label_dtype(schema: Schema) -> type[np.uint8] | type[np.uint16]:
    """A target's type is the same whatever its range: kernels are compiled for it once."""
    return np.uint16 if isinstance(schema.label, Target) else code_dtype(schema.n_labels + 2)


def _dtype(schema: Schema) -> type[np.uint8] | type[np.uint16]:
    return code_dtype(max(feature.n_codes for feature in schema.features))


def _encode_feature(column: Column, feature: Feature, out: np.ndarray) -> None:
    if isinstance(feature, Categorical):
        encode_categorical(column, feature, out)
    else:
        found = moments(column, feature) if isinstance(feature, Moment) else numbers(column, feature.name)
        _encode_into(found[:, None], [feature], out[None])


def _holds_numbers(feature: Feature) -> bool:
    return isinstance(feature, Continuous) and not isinstance(feature, Moment)


def _encode_block(block: np.ndarray, features: Sequence[Feature]) -> np.ndarray:
    dtype = code_dtype(max(feature.n_codes for feature in features))
    out = np.empty((len(features), len(block)), dtype)
    _encode_into(block, [f for f in features if isinstance(f, Continuous)], out)
    return out


def _encode_into(block: np.ndarray, features: Sequence[Continuous], out: np.ndarray) -> None:
    open_ = [j for j, feature in enumerate(features) if feature.is_open]
    if open_:
        for j in range(len(features)):
            if j in open_:
                out[j] = line_cells(block[:, j])
            else:
                _encode_into(block[:, j : j + 1], features[j : j + 1], out[j : j + 1])
        return
    lower = np.array([f.lower for f in features], np.float64)
    per_unit = np.array([1 / f.width for f in features], np.float64)
    cells = np.array([f.n_cells for f in features], np.int64)
    for at in range(0, len(block), PIECE):
        # One type and layout, whatever the caller's array has: the loop is compiled once. A column of Arrow
        # that lacks no value is lent, one that lacks some is copied: neither may be written into here.
        piece = np.ascontiguousarray(block[at : at + PIECE], np.float64).view()
        piece.flags.writeable = False
        run(_cells, len(piece), BLOCK, piece, at, lower, per_unit, cells, out, room=_block)


def encode_number(value: float, feature: Continuous) -> int:
    """Cell of one public number, by the arithmetic that reads the rows."""
    out = np.empty((1, 1), np.uint16)
    _encode_into(np.array([[value]], np.float64), [feature], out)
    return int(out[0, 0])


def _block() -> tuple[np.ndarray, ...]:
    return (np.empty(BLOCK, np.float64),)


@compiled
def _cells(begin, end, values, block, at, lower, per_unit, cells, out):  # type: ignore[no-untyped-def]
    for first in range(begin, end, BLOCK):
        rows = BLOCK if end - first > BLOCK else end - first
        for j in range(block.shape[1]):
            # Gather first: the arithmetic then runs on neighbours, several at a time.
            for i in range(rows):
                values[i] = block[first + i, j]
            low, scale, missing = lower[j], per_unit[j], np.float64(cells[j])
            top = missing - 1.0
            for i in range(rows):
                cell = (values[i] - low) * scale
                # Clamp as a float, infinities have no integer form; only NaN differs from itself.
                clamped = 0.0 if cell < 0.0 else top if cell > top else cell
                out[j, at + first + i] = np.int32(clamped if cell == cell else missing)


def numbers(column: Column, name: str) -> np.ndarray:
    """A column as an array of floats, missing values as NaN."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "O":
            return _each_number(column, name)
        _require(column.dtype.kind in ARRAYS_OF_NUMBERS, name, "numbers", column)
        return column if is_plain(column) else column.astype(np.float64)
    if isinstance(column, Coded) or pa.types.is_dictionary(column.type):
        coded = distinct(column, name)
        if isinstance(coded, np.ndarray):
            return _each_number(coded, name)
        used = np.zeros(len(coded.entries), bool)
        used[coded.rows] = True
        values = np.full(len(used), np.nan)
        values[used] = _each_number(coded.entries[used], name)
        return values[coded.rows]
    _require(any(is_kind(column.type) for is_kind in NUMERIC), name, "numbers", column)
    if pa.types.is_decimal(column.type):
        # Arrow would multiply by a power of ten, which rounds by the scale that all values share.
        column = pa_compute.cast(column, pa.string())
    return pa_compute.cast(column, pa.float64(), safe=False).to_numpy()


def _each_number(values: np.ndarray, name: str) -> np.ndarray:
    found = [number(value) for value in values.tolist()]
    _require(None not in found, name, "numbers")
    return np.array(found, np.float64)


def moments(column: Column, feature: Moment) -> np.ndarray:
    """A column of days or moments as the numbers that a feature holds, missing ones as NaN."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        return np.asarray(feature.number_of(*clocks(column)))
    _require(isinstance(column, Coded) or holds_dates(column), feature.name, "dates")
    if isinstance(column, pa.ChunkedArray) and pa.types.is_dictionary(column.type):
        column = pa_compute.cast(column, column.type.value_type)
    if isinstance(column, pa.ChunkedArray) and pa.types.is_temporal(column.type):
        return _arrow_moments(column, feature)
    coded = distinct(column, feature.name)
    if isinstance(coded, np.ndarray):
        return _each_moment(coded.tolist(), feature)
    used = np.zeros(len(coded.entries), bool)
    used[coded.rows] = True
    values = np.full(len(used), np.nan)
    values[used] = _each_moment(coded.entries[used].tolist(), feature)
    return values[coded.rows]


def holds_dates(column: Column) -> bool:
    """Whether a column declares a type that dates can be of, text among them, or none."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "MOU"
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return is_text or pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_null(kind)


def _arrow_moments(column: pa.ChunkedArray, feature: Moment) -> np.ndarray:
    days, seconds = clocks(_without_zone(column))
    if getattr(column.type, "tz", None) is not None:
        # The day is that of the column's own zone; the moment is the same in all of them.
        days, _ = clocks(_without_zone(pa_compute.local_timestamp(column)))
    return np.asarray(feature.number_of(days, seconds))


def _without_zone(column: pa.ChunkedArray) -> np.ndarray:
    """Arrow's dates as numpy's, in the unit that they have."""
    if pa.types.is_date32(column.type):
        column, unit = pa_compute.cast(column, pa.int32()), "D"
    elif pa.types.is_date64(column.type):
        unit = "ms"
    else:
        unit = column.type.unit
    raw = pa_compute.fill_null(pa_compute.cast(column, pa.int64()), np.iinfo(np.int64).min)
    return np.asarray(raw.to_numpy().view(f"datetime64[{unit}]"))


def _each_moment(values: Sequence[object], feature: Moment) -> np.ndarray:
    found = [feature.number(value if isinstance(value, np.datetime64) else plain(value)) for value in values]
    _require(None not in found, feature.name, "dates")
    return np.array(found, np.float64)


def _require(holds: bool, name: str, wanted: str, column: Column = None) -> None:
    if not holds:
        raise wrong_type(name, wanted, column)


def encode_categorical(column: Column, feature: Categorical, out: np.ndarray) -> None:
    """Write the codes of a categorical column into ``out``."""
    lookup = Lookup(() if feature.is_open else feature.categories)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and _encode_integers(column, lookup, out):
        return
    column = distinct(column, feature.name)
    if isinstance(column, Coded):
        codes = _category_codes(column.entries.tolist(), lookup, feature.name)
        out[:] = np.array(codes, out.dtype)[column.rows]
    else:
        out[:] = _category_codes(column.tolist(), lookup, feature.name)


def value_texts(column: Column, name: str) -> np.ndarray:
    """What each row has in a column of categories, as text; None where that is missing."""
    column = distinct(column, name)
    entries = column.entries if isinstance(column, Coded) else column
    _require(not any(is_nested(value) for value in entries.tolist()), name, "categories")
    texts = objects(value_text(value) for value in entries.tolist())
    return np.asarray(texts[column.rows] if isinstance(column, Coded) else texts)


def distinct(column: Column, name: str) -> Column:
    """A column as distinct values and the one that each row has, or as an array of objects."""
    if isinstance(column, Coded) or (isinstance(column, np.ndarray) and column.dtype.kind == "O"):
        return column
    _require(holds_categories(column), name, "categories")
    if isinstance(column, np.ndarray):
        is_odd = column.dtype.kind in ARRAYS_OF_NUMBERS and not (is_plain(column) or column.dtype.kind == "b")
        return column.astype(object) if is_odd else _coded(column)
    return _coded(column)


def holds_categories(column: Column) -> bool:
    """Whether a column declares a type that categories can be of, or none."""
    if isinstance(column, Coded):
        return True
    if isinstance(column, np.ndarray):
        return column.dtype.kind in ARRAYS_OF_CATEGORIES + "O"
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return any(is_kind(kind) for is_kind in READABLE)


def _coded(column: Column) -> Column:
    """By Arrow, whose texts are found much faster; as objects where it cannot say which are distinct."""
    try:
        if isinstance(column, np.ndarray):
            column = pa.chunked_array([pa.array(column)])
        encoded = column if pa.types.is_dictionary(column.type) else pa_compute.dictionary_encode(column)
        encoded = encoded.unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], encoded.type)
        rows = pa_compute.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy()
        return Coded(objects(encoded.dictionary.to_pylist()), rows)
    except (pa.ArrowException, UnicodeError):
        return objects(column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.tolist())


def _encode_integers(column: np.ndarray, lookup: Lookup, out: np.ndarray) -> bool:
    """Codes of integers that lie close together, by one look-up each and without a copy of them."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    if high - low > SPAN:
        return False
    codes = np.array([lookup.code(value) for value in range(low, high + 1)], out.dtype)
    for first in range(0, len(column), SPAN):
        part = slice(first, first + SPAN)
        out[part] = codes[column[part].astype(np.int64) - low]
    return True


def _category_codes(values: Sequence[object], lookup: Lookup, name: str) -> list[int]:
    _require(not any(is_nested(value) for value in values), name, "categories")
    return [lookup.code(value) for value in values]
