"""Public tables for studies: the papers' synthetic ones, and real ones from a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import make_classification

from privet.data import encode, open_table
from privet.errors import DataError
from privet.schema import Continuous, Label, Schema

SYNTHETIC: Mapping[str, tuple[int, int]] = {
    "SynthA": (5, 0),
    "SynthB": (10, 0),
    "SynthC": (15, 0),
    "SynthD": (10, 5),
    "SynthE": (5, 10),
    "SynthF": (5, 5),
    "SynthG": (10, 10),
}
"""Informative and random features of Fletcher and Islam 2017, table 1."""

FOLDERS = ("PRIVET_DATA", "PRIVET_MORE_DATA")
"""Variables that name folders of public tables, each with a ``schema.json``."""

BOUND = 5.0
ROWS = 30_000


@dataclass(frozen=True)
class Dataset:
    """A public table in codes: features first, and the label of each row."""

    name: str
    schema: Schema
    features: np.ndarray
    labels: np.ndarray


def synthetic(name: str, n_rows: int = ROWS, seed: int = 0) -> Dataset:
    """One of the seven synthetic tables of Fletcher and Islam 2017."""
    informative, random = SYNTHETIC[name]
    width = informative + random
    X, y = make_classification(n_rows, width, n_informative=informative, n_redundant=0, random_state=seed)
    schema = Schema(
        [Continuous(f"x{i}", -BOUND, BOUND, missing=False) for i in range(width)], Label("y", [0, 1])
    )
    codes = encode(open_table(X, schema), schema, y)
    assert codes.labels is not None
    return Dataset(name, schema, codes.features, codes.labels)


def real(name: str, complete: bool = False) -> Dataset:
    """A table of the folders that `FOLDERS` name, under its public schema, in codes."""
    schema, path = _entry(name)
    codes = encode(open_table(path, schema), schema)
    assert codes.labels is not None
    keep = np.ones(codes.n_rows, bool)
    if complete:
        for row, feature in zip(codes.features, schema.features, strict=True):
            keep &= row != (feature.n_cells if isinstance(feature, Continuous) else len(feature.categories))
    return Dataset(name, schema, np.ascontiguousarray(codes.features[:, keep]), codes.labels[keep])


def real_table(name: str) -> tuple[Schema, pa.Table]:
    """The same, as a table; the schema states no number of rows, so that learners must ask for it."""
    schema, path = _entry(name)
    columns = open_table(path, schema).fetch([*schema.feature_names, schema.label.name])
    return Schema(schema.features, schema.label), pa.table(dict(columns))


def entry(name: str) -> tuple[dict[str, Any], Path]:
    """What the folders' ``schema.json`` say of a table, and its file."""
    folders = [Path(os.environ[variable]) for variable in FOLDERS if variable in os.environ]
    if not folders:
        raise DataError("there is no folder of data sets.", f"name it in the variable {FOLDERS[0]}.")
    for folder in folders:
        entries = json.loads((folder / "schema.json").read_text(encoding="utf-8"))["datasets"]
        if name in entries:
            return entries[name], folder / entries[name]["file"]
    raise DataError(f"no folder of data sets has {name!r}.", f"look into {' and '.join(map(str, folders))}.")


def _entry(name: str) -> tuple[Schema, Path]:
    facts, path = entry(name)
    return Schema.from_dict(facts), path
