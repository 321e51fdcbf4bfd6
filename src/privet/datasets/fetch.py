"""Data sets from their public sources, once, into a cache; what does not read as pinned is refused.

The pinned hash is that of the codes and labels that a table reads as under its public schema, so it holds
whatever way a source packs or writes its numbers. Files as sources pack them have no pinned hash of
their own: only what is read from them is verified.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from privet.data import encode, open_table
from privet.errors import DataError
from privet.schema import Schema

CACHE = "PRIVET_CACHE"
"""Variable that names the folder of what was fetched; by default the user's own cache."""

LISTED = Path(__file__).with_name("public.json")
NO_LABEL = "|"
"""Begins a line that is no row."""


@cache
def listed() -> dict[str, dict[str, Any]]:
    """What is known of each data set that can be fetched: source, members, form, pinned hash, schema."""
    known: dict[str, dict[str, Any]] = json.loads(LISTED.read_text(encoding="utf-8"))
    return known


def fetched(name: str) -> tuple[dict[str, Any], Path]:
    """Schema and file of a data set, from the cache or else from its source.

    Raises
    ------
    DataError
        If it cannot be fetched, or is not what it was when its hash was pinned.
    """
    if name not in listed():
        raise DataError(
            f"the data set {name!r} is not here, and no source is known from which it can be fetched.",
            "name a folder that has it in the variable PRIVET_DATA or PRIVET_MORE_DATA.",
        )
    facts = listed()[name]
    folder = Path(os.environ[CACHE]) if CACHE in os.environ else _pooch().os_cache("privet")
    path = folder / f"{name}-{facts['sha256'][:12]}.csv"
    if not path.exists():
        text = _as_csv(_download(name, facts["url"]), facts)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{os.getpid()}-{path.name}")
        draft.write_text(text, encoding="utf-8")
        try:
            verify(name, draft, facts)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return facts["schema"], path


def verify(name: str, path: Path, facts: dict[str, Any]) -> None:
    """Refuse a table that does not read as it did when its hash was pinned."""
    schema = Schema.from_dict(facts["schema"])
    try:
        same = content_hash(path, schema) == facts["sha256"]
    except DataError:
        same = False
    if not same:
        raise DataError(
            f"what {facts['url']} holds is not the {name!r} that is pinned.",
            "the source may have changed: name a folder that has the data set in the variable PRIVET_DATA.",
        )


def content_hash(path: Path, schema: Schema) -> str:
    """Hash of a table's codes and labels, in the order of its rows."""
    codes = encode(open_table(path, schema), schema)
    digest = sha256()
    assert codes.labels is not None
    for column in [*codes.features, codes.labels]:
        digest.update(np.ascontiguousarray(column, dtype="<u2").tobytes())
    return digest.hexdigest()


def _pooch() -> Any:
    try:
        import pooch
    except ModuleNotFoundError:
        raise DataError(
            "a data set is not here, and fetching it needs pooch.",
            "pip install 'privet[studies]', or name a folder of data sets in the variable PRIVET_DATA.",
        ) from None
    return pooch


def _download(name: str, url: str) -> bytes:
    pooch = _pooch()
    try:
        downloader = pooch.HTTPDownloader(timeout=60)
        return Path(pooch.retrieve(url, known_hash=None, downloader=downloader)).read_bytes()
    except (OSError, ValueError) as error:
        raise DataError(
            f"the data set {name!r} is not here, and {url} could not be fetched ({type(error).__name__}).",
            "name a folder that has it in the variable PRIVET_DATA, or try again with a network.",
        ) from None


def _as_csv(packed: bytes, facts: dict[str, Any]) -> str:
    """The members of a source as one table: named columns, the label last, nothing where it is missing."""
    schema = Schema.from_dict(facts["schema"])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*schema.feature_names, schema.label.name])
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as members:
            for member in facts["members"]:
                raw = members.read(member)
                raw = gzip.decompress(raw) if member.endswith(".gz") else raw
                lines = raw.decode("utf-8", "replace").splitlines()
                writer.writerows(_rows(lines[facts.get("skip", 0) :], facts))
    except (zipfile.BadZipFile, gzip.BadGzipFile, KeyError):
        raise DataError(
            f"what {facts['url']} holds is no archive with {', '.join(facts['members'])}.",
            "the source may have changed: name a folder that has the data set in the variable PRIVET_DATA.",
        ) from None
    return out.getvalue()


def _rows(lines: Sequence[str], facts: dict[str, Any]) -> Iterator[list[str]]:
    for line in lines:
        if not line.strip() or line.startswith(NO_LABEL):
            continue
        row = [value.strip() for value in line.split(facts.get("separator"))]
        row = ["" if value == "?" else value for value in row]
        if facts.get("label") == "first":
            row = [*row[1:], row[0]]
        if "outputs" in facts:
            n = len(facts["outputs"])
            bits = [float(value) for value in row[-n:]]
            row = [*row[:-n], facts["outputs"][int(np.argmax(bits))]]
        yield [*row[:-1], row[-1].removesuffix(".")]
