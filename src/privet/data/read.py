"""All rows of a table as codes, within the public bound on their number."""

from __future__ import annotations

from typing import Any

from privet.data.codes import Codes, encode
from privet.data.table import Table
from privet.errors import DataError
from privet.schema import Schema


def read_codes(table: Table, schema: Schema, labels: Any = None) -> Codes:
    """Read all rows of a table through its schema; refuse a table that does not fit it."""
    codes = encode(table, schema, labels)
    if schema.max_rows is not None and codes.n_rows > schema.max_rows:
        raise DataError(
            "the table has more rows than the schema's max_rows allows.",
            "raise max_rows: it must bound the rows, publicly.",
        )
    return codes
