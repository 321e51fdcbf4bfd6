"""``house.toml``: what whoever runs a service decides, in the house's own folder. All of it may be left out.

::

    ledger = "postgresql://db.example/privet"    # instead of a file, for several hosts
    slots = 2                                    # jobs at a time
    longest = 86400                              # seconds that a job may be planned to take

    [sources]                                    # databases that tables may be registered from, by name
    clinic = "postgresql://dwh.example/clinic"

    [openid]                                     # sign in by an OpenID provider
    issuer = "https://login.example"
    client = "privet"                            # its secret is the environment's PRIVET_OPENID_SECRET
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from privet.errors import QuestionError


@dataclass(frozen=True)
class Settings:
    """What whoever runs a service decides.

    Attributes
    ----------
    slots : int
        Jobs that run at a time.
    start_seconds, row_seconds : float or None
        What a job takes at least, and for a row in a unit of work (see `privet.service.clock`): measured on
        invented rows when the service starts for the first time, unless they are given.
    longest : int
        Seconds that a job may be planned to take; what would take longer is refused before it is charged.
    memory : int
        Bytes that a job may have.
    burst, a_second : float
        Requests of one member: at once, and a second on average.
    ledger : str or None
        Address of PostgreSQL; None for a file in the house.
    sources : mapping
        Addresses of databases, by name.
    openid : mapping
        ``issuer`` and ``client``; empty for none.
    """

    slots: int = 1
    start_seconds: float | None = None
    row_seconds: float | None = None
    longest: int = 24 * 3600
    memory: int = 16 << 30
    burst: float = 120
    a_second: float = 20
    ledger: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    openid: Mapping[str, str] = field(default_factory=dict)


NUMBERS = ("slots", "start_seconds", "row_seconds", "longest", "memory", "burst", "a_second")


def read_settings(folder: Path, given: Settings | None = None) -> Settings:
    """The settings of a house: those of its file, on top of what is given."""
    settings, file = given or Settings(), folder / "house.toml"
    if not file.exists():
        return settings
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise QuestionError(f"{str(file)!r} is no TOML.", "see the documentation of the service.") from None
    known = {each.name for each in fields(Settings)}
    if set(data) - known or not all(_sound(name, value) for name, value in data.items()):
        raise QuestionError(
            f"{str(file)!r} cannot be understood.", f"it may have {', '.join(sorted(known))}."
        )
    return replace(settings, **data)


def _sound(name: str, value: Any) -> bool:
    if name in NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    if name == "ledger":
        return isinstance(value, str)
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
