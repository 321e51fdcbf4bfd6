"""Invented rows from a schema alone: the same whoever asks, and whoever is in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from privet.learners.finding import guessed
from privet.schema import Categorical, Continuous, Feature, Label, Schema, Target

MISSING_SHARE = 0.05

DEMO_SCHEMA = Schema(
    [
        Continuous("age", 0, 110, integer=True),
        Continuous("blood pressure", 60, 240, integer=True),
        Continuous("body mass index", 10, 60),
        Categorical("smoker", ["never", "former", "daily"]),
        Categorical("ward", ["north", "south", "west"]),
    ],
    Label("readmitted", ["no", "yes"]),
    max_rows=20_000,
)


def invented(schema: Schema, n: int) -> list[dict[str, Any]]:
    """Some rows, each value drawn by itself: evenly from its range or its list, or missing now and then.

    Ranges and lists that are open are guessed as a plan guesses them: no row is looked at.
    """
    schema = guessed(schema)
    random = np.random.default_rng(int(schema.fingerprint[:15], 16))
    columns = {feature.name: _values(feature, n, random) for feature in (*schema.features, schema.label)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(feature: Feature | Label | Target, n: int, random: np.random.Generator) -> list[Any]:
    if isinstance(feature, Continuous):
        drawn = random.uniform(feature.lower, feature.upper, n)
        numbers = [int(value) for value in np.round(drawn)] if feature.integer else drawn.tolist()
        values = [feature.shown(value) for value in numbers]
    else:
        listed = feature.categories if isinstance(feature, Categorical) else feature.values
        values = [listed[place] for place in random.integers(0, len(listed), n)]
    if isinstance(feature, Label | Target) or not feature.missing:
        return values
    missing = random.random(n) < MISSING_SHARE
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def invented_patients(n: int, path: Path) -> None:
    """A table of a demo: patients of no hospital, of whom the older and heavier come back more often."""
    random = np.random.default_rng(7)
    age = np.clip(random.normal(58, 18, n), 18, 105).round().astype(int)
    weight = np.clip(random.normal(27, 5, n), 15, 55).round(1)
    pressure = np.clip(110 + age / 3 + random.normal(0, 14, n), 70, 230).round().astype(int)
    smoker = random.choice(["never", "former", "daily"], n, p=[0.55, 0.27, 0.18])
    score = (age - 60) / 14 + np.abs(weight - 25) / 5 + (smoker == "daily") * 0.9 + (pressure - 130) / 40
    again = random.random(n) < 1 / (1 + np.exp(1.8 - score))
    columns = {
        "age": age,
        "blood pressure": pressure,
        "body mass index": weight,
        "smoker": smoker,
        "ward": random.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2]),
        "readmitted": np.where(again, "yes", "no"),
    }
    pa_csv.write_csv(pa.table(columns), path)
