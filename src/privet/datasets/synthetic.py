"""Tables that are made on the spot, the same wherever they are made."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.datasets import make_classification

from privet.data import encode, open_table
from privet.datasets.tables import Dataset
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

BOUND = 5.0
ROWS = 30_000


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
