"""Run the papers' tables and figures again, and write pages of what came out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.app import SETTINGS
from privet.cli.output import facts, out, show_json, table
from privet.datasets import require
from privet.errors import DataError, QuestionError
from privet.studies.catalogue import catalogue, chosen, left_out
from privet.studies.claims import verdict
from privet.studies.pages import report, result_path, unmeasured
from privet.studies.plots import draw
from privet.studies.results import Result
from privet.studies.runner import Progress, run
from privet.studies.study import Study

HELP = "Rerun tables and figures of papers on public data. What is *as published* carries no guarantee."
PAGES = Path("docs/papers")
RESULTS = PAGES / "results"
EVERY = 30.0
"""Seconds between two lines of progress where nobody looks on."""

app = typer.Typer(help=HELP, no_args_is_help=True, **SETTINGS)


@app.command("list")
def list_studies(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show all studies, what each needs, and what is left out."""
    studies, without = catalogue(), left_out()
    if as_json:
        told = [{"name": s.name, "title": s.title, "cells": len(s.cells())} for s in studies.values()]
        show_json({"studies": told, "left out": without})
        return
    rows = [(name, study.title, len(study.cells())) for name, study in studies.items()]
    out.print(table(["name", "title", "cells"], rows, numbers=["cells"]))
    if without:
        out.print("Left out, since they cannot be had:")
        out.print(facts(without.items()))


@app.command("run")
def run_studies(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Items, or papers for all their items; all by default."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small form of each.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=1, help="Processes that work at once.")] = 1,
    repeats: Annotated[
        int | None, typer.Option("--repeats", metavar="N", min=1, help="Fewer repetitions than the paper's.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", metavar="N", min=1, help="Only the first N of the paper's folds.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PART=A,B", help="Other values of a part of the grid; several times too."
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder of results; cells are kept there as they end."),
    ] = Path("out/studies"),
) -> None:
    """Run studies; when killed, the same command goes on where it was.

    Every cell is kept as it ends, so that at most the cells in work are lost.
    """
    missing, changed = [], _parts(given or [])
    for study in (each.given(changed) if changed else each for each in chosen(names or [])):
        try:
            absent = study.without().get("data", {})
            require([str(name) for name in study.values("data") if name not in absent])
        except DataError as error:
            missing.append((study.name, error))
            continue
        fewer = None if repeats is None else min(repeats, study.repeats)
        told = " ".join(["privet study run", study.name, *(["--quick"] if quick else [])])
        told += f" --repeats {fewer}" if fewer and not quick and fewer < study.repeats else ""
        told += f" --folds {folds}" if folds and not quick and folds < study.folds else ""
        told += "".join(f" --set '{part}={','.join(values)}'" for part, values in changed.items())
        with _progress(study) as progress:
            found = run(
                study, folder, quick=quick, repeats=fewer, folds=folds, jobs=jobs, command=told, told=progress
            )
        _keep(study, found, folder)
    if missing:
        several = "; ".join(f"{name}: {error.message}" for name, error in missing)
        raise DataError(f"not run for want of data: {several}", missing[0][1].hint)


@app.command("report")
def report_studies(
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", help="Folder of kept results.")
    ] = RESULTS,
    pages: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the pages.")] = PAGES,
) -> None:
    """Write a page a paper from kept results: pictures, the papers' numbers beside ours, verdicts."""
    for path in report(list(catalogue().values()), left_out(), results, pages):
        out.print(f"Wrote {path}", soft_wrap=True)


def _parts(given: Sequence[str]) -> dict[str, list[str]]:
    """Values by the part of the grid that they are set for."""
    pairs = [text.partition("=") for text in given]
    for part, _, values in pairs:
        if not part or not values:
            raise QuestionError("--set takes a part of the grid and its values.", "as in --set rows=20000.")
    return {part: values.split(",") for part, _, values in pairs}


def _keep(study: Study, found: Result, folder: Path) -> None:
    path = result_path(folder, study)
    found.save(path)
    draw(study, found, path.with_suffix(".svg"))
    told = verdict(study, found)
    out.print(f"{study.name}: {told.outcome}; {told.sentence}", soft_wrap=True)
    for line in unmeasured(found):
        out.print(line, soft_wrap=True)
    out.print(f"Wrote {path} and {path.with_suffix('.svg').name}", soft_wrap=True)


@contextmanager
def _progress(study: Study) -> Iterator[Callable[[Progress], None]]:
    """A bar with the time left where someone looks on, else a line now and then."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns: Sequence[Any] = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        )  # fmt: skip
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(study.name)
            yield lambda p: bar.update(task, completed=p.done, total=p.total)
        return
    last = [time.monotonic()]

    def say(progress: Progress) -> None:
        if progress.seconds_left is not None and time.monotonic() - last[0] >= EVERY:
            last[0] = time.monotonic()
            left = f"{progress.seconds_left / 60:.0f} min left"
            sys.stderr.write(f"{study.name}: {progress.done} of {progress.total} cells, {left}\n")
            sys.stderr.flush()

    yield say
