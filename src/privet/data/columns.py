"""Columns as they are handed in: an Arrow column, an array, or distinct values and which of them rows have.

The type that a column *declares* (of an array, a Series, a field of a file) belongs to the table and is as
public as its name. A type that would have to be found from values is never looked for: lists and columns
of objects are read value by value, since one row could otherwise decide how all others are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from privet.data.discreet import attempt, read_discreetly
from privet.errors import DataError


@dataclass(frozen=True)
class Coded:
    """Distinct values, and which of them every row has; −1 where it has none."""

    values: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def entries(self) -> np.ndarray:
        """The values, and None behind them, where a row without a value finds it."""
        return objects([*self.values, None])


Column = Any  # pa.ChunkedArray | np.ndarray | Coded; pyarrow has no types


def objects(values: Iterable[Any]) -> np.ndarray:
    """Values as they are, in an array of objects; lists among them stay lists."""
    listed = list(values)
    return np.fromiter(listed, object, len(listed))


def open_column(values: Any) -> Column:
    """Labels of any kind as a column."""
    if isinstance(values, Coded | pa.ChunkedArray):
        return values
    if isinstance(values, pa.Array):
        return pa.chunked_array([values])
    if isinstance(values, np.ndarray):
        return array_column(values)
    if not isinstance(values, list | tuple):
        series = nw.from_native(values, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return series_column(series)
        if hasattr(values, "__array__"):
            return array_column(np.asarray(values))
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return objects(values)
    raise DataError(
        f"cannot read labels from {type(values).__name__}.", "give an array, a Series or a list of them."
    )


def array_column(array: np.ndarray) -> np.ndarray:
    """An array as a plain one: masked values are missing, text of any length is objects."""
    if isinstance(array, np.ma.MaskedArray):
        held = np.ma.getdata(array).astype(object)
        held[np.ma.getmaskarray(array)] = None
        return held
    return array.astype(object) if array.dtype.kind == "T" else np.asarray(array)


def series_column(series: nw.Series[Any]) -> Column:
    """A frame's column by its declared type; one that declares none is read value by value."""
    if series.implementation.is_pandas_like():
        return _pandas_column(series)
    return objects(series.to_list()) if series.dtype == nw.Object else _arrow_column(series)


def _pandas_column(series: nw.Series[Any]) -> Column:
    native = series.to_native()
    if isinstance(native.dtype, np.dtype):
        return array_column(native.to_numpy())
    if hasattr(native, "cat"):
        return Coded(objects(native.cat.categories), native.cat.codes.to_numpy())
    if not hasattr(native.array, "__arrow_array__") and native.dtype.kind not in "mM":
        return array_column(np.asarray(native.array))
    return _arrow_column(series)


def _arrow_column(series: nw.Series[Any]) -> Column:
    """In Arrow; as objects where Arrow has no form for a value, which changes nothing for others."""
    try:
        column = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        column = None
    if column is None:
        return objects(series.to_list())
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def held(source: Any) -> Any:
    """A stream of Arrow, or what can be read as one, as a table in memory; anything else as it is."""
    if isinstance(source, pa.RecordBatch):
        return pa.table(source)
    if not hasattr(source, "__arrow_c_stream__") or as_frame(source, allow_series=True) is not None:
        return source
    return read_discreetly(partial(pa.table, source))


def as_frame(source: Any, allow_series: bool = False) -> Any:
    """A frame of some library that is in memory, as all of them are read; None if it is none."""
    try:
        found = nw.from_native(source, eager_only=True, pass_through=True, allow_series=allow_series)
    except nw.exceptions.DuplicateError:
        pass
    else:
        return found if isinstance(found, nw.DataFrame | nw.Series) else None
    raise _named_twice(source)


def _named_twice(source: Any) -> DataError:
    names = getattr(source, "column_names", getattr(source, "columns", ()))
    twice = next((str(name) for name, times in Counter(names).items() if times > 1), "")
    return DataError(f"column {twice!r} stands there twice.", "rename one of them, or leave it out.")


def object_rows(rows: Sequence[Any]) -> np.ndarray:
    """A list of rows as a table of objects; every value stays what it is.

    A row that is none, or is longer or shorter than others, is an error that is the same wherever it is.
    """
    one_way = DataError(
        "Expected 2D array, got a list whose items are not all rows of the same length.",
        "give every row a value for each feature, and rows that name them as pandas.DataFrame(rows). "
        "Reshape your data if it is a single row or column.",
    )
    listed = [_row(row) for row in rows]
    widths = {-1 if row is None else len(row) for row in listed}
    if len(widths) != 1 or -1 in widths:
        raise one_way
    flat = objects(value for row in listed for value in row or ())
    return attempt(lambda: flat.reshape(len(listed), widths.pop()), (ValueError,), one_way)


def _row(row: Any) -> list[Any] | None:
    """Values of a row; None if it is no row."""
    is_row = hasattr(row, "__len__") and hasattr(row, "__getitem__")
    return list(row) if is_row and not isinstance(row, str | bytes | bytearray | dict) else None
