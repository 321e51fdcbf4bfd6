"""Tables of any kind to small integer codes, read through a schema."""

from privet.data.codes import Codes, encode, no_rows
from privet.data.opened import open_source, open_table
from privet.data.persons import Persons, declared_unit, own_rows
from privet.data.read import check_number, read_codes
from privet.data.sources import SPARK, Address, Piece, Source, read_address
from privet.data.table import Table

__all__ = [
    "SPARK",
    "Address",
    "Codes",
    "Persons",
    "Piece",
    "Source",
    "Table",
    "check_number",
    "declared_unit",
    "encode",
    "no_rows",
    "open_source",
    "open_table",
    "own_rows",
    "read_address",
    "read_codes",
]
