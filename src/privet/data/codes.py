"""Columns to codes: one or two bytes a value, features first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pa_compute

from privet.data.table import Column, Table, attempt, is_plain, wrong_type
from privet.errors import DataError
from privet.schema import Categorical, Continuous, Feature, Schema, canonical

BLOCK = 256
"""Rows encoded at a time: their values of all columns stay in the first cache."""

SPAN = 1 << 16
"""Integers that are looked up in one table, and how many of them at a time."""

NUMERIC = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_null,
)


@dataclass(frozen=True)
class Codes:
    """Codes of the features, ``(features, rows)``, and of the label, ``(rows,)``, if it was read."""

    features: np.ndarray
    labels: np.ndarray | None

    @property
    def n_rows(self) -> int:
        """Number of rows: exact, hence private."""
        return int(self.features.shape[1])


def code_dtype(n_codes: int) -> type[np.uint8] | type[np.uint16]:
    """Smallest unsigned type that holds codes ``0 … n_codes − 1``."""
    return np.uint8 if n_codes <= 256 else np.uint16


def encode(table: Table, schema: Schema, labels: Any = None, with_label: bool = True) -> Codes:
    """Read a table through its schema.

    Parameters
    ----------
    table : Table
    schema : Schema
    labels : array-like, optional
        The label of each row, where it does not stand in the table.
    with_label : bool
        False for rows that are to be predicted.

    Returns
    -------
    Codes
        Continuous values outside their range are clamped; missing values and unknown categories
        have codes of their own.
    """
    names = schema.feature_names
    from_table = with_label and labels is None
    wanted = [*names, schema.label.name] if from_table else names
    table.require(wanted)
    if table.names is None and from_table:
        raise DataError("an array carries no label.", "pass the labels beside it.")
    if table.block is not None and all(isinstance(f, Continuous) for f in schema.features):
        codes = _encode_block(table.block, schema.features)
        columns: Any = {}
    else:
        columns = table.fetch(wanted)
        codes = np.empty((len(names), len(columns[names[0]])), _dtype(schema))
        for row, feature in zip(codes, schema.features, strict=True):
            _encode_feature(columns[feature.name], feature, row)
    if codes.shape[1] == 0:
        raise DataError("the table has no rows.", "check the file or the filter that made it.")
    if not with_label:
        return Codes(codes, None)
    label_column = columns[schema.label.name] if from_table else _label_array(labels)
    return Codes(codes, encode_label(label_column, schema, codes.shape[1]))


def _label_array(labels: Any) -> np.ndarray:
    """Labels as an array; those of a list are kept as they are, whatever the others are."""
    return np.array(labels, object) if isinstance(labels, list | tuple) else np.asarray(labels)


def encode_label(column: Column, schema: Schema, n_rows: int) -> np.ndarray:
    """Codes of the label; a value outside the schema is an error, since it cannot be learnt."""
    values = schema.label.values
    if len(column) != n_rows:
        raise DataError("features and labels have different numbers of rows.", "give one label a row.")
    codes = np.empty(n_rows, code_dtype(len(values) + 2))
    encode_categorical(column, Categorical(schema.label.name, values), codes)
    if (codes >= len(values)).any():
        raise DataError(
            f"label {schema.label.name!r} is missing, or not among the schema's values, in some rows.",
            "drop those rows or add the value to the schema; `privet schema check` counts them.",
            column=schema.label.name,
        )
    return codes


def _dtype(schema: Schema) -> type[np.uint8] | type[np.uint16]:
    return code_dtype(max(feature.n_codes for feature in schema.features))


def _encode_feature(column: Column, feature: Feature, out: np.ndarray) -> None:
    if isinstance(feature, Categorical):
        encode_categorical(column, feature, out)
    else:
        _encode_into(_numbers(column, feature.name)[:, None], [feature], out[None])


def _encode_block(block: np.ndarray, features: Sequence[Feature]) -> np.ndarray:
    dtype = code_dtype(max(feature.n_codes for feature in features))
    out = np.empty((len(features), len(block)), dtype)
    _encode_into(block, [f for f in features if isinstance(f, Continuous)], out)
    return out


def _encode_into(block: np.ndarray, features: Sequence[Continuous], out: np.ndarray) -> None:
    lower = np.array([f.lower for f in features], np.float64)
    per_unit = np.array([1 / f.width for f in features], np.float64)
    cells = np.array([f.n_cells for f in features], np.int64)
    _cells(block, lower, per_unit, cells, out)


def encode_number(value: float, feature: Continuous) -> int:
    """Cell of one public number, by the arithmetic that reads the rows."""
    out = np.empty((1, 1), np.uint16)
    _encode_into(np.array([[value]], np.float64), [feature], out)
    return int(out[0, 0])


@numba.njit(parallel=True, cache=True)
def _cells(block, lower, per_unit, cells, out):  # type: ignore[no-untyped-def]
    rows, width = block.shape
    for b in numba.prange((rows + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        last = min(rows, first + BLOCK)
        values = np.empty(BLOCK, np.float64)
        for j in range(width):
            # Gather first: the arithmetic then runs on neighbours, several at a time.
            for i in range(last - first):
                values[i] = block[first + i, j]
            low, scale, n_cells = lower[j], per_unit[j], np.float64(cells[j])
            for i in range(last - first):
                cell = (values[i] - low) * scale
                # Clamp as a float, infinities have no integer form; only NaN differs from itself.
                clamped = min(max(cell, 0.0), n_cells - 1.0) if cell == cell else n_cells
                out[j, first + i] = np.int32(clamped)


def _numbers(column: Column, name: str) -> np.ndarray:
    """A column as an array of floats, missing values as NaN."""
    error = wrong_type(name, "numbers")
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "O":
            return np.array([_number(value, error) for value in column], np.float64)
        if column.dtype.kind not in "fiub":
            raise error
        return column if is_plain(column) else column.astype(np.float64)
    if not any(is_kind(column.type) for is_kind in NUMERIC):
        raise error
    if pa.types.is_floating(column.type) and column.null_count == 0:
        return column.to_numpy()
    cast = partial(pa_compute.cast, column, pa.float64(), safe=False)
    return attempt(cast, (pa.ArrowException,), error).to_numpy()


def _number(value: Any, error: DataError) -> float:
    if _is_missing(value):
        return math.nan
    is_number = isinstance(value, Real | Decimal)
    if not is_number:
        raise error
    if abs(value) < 1e300:
        return float(value)
    return math.inf if value > 0 else -math.inf


def _is_missing(value: object) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def encode_categorical(column: Column, feature: Categorical, out: np.ndarray) -> None:
    """Write the codes of a categorical column into ``out``."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "O":
        out[:] = _category_codes(column.tolist(), feature)
        return
    if (
        isinstance(column, np.ndarray)
        and column.dtype.kind in "iu"
        and _encode_integers(column, feature, out)
    ):
        return
    if isinstance(column, np.ndarray):
        column = array_to_arrow(column, feature.name)
    if pa.types.is_nested(column.type):
        raise wrong_type(feature.name, "categories")
    if not pa.types.is_dictionary(column.type):
        column = pa_compute.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], column.type)
    lookup = _category_codes(encoded.dictionary.to_pylist(), feature)
    missing = len(feature.categories)
    indices = pa_compute.fill_null(encoded.indices, len(lookup)).to_numpy(zero_copy_only=False)
    out[:] = np.append(lookup, missing).astype(out.dtype)[indices]


def _encode_integers(column: np.ndarray, feature: Categorical, out: np.ndarray) -> bool:
    """Codes of integers that lie close together, by one look-up each and without a copy of them."""
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    if high - low > SPAN:
        return False
    lookup = _category_codes(range(low, high + 1), feature).astype(out.dtype)
    for first in range(0, len(column), SPAN):
        part = slice(first, first + SPAN)
        out[part] = lookup[column[part].astype(np.int64) - low]
    return True


def _category_codes(values: Sequence[object], feature: Categorical) -> np.ndarray:
    """Code of each value, found from that value alone."""
    index = {canonical(category): i for i, category in enumerate(feature.categories)}
    missing, unknown = len(index), len(index) + 1
    codes = np.empty(len(values), np.int64)
    for i, value in enumerate(values):
        if isinstance(value, list | tuple | dict | set | np.ndarray):
            raise wrong_type(feature.name, "categories")
        codes[i] = missing if _is_missing(value) else index.get(canonical(value), unknown)
    return codes


def array_to_arrow(column: np.ndarray, name: str) -> pa.ChunkedArray:
    """An array as an Arrow column; NaN and None become nulls, values of mixed types text."""

    def as_text() -> pa.Array:
        return pa.array([None if _is_missing(v) else canonical(v) for v in column.tolist()], pa.string())

    try:
        values = pa.array(column, from_pandas=True)
    except pa.ArrowException:
        values = None
    if values is None:
        values = attempt(as_text, (TypeError, ValueError), wrong_type(name, "categories"))
    return pa.chunked_array([values])
