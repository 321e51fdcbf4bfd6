"""Checks that a structure sends every row to exactly one leaf: kernels trust what has passed here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from privet.errors import QuestionError
from privet.schema import Label, Schema, Target
from privet.structure import (
    MAX_DEPTH,
    MAX_LEAVES,
    Additive,
    Bins,
    CompleteTrees,
    LeafVotes,
    LevelTrees,
    MultiwayTrees,
    Scored,
    Splits,
    Structure,
    Views,
    Weighed,
)

MAX_OBLIVIOUS_LEAVES = 256
VALUE_TYPES = (np.uint8, np.int64, np.float32, np.float64)
"""Of what leaves say: a kernel refuses others only when rows are read, and paid for."""


def check_sound(value: Any, schema: Schema) -> None:
    """Refuse a structure under which a row could be in two places, or in none."""
    kind = type(value)
    check: Any = {Bins: check_bins, Additive: check_additive}.get(kind, check_structure)
    check(value, schema)


def check_structure(structure: Structure, schema: Schema) -> None:
    """Refuse trees that would send a row anywhere but to one leaf of its tree."""
    sizes = view_sizes(structure.views, schema)
    views = structure.view
    if isinstance(structure, CompleteTrees):
        _types(structure, view=np.uint16, threshold=np.uint16)
        _require(type(structure.depth) is int and 1 <= structure.depth <= MAX_DEPTH, "depth")
        _require(views.shape == structure.threshold.shape == (len(views), structure.n_leaves), "shape")
        _require(len(views) > 0 and int(views.max()) < len(sizes), "view")
    elif isinstance(structure, LevelTrees):
        _types(structure, view=np.int32, threshold=np.uint16, radix=np.int64)
        _require(
            views.ndim == 2 and views.shape == structure.threshold.shape == structure.radix.shape, "shape"
        )
        _require(views.size > 0 and views.min() >= 0 and views.max() < len(sizes), "view")
        wanted = np.where(structure.threshold == 0, sizes[views], 2)
        _require(bool((structure.radix >= wanted).all()), "radix")
        _require(max(structure.n_leaves) * schema.n_labels <= MAX_LEAVES, "number of leaves")
    else:
        _check_pointers(structure, sizes)


def check_splits(splits: Splits, trees: MultiwayTrees, schema: Schema) -> None:
    """Refuse choices that would look at no view, or cut where a view has no code."""
    check_structure(trees, schema)
    _require(type(splits) is Splits, "kind of splits")
    _types(splits, view=np.int32, lowest=np.int32, highest=np.int32)
    sizes = view_sizes(trees.views, schema)
    shape = (trees.n_leaves, len(splits.view))
    _require(splits.lowest.shape == splits.highest.shape == shape, "shape")
    _require(len(splits.view) > 0 and splits.view.min() >= 0 and splits.view.max() < len(sizes), "view")
    cut = splits.allowed & (splits.highest > 0)
    _require(bool((splits.lowest[splits.allowed] >= 0).all() and (splits.lowest[cut] > 0).all()), "threshold")
    _require(bool((splits.highest < sizes[splits.view]).all()), "threshold")


def view_sizes(views: Views, schema: Schema) -> np.ndarray:
    """Number of codes that each view can show."""
    return _view_sizes(views, [feature.n_codes for feature in schema.features])


def check_bins(bins: Bins, schema: Schema) -> None:
    """Refuse bins under which a row could be in two bins of a feature, or in none."""
    _types(bins, first=np.int64)
    _types(bins.views, source=np.int32, start=np.int64, table=np.uint16)
    lengths = [feature.n_codes for feature in schema.features]
    starts = np.cumsum([0, *lengths])
    views, first = bins.views, bins.first
    _require(np.array_equal(views.source, np.arange(len(lengths))), "source")
    _require(np.array_equal(views.start, starts[:-1]) and len(views.table) == starts[-1], "table")
    _require(first.shape == (len(lengths) + 1,) and first[0] == 0, "first bins")
    _require(bool((first[1:] > first[:-1]).all()) and int(first[-1]) <= starts[-1], "first bins")
    tops = [int(views.table[a:b].max()) for a, b in pairwise(starts)]
    _require(bool((np.array(tops) < first[1:] - first[:-1]).all()), "bin")


def check_additive(additive: Additive, schema: Schema) -> None:
    """Refuse shapes and oblivious trees under which a row could be in two leaves, or in none."""
    check_bins(additive.bins, schema)
    _types(additive, intercept=np.float64, shapes=np.float64, leaves=np.float64)
    _types(additive, features=np.int32, turns=np.uint8)
    n_scores, n_bins, n_trees = schema.n_scores, additive.bins.n_bins, additive.n_trees
    _require(additive.intercept.shape == (n_scores,), "number of scores")
    _require(additive.shapes.shape == (n_bins, n_scores), "shape")
    _require(additive.turns.shape == (n_bins, n_trees), "turns")
    _require(additive.leaves.ndim == 3 and additive.leaves.shape[2] == n_scores, "leaves")
    _require(additive.leaves.shape[1] <= MAX_OBLIVIOUS_LEAVES, "leaves")
    furthest = sum(additive.turns[where].max(axis=0).astype(int) for where in additive.bins.slices)
    _require(bool(np.all(furthest < additive.leaves.shape[1])), "turns")


def check_predictor(predictor: Scored, schema: Schema) -> None:
    """Refuse what could send a row anywhere but to one leaf a tree, or is not arrays alone."""
    # No subclass: it could bring code along.
    if type(predictor) is Weighed:
        _require(isinstance(schema.label, Label), "kind of predictor")
        _types(predictor, odds=np.float64, choice=np.float64)
        _require(predictor.odds.shape == predictor.choice.shape == (schema.n_labels,), "weights")
        predictor = predictor.predictor
    _require(type(predictor) in (LeafVotes, Additive), "kind of predictor")
    if isinstance(predictor, Additive):
        check_additive(predictor, schema)
        return
    assert isinstance(predictor, LeafVotes)
    trees, values = predictor.trees, predictor.values
    n_labels = 1 if isinstance(schema.label, Target) else schema.n_labels
    _require(type(trees) in (CompleteTrees, MultiwayTrees), "kind of trees")
    check_structure(trees, schema)
    _require(isinstance(values, np.ndarray) and values.dtype in VALUE_TYPES, "type of values")
    per_tree = (trees.n_trees,) if isinstance(trees, CompleteTrees) else ()
    _require(values.shape == (*per_tree, trees.n_leaves, n_labels), "shape of values")
    if predictor.prior is not None:
        _types(predictor, prior=np.float64)
        _require(predictor.prior.shape == (n_labels,), "prior")


def _check_pointers(trees: MultiwayTrees, sizes: np.ndarray) -> None:
    _types(trees, view=np.int32, threshold=np.uint16, child=np.int64, roots=np.int64)
    n_nodes, leaf = len(trees.view), trees.view < 0
    _require(trees.view.shape == trees.threshold.shape == trees.child.shape, "shape")
    _require(n_nodes > 0 and int(trees.view.max()) < len(sizes), "view")
    split = np.flatnonzero(~leaf)
    width = np.where(trees.threshold[split] == 0, sizes[trees.view[split]], 2)
    first = trees.child[split]
    # A node is a root or the child of one node that stands before it: no loops, no shared leaves.
    _require(bool((first > split).all()) and int(width.sum()) + len(trees.roots) == n_nodes, "child")
    within = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    reached = np.concatenate([trees.roots, np.repeat(first, width) + within])
    _require(np.array_equal(np.sort(reached), np.arange(n_nodes)), "child")
    _require(np.array_equal(np.sort(trees.child[leaf]), np.arange(int(leaf.sum()))), "leaf number")


def _view_sizes(views: Views, n_codes: Sequence[int]) -> np.ndarray:
    """Number of codes that each view can show."""
    _types(views, source=np.int32, start=np.int64, table=np.uint16)
    _require(views.source.shape == views.start.shape, "shape")
    _require(len(views.source) > 0 and views.source.min() >= 0, "source")
    _require(int(views.source.max()) < len(n_codes), "source")
    codes = np.array(n_codes)[views.source]
    tabled = views.start >= 0
    _require(bool((views.start[tabled] + codes[tabled] <= len(views.table)).all()), "table")
    sizes = codes.copy()
    for view in np.flatnonzero(tabled):
        start = views.start[view]
        sizes[view] = int(views.table[start : start + codes[view]].max()) + 1
    return sizes


def _types(holder: Any, **wanted: type) -> None:
    """Kernels do not check bounds, and a cast could turn a number that passed into one that does not."""
    for name, dtype in wanted.items():
        array = getattr(holder, name)
        _require(isinstance(array, np.ndarray) and array.dtype == dtype, f"type of {name}")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise QuestionError(
            f"these trees do not fit the schema (wrong {what}).", "build them from the schema of the data."
        )
