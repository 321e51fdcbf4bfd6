"""What the terminal shows: tables, JSON, errors."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from privet.errors import QuestionError

out = Console(highlight=False, markup=False)
err = Console(stderr=True, highlight=False)
PICTURES = (".png", ".svg", ".pdf")


def write_utf8() -> None:
    """Write UTF-8 whatever the locale says: predictions and ε must not fail on the way out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")


def show_json(data: Any) -> None:
    """Write plain JSON to standard output."""
    sys.stdout.write(json.dumps(data, indent=1) + "\n")


def show_error(message: str, hint: str = "") -> None:
    """Write an error, and what to do about it, to standard error; only a terminal's lines are broken."""
    for title, text, style in (("Error:", message, "bold red"), ("Hint:", hint, "bold cyan")):
        if text:
            err.print(Text.assemble((title, style), " ", plain(text)), soft_wrap=not err.is_terminal)


def warn(title: str, text: str) -> None:
    """Write a warning that cannot be overlooked to standard error."""
    err.print(Panel(text, title=title, title_align="left", border_style="bold yellow", padding=(0, 1)))


def plain(value: object) -> str:
    """Text without what would steer a terminal: it may come from a file that somebody else wrote."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in str(value))


def facts(rows: Iterable[tuple[str, object]]) -> Padding:
    """Names and values, one pair a line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(plain(name)), Text(plain(value)))
    return Padding(grid, (0, 0, 0, 2))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[str] = ()) -> Table:
    """A table with a head; the columns named in ``numbers`` are aligned to the right."""
    grid = Table(box=box.SIMPLE_HEAD, header_style="cyan", pad_edge=True)
    for column in columns:
        side: Any = "right" if column in numbers else "left"
        grid.add_column(Text(plain(column)), justify=side, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(plain(value)) for value in row))
    return grid


def require_new_file(path: Path) -> None:
    """Refuse, before anything is paid for, a file that exists or cannot be written."""
    if path.exists():
        raise QuestionError(
            f"{str(path)!r} is there already.", "choose another name: privet overwrites nothing."
        )
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise QuestionError(
            f"cannot write {str(path)!r} ({error.strerror}).", "check the folder it is to lie in."
        ) from None


def require_new_picture(path: Path) -> None:
    """The same of a file for a picture, whose name must say the format."""
    if path.suffix.lower() not in PICTURES:
        raise QuestionError(f"cannot draw {str(path)!r}: unknown format.", "name a .png, .svg or .pdf file.")
    require_new_file(path)
