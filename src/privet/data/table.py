"""Open a table without reading its rows: names first, columns when they are asked for."""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from privet.data.columns import Column, array_column, as_frame, held, object_rows, series_column
from privet.data.discreet import attempt
from privet.data.lines import LONGEST_LINE, CheckedLines
from privet.data.text import (
    CSV_SUFFIXES,
    UTF8,
    Place,
    TextFile,
    likely_separator,
    place_path,
    spelt_otherwise,
)
from privet.errors import DataError, PrivetError
from privet.schema import Continuous, Moment, Schema


@dataclass(frozen=True)
class Table:
    """Column names and a way to fetch columns; no row has been read yet.

    ``names`` is None for an array, whose columns stand in the order of the schema. ``block`` is the
    whole array where all of it is numbers, so that it can be encoded in one pass.
    """

    names: Sequence[str] | None
    fetch: Callable[[Sequence[str]], Mapping[str, Column]]
    block: np.ndarray | None = None

    def require(self, names: Sequence[str]) -> None:
        """Refuse a table that lacks a column."""
        if self.names is not None:
            require_columns(self.names, names)


def require_columns(found: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a table that lacks a column, or has it twice."""
    times = Counter(found)
    missing = [name for name in names if not times[name]]
    if missing:
        near = separated_otherwise(found) or spelt_otherwise(missing[0], set(found) - set(names))
        raise DataError(
            f"column {missing[0]!r} is missing"
            + (f" (and {len(missing) - 1} more)." if missing[1:] else "."),
            near or "add it to the table, or take it out of the schema.",
            column=missing[0],
        )
    twice = [name for name in names if times[name] > 1]
    if twice:
        raise DataError(f"column {twice[0]!r} stands there twice.", "rename one of them.", column=twice[0])


def separated_otherwise(names: Sequence[str]) -> str:
    """What to do where a first line seems to have another separator: names of columns are public."""
    sign = likely_separator(list(names))
    told = f"its fields seem to be separated by {sign!r}: TextFile(path, separator={sign!r}), or --separator."
    return told if sign else ""


def open_held(source: Any, schema: Schema) -> Table:
    """Open what is held in memory: a frame, an Arrow table, an array, a list of rows."""
    if isinstance(source, list | tuple):
        return _open_array(object_rows(source), schema)
    if isinstance(source, np.ndarray):
        return _open_array(array_column(source), schema)
    source = held(source)
    no_table = DataError(
        f"cannot read a table from {type(source).__name__}.",
        "give a pandas or polars frame, an Arrow table, a numpy array, or where a table lies.",
    )
    if hasattr(source, "collect"):
        raise DataError("a lazy frame holds no rows yet.", "give what its collect() returns.")
    frame = as_frame(source, allow_series=True)
    if frame is None:
        raise no_table
    if not isinstance(frame, nw.DataFrame):
        raise DataError("a single column is not a table.", "give a frame with one column a feature.")

    called = {str(name): name for name in frame.columns}  # pandas has numbers for names as well

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        return {name: series_column(frame.get_column(called[name])) for name in names}

    return Table([str(name) for name in frame.columns], fetch)


def _open_array(array: np.ndarray, schema: Schema) -> Table:
    width = len(schema.features)
    if array.ndim != 2 or array.shape[1] != width:
        raise DataError(
            f"the array has shape with {array.shape[1] if array.ndim == 2 else 'no'} columns, "
            f"the schema has {width} features.",
            "give one column a feature, in the order of the schema.",
        )
    position = {name: i for i, name in enumerate(schema.feature_names)}

    def fetch(names: Sequence[str]) -> Mapping[str, Column]:
        return {name: array[:, position[name]] for name in names}

    return Table(None, fetch, array if is_plain(array) else None)


def is_plain(array: np.ndarray) -> bool:
    """Whether an array holds numbers of a type that compiled loops read."""
    return (
        array.dtype.isnative and array.dtype.kind in "fiu" and array.dtype not in (np.float16, np.longdouble)
    )


def require_table_file(place: Place) -> None:
    """Refuse a path that is not a CSV or Parquet file by its name, where nobody says that it is text."""
    path = place_path(place)
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder.", "give one .csv, .tsv, .csv.gz or .parquet file.")
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}.", "check the path.")
    if not isinstance(place, TextFile) and path.suffix != ".parquet" and not path.name.endswith(CSV_SUFFIXES):
        raise DataError(
            f"{path.name!r} is neither CSV nor Parquet.",
            "use .csv, .tsv, .csv.gz or .parquet, or say what separates its fields: TextFile, --separator.",
        )


def csv_names(file: TextFile) -> list[str]:
    """Names in the first line of a CSV file; no other line is read, whatever quotes stand in it."""
    path = file.place
    no_names = DataError(
        f"{path.name!r} is empty, damaged, or its first line is not in {file.encoding.upper()}.",
        "name the columns in the first line; files of older programs are often in latin-1 or utf-16: "
        "TextFile(path, encoding='latin-1'), or --encoding latin-1.",
    )
    encoding = "utf-8-sig" if file.encoding == UTF8 else file.encoding

    def read() -> list[str]:
        return next(filter(None, csv.reader([_first_line(path, encoding)], delimiter=file.separates)))

    faults = (UnicodeError, OSError, EOFError, zlib.error, StopIteration, csv.Error)
    names: list[str] = attempt(read, faults, no_names)
    return names


def _first_line(path: Path, encoding: str) -> str:
    """The first line, byte by byte: how others are written must not decide whether it is read."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), ""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        for _ in range(LONGEST_LINE):
            byte = stream.read(1)
            line += decoder.decode(byte, not byte)
            if not byte or line[-1:] in ("\n", "\r"):
                break
    return line


def csv_types(names: Sequence[str], schema: Schema) -> Mapping[str, pa.DataType]:
    """As what columns of a file of text are read: numbers by themselves, all else as it is written."""
    columns = (*schema.features, schema.label)
    numbers = {f.name for f in columns if isinstance(f, Continuous) and not isinstance(f, Moment)}
    return {name: pa.float64() if name in numbers else pa.string() for name in names}


def csv_batches(
    file: TextFile, types: Mapping[str, pa.DataType], broken: PrivetError
) -> Iterator[pa.RecordBatch]:
    """Columns of a CSV file, some rows at a time; ``broken`` is raised where it cannot be read on."""
    options = pa_csv.ConvertOptions(
        column_types=dict(types), include_columns=list(types), null_values=[""], strings_can_be_null=True
    )

    path = file.place
    unfit = DataError(
        f"{path.name!r} could not be read: a field that the schema calls continuous is not a number, a line "
        "has too many or too few fields or is too long, a quote or a new line stands where none may, or "
        f"something is not in {file.encoding.upper()}.",
        "its owner sees what and where by `privet schema check`.",
    )

    def attempted(call: Callable[[], Any]) -> Any:
        # Arrow's messages quote the cell that it could not convert.
        return attempt(lambda: attempt(call, (pa.ArrowInvalid,), unfit), (pa.ArrowException, OSError), broken)

    with attempted(partial(pa.input_stream, path, compression="detect")) as stream:
        lines = CheckedLines(stream, file.separates, file.encoding)
        form = {
            "read_options": pa_csv.ReadOptions(block_size=LONGEST_LINE),
            "parse_options": pa_csv.ParseOptions(delimiter=file.separates),
            "convert_options": options,
        }
        batches = attempted(partial(pa_csv.open_csv, lines, **form))
        while (batch := attempted(partial(next, batches, None))) is not None:
            yield batch
        if not lines.sound:
            raise unfit


def damaged(path: Path) -> DataError:
    """Return the error of a file that cannot be read to its end."""
    return DataError(f"{path.name!r} is damaged, or cannot be read.", "write it again, or check its rights.")


def wrong_type(name: str, wanted: str, column: Column = None) -> DataError:
    """Return the error of a column that is not what the schema says, for all that its declared type tells."""
    hint = "convert the column, or change its type in the schema."
    return DataError(f"column {name!r} does not hold {wanted}.", _instead(column) or hint, column=name)


def _instead(column: Column) -> str:
    """What to do with dates and spans of time where a number is wanted; nothing of other types."""
    kind = getattr(column, "type", pa.null())
    if isinstance(column, np.ndarray):
        kind = {"M": pa.date32(), "m": pa.duration("s")}.get(column.dtype.kind, pa.null())
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "say Date or DateTime of it in the schema."
    if pa.types.is_duration(kind):
        return "make numbers of its spans of time, say, of days: column.dt.total_seconds() / 86_400."
    return ""
