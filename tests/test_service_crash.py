"""Killed at every row of the table of states: charged once, run once, released once, nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from houses import ADA, COUNT, QUICK, Clock, make_house
from privet.service import jobs, people
from privet.service.house import House
from privet.service.runner import Runner

TIMES = int(os.environ.get("PRIVET_KILLS", "1"))

PROGRAM = """
import os, signal, sys, time
sys.path.insert(0, {tests!r})
from houses import ADA, COUNT, QUICK, Clock
from privet.service import jobs, models, runner
from privet.service.house import House
from privet.privacy.store import Sqlite

def die(*args, **more):
    os.kill(os.getpid(), signal.SIGKILL)

def before(home, name):
    setattr(home, name, die)

def after(home, name, unless=lambda *args: False):
    done = getattr(home, name)
    def both(*args, **more):
        found = done(*args, **more)
        if not unless(found):
            die()
        return found
    setattr(home, name, both)

house = House({folder!r}, QUICK, Clock())
{crash}
job = jobs.submit(house, ADA, "visits", COUNT, "the-key-of-ada")
working = runner.Runner(house)
working.recover()
until = time.monotonic() + 60
while time.monotonic() < until:
    working.step()
    if jobs.stored(house, jobs.FINISHED):
        house.clock.ahead += 1000
        jobs.job(house, ADA, job.id)
        die()
    time.sleep(0.02)
"""

# Where it is killed, and what the job may be afterwards.
ROWS = {
    "no commit": ("before(Sqlite, 'commit')", {jobs.RELEASED}, 0),
    "charged and queued": ("after(jobs, 'submit')", {jobs.RELEASED}, 1),
    "running, no process": ("before(runner.Runner, '_start')", {jobs.LOST}, 1),
    "running, a process": ("after(runner.Runner, '_start')", {jobs.LOST, jobs.RELEASED}, 1),
    "a whole file": ("runner.jobs.settle = die", {jobs.RELEASED}, 1),
    "stored": ("after(runner.jobs, 'settle')", {jobs.RELEASED}, 1),
    "released": ("", {jobs.RELEASED}, 1),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "house"
    make_house(folder).close()
    return folder


@pytest.mark.parametrize("row", ROWS)
def test_killed_at_a_row_of_the_table(row, made, tmp_path):
    for time_of in range(TIMES):
        check_killed(row, made, tmp_path / str(time_of))


def check_killed(row, made, folder):
    crash, allowed, charges = ROWS[row]
    subprocess.run(["cp", "-r", made, folder], check=True)
    tests = str(Path(__file__).parent)
    program = PROGRAM.format(tests=tests, folder=str(folder), crash=crash)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    house = House(folder, QUICK, Clock())
    house.clock.ahead = 2000
    assert number_of_charges(house) == charges
    shown = [models_of(house)]
    runner = Runner(house)
    runner.recover()
    job = jobs.submit(house, ADA, "visits", COUNT, "the-key-of-ada")
    until = time.monotonic() + 60
    while jobs.job(house, ADA, job.id).state not in jobs.STATES[3:] and time.monotonic() < until:
        runner.step()
        if jobs.stored(house, jobs.FINISHED):
            house.clock.ahead += 1000
        time.sleep(0.02)
    job = jobs.job(house, ADA, job.id)
    assert job.state in allowed
    assert number_of_charges(house) == 1 and len(jobs.jobs(house, ADA)) == 1
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0.1
    assert shown[0] in (None, job.answer), "another answer was released after the crash"
    house.ledger.verify()
    again = Runner(house)
    again.recover()
    again.step()
    assert jobs.job(house, ADA, job.id) == job
    house.close()


def number_of_charges(house):
    return sum(event["kind"] == "charge" for event in house.ledger.history("patients"))


def models_of(house):
    """The answer that was shown before, if the service had come so far."""
    found = [job.answer for job in jobs.jobs(house, ADA) if job.state == jobs.RELEASED]
    return found[0] if found else None
