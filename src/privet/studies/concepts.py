"""Random concepts, as in Friedman and Schuster 2010: trees that label uniform points.

Ten attributes, some nominal and some numbers in [0, 100]; a random tree over them; points that the tree
labels, in which each value and each label is then redrawn with a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from privet.schema import Categorical, Continuous, Label, Schema

TOP = 100.0
FIRST_LEAVES = 3
"""Level, the root being the first, from which on a node may become a leaf before its time."""


@dataclass(frozen=True)
class Node:
    """A leaf with a label, or a split: a child a value, or one below and one from a threshold on."""

    label: int = -1
    attribute: int = -1
    threshold: float | None = None
    children: Sequence[Node] = ()


@dataclass(frozen=True)
class Concept:
    """A domain and the tree that labels it.

    Attributes
    ----------
    n_nominal, n_numeric : int
        Attributes of either kind, the nominal ones first.
    n_values, n_labels : int
        Values of a nominal attribute, and labels.
    root : Node
    """

    n_nominal: int
    n_numeric: int
    n_values: int
    n_labels: int
    root: Node

    def schema(self, max_rows: int) -> Schema:
        """The public contract of its points."""
        nominal = [Categorical(f"a{i}", range(self.n_values), missing=False) for i in range(self.n_nominal)]
        numeric = [Continuous(f"x{i}", 0.0, TOP, missing=False) for i in range(self.n_numeric)]
        return Schema([*nominal, *numeric], Label("y", list(range(self.n_labels))), max_rows)

    def table(self, X: np.ndarray) -> pa.Table:
        """Points as a table, the nominal attributes as integers."""
        columns = [X[:, i].astype(np.int64) for i in range(self.n_nominal)]
        columns += [X[:, i] for i in range(self.n_nominal, X.shape[1])]
        return pa.table(dict(zip(self.schema(1).feature_names, columns, strict=True)))

    def label(self, X: np.ndarray) -> np.ndarray:
        """Label of each point."""
        out = np.empty(len(X), np.int64)
        _label(self.root, X, np.arange(len(X)), out)
        return out

    def sample(
        self, n: int, random: np.random.Generator, noise: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Uniform points and their labels; each number is redrawn with a probability of ``noise``."""
        X = self._points(n, random)
        y = self.label(X)
        redrawn = random.random(X.shape) < noise
        X = np.where(redrawn, self._points(n, random), X)
        return X, np.where(random.random(n) < noise, random.integers(0, self.n_labels, n), y)

    def _points(self, n: int, random: np.random.Generator) -> np.ndarray:
        nominal = random.integers(0, self.n_values, (n, self.n_nominal)).astype(np.float64)
        return np.hstack([nominal, random.uniform(0, TOP, (n, self.n_numeric))])


def single_split(n_numeric: int = 0, threshold: float = 35.0) -> Concept:
    """Ten attributes, one of which tells the label: by its value, or by a threshold if it is a number."""
    leaves = (Node(label=0), Node(label=1))
    cut, attribute = (threshold, 9) if n_numeric else (None, 0)
    root = Node(attribute=attribute, threshold=cut, children=leaves)
    return Concept(10 - n_numeric, n_numeric, 2, 2, root)


def random_concept(
    random: np.random.Generator,
    depth: int = 5,
    n_numeric: int = 0,
    n_values: int = 2,
    n_labels: int = 2,
    p_leaf: float = 0.3,
) -> Concept:
    """A random tree of up to ``depth`` splits over ten attributes.

    Attributes are uniform, nominal ones among those that the path has not used; thresholds are uniform in
    what the path has left of a range; labels of leaves are uniform.
    """
    n_nominal = 10 - n_numeric
    free = dict.fromkeys(range(10), (0.0, TOP))

    def grow(level: int, free: dict[int, tuple[float, float]]) -> Node:
        if level > depth or (level >= FIRST_LEAVES and random.random() < p_leaf):
            return Node(label=int(random.integers(n_labels)))
        attribute = int(random.choice(list(free)))
        if attribute < n_nominal:
            left = {other: ends for other, ends in free.items() if other != attribute}
            children = [grow(level + 1, left) for _ in range(n_values)]
            return Node(attribute=attribute, children=children)
        low, high = free[attribute]
        cut = float(random.uniform(low, high))
        halves = [{**free, attribute: ends} for ends in ((low, cut), (cut, high))]
        return Node(attribute=attribute, threshold=cut, children=[grow(level + 1, half) for half in halves])

    return Concept(n_nominal, n_numeric, n_values, n_labels, grow(1, free))


def _label(node: Node, X: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    if not node.children:
        out[rows] = node.label
        return
    values = X[rows, node.attribute]
    branch = values if node.threshold is None else values >= node.threshold
    for number, child in enumerate(node.children):
        _label(child, X, rows[branch == number], out)
