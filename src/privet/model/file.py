"""One file a model: a line of magic, a header in JSON, raw arrays, a checksum. Never a pickle."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import ModelFileError

MAGIC = b"PRIVET MODEL "
FORMAT = 1
CHECKSUM = 32
PLAIN = "biuf"
"""Kinds of arrays that a file may hold: truth values and numbers."""


def write_model(path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model; the file appears whole or not at all."""
    write_whole(path, to_bytes(header, arrays))


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model; a file that was cut, edited or written by a newer format is refused."""
    return from_bytes(read_whole(path), path)


def to_bytes(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """A header and arrays as the bytes of a file: the same for the same content."""
    parts = {name: _little_endian(array) for name, array in arrays.items()}
    index = [{"name": n, "dtype": a.dtype.str, "shape": list(a.shape)} for n, a in parts.items()]
    text = json.dumps({**header, "arrays": index}, sort_keys=True).encode()
    body = b"".join(
        [MAGIC, f"{FORMAT}\n{len(text)}\n".encode(), text, *(a.tobytes() for a in parts.values())]
    )
    return body + hashlib.sha256(body).digest()


def from_bytes(data: bytes, path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays that a file's bytes hold; ``path`` is named in errors."""
    if not data.startswith(MAGIC):
        raise ModelFileError(f"{str(path)!r} is not a privet model.", "give a file written by fit.")
    body, checksum = data[:-CHECKSUM], data[-CHECKSUM:]
    number, length, rest = (*data[len(MAGIC) :].split(b"\n", 2), b"", b"")[:3]
    if number.isdigit() and len(number) < 10 and int(number) > FORMAT:
        raise ModelFileError(
            f"{str(path)!r} has format {int(number)}; this version reads up to {FORMAT}.",
            "update privet.",
        )
    if hashlib.sha256(body).digest() != checksum:
        raise ModelFileError(f"{str(path)!r} was cut or edited.", "fetch it again.")
    try:
        start = len(data) - len(rest)
        header = json.loads(body[start : start + int(length)])
        return header, _read_arrays(body, start + int(length), header.pop("arrays"))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        # Whoever writes a file can compute its checksum.
        raise ModelFileError(f"{str(path)!r} is not a sound file.", "fetch it again.") from None


def read_whole(path: str | Path) -> bytes:
    """All bytes of a file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ModelFileError(f"cannot read {str(path)!r} ({error.strerror}).", "check the path.") from None


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    target = Path(path)
    scratch = target.with_name(target.name + ".part")
    try:
        scratch.write_bytes(data)
        scratch.replace(target)
    except OSError as error:
        raise ModelFileError(f"cannot write {str(path)!r} ({error.strerror}).") from None


def _read_arrays(body: bytes, start: int, index: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    arrays = {}
    for item in index:
        dtype, count = np.dtype(item["dtype"]), math.prod(item["shape"])
        if dtype.kind not in PLAIN or count < 0:
            raise ValueError("not an array of numbers")
        array = np.frombuffer(body, dtype, count, start).reshape(item["shape"])
        arrays[item["name"]] = array.astype(dtype.newbyteorder("="))
        start += array.nbytes
    return arrays


def _little_endian(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
