"""A model as an ONNX graph: an input for every column, the label and the shares as outputs.

Rows become the same integer codes as here, in double precision, and thresholds are compared with codes: no
value is rounded to a shorter float on its way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from privet.data.values import Lookup
from privet.errors import PrivetError
from privet.kernels.predict import LEAST_SHARE, RARE, SHARPNESS
from privet.model.labels import LabelModel
from privet.model.numbers import half_width
from privet.model.protocol import Model
from privet.model.weights import Weights
from privet.schema import Categorical, Feature, Schema, Target
from privet.structure import Additive, CompleteTrees, LeafVotes, MultiwayTrees
from privet.version import __version__

OPSET = 17
LABELS_OPSET = 3
ROWS = "rows"


def export_onnx(model: Model, path: str | Path, coverage: float | None = None) -> None:
    """Write a model as an ONNX file that predicts the same labels, with ONNX Runtime for one.

    Every column is an input of its own, by its name, of shape ``(rows, 1)``: doubles for numbers, NaN where
    missing; texts for categories, empty where missing. Where a schema lists an empty text, a missing one is
    taken for it. Outputs are ``label`` and ``shares``, in the order of the schema's labels, or ``number``;
    with a coverage ``lower`` and ``upper`` beside it. One with a column's name has an underscore behind it.

    Parameters
    ----------
    model : released model
    path : str or Path
        Of the new file.
    coverage : float, optional
        Of a model of numbers: intervals, too, that hold this share of all rows' numbers.
    """
    half = None if coverage is None else half_width(model, coverage)
    schema, predictor = model.schema, model.predictor
    graph = _Graph(_onnx(), frozenset(schema.feature_names))
    codes = [graph.code(feature) for feature in schema.features]
    if isinstance(schema.label, Target):
        told = {"number": _number(graph, predictor, codes, schema.label)}
        for name, away in {} if half is None else {"lower": -half, "upper": half}.items():
            told[name] = _cut(graph, graph("Add", told["number"], graph.doubles(away)), schema.label)
        graph.save_numbers(told, Path(path))
        return
    if isinstance(predictor, Additive):
        shares = _probabilities(graph, _scores(graph, predictor, codes), schema.n_labels)
    else:
        shares = _vote_shares(graph, _votes(graph, predictor, codes), predictor)
    weights = model.weights if isinstance(model, LabelModel) else Weights()
    if weights.odds:
        shares = _normalised(graph, graph("Mul", shares, graph.doubles(weights.odds)), schema.n_labels)
    compared = graph("Mul", shares, graph.doubles(weights.choice)) if weights.choice else shares
    graph.save(schema, shares, compared, Path(path))


def _onnx() -> Any:
    try:
        import onnx
    except ModuleNotFoundError:
        raise PrivetError("ONNX files need onnx.", "pip install 'privet[export]'") from None
    return onnx


@dataclass
class _Graph:
    """A graph as it grows: each operation is called by its name and returns the name of its result.

    No name of its own is that of a column: columns may have any.
    """

    onnx: Any
    columns: frozenset[str] = frozenset()
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)

    def __call__(self, operation: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        out = self.named(f"v{len(self.nodes)}")
        self.nodes.append(self.onnx.helper.make_node(operation, inputs, [out], domain=domain, **attributes))
        return out

    def named(self, name: str) -> str:
        """A name that no column has."""
        while name in self.columns:
            name += "_"
        return name

    def constant(self, values: Any, dtype: Any) -> str:
        """The name of an array that the graph holds."""
        name = self.named(f"c{len(self.constants)}")
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def doubles(self, values: Any) -> str:
        """The same of doubles."""
        return self.constant(values, np.float64)

    def integers(self, values: Any) -> str:
        """The same of whole numbers."""
        return self.constant(values, np.int64)

    def cast(self, value: str, kind: str) -> str:
        """A value as another type."""
        return self("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def picked(self, table: str, places: str) -> str:
        """What a table has at some places."""
        return self("Gather", table, places, axis=0)

    def code(self, feature: Feature) -> str:
        """An input, and the codes that `privet.data.codes` would give its values, ``(rows, 1)``."""
        kinds, categorical = self.onnx.TensorProto, isinstance(feature, Categorical)
        kind = kinds.STRING if categorical else kinds.DOUBLE
        self.inputs.append(self.onnx.helper.make_tensor_value_info(feature.name, kind, [ROWS, 1]))
        if isinstance(feature, Categorical):
            lookup = Lookup(feature.categories)
            known = {"": lookup.missing, **lookup.spellings}
            return self(
                "LabelEncoder",
                feature.name,
                domain="ai.onnx.ml",
                keys_strings=list(known),
                values_int64s=list(known.values()),
                default_int64=lookup.unknown,
            )
        lower, scale = self.doubles(feature.lower), self.doubles(1 / feature.width)
        absent = self("IsNaN", feature.name)
        there = self("Where", absent, lower, feature.name)
        clamped = self("Min", self("Max", there, lower), self.doubles(feature.upper))
        cell = self.cast(self("Floor", self("Mul", self("Sub", clamped, lower), scale)), "INT64")
        cell = self("Min", cell, self.integers(feature.n_cells - 1))
        return self("Where", absent, self.integers(feature.n_cells), cell)

    def save(self, schema: Schema, shares: str, compared: str, path: Path) -> None:
        """Add the outputs, the label by what is ``compared``, and write the graph."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        order = np.argsort(np.array(schema.classes))
        best = self("ArgMax", self("Gather", compared, self.integers(order), axis=1), axis=1, keepdims=0)
        values = np.array(schema.classes)[order]
        text = values.dtype.kind == "U"
        label = self.picked(self.constant(values, object if text else values.dtype), best)
        told = self.named("label"), self.named("shares")
        self.nodes += [
            helper.make_node("Identity", [of], [name]) for of, name in zip((label, shares), told, strict=True)
        ]
        kind = kinds.STRING if text else helper.np_dtype_to_tensor_dtype(values.dtype)
        outputs = [
            helper.make_tensor_value_info(told[0], kind, [ROWS]),
            helper.make_tensor_value_info(told[1], kinds.DOUBLE, [ROWS, schema.n_labels]),
        ]
        self._write(outputs, path)

    def save_numbers(self, told: dict[str, str], path: Path) -> None:
        """Add the outputs of a model of numbers, and write the graph."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        named = {self.named(name): number for name, number in told.items()}
        self.nodes += [helper.make_node("Identity", [number], [name]) for name, number in named.items()]
        self._write([helper.make_tensor_value_info(name, double, [ROWS]) for name in named], path)

    def _write(self, outputs: list[Any], path: Path) -> None:
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "privet", self.inputs, outputs, self.constants)
        sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", LABELS_OPSET)]
        made = helper.make_model(
            graph, opset_imports=sets, producer_name="privet", producer_version=__version__, ir_version=8
        )
        self.onnx.checker.check_model(made)
        path.write_bytes(made.SerializeToString())


def _number(graph: _Graph, predictor: Additive | LeafVotes, codes: list[str], target: Target) -> str:
    """Number of each row, ``(rows,)``, within the target's range."""
    if isinstance(predictor, Additive):
        told = _scores(graph, predictor, codes)
    else:
        told = graph("Div", _votes(graph, predictor, codes), graph.doubles(predictor.trees.n_trees))
    return graph("Squeeze", _cut(graph, told, target), graph.integers([1]))


def _cut(graph: _Graph, told: str, target: Target) -> str:
    return graph("Min", graph("Max", told, graph.doubles(target.lower)), graph.doubles(target.upper))


def _scores(graph: _Graph, additive: Additive, codes: list[str]) -> str:
    """Scores of rows, ``(rows, scores)``."""
    views, first = additive.bins.views, additive.bins.first
    ends = [*views.start[1:].tolist(), len(views.table)]
    score, leaves = graph.doubles(additive.intercept[None]), ""
    turns = graph.integers(additive.turns)
    for j, (code, start, end) in enumerate(zip(codes, views.start.tolist(), ends, strict=True)):
        table = graph.integers(views.table[start:end].astype(np.int64) + first[j])
        place = graph("Squeeze", graph.picked(table, code), graph.integers([1]))
        score = graph("Add", score, graph.picked(graph.doubles(additive.shapes), place))
        if additive.n_trees:
            turn = graph.picked(turns, place)
            leaves = graph("Add", leaves, turn) if leaves else turn
    if additive.n_trees:
        n_trees, n_leaves = additive.leaves.shape[:2]
        flat = graph("Add", leaves, graph.integers(np.arange(n_trees) * n_leaves))
        said = graph.picked(graph.doubles(additive.leaves.reshape(n_trees * n_leaves, -1)), flat)
        score = graph("Add", score, graph("ReduceSum", said, graph.integers([1]), keepdims=0))
    return score


def _probabilities(graph: _Graph, scores: str, n_labels: int) -> str:
    """Shares of the labels from scores, as `privet.kernels.predict.probabilities` has them."""
    if n_labels > 2:
        return _normalised_exp(graph, scores, n_labels)
    half, one = graph.doubles(0.5), graph.doubles(1)
    if n_labels == 1:
        return graph("Add", graph("Mul", scores, graph.doubles(0)), one)
    p = graph("Div", one, graph("Add", one, graph("Exp", graph("Neg", scores))))
    above = graph("Div", half, graph("Sub", graph.doubles(1.5), p))
    below = graph("Div", p, graph("Add", p, half))
    second = graph("Where", graph("GreaterOrEqual", p, half), above, below)
    return graph("Concat", graph("Sub", one, second), second, axis=1)


def _votes(graph: _Graph, votes: LeafVotes, codes: list[str]) -> str:
    """Sums of what leaves say, ``(rows, labels)``."""
    trees, values = votes.trees, votes.values
    views = trees.views
    columns = []
    for source, start in zip(views.source.tolist(), views.start.tolist(), strict=True):
        seen = codes[source]
        if start >= 0:
            ends = views.start[views.start > start]
            table = views.table[start : int(ends.min()) if len(ends) else None]
            seen = graph.picked(graph.integers(table), seen)
        columns.append(seen)
    seen = graph("Concat", *columns, axis=1)
    if isinstance(trees, CompleteTrees):
        leaf = _complete(graph, trees, seen)
    else:
        leaf = _multiway(graph, trees, seen)
    said = graph.picked(graph.doubles(values.reshape(-1, values.shape[-1])), leaf)
    return graph("ReduceSum", said, graph.integers([1]), keepdims=0)


def _complete(graph: _Graph, trees: CompleteTrees, seen: str) -> str:
    """Leaves of complete trees, counted over all trees, ``(rows, trees)``."""
    width = trees.view.shape[1]
    offset, view = graph.integers(np.arange(trees.n_trees) * width), graph.integers(trees.view.ravel())
    threshold = graph.integers(trees.threshold.ravel())
    node = _start(graph, seen, np.ones(trees.n_trees, np.int64))
    for _ in range(trees.depth):
        place = graph("Add", node, offset)
        code = graph("GatherElements", seen, graph.picked(view, place), axis=1)
        right = graph.cast(graph("GreaterOrEqual", code, graph.picked(threshold, place)), "INT64")
        node = graph("Add", graph("Add", node, node), right)
    first = (np.arange(trees.n_trees) - 1) * trees.n_leaves
    return graph("Add", node, graph.integers(first))


def _multiway(graph: _Graph, trees: MultiwayTrees, seen: str) -> str:
    """Leaves of multi-way trees: a row that has reached its leaf stays there."""
    is_leaf = trees.view < 0
    stay = np.where(is_leaf, np.arange(len(trees.view)), trees.child)
    view, below = graph.integers(np.where(is_leaf, 0, trees.view)), graph.integers(stay)
    threshold, by_code = graph.integers(trees.threshold), graph.integers((trees.threshold == 0) & ~is_leaf)
    by_cut, leaf = graph.integers((trees.threshold > 0) & ~is_leaf), graph.integers(trees.child)
    node = _start(graph, seen, trees.roots)
    for _ in range(trees.depth):
        code = graph("GatherElements", seen, graph.picked(view, node), axis=1)
        right = graph.cast(graph("GreaterOrEqual", code, graph.picked(threshold, node)), "INT64")
        moved = graph("Add", graph("Mul", code, graph.picked(by_code, node)),
                      graph("Mul", right, graph.picked(by_cut, node)))  # fmt: skip
        node = graph("Add", graph.picked(below, node), moved)
    return graph.picked(leaf, node)


def _start(graph: _Graph, seen: str, roots: np.ndarray) -> str:
    """Where rows stand at first, ``(rows, trees)``."""
    rows = graph("Slice", seen, *(graph.integers([place]) for place in (0, 1, 1)))
    return graph("Add", graph("Mul", rows, graph.integers(0)), graph.integers(roots[None]))


def _vote_shares(graph: _Graph, votes: str, of: LeafVotes) -> str:
    """Shares of the labels from votes, as `privet.kernels.predict.vote_shares` has them."""
    n_labels = of.values.shape[-1]
    if of.prior is None:
        return _normalised(graph, graph("Max", votes, graph.doubles(0)), n_labels)
    mean = graph("Div", votes, graph.doubles(of.trees.n_trees))
    mean = graph("Max", mean, graph.doubles(LEAST_SHARE))
    usual = graph.doubles(np.maximum(of.prior, 0) + RARE)
    away = graph("Log", graph("Div", graph("Add", mean, graph.doubles(RARE)), usual))
    logs = graph("Add", graph("Log", mean), graph("Mul", away, graph.doubles(SHARPNESS - 1)))
    return _normalised_exp(graph, logs, n_labels)


def _normalised_exp(graph: _Graph, logs: str, n_labels: int) -> str:
    top = graph("ReduceMax", logs, axes=[1], keepdims=1)
    return _normalised(graph, graph("Exp", graph("Sub", logs, top)), n_labels)


def _normalised(graph: _Graph, weights: str, n_labels: int) -> str:
    """Weights as shares of their sum; equal shares where that is not positive."""
    total = graph("ReduceSum", weights, graph.integers([1]), keepdims=1)
    some = graph("Greater", total, graph.doubles(0))
    share = graph("Div", weights, graph("Where", some, total, graph.doubles(1)))
    return graph("Where", some, share, graph.doubles(1 / n_labels))
