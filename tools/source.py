"""Modules of a package, the names in them and what they import, read from their source alone."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

IMPORTERS = {"import_module", "__import__", "run_module", "resolve_name"}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Import:
    """A module that is imported, or a name that is taken out of it.

    ``bound`` is the name it gets, ``stands_for`` the module that this name then is. A module whose name is
    worked out while the program runs is empty here; ``beginning`` is what is written out of its start.
    """

    line: int
    module: str
    name: str = ""
    bound: str = ""
    stands_for: str = ""
    runs: bool = True
    beginning: str = ""


@dataclass(frozen=True)
class Module:
    """One file of a package."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        """Whether this is what runs when a folder is imported."""
        return self.path.name == "__init__.py"

    @property
    def folder(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The source, parsed."""
        return ast.parse(self.text, str(self.path))

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names that are defined at the top of the module, not imported into it."""
        return frozenset(_defined(self.tree))

    @cached_property
    def exported(self) -> frozenset[str]:
        """Names in ``__all__``."""
        names: set[str] = set()
        for node in self.tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(target, ast.Name) and target.id == "__all__":
                names.update(ast.literal_eval(node.value))  # type: ignore[attr-defined]
        return frozenset(names)

    @property
    def code_lines(self) -> int:
        """Lines with code on them: no docstrings, those of constants included, no comments or blank lines."""
        bare = [n.value for n in ast.walk(self.tree) if isinstance(n, ast.Expr)]
        texts = (n for n in bare if isinstance(n, ast.Constant) and isinstance(n.value, str))
        prose = {(text.lineno, text.col_offset) for text in texts}
        rows: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in NO_CODE and token.start not in prose:
                rows.update(range(token.start[0], token.end[0] + 1))
        return len(rows)


@dataclass(frozen=True)
class Package:
    """All modules of a package, by their names."""

    modules: dict[str, Module]
    _known: dict[str, list[Import]] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, source: Path = SOURCE) -> Package:
        """Every file below a folder of sources."""
        found = {}
        for path in sorted((source / name).rglob("*.py")):
            parts = path.relative_to(source).with_suffix("").parts
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[dotted] = Module(dotted, path)
        return cls(found)

    def imports(self, module: Module) -> list[Import]:
        """What a module imports, wherever in it, modules outside the package included."""
        if module.name not in self._known:
            self._known[module.name] = list(self._read_imports(module))
        return self._known[module.name]

    def _read_imports(self, module: Module) -> Iterator[Import]:
        unrun = {
            id(inner)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
            for statement in node.body
            for inner in ast.walk(statement)
        }
        for node in ast.walk(module.tree):
            runs = id(node) not in unrun
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    bound = (alias.asname, alias.name) if alias.asname else (top, top)
                    yield Import(node.lineno, alias.name, "", *bound, runs)
            elif isinstance(node, ast.ImportFrom):
                base = _absolute(module, node)
                for alias in node.names:
                    bound_name = alias.asname or alias.name
                    if self.is_module(base, alias.name):
                        full = f"{base}.{alias.name}"
                        yield Import(node.lineno, full, "", bound_name, full, runs)
                    else:
                        yield Import(node.lineno, base, alias.name, bound_name, "", runs)
            elif isinstance(node, ast.Call) and _called(node) in IMPORTERS:
                given = node.args[0] if node.args else None
                known = isinstance(given, ast.Constant) and isinstance(given.value, str)
                named = str(given.value) if known and isinstance(given, ast.Constant) else ""
                begun = _beginning(given) if _called(node) == "import_module" else ""
                yield Import(node.lineno, "" if named.startswith(".") else named, runs=runs, beginning=begun)

    def is_module(self, package: str, name: str) -> bool:
        """Whether a name taken out of a package is a module, not a thing that hides a module of that name."""
        if f"{package}.{name}" not in self.modules:
            return False
        return name not in self.modules[package].exported | self.modules[package].defined

    def home(self, module: str, name: str) -> str:
        """The module that defines what another has under a name."""
        seen = set()
        while (module, name) not in seen and module in self.modules:
            seen.add((module, name))
            if name in self.modules[module].defined:
                break
            for found in self.imports(self.modules[module]):
                if found.bound == name:
                    module, name = found.module, found.name or name
                    break
        return module


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    folder = module.folder.split(".")
    start = folder[: len(folder) - node.level + 1]
    return ".".join([*start, *([node.module] if node.module else [])])


def _beginning(node: ast.expr | None) -> str:
    """The text that ``"a." + b`` or ``f"a.{b}"`` begins with, whatever comes after it."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return _beginning(node.values[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _beginning(node.left)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _defined(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif not isinstance(child, ast.Lambda):
            yield from _defined(child)
