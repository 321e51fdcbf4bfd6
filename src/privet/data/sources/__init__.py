"""Places that rows are read from, again and again, without being held in memory: files and databases."""

from privet.data.sources.files import FileSource, table_files
from privet.data.sources.source import Piece, Source

__all__ = ["FileSource", "Piece", "Source", "table_files"]
