"""Ask rivals that run in environments of their own: one process a rival's environment and worker."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from privet.studies.field_rivals import DELTA, Task, installed, zcdp

RIVALS, XGBOOST = "PRIVET_RIVALS", "PRIVET_RIVALS_XGBOOST"
"""Variables that name the Python of each environment."""

PLACES = {RIVALS: ".venv-rivals/bin/python", XGBOOST: ".venv-rivals-xgboost/bin/python"}
HINT = "`make rivals` in the repository builds it"
RUNNING: dict[Path, subprocess.Popen[str]] = {}
"""The process of every environment that was asked."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Refused(Exception):
    """What a rival says where it cannot learn from a table."""


def python_of(rival: str) -> Path:
    """Where a rival runs."""
    variable = XGBOOST if rival.startswith("dp-xgboost") else RIVALS
    return Path(os.environ.get(variable, PLACES[variable])).absolute()


@cache
def _examined(python: Path) -> Mapping[str, Any]:
    rivals = [rival for rival in installed.LEARNERS if python_of(rival) == python]
    done = subprocess.run(
        [str(python), installed.__file__, *rivals], capture_output=True, text=True, env=_environment()
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"versions": {}, "missing": dict.fromkeys(rivals, last)}
    return dict(json.loads(done.stdout))


def missing() -> dict[str, str]:
    """Rivals that do not run here, and what they print."""
    found: dict[str, str] = {}
    for rival in installed.LEARNERS:
        python = python_of(rival)
        if not python.exists():
            variable = XGBOOST if rival.startswith("dp-xgboost") else RIVALS
            found[rival] = f"no environment at {PLACES[variable]}, nor where {variable} says; {HINT}"
        elif rival in _examined(python)["missing"]:
            found[rival] = _examined(python)["missing"][rival]
    return found


def versions(rivals: Iterable[str] = installed.LEARNERS) -> dict[str, str]:
    """Versions of what some rivals run in, all of them by default."""
    pythons = {python_of(rival) for rival in rivals}
    return {
        name: number
        for python in sorted(pythons)
        if python.exists()
        for name, number in _examined(python)["versions"].items()
    }


def ask(rival: str, task: Task, epsilon: float) -> tuple[np.ndarray, float]:
    """Shares of the labels for the rows that are asked about, and processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        rows, shares = Path(folder, "rows.npz"), Path(folder, "shares.npy")
        codes = task.codes.astype(float)
        np.savez(rows, X=codes[task.train], y=task.labels[task.train], asked=codes[task.test])
        job = {
            "rival": rival, "epsilon": epsilon, "delta": DELTA, "rho": zcdp(epsilon),
            "seed": task.seed, "n_labels": task.n_labels,
            "tops": task.tops.tolist(), "categorical": task.categorical.tolist(),
            "rows": str(rows), "shares": str(shares),
        }  # fmt: skip
        told = _answer(python_of(rival), json.dumps(job))
        if "error" in told:
            raise Refused(told["error"])
        return np.load(shares), told["seconds"]


def _answer(python: Path, job: str) -> dict[str, Any]:
    """Of a process that stays, since loading takes longer than learning; it ends with its standard input."""
    if python not in RUNNING:
        RUNNING[python] = subprocess.Popen(
            [str(python), installed.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=_environment(),
        )  # fmt: skip
    process, line = RUNNING[python], ""
    assert process.stdin is not None and process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write(job + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    if not line:
        raise Refused(f"the process ended with code {end(python)}")
    return dict(json.loads(line))


def end(python: Path) -> int:
    """End the process of an environment, and say with what code it did."""
    process = RUNNING.pop(python)
    with suppress(BrokenPipeError), process:
        pass
    return process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, **ONE_THREAD}
