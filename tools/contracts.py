"""Who may import what: a table of rooms, in ``tools/contracts.toml``, each with a list of all it may import.

Beyond the table, everywhere in the package:

- a name is taken from the module that defines it, or from a package that has it in its ``__all__``;
- a package's ``__all__`` has names of that package alone (the whole package's own aside);
- a module that is closed is reached by the rooms named with it alone, whatever name it goes by;
- names that begin with an underscore stay in their module;
- modules are imported by names that are written out, and nothing is imported with a star; a module that is
  discovering may work out names of modules in its own package, which begin with it as written text;
- no function, class or module of another module is changed while the program runs.

Imports in functions and for types alone count as any other. ``python -m tools.contracts --used`` prints
what each room imports now, to write the table by.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.source import IMPORTERS, SOURCE, Import, Module, Package

TABLE = Path(__file__).with_name("contracts.toml")
TESTERS = {"unittest", "mock", "pytest"}
SETTERS = {"setattr", "delattr", "__setattr__", "__delattr__"}
NAMESPACES = {"vars", "globals"}


@dataclass(frozen=True)
class Contracts:
    """The table, and the package that it is about."""

    package: Package
    root: str
    rooms: dict[str, list[str]]
    everywhere: list[str]
    closed: dict[str, list[str]]
    replacing: list[str]
    discovering: list[str]
    passed_on: list[str]

    @classmethod
    def read(cls, table: Path = TABLE, source: Path = SOURCE) -> Contracts:
        """Read both."""
        told: dict[str, Any] = tomllib.loads(table.read_text(encoding="utf-8"))
        root = told.pop("package")
        return cls(Package.read(root, source), root, **told)

    def faults(self) -> Iterator[str]:
        """Everything that is not as it must be, one line each."""
        for name in self._named():
            if name.removesuffix(".*") not in self.package.modules:
                yield f"{TABLE.name}: there is no {name}"
        for module in self.package.modules.values():
            yield from self.faults_in(module)

    def faults_in(self, module: Module) -> Iterator[str]:
        """Everything in one module that is not as it must be."""
        if not self.room(module.name):
            yield f"{module.path}:1: {module.name} is in no room of {TABLE.name}"
            return
        found = {
            *self._foreign_exports(module),
            *(fault for each in self.reached(module) for fault in self._forbidden(module, each)),
            *self._replacements(module),
            *self._disguised(module),
        }
        for line, text in sorted(found):
            yield f"{module.path}:{line}: {text}"

    def room(self, module: str) -> str:
        """The room that a module is in: the longest name in the table that it begins with."""
        return max((room for room in self.rooms if self._holds(room, module)), key=len, default="")

    def _holds(self, room: str, module: str) -> bool:
        """Whether a module is in a room; the whole package's name stands for its own file alone."""
        return module == room or (room != self.root and within(module, room))

    def reached(self, module: Module) -> Iterator[Import]:
        """What a module imports of the package or takes out of modules that it has imported."""
        yield from self.package.imports(module)
        known = {each.bound: each.stands_for for each in self.package.imports(module)}
        nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.expr)]
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            start, *path = _path(node) or [""]
            if path and known.get(start) in self.package.modules and id(node) not in inner:
                yield self._follow(node.lineno, known[start], path)

    def _follow(self, line: int, module: str, path: list[str]) -> Import:
        for name in path:
            if not self.package.is_module(module, name):
                return Import(line, module, name)
            module = f"{module}.{name}"
        return Import(line, module)

    def _forbidden(self, module: Module, each: Import) -> Iterator[tuple[int, str]]:
        line, target, name = each.line, each.module, each.name
        if not target and not self._discovers(module, each):
            yield line, "the module imported is worked out; write its name"
        if target.partition(".")[0] in TESTERS:
            yield line, f"{target} is for tests"
        if target.partition(".")[0] != self.root:
            return
        if target not in self.package.modules:
            yield line, f"there is no module {target}"
            return
        room = self.room(module.name)
        home = self.package.home(target, name) if name else target
        if self.room(target) != room and not self._allowed(room, target):
            yield line, f"{room} may not import {target}"
        for shut, open_to in self.closed.items():
            if within(home, shut) and not any(self._holds(room, module.name) for room in open_to):
                yield line, f"{home} is closed to {room}"
        source = self.package.modules[target]
        if name and not name.startswith("__") and target != module.name:
            names = source.defined | source.exported if source.is_package else source.defined
            if name.startswith("_"):
                yield line, f"{name} is private to {target}"
            elif name in ("*", "?"):
                yield line, f"the names taken from {target} are not written out"
            elif name not in names and f"{target}.{name}" not in self.passed_on:
                elsewhere = f" but in {home}" if home != target else ""
                yield line, f"{name} is not defined in {target}{elsewhere}"

    def _discovers(self, module: Module, each: Import) -> bool:
        """Whether a name that is worked out can be one of the module's own package alone."""
        own = module.name in self.discovering and module.folder != self.root
        return own and each.beginning.startswith(f"{module.folder}.")

    def _allowed(self, room: str, target: str) -> bool:
        allowed = [*self.everywhere, *self.rooms[room]]
        return target in allowed or any(
            within(target, each.removesuffix(".*")) for each in allowed if each.endswith(".*")
        )

    def _disguised(self, module: Module) -> Iterator[tuple[int, str]]:
        """Functions that import, under another name or handed on: what they bring cannot be read off."""
        called = {id(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and any(
                alias.name in IMPORTERS and alias.asname for alias in node.names
            ):
                yield node.lineno, "a function that imports keeps its name"
            elif isinstance(node, ast.expr) and _last(node) in IMPORTERS and id(node) not in called:
                yield node.lineno, f"{ast.unparse(node)} is called where it stands, or not at all"

    def _foreign_exports(self, module: Module) -> Iterator[tuple[int, str]]:
        if module.name != self.root:
            for name in module.exported:
                home = self.package.home(module.name, name)
                if not within(home, module.name):
                    yield 1, f"{name} of __all__ is defined in {home}"

    def _replacements(self, module: Module) -> Iterator[tuple[int, str]]:
        if module.name in self.replacing:
            return
        imported = {each.bound for each in self.package.imports(module) if each.bound}
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.expr):
                continue
            if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                if _root(node) in imported:
                    yield node.lineno, f"{ast.unparse(node)} belongs to another module and is changed"
            elif isinstance(node, ast.Call) and _last(node.func) in SETTERS:
                if not (node.args and ast.unparse(node.args[0]) == "self"):
                    yield node.lineno, f"{ast.unparse(node.func)} changes something else than self"
            elif isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.modules":
                yield node.lineno, "modules are reached by importing them, not through sys.modules"
            elif _is_namespace(node) and imported & {_root(inner) for inner in ast.walk(node)}:
                yield node.lineno, f"{ast.unparse(node)} reaches into another module"

    def _named(self) -> Iterable[str]:
        yield from [*self.rooms, *self.everywhere, *self.closed, *self.replacing, *self.discovering]
        for names in [*self.rooms.values(), *self.closed.values()]:
            yield from names

    def used(self) -> dict[str, list[str]]:
        """What each room imports of the others now."""
        found: dict[str, set[str]] = {room: set() for room in self.rooms}
        for module in self.package.modules.values():
            room = self.room(module.name)
            for each in self.reached(module):
                if each.module in self.package.modules and self.room(each.module) != room:
                    found.setdefault(room, set()).add(each.module)
        return {room: sorted(names - set(self.everywhere)) for room, names in found.items()}


def within(name: str, room: str) -> bool:
    """Whether a module is another or below it."""
    return f"{name}.".startswith(f"{room}.")


def _path(node: ast.AST) -> list[str]:
    """The names of ``a.b.c``, or of ``getattr(a, "b")``."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (start := _path(node.value)):
        return [*start, node.attr]
    if isinstance(node, ast.Call) and _last(node.func) == "getattr" and len(node.args) > 1:
        named = node.args[1]
        start = _path(node.args[0])
        return [*start, str(named.value) if isinstance(named, ast.Constant) else "?"] if start else []
    return []


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_namespace(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _last(node.func) in NAMESPACES
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def main(arguments: list[str] | None = None) -> int:
    """Print what is wrong, and fail where something is."""
    parser = argparse.ArgumentParser(prog="python -m tools.contracts", description="who may import what")
    parser.add_argument("--used", action="store_true", help="print what each room imports now")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--source", type=Path, default=SOURCE)
    given = parser.parse_args(arguments)
    contracts = Contracts.read(given.table, given.source)
    if given.used:
        for room, names in contracts.used().items():
            print(f'"{room}" = [\n' + "".join(f'    "{name}",\n' for name in names) + "]")
        return 0
    wrong = list(contracts.faults())
    for fault in wrong:
        print(fault, file=sys.stderr)
    print(f"contracts: {len(contracts.package.modules)} modules, {len(wrong)} faults")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
