"""Shared fixtures, and the rule that a skipped test is a failure in continuous integration."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

from privet import Budget, Categorical, Continuous, Label, Ledger, Schema
from tests.servers.postgres import PASSWORD, Postgres, started


@pytest.fixture(autouse=True)
def threads(request):
    """Workers of the test run share the cores; the kernels' own tests take all of them."""
    wanted = numba.config.NUMBA_NUM_THREADS if request.path.name == "test_kernels.py" else 1
    numba.set_num_threads(wanted)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets."""
    return _folder("PRIVET_DATA")


@pytest.fixture(scope="session")
def more_data_dir() -> Path:
    """Folder of further data sets: numbers to predict, several rows a person."""
    return _folder("PRIVET_MORE_DATA")


def _folder(variable: str) -> Path:
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name a folder of data sets")
    return Path(os.environ[variable])


@pytest.fixture(scope="session")
def real_schemas(data_dir: Path) -> dict[str, Schema]:
    entries = json.loads((data_dir / "schema.json").read_text())["datasets"]
    return {name: Schema.from_dict(entry) for name, entry in entries.items()}


@pytest.fixture
def schema() -> Schema:
    """One feature of each kind, two labels."""
    features = [
        Continuous("height", 0.0, 2.5),
        Continuous("age", 0, 120, integer=True),
        Categorical("town", ["north", "south", "west"]),
    ]
    return Schema(features, Label("ill", ["no", "yes"]))


@pytest.fixture
def account():
    return Ledger().create("people", Budget(10))


@pytest.fixture
def people() -> dict[str, np.ndarray]:
    """Some rows that fit the schema."""
    rng = np.random.default_rng(5)
    return {
        "height": rng.uniform(0, 2.5, 500),
        "age": rng.integers(0, 121, 500),
        "town": rng.choice(["north", "south", "west"], 500),
        "ill": rng.choice(["no", "yes"], 500),
    }


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server, whose password is in the environment."""
    with started() as server, pytest.MonkeyPatch.context() as patched:
        patched.setenv("PGPASSWORD", PASSWORD)
        yield server


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and os.environ.get("CI") and reporter.stats.get("skipped"):
        reporter.write_line("a skipped test is a failure in continuous integration", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
