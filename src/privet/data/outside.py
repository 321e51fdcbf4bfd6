"""The owner's desk: count what falls outside a schema, and say where. Exact, for the owner's eyes only."""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data.codes import code_dtype, encode_categorical, moments, numbers
from privet.data.columns import Column
from privet.data.discreet import attempt
from privet.data.lines import LONGEST_LINE
from privet.data.opened import located, of_text, open_source, open_table
from privet.data.persons import Persons
from privet.data.suspects import ZIP, suspect
from privet.data.table import csv_names, damaged, require_columns
from privet.data.text import CSV_SUFFIXES, UTF8, Place, TextFile, is_place, text_file
from privet.data.values import number, plain
from privet.errors import DataError
from privet.schema import Categorical, Continuous, Feature, Label, Moment, Schema

NOT_A_NUMBER = "not a number"
NOT_A_DATE = "not a date"
TOO_MANY_ROWS = "rows above max_rows"
FIELDS = "too many or too few fields"
QUOTES = "a quote where none may stand"
TOO_LONG = "longer than a megabyte"
DAMAGE = (OSError, EOFError, zlib.error)
FEWEST_PERSONS, MOST_ROWS = 10, 50
"""Values, and rows a value, of a column that may be one of identifiers."""

_FRACTION = re.compile(r"-?\d*\.\d+(e-?\d+)?")

MOST = 5
"""Places that are told of each kind."""

LOOKED_AT = 1 << 20
"""Rows, or a few more, that are looked at for columns of identifiers."""

AS_TEXT = Schema([Categorical("text")], Label("label", [""]))
"""Says of no column that it holds numbers: fields that are none can then be counted."""


@dataclass(frozen=True)
class Outside:
    """What a schema does not cover, exactly: for the owner's eyes only.

    Attributes
    ----------
    counts : dict of dict
        By column and kind: ``missing``, ``below``, ``above``, ``not a number``, ``unknown``; the label's or
        target's also ``rows above max_rows``. Zeros are left out.
    places : dict of dict
        Of the same the first lines of a file of text, counted from 1, or the first rows of other tables.
    wrong_lines : dict
        Of a file of text: lines that cannot be read at all, by what is wrong with them. Where there are
        any, nothing else was looked at.
    repeating : tuple of str
        Columns outside a schema without a unit whose values repeat as identifiers of persons do.
    """

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    places: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    wrong_lines: dict[str, list[int]] = field(default_factory=dict)
    in_lines: bool = False
    repeating: tuple[str, ...] = ()


def outside_counts(source: Any, schema: Schema) -> dict[str, dict[str, int]]:
    """Count, per column, the values a schema does not cover: see `Outside.counts`."""
    return find_outside(source, schema).counts


def find_outside(source: Any, schema: Schema) -> Outside:
    """Find what a schema does not cover. Exact, hence for the owner's eyes only.

    Parameters
    ----------
    source : a frame, an Arrow table, an array, or where a file lies
    schema : Schema
    """
    file = _one_text_file(source) if is_place(source) else None
    if file is not None:
        require_columns(csv_names(file), [*schema.feature_names, schema.label.name])
        wrong = wrong_lines(file)
        if wrong:
            return Outside(wrong_lines=wrong, in_lines=True)
    label = schema.label
    predicted = Categorical(label.name, label.values) if isinstance(label, Label) else label
    features: Sequence[Feature] = [*schema.features, predicted]
    counts: dict[str, dict[str, int]] = {feature.name: {} for feature in features}
    rows: dict[str, dict[str, list[int]]] = {feature.name: {} for feature in features}
    n_rows = 0
    for columns in _pieces(source, schema, [feature.name for feature in features]):
        for feature in features:
            own, first = counts[feature.name], rows[feature.name]
            for kind, has in _outside(columns[feature.name], feature).items():
                own[kind] = own.get(kind, 0) + int(has.sum())
                told = first.setdefault(kind, [])
                told += (n_rows + np.flatnonzero(has)[: MOST - len(told)]).tolist()
        n_rows += len(columns[label.name])
    if n_rows == 0:
        raise DataError("the table has no rows.", "check the file or the filter that made it.")
    numbers_of = _numbered(file, {row for of in rows.values() for first in of.values() for row in first})
    places = {
        name: {kind: [numbers_of[row] for row in first] for kind, first in of.items()}
        for name, of in rows.items()
    }
    excess = n_rows - (schema.max_rows or math.inf)
    if excess > 0:
        counts[label.name][TOO_MANY_ROWS] = int(excess)
        places[label.name][TOO_MANY_ROWS] = []
    return Outside(counts, places, in_lines=file is not None, repeating=_repeating(source, schema))


def _pieces(source: Any, schema: Schema | None, names: Sequence[str]) -> Iterator[Mapping[str, Column]]:
    """Columns of a table, some rows at a time where it is not held; fields of text as they are written."""
    if not is_place(source):
        table = open_table(source, schema or AS_TEXT)
        table.require(names)
        yield table.fetch(names)
        return
    place = open_source(source, AS_TEXT if of_text(source) else schema)
    place.require(names)
    for piece in place.read(names):
        for rows in piece():
            yield {name: rows.column(name) for name in names}
    place.check()


def _repeating(source: Any, schema: Schema) -> tuple[str, ...]:
    """Columns that may say whose a row is, where the schema does not: each value stands for a few rows."""
    if schema.unit is not None:
        return ()
    names = _others(source, schema)
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    n_rows = 0
    for columns in _pieces(source, None, names) if names else ():
        for name in list(found):
            ids = _identities(name, columns[name])
            if ids is None:
                del found[name]
            else:
                found[name].append(ids)
        n_rows += len(columns[names[0]])
        if n_rows >= LOOKED_AT or not found:
            break
    return tuple(name for name, ids in found.items() if ids and _repeats(np.concatenate(ids)))


def _others(source: Any, schema: Schema) -> list[str]:
    """Columns that a schema leaves out and that could be read."""
    known = {*schema.feature_names, schema.label.name}

    def may_tell(name: str) -> bool:
        return name not in known and suspect(name) != ZIP

    if not is_place(source):
        names = open_table(source, schema).names or ()
        return [name for name in dict.fromkeys(names) if may_tell(name)]
    place = open_source(source, AS_TEXT if of_text(source) else None)

    def is_read(name: str) -> bool:
        try:
            place.require([name])
        except DataError:
            return False
        return True

    return [name for name in dict.fromkeys(place.names) if may_tell(name) and is_read(name)]


def _identities(name: str, column: Column) -> np.ndarray | None:
    """A number for each value, 0 where there is none; None of a column that no identifiers are in."""
    kind = getattr(column, "type", None)
    if isinstance(kind, pa.DataType) and pa.types.is_nested(kind):
        return None
    some = [str(value) for value in column[:1000]] if isinstance(column, pa.ChunkedArray | np.ndarray) else []
    if sum(bool(_FRACTION.fullmatch(value)) for value in some) > len(some) // 2:
        return None
    try:
        return Persons(name, bytes(32)).identities({name: column}, len(column))[:, 0]
    except DataError:
        return None


def _repeats(identities: np.ndarray) -> bool:
    n_rows, n_persons = int((identities != 0).sum()), len(np.unique(identities[identities != 0]))
    return FEWEST_PERSONS <= n_persons < n_rows <= MOST_ROWS * n_persons


def _one_text_file(place: Place) -> TextFile | None:
    """The file of text that a place is, None if it is something else, or several."""
    path = place.place if isinstance(place, TextFile) else located(place).path
    is_text = path is not None and (isinstance(place, TextFile) or path.name.endswith(CSV_SUFFIXES))
    return text_file(place) if is_text and path is not None and path.is_file() else None


def wrong_lines(file: TextFile) -> dict[str, list[int]]:
    """Lines of a file of text that no fit could read, the first of each kind."""
    sign, n_fields = re.escape(file.separates), len(csv_names(file))
    one = rf'(?:"(?:[^"]|"")*"|[^{sign}"]*)'
    sound = re.compile(rf"{one}(?:{sign}{one})*")
    unreadable = f"not in {file.encoding.upper()}"
    found: dict[str, list[int]] = {}
    for at, line in _lines(file):
        if line is None:
            kind = unreadable
        elif len(line) >= LONGEST_LINE or len(line.encode(errors="surrogateescape")) >= LONGEST_LINE:
            kind = TOO_LONG
        elif not line.isascii() and any("\udc80" <= letter <= "\udcff" for letter in line):
            kind = unreadable
        elif not sound.fullmatch(line):
            kind = QUOTES
        elif len(_QUOTED.sub("", line).split(file.separates)) != n_fields:
            kind = FIELDS
        else:
            continue
        found.setdefault(kind, []).append(at)
    return {kind: lines[:MOST] for kind, lines in found.items()}


_QUOTED = re.compile(r'"[^"]*"')


def _lines(file: TextFile) -> Iterator[tuple[int, str | None]]:
    """Lines that hold something, by number; None for what cannot be read as letters, and then no more."""
    opened: Any = gzip.open if file.place.suffix == ".gz" else open
    at = 0
    with opened(file.place, "rb") as stream:
        encoding = "utf-8-sig" if file.encoding == UTF8 else file.encoding
        errors = "strict" if file.encoding.startswith(("utf-16", "utf-32")) else "surrogateescape"
        lines = io.TextIOWrapper(stream, encoding, errors)
        while True:
            at += 1
            try:
                line = attempt(partial(lines.readline, 4 * LONGEST_LINE), DAMAGE, damaged(file.place))
            except UnicodeError:
                yield at, None
                return
            if not line:
                return
            if line.rstrip("\n"):
                yield at, line.rstrip("\n")


def _numbered(file: TextFile | None, rows: set[int]) -> Mapping[int, int]:
    """The number that each of some rows goes by: of its line in a file of text, else its own."""
    if file is None or not rows:
        return {row: row + 1 for row in rows}
    lines = enumerate(at for at, _ in islice(_lines(file), 1, max(rows) + 2))
    return {row: at for row, at in lines if row in rows}


def _outside(column: Column, feature: Feature) -> dict[str, np.ndarray]:
    """By kind, which rows have it."""
    if isinstance(feature, Categorical):
        codes = np.empty(len(column), code_dtype(feature.n_codes))
        encode_categorical(column, feature, codes)
        missing = feature.n_codes - 2
        found = {"missing": codes == missing, "unknown": (codes == missing + 1) & (not feature.is_open)}
    else:
        values, unreadable = _as_numbers(column, feature)
        wrong = NOT_A_DATE if isinstance(feature, Moment) else NOT_A_NUMBER
        found = {"missing": np.isnan(values) & ~unreadable, wrong: unreadable}
        if not feature.is_open:
            found |= {"below": values < feature.lower, "above": values > feature.upper}
    return {kind: has for kind, has in found.items() if has.any()}


def _as_numbers(column: Column, feature: Continuous) -> tuple[np.ndarray, np.ndarray]:
    """A column as floats with NaN where there is none, and which fields were no numbers."""
    if isinstance(feature, Moment):
        return _as_moments(column, feature)
    name = feature.name
    if isinstance(column, pa.ChunkedArray) and _is_text(column.type):
        found = [_float(text) for text in column.to_pylist()]
    elif isinstance(column, np.ndarray) and column.dtype.kind == "O":
        found = [number(value) for value in column.tolist()]
    else:
        values = numbers(column, name).astype(np.float64)
        return values, np.zeros(len(values), bool)
    return np.array(found, np.float64), np.array([value is None for value in found])


def _as_moments(column: Column, feature: Moment) -> tuple[np.ndarray, np.ndarray]:
    is_text = isinstance(column, pa.ChunkedArray) and _is_text(column.type)
    if is_text or (isinstance(column, np.ndarray) and column.dtype.kind == "O"):
        listed = column.to_pylist() if is_text else map(plain, column.tolist())
        found = [feature.number(value) for value in listed]
        return np.array(found, np.float64), np.array([value is None for value in found])
    values = moments(column, feature)
    return values, np.zeros(len(values), bool)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _float(text: str | None) -> float | None:
    """The number that a fit would read, None where it would refuse the field."""
    if text is None:
        return math.nan
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
