"""Give a job to a fresh process: the rivals' environment, or ours where memory is measured."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RIVALS = ROOT / ".venv-rivals" / "bin" / "python"
ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def ask_rivals(name: str, job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Answer of ``bench.rivals`` to a job on some arrays."""
    if not RIVALS.exists():
        sys.exit("The rivals have no environment yet.\nHint: run `make bench` once, it builds .venv-rivals.")
    return _ask([str(RIVALS), "-m", "bench.rivals", name], job, arrays)


def ask_rivals_once(name: str, job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The same, kept under ``out`` until the rivals' part of the bench or the arrays change."""
    code = _digest(ROOT / "bench" / file for file in ("rivals.py", "folds.py"))
    asked = hashlib.sha256(json.dumps([name, job], sort_keys=True).encode())
    for key, array in sorted(arrays.items()):
        asked.update(f"{key} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    path = ROOT / "out" / "bench" / f"rivals-{code}" / f"{asked.hexdigest()[:20]}.json"
    return _kept(path, lambda: ask_rivals(name, job, arrays))


def ask_fresh(module: str, job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Answer of a module of ours, run in a process that has done nothing else."""
    return _ask([sys.executable, "-m", module], job, arrays)


def ask_kept(module: str, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers of a module of ours to many jobs, two at a time, each on one thread.

    An answer is kept under ``out`` until the code changes, so that a run that was interrupted goes on.
    """
    folder = ROOT / "out" / "bench" / _digest([*ROOT.glob("src/privet/**/*.py"), *ROOT.glob("bench/*.py")])

    def ask(job: dict[str, Any]) -> dict[str, Any]:
        found = _ask([sys.executable, "-m", module], job, {}, ONE_THREAD)
        print(f"   {', '.join(str(value) for value in job.values())}", file=sys.stderr, flush=True)
        return found

    def answer(job: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps([module, job], sort_keys=True)
        return _kept(folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json", lambda: ask(job))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(answer, jobs))


def _kept(path: Path, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a file holds, after asking for it if it is not there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".part").write_text(json.dumps(ask()))
        path.with_suffix(".part").rename(path)
    return json.loads(path.read_text())


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _ask(
    command: list[str],
    job: dict[str, Any],
    arrays: dict[str, np.ndarray],
    settings: dict[str, str] | None = None,
) -> dict[str, Any]:
    environment = {**os.environ, **(settings or {})}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "job.json").write_text(json.dumps(job))
        for name, array in arrays.items():
            np.save(Path(folder, f"{name}.npy"), array)
        run = subprocess.run(
            [*command, folder], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(run.stdout)
