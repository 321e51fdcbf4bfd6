"""What a study is: a grid of cells, how a cell is measured, what the paper prints and says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from privet.errors import QuestionError

Value = str | float
Cell = dict[str, Any]
"""What one call measures: a value of every part of the grid, and its ``repeat`` (and ``fold``)."""

Grid = Mapping[str, Sequence[Value]]
Scores = Mapping[str, float]
Found = Mapping[str, Scores]
"""Scores by way: what a cell comes to."""

FAILED = "failed: "
"""How the score begins whose name says why a way could not be measured."""

Measure = Callable[..., Found]
Place = tuple[str, Value, str]
"""Panel, x and way."""

SHOWING = {"audit", "cli", "exports", "parties", "pictures", "service"}
"""Rooms whose code moves no result."""

LINES, BARS, BOXES, RANGES = "lines", "bars", "boxes", "ranges"


@cache
def code() -> str:
    """A hash of all code that a result follows from: cells of other code are not mixed with these."""
    root = Path(__file__).parent.parent
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in SHOWING:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class View:
    """How a study is shown that no paper printed: its picture, what its page tells, its verdict."""

    draw: Callable[[Any, Any, Path], None]
    lines: Callable[[Any, Any], Sequence[str]]
    judge: Callable[[Any, Any], tuple[str, str]]


@dataclass(frozen=True)
class Quick:
    """The small form of a study: values that take the place of the grid's, and how often."""

    grid: Grid = field(default_factory=dict)
    repeats: int = 1
    folds: int = 2


@dataclass(frozen=True)
class Study:
    """One table or figure.

    Parameters
    ----------
    name : str
        ``paper/item``.
    title : str
    measure : callable
        A function of a module, so that workers find it. It takes a cell by keywords and follows from the
        cell alone: structures, folds and noise are drawn from its ``repeat`` and ``fold``.
    grids : sequence of mappings
        Values of every part of a cell; each grid stands for all combinations.
    repeats, folds : int
        How often, and in how many folds each time (0 where nothing is cut into folds), in the paper.
    quick : Quick
    panel : str
        Format of a panel's name, over a cell.
    x, quantity : str
        The part of the cell along the axis, and how the axis is called.
    score : str
        What is shown and compared.
    source : str, optional
        The study whose cells these are, where this one shows another score or a part of them.
    ways : mapping, optional
        Ways that are shown, by the name they are shown with; all of them by default.
    paper : mapping
        Numbers that are printed, by panel, x and way as they are shown.
    tolerance : float
        How far from a printed number is near.
    margins : mapping
        How far printed numbers may be off themselves, as the paper says, by place.
    lower : bool
        Whether less is better.
    neutral : bool
        Whether neither is.
    claims : sequence of Claim
        What the paper says in words.
    promises : mapping of str to str
        Ways that carry no guarantee, and what is to be said with each.
    strict, published : str
        Ways that are compared at the same ε.
    behind : str
        Why strict is behind, should it be.
    note : str
        Why it is as it is.
    picture : str
    percent : bool
        Whether scores are shares.
    scores : sequence of str
        Scores that are set against one another: they take the place of ways, and ways lie along x.
    without : callable, optional
        Values of parts of the grid that cannot be had here, and why: they are named, the others run.
    versions : callable, optional
        Versions of packages that it needs beyond ours.
    follows : callable, optional
        A hash of what a cell follows from, where not from all code: kept cells of another are measured anew.
    view : View, optional
        How it is shown, where not as a paper's item is.
    """

    name: str
    title: str
    measure: Measure
    grids: Sequence[Grid]
    repeats: int = 1
    folds: int = 0
    quick: Quick = field(default_factory=Quick)
    panel: str = ""
    x: str = "data"
    quantity: str = ""
    score: str = "accuracy"
    source: str = ""
    ways: Mapping[str, str] = field(default_factory=dict)
    paper: Mapping[Place, float] = field(default_factory=dict)
    tolerance: float = 0.02
    margins: Mapping[Place, float] = field(default_factory=dict)
    lower: bool = False
    neutral: bool = False
    claims: Sequence[Any] = ()
    promises: Mapping[str, str] = field(default_factory=dict)
    strict: str = ""
    published: str = ""
    behind: str = ""
    note: str = ""
    picture: str = LINES
    percent: bool = True
    scores: Sequence[str] = ()
    without: Callable[[], Mapping[str, Mapping[Value, str]]] = dict
    versions: Callable[[], Mapping[str, str]] = dict
    follows: Callable[[Cell], str] = lambda _: code()
    view: View | None = None

    @property
    def paper_name(self) -> str:
        """The paper, or whose study it is."""
        return self.name.split("/")[0]

    @property
    def cells_of(self) -> str:
        """The study whose cells it shows."""
        return self.source or self.name

    def cells(self, quick: bool = False, repeats: int | None = None, folds: int | None = None) -> list[Cell]:
        """All cells, one repetition after the other; of the first so many folds alone where asked for."""
        if repeats is not None and not 1 <= repeats <= self.repeats:
            raise QuestionError(
                f"{self.name} is repeated 1 to {self.repeats} times.", "choose a number in that range."
            )
        times = min(self.quick.repeats, self.repeats) if quick else (repeats or self.repeats)
        of = min(self.quick.folds, self.folds) if quick else self.folds
        first = range(of if folds is None else min(folds, of))
        return [
            {**cell, "repeat": repeat, **fold}
            for repeat in range(times)
            for fold in ([{"fold": k, "folds": of} for k in first] or [{}])
            for cell in self._grid(quick)
        ]

    def given(self, parts: Mapping[str, Sequence[str]]) -> Study:
        """The same with other values of parts of its grids, as texts; the small form has them too."""
        told = {part: self._read(part, texts) for part, texts in parts.items()}
        grids = [{**grid, **{part: told[part] for part in told if part in grid}} for grid in self.grids]
        return replace(self, grids=grids, quick=replace(self.quick, grid={**self.quick.grid, **told}))

    def _read(self, part: str, texts: Sequence[str]) -> list[Value]:
        known = self.values(part)
        if not known:
            parts = ", ".join(dict.fromkeys(name for grid in self.grids for name in grid))
            raise QuestionError(f"{self.name} has no {part!r} to set.", f"its parts are {parts}.")
        if all(isinstance(value, str) for value in known):
            return list(texts)
        try:
            numbers = [float(text) for text in texts]
        except ValueError:
            raise QuestionError(f"{part!r} is a number.", "give numbers, with commas between.") from None
        return [int(number) if isinstance(known[0], int) else number for number in numbers]

    def values(self, part: str) -> list[Value]:
        """All values of a part of the grids."""
        return list(dict.fromkeys(value for grid in self.grids for value in grid.get(part, ())))

    def place(self, cell: Cell) -> tuple[str, Value]:
        """Panel and x of a cell."""
        return self.panel.format(**cell), cell[self.x]

    def showing(self, name: str, title: str, **changed: Any) -> Study:
        """A study of the same cells that shows something else of them."""
        bare: dict[str, Any] = {
            "paper": {},
            "margins": {},
            "claims": (),
            "note": "",
            "strict": "",
            "published": "",
        }
        return replace(self, name=name, title=title, source=self.cells_of, **{**bare, **changed})

    def _few(self, part: str, every: Sequence[Value]) -> Sequence[Value]:
        few = self.quick.grid.get(part, every)
        return [value for value in few if value in every] or few

    def _grid(self, quick: bool) -> Iterator[Cell]:
        seen = []
        for grid in self.grids:
            small = {part: self._few(part, grid[part]) for part in grid if quick}
            for values in product(*{**grid, **small}.values()):
                cell = dict(zip(grid, values, strict=True))
                if cell not in seen:
                    seen.append(cell)
                    yield cell
