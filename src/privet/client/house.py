"""A service as an analyst has it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from privet.client.pending import Pending
from privet.client.table import BYTES, RemoteJob, RemoteTable, Show
from privet.client.wire import Wire
from privet.errors import QuestionError


def connect(
    url: str, token: str | None = None, *, state: str | Path | None = None, show: Show | None = None
) -> RemoteHouse:
    """Connect to a service that lets tables be learnt from which nobody but their owner sees.

    Parameters
    ----------
    url : str
        Its address.
    token : str, optional
        By default the environment's PRIVET_TOKEN.
    state : path, optional
        Folder in which keys of requests are kept till they are answered, so that a program that dies finds
        its answer again: by default below the user's own.
    show : callable, optional
        Told the state of a job, a line at a time: by default standard error.

    Returns
    -------
    RemoteHouse

    Examples
    --------
    With a service at that address::

        house = privet.connect("https://privet.example", token)
        model = privet.BoostingClassifier(epsilon=0.5).fit(house.table("patients"))
    """
    secret = token or os.environ.get("PRIVET_TOKEN")
    if not secret:
        raise QuestionError("a service needs a token.", "give one, or set PRIVET_TOKEN.")
    wire = Wire(url, secret, show or _show)
    try:
        return RemoteHouse(wire, Pending(state), show or _show)
    except BaseException:
        wire.close()
        raise


class RemoteHouse:
    """A service: see `connect`."""

    def __init__(self, wire: Wire, pending: Pending, show: Show) -> None:
        self._wire, self._pending, self._show = wire, pending, show
        self.me = wire.greet()

    def __repr__(self) -> str:
        return f"<RemoteHouse {self._wire.url} as {self.me}>"

    def tables(self) -> list[str]:
        """Names of the tables that may be asked."""
        return [table["name"] for table in self._wire.ask("GET", "/tables")]

    def table(self, name: str) -> RemoteTable:
        """One of them."""
        return RemoteTable(self._wire, name, self.me, self._pending, self._show)

    def jobs(self) -> list[RemoteJob]:
        """Own jobs, newest first."""
        return [RemoteJob(self._wire, told, self._show) for told in self._wire.ask("GET", "/jobs")]

    def job(self, id: str) -> RemoteJob:
        """One of them."""
        return RemoteJob(self._wire, self._wire.ask("GET", f"/jobs/{id}"), self._show)

    def verify(self, file: str | Path) -> dict[str, Any]:
        """Whether a model file is what it says, and paid for."""
        found: dict[str, Any] = self._wire.ask(
            "POST", "/verify", content=Path(file).read_bytes(), headers=BYTES
        )
        return found

    def close(self) -> None:
        """End the connection."""
        self._wire.close()


def _show(line: str) -> None:
    sys.stderr.write(line + "\n")
