"""The process of one job: it reads its task and a checked copy, asks, and leaves one file.

It holds no ledger and no key, and can reach no network where the system lets it be shut in. What it asks is
paid for by a `Prepaid` account that accepts exactly what was charged. Its answer is a file that appears whole
or not at all: a line of JSON and the bytes of a model, if there is one. When whoever started it is gone, so
is it: its standard input ends then.

Run as ``python -m privet.service.worker FOLDER``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from privet.service.results import TASK, write_result
from privet.service.sandbox import limit


def main(arguments: list[str]) -> int:
    """Do the task of a folder."""
    folder = Path(arguments[0])
    task = json.loads((folder / TASK).read_text())
    limit(task["memory"], task["cpu_seconds"])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        told, model = TASKS[task["kind"]](task, folder)
    except BaseException as error:
        write_result(folder, _failure(error), b"")
        return 1
    write_result(folder, told, model)
    return 0


def _end_with_parent() -> None:
    while os.read(0, 1 << 12):
        pass
    os._exit(3)


def _job(task: dict[str, Any], folder: Path) -> tuple[dict[str, Any], bytes]:
    from privet.model import load_model
    from privet.privacy import Charge, Prepaid, Quote, Receipt, protect
    from privet.schema import Schema
    from privet.service.work import Request, perform

    schema = Schema.from_dict(task["schema"])
    quote = Quote(*(tuple(map(Charge.from_dict, plan)) for plan in task["quote"]))
    paid = (task["people"], Receipt(*task["receipt"]), quote, schema.declared.fingerprint)
    payer = Prepaid(*paid, task["accounting"])
    rows = protect(task["copy"], schema, payer)
    done = perform(Request(**task["request"]), rows, lambda id: load_model(task["models"][id]))
    told = {"state": "released", "settled": payer.settled or "", "answer": None}
    if isinstance(done, dict):
        return {**told, "answer": done}, b""
    file = folder / "model.part"
    done.save(file)
    model = file.read_bytes()
    file.unlink()
    return told, model


def _copy(task: dict[str, Any], folder: Path) -> tuple[dict[str, Any], bytes]:
    from privet.engines.copied import checked_copy
    from privet.errors import PrivetError
    from privet.schema import Schema

    try:
        rows = checked_copy(task["source"], Schema.from_dict(task["schema"]), Path(task["target"]))
    except PrivetError as error:
        return {"state": "misfit", "message": error.message, "hint": error.hint}, b""
    return {"state": "ready", "rows": rows}, b""


def _look(task: dict[str, Any], folder: Path) -> tuple[dict[str, Any], bytes]:
    from privet.errors import PrivetError
    from privet.model import load_model
    from privet.model.steps import n_trees, steps

    try:
        model = load_model(folder / "model.privet")
        card, schema = model.card.to_dict(), model.schema
        told = {"card": card, "schema": schema.fingerprint, "kind": model.kind, "describe": model.describe()}
        work = {"trees": n_trees(model.scored), "steps": steps(model.scored)}
    except PrivetError as error:
        return {"state": "unsound", "message": error.message, "hint": error.hint}, b""
    return {"state": "sound", **told, **work}, b""


def _measure(task: dict[str, Any], folder: Path) -> tuple[dict[str, Any], bytes]:
    from privet.estimators import BoostingClassifier
    from privet.service.clock import size
    from privet.service.sample import DEMO_SCHEMA, invented_patients

    invented_patients(task["n_rows"], folder / "invented.csv")
    schema = replace(DEMO_SCHEMA, max_rows=task["n_rows"])
    learner = BoostingClassifier(epsilon=1.0, schema=schema)
    begun = time.monotonic()
    learner.fit(folder / "invented.csv")
    seconds, units = time.monotonic() - begun, size(learner.plan(schema), schema)[0]
    return {"state": "measured", "seconds": seconds, "units": units}, b""


TASKS = {"job": _job, "copy": _copy, "look": _look, "measure": _measure}


def _failure(error: BaseException) -> dict[str, Any]:
    """Where it failed, for whoever runs the service; not what the error says, for that may quote a row."""
    where = [f"{frame.name}, line {frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return {"state": "failed", "settled": "", "answer": None, "why": [type(error).__name__, *where]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
