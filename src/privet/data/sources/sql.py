"""What all databases have in common: names in quotes, and what stands behind FROM."""

from __future__ import annotations

import re
from collections.abc import Sequence

from privet.data.sources.address import Address
from privet.errors import DataError

PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
"""A part of a table's name, in quotes or without."""


def quoted(name: str) -> str:
    """A name that is taken for nothing but a name."""
    if "\0" in name:
        raise DataError("a name holds a character that no name has.", "rename it.")
    return '"' + name.replace('"', '""') + '"'


def parts_of(table: str) -> list[str]:
    """Parts of a table's name: ``clinic.people`` has two, ``"clinic.people"`` one."""
    parts, at = [], 0
    while (found := PART.match(table, at)) is not None:
        parts.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        at = found.end() + 1
        if at > len(table) or table[at - 1] != ".":
            break
    if at != len(table) + 1 or len(parts) > 3:
        raise DataError("this is no name of a table.", 'write people, clinic.people, or "odd.name".')
    return parts


def rows_of(address: Address) -> str:
    """What stands behind FROM."""
    if address.table is not None:
        return ".".join(map(quoted, parts_of(address.table)))
    # On a line of its own: the query may end in a comment.
    return f"(\n{address.query}\n) AS rows"


def select(expressions: Sequence[str], address: Address, behind: str = "") -> str:
    """A query of some columns of all rows."""
    return f"SELECT {', '.join(expressions) or '1'} FROM {rows_of(address)} {behind}"
