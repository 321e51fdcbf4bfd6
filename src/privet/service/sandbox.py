"""How a process is shut in: no network, bounded memory and time, nothing of the service's environment.

Where bubblewrap is installed it sees the system read-only and its own folder, and nothing else of the house.
Else, where the kernel lets users have namespaces of their own, the house's other folders are hidden from it
under empty ones, those of other processes too; it can signal no process, and it has no network. `walls` says
which; the service prints it when it starts.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "NUMBA_CACHE_DIR",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
)
"""What of the environment a job sees: nothing that could be a secret."""

MOST_FILE = 8 << 30


SHOW = (
    'mount --bind "$1" "$3" && mount -t tmpfs -o size=64k,mode=500 none "$2" && mkdir "$1"'
    ' && mount --move "$3" "$1" && cd "$1" || exit 9; shift 2; '
)
"""Covers the folder in which its own lies among others: all that is left there is its own."""
HIDE = 'while [ "$1" != -- ]; do mount -t tmpfs -o size=4k,mode=0 none "$1" || exit 9; shift; done; shift; '
LOCK = 'exec unshare --map-current-user -- "$@"'
"""Covers folders, then goes on in a namespace in which no cover can be taken away."""


@lru_cache(maxsize=1)
def walls() -> str:
    """What shuts processes in here: ``bubblewrap``, ``namespaces``, or ``nothing``."""
    if shutil.which("bwrap") and _works(_bubblewrap([], [])):
        return "bubblewrap"
    if shutil.which("unshare"):
        with tempfile.TemporaryDirectory() as folder:
            own, hidden = Path(folder) / "work" / "own", Path(folder) / "hidden"
            own.mkdir(parents=True)
            hidden.mkdir()
            if _works(_unshare(own, [hidden])):
                return "namespaces"
    return "nothing"


def command(readable: Sequence[Path], own: Path, hidden: Sequence[Path], network: bool = False) -> list[str]:
    """What goes before a program that is to be shut in.

    Parameters
    ----------
    readable : sequence of paths
        What it may read besides the system.
    own : Path
        Its folder, which it may write to, in a folder of such folders.
    hidden : sequence of paths
        What it must not see.
    network : bool
        Whether it must reach the network, to copy from an owner's database: it is not shut in then.
    """
    if network or walls() == "nothing":
        return []
    return _bubblewrap(readable, [own]) if walls() == "bubblewrap" else _unshare(own, hidden)


def environment(temporary: Path, network: bool = False) -> Mapping[str, str]:
    """The environment of a process; one that copies from a database has what its driver reads."""
    kept = [*KEPT, *(name for name in os.environ if network and name.startswith("PG"))]
    return {name: os.environ[name] for name in kept if name in os.environ} | {"TMPDIR": str(temporary)}


def limit(memory: int, cpu_seconds: int) -> None:
    """Bound this process, for good: called by a job before it does anything."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, MOST_FILE),
        (resource.RLIMIT_NOFILE, 256),
    ):
        hard = resource.getrlimit(what)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (bound, bound))


def _unshare(own: Path, hidden: Sequence[Path]) -> list[str]:
    apart = [
        "unshare",
        "--map-root-user",
        "--mount",
        "--net",
        "--ipc",
        "--pid",
        "--fork",
        "--kill-child",
        "--",
    ]
    folders = map(str, (own, own.parent, *hidden))
    return [*apart, "sh", "-c", SHOW + HIDE + LOCK, "sh", *folders, "--"]


def _bubblewrap(readable: Sequence[Path], writable: Sequence[Path]) -> list[str]:
    read = [str(path) for path in (*map(Path, ("/usr", "/etc", "/lib", "/lib64", "/bin", "/opt")), *_code())]
    binds = [part for path in read for part in ("--ro-bind-try", path, path)]
    binds += [part for path in readable for part in ("--ro-bind", str(path), str(path))]
    binds += [part for path in writable for part in ("--bind", str(path), str(path))]
    shut = ["--unshare-all", "--die-with-parent"]
    return ["bwrap", *shut, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", *binds, "--"]


def _code() -> list[Path]:
    """Where Python and its packages lie."""
    found = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2], *map(Path, sys.path)}
    return sorted(path for path in found if path.is_dir())


def _works(prefix: Sequence[str]) -> bool:
    try:
        done = subprocess.run(
            [*prefix, sys.executable, "-c", ""], capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
