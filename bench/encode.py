"""Tables to codes: rows a second, beside what reading or a plain numpy expression takes."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from bench import made
from bench.clock import seconds
from bench.report import Result
from privet import Categorical, Continuous, Label, Schema
from privet.data import encode, open_table
from privet.schema import MAX_CELLS

KINDS = [f"kind {k}" for k in range(12)]


def run(quick: bool) -> Result:
    n_rows, repeats = (100_000, 3) if quick else (1_000_000, 5)
    numbers, labels = made.rows(n_rows)
    rows = [_row("numpy, 20 floats", n_rows, repeats, *_array(numbers, labels))]
    with tempfile.TemporaryDirectory() as folder:
        table, schema = _mixed(numbers, labels)
        csv, parquet = Path(folder, "mixed.csv"), Path(folder, "mixed.parquet")
        pa_csv.write_csv(table, csv)
        pa_parquet.write_table(table, parquet)
        for path, read in ((csv, pa_csv.read_csv), (parquet, pa_parquet.read_table)):
            what = f"{path.suffix[1:]}, 10 floats, 10 texts"
            ours = _encode_file(path, schema)
            rows.append(_row(what, n_rows, repeats, ours, lambda path=path, read=read: read(path)))
    notes = [
        f"{n_rows:,} rows, best of {repeats}. Beside numpy input: the same cells by a plain numpy "
        "expression, features first. Beside files: pyarrow reading the file and no more.",
        "x = how many times as long as ours the other takes.",
    ]
    return Result("encode, rows a second", rows, notes)


def _array(numbers, labels):
    schema = made.schema()

    def plain():
        cells = np.clip(np.floor(numbers.T * MAX_CELLS), 0, MAX_CELLS - 1)
        return cells.astype(np.uint16, order="C")

    table = open_table(numbers, schema)
    assert (encode(table, schema, labels).features == plain()).all()
    return lambda: encode(table, schema, labels), plain


def _mixed(numbers, labels):
    """Ten columns of numbers, ten of texts, one in twenty of all missing."""
    random = np.random.default_rng(1)
    columns, features = {}, []
    for j in range(10):
        gaps = random.random(len(numbers)) < 0.05
        kinds = random.integers(len(KINDS), size=len(numbers)).astype(np.int32)
        columns[f"x{j}"] = pa.array(numbers[:, j].round(6), mask=gaps)
        columns[f"k{j}"] = pa.DictionaryArray.from_arrays(pa.array(kinds, mask=gaps), KINDS).cast(pa.string())
        features += [Continuous(f"x{j}", 0, 1), Categorical(f"k{j}", KINDS)]
    return pa.table({**columns, "y": labels}), Schema(features, Label("y", [0, 1]))


def _encode_file(path, schema):
    return lambda: encode(open_table(path, schema), schema)


def _row(what, n_rows, repeats, ours, other):
    ours(), other()
    ours_s, other_s = min(seconds(ours, repeats)), min(seconds(other, repeats))
    return {
        "input": what,
        "rows/s": n_rows / ours_s,
        "seconds": ours_s,
        "other seconds": other_s,
        "x": other_s / ours_s,
    }
