"""Invented rows from a schema alone: the same whoever asks, and whoever is in the table."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.schema import Categorical, Continuous, Feature, Label, Schema, Target

MISSING_SHARE = 0.05


def invented(schema: Schema, n: int) -> list[dict[str, Any]]:
    """Some rows, each value drawn by itself: evenly from its range or its list, or missing now and then."""
    random = np.random.default_rng(int(schema.fingerprint[:15], 16))
    columns = {feature.name: _values(feature, n, random) for feature in (*schema.features, schema.label)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(feature: Feature | Label | Target, n: int, random: np.random.Generator) -> list[Any]:
    if isinstance(feature, Continuous):
        drawn = random.uniform(feature.lower, feature.upper, n)
        values = [int(value) for value in np.round(drawn)] if feature.integer else drawn.tolist()
    else:
        listed = feature.categories if isinstance(feature, Categorical) else feature.values
        values = [listed[place] for place in random.integers(0, len(listed), n)]
    if isinstance(feature, Label | Target) or not feature.missing:
        return values
    missing = random.random(n) < MISSING_SHARE
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]
