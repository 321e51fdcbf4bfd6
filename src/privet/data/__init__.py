"""Tables of any kind to small integer codes, read through a schema."""

from privet.data.codes import Codes, encode, no_rows
from privet.data.opened import located, open_source, open_table
from privet.data.persons import Persons, declared_unit, own_rows
from privet.data.read import check_number, read_codes
from privet.data.sources import (
    FILES,
    SPARK,
    Address,
    Piece,
    Source,
    is_address,
    is_pattern,
    read_address,
    table_files,
)
from privet.data.table import Table, wrong_type
from privet.data.text import Place, TextFile, is_frame, is_place

__all__ = [
    "FILES",
    "SPARK",
    "Address",
    "Codes",
    "Persons",
    "Piece",
    "Place",
    "Source",
    "Table",
    "TextFile",
    "check_number",
    "declared_unit",
    "encode",
    "is_address",
    "is_frame",
    "is_pattern",
    "is_place",
    "located",
    "no_rows",
    "open_source",
    "open_table",
    "own_rows",
    "read_address",
    "read_codes",
    "table_files",
    "wrong_type",
]
