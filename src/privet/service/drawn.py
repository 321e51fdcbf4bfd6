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
    """What a feature does to a score: lines within their bands of noise, and the same as a table.

    Attributes
    ----------
    feature : str
    parts : sequence of (line, band)
        Of the values that there are, and, apart from them, of those that are missing.
    axis : sequence of str
        What stands below the line, from left to right.
    missing : bool
        Whether the last of it is what is missing.
    reach : float
        The effect at the top; its negative is at the bottom.
    """

    feature: str
    parts: Sequence[tuple[str, str]]
    axis: Sequence[str]
    missing: bool
    reach: float
    rows: Sequence[Mapping[str, Any]]
    wide: int = SMALL_WIDE
    high: int = SMALL_HIGH


MISSING, GAP, NAMED = " is missing", 8.0, 4


def shape_pictures(model: Any) -> list[Shape]:
    """Shapes of an additive model, what matters most first; none of many labels, a refusal without any."""
    rows = model.shapes_frame().to_pylist()
    if not rows or "effect" not in rows[0]:
        return []
    reach = max(max(abs(row["effect"]) + row["band"] for row in rows), 1e-9)
    grouped = [(name, list(own)) for name, own in groupby(rows, key=lambda row: row["feature"])]
    grouped.sort(key=lambda each: -sum(row["share"] * abs(row["effect"]) for row in each[1]))
    return [_shape(name, own, reach) for name, own in grouped[:MOST_SHAPES]]


def _shape(name: str, rows: list[dict[str, Any]], reach: float) -> Shape:
    missing = len(rows) > 1 and rows[-1]["values"].endswith(MISSING)
    step = (SMALL_WIDE - GAP * missing) / len(rows)
    known, rest = (rows[:-1], rows[-1:]) if missing else (rows, [])
    parts = [_part(known, 0.0, step, reach)]
    if rest:
        parts.append(_part(rest, SMALL_WIDE - step, step, reach))
    told = [row["values"].replace(name, "", 1).strip().removeprefix("= ") for row in known]
    axis = told if len(told) <= NAMED else [told[0], told[-1]]
    return Shape(name, parts, [*axis, *["missing"] * missing], missing, reach, rows)


def _part(rows: list[dict[str, Any]], start: float, step: float, reach: float) -> tuple[str, str]:
    """A line of steps, and the band around it."""

    def height(value: float) -> float:
        return SMALL_HIGH / 2 - value / reach * (SMALL_HIGH / 2 - 6)

    line, top, bottom = [], [], []
    for i, row in enumerate(rows):
        for x in (start + i * step, start + (i + 1) * step):
            line.append(f"{x:.1f},{height(row['effect']):.1f}")
            top.append(f"{x:.1f},{height(row['effect'] + row['band']):.1f}")
            bottom.append(f"{x:.1f},{height(row['effect'] - row['band']):.1f}")
    return " ".join(line), " ".join([*top, *reversed(bottom)])


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
