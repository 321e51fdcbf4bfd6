"""Conditions in words of the schema: what a set of a feature's codes means to a reader.

A condition is a mask over the codes of one feature. Masks of a path are joined by *and*, so that a feature
tested several times is told once.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

import numpy as np

from privet.schema import Categorical, Continuous, Feature, Moment

MOST_NAMES = 6
"""Categories that a text lists before it says how many more there are."""


def condition_text(feature: Feature, mask: np.ndarray) -> str:
    """A condition in words; empty where it holds for every value that the schema expects.

    >>> from privet.schema import Categorical, Continuous
    >>> age = Continuous("age", 0, 120, integer=True)
    >>> condition_text(age, np.arange(age.n_codes) >= 38)
    'age ≥ 38 (or missing)'
    >>> town = Categorical("town", ["north", "south", "west"], missing=False)
    >>> condition_text(town, np.array([True, False, True, False, False]))
    'town ≠ south'
    """
    if isinstance(feature, Categorical):
        return _category_text(feature, mask)
    return _range_text(feature, mask)


def condition_data(feature: Feature, mask: np.ndarray) -> dict[str, Any]:
    """The same as plain data: ranges from a lower bound up to below an upper one, or categories."""
    if isinstance(feature, Categorical):
        n = len(feature.categories)
        kept = [c for c, inside in zip(feature.categories, mask[:n], strict=True) if inside]
        return {"feature": feature.name, "categories": kept, "missing": bool(mask[n])}
    ranges = [
        [
            None if a == 0 else feature.shown(feature.edge(a)),
            None if b == feature.n_cells else feature.shown(feature.edge(b)),
        ]
        for a, b in _runs(mask[:-1])
    ]
    return {"feature": feature.name, "ranges": ranges, "missing": bool(mask[-1])}


def written(feature: Continuous, value: float) -> str:
    """A number of a feature with as many digits as its range deserves."""
    if isinstance(feature, Moment):
        return feature.shown(value)
    if feature.integer:
        return f"{ceil(value - 1e-9):,}"
    digits = max(0, 3 - floor(log10(feature.upper - feature.lower)))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _range_text(feature: Continuous, mask: np.ndarray) -> str:
    name, runs = feature.name, _runs(mask[:-1])
    missing = bool(mask[-1]) and feature.missing
    if not runs:
        return f"{name} is missing" if mask[-1] else f"no value of {name}"
    if runs == [(0, feature.n_cells)]:
        return "" if missing or not feature.missing else f"{name} is known"
    told = " or ".join(_run_text(feature, a, b) for a, b in runs)
    return f"{told} (or missing)" if missing else told


def _run_text(feature: Continuous, a: int, b: int) -> str:
    name, low, high = feature.name, written(feature, feature.edge(a)), written(feature, feature.edge(b))
    if a > 0 and b < feature.n_cells:
        exact = feature.integer and feature.width == 1 and b == a + 1
        return f"{name} = {low}" if exact else f"{low} ≤ {name} < {high}"
    return f"{name} ≥ {low}" if a > 0 else f"{name} < {high}"


def _category_text(feature: Categorical, mask: np.ndarray) -> str:
    name, n = feature.name, len(feature.categories)
    if not mask[:n].any():
        return (
            f"{name} is missing" if mask[n] else f"{name} is unknown" if mask[-1] else f"no value of {name}"
        )
    if mask[:n].all():
        return "" if mask[n] or not feature.missing else f"{name} is known"
    items = feature.names + ["missing"] * feature.missing
    inside = [item for item, held in zip(items, mask, strict=False) if held]
    outside = [item for item, held in zip(items, mask, strict=False) if not held]
    if len(inside) <= len(outside):
        return f"{name} = {inside[0]}" if len(inside) == 1 else f"{name} in {_listed(inside)}"
    return f"{name} ≠ {outside[0]}" if len(outside) == 1 else f"{name} not in {_listed(outside)}"


def _listed(names: list[str]) -> str:
    if len(names) > MOST_NAMES + 1:
        names = [*names[:MOST_NAMES], f"… {len(names) - MOST_NAMES} more"]
    return "{" + ", ".join(names) + "}"


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and past-the-last position of every run of true values."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
