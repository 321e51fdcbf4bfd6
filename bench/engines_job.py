"""One fit from one place, in a process of its own: seconds, processor seconds, highest resident memory.

``python -m bench.engines_job FOLDER`` reads the job from a folder and prints JSON. ``table`` is the path of a
Parquet file, which is read whole where the engine is memory, or an address.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pa_parquet

from bench import made_places
from privet import Budget, Ledger, protect
from privet.engines.memory import MemoryEngine
from privet.engines.stream import StreamEngine
from privet.estimators import CLASSIFIERS
from privet.privacy import Repeatable

STATUS = Path("/proc/self/status")


def fit(job: dict) -> dict:
    """Fit a learner, under noise that is the same everywhere."""
    estimator = CLASSIFIERS[job["learner"]](epsilon=1)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    _warm(estimator)
    before = kilobytes("VmRSS")
    passes = _timed_passes()
    start, busy = time.perf_counter(), time.process_time()
    held = job["engine"] == "memory"
    source = pa_parquet.read_table(job["table"]) if held else job["table"]
    read = time.perf_counter() - start
    account = Ledger().create("rows", Budget(10))
    rows = protect(source, made_places.schema(), account, mechanisms=Repeatable(7))
    model = estimator.fit(rows).model_
    return {
        "seconds": time.perf_counter() - start,
        "busy": time.process_time() - busy,
        "read": read,
        "passes": passes,
        "before_mb": before * 1024 / 1e6,
        "peak_mb": kilobytes("VmHWM") * 1024 / 1e6,
        "model": digest(model),
    }


def _timed_passes() -> list[list[float]]:
    """Seconds and processor seconds of every pass from now on."""
    passes: list[list[float]] = []
    for kind in (MemoryEngine, StreamEngine):

        def timed(self, tally, real=kind.sum):
            start, busy = time.perf_counter(), time.process_time()
            total = real(self, tally)
            passes.append([time.perf_counter() - start, time.process_time() - busy])
            return total

        kind.sum = timed
    return passes


def digest(model) -> str:
    """Of all that a model holds."""
    found = hashlib.sha256()
    for name, array in sorted(model.to_file()[1].items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def _warm(estimator) -> None:
    """Compile what a fit needs, on few rows."""
    account = Ledger().create("few", Budget(10))
    few = next(made_places.pieces(2000))
    estimator.fit(protect(few, made_places.schema(), account, mechanisms=Repeatable(7)))


def kilobytes(field: str) -> int:
    """What the system says of this process."""
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(fit(json.loads(Path(sys.argv[1], "job.json").read_text()))))
