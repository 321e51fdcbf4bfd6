"""One file a model: a line of magic, a header in JSON, raw arrays, a checksum. Never a pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import ModelFileError

MAGIC = b"PRIVET MODEL "
FORMAT = 1
CHECKSUM = 32


def write_model(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model; the file appears whole or not at all."""
    parts = {name: _little_endian(array) for name, array in arrays.items()}
    index = [{"name": n, "dtype": a.dtype.str, "shape": list(a.shape)} for n, a in parts.items()]
    text = json.dumps({**header, "arrays": index}, sort_keys=True).encode()
    body = b"".join(
        [MAGIC, f"{FORMAT}\n{len(text)}\n".encode(), text, *(a.tobytes() for a in parts.values())]
    )
    target = Path(path)
    scratch = target.with_name(target.name + ".part")
    try:
        scratch.write_bytes(body + hashlib.sha256(body).digest())
        scratch.replace(target)
    except OSError as error:
        raise ModelFileError(f"cannot write {str(path)!r} ({error.strerror}).") from None


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model; a file that was cut, edited or written by a newer format is refused."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read {str(path)!r} ({error.strerror}).", "check the path.") from None
    if not data.startswith(MAGIC):
        raise ModelFileError(f"{str(path)!r} is not a privet model.", "give a file written by fit.")
    body, checksum = data[:-CHECKSUM], data[-CHECKSUM:]
    lines = data[len(MAGIC) :].split(b"\n", 2)
    if lines[0].isdigit() and int(lines[0]) > FORMAT:
        raise ModelFileError(
            f"{str(path)!r} has format {int(lines[0])}; this version reads up to {FORMAT}.",
            "update privet.",
        )
    if hashlib.sha256(body).digest() != checksum:
        raise ModelFileError(f"{str(path)!r} was cut or edited.", "fetch it again.")
    length = int(lines[1])
    start = body.index(lines[1], len(MAGIC) + len(lines[0])) + len(lines[1]) + 1
    header = json.loads(body[start : start + length])
    return header, _read_arrays(body, start + length, header.pop("arrays"))


def _read_arrays(body: bytes, start: int, index: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    arrays = {}
    for item in index:
        dtype, count = np.dtype(item["dtype"]), int(np.prod(item["shape"], dtype=np.int64))
        array = np.frombuffer(body, dtype, count, start).reshape(item["shape"])
        arrays[item["name"]] = array.astype(dtype.newbyteorder("="))
        start += array.nbytes
    return arrays


def _little_endian(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
