"""Peak memory of a fit above its input, in a process of its own.

``python -m bench.memory FOLDER`` reads the rows from a folder and prints JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np

from bench import made
from privet import MajorityForestClassifier

STATUS = Path("/proc/self/status")


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    forest = MajorityForestClassifier(schema=made.schema(), **job)
    forest.fit(X[:1000], y[:1000])
    Path("/proc/self/clear_refs").write_text("5")
    before = _kilobytes("VmRSS")
    forest.fit(X, y)
    print(json.dumps({"peak_mb": (_kilobytes("VmHWM") - before) * 1024 / 1e6}))


def _kilobytes(field: str) -> int:
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(field))


if __name__ == "__main__":
    main()
