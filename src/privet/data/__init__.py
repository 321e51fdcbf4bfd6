"""Tables of any kind to small integer codes, read through a schema."""

from privet.data.codes import Codes, encode, no_rows
from privet.data.persons import Persons, declared_unit, own_rows
from privet.data.read import check_number, read_codes
from privet.data.sources import FileSource, Piece, Source, table_files
from privet.data.table import Table, open_table

__all__ = [
    "Codes",
    "FileSource",
    "Persons",
    "Piece",
    "Source",
    "Table",
    "check_number",
    "declared_unit",
    "encode",
    "no_rows",
    "open_table",
    "own_rows",
    "read_codes",
    "table_files",
]
