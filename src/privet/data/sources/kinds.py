"""Types that places declare, refused before anything is charged where no row of them could be read."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from privet.data.codes import NUMERIC, holds_categories, holds_dates
from privet.data.table import wrong_type
from privet.schema import Continuous, Moment, Schema


def require_kinds(kinds: pa.Schema, columns: Sequence[str], schema: Schema) -> None:
    """Refuse columns whose declared types hold no numbers, or no categories, as a schema wants them."""
    wanted = {feature.name: feature for feature in (*schema.features, schema.label)}
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
