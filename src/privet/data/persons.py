"""Whose a row is, and which one row stands for each person.

A person is an identifier: all rows whose identifiers have the same text are theirs. A row without one, or
with a blank one, is a person by itself. Which of a person's rows stands for them is drawn by a secret key
from the identifier and the number of their rows alone, so that a person who comes or goes with all their rows
adds or removes one row and changes no other. Proof note: ``docs/proofs/persons.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data.codes import distinct, holds_categories
from privet.data.columns import Coded, Column, objects, open_column
from privet.data.table import wrong_type
from privet.data.values import is_nested, plain, text
from privet.errors import DataError
from privet.schema import Schema

BESIDE = ("person", "person identifier", "identifier of the person")
"""What identifiers that stand beside a table are called, where its schema has no name for them."""

NOBODY = b"\0" * 16
"""Identity of rows that say not whose they are."""


@dataclass(frozen=True)
class Persons:
    """Identities of persons under a secret key, which never leaves.

    Wherever rows lie, the identities of all of them and `own_rows` of some persons' are all that it takes.

    Attributes
    ----------
    unit : str
        The schema's.
    key : bytes
    beside : array-like, optional
        The identifier of each row, where it does not stand in the table.
    """

    unit: str
    key: bytes = field(repr=False)
    beside: Any = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """What is to be read of a table."""
        return [self.unit] if self.beside is None else []

    def identities(self, columns: Mapping[str, Column], n_rows: int) -> np.ndarray:
        """A person's number of 128 bits for each row, as two of 64: (rows, 2); zeros where there is none."""
        column = columns[self.unit] if self.beside is None else open_column(self.beside)
        if len(column) != n_rows:
            raise DataError("rows and their identifiers differ in number.", "give one identifier a row.")
        column = distinct(column, self.unit) if holds_categories(column) else _as_objects(column)
        values = column.entries.tolist() if isinstance(column, Coded) else column.tolist()
        if any(is_nested(value) for value in values):
            raise wrong_type(self.unit, "identifiers")
        listed = np.frombuffer(b"".join(map(self._identity, values)), np.uint64).reshape(-1, 2)
        return listed[column.rows] if isinstance(column, Coded) else listed

    def _identity(self, value: Any) -> bytes:
        value = plain(value)
        written = "" if value is None else text(value)
        if not written.strip():
            return NOBODY
        return blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16, key=self.key).digest()


def own_rows(identities: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """Places, in order, of the rows that stand for a person each, one a person.

    Of a person's k rows, in the order of their keys or else in their own, it is the one whose place is the
    person's number modulo k. Keys that leave this order open are refused: what comes first in a database
    could depend on others.
    """
    named = identities.any(axis=1)
    places = np.flatnonzero(named)
    by = [*([] if keys is None else [keys[places]]), *identities[places].T]
    order = places[np.lexsort(by)]  # rows of a person stay in their order
    sorted_ = identities[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (sorted_[1:] != sorted_[:-1]).any(axis=1)
    if keys is not None and (~begins[1:] & (keys[order][1:] == keys[order][:-1])).any():
        raise DataError(
            "two rows of one person have the same key, or none.",
            "name a key column that tells all rows apart.",
        )
    first = np.flatnonzero(begins)
    n_rows = np.diff(first, append=len(order)).astype(np.uint64)
    chosen = order[first + (sorted_[first, 0] % n_rows).astype(np.int64)]
    return np.sort(np.concatenate([chosen, np.flatnonzero(~named)]))


def declared_unit(schema: Schema, unit: Any) -> tuple[Schema, Any]:
    """A schema by person, and the identifiers that stand beside the table, if they do.

    Parameters
    ----------
    schema : Schema
    unit : str or array-like, optional
        Name of the column that says whose a row is, or the identifier of each row. By default what the
        schema says.
    """
    if unit is None:
        return schema, None
    if isinstance(unit, str):
        return schema.by(unit), None
    taken = {*schema.feature_names, schema.label.name}
    return schema.by(schema.unit or next(name for name in BESIDE if name not in taken)), unit


def _as_objects(column: Column) -> np.ndarray:
    """A column of a type that no category has, such as dates, value by value."""
    return objects(column.to_pylist() if isinstance(column, pa.ChunkedArray) else column)
