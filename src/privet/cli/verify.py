"""``privet verify``: whether a model, or a statement, is what it says, and is paid for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.houses import opened
from privet.cli.output import out, table
from privet.cli.owner import show_checks
from privet.client import connect
from privet.errors import QuestionError
from privet.privacy.records import read_heads, read_statement
from privet.service.members import CONSOLE
from privet.service.verifying import Check
from privet.service.verifying import verify as verified


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model, or a statement in JSON.")],
    house: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the house.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="A service; PRIVET_TOKEN signs in.")] = None,
    witness: Annotated[Path | None, typer.Option(metavar="FILE", help="Heads kept elsewhere.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The ledger's public key.")] = None,
) -> int:
    """Check a model against the ledger that paid for it, or a signed statement. Exit code 5 if it fails."""
    if file.suffix == ".json":
        return _statement(json.loads(file.read_text(encoding="utf-8")), key)
    if house is not None:
        with opened(house) as found:
            heads = read_heads(witness) if witness else ()
            return show_checks(verified(found, CONSOLE, file.read_bytes(), heads).checks)
    if url is None:
        raise QuestionError("a model is checked against a ledger.", "name --house DIR or --url URL.")
    service = connect(url, os.environ.get("PRIVET_TOKEN"))
    return show_checks(Check(**check) for check in service.verify(file)["checks"])


def _statement(data: Any, key: str | None) -> int:
    state, head = read_statement(data, key)
    rows = [("budget", str(state.budget)), ("spent", str(state.spent()))]
    rows += [(name, f"spent {each.spending.on()}") for name, each in sorted(state.analysts.items())]
    rows += [("head", f"event {head.number}, {head.hash[:16]}…"), ("key", head.key)]
    out.print(table(["statement", str(data["account"])], rows))
    if key is None:
        out.print("The signature shows who has that key: get it by a way you trust and give it with --key.")
    return 0
