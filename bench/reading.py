"""Rows a second that a question reads and encodes, beside what a place takes to hand them out or to count."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from bench import made_places
from bench.clock import seconds
from bench.engines import password
from bench.report import Result, cores
from privet.engines import Batch, open_engine
from tests.servers.postgres import started

ROWS, QUICK_ROWS, REPEATS = 1_000_000, 20_000, 3
COLUMN = made_places.WIDTH + made_places.CATEGORIES - 1
"""The last of the categories."""

ASKED = {"all columns": None, "labels": (), "one column": (COLUMN,)}


@dataclass(frozen=True)
class Counted:
    """Rows by label, of batches that hold some columns."""

    columns: tuple[int, ...] | None

    def __call__(self, batch: Batch) -> np.ndarray:
        """A tally."""
        codes = batch.features[COLUMN] if self.columns else batch.labels
        return np.bincount(codes, minlength=64)


def run(quick: bool) -> Result:
    n = QUICK_ROWS if quick else ROWS
    rows = []
    with tempfile.TemporaryDirectory() as folder, started() as server, password():
        parquet = made_places.write_parquet(n, Path(folder, "rows.parquet"))
        csv = Path(folder, "rows.csv")
        pa_csv.write_csv(pa_parquet.read_table(parquet), csv)
        places = {
            "parquet": (str(parquet), _of_parquet),
            "csv": (str(csv), _of_csv),
            "duckdb": (made_places.write_duckdb(parquet, Path(folder, "rows.db")), _of_duckdb),
            "postgresql": (made_places.write_postgres(parquet, server, "rows"), _of_postgres),
        }
        for place, (address, theirs) in places.items():
            for asked, columns in ASKED.items():
                rows.append(_row(n, place, asked, partial(_ask, address, columns), theirs(address, asked)))
    notes = [
        f"{n:,} rows of 16 floats, 4 texts and a label; best of {REPEATS}, {cores()} cores. ours: read, "
        "encoded and counted by label or by the last category. place: its own reader hands out all columns, "
        "of files by pyarrow; labels and one column are counted where they lie, databases by GROUP BY.",
        "x = how many times as long as the place ours takes.",
    ]
    return Result("reading, seconds and rows a second", rows, notes)


def _row(n: int, place: str, asked: str, ours: Callable[[], object], theirs: Callable[[], object]) -> dict:
    own, other = min(seconds(ours, REPEATS)), min(seconds(theirs, REPEATS))
    told = {"ours, s": own, "rows/s": int(n / own), "place, s": other, "place rows/s": int(n / other)}
    return {"place": place, "asked": asked, **told, "x": own / other}


def _ask(address: str, columns: tuple[int, ...] | None) -> np.ndarray:
    return open_engine(address, made_places.schema()).sum(Counted(columns))


def _name(asked: str) -> str:
    return "y" if asked == "labels" else f"c{made_places.CATEGORIES - 1}"


def _of_parquet(address: str, asked: str) -> Callable[[], object]:
    if asked == "all columns":
        return lambda: [len(batch) for batch in pa_parquet.ParquetFile(address).iter_batches(1 << 17)]
    return lambda: pa_parquet.read_table(address, columns=[_name(asked)])[_name(asked)].value_counts()


def _of_csv(address: str, asked: str) -> Callable[[], object]:
    if asked == "all columns":
        return lambda: [len(batch) for batch in pa_csv.open_csv(address)]
    only = pa_csv.ConvertOptions(include_columns=[_name(asked)])
    return lambda: pa_csv.read_csv(address, convert_options=only)[_name(asked)].value_counts()


def _sql(asked: str) -> str:
    if asked == "all columns":
        columns = ", ".join([*made_places.schema().feature_names, "y"])
        return f"SELECT {columns} FROM rows"
    return f"SELECT {_name(asked)}, count(*) FROM rows GROUP BY 1"


def _of_duckdb(address: str, asked: str) -> Callable[[], object]:
    import duckdb

    def read() -> list[int]:
        with duckdb.connect(address.removeprefix("duckdb:///").split("?")[0], read_only=True) as opened:
            return [len(batch) for batch in opened.sql(_sql(asked)).to_arrow_reader(1 << 17)]

    return read


def _of_postgres(address: str, asked: str) -> Callable[[], object]:
    import adbc_driver_postgresql.dbapi as driver

    def read() -> list[int]:
        with driver.connect(address.replace("&table=rows", "")) as opened, opened.cursor() as cursor:
            cursor.execute(_sql(asked))
            return [len(batch) for batch in cursor.fetch_record_batch()]

    return read
