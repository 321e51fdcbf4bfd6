"""Arguments and options that several commands share."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from privet.checks import exact
from privet.data import Place, TextFile, is_address, is_pattern, located, table_files
from privet.errors import DataError, QuestionError, UnknownAccount
from privet.privacy import Account, Ledger

STANDARD = Path("-")
"""Standard input, or standard output."""


def number(text: Any) -> Fraction | float:
    """A number as it is written, without rounding: 0.1, 1e-6, 1/2; inf too.

    >>> number("1/2"), number("0.1"), number("1/3")
    (0.5, 0.1, Fraction(1, 3))
    """
    if str(text).strip().lower() in ("inf", "infinity"):
        return float("inf")
    try:
        found = exact(text, "the number")
    except QuestionError:
        raise typer.BadParameter(f"{text!r} is not a finite number. Write 0.5, 1e-6 or 1/2.") from None
    return float(found) if exact(float(found)) == found else found


def epsilon_of(what: str) -> Any:
    """An option --epsilon that takes decimals and fractions."""
    return typer.Option(metavar="E", parser=number, help=what)


def where(text: Any) -> Path | str:
    """Where rows lie: a path, or an address as it is written.

    >>> where("people.csv"), where("duckdb:///people.db?table=people")
    (PosixPath('people.csv'), 'duckdb:///people.db?table=people')
    """
    # Whether it is a sound one is asked later: what is wrong here is quoted by the parser, password and all.
    return str(text) if is_address(str(text)) else Path(text)


Data = Annotated[
    Any,
    typer.Argument(
        metavar="DATA",
        parser=where,
        help="Table: .csv, .tsv, .csv.gz, .parquet, .arrow, a folder or 'pattern*' of them; - reads CSV; "
        "duckdb:///FILE?table=NAME, postgresql://HOST/DB?table=NAME, spark:TABLE, or ?query=SELECT….",
    ),
]
Spill = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the private file of codes lies that are read again and again; 'none' for no file.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="COLUMN", help="Column that says which row is which, a primary key."),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="What separates the fields of a text file: ';', '|' or tab."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="How a text file is written: utf-8, latin-1, utf-16.")
]
SchemaFile = Annotated[Path, typer.Option("--schema", metavar="FILE", help="Schema in JSON.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Accounting = Annotated[
    str,
    typer.Option(
        metavar="WAY",
        help="How costs with a δ add up, for good: zcdp, or gdp (5 to 8 % less noise for boosting; "
        "learners that choose need ε).",
    ),
]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", metavar="FILE", help="Ledger; by default DATA.ledger.")
]
Name = Annotated[
    str | None, typer.Option(metavar="NAME", help="Account in the ledger; by default the data's file name.")
]


def spilling(spill: str | None) -> str | bool | None:
    """What the library calls the same."""
    return False if spill == "none" else spill


def open_place(data: Path | str, separator: str | None, encoding: str | None) -> Place:
    """Where rows lie, by the arguments of a command; a file that is not there is refused."""
    place: Place = data
    if isinstance(data, str):
        if separator is not None or encoding is not None:
            raise QuestionError("a database has no separator or encoding.", "leave them out.")
        path = located(place).path
        if path is not None and not path.is_file():
            raise DataError(f"there is no file {str(path)!r}.", "check the path.")
        return place
    if data == STANDARD or separator is not None or encoding is not None:
        sign = "\t" if separator in ("tab", "\\t") else separator
        place = TextFile(_kept_input() if data == STANDARD else data, sign, encoding or "utf-8")
    table_files(place)
    return place


def _kept_input() -> Path:
    """Standard input as a file that can be read twice; without a name where the system can open it again."""
    handles = Path("/proc/self/fd")
    made = tempfile.TemporaryFile if handles.is_dir() else tempfile.NamedTemporaryFile
    kept = made(suffix=".csv")
    atexit.register(kept.close)
    shutil.copyfileobj(sys.stdin.buffer, kept)
    kept.flush()
    return handles / str(kept.fileno()) if handles.is_dir() else Path(kept.name)


def ledger_path(data: Path | str, ledger: Path | None) -> Path:
    """Where the ledger of a table lies: beside its file, if it has one."""
    beside = None if data == STANDARD else located(data).path
    if ledger is None and (beside is None or is_pattern(beside)):
        raise QuestionError("no file of these rows says where their ledger is.", "name it: --ledger FILE.")
    return ledger or Path(f"{beside if beside is None or beside.name else beside.absolute()}.ledger")


def account_name(data: Path | str, name: str | None) -> str:
    """Name of a table's account."""
    if data == STANDARD and name is None:
        raise QuestionError("rows from standard input have no name.", "name their account: --name NAME.")
    return name or located(data).name


def open_account(data: Path | str, ledger: Path | None, name: str | None) -> Account:
    """Account of a table; a ledger that does not exist is not made."""
    path, account = ledger_path(data, ledger), account_name(data, name)
    if not path.exists():
        raise UnknownAccount(
            f"no budget has been set for {account!r}: there is no ledger {str(path)!r}.",
            f"its owner sets one, for example: privet budget create {quote(str(data))} --epsilon 1",
        )
    return Ledger(path).account(account)
