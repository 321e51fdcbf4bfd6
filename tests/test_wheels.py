"""What the tool for wheels knows agrees with what is declared."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from tools import wheels

PROJECT = tomllib.loads((wheels.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_version_that_is_declared_is_tried():
    prefix = "Programming Language :: Python :: 3."
    declared = {line.removeprefix(prefix) for line in PROJECT["classifiers"] if line.startswith(prefix)}
    assert [f"3.{minor}" for minor in sorted(map(int, declared))] == list(wheels.VERSIONS)
    assert PROJECT["requires-python"] == f">={wheels.VERSIONS[0]}"


def test_tests_that_are_run_against_a_wheel_are_there():
    assert all((wheels.ROOT / f"tests/test_{name}.py").exists() for name in wheels.TESTS)


def test_pythons_are_found_by_what_they_say_of_themselves(tmp_path, monkeypatch):
    folder = tmp_path / "versions" / "3.12.0" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text("#!/bin/sh\necho 3.11\n", encoding="utf-8")
    (folder / "python").chmod(0o755)
    (tmp_path / "python3.14").write_text("#!/bin/sh\necho 3.14\n", encoding="utf-8")
    (tmp_path / "python3.14").chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = dict(wheels.found_pythons())
    assert "3.12" not in found or not found["3.12"].is_relative_to(tmp_path)
    assert found["3.14"] == tmp_path / "python3.14"


def test_programs_are_run_without_what_points_elsewhere(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", str(Path(wheels.__file__).parents[1] / "src"))
    wheels.run(sys.executable, "-c", "import os; print(os.environ.get('PYTHONPATH'))", cwd=tmp_path)
    assert capfd.readouterr().out.endswith("None\n")
    with pytest.raises(Exception, match="non-zero exit status 3"):
        wheels.run(sys.executable, "-c", "raise SystemExit(3)", cwd=tmp_path)
