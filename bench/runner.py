"""Give a job to a fresh process: the rivals' environment, or ours where memory is measured."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RIVALS = ROOT / ".venv-rivals" / "bin" / "python"


def ask_rivals(name: str, job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Answer of ``bench.rivals`` to a job on some arrays."""
    if not RIVALS.exists():
        sys.exit("The rivals have no environment yet.\nHint: run `make bench` once, it builds .venv-rivals.")
    return _ask([str(RIVALS), "-m", "bench.rivals", name], job, arrays)


def ask_fresh(module: str, job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Answer of a module of ours, run in a process that has done nothing else."""
    return _ask([sys.executable, "-m", module], job, arrays)


def _ask(command: list[str], job: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "job.json").write_text(json.dumps(job))
        for name, array in arrays.items():
            np.save(Path(folder, f"{name}.npy"), array)
        run = subprocess.run([*command, folder], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)
