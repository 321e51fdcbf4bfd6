"""Peak memory of a fit above its input, in a process of its own.

``python -m bench.memory FOLDER`` is that process: it reads the rows from a folder and prints JSON.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import made
from bench.report import Result, Skipped, at_most
from bench.runner import ask_fresh
from privet import MajorityForestClassifier

ROWS, TREES, DEPTH = 1_000_000, 100, 12
AIM = 2
STATUS = Path("/proc/self/status")


def run(quick: bool) -> Result:
    if not STATUS.exists():
        raise Skipped("the peak of a process can be read on Linux only.")
    X, y = made.rows(ROWS)
    shape = {"n_trees": TREES, "max_depth": DEPTH}
    peak = ask_fresh("bench.memory", shape, {"X": X, "y": y})["peak_mb"]
    codes = X.size * np.dtype(np.uint16).itemsize / 1e6
    what = f"majority forest, {TREES} trees, depth {DEPTH}"
    row = {"fit": what, "peak MB": peak, "codes MB": codes, "x": peak / codes, **at_most(peak / codes, AIM)}
    notes = [
        f"{ROWS:,} rows x {made.WIDTH} floats ({X.nbytes / 1e6:.0f} MB). Highest resident memory during the "
        "fit less resident memory before it, after a fit of 1,000 rows. x = peak over what the codes take."
    ]
    return Result("peak memory of a fit above its input", [row], notes)


def main() -> None:
    measure(lambda job: MajorityForestClassifier(schema=made.schema(), **job))


def measure(learner: Callable[[dict[str, Any]], Any]) -> None:
    """Fit a job's learner to the rows in the folder that was named, and print its peak."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    learner(job).fit(X[:1000], y[:1000])
    Path("/proc/self/clear_refs").write_text("5")
    before = _kilobytes("VmRSS")
    learner(job).fit(X, y)
    print(json.dumps({"peak_mb": (_kilobytes("VmHWM") - before) * 1024 / 1e6}))


def _kilobytes(field: str) -> int:
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(field))


if __name__ == "__main__":
    main()
