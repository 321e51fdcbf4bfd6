"""The same made-up people in every place that rows can be read from, and what engines must agree in."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet

from privet import Budget, Categorical, Continuous, Label, Ledger, Schema, protect
from privet.privacy import Protected, Repeatable
from tests.servers.postgres import Postgres

SCHEMA = Schema(
    [
        Continuous("height", 0.0, 2.5),
        Continuous("age", 0, 120, integer=True),
        Categorical("town", ["north", "south", "west"]),
        Categorical("ward", [1, 2, 3]),
        Continuous("pulse", 0, 1),
    ],
    Label("ill", ["no", "yes"]),
)
N_ROWS = 5000


def people(n: int = N_ROWS, seed: int = 5) -> pd.DataFrame:
    """Some of them lack a value, are of an unknown town, or outside the bounds."""
    rng = np.random.default_rng(seed)
    height, pulse = rng.uniform(-0.2, 2.6, n), rng.random(n)
    ill = (height > 1.2) ^ (rng.random(n) < 0.2)
    height[rng.random(n) < 0.05] = np.nan
    town = rng.choice(np.array(["north", "south", "west", "moon", None], object), n)
    return pd.DataFrame(
        {
            "id": rng.permutation(n),
            "height": height,
            "age": rng.integers(0, 130, n),
            "town": town,
            "ward": rng.integers(1, 4, n),
            "pulse": pulse,
            "patient": rng.integers(0, n // 3, n),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def write_parquet(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "people.parquet"
    pa_parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=700)
    return path


def write_arrow(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "people.arrow"
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa_feather.write_feather(table, path, compression="uncompressed", chunksize=900)
    return path


def write_csv(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "people.csv"
    pa_csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def write_folder(frame: pd.DataFrame, folder: Path) -> str:
    parts = folder / "parts"
    parts.mkdir()
    for i in range(4):
        part = pa.Table.from_pandas(frame[i * len(frame) // 4 : (i + 1) * len(frame) // 4])
        pa_parquet.write_table(part, parts / f"part-{i}.parquet")
    return str(parts / "*.parquet")


def write_duckdb(frame: pd.DataFrame, folder: Path) -> str:
    path = folder / "people.db"
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE TABLE people AS SELECT * FROM frame")
    return f"duckdb:///{path}?table=people"


def write_postgres(frame: pd.DataFrame, server: Postgres) -> str:
    """A table of its own: one that somebody still reads could not be replaced."""
    table = f"people{next(_numbers)}"
    server.write(frame, table)
    return server.address(table=table)


_numbers = itertools.count()


PLACES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "Parquet": write_parquet,
    "Arrow": write_arrow,
    "CSV": write_csv,
    "folder": write_folder,
    "DuckDB": write_duckdb,
}


def protected(source: Any, schema: Schema = SCHEMA, **more: Any) -> Protected:
    """Rows of a place behind a wall whose noise is the same each time."""
    account = Ledger().create("people", Budget(1000, "1e-6"))
    return protect(source, schema, account, mechanisms=Repeatable(7), **more)


def digest(model: Any) -> str:
    """Of all that a model holds."""
    found = hashlib.sha256()
    for name, array in sorted(model.to_file()[1].items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
