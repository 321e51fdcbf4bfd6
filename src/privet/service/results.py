"""What a process is told, and the one file that it leaves: there whole and on disk, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

TASK, RESULT = "task.json", "result"


class Result(NamedTuple):
    """What a process left: a line of JSON, and the bytes of a model, if there is one."""

    told: dict[str, Any]
    model: bytes


def write_result(folder: Path, told: dict[str, Any], model: bytes) -> None:
    """Leave a result: whole or not at all, and on disk."""
    line = json.dumps({**told, "size": len(model), "sha256": hashlib.sha256(model).hexdigest()})
    write_whole(folder / RESULT, line.encode() + b"\n" + model)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole, and on disk, or not at all."""
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    place = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def read_result(folder: Path) -> Result | None:
    """The result that a process left, if it is whole."""
    try:
        line, _, model = (folder / RESULT).read_bytes().partition(b"\n")
        told = json.loads(line)
        whole = told["size"] == len(model) and told["sha256"] == hashlib.sha256(model).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Result(told, model) if whole else None
