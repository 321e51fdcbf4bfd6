"""All rows of a table as codes, one a person, within the public bound on their number."""

from __future__ import annotations

from typing import Any

from privet.data.codes import Codes, encode, no_rows_at_all
from privet.data.persons import Persons, own_rows
from privet.data.table import Table
from privet.errors import DataError, SchemaError
from privet.schema import Schema


def read_codes(
    table: Table,
    schema: Schema,
    labels: Any = None,
    persons: Persons | None = None,
    key: str | None = None,
) -> Codes:
    """Read all rows of a table through its schema, one a person; refuse a table that does not fit it."""
    if (persons is None) != (schema.unit is None):
        raise SchemaError("a schema with a unit is read by person, and no other.", "say whose each row is.")
    codes = encode(table, schema, labels, persons=persons, key=key)
    if codes.persons is not None:
        codes = codes.only(own_rows(codes.persons, codes.keys))
    check_number(codes.n_rows, schema)
    return codes


def check_number(n_rows: int, schema: Schema) -> None:
    """Refuse no rows, and more than the public bound on their number."""
    if n_rows == 0:
        raise no_rows_at_all()
    if schema.max_rows is not None and n_rows > schema.max_rows:
        raise DataError(
            f"the table has more {schema.counted} than the schema's max_rows allows.",
            f"raise max_rows: it must bound the {schema.counted}, publicly.",
        )
