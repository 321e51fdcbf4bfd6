"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.errors import UnknownAccount
from privet.privacy import Account, Ledger

Data = Annotated[Path, typer.Argument(metavar="DATA", help="Table: .csv, .csv.gz or .parquet.")]
SchemaFile = Annotated[Path, typer.Option("--schema", metavar="FILE", help="Schema in JSON.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="Ledger; by default DATA.ledger.")
]
Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Account in the ledger; by default the data's file name.")
]


def ledger_path(data: Path, ledger: Path | None) -> Path:
    """Where the ledger of a table lies."""
    return ledger or data.with_name(data.name + ".ledger")


def open_account(data: Path, ledger: Path | None, name: str | None) -> Account:
    """Account of a table; a ledger that does not exist is not made."""
    path = ledger_path(data, ledger)
    if not path.exists():
        raise UnknownAccount(
            f"no budget has been set for {name or data.name!r}: there is no ledger {str(path)!r}.",
            f"its owner sets one, for example: privet budget create {data} --epsilon 1",
        )
    return Ledger(path).account(name or data.name)
