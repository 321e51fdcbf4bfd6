"""Made-up tables of any size, in every place that rows can be read from: sixteen numbers, four categories."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from privet import Categorical, Continuous, Label, Schema

WIDTH, CATEGORIES = 16, 4
TOWNS = [f"town {i:02d}" for i in range(30)]
PIECE = 1 << 18


def schema() -> Schema:
    """Their public contract."""
    numbers = [Continuous(f"x{j}", 0, 1) for j in range(WIDTH)]
    categories = [Categorical(f"c{j}", TOWNS[: 3 * (j + 1)]) for j in range(CATEGORIES)]
    return Schema([*numbers, *categories], Label("y", ["no", "yes"]))


def pieces(n: int) -> Iterator[pa.Table]:
    """Some rows at a time: whoever makes them needs little memory."""
    for first in range(0, n, PIECE):
        random = np.random.default_rng(first)
        size = min(PIECE, n - first)
        numbers = random.random((WIDTH, size))
        categories = [random.integers(0, 3 * (j + 1), size) for j in range(CATEGORIES)]
        yes = (numbers[:4].sum(axis=0) + 0.2 * (categories[0] == 1) > 2) ^ (random.random(size) < 0.1)
        numbers[0, random.random(size) < 0.01] = np.nan
        columns = {f"x{j}": numbers[j] for j in range(WIDTH)}
        texts = pa.array(TOWNS)
        columns |= {f"c{j}": texts.take(pa.array(codes)) for j, codes in enumerate(categories)}
        yield pa.table({"id": np.arange(first, first + size), **columns, "y": np.where(yes, "yes", "no")})


def write_parquet(n: int, path: Path) -> Path:
    """Write them to a file."""
    writer = None
    for table in pieces(n):
        writer = writer or pa_parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return path


def write_duckdb(parquet: Path, path: Path) -> str:
    """Copy a file into a table."""
    import duckdb

    with duckdb.connect(str(path)) as opened:
        opened.execute("SET preserve_insertion_order = true")
        opened.execute(f"CREATE TABLE rows AS SELECT * FROM '{parquet}'")
    return f"duckdb:///{path}?table=rows"


def write_postgres(parquet: Path, server, name: str) -> str:
    """Copy a file into a table, some rows at a time."""
    import adbc_driver_postgresql.dbapi as driver

    reader = pa_parquet.ParquetFile(parquet).iter_batches(PIECE)
    with driver.connect(server.address()) as connection, connection.cursor() as cursor:
        for number, batch in enumerate(reader):
            cursor.adbc_ingest(name, pa.Table.from_batches([batch]), mode="append" if number else "create")
        connection.commit()
    return server.address(table=name)
