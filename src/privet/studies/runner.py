"""Run the cells of a study: by several workers, kept one by one, gone on with after a kill."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import numba

from privet.errors import DataError, PrivetError, QuestionError
from privet.studies.results import Result, failures, how
from privet.studies.study import Cell, Found, Measure, Study, Value

AHEAD = 2
"""Cells that wait for each worker, so that none is idle."""


@dataclass(frozen=True)
class Progress:
    """How far a study is."""

    done: int
    total: int
    seconds_left: float | None


Told = Callable[[Progress], None]


@dataclass(frozen=True)
class Kept:
    """A file of cells: a line each, with what it followed from."""

    path: Path
    follows: Callable[[Cell], str]

    def load(self) -> dict[str, tuple[Found, float]]:
        """What is there already, but cells that follow from something else by now."""
        if not self.path.exists():
            return {}
        # The last line is cut where the program was killed while it wrote.
        told = map(json.loads, self.path.read_text(encoding="utf-8").split("\n")[:-1])
        return {
            _key(line["cell"]): (line["found"], line["seconds"])
            for line in told
            if line.get("code") == self.follows(line["cell"])
        }

    def begin(self, found: dict[str, tuple[Found, float]]) -> None:
        """Write anew what was read, so that no half line stays."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [self._line(json.loads(key), *each) for key, each in found.items()]
        draft = self.path.with_suffix(".new")
        draft.write_text("\n".join([*lines, ""]), encoding="utf-8")
        draft.replace(self.path)

    def add(self, cell: Cell, found: Found, seconds: float) -> None:
        """Add a cell, on the disk before the next one ends."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self._line(cell, found, seconds) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _line(self, cell: Cell, found: Found, seconds: float) -> str:
        told = {"code": self.follows(cell), "cell": cell, "found": found, "seconds": round(seconds, 4)}
        return json.dumps(told, ensure_ascii=False)


def run(
    study: Study,
    folder: Path,
    *,
    quick: bool = False,
    repeats: int | None = None,
    folds: int | None = None,
    jobs: int = 1,
    command: str = "",
    told: Told = lambda progress: None,
) -> Result:
    """Measure all cells of a study that are not kept yet.

    Parameters
    ----------
    study : Study
    folder : Path
        Where cells are kept, in ``cells/``: studies that show the same cells share them.
    quick : bool
        Its small form.
    repeats : int, optional
        Fewer than the paper has.
    folds : int, optional
        Only the first so many of the paper's folds.
    jobs : int
        Processes that work at once.
    command : str
        What is to be said of how it was made.
    told : callable, optional
        Told how far it is, after every cell.
    """
    every = study.cells(quick, repeats, folds)
    without = _absent(study, every)
    cells = [cell for cell in every if not any(cell[part] in told for part, told in without.items())]
    if not cells:
        why = "; ".join(f"{name}: {told}" for part in without.values() for name, told in part.items())
        raise DataError(f"nothing of {study.name} can be run here: {why}", "mend one of these.")
    kept = Kept(folder / "cells" / f"{study.cells_of}{'-quick' if quick else ''}.jsonl", study.follows)
    found = kept.load()
    kept.begin(found)
    todo = [cell for cell in cells if _key(cell) not in found]
    begun, total = time.perf_counter(), len(cells)
    told(Progress(total - len(todo), total, None))
    for number, (cell, scores, seconds) in enumerate(_measured(study.measure, todo, jobs), start=1):
        kept.add(cell, scores, seconds)
        found[_key(cell)] = scores, seconds
        left = (time.perf_counter() - begun) / number * (len(todo) - number)
        told(Progress(total - len(todo) + number, total, left))
    spent = sum(found[_key(cell)][1] for cell in cells)
    told_of = [(cell, found[_key(cell)][0]) for cell in cells]
    made = how(study, cells, quick, command, spent)
    made |= {"not run": without} if without else {}
    failed = failures(told_of)
    made |= {"failed": failed} if failed else {}
    return Result.of(study, told_of, made)


def _absent(study: Study, cells: Sequence[Cell]) -> dict[str, dict[Value, str]]:
    """Values of some cells that cannot be had here, and why, by part of the grid."""
    found = {
        part: {value: why for value, why in told.items() if any(cell.get(part) == value for cell in cells)}
        for part, told in study.without().items()
    }
    return {part: told for part, told in found.items() if told}


def _key(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True, ensure_ascii=False)


def _measured(measure: Measure, cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Found, float]]:
    """Every cell as it ends."""
    if jobs < 1:
        raise QuestionError("there must be at least one job.", "leave --jobs out, or give 1 or more.")
    if jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield cell, *_work(measure, cell)
        return
    context = get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(cells)), mp_context=context, initializer=_begin)
    try:
        waiting = iter(cells)
        running: dict[Future[tuple[Found, float]], Cell] = {}
        while True:
            for cell in waiting:
                running[pool.submit(_work, measure, cell)] = cell
                if len(running) >= AHEAD * jobs:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), *future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _work(measure: Measure, cell: Cell) -> tuple[Found, float]:
    """Measure a cell; an error says which one it was, so that it can be measured alone."""
    begun = time.process_time()
    try:
        found: Any = measure(**cell)
    except PrivetError:
        raise
    except Exception as error:
        error.add_note(f"in the cell {_key(cell)}")
        raise
    plain = {way: {score: float(v) for score, v in each.items()} for way, each in found.items()}
    return plain, time.process_time() - begun


def _begin() -> None:
    """A worker has one thread, and ends with the program that started it, even where that was killed."""
    numba.set_num_threads(1)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)
