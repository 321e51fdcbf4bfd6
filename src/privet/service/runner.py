"""The runner: takes jobs from the queue, a process each, and keeps what they leave.

One thread of the service. All that it knows lies in the database and in the folders of jobs, so that a
service that was killed at any moment goes on from there: see `recover`.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from privet.errors import PrivetError
from privet.service import jobs
from privet.service.house import House
from privet.service.members import CONSOLE
from privet.service.models import model_file
from privet.service.processes import start
from privet.service.refusals import Conflict
from privet.service.results import RESULT, read_result, write_whole
from privet.service.tables import Listed, copy_of, listed

log = logging.getLogger("privet.service")

BEAT, PAUSE = 0.1, 5.0
"""Seconds between two looks, and after one that failed."""

DAY = 24 * 3600


class Runner:
    """See the module."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._running: dict[str, Any] = {}
        self._ended: dict[str, int] = {}
        self._over = threading.Event()
        self._alone: IO[str] | None = None
        self._thread = threading.Thread(target=self._run, name="privet-runner", daemon=True)

    def start(self) -> None:
        """Take over what an earlier runner left, then work till `stop`; refused while another one works."""
        self._alone = alone(self.house)
        self.recover()
        self._thread.start()

    def stop(self) -> None:
        """Stop; jobs that run are lost."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        for process in self._running.values():
            _kill(process)
        if self._alone is not None:
            self._alone.close()

    def recover(self) -> None:
        """Keep whole results of jobs that ran when the service ended; those without one are lost.

        Folders that a killed service left go, for rows are in them.
        """
        for id, _, _ in jobs.stored(self.house, jobs.RUNNING):
            left = self.house.work / id / RESULT
            finished = left.stat().st_mtime if left.exists() else 0.0
            if not self._keep(id, finished):
                jobs.settle(self.house, id, jobs.LOST, "", finished)
        jobs_there = {id for (id,) in self.house.read("SELECT id FROM job")}
        for left in self.house.work.iterdir():
            # Folders of no job may belong to the command line; none of them is in use for longer than a day.
            if left.is_dir() and (left.name in jobs_there or left.stat().st_mtime < time.time() - DAY):
                shutil.rmtree(left, ignore_errors=True)

    def step(self) -> None:
        """Look once: keep what is done, stop what is over its time or cancelled, start what fits."""
        jobs.tell_settled(self.house)
        stored = {id for id, _, _ in jobs.stored(self.house, jobs.RUNNING)}
        for id, process in self._running.items():
            if process.poll() is None and (id not in stored or jobs.overdue(self.house, id)):
                _kill(process)
        ended = {id for id, process in self._running.items() if process.poll() is not None}
        # What could not be kept, or not be started, at an earlier look is ``running`` without a process.
        for id in ended | (stored - self._running.keys()):
            self._end(id)
        while jobs.taken(self.house) < self.house.settings.slots:
            claimed = jobs.claim(self.house)
            if claimed is None:
                return
            try:
                self._start(claimed)
            except (PrivetError, OSError):
                jobs.settle(self.house, claimed.id, jobs.FAILED, "", self.house.now())

    def _run(self) -> None:
        while not self._over.wait(BEAT):
            # A full disk or a busy database is no reason to stop for ever: the next look may find better.
            try:
                self.step()
            except Exception as error:
                log.error("the runner stumbled: %s", type(error).__name__)
                self._over.wait(PAUSE)

    def _start(self, job: jobs.Job) -> None:
        house, folder = self.house, self.house.work / job.id
        folder.mkdir(mode=0o700)
        task = _task(house, job, folder)
        self._running[job.id] = start(house, folder, task, [])

    def _end(self, id: str) -> None:
        """Keep what a process left, or that it left nothing; till that is on disk it is tried again."""
        ended = self._ended.setdefault(id, self.house.now())
        if not self._keep(id, ended):
            jobs.settle(self.house, id, jobs.FAILED, "", ended)
            shutil.rmtree(self.house.work / id, ignore_errors=True)
        process = self._running.pop(id, None)
        if process is not None:
            process.stdin.close()
        del self._ended[id]

    def _keep(self, id: str, finished: float) -> bool:
        """Keep the result of a job, if it is whole."""
        folder = self.house.work / id
        result = read_result(folder)
        if result is None:
            return False
        told = result.told
        if "why" in told:
            log.warning("job %s failed: %s", id, " < ".join(reversed(told["why"])))
        if result.model:
            model_file(self.house, id).parent.mkdir(mode=0o700, exist_ok=True)
            write_whole(model_file(self.house, id), result.model)
        answer = json.dumps(told["answer"]) if told["answer"] is not None else ""
        jobs.settle(self.house, id, told["state"], told["settled"], finished, answer)
        shutil.rmtree(folder)
        return True


def alone(house: House) -> IO[str]:
    """What nobody else may hold while jobs of a house are run; it is let go when it is closed."""
    held = (house.work / ".runner").open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.close()
        raise Conflict(
            "another service runs the jobs of this house.", "stop it, or start this one with --no-jobs."
        ) from None
    return held


def _linked_copy(house: House, table: str, target: Path) -> Listed:
    """Link the copy of a table; a refresh may take it away between the look and the link."""
    found = listed(house, CONSOLE, table)
    try:
        target.hardlink_to(copy_of(house, found))
    except FileNotFoundError:
        if listed(house, CONSOLE, table).copy == found.copy:
            raise
        return _linked_copy(house, table, target)
    return found


def _task(house: House, job: jobs.Job, folder: Path) -> dict[str, Any]:
    """What the process of a job is told: the copy, the request, and what was paid for it."""

    def linked(name: str, file: Path) -> str:
        # All that a process may see lies in its own folder.
        (folder / name).hardlink_to(file)
        return str(folder / name)

    assert job.receipt is not None
    found = _linked_copy(house, job.table, folder / "rows.parquet")
    (event,) = house.ledger.history(job.people, job.receipt.number - 1, 1)
    model = job.request.model
    return {
        "kind": "job",
        "request": job.request.to_dict(),
        "schema": found.schema.to_dict(),
        "copy": str(folder / "rows.parquet"),
        "people": job.people,
        "receipt": [job.receipt.account, job.receipt.number, job.receipt.hash, job.receipt.signature],
        "accounting": house.ledger.state(job.people).budget.accounting,
        "quote": [event["charges"], event.get("instead", [])],
        "models": {} if model is None else {model: linked("scored.privet", jobs.scored_file(house, model))},
        "memory": house.settings.memory,
        "cpu_seconds": 4 * job.seconds * (os.cpu_count() or 1) + 60,
    }


def _kill(process: Any) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
