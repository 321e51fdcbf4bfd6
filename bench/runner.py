"""Give a job to a fresh process: the rivals' environment, or ours where memory is measured."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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


def ask_fresh(module: str, job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Answer of a module of ours, run in a process that has done nothing else."""
    return _ask([sys.executable, "-m", module], job, arrays)


def ask_kept(module: str, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers of a module of ours to many jobs, two at a time, each on one thread.

    An answer is kept under ``out`` until the code changes, so that a run that was interrupted goes on.
    """
    folder = ROOT / "out" / "bench" / _code_digest()
    folder.mkdir(parents=True, exist_ok=True)

    def answer(job: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps([module, job], sort_keys=True)
        path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"
        if not path.exists():
            found = _ask([sys.executable, "-m", module], job, {}, ONE_THREAD)
            path.with_suffix(".part").write_text(json.dumps(found))
            path.with_suffix(".part").rename(path)
            print(f"   {', '.join(str(value) for value in job.values())}", file=sys.stderr, flush=True)
        return json.loads(path.read_text())

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(answer, jobs))


def _code_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("src/privet/**/*.py"), *ROOT.glob("bench/*.py")]):
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
