"""One tree of any model as nested nodes: what pictures draw and a text export writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.model.additive import AdditiveModel
from privet.model.counts import SPARSE, CountForest
from privet.model.forest import LabelForest
from privet.model.pruning import node_counts
from privet.model.rule_forest import RuleForest
from privet.model.rules import Trees, branch, is_number, n_children, places, share_variance
from privet.model.voting import node_sums
from privet.model.words import condition_text
from privet.schema import Schema
from privet.structure import Additive, CompleteTrees, MultiwayTrees, Views

DEEPEST_TEXT = 6


@dataclass(frozen=True)
class Said:
    """What a node says: lines of text, the label it leans to, and how clearly, from 0 to 1."""

    lines: tuple[str, ...]
    label: int | None = None
    clearness: float = 0.0


NOT_SHOWN = Said(("too few rows to be shown",))


@dataclass(frozen=True)
class Node:
    """A node, the condition that leads to it from its parent, and its children.

    ``hidden`` is the number of leaves below it that are not among its descendants here.
    """

    condition: str
    said: Said
    children: tuple[Node, ...]
    hidden: int


def nested(model: Any, tree: int = 0, max_depth: int = DEEPEST_TEXT) -> Node:
    """A tree from its root down to a depth. Branches that no row can take are left out.

    Of pruned trees a split is shown where one of its children is kept; the other may be lost in noise.
    """
    model = released(model)
    many = model.additive if isinstance(model, AdditiveModel) else model.trees
    if not is_number(tree) or tree >= many.n_trees:
        told = f"trees are numbered from 0 to {many.n_trees - 1}." if many.n_trees else "this model has none."
        raise QuestionError(f"there is no tree {tree!r}.", told)
    if not is_number(max_depth):
        raise QuestionError("max_depth must be a whole number, 0 or more.")
    trees, place = (oblivious(many, tree, model.schema), 0) if isinstance(many, Additive) else (many, tree)
    root = 1 if isinstance(trees, CompleteTrees) else int(trees.roots[place])
    said, kept = speaker(model, tree), kept_in(model, tree)

    def grown(node: int, masks: dict[int, np.ndarray], condition: str, depth: int) -> Node:
        below = _open_children(trees, model.schema, place, node, masks)
        if kept is not None and not any(kept[child] for child, _, _ in below):
            below = []
        if len(below) == 1:  # nothing is told apart here
            return grown(below[0][0], below[0][1], condition, depth)
        if depth == 0 and below:
            return Node(condition, said(node), (), _n_leaves(trees, model.schema, node, kept))
        children = (grown(child, held, text, depth - 1) for child, held, text in below)
        return Node(condition, said(node), tuple(children), 0)

    return grown(root, {}, "", max_depth)


def export_text(model: Any, tree: int = 0, max_depth: int = DEEPEST_TEXT) -> str:
    """Write a tree as text, one node a line: its condition, and what it says.

    Parameters
    ----------
    model : a fitted estimator, or its model
    tree : int
    max_depth : int
        Deeper nodes are left out; the text says how many leaves they end in.
    """
    lines: list[str] = []

    def write(node: Node, lead: str, follow: str) -> None:
        text = ": ".join(part for part in (node.condition, ", ".join(node.said.lines)) if part)
        hidden = f"  … {node.hidden:,} leaves below" if node.hidden else ""
        lines.append(f"{lead}{text or 'all rows'}{hidden}")
        for i, child in enumerate(node.children):
            last = i == len(node.children) - 1
            write(child, follow + ("└─ " if last else "├─ "), follow + ("   " if last else "│  "))

    write(nested(model, tree, max_depth), "", "")
    return "\n".join(lines)


def released(model: Any) -> Any:
    """The model of a fitted estimator, or the model itself; one without trees is refused."""
    model = getattr(model, "model_", model)
    if isinstance(model, AdditiveModel) or hasattr(model, "trees"):
        return model
    if hasattr(model, "forests"):
        raise QuestionError("a union has no trees of its own.", "look at its forests, one by one.")
    raise QuestionError(f"{type(model).__name__} is not a fitted model of trees.", "fit it first.")


def oblivious(additive: Additive, tree: int, schema: Schema) -> CompleteTrees:
    """One tree of an additive model as a complete tree: all nodes of a level ask the same."""
    tables, views, depth = [], additive.bins.views, additive.depth
    for level, feature in enumerate(additive.features[tree]):
        bins = places(views, int(feature), schema.features[feature].n_codes)
        turns = additive.turns[additive.bins.slices[feature], tree]
        tables.append((int(feature), turns[bins] >> (depth - 1 - level) & 1))
    levels = np.array([0, *(node.bit_length() - 1 for node in range(1, 1 << depth))])
    view = (len(schema.features) + levels).astype(np.uint16)[None]
    return CompleteTrees(Views.of(len(schema.features), tables), view, np.ones_like(view), depth)


def speaker(model: Any, tree: int) -> Callable[[int], Said]:
    """What the nodes of a tree say, by the kind of model."""
    if isinstance(model, AdditiveModel):
        return lambda node: _scores_said(model, tree, node)
    if isinstance(model, LabelForest):
        return lambda node: _labels_said(model, tree, node)
    counts, variance = every_count(model)
    counts = counts[tree] if counts.ndim == 3 else counts
    sparse = SPARSE in model.card.learner
    return lambda node: (
        NOT_SHOWN
        if sparse and not counts[node].any()
        else _counts_said(counts[node], float(variance[node]), model.schema)
    )


def kept_in(model: Any, tree: int) -> np.ndarray | None:
    """Nodes of a tree that are kept, where some may be pruned."""
    return model.kept[tree] if isinstance(model, CountForest) and model.kept is not None else None


def every_count(model: CountForest | RuleForest) -> tuple[np.ndarray, np.ndarray]:
    """Noisy counts of every node and the variance of their noise; those of inner nodes may be sums.

    ``(trees, nodes, labels)`` for complete trees, ``(nodes, labels)`` for others.
    """
    if isinstance(model, RuleForest):
        return model.counts, model.variance
    if isinstance(model.trees, MultiwayTrees):
        return node_sums(model.trees, model.counts, model.variance)
    return node_counts(model.counts, model.variance)


def _scores_said(model: AdditiveModel, tree: int, node: int) -> Said:
    """What a leaf adds to the scores; an inner node adds nothing itself."""
    leaves = model.additive.leaves[tree]
    if node < len(leaves):
        return Said(())
    scores, values = leaves[node - len(leaves)], model.schema.label.values
    clear = float(np.abs(scores).max() / max(np.abs(leaves).max(), 1e-12))
    if len(scores) == 1:
        return Said((f"{scores[0]:+.3f} for {values[-1]}",), int(scores[0] > 0), clear)
    order = np.argsort(-np.abs(scores))[:2]
    return Said(tuple(f"{scores[k]:+.3f} for {values[k]}" for k in order), int(scores.argmax()), clear)


def _labels_said(model: LabelForest, tree: int, node: int) -> Said:
    """The label of a leaf, or how many of the leaves below agree."""
    n_leaves, level = model.trees.n_leaves, node.bit_length() - 1
    below = n_leaves >> level
    first = node * below - n_leaves
    votes = np.bincount(model.labels[tree, first : first + below], minlength=len(model.schema.label.values))
    label = int(votes.argmax())
    name = str(model.schema.label.values[label])
    if below == 1:
        return Said((name,), label, 1.0)
    told = f"{votes[label]:,} of {below:,} leaves say {name}"
    return Said((told,), label, _lead(votes[label] / below, len(votes)))


def _counts_said(counts: np.ndarray, variance: float, schema: Schema) -> Said:
    """What noisy label counts say: rows and the share of their most frequent label, with their noise."""
    n_labels, label, rows = len(counts), int(counts.argmax()), float(counts.sum())
    rows_sd = float(np.sqrt(n_labels * variance))
    told = f"{rows:,.0f} ± {rows_sd:,.0f} rows"
    if rows < max(rows_sd, 1):
        return Said((told, "no more than noise"))
    share = min(float(counts[label]) / rows, 1.0)
    sd = np.sqrt(share_variance(np.array(share), n_labels, np.array(variance))) / rows
    # No clearer than its noise allows.
    clear = _lead(share, n_labels) / (1 + float(sd) / 0.1)
    return Said((told, f"{share:.0%} ± {sd:.0%} {schema.label.values[label]}"), label, clear)


def _lead(share: float, n_labels: int) -> float:
    """How far a share lies above an even one, from 0 to 1."""
    return max(share - 1 / n_labels, 0.0) / (1 - 1 / n_labels) if n_labels > 1 else 1.0


def _open_children(
    trees: Trees, schema: Schema, tree: int, node: int, masks: dict[int, np.ndarray]
) -> list[tuple[int, dict[int, np.ndarray], str]]:
    """Children that a row can reach: node, codes that reach it, and the condition that leads there."""
    found = []
    for number, child in enumerate(_children(trees, schema, node)):
        feature, mask = branch(trees, schema, tree, node, number)
        mask = mask & masks[feature] if feature in masks else mask
        if mask.any():
            text = condition_text(schema.features[feature], mask)
            found.append((child, {**masks, feature: mask}, text))
    return found


def _children(trees: Trees, schema: Schema, node: int) -> list[int]:
    if isinstance(trees, CompleteTrees):
        return [2 * node, 2 * node + 1] if node < trees.n_leaves else []
    if trees.view[node] < 0:
        return []
    return [int(trees.child[node]) + i for i in range(n_children(trees, schema, node))]


def _n_leaves(trees: Trees, schema: Schema, node: int, kept: np.ndarray | None = None) -> int:
    """Leaves below a node, whether rows can reach them or not."""
    if kept is None and isinstance(trees, CompleteTrees):
        return trees.n_leaves >> (node.bit_length() - 1)
    children = _children(trees, schema, node)
    if kept is not None and not kept[children].any():
        children = []
    return sum(_n_leaves(trees, schema, child, kept) for child in children) if children else 1
