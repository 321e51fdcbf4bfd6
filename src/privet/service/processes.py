"""Processes that are shut in: of jobs, of copies of tables, of models that somebody brought."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, NamedTuple

from privet.errors import DataError, ModelFileError, SourceError
from privet.model.file import MAGIC
from privet.schema import Schema
from privet.service import fresh
from privet.service.house import House
from privet.service.refusals import TooSoon
from privet.service.results import TASK, read_result
from privet.service.sandbox import command, environment

COPY_SECONDS, LOOK_SECONDS, MEASURE_SECONDS = 24 * 3600, 60, 600

LOOKS = BoundedSemaphore(2)
"""Models that are looked at at a time: whoever brings many must not slow down jobs, whose times are shown."""
PATIENCE = 20.0


def start(
    house: House, folder: Path, task: Mapping[str, Any], readable: Sequence[Path], network: bool = False
) -> Any:
    """Start the process of a task in its folder; it ends when its standard input does."""
    (folder / TASK).write_text(json.dumps(task))
    hidden = [house.private, house.jobs, house.uploads, *([] if readable else [house.tables])]
    walled = command(readable, folder, hidden, network)
    return subprocess.Popen(
        [*walled, sys.executable, "-m", "privet.service.worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(folder, network),
        cwd=folder,
        start_new_session=True,
    )


def checked_copy(
    house: House,
    source: str,
    readable: Sequence[Path],
    network: bool,
    schema: Schema,
    target: Path,
) -> int:
    """Copy a table; the exact number of rows, for its owner alone. A misfit is a `DataError`."""
    with _folder(house, "copy") as folder:
        made = folder / "copy.parquet"
        task = {"kind": "copy", "source": source, "schema": schema.to_dict(), "target": str(made)}
        told = _told(house, folder, task, readable, COPY_SECONDS, network)
        if told is None or told["state"] == "failed":
            raise SourceError("the table could not be copied.", "see that there is room, and try again.")
        if told["state"] == "misfit":
            raise DataError(told["message"], told["hint"])
        made.replace(target)
        return int(told["rows"])


def looked_at(house: House, model: bytes) -> dict[str, Any]:
    """Card, schema and description of a model file that anybody may have written."""
    if not model.startswith(MAGIC):
        raise ModelFileError("this is no model of privet.", "give a file written by fit.")
    with _looking(), _folder(house, "look") as folder:
        (folder / "model.privet").write_bytes(model)
        told = _told(house, folder, {"kind": "look"}, [], LOOK_SECONDS)
        if told is None or told["state"] != "sound":
            why = "" if told is None else str(told.get("message", ""))
            raise ModelFileError(why or "this is no model that can be read.", "give a file written by fit.")
        return told


class Measured(NamedTuple):
    """Seconds that a process took, those of its fit alone, and the units of work of a row."""

    process: float
    fit: float
    units: float


def run_measure(house: House, n_rows: int) -> Measured:
    """How long a process takes for a fit on so many invented rows."""
    with _folder(house, "measure") as folder:
        start = time.monotonic()
        told = _told(house, folder, {"kind": "measure", "n_rows": n_rows}, [], MEASURE_SECONDS)
        if told is None or told["state"] != "measured":
            raise SourceError("no job could be run.", "see that there is memory, and room on the disk.")
        return Measured(time.monotonic() - start, float(told["seconds"]), float(told["units"]))


@contextmanager
def _looking() -> Iterator[None]:
    if not LOOKS.acquire(timeout=PATIENCE):
        raise TooSoon("many models are looked at now.", int(PATIENCE))
    try:
        yield
    finally:
        LOOKS.release()


@contextmanager
def _folder(house: House, kind: str) -> Iterator[Path]:
    folder = house.work / f"{kind}-{fresh.name()}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _told(
    house: House,
    folder: Path,
    task: Mapping[str, Any],
    readable: Sequence[Path],
    seconds: int,
    network: bool = False,
) -> dict[str, Any] | None:
    """What a process says, once it has ended; None if it says nothing."""
    limits = {"memory": house.settings.memory, "cpu_seconds": seconds}
    process = start(house, folder, {**task, **limits}, readable, network)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdin.close()
    result = read_result(folder)
    return None if result is None else result.told
