"""Rules of a forest: a path, what it says, and how far noise lets it say so.

Paths are put into words only when a rule is looked at: a forest has hundreds of thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, overload

import numpy as np

from privet.checks import whole
from privet.errors import QuestionError
from privet.model.words import condition_data, condition_text
from privet.schema import Scalar, Schema
from privet.structure import CompleteTrees, MultiwayTrees, Views

Trees = CompleteTrees | MultiwayTrees
SORTS = ("strength", "support", "confidence")
CERTAIN = 1e-9


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, the label; numbers are None where only labels were released.

    Attributes
    ----------
    tree, node : int
    conditions : tuple of str
        One a feature, in words of the schema. What they do not mention does not matter.
    label : str, int, float or bool
    confidence, confidence_sd : float or None
        Noisy share of the label among the rule's rows, and the deviation that the noise gives it.
    support, support_sd : float or None
        Noisy number of rows, and the deviation of its noise.
    strength : float or None
        How far the label's rows lie above the forest's mean share of it, in deviations of noise and
        sampling together.
    data : list of dict
        The conditions as plain data.
    """

    tree: int
    node: int
    conditions: tuple[str, ...]
    label: Scalar
    confidence: float | None = None
    confidence_sd: float | None = None
    support: float | None = None
    support_sd: float | None = None
    strength: float | None = None
    data: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    def __str__(self) -> str:
        text = f"{' and '.join(self.conditions) or 'always'} → {self.label}"
        if self.support is None:
            return text
        known = self.confidence is not None
        told = f"{self.confidence:.1%} ± {self.confidence_sd:.1%}" if known else "no rows"
        return f"{text}  ({told}, {self.support:,.0f} ± {self.support_sd:,.0f} rows)"

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data; what was not released is left out."""
        numbers = {name: getattr(self, name) for name in NUMBERS}
        return {
            "tree": self.tree,
            "node": self.node,
            "conditions": [dict(condition) for condition in self.data],
            "text": str(self),
            "label": self.label,
            **({} if self.support is None else numbers),
        }


NUMBERS = ("confidence", "confidence_sd", "support", "support_sd", "strength")


class Rules(Sequence[Rule]):
    """Rules in an order, put into words one at a time.

    Parameters
    ----------
    trees : CompleteTrees or MultiwayTrees
    schema : Schema
    tree, node : int (rules,)
        A node of complete trees is numbered as there (1 is the root), one of multi-way trees over all trees.
    label : int (rules,)
        Codes of the labels.
    numbers : dict of float (rules,)
        Those of ``NUMBERS`` that are known; NaN where one does not exist.
    """

    def __init__(
        self,
        trees: Trees,
        schema: Schema,
        tree: np.ndarray,
        node: np.ndarray,
        label: np.ndarray,
        numbers: Mapping[str, np.ndarray],
    ) -> None:
        self._trees, self._schema = trees, schema
        self._tree, self._node, self._label, self._numbers = tree, node, label, numbers

    def __len__(self) -> int:
        return len(self._node)

    @property
    def counted(self) -> bool:
        """Whether rules have rows and a confidence, beside their label."""
        return "support" in self._numbers

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Rules: ...
    def __getitem__(self, index: int | slice) -> Rule | Rules:
        if isinstance(index, slice):
            return self._taken(np.arange(len(self))[index])
        tree, node = int(self._tree[index]), int(self._node[index])
        masks = path_masks(self._trees, self._schema, tree, node)
        features = [(self._schema.features[j], mask) for j, mask in masks.items()]
        told = {feature.name: condition_text(feature, mask) for feature, mask in features}
        numbers = {name: float(values[index]) for name, values in self._numbers.items()}
        return Rule(
            tree,
            node,
            tuple(text for text in told.values() if text),
            self._schema.classes[self._label[index]],
            **{name: None if np.isnan(value) else value for name, value in numbers.items()},
            data=[condition_data(feature, mask) for feature, mask in features if told[feature.name]],
        )

    def __iter__(self) -> Iterator[Rule]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self)

    def select(
        self,
        top: int | None = None,
        *,
        label: Scalar | None = None,
        min_support: float = 0,
        sort: str = "strength",
    ) -> Rules:
        """The rules of a label with enough rows, strongest first.

        Parameters
        ----------
        top : int, optional
            How many; all by default.
        label : optional
        min_support : float
            Least noisy number of rows.
        sort : {"strength", "support", "confidence"}
        """
        top = None if top is None else whole(top, "top", 0)
        if isinstance(min_support, bool) or not isinstance(min_support, Real):
            raise QuestionError("min_support must be a number of rows.")
        keep = np.ones(len(self), bool)
        if label is not None:
            keep &= self._label == self._label_code(label)
        if not self.counted:
            if min_support > 0 or sort != "strength":
                raise QuestionError("these rules have labels alone: no support, nothing to sort by.")
            return self._taken(np.flatnonzero(keep)[:top])
        if sort not in SORTS:
            raise QuestionError(f"sort must be one of {', '.join(SORTS)}.")
        keep &= self._numbers["support"] >= min_support
        kept = np.flatnonzero(keep)
        order = np.argsort(-np.nan_to_num(self._numbers[sort][kept], nan=-np.inf), kind="stable")
        return self._taken(kept[order][:top])

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return all rules as plain data, for JSON or a frame."""
        return [rule.to_dict() for rule in self]

    def _taken(self, index: np.ndarray) -> Rules:
        numbers = {name: values[index] for name, values in self._numbers.items()}
        return Rules(
            self._trees, self._schema, self._tree[index], self._node[index], self._label[index], numbers
        )

    def _label_code(self, label: Scalar) -> int:
        values = list(self._schema.classes)
        if label not in values:
            raise QuestionError(f"there is no label {label!r}.", f"labels are {', '.join(map(str, values))}.")
        return values.index(label)


def counted_rules(
    trees: Trees,
    schema: Schema,
    tree: np.ndarray,
    node: np.ndarray,
    counts: np.ndarray,
    variance: np.ndarray | float,
    prior: np.ndarray,
) -> Rules:
    """Rules of nodes that have noisy label counts: leaves, or inner nodes for sub-rules.

    Parameters
    ----------
    tree, node : int (rules,)
    counts : (rules, labels)
    variance : float, or (rules,)
        Of the noise of one count.
    prior : (labels,)
        Mean shares of the labels.
    """
    n_labels = counts.shape[1]
    variance = np.broadcast_to(np.asarray(variance, float), len(counts))
    label = counts.argmax(axis=1)
    chosen = counts[np.arange(len(counts)), label].astype(float)
    support = counts.sum(axis=1).astype(float)
    rows = np.where(support >= 1, support, np.nan)
    confidence = np.clip(chosen / rows, 0, 1)
    share = prior[label]
    sampling = np.maximum(support, 0) * share * (1 - share)
    excess_sd = np.sqrt(share_variance(share, n_labels, variance) + sampling + CERTAIN)
    numbers = {
        "confidence": confidence,
        "confidence_sd": np.sqrt(share_variance(confidence, n_labels, variance)) / rows,
        "support": support,
        "support_sd": np.sqrt(n_labels * variance),
        "strength": (chosen - share * support) / excess_sd,
    }
    return Rules(trees, schema, tree, node, label, numbers)


def share_variance(share: np.ndarray, n_labels: int, variance: np.ndarray) -> np.ndarray:
    """Variance of count − share·(sum of all counts), each count having noise of some variance."""
    return np.asarray(variance * ((1 - share) ** 2 + (n_labels - 1) * share**2))


def path_masks(trees: Trees, schema: Schema, tree: int, node: int) -> dict[int, np.ndarray]:
    """Codes of each tested feature that reach a node, in the order of the path."""
    masks: dict[int, np.ndarray] = {}
    for above, child in _steps(trees, node):
        feature, mask = branch(trees, schema, tree, above, child)
        masks[feature] = masks[feature] & mask if feature in masks else mask
    return masks


def branch(trees: Trees, schema: Schema, tree: int, node: int, child: int) -> tuple[int, np.ndarray]:
    """Feature that a node tests, and its codes that go to the child of a number."""
    at = (tree, node) if isinstance(trees, CompleteTrees) else node
    view, threshold = int(trees.view[at]), int(trees.threshold[at])
    feature = int(trees.views.source[view])
    place = places(trees.views, view, schema.features[feature].n_codes)
    if threshold == 0 and isinstance(trees, MultiwayTrees):
        return feature, place == child
    return feature, (place >= threshold) == bool(child)


def places(views: Views, view: int, n_codes: int) -> np.ndarray:
    """What a view makes of every code of its feature."""
    start = views.start[view]
    return np.arange(n_codes) if start < 0 else views.table[start : start + n_codes]


def n_children(trees: MultiwayTrees, schema: Schema, node: int) -> int:
    """Number of children of a split: two, or one for every code of its view."""
    if trees.threshold[node]:
        return 2
    view = trees.view[node]
    n_codes = schema.features[trees.views.source[view]].n_codes
    return int(places(trees.views, int(view), n_codes).max()) + 1


def _steps(trees: Trees, node: int) -> list[tuple[int, int]]:
    """Nodes above a node, from the root, each with the number of the child that leads on."""
    if isinstance(trees, CompleteTrees):
        levels = range(node.bit_length() - 1, 0, -1)
        return [(node >> level, node >> (level - 1) & 1) for level in levels]
    steps: list[tuple[int, int]] = []
    while (above := int(trees.parent[node])) >= 0:
        steps.insert(0, (above, int(node - trees.child[above])))
        node = above
    return steps
