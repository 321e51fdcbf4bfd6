"""Tables for people, JSON for programs, and a page made of every JSON that was kept."""

import datetime
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("privet", "numpy", "numba", "pyarrow", "opendp", "scikit-learn")
WIDTH = 80
LOAD = os.getloadavg()[0]
"""Processes that wanted a core in the minute before the run: what else the machine was doing."""


@dataclass(frozen=True)
class Result:
    """What a section measured.

    A cell is text, a number, None, or ``{"mean", "sd"}``; every row has the same columns.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()


class Skipped(Exception):
    """A section cannot run here; the message says why."""


def at_least(value: float, aim: float) -> dict[str, str]:
    return {"aim": f">= {aim:g}", "met": "yes" if value >= aim else "no"}


def at_most(value: float, aim: float) -> dict[str, str]:
    return {"aim": f"<= {aim:g}", "met": "yes" if value <= aim else "no"}


def spread(values: Sequence[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1))}


def as_text(result: Result, seconds: float) -> str:
    """A table in plain text."""
    lines = [f"== {result.title} ({seconds:.0f} s)", *_table(result.rows)]
    return "\n".join([*lines, *(f"   {line}" for note in result.notes for line in _wrapped(note)), ""])


def keep(name: str, result: Result, seconds: float) -> None:
    """Write a section's results, and the page of all sections anew."""
    RESULTS.mkdir(exist_ok=True)
    kept = {
        "title": result.title,
        "machine": machine(),
        "seconds": round(seconds, 1),
        "rows": list(result.rows),
        "notes": list(result.notes),
    }
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (RESULTS / "README.md").write_text(page(), encoding="utf-8")


def page() -> str:
    """Markdown of every section that was kept."""
    parts = [
        "# Bench\n\nWritten by `make bench`; `python -m bench kernel noise` runs chosen sections. Some "
        "take many minutes and run only when named: `python -m bench learners`, `learners-all` for more "
        "tables and budgets, `synthf`, `safety`, `parts`, `regression`; what was interrupted goes on "
        "where it stopped.\n"
    ]
    for path in sorted(RESULTS.glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        facts = kept["machine"]
        versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
        parts.append(
            f"## {kept['title']}\n\n"
            f"{facts['date']}, {facts['cores']} cores of {facts['cpu']} (load {facts['load']} before the "
            f"run), {facts['system']}; {versions}; {kept['seconds']:.0f} s.\n\n"
            + "\n".join(_markdown(kept["rows"]))
            + "\n"
        )
        parts += [f"- {note}" for note in kept["notes"]]
        parts.append("")
    return "\n".join(parts)


def machine() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "cores": cores(),
        "cpu": _cpu(),
        "load": round(LOAD, 1),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in PACKAGES},
    }


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return f"{value['mean']:.3f}±{value['sd']:.3f}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_text(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    return all(isinstance(row[column], str) for row in rows)


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = list(rows[0])
    cells = [columns, *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = [_is_text(rows, column) for column in columns]
    lines = [
        "  ".join(
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in cells
    ]
    assert max(map(len, lines)) <= WIDTH, "a table must fit the width of a terminal"
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _markdown(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = list(rows[0])
    rule = ["---" if _is_text(rows, column) else "---:" for column in columns]
    cells = [columns, rule, *([_cell(row[column]) for column in columns] for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in cells]


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > WIDTH - 5:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines
