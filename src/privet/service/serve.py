"""Serve a house: one process, no set-up. ``--demo`` makes a house of invented people to try it."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from privet.errors import PrivetError
from privet.privacy import Budget
from privet.service import members, people, tables
from privet.service.house import House
from privet.service.runner import alone
from privet.service.sample import DEMO_SCHEMA, invented_patients
from privet.service.sandbox import walls
from privet.service.web import make_app
from privet.service.who import ANALYST, OFFICER, OWNER

DEMO = {"olga": OWNER, "ada": ANALYST, "bob": ANALYST, "omar": OFFICER}
DEMO_RULES = {"most_epsilon": "1", "approval_above": "0.5", "most_delta": "1e-6"}
DEMO_ROWS = 12_000


def make_demo(house: House) -> None:
    """An invented table of patients, an owner, two analysts and an officer; nothing where there is one."""
    if house.read("SELECT 1 FROM member"):
        return
    console = members.CONSOLE
    for name, role in DEMO.items():
        members.add_member(house, console, name, role)
    about = "Invented patients of an invented hospital."
    people.create_people(house, console, "patients", Budget(3, "1e-6"), about)
    for name in ("ada", "bob"):
        people.set_cap(house, console, "patients", name, Budget(2, "1e-6"))
    invented_patients(DEMO_ROWS, house.tables / "patients.csv")
    tables.register(
        house, console, "patients", "patients", "file:patients.csv", DEMO_SCHEMA.to_dict(), DEMO_RULES
    )


def links(house: House, address: str) -> dict[str, str]:
    """A one-time link for every member who has not signed in yet and is not closed."""
    found = {}
    for member in members.members(house, members.CONSOLE):
        if member.closed is None:
            found[member.name] = f"{address}/enter/{members.make_link(house, members.CONSOLE, member.name)}"
    return found


def listen(host: str, port: int) -> socket.socket:
    """The socket of a service; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        taken.listen(1024)
    except OSError as error:
        taken.close()
        raise PrivetError(f"cannot listen on {host}:{port} ({error.strerror}).", "choose a --port.") from None
    return taken


def run(house: House, taken: socket.socket, jobs: bool = True, proxy: str | None = None) -> None:
    """Serve till somebody stops it."""
    if jobs:
        alone(house).close()
    app = make_app(house, jobs, secure=proxy is not None)
    config: dict[str, Any] = {
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "limit_concurrency": 200,
        "timeout_keep_alive": 10,
        "proxy_headers": proxy is not None,
        "forwarded_allow_ips": proxy,
    }
    uvicorn.Server(uvicorn.Config(app, **config)).run(sockets=[taken])


def shut_in() -> str:
    """What shuts jobs in here, in words."""
    return {
        "bubblewrap": "Jobs see their own folder and reach no network (bubblewrap).",
        "namespaces": "Jobs see their own folder of the house and reach no network (namespaces).",
        "nothing": "JOBS ARE NOT SHUT IN: install bubblewrap, or let users have namespaces.",
    }[walls()]
