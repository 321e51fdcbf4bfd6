"""What is loaded and compiled is what is used, and no more; and whoever waits for it is told once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import privet
from privet.cli.app import COMMANDS
from privet.estimators import CLASSIFIERS
from privet.progress import COMPILING

HEAVY = {"matplotlib", "numba", "pandas", "polars", "pyarrow", "scipy", "sklearn"}

MEASURED = """
import json, sys, time
{code}
loaded = {{name.partition(".")[0] for name in sys.modules}}
sys.stderr.write(json.dumps({{"loaded": sorted(loaded), "cpu": time.process_time()}}))
"""

FIT = """
import logging
import numpy as np
import privet
from privet.estimators import CLASSIFIERS
logging.basicConfig(level="INFO", format="%(message)s")
X = np.random.default_rng(0).random((500, 2))
schema = privet.Schema([privet.Continuous(n, 0, 1) for n in "xz"], privet.Label("y", [0, 1]))
CLASSIFIERS[{name!r}](epsilon=50, schema=schema).fit(X, (X[:, 0] > 0.5).astype(int))
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def loaded_by(code: str) -> tuple[set[str], float]:
    told = json.loads(run(MEASURED.format(code=code)).splitlines()[-1])
    return set(told["loaded"]), told["cpu"]


def test_importing_the_library_loads_nothing_heavy():
    loaded, seconds = loaded_by("import privet")
    assert not loaded & (HEAVY | {"numpy", "rich", "typer"})
    assert seconds < 0.7


def test_the_version_is_told_without_loading_the_library():
    loaded, seconds = loaded_by("from privet.cli.main import main; main(['--version'])")
    assert "typer" in loaded and not loaded & (HEAVY | {"numpy"})
    assert seconds < 0.5


def test_a_schema_and_a_ledger_need_no_learner():
    assert not loaded_by("import privet; privet.Schema")[0] & HEAVY
    loaded, _ = loaded_by("import privet; privet.Ledger, privet.Budget, privet.load_model")
    assert not loaded & {"matplotlib", "pandas", "sklearn"}


def test_the_budget_is_shown_without_loading_learners():
    loaded, _ = loaded_by("from privet.cli.main import main; main(['budget', 'show', '--help'])")
    assert not loaded & {"matplotlib", "pandas", "sklearn"}


@pytest.mark.parametrize("name", privet.__all__)
def test_every_name_is_there(name):
    assert getattr(privet, name) is not None and name in dir(privet)


def test_names_and_rooms_come_when_they_are_asked_for():
    told = "import privet\n" + "\n".join(f"assert privet.{name} is not None" for name in privet.__all__[::-1])
    run(told + "\nprivet.parties.merge, privet.errors.DataError")
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        privet.Forest  # noqa: B018
    with pytest.raises(ImportError):
        from privet import Forest  # noqa: F401


def test_every_command_is_found(capsys):
    from privet.cli.app import run as privet_command

    for name in COMMANDS:
        assert privet_command([name, "--help"]) == 0
        assert f"privet {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_compiling_is_told_once_and_only_when_it_happens(name, tmp_path):
    fresh = {"NUMBA_CACHE_DIR": str(tmp_path)}
    code = FIT.format(name=name)
    assert run(code, **fresh).count(COMPILING) == 1
    assert COMPILING not in run(code, **fresh)
