"""Build the wheel and the source archive, and try them where they are to run: ``python -m tools.wheels``.

For every Python that is found, in a fresh environment outside of the repository: the wheel is installed with
all that it may need, `privet demo` plays, and tests that reach every room are run against what was
installed. The source archive is installed once, without extras.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""What the wheel is declared for."""

FOR_TESTS = ("hypothesis", "jsonschema", "onnxruntime", "pandas", "playwright", "polars", "pytest")
TESTS = (
    *("codes", "columns_by_name", "compiled_once", "dates", "kernels", "schema", "splits"),
    *("ledger_chain", "mechanisms", "model", "processes", "protected", "prepaid"),
    *("cli", "deployment", "exports", "notebook", "report", "tree"),
)


def found_pythons() -> Iterator[tuple[str, Path]]:
    """Versions and where they are: on the path, or below the folder of pyenv."""
    below = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS:
        on_path = [Path(path)] if (path := shutil.which(f"python{version}")) else []
        for python in [*sorted(below.glob(f"{version}.*/bin/python")), *on_path]:
            asked = subprocess.run([python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"],
                                   capture_output=True, text=True, check=False)  # fmt: skip
            if asked.stdout.strip() == version:
                yield version, python
                break


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive."""
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def run(*command: str | Path, cwd: Path) -> None:
    """Run a program, in an environment that shows it no other installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    print("$", *command, flush=True)
    subprocess.run(list(map(str, command)), cwd=cwd, env=kept, check=True)


def environment(python: str | Path, folder: Path, *needs: str | Path) -> Path:
    """A fresh environment with some packages; where its programs are."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", *needs, cwd=folder.parent)
    return folder / "bin"


def try_wheel(version: str, python: Path, wheel: Path, archive: Path, folder: Path) -> None:
    """Install, play the demo, run the tests."""
    programs = environment(python, folder / version, f"{wheel}[all]", *FOR_TESTS)
    elsewhere = folder / f"{version}-tests"
    with tarfile.open(archive) as packed:
        packed.extractall(elsewhere, filter="data")
    (top,) = elsewhere.iterdir()
    shutil.rmtree(top / "src")  # what is tested is what was installed
    run(programs / "privet", "--version", cwd=elsewhere)
    run(programs / "privet", "demo", "--out", elsewhere / "demo", cwd=elsewhere)
    files = [f"tests/test_{name}.py" for name in TESTS]
    run(programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, cwd=top)


def main() -> None:
    """Try all, or the versions that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", choices=[[], *VERSIONS], default=[])
    wanted = parser.parse_args().versions or VERSIONS
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        wheel, archive = built(folder / "dist")
        pythons = {version: python for version, python in found_pythons() if version in wanted}
        programs = environment(sys.executable, folder / "sdist", archive)
        run(programs / "python", "-c", "import privet; privet.BoostingClassifier", cwd=folder)
        for version, python in pythons.items():
            try_wheel(version, python, wheel, archive, folder)
    missing = [version for version in wanted if version not in pythons]
    print("tried:", *pythons, *(["; not there:", *missing] if missing else []))


if __name__ == "__main__":
    main()
