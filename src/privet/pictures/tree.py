"""A tree drawn, with what noise makes of every node's numbers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

from privet.model import released
from privet.model.tree import DEEPEST_TEXT, Node, ShownTree, nested
from privet.pictures.style import FAINT, ON_COLOUR, SOFT, blended, label_colour, new_figure, plain

WIDTH, HEIGHT, LINE = 1.75, 0.55, 0.145
"""Inches of a node: its column, the gap below it, and a line of text."""

PAD = 0.05
LETTERS = 25
MOST_LINES = 4
MOST_COLUMNS = 12


@dataclass
class Box:
    """A node with a place: column and level, and its text."""

    node: Node
    condition: list[str]
    x: float = 0.0
    level: int = 0
    below: list[Box] = field(default_factory=list)

    @property
    def n_lines(self) -> int:
        """Lines of text, the condition's included."""
        return len(self.condition) + len(self.node.said.lines) + bool(self.node.hidden)


def plot_tree(model: Any, tree: int = 0, max_depth: int | None = None) -> Any:
    """Draw a tree: conditions, and what the noisy answers say in each node.

    Noisy counts are made consistent: no node has fewer rows than none, and children add up to their parent.
    Colours lean to a label as far as noise lets a node speak.

    Parameters
    ----------
    model : a fitted estimator, or its model
    tree : int
    max_depth : int, optional
        Deeper nodes are not drawn; a node says how many leaves it stands for. By default 3, or less where
        the picture would become too wide.

    Returns
    -------
    matplotlib.figure.Figure
        ``savefig(path)`` writes it; a notebook shows it.
    """
    return draw_tree(released(model).tree(tree), max_depth)


def export_text(model: Any, tree: int = 0, max_depth: int = DEEPEST_TEXT) -> str:
    """Write a tree as text, one node a line: its condition, and what it says.

    Parameters
    ----------
    model : a fitted estimator, or its model
    tree : int
    max_depth : int
        Deeper nodes are left out; the text says how many leaves they end in.
    """
    return released(model).to_text(tree, max_depth)


def draw_tree(shown: ShownTree, max_depth: int | None = None) -> Any:
    """A figure of one tree, by default of as many levels as can be looked at."""
    figure = new_figure(1, 1)
    root = _placed(_fitting(shown) if max_depth is None else nested(shown, max_depth))
    boxes = _all(root)
    tall = {level: max(b.n_lines for b in boxes if b.level == level) for level in {b.level for b in boxes}}
    tops = _tops(tall)
    width, height = (max(b.x for b in boxes) + 1) * WIDTH, -(tops[-1] - tall[len(tops) - 1] * LINE) + 0.5
    figure.set_size_inches(max(width, 3), height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, max(width, 3))
    axes.set_ylim(-height + 0.25, 0.25)
    axes.axis("off")
    for box in boxes:
        _draw(axes, box, tops, shown.n_labels)
    return figure


def _fitting(shown: ShownTree) -> Node:
    """The deepest tree, of three levels at most, that is not too wide to be looked at."""
    trees = [nested(shown, depth) for depth in (3, 2, 1)]
    return next((root for root in trees if _columns(root) <= MOST_COLUMNS), trees[-1])


def _columns(node: Node) -> int:
    return sum(_columns(child) for child in node.children) or 1


def _placed(root: Node) -> Box:
    """Boxes of all nodes: leaves in columns from the left, parents over the middle of their children."""
    columns = 0

    def place(node: Node, level: int) -> Box:
        nonlocal columns
        below = [place(child, level + 1) for child in node.children]
        x = (below[0].x + below[-1].x) / 2 if below else float(columns)
        columns += not below
        text = node.condition or ("all rows" if level == 0 else "")
        lines = textwrap.wrap(text, LETTERS, max_lines=MOST_LINES, placeholder=" …", break_on_hyphens=False)
        return Box(node, lines, x, level, below)

    return place(root, 0)


def _all(box: Box) -> list[Box]:
    return [box, *(deeper for child in box.below for deeper in _all(child))]


def _tops(tall: dict[int, int]) -> list[float]:
    """Height at which each level's boxes begin."""
    tops = [0.0]
    for level in range(len(tall) - 1):
        tops.append(tops[-1] - tall[level] * LINE - HEIGHT)
    return tops


def _draw(axes: Any, box: Box, tops: list[float], n_labels: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    said = box.node.said
    x, top, height = (box.x + 0.5) * WIDTH, tops[box.level], box.n_lines * LINE
    colour = FAINT if said.label is None else label_colour(said.label, n_labels)
    strength = 0.25 if said.label is None else 0.08 + 0.42 * min(said.clearness, 1.0)
    for child in box.below:
        below, ends = (child.x + 0.5) * WIDTH, (top - height - PAD, tops[child.level] + PAD)
        middle = sum(ends) / 2
        axes.plot([x, x, below, below], [ends[0], middle, middle, ends[1]], color=SOFT, linewidth=0.9)
    shape = FancyBboxPatch(
        (x - WIDTH * 0.45, top - height), WIDTH * 0.9, height,
        facecolor=blended(colour, strength), edgecolor=blended(colour, 0.9), linewidth=0.8, zorder=2,
    )  # fmt: skip
    shape.set_boxstyle("round", pad=PAD, rounding_size=0.08)
    axes.add_patch(shape)
    lines = [(text, ON_COLOUR, "bold") for text in box.condition]
    lines += [(text, ON_COLOUR, "normal") for text in said.lines]
    if box.node.hidden:
        lines.append((f"… {box.node.hidden:,} leaves below", ON_COLOUR, "normal"))
    for i, (text, ink, weight) in enumerate(lines):
        place = (x, top - (i + 0.5) * LINE)
        axes.text(
            *place,
            plain(text, 40),
            ha="center",
            va="center",
            color=ink,
            weight=weight,
            fontsize=6.6,
            zorder=4,
        )
