"""Public tables under their public schemas, from the folders that the environment names or from the cache."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privet.data import encode, open_table
from privet.datasets.fetch import fetched
from privet.errors import DataError
from privet.schema import Continuous, Schema

FOLDERS = ("PRIVET_DATA", "PRIVET_MORE_DATA")
"""Variables that name folders of public tables, each with a ``schema.json``."""


@dataclass(frozen=True)
class Dataset:
    """A public table in codes: features first, and the label of each row."""

    name: str
    schema: Schema
    features: np.ndarray
    labels: np.ndarray


def load(name: str) -> tuple[Schema, pa.Table]:
    """Schema and table; the schema states no number of rows, so that learners must ask for it."""
    schema, path = _entry(name)
    columns = open_table(path, schema).fetch([*schema.feature_names, schema.label.name])
    return Schema(schema.features, schema.label), pa.table(dict(columns))


def load_codes(name: str, complete: bool = False) -> Dataset:
    """A table in codes; of complete rows alone where only those are asked for."""
    schema, path = _entry(name)
    codes = encode(open_table(path, schema), schema)
    assert codes.labels is not None
    keep = np.ones(codes.n_rows, bool)
    if complete:
        for row, feature in zip(codes.features, schema.features, strict=True):
            keep &= row != (feature.n_cells if isinstance(feature, Continuous) else len(feature.categories))
    return Dataset(name, schema, np.ascontiguousarray(codes.features[:, keep]), codes.labels[keep])


def entry(name: str) -> tuple[dict[str, Any], Path]:
    """What is said of a table, its schema, too, and its file: in a folder, the cache, or fetched."""
    folders = [Path(os.environ[variable]) for variable in FOLDERS if variable in os.environ]
    for folder in folders:
        try:
            entries = json.loads((folder / "schema.json").read_text(encoding="utf-8"))["datasets"]
        except (OSError, ValueError, KeyError):
            raise DataError(
                f"{str(folder)!r} is no folder of data sets: it has no schema.json.", f"mend {FOLDERS[0]}."
            ) from None
        if name in entries and (folder / entries[name]["file"]).exists():
            return entries[name], folder / entries[name]["file"]
    return fetched(name)


def _entry(name: str) -> tuple[Schema, Path]:
    facts, path = entry(name)
    return Schema.from_dict(facts), path
