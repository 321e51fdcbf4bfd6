"""Predictions from one place into another, some rows at a time: of tables that are larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data import Place, Source, open_source
from privet.data.discreet import attempt
from privet.data.sinks import open_sink
from privet.errors import DataError
from privet.model.numbers import half_width
from privet.model.protocol import Model
from privet.schema import Label

DIGITS = 6
"""Of shares, behind the point, in a file of text."""


def predict_into(
    model: Any, source: Place, into: str | Path, keep: str | None = None, coverage: float | None = None
) -> int:
    """Predict rows where they lie, and write what is said of them to a new place.

    Parameters
    ----------
    model : a released model, or a fitted estimator
    source : str, Path or TextFile
        Where the rows lie: files or an address, as for a fit. A label, if there is one, is not read.
    into : str or Path
        A new file, .parquet or .csv, or the address of a new table:
        ``duckdb:///scores.db?table=scores``, ``postgresql://host/db?table=scores``.
    keep : str, optional
        A column that is written beside the predictions, such as a key.
    coverage : float, optional
        Of a model of numbers: write the ends of intervals, too, that hold this share of all rows' numbers.

    Returns
    -------
    int
        Number of rows.
    """
    model = getattr(model, "model_", model)
    digits = DIGITS if str(into).endswith(".csv") else None
    tables = prediction_tables(model, source, keep, digits, coverage)
    n_rows = 0
    with open_sink(into) as write:
        for table in tables:
            write(table)
            n_rows += len(table)
    return n_rows


def prediction_tables(
    model: Model,
    source: Place,
    keep: str | None = None,
    digits: int | None = None,
    coverage: float | None = None,
) -> Iterator[pa.Table]:
    """What a model says of rows, some at a time: ``keep``, ``prediction``, and a share of every label.

    With a coverage ``lower`` and ``upper`` follow, the ends of intervals around numbers.
    """
    half = None if coverage is None else half_width(model, coverage)
    label = model.schema.label
    told = ["prediction", *(f"share_{value}" for value in getattr(label, "values", ()))]
    told += [] if half is None else ["lower", "upper"]
    if keep in told:
        raise DataError(f"predictions have a column {keep!r} of their own.", "rename the one that is kept.")
    place = open_source(source, model.schema)
    columns = list(dict.fromkeys([*model.schema.feature_names, *([keep] if keep else [])]))
    place.require(columns)
    return (_with_ends(told, model, half) for told in _tables(model, place, columns, keep, digits))


def _tables(
    model: Model, place: Source, columns: Sequence[str], keep: str | None, digits: int | None
) -> Iterator[pa.Table]:
    n_rows = 0
    for piece in place.read(columns):
        for rows in piece():
            if len(rows):
                yield _told(model, rows, keep, digits)
                n_rows += len(rows)
    place.check()
    if n_rows == 0:
        raise DataError("the table has no rows.", "check the file or the filter that made it.")


def _told(model: Model, rows: pa.Table, keep: str | None, digits: int | None) -> pa.Table:
    told = model.predictions(rows)
    values = told.values
    if isinstance(model.schema.label, Label):
        # One type for all, also where labels are of several kinds, whichever of them these rows have.
        kinds = {type(value) for value in model.schema.classes}
        values = values if len(kinds) == 1 else [str(value) for value in values]
    columns = {} if keep is None else {keep: _plain(rows.column(keep), keep)}
    columns["prediction"] = pa.chunked_array([pa.array(values)])
    for label, shares in told.shares.items():
        exact = np.ascontiguousarray(shares, np.float64)
        columns[f"share_{label}"] = pa.chunked_array([exact if digits is None else exact.round(digits)])
    return pa.table(columns)


def _with_ends(told: pa.Table, model: Model, half: float | None) -> pa.Table:
    if half is None:
        return told
    target, middle = model.schema.target, told.column("prediction").to_numpy()
    for name, end in (("lower", middle - half), ("upper", middle + half)):
        told = told.append_column(name, pa.chunked_array([np.clip(end, target.lower, target.upper)]))
    return told


def _plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column as its values, however the place writes them."""
    unfit = DataError(f"column {name!r} cannot be kept.", "keep a column of text or numbers.", name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return attempt(lambda: column.cast(kind), (pa.ArrowException, TypeError), unfit)
