"""Tables of any kind to small integer codes, read through a schema."""

from privet.data.codes import Codes, encode
from privet.data.draft import draft_schema, outside_counts, schema_from_data
from privet.data.table import Table, open_table

__all__ = ["Codes", "Table", "draft_schema", "encode", "open_table", "outside_counts", "schema_from_data"]
