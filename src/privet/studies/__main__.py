"""Run studies: ``python -m privet.studies [NAME …] [--quick] [--out FOLDER]``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from privet import studies
from privet.studies.curves import Row, figures
from privet.studies.study import Study, Text, say


def main() -> None:
    """Print each study's table as it grows, and keep it as JSON."""
    known = {study.name: study for study in sorted(_declared(), key=lambda study: study.name)}
    parser = argparse.ArgumentParser(prog="python -m privet.studies", description=__doc__)
    parser.add_argument("study", nargs="*", choices=[*known, []], help=", ".join(known))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.study or known:
        rows = _rows(known[name], arguments.quick)
        path = arguments.out / f"{name}.json"
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        say(f"Wrote {path}\n")
        if rows:
            shown = list(_show(known[name], rows, path))
            for line in [" and ".join(shown)] if known[name].is_curves else shown:
                say(f"Wrote {line}\n")
        say("\n")


def _declared() -> Iterator[Study]:
    """The studies that modules of this package declare."""
    for found in iter_modules(studies.__path__):
        if not found.name.startswith("_"):
            study = getattr(import_module(f"privet.studies.{found.name}"), "STUDY", None)
            if isinstance(study, Study):
                yield study


def _rows(study: Study, quick: bool) -> list[Row]:
    """All rows of a study, told as they come; none where it lacks its data."""
    if study.real and "PRIVET_DATA" not in os.environ:
        say(f"{study.name}: left out, since PRIVET_DATA names no folder of data sets.\n")
        return []
    found = study.run(quick)
    if study.text is None:
        return list(found)
    rows = _told_by_figure(found, study.text) if study.is_curves else _told_by_row(found, study.text)
    say(study.verdict(rows) if study.verdict else "")
    return rows


def _told_by_figure(found: Iterator[Row], text: Text) -> list[Row]:
    rows = []
    for _, some in figures(found):
        rows += some
        say(text(some) + "\n")
    return rows


def _told_by_row(found: Iterator[Row], text: Text) -> list[Row]:
    rows: list[Row] = []
    told = 0
    for row in found:
        rows.append(row)
        lines = text(rows).splitlines()
        say("\n".join(lines[told:]) + "\n")
        told = len(lines)
    return rows


def _show(study: Study, rows: Sequence[Row], path: Path) -> Iterator[str]:
    """Write text and picture; their paths."""
    if study.text:
        text = study.text(rows) + ("\n" + study.verdict(rows) if study.verdict else "")
        path.with_suffix(".txt").write_text(text, encoding="utf-8")
        yield str(path.with_suffix(".txt"))
    if study.draw:
        study.draw(rows, path.with_suffix(".png"))
        yield str(path.with_suffix(".png"))


if __name__ == "__main__":
    main()
