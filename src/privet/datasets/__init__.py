"""Public data sets: in folders that the environment names, in a cache, fetched, or made on the spot."""

from __future__ import annotations

from collections.abc import Iterable

from privet.datasets.synthetic import SYNTHETIC, synthetic
from privet.datasets.tables import FOLDERS, Dataset, entry, load, load_codes

__all__ = ["FOLDERS", "SYNTHETIC", "Dataset", "entry", "load", "load_codes", "require", "synthetic"]


def require(names: Iterable[str]) -> None:
    """Say at once which of some data sets is not here, and how to get it."""
    for name in names:
        if name not in SYNTHETIC:
            entry(name)
