"""Whole fits from every place that rows can be read from, and rivals, at sizes that grow tenfold."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench import made_places
from bench.report import RESULTS, Result, cores
from bench.runner import ask_fresh, ask_rivals
from privet.data import encode, open_table
from tests.servers.postgres import PASSWORD, started

LEARNERS = ("majority-forest", "count-forest", "boosting")
OTHERS = ("greedy-forest", "greedy-tree", "counting-tree")
"""From memory and from Parquet alone."""

NAMES = ("ExtraTrees", "HistGradientBoosting", "LightGBM", "diffprivlib", "DP-EBM")
LARGEST_POSTGRES = 1_000_000
SIZES, QUICK_SIZES = (100_000, 1_000_000), (2_000, 20_000)
LARGE, QUICK_LARGE = 10_000_000, 200_000


def run(quick: bool) -> Result:
    rows = _all(QUICK_SIZES if quick else SIZES)
    return Result("fits wherever rows lie", [_grown(row, rows) for row in rows], _notes())


def run_large(quick: bool) -> Result:
    rows = _all([QUICK_LARGE if quick else LARGE])
    kept = RESULTS / "engines.json"
    before = json.loads(kept.read_text())["rows"] if kept.exists() else []
    return Result("large fits wherever rows lie", [_grown(row, before) for row in rows], _notes())


def run_rivals(quick: bool) -> Result:
    rows: list[dict] = []
    with _folder() as folder:
        for n in QUICK_SIZES if quick else SIZES:
            rows += _rivals(n, made_places.write_parquet(n, folder / f"{n}.parquet"))
    notes = [
        f"Codes of the same rows in memory, their reading is not timed; {cores()} cores. ExtraTrees: 100 "
        "trees of depth 12; the others at their defaults, DP-EBM with a δ. Columns as for ours."
    ]
    rows = [_grown(row, rows) for row in rows]
    kept = [{name: row[name] for name in ("fit", "rows", "s", "busy", "MB", "grown")} for row in rows]
    return Result("rivals on the same rows in memory", kept, notes)


def _all(sizes: Sequence[int]) -> list[dict]:
    rows: list[dict] = []
    with _folder() as folder:
        for n in sizes:
            path = made_places.write_parquet(n, folder / f"{n}.parquet")
            rows += _ours(n, path, folder)
            for made in folder.iterdir():
                made.unlink()
    return rows


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="places-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _ours(n: int, path: Path, folder: Path) -> list[dict]:
    places = {"memory": str(path), "parquet": str(path)}
    rows = [row for learner in OTHERS for row in _fits(learner, n, places)]
    places["duckdb"] = made_places.write_duckdb(path, folder / f"{n}.db")
    rows += [row for learner in LEARNERS for row in _fits(learner, n, places)]
    if n <= LARGEST_POSTGRES:
        with started() as server, password():
            places = {"memory": str(path), "postgresql": made_places.write_postgres(path, server, "rows")}
            rows += [row for learner in LEARNERS for row in _fits(learner, n, places)[1:]]
    return rows


@contextmanager
def password() -> Iterator[None]:
    """The server's, in the environment."""
    os.environ["PGPASSWORD"] = PASSWORD
    try:
        yield
    finally:
        del os.environ["PGPASSWORD"]


def _fits(learner: str, n: int, places: dict[str, str]) -> list[dict]:
    rows: list[dict] = []
    for engine, table in places.items():
        found = ask_fresh("bench.engines_job", {"learner": learner, "engine": engine, "table": table}, {})
        rows.append({"fit": learner.removesuffix("-forest"), "place": engine, "rows": n, **_told(found)})
        memory = rows[0]
        if found["model"] != memory.setdefault("model", found["model"]):
            raise AssertionError(f"{learner} is another model from {engine} than from memory")
        rows[-1] |= {
            "x": rows[-1]["busy"] / memory["busy"],
            "later": _ratio(rows[-1]["passes"], memory["passes"]),
        }
    return [{name: value for name, value in row.items() if name != "model"} for row in rows]


def _told(found: dict) -> dict:
    later = sum(busy for _, busy in found["passes"][1:])
    return {
        "s": found["seconds"],
        "busy": found["busy"],
        "passes": later if len(found["passes"]) > 1 else None,
        "MB": found["peak_mb"],
    }


def _ratio(own: float | None, other: float | None) -> float | None:
    return own / other if own and other else None


def _rivals(n: int, path: Path) -> list[dict]:
    schema = made_places.schema()
    codes = encode(open_table(path, schema), schema)
    arrays = {"X": codes.features.T.astype(np.float32), "y": codes.labels.astype(np.int64)}
    upper = [int(feature.n_codes) for feature in schema.features]
    rows = []
    for name in NAMES:
        found = ask_rivals("fit_one", {"rival": name, "upper": upper}, arrays)
        told = {"s": found["seconds"], "busy": found["busy"], "passes": None, "MB": found["peak_mb"]}
        rows.append({"fit": name, "place": "codes", "rows": n, **told, "x": None, "later": None})
    return rows


def _grown(row: dict, rows: list[dict]) -> dict:
    """A row, and how many times as long as with a tenth of the rows it took."""
    tenth = [
        other
        for other in rows
        if (other["fit"], other["place"]) == (row["fit"], row["place"]) and other["rows"] * 10 == row["rows"]
    ]
    grown = row["busy"] / tenth[0]["busy"] if tenth else None
    shown = {name: row[name] for name in ("fit", "place", "rows", "s", "busy", "MB", "x", "later")}
    return {**shown, "grown": grown}


def _notes() -> list[str]:
    return [
        f"16 floats, 4 texts and a label; {cores()} cores; each fit once, in a process of its own, from a "
        "cache that is warm. s: with reading the file or table; busy: processor seconds of our "
        "process, not of a database's. MB: highest resident memory, about 350 of them imports.",
        "memory: the file is read whole first. x: busy beside memory's. later: of all passes but the "
        "first. The models are the same, bit for bit, under the same noise. grown: busy beside those of a "
        "tenth of the rows.",
    ]
