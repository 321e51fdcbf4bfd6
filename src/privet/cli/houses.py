"""Houses on this machine, for commands that keep them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privet.service.house import House


@contextmanager
def opened(folder: Path) -> Iterator[House]:
    """A house, made where there is none; a service may serve it meanwhile."""
    house = House(folder)
    try:
        yield house
    finally:
        house.close()
