"""Types that places declare, refused before anything is charged where no row of them could be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from privet.data.codes import NUMERIC, holds_categories, holds_dates
from privet.data.table import wrong_type
from privet.schema import Continuous, Feature, Label, Moment, Schema


def wanted_of(schema: Schema | None) -> Mapping[str, Feature | Label]:
    """What a schema wants of its columns, by their names."""
    return {} if schema is None else {column.name: column for column in (*schema.features, schema.label)}


def require_kinds(kinds: pa.Schema, columns: Sequence[str], schema: Schema | None) -> None:
    """Refuse columns whose declared types hold no numbers, or no categories, as a schema wants them."""
    wanted = wanted_of(schema)
    for name in columns:
        kind = kinds.field(name).type
        if isinstance(wanted.get(name), Moment):
            if not holds_dates(pa.chunked_array([], kind)):
                raise wrong_type(name, "dates")
        elif isinstance(wanted.get(name), Continuous):
            if not (pa.types.is_dictionary(kind) or any(is_kind(kind) for is_kind in NUMERIC)):
                raise wrong_type(name, "numbers")
        elif name in wanted and not holds_categories(pa.chunked_array([], kind)):
            raise wrong_type(name, "categories")
