"""``privet serve``: owners let analysts learn from tables that they never see."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from privet.cli.output import out
from privet.errors import PrivetError, QuestionError


def serve(
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the house.")] = None,
    port: Annotated[
        int, typer.Option(metavar="P", min=0, max=65535, help="0 takes any that is free.")
    ] = 8000,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    demo: Annotated[bool, typer.Option("--demo", help="Invented patients, an owner, analysts.")] = False,
    no_jobs: Annotated[bool, typer.Option("--no-jobs", help="Another host runs the jobs.")] = False,
    behind_proxy: Annotated[
        str | None,
        typer.Option(metavar="IP", help="A proxy that speaks HTTPS and may say who is behind it."),
    ] = None,
) -> None:
    """Serve tables to analysts who never see them: pages, an API, one process."""
    try:
        from privet.service import serve as service
        from privet.service.clock import is_measured, measure
        from privet.service.house import House
    except ModuleNotFoundError:
        raise PrivetError("a service needs more packages.", "pip install 'privet[serve]'") from None
    if data is None and not demo:
        raise QuestionError("a house needs a folder.", "name one with --data DIR, or try it with --demo.")
    house = House(data or tempfile.mkdtemp(prefix="privet-demo-"))
    taken = service.listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{taken.getsockname()[1]}"
    if not is_measured(house):
        out.print("Measuring this machine on invented rows, once: up to a minute …")
    measure(house)
    if demo:
        service.make_demo(house)
    out.print(Text.assemble(("PRIVET", "bold"), f" at {address}, the house in {house.data}"), soft_wrap=True)
    out.print(service.shut_in(), soft_wrap=True)
    if demo:
        out.print("Each link signs in once; for programs make a token on the page of your name.")
        for name, link in service.links(house, address).items():
            out.print(f"{name:<6} {service.DEMO.get(name, ''):<8} {link}", soft_wrap=True)
    else:
        out.print("Add members and links with `privet owner member` on this machine.", soft_wrap=True)
    service.run(house, taken, not no_jobs, behind_proxy)
