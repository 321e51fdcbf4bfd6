"""One tree of a model as nested nodes: what pictures draw and a text export writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privet.checks import whole
from privet.errors import QuestionError
from privet.model.rules import Trees, branch, n_children, share_variance
from privet.model.words import condition_text
from privet.schema import Schema
from privet.structure import CompleteTrees

DEEPEST_TEXT = 6


@dataclass(frozen=True)
class Said:
    """What a node says: lines of text, the label it leans to, and how clearly, from 0 to 1."""

    lines: tuple[str, ...]
    label: int | None = None
    clearness: float = 0.0


@dataclass(frozen=True)
class Node:
    """A node, the condition that leads to it from its parent, and its children.

    ``hidden`` is the number of leaves below it that are not among its descendants here.
    """

    condition: str
    said: Said
    children: tuple[Node, ...]
    hidden: int


@dataclass(frozen=True)
class ShownTree:
    """A tree of a model, and what its nodes say.

    Attributes
    ----------
    trees : CompleteTrees or MultiwayTrees
    place : int
        Which of them is shown.
    schema : Schema
    said : callable
        What a node says, by its number.
    n_labels : int
        Labels that a node may lean to.
    kept : bool (nodes,), optional
        Where some nodes may be pruned, those that are not.
    """

    trees: Trees
    place: int
    schema: Schema
    said: Callable[[int], Said]
    n_labels: int
    kept: np.ndarray | None = None


def nested(shown: ShownTree, max_depth: int = DEEPEST_TEXT) -> Node:
    """A tree from its root down to a depth. Branches that no row can take are left out.

    Of pruned trees a split is shown where one of its children is kept; the other may be lost in noise.
    """
    max_depth = whole(max_depth, "max_depth", 0)
    trees, place, schema, said, kept = shown.trees, shown.place, shown.schema, shown.said, shown.kept
    root = 1 if isinstance(trees, CompleteTrees) else int(trees.roots[place])

    def grown(node: int, masks: dict[int, np.ndarray], condition: str, depth: int) -> Node:
        below = _open_below(trees, schema, place, node, masks)
        if kept is not None and not any(kept[child] for child, _, _ in below):
            below = []
        if len(below) == 1:  # nothing is told apart here
            return grown(below[0][0], below[0][1], condition, depth)
        if depth == 0 and below:
            return Node(condition, said(node), (), _n_leaves(trees, schema, node, kept))
        children = (grown(child, held, text, depth - 1) for child, held, text in below)
        return Node(condition, said(node), tuple(children), 0)

    return grown(root, {}, "", max_depth)


def tree_text(shown: ShownTree, max_depth: int = DEEPEST_TEXT) -> str:
    """A tree as text, one node a line: its condition, and what it says."""
    lines: list[str] = []

    def write(node: Node, lead: str, follow: str) -> None:
        text = ": ".join(part for part in (node.condition, ", ".join(node.said.lines)) if part)
        hidden = f"  … {node.hidden:,} leaves below" if node.hidden else ""
        lines.append(f"{lead}{text or 'all rows'}{hidden}")
        for i, child in enumerate(node.children):
            last = i == len(node.children) - 1
            write(child, follow + ("└─ " if last else "├─ "), follow + ("   " if last else "│  "))

    write(nested(shown, max_depth), "", "")
    return "\n".join(lines)


def check_tree(number: object, n_trees: int) -> None:
    """Refuse a tree that a model does not have."""
    if not n_trees:
        raise QuestionError("this model has no trees.")
    whole(number, "the number of a tree", 0, n_trees - 1)


def counts_said(counts: np.ndarray, variance: float, schema: Schema) -> Said:
    """What noisy label counts say: rows and the share of their most frequent label, with their noise."""
    n_labels, label, rows = len(counts), int(counts.argmax()), float(counts.sum())
    rows_sd = float(np.sqrt(n_labels * variance))
    told = f"{rows:,.0f} ± {rows_sd:,.0f} rows"
    if rows < max(rows_sd, 1):
        return Said((told, "no more than noise"))
    share = min(float(counts[label]) / rows, 1.0)
    sd = np.sqrt(share_variance(np.array(share), n_labels, np.array(variance))) / rows
    # No clearer than its noise allows.
    clear = lead(share, n_labels) / (1 + float(sd) / 0.1)
    return Said((told, f"{share:.0%} ± {sd:.0%} {schema.classes[label]}"), label, clear)


def lead(share: float, n_labels: int) -> float:
    """How far a share lies above an even one, from 0 to 1."""
    return max(share - 1 / n_labels, 0.0) / (1 - 1 / n_labels) if n_labels > 1 else 1.0


def _open_below(
    trees: Trees, schema: Schema, tree: int, node: int, masks: dict[int, np.ndarray]
) -> list[tuple[int, dict[int, np.ndarray], str]]:
    """Children that a row can reach: node, codes that reach it, and the condition that leads there."""
    found = []
    for number, child in enumerate(children(trees, schema, node)):
        feature, mask = branch(trees, schema, tree, node, number)
        mask = mask & masks[feature] if feature in masks else mask
        if mask.any():
            text = condition_text(schema.features[feature], mask)
            found.append((child, {**masks, feature: mask}, text))
    return found


def children(trees: Trees, schema: Schema, node: int) -> list[int]:
    """Nodes right below a node, none of a leaf."""
    if isinstance(trees, CompleteTrees):
        return [2 * node, 2 * node + 1] if node < trees.n_leaves else []
    if trees.view[node] < 0:
        return []
    return [int(trees.child[node]) + i for i in range(n_children(trees, schema, node))]


def _n_leaves(trees: Trees, schema: Schema, node: int, kept: np.ndarray | None = None) -> int:
    """Leaves below a node, whether rows can reach them or not."""
    if kept is None and isinstance(trees, CompleteTrees):
        return trees.n_leaves >> (node.bit_length() - 1)
    below = children(trees, schema, node)
    if kept is not None and not kept[below].any():
        below = []
    return sum(_n_leaves(trees, schema, child, kept) for child in below) if below else 1
