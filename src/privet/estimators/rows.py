"""X and y as they are handed to an estimator.

scikit-learn's own checks are not asked about rows: their messages quote rows and count them, and some of
their warnings appear by how many there are. Here nothing but the form of X and y is looked at, that is the
number of columns and dimensions and the types that they declare. Values are read through the schema, one by
one, when they are paid for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from privet.data.columns import Coded, Column, array_column, as_frame, object_rows, open_column
from privet.data.discreet import read_discreetly
from privet.data.text import spelt_otherwise
from privet.data.values import Lookup, text
from privet.errors import DataError, SchemaError
from privet.schema import Scalar, Schema

READABLE = "biufMOUST"
"""Kinds of arrays that rows can be read from: numbers, truth values, dates, text, bytes, objects."""


def with_labels(X: Any, y: Any, schema: Schema | None) -> tuple[Any, Any]:
    """X and y; y as the column of X that a schema names, where only X was given."""
    if y is not None or schema is None:
        return X, y
    frame = as_frame(X)
    if frame is None or schema.label.name not in frame.columns:
        return X, y
    return X, frame[schema.label.name].to_native()


def with_persons(X: Any, unit: Any, schema: Schema | None) -> tuple[Any, Any]:
    """X without the column that says whose a row is, and identifiers of its rows, if they are there.

    Parameters
    ----------
    X : frame or array
    unit : str or array-like, optional
        The name of that column, or the identifiers themselves.
    schema : Schema, optional
        Has its name otherwise.
    """
    name = unit if isinstance(unit, str) else schema and schema.unit
    frame = None if name is None else as_frame(X)
    if frame is not None and name in frame.columns:
        X, column = frame.drop(name).to_native(), frame[name].to_native()
        return X, column if unit is None or isinstance(unit, str) else unit
    if isinstance(unit, str):
        raise DataError(f"there is no column {unit!r} in X.", "name one, or give an identifier for each row.")
    return X, unit


def validated(estimator: BaseEstimator, X: Any, reset: bool, names: Sequence[str] | None = None) -> Any:
    """X as a frame or an array with two dimensions; the estimator learns the names of its columns.

    Frames keep the types of their columns; of those that have all of ``names`` no other column is kept, in
    this order. A list of rows becomes an array of objects, so that no type is found from all of them.
    """
    table = read_discreetly(partial(_table, X, type(estimator).__name__))
    frame = None if names is None else as_frame(table)
    if frame is not None and names is not None and set(names) <= set(frame.columns):
        table = frame.select(*names).to_native()
    try:
        # Looks at names and at the number of columns alone.
        validate_data(estimator, table, reset=reset, skip_check_array=True)
    except TypeError:
        hint = "make text of all of them: frame.columns = frame.columns.astype(str)."
        raise DataError("names of columns are text, or numbers, not both.", hint) from None
    except ValueError as error:
        raise DataError(str(error).rstrip(), _as_learnt(frame, names)) from None
    return table


def _as_learnt(frame: nw.DataFrame[Any] | None, names: Sequence[str] | None) -> str:
    """What to do where columns are not those that were learnt from."""
    if frame is None or names is None:
        return "give one column for each feature, in the order of the schema."
    missing = [name for name in names if name not in frame.columns]
    others = [str(name) for name in frame.columns if name not in names]
    near = missing[:1] and spelt_otherwise(missing[0], others)
    return near or "add what is missing to the table; other columns may stand beside it."


def require_labels(estimator: BaseEstimator, X: Any, y: Any, schema: Schema | None) -> None:
    """Refuse to learn without labels."""
    if y is not None:
        return
    frame, hint = as_frame(X), "fit(X, y)."
    if frame is not None and schema is not None:
        name = schema.label.name
        near = spelt_otherwise(name, set(map(str, frame.columns)) - set(schema.feature_names))
        hint = near or f"fit(X, y), or let X have a column {name!r}, as the schema calls it."
    raise SchemaError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.", hint)


def validated_labels(X: Any, y: Any) -> Column | list[Any]:
    """Labels as a column of its declared type; a list declares none and stays a list."""
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "one dimension, for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
    labels = read_discreetly(partial(_labels, y))
    frame = as_frame(X)
    if len(labels) != len(X if frame is None else frame):
        raise DataError("features and labels have different numbers of rows.", "give one label a row.")
    return labels


def is_frame(X: Any) -> bool:
    """Whether X is a frame of some library rather than an array."""
    return as_frame(X) is not None


def is_label(y: Any, codes: np.ndarray, schema: Schema) -> np.ndarray:
    """Whether each row has the label at a place of the schema; labels are equal as the schema reads them."""

    def read() -> np.ndarray:
        column, lookup = open_column(_labels(y)), Lookup(schema.classes)
        values = column.entries[column.rows] if isinstance(column, Coded) else column
        listed = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
        if len(listed) != len(codes):
            raise DataError("features and labels have different numbers of rows.", "give one label a row.")
        return np.array([lookup.code(value) for value in listed], np.int64) == codes

    return read_discreetly(read)


def classes(values: Sequence[Scalar], y: Column | list[Any] | None) -> np.ndarray:
    """Label values in the declared type of ``y``: a schema may write '0' where a table has 0.

    What stands in ``y`` does not matter, so that no label can change the type of all predictions.
    """
    listed = _as_array(values)
    declared = _declared(y)
    if declared is None or listed.dtype.kind != "U" or declared.kind not in "iufbO":
        return listed
    if declared.kind == "O":
        return listed.astype(object)
    read: Any = {"b": {"False": False, "True": True}.__getitem__, "f": float}.get(declared.kind, int)
    try:
        return np.array([read(value) for value in listed.tolist()], declared)
    except (KeyError, ValueError, OverflowError):
        return listed


def _as_array(values: Sequence[Scalar]) -> np.ndarray:
    """Label values as an array; as text where they are of several kinds, which numpy would merge."""
    kinds = {bool if isinstance(value, bool) else str if isinstance(value, str) else int for value in values}
    return np.array(values if len(kinds) == 1 else [text(value) for value in values])


def _declared(y: Column | list[Any] | None) -> np.dtype[Any] | None:
    """Type that labels declare; None if it is not one of numpy's numbers, truth values or objects.

    Lists declare none, nor do categories of pandas, whose type pandas finds from values.
    """
    if y is None or isinstance(y, list | Coded):
        return None
    if isinstance(y, np.ndarray):
        return y.dtype
    kind = y.type.value_type if pa.types.is_dictionary(y.type) else y.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return np.dtype(kind.to_pandas_dtype()) if is_number else None


def _table(X: Any, estimator: str) -> Any:
    if is_frame(X):
        return X
    if issparse(X):
        raise DataError("Sparse data was passed for X, but dense data is required.", "use X.toarray().")
    array = _array(X)
    if array.dtype.names:
        raise DataError("records are not a table yet.", "give pandas.DataFrame(X).")
    if array.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {array.ndim}D array instead.",
            "Reshape your data: one row for each person, one column for each feature.",
        )
    if array.shape[1] == 0:
        raise DataError(
            f"0 feature(s) (shape=(, 0)) while a minimum of 1 is required by {estimator}.",
            "give one column for each feature.",
        )
    _check_kind(array)
    return array


def _array(X: Any) -> np.ndarray:
    if isinstance(X, np.ndarray):
        return array_column(X)
    if not isinstance(X, list | tuple) and hasattr(X, "__array__"):
        return array_column(np.asarray(X))
    if isinstance(X, Sequence) and not isinstance(X, str | bytes):
        return object_rows(X)
    lazy = isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
    raise DataError(
        f"cannot read rows from {type(X).__name__}.",
        "collect it first." if lazy else "give a frame, an array of two dimensions, or the path of a file.",
    )


def _labels(y: Any) -> Column | list[Any]:
    if isinstance(y, str):
        hint = "leave y out where the column that the schema predicts stands in X."
        raise DataError("y holds the labels of the rows, not the name of a column.", hint)
    if isinstance(y, list | tuple):
        return list(y)
    if is_frame(y):
        frame = nw.from_native(y, eager_only=True)
        y = np.empty((0, len(frame.columns))) if len(frame.columns) != 1 else frame[frame.columns[0]]
    column = open_column(y)
    if isinstance(column, np.ndarray):
        if column.ndim == 2 and column.shape[1] == 1:
            column = column[:, 0]
        if column.ndim != 1:
            raise DataError("y should be a 1d array.", "give one label a row.")
        _check_kind(column)
    return column


def _check_kind(array: np.ndarray) -> None:
    """Refuse arrays by the type they declare."""
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported.", "give its real and imaginary parts as two features.")
    if array.dtype.kind not in READABLE:
        raise DataError(f"an array of {array.dtype} cannot be read.", "give numbers, text or truth values.")
