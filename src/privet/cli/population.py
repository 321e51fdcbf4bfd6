"""People who do not exist: a population for the demo, drawn from a fixed seed."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from privet.schema import Categorical, Continuous, Label, Schema

SMOKING = ("never", "former", "current")
ACTIVITY = ("low", "moderate", "high")
DIET = ("mixed", "mediterranean", "vegetarian", "fast food")

SCHEMA = Schema(
    [
        Continuous("age", 18, 100, integer=True, missing=False),
        Continuous("bmi", 15, 45),
        Continuous("systolic", 80, 200, integer=True),
        Continuous("glucose", 3, 12, missing=False),
        Continuous("sleep_hours", 3, 12),
        Categorical("smoking", SMOKING, missing=False),
        Categorical("activity", ACTIVITY, ordered=True),
        Categorical("diet", DIET, missing=False),
    ],
    Label("heart_disease", ["no", "yes"]),
    max_rows=100_000,
)
"""What anyone may know of such a table: ranges a physician would name and the answers on the form."""

People = dict[str, np.ndarray]


def invent_people(n: int, seed: int) -> People:
    """Columns of ``n`` invented patients; a few values are missing (NaN or None)."""
    random = np.random.default_rng(seed)
    age = np.clip(random.normal(52, 18, n), 18, 100).round()
    activity = random.choice(3, n, p=[0.4, 0.4, 0.2])
    smoking = random.choice(3, n, p=[0.5, 0.3, 0.2])
    diet = random.choice(4, n, p=[0.5, 0.2, 0.1, 0.2])
    bmi = np.clip(random.normal(28 - 1.8 * activity + 2.5 * (diet == 3), 4.5), 15, 45)
    systolic = np.clip(random.normal(96 + 0.45 * age + 0.5 * bmi, 13), 80, 200).round()
    glucose = np.clip(random.lognormal(1.35 + 0.014 * bmi, 0.22), 3, 12)
    sleep = np.clip(random.normal(7 + 0.3 * activity, 1.3), 3, 12)
    weights = (
        (0.10, age - 52),
        (0.06, systolic - 133),
        (0.09, bmi - 27),
        (0.45, glucose - 5.8),
        (0.90, smoking - 0.7),
        (-0.90, activity - 0.8),
        (-0.90, diet == 1),
        (0.25, np.abs(sleep - 7.5)),
    )
    score = sum(weight * value for weight, value in weights)
    ill = random.random(n) < 1 / (1 + np.exp(0.7 - 1.3 * score))
    return {
        "age": age,
        "bmi": _with_gaps(bmi.round(1), 0.05, np.nan, random),
        "systolic": _with_gaps(systolic, 0.03, np.nan, random),
        "glucose": glucose.round(2),
        "sleep_hours": _with_gaps(sleep.round(1), 0.10, np.nan, random),
        "smoking": np.array(SMOKING, object)[smoking],
        "activity": _with_gaps(np.array(ACTIVITY, object)[activity], 0.04, None, random),
        "diet": np.array(DIET, object)[diet],
        "heart_disease": np.array(SCHEMA.classes, object)[ill.astype(int)],
    }


def write_people(people: Mapping[str, np.ndarray], path: Path) -> None:
    """Write a table as CSV, a missing value as an empty field."""
    columns = [["" if v is None or v != v else v for v in column.tolist()] for column in people.values()]
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(people)
        writer.writerows(zip(*columns, strict=True))


def _with_gaps(values: np.ndarray, share: float, gap: Any, random: np.random.Generator) -> np.ndarray:
    return np.where(random.random(len(values)) < share, gap, values)
