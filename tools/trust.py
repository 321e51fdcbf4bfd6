"""What must be right for ε to hold: what the wall pulls in, how large it is, what it is trusted with.

``tools/trust.toml`` says which modules these may be and how many lines of code they may have. The check
fails where there is more than the file allows, so that trust grows on purpose, and where the file allows
2 % more than there is, so that what was won stays won. ``make trust RAISE=1`` writes the file anew.

The ``__init__`` of the whole package is left out: it runs whenever anything is imported, to offer the names
of the library, and the wall asks it for nothing. Imports for types alone do not run and do not count.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.source import SOURCE, Module, Package

TABLE = Path(__file__).with_name("trust.toml")
SLACK = 1.02


@dataclass(frozen=True)
class Closure:
    """The modules that run because one is imported, and the libraries that they import in turn."""

    modules: dict[str, Module]
    outside: list[str]

    @classmethod
    def of(cls, package: Package, start: str) -> Closure:
        """Follow imports from one module on, those in functions and packages' own files included."""
        root = start.partition(".")[0]
        found: dict[str, Module] = {}
        outside: set[str] = set()
        waiting = [start]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            if name not in package.modules:
                outside.add(name.partition(".")[0])
                continue
            found[name] = package.modules[name]
            waiting += [parent for parent in _parents(name) if parent != root]
            waiting += [each.module for each in package.imports(found[name]) if each.runs]
        libraries = sorted(outside - sys.stdlib_module_names)
        return cls(dict(sorted(found.items())), libraries)

    def lines(self, room: str = "") -> int:
        """Lines of code, of all or of one room."""
        return sum(module.code_lines for name, module in self.modules.items() if _within(name, room))


def faults(closure: Closure, table: dict[str, Any]) -> Iterator[str]:
    """Where the tree and the file disagree."""
    trusted = table["trusted"]
    for name in closure.modules.keys() - trusted.keys():
        yield f"{name} has come to be trusted; say in {TABLE.name} with what"
    for name in trusted.keys() - closure.modules.keys():
        yield f"{name} is not trusted any more; take it out of {TABLE.name}"
    if closure.outside != sorted(table["libraries"]):
        yield f"the libraries are {', '.join(closure.outside)}; {TABLE.name} has others"
    for room, limit in table["lines"].items():
        lines = closure.lines("" if room == "all" else room)
        if lines > limit:
            yield f"{room}: {lines} lines of code, {limit} allowed; a larger number is an act on purpose"
        elif limit > lines * SLACK:
            yield f"{room}: {lines} lines of code, {limit} allowed; lower the number, so that it stays so"


def written(closure: Closure, table: dict[str, Any]) -> str:
    """The file as the tree has it; new modules say what the first line of their docstring says."""
    start, trusted = table["start"], table["trusted"]
    lines = {room: closure.lines("" if room == "all" else room) for room in table["lines"]}
    return "\n".join(
        [
            f"# What {start} pulls in, and what each module is trusted with: see tools/trust.py.",
            f"start = {_quoted(start)}",
            f"libraries = [{', '.join(map(_quoted, closure.outside))}]",
            "",
            "# Lines of code that may be there at most: no docstrings, comments or blank lines.",
            "[lines]",
            *(f"{_quoted(room)} = {number}" for room, number in lines.items()),
            "",
            "[trusted]",
            *(
                f"{_quoted(name)} = {_quoted(trusted.get(name) or first_line(module))}"
                for name, module in closure.modules.items()
            ),
            "",
        ]
    )


def printed(closure: Closure, table: dict[str, Any]) -> Iterator[str]:
    """Every module with its lines and its trust, then the totals."""
    widest = max(map(len, closure.modules))
    for name, module in closure.modules.items():
        told = table["trusted"].get(name) or first_line(module)
        yield f"{name:{widest}} {module.code_lines:5}  {told}"
    yield f"{len(closure.modules)} modules; besides, the libraries {', '.join(closure.outside)}"
    yield from totals(closure, table)


def totals(closure: Closure, table: dict[str, Any]) -> Iterator[str]:
    """Lines of code of each room that has a limit."""
    for room, limit in table["lines"].items():
        lines = closure.lines("" if room == "all" else room)
        yield f"trusted lines of code, {room}: {lines:,} of {limit:,} allowed"


def first_line(module: Module) -> str:
    """What a module says of itself."""
    text = next((node for node in module.tree.body), None)
    value = getattr(getattr(text, "value", None), "value", "")
    return value.strip().partition("\n")[0] if isinstance(value, str) else ""


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def _within(name: str, room: str) -> bool:
    return not room or f"{name}.".startswith(f"{room}.")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def main(arguments: list[str] | None = None) -> int:
    """Print, compare, and fail where they differ."""
    parser = argparse.ArgumentParser(prog="python -m tools.trust", description="what ε rests on")
    parser.add_argument("--raise", dest="rewrite", action="store_true", help="write the file as the tree is")
    parser.add_argument("--quiet", action="store_true", help="totals and faults alone")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--source", type=Path, default=SOURCE)
    given = parser.parse_args(arguments)
    table = tomllib.loads(given.table.read_text(encoding="utf-8"))
    closure = Closure.of(Package.read(table["start"].partition(".")[0], given.source), table["start"])
    if given.rewrite:
        given.table.write_text(written(closure, table), encoding="utf-8")
        table = tomllib.loads(given.table.read_text(encoding="utf-8"))
    print("\n".join((totals if given.quiet else printed)(closure, table)))
    wrong = sorted(faults(closure, table))
    for fault in wrong:
        print(f"trust: {fault}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
