"""Tables of any kind to small integer codes, read through a schema."""

from privet.data.codes import Codes, encode, no_rows
from privet.data.persons import Persons, declared_unit
from privet.data.read import read_codes
from privet.data.table import Table, open_table

__all__ = [
    "Codes",
    "Persons",
    "Table",
    "declared_unit",
    "encode",
    "no_rows",
    "open_table",
    "read_codes",
]
