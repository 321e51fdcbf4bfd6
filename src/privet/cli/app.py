"""All commands, and what becomes of an error."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from privet.cli.output import out, show_error, write_utf8
from privet.errors import (
    BudgetError,
    DataError,
    LedgerTampered,
    ModelFileError,
    PrivetError,
    QuestionError,
    SchemaError,
    SourceError,
)
from privet.version import __version__

HELP = """PRIVET: decision trees and forests that give no one away.

The [b]owner[/b] of a table writes a schema and sets a budget; an [b]analyst[/b] fits models till it is spent.

Start with [b]privet demo[/b]. No command overwrites a file, but the demo its own.
"""

EXIT_CODES = """[b]Exit codes[/b]

0 fine · 1 any other error · 2 wrong usage · 3 data or schema do not fit

4 budget refused · 5 model or ledger file cannot be trusted

6 an audit found a broken promise · 130 interrupted
"""

CODES: tuple[tuple[type[PrivetError], int], ...] = (
    (QuestionError, 2),
    (SchemaError, 3),
    (DataError, 3),
    (SourceError, 3),
    (LedgerTampered, 5),
    (BudgetError, 4),
    (ModelFileError, 5),
)
"""First match counts: a `LedgerTampered` is a `BudgetError` too."""

INTERRUPTED = 130

UsageError: Any = typer.BadParameter.__base__
"""What the parser raises; releases of typer differ in where they keep it."""

COMMANDS = {
    "plan": "plan",
    "fit": "fit",
    "predict": "model",
    "score": "score",
    "threshold": "threshold",
    "describe": "model",
    "explain": "explain",
    "export": "export",
    "ask": "ask",
    "budget": "budget",
    "schema": "schema",
    "party": "party",
    "serve": "serve",
    "owner": "owner",
    "verify": "verify",
    "audit": "audit",
    "study": "study",
    "demo": "demo",
}
"""The commands, and in which module of this room each is: its function, or a group named ``app``."""

SETTINGS: dict[str, Any] = {
    "rich_markup_mode": "rich",
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Commands(TyperGroup):
    """All commands; a module is imported when its command is called, for some take seconds to load."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order that the help has."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them, None if there is none of that name."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = import_module(f"privet.cli.{COMMANDS[cmd_name]}")
            group = getattr(module, "app", None)
            if group is None:
                group = typer.Typer(add_completion=False, **SETTINGS)
                group.command(cmd_name)(getattr(module, cmd_name))
            command: Any = typer.main.get_command(group)
            command.name = cmd_name
            self.add_command(command, cmd_name)
        return super().get_command(ctx, cmd_name)


app = typer.Typer(cls=Commands, help=HELP, epilog=EXIT_CODES, no_args_is_help=True, **SETTINGS)


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"privet {__version__}")
        raise typer.Exit


def _log(level: str) -> None:
    """Tell what is asked and charged, on standard error."""
    wanted = getattr(logging, level.upper(), None)
    if not isinstance(wanted, int):
        raise QuestionError(f"PRIVET_LOG has no level {level!r}.", "say info or debug.")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr, force=True)
    logging.getLogger("privet").setLevel(wanted)


@app.callback()
def _options(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell what is asked and charged; never a row.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    level = "info" if verbose else os.environ.get("PRIVET_LOG", "")
    if level:
        _log(level)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; a user's mistake never ends in a traceback."""
    write_utf8()
    try:
        code = app(arguments, prog_name="privet", standalone_mode=False) or 0
        if code == INTERRUPTED:  # typer swallows the key press
            raise KeyboardInterrupt
        return int(code)
    except PrivetError as error:
        show_error(error.message, error.hint)
        return next((code for kind, code in CODES if isinstance(error, kind)), 1)
    except (typer.Abort, KeyboardInterrupt):
        show_error("interrupted.", "a question already asked stays charged; see `privet budget show`.")
        return INTERRUPTED
    except OSError as error:
        reason = error.strerror or type(error).__name__
        show_error(f"cannot read or write {str(error.filename or 'a file')!r} ({reason}).", "check the path.")
        return 1
    except UsageError as error:
        return _show_usage(error)
    except Exception as error:
        return _show_bug(error)


def _show_usage(error: Any) -> int:
    if not error.format_message():  # a group without a command has shown its help
        return 2
    context = getattr(error, "ctx", None)
    show_error(error.format_message(), f"see `{context.command_path if context else 'privet'} --help`.")
    return 2


def _show_bug(error: Exception) -> int:
    """Say where the program failed, but not what the error says: it may quote a row."""
    where = "".join(traceback.format_tb(error.__traceback__)[-3:])
    show_error(
        f"unexpected {type(error).__name__}; its text is withheld as it may quote a row.\n{where}",
        "this is a fault of privet: please report these lines.",
    )
    return 1
