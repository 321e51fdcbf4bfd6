"""Files of rows: Parquet, Arrow and CSV, one or several of one kind.

Every file is read by its own schema: of a folder read as one table, a file that lacks a column would be rows
that lack a value, without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from privet.data.discreet import attempt
from privet.data.sources.source import Piece
from privet.data.table import csv_batches, csv_names, csv_types, damaged, require_columns
from privet.data.text import CSV_SUFFIXES, Place, TextFile, place_path, text_file
from privet.errors import DataError, SourceError
from privet.schema import Schema

ARROW_SUFFIXES = (".arrow", ".feather")
SUFFIXES = (".parquet", *ARROW_SUFFIXES, *CSV_SUFFIXES)
ROWS = 1 << 17
"""Rows of a table at most; of text, the least that are worth another thread."""

PIECES = 1 << 10
"""Of a file of Arrow at most: each opens it anew."""

MAGIC = b"ARROW1"
"""How files of Arrow begin that are no streams."""

FAULTS = (pa.ArrowException, OSError)


class FileSource:
    """Rows of files of one kind, in the order of their names.

    Parameters
    ----------
    paths : sequence of paths
    schema : Schema
        Says which columns of text are numbers.
    written : TextFile, optional
        How files of text are written, where their names do not say it.
    """

    ordered = True

    def __init__(self, paths: Sequence[Path], schema: Schema | None, written: TextFile | None = None) -> None:
        self._written = written
        kinds = {_suffix(path) if written is None else CSV_SUFFIXES[0] for path in paths}
        if len(kinds) != 1:
            raise DataError("these files are of several kinds.", "name files of one kind.")
        self._suffix = kinds.pop()
        self._paths = tuple(paths)
        self._schema = schema
        self._seen = [file_state(path) for path in self._paths]
        self._kept_names = [self._own_names(path) for path in self._paths]
        self.names: Sequence[str] = self._kept_names[0]

    def declared(self) -> pa.Schema:
        """See `Source.declared`; those of the first file, and none of a file of text."""
        if self._suffix in CSV_SUFFIXES:
            return pa.schema([(name, pa.null()) for name in self.names])
        return self._declared(self._paths[0])

    def require(self, columns: Sequence[str]) -> None:
        """Refuse files of which one lacks a column, or has it in another type than the first."""
        first: dict[str, Any] = {}
        for path, names in zip(self._paths, self._kept_names, strict=True):
            require_columns(names, columns)
            kinds = None if self._suffix in CSV_SUFFIXES else self._declared(path)
            for name in columns:
                kind = None if kinds is None else kinds.field(name).type
                if first.setdefault(name, kind) != kind:
                    raise DataError(
                        f"column {name!r} of {path.name!r} has another type than in other files.",
                        "write all files with the same types.",
                        column=name,
                    )

    def read(self, columns: Sequence[str]) -> Iterator[Piece]:
        """See `Source.read`."""
        self.check()
        read = {".parquet": self._parquet, **dict.fromkeys(ARROW_SUFFIXES, self._arrow)}
        for path in self._paths:
            pieces = partial(read.get(self._suffix, self._csv), path, columns)
            yield from (partial(self._guarded, piece) for piece in self._guarded(pieces))

    def check(self) -> None:
        """See `Source.check`."""
        for path, seen in zip(self._paths, self._seen, strict=True):
            if file_state(path) != seen:
                raise SourceError(
                    f"{path.name!r} was written to or replaced while it was read.",
                    "fit again when nobody writes; what this cost stays spent.",
                )

    def _guarded(self, make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        """Some items; where they end in an error because a file has changed, that is what is said."""
        try:
            yield from make()
        except DataError:
            self.check()
            raise

    def _own_names(self, path: Path) -> list[str]:
        if self._suffix in CSV_SUFFIXES:
            return csv_names(self._text(path))
        return list(self._declared(path).names)

    def _declared(self, path: Path) -> pa.Schema:
        read = pa_parquet.read_schema if self._suffix == ".parquet" else _arrow_schema
        return attempt(partial(read, path), FAULTS, damaged(path))

    def _parquet(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        file = attempt(partial(pa_parquet.ParquetFile, path), FAULTS, damaged(path))
        with file:
            kinds = file.schema_arrow
            # Text stays the numbers that the file has for it, and what they stand for.
            coded = [name for name in columns if _is_text(kinds.field(name).type)]
            footer = file.metadata  # that of many groups is long: it is read once
        for groups in _together([footer.row_group(i).num_rows for i in range(footer.num_row_groups)]):
            yield partial(self._groups, path, footer, coded, groups, columns)

    def _groups(
        self, path: Path, footer: Any, coded: Sequence[str], groups: Sequence[int], columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Rows of some groups, read as they are asked for: a group may be all of a file."""
        how = {"read_dictionary": list(coded), "buffer_size": 1 << 20, "metadata": footer}
        with attempt(partial(pa_parquet.ParquetFile, path, **how), FAULTS, damaged(path)) as file:
            batches = partial(file.iter_batches, ROWS, list(groups), columns=list(columns), use_threads=False)
            yield from self._tables(path, attempt(batches, FAULTS, damaged(path)))

    def _arrow(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        if attempt(partial(_is_stream, path), FAULTS, damaged(path)):
            batches = self._streamed(path, columns)
            yield from gathered(batches)
            return

        def piece(numbers: range) -> Iterator[pa.Table]:
            with attempt(partial(_open_arrow, path), FAULTS, damaged(path)) as file:
                batches = (file.get_batch(number).select(list(columns)) for number in numbers)
                yield from self._tables(path, batches)

        with attempt(partial(_open_arrow, path), FAULTS, damaged(path)) as file:
            n_batches = file.num_record_batches
        some = -(-n_batches // PIECES)  # of many batches, each of few rows
        for first in range(0, n_batches, some or 1):
            yield partial(piece, range(first, min(first + some, n_batches)))

    def _streamed(self, path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Batches that can only be read one after the other."""
        with attempt(partial(pa.memory_map, str(path)), FAULTS, damaged(path)) as mapped:
            stream = attempt(partial(pa.ipc.open_stream, mapped), FAULTS, damaged(path))
            yield from (batch.select(list(columns)) for batch in self._each(path, stream))

    def _csv(self, path: Path, columns: Sequence[str]) -> Iterator[Piece]:
        assert self._schema is not None
        batches = csv_batches(self._text(path), csv_types(columns, self._schema), damaged(path))
        yield from gathered(batches)

    def _text(self, path: Path) -> TextFile:
        return text_file(path) if self._written is None else self._written.at(path)

    def _tables(self, path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        for piece in gathered(self._each(path, batches)):
            yield from piece()

    def _each(self, path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        while (batch := attempt(partial(next, batches, None), FAULTS, damaged(path))) is not None:
            yield batch


def _together(sizes: Sequence[int]) -> Iterator[range]:
    """Groups one after the other, as many at a time as are worth another thread."""
    first, held = 0, 0
    for i, size in enumerate(sizes):
        held += size
        if held >= ROWS:
            yield range(first, i + 1)
            first, held = i + 1, 0
    if first < len(sizes):
        yield range(first, len(sizes))


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[Piece]:
    """Batches that come one after the other, as pieces that are worth another thread."""
    held: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in batches:
        held.append(batch)
        n_rows += len(batch)
        if n_rows >= ROWS:
            yield partial(_as_tables, held)
            held, n_rows = [], 0
    if held:
        yield partial(_as_tables, held)


def table_files(place: Place) -> list[Path]:
    """Files that a path means: itself, all tables in a folder, or those whose paths have a pattern."""
    path = place_path(place)
    if path.is_dir():
        found = [each for each in path.iterdir() if each.name.endswith(SUFFIXES) and each.name[0] not in "._"]
    elif is_pattern(path):
        above = _there(path)
        found = list(above.glob(str(path.relative_to(above))))
    else:
        found = [path]
    files = sorted(islice(found, 1 << 20))
    if not files:
        raise DataError(f"there is no table in {str(path)!r}.", f"name files that end in {_listed()}.")
    for file in files:
        if not file.is_file():
            raise DataError(f"there is no file {str(file)!r}.", "check the path.")
        if not isinstance(place, TextFile) and not file.name.endswith(SUFFIXES):
            raise DataError(f"{file.name!r} is neither CSV nor Parquet nor Arrow.", f"use {_listed()}.")
    return files


def is_pattern(path: Path) -> bool:
    """Whether a path stands for all those that are like it: nothing is there under its own name."""
    return not path.exists() and any(sign in str(path.relative_to(_there(path))) for sign in "*?[")


def _there(path: Path) -> Path:
    """The nearest folder above that there is."""
    return next((each for each in path.parents if each.is_dir()), path)


def _listed() -> str:
    return f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def _suffix(path: Path) -> str:
    return next(suffix for suffix in SUFFIXES if path.name.endswith(suffix))


def file_state(path: Path) -> tuple[int, ...] | None:
    """What changes where a file is written to or replaced; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _as_tables(batches: Sequence[pa.RecordBatch]) -> Iterable[pa.Table]:
    return [pa.Table.from_batches(batches)]


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _open_arrow(path: Path) -> Any:
    return pa.ipc.open_file(pa.memory_map(str(path)))


def _arrow_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as mapped:
        opened = pa.ipc.open_stream if _is_stream(path) else pa.ipc.open_file
        return opened(mapped).schema


def _is_stream(path: Path) -> bool:
    """Whether a file of Arrow was written as a stream, as some programs do."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) != MAGIC
