"""What a study came to: points with all their values, and how they were made; kept as JSON, without rows."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import DataError
from privet.studies.study import FAILED, Cell, Found, Study, Value, code
from privet.version import __version__

DIGITS = 5
"""Of a value that is kept."""

PACKAGES = ("numba", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Point:
    """All values of a score at one place."""

    panel: str
    x: Value
    way: str
    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.values)) / float(np.sqrt(len(self.values)))

    @property
    def box(self) -> list[float]:
        """The least, the quartiles, the most."""
        return [float(value) for value in np.quantile(self.values, [0, 0.25, 0.5, 0.75, 1])]


@dataclass(frozen=True)
class Result:
    """Points of a study, in the order of its grid, and how they were made."""

    study: str
    made: Mapping[str, Any]
    points: Sequence[Point]

    @classmethod
    def of(cls, study: Study, found: Iterable[tuple[Cell, Found]], made: Mapping[str, Any]) -> Result:
        """Gather what cells came to."""
        values: dict[tuple[str, Value, str], list[float]] = {}
        for cell, scores in found:
            panel, x = study.place(cell)
            for way, by_score in scores.items():
                for score in study.scores:
                    if score in by_score:
                        values.setdefault((panel, way, score), []).append(by_score[score])
                if study.scores:
                    continue
                shown = study.ways.get(way, way) if study.ways else way
                if study.score in by_score and (not study.ways or way in study.ways):
                    values.setdefault((panel, x, shown), []).append(by_score[study.score])
        return cls(study.name, made, [Point(*place, each) for place, each in values.items()])

    @classmethod
    def load(cls, path: Path) -> Result:
        """Read a result that was kept."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            points = [Point(p["panel"], p["x"], p["way"], p["values"]) for p in told["points"]]
            return cls(told["study"], told["made"], points)
        except (OSError, ValueError, KeyError, TypeError):
            raise DataError(
                f"{str(path)!r} is no result of a study.", "remove it and run the study again."
            ) from None

    def save(self, path: Path) -> None:
        """Write it, a line a point."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            {"panel": p.panel, "x": p.x, "way": p.way, "values": [float(f"{v:.{DIGITS}g}") for v in p.values]}
            for p in self.points
        ]
        head = json.dumps({"study": self.study, "made": self.made}, ensure_ascii=False, indent=1)
        points = ",\n  ".join(json.dumps(line, ensure_ascii=False) for line in lines)
        path.write_text(f'{head[:-2]},\n "points": [\n  {points}\n ]\n}}\n', encoding="utf-8")

    def panels(self) -> dict[str, list[Point]]:
        """Points by panel."""
        panels: dict[str, list[Point]] = {}
        for point in self.points:
            panels.setdefault(point.panel, []).append(point)
        return panels


def how(study: Study, cells: Sequence[Cell], quick: bool, command: str, seconds: float) -> dict[str, Any]:
    """How a result was made: command, date, versions, grid, seeds, time."""
    repeats = sorted({cell["repeat"] for cell in cells})
    folds = {cell["fold"]: cell["folds"] for cell in cells if "fold" in cell}
    return {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {
            "privet": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
            **study.versions(),
        },
        "code": code(),
        **commit(),
        "quick": quick,
        "fixed": _fixed(cells),
        "cells": len(cells),
        "repeats": len(repeats),
        "repeats of the paper": study.repeats,
        "folds": max(folds.values(), default=0),
        "folds measured": len(folds),
        "seeds": f"{repeats[0]} to {repeats[-1]}",
        "cpu seconds": round(seconds, 1),
    }


def _fixed(cells: Sequence[Cell]) -> dict[str, Value]:
    """Parts of the grid that have one value in all cells."""
    parts = [part for part in cells[0] if part not in ("repeat", "fold", "folds")]
    values = {part: {cell.get(part) for cell in cells} for part in parts}
    return {part: cells[0][part] for part, found in values.items() if len(found) == 1}


def failures(found: Iterable[tuple[Cell, Found]]) -> dict[str, dict[str, list[str]]]:
    """Ways that could not be measured: what they said, and of which data."""
    told: dict[str, dict[str, list[str]]] = {}
    for cell, scores in found:
        for way, by_score in scores.items():
            for score in by_score:
                if score.startswith(FAILED):
                    data = told.setdefault(way, {}).setdefault(score.removeprefix(FAILED), [])
                    data += [str(cell["data"])] if str(cell["data"]) not in data else []
    return told


def commit() -> dict[str, str]:
    """The commit of the code, where it runs from a repository; with a plus where files were changed since."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return {}
    asked = ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True)
    except OSError:
        return {}
    return {"commit": done.stdout.strip()} if not done.returncode else {}
