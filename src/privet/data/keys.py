"""Which row is which: a number of 64 bits, a function of the row's value in the column that is its key alone.

Values with one text are one key, whatever their types are. Rows with one key draw alike, which harms nobody's
privacy: what a row draws does not depend on other rows.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data.columns import Coded, Column
from privet.data.values import is_nested, plain, text
from privet.errors import DataError

LARGEST = 1 << 63


def row_keys(column: Column, name: str) -> np.ndarray:
    """Keys of rows."""
    whole = _integers(column)
    if whole is not None:
        return whole.astype(np.uint64)
    values = column.entries.tolist() if isinstance(column, Coded) else _listed(column)
    if any(is_nested(value) for value in values):
        raise DataError(f"column {name!r} holds no keys.", "name a column of numbers or text.", column=name)
    keys = np.fromiter(map(_key, values), np.uint64, len(values))
    return keys[column.rows] if isinstance(column, Coded) else keys


def _integers(column: Column) -> np.ndarray | None:
    """A column that declares integers, and lacks none."""
    if isinstance(column, pa.ChunkedArray) and pa.types.is_integer(column.type) and not column.null_count:
        column = column.to_numpy()
    if not isinstance(column, np.ndarray) or column.dtype.kind not in "iu":
        return None
    # What is below 0, or above all that is not, would be another number here than its text says.
    return None if (column.astype(np.int64) < 0).any() else column


def _listed(column: Any) -> list[Any]:
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.tolist()


def _key(value: Any) -> int:
    value = plain(value)
    written = "" if value is None else text(value)
    if (
        written.isascii()
        and written.isdigit()
        and str(int(written[:20])) == written
        and int(written) < LARGEST
    ):
        return int(written)
    digest = blake2b(written.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return LARGEST | int.from_bytes(digest, "little")
