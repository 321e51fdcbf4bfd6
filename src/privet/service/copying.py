"""Copies of tables, made by a process that is shut in like a job's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privet.errors import DataError, SourceError
from privet.schema import Schema
from privet.service import fresh
from privet.service.house import House
from privet.service.results import TASK, read_result
from privet.service.sandbox import command, environment

LONGEST = 24 * 3600


def start(folder: Path, task: dict[str, Any], readable: Sequence[Path], writable: Sequence[Path]) -> Any:
    """Start the process of a task; it ends when its standard input does."""
    (folder / TASK).write_text(json.dumps(task))
    return subprocess.Popen(
        [*command(readable, [folder, *writable]), sys.executable, "-m", "privet.service.worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(folder),
        cwd=folder,
        start_new_session=True,
    )


def checked_copy(house: House, source: str, schema: Schema, target: Path) -> int:
    """Copy a table; the exact number of rows, for its owner alone. A misfit is a `DataError`."""
    folder = house.jobs / f"copy-{fresh.name()}"
    folder.mkdir(mode=0o700)
    made = folder / "copy.parquet"
    task = {"kind": "copy", "source": source, "schema": schema.to_dict(), "target": str(made)}
    limits = {"memory": house.settings.memory, "cpu_seconds": LONGEST}
    try:
        process = start(folder, task | limits, [house.tables.resolve()], [])
        process.wait()
        process.stdin.close()
        result = read_result(folder)
        if result is None or result.told["state"] == "failed":
            raise SourceError("the table could not be copied.", "see that there is room, and try again.")
        if result.told["state"] == "misfit":
            raise DataError(result.told["message"], result.told["hint"])
        made.replace(target)
        return int(result.told["rows"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
