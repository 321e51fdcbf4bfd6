"""Pictures of the console as points of SVG: numbers alone, which templates write down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from privet.model.protocol import Model

WIDE, HIGH = 640, 180
SMALL_WIDE, SMALL_HIGH = 320, 120
MOST_SHAPES = 60


@dataclass(frozen=True)
class Line:
    """A line of a picture."""

    name: str
    points: str
    place: int


@dataclass(frozen=True)
class Burn:
    """What was spent over time: lines of analysts under that of everyone, and the limit."""

    unit: str
    most: float
    limit: str
    lines: Sequence[Line]
    rows: Sequence[Mapping[str, Any]]
    wide: int = WIDE
    high: int = HIGH


def burn_picture(points: Sequence[Mapping[str, Any]]) -> Burn | None:
    """Spending by event; in ρ where something had no price in ε."""
    if not points:
        return None
    unit = "epsilon" if all(each["spent"]["epsilon"] is not None for each in points) else "rho"
    if unit not in points[-1]["budget"]:
        unit = "epsilon"
    budgets = [each["budget"].get(unit, 0.0) for each in points]
    names = list(points[-1]["analysts"])
    most = max([*budgets, *(each["spent"].get(unit) or 0.0 for each in points), 1e-12])
    series = {"everyone": [each["spent"].get(unit) for each in points]}
    series |= {name: [each["analysts"].get(name, {}).get(unit) for each in points] for name in names}
    lines = [
        Line(name, _stairs([value or 0.0 for value in values], most, WIDE, HIGH), place)
        for place, (name, values) in enumerate(series.items())
    ]
    rows = [{"name": name, "spent": values[-1]} for name, values in series.items()]
    return Burn(unit, most, _stairs(budgets, most, WIDE, HIGH), lines, rows)


def _stairs(values: Sequence[float], most: float, wide: int, high: int) -> str:
    """Points of steps, from left to right."""
    step = wide / max(len(values), 1)
    points = []
    for i, value in enumerate(values):
        y = high - value / most * (high - 8) - 4
        points += [f"{i * step:.1f},{y:.1f}", f"{(i + 1) * step:.1f},{y:.1f}"]
    return " ".join(points)


@dataclass(frozen=True)
class Shape:
    """What a feature does to a score: a line within its band of noise, and the same as a table."""

    feature: str
    line: str
    band: str
    zero: float
    rows: Sequence[Mapping[str, Any]]
    wide: int = SMALL_WIDE
    high: int = SMALL_HIGH


def shape_pictures(model: Any) -> list[Shape]:
    """Shapes of an additive model, one a feature; none of many labels, and a refusal where it has none."""
    rows = model.shapes_frame().to_pylist()
    if not rows or "effect" not in rows[0]:
        return []
    reach = max(max(abs(row["effect"]) + row["band"] for row in rows), 1e-9)
    grouped = [(name, list(own)) for name, own in groupby(rows, key=lambda row: row["feature"])]
    return [_shape(name, own, reach) for name, own in grouped[:MOST_SHAPES]]


def _shape(name: str, rows: list[dict[str, Any]], reach: float) -> Shape:
    def height(value: float) -> float:
        return SMALL_HIGH / 2 - value / reach * (SMALL_HIGH / 2 - 6)

    step = SMALL_WIDE / len(rows)
    edges = [(i * step, (i + 1) * step) for i in range(len(rows))]
    line, top, bottom = [], [], []
    for (left, right), row in zip(edges, rows, strict=True):
        for x in (left, right):
            line.append(f"{x:.1f},{height(row['effect']):.1f}")
            top.append(f"{x:.1f},{height(row['effect'] + row['band']):.1f}")
            bottom.append(f"{x:.1f},{height(row['effect'] - row['band']):.1f}")
    return Shape(name, " ".join(line), " ".join([*top, *reversed(bottom)]), height(0.0), rows)


def differences(one: Model, other: Model) -> list[tuple[str, str, str]]:
    """What two models differ in, as their cards and structures tell it; all else is the same."""
    told = [dict(_facts(model)) for model in (one, other)]
    names = dict.fromkeys([*told[0], *told[1]])
    return [
        (name, told[0].get(name, "–"), told[1].get(name, "–"))
        for name in names
        if told[0].get(name) != told[1].get(name)
    ]


def _facts(model: Model) -> list[tuple[str, str]]:
    told = [("kind", model.kind)]
    lines: dict[str, list[str]] = {}
    for name, value in model.card.rows():
        lines.setdefault(name, []).append(value)
    told += [(name, "; ".join(values)) for name, values in lines.items()]
    for name, value in model.describe().items():
        if isinstance(value, Mapping):
            told += [(f"{name}: {part}", _text(each)) for part, each in value.items()]
        else:
            told.append((name, _text(value)))
    return told


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
