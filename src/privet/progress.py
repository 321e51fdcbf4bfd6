"""What whoever waits is told: a bar while rows are read, a line when something is compiled first."""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

log = logging.getLogger("privet")

COMPILING = (
    "privet compiles its loops for this processor, which takes some seconds; they are kept for the next time."
)


class Notice(event.Listener):
    """Says once in a process that something is compiled: to the log, and to a person who looks on.

    What is compiled follows from the schema and the structure alone, so this tells of no row.
    """

    said = False

    def on_start(self, event: Any) -> None:
        """Called by numba before it compiles anything."""
        if self.said or not event.data["dispatcher"].py_func.__module__.startswith("privet."):
            return
        self.said = True
        log.info(COMPILING)
        looks_on = sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")
        if looks_on and not log.isEnabledFor(logging.INFO):
            sys.stderr.write(f"{COMPILING}\n")

    def on_end(self, event: Any) -> None:
        """Called when it has."""


event.register("numba:compile", Notice())  # type: ignore[no-untyped-call]


@contextmanager
def progress_bar(text: str, shown: bool = True) -> Iterator[Callable[[float], None] | None]:
    """Give a callable that takes the share done; None where nothing is shown."""
    if not shown:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        raise ImportError("progress bars need rich: pip install 'privet[cli]'") from None
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(text, total=1.0)
        yield lambda share: progress.update(task, completed=share)
