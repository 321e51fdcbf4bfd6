"""Places that rows are read from, again and again, without being held in memory: files and databases."""

from privet.data.sources.address import DUCKDB, FILES, POSTGRESQL, SPARK, Address, is_address, read_address
from privet.data.sources.files import FileSource, is_pattern, table_files
from privet.data.sources.source import Piece, Source

__all__ = [
    "DUCKDB",
    "FILES",
    "POSTGRESQL",
    "SPARK",
    "Address",
    "FileSource",
    "Piece",
    "Source",
    "is_address",
    "is_pattern",
    "read_address",
    "table_files",
]
