"""A forest as it was released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from privet.errors import QuestionError
from privet.model.card import PrivacyCard
from privet.model.labels import LabelModel
from privet.model.rules import Rules
from privet.model.sections import MOST_RULES, ONE_TREE, RuleList, Section, TreePicture
from privet.model.tree import Said, ShownTree, check_tree, lead
from privet.schema import Label, Scalar, Schema
from privet.soundness import check_structure
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees, Views

SOME_RULES = (
    "The first leaves of the first tree. Leaves released labels alone, so that none can be called "
    "stronger than another, and no feature more important."
)


@dataclass(frozen=True, repr=False)
class LabelForest(LabelModel):
    """Complete trees whose leaves each carry one label: what a majority forest releases.

    Attributes
    ----------
    trees : CompleteTrees
    labels : uint16 (trees, leaves)
        Label code of every leaf, empty ones included.
    schema : Schema
    card : PrivacyCard
    """

    trees: CompleteTrees
    labels: np.ndarray
    schema: Schema
    card: PrivacyCard
    kind: ClassVar[str] = "label-forest"
    title: ClassVar[str] = "A forest of labels"

    @property
    def predictor(self) -> LeafVotes:
        """What predictions are made of: one vote a tree."""
        return LeafVotes(self.trees, np.eye(self.schema.n_labels, dtype=np.uint8)[self.labels])

    @property
    def every_leaf(self) -> np.ndarray:
        """Labels of all leaves."""
        return self.labels

    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """Rules of the leaves, in the order of the trees: labels alone, since nothing else was released."""
        n_trees, n_leaves = self.labels.shape
        found = Rules(
            self.trees,
            self.schema,
            np.repeat(np.arange(n_trees), n_leaves),
            np.tile(np.arange(n_leaves, 2 * n_leaves), n_trees),
            self.labels.ravel(),
            {},
        )
        return found.select(top, label=label)

    def importances(self) -> dict[str, float]:
        """Not known of labels alone: refused."""
        raise QuestionError("leaves that released labels alone do not tell what matters.")

    def tree(self, number: int = 0) -> ShownTree:
        """One tree, to be shown: labels of leaves, and how many of the leaves below a node agree."""
        check_tree(number, self.trees.n_trees)
        n_labels = self.schema.n_labels
        return ShownTree(self.trees, number, self.schema, lambda node: self._said(number, node), n_labels)

    def sections(self) -> Iterator[Section]:
        """Some rules, and a tree."""
        yield RuleList("Some rules", SOME_RULES, self.rules(MOST_RULES))
        yield TreePicture("One tree", ONE_TREE, self.tree())

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        return {"kind": self.kind, **describe_trees(self.trees, self.schema)}

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        arrays = {**trees_to_arrays(self.trees), "labels": self.labels}
        return self._header(depth=self.trees.depth), arrays

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        schema = Schema.from_dict(header["schema"])
        trees, labels = trees_from_arrays(arrays, header["depth"], schema), arrays["labels"]
        n_labels = schema.n_labels
        if labels.shape != (trees.n_trees, trees.n_leaves) or labels.max() >= n_labels:
            raise QuestionError("the labels of this model do not fit its trees.")
        return cls(trees, labels, schema, PrivacyCard(**header["card"]))

    def _said(self, tree: int, node: int) -> Said:
        """The label of a leaf, or how many of the leaves below agree."""
        n_leaves, level = self.trees.n_leaves, node.bit_length() - 1
        below = n_leaves >> level
        first = node * below - n_leaves
        votes = np.bincount(self.labels[tree, first : first + below], minlength=self.schema.n_labels)
        label = int(votes.argmax())
        name = str(self.schema.classes[label])
        if below == 1:
            return Said((name,), label, 1.0)
        told = f"{votes[label]:,} of {below:,} leaves say {name}"
        return Said((told,), label, lead(votes[label] / below, len(votes)))


def describe_trees(
    trees: CompleteTrees | MultiwayTrees, schema: Schema, n_kept: int | None = None
) -> dict[str, Any]:
    """Size of a forest, and how often each feature is split on; leaves that are kept where it is pruned."""
    complete = isinstance(trees, CompleteTrees)
    views = trees.view[:, 1:].ravel() if complete else trees.view[trees.view >= 0]
    used = np.bincount(trees.views.source[views], minlength=len(schema.features))
    return {
        "trees": trees.n_trees,
        "depth": trees.depth,
        "leaves": trees.n_trees * trees.n_leaves if complete else trees.n_leaves,
        **({} if n_kept is None else {"leaves kept": n_kept}),
        **({"labels": list(schema.classes)} if isinstance(schema.label, Label) else {}),
        "splits by feature": dict(zip(schema.feature_names, map(int, used), strict=True)),
    }


def trees_to_arrays(trees: CompleteTrees | MultiwayTrees) -> dict[str, np.ndarray]:
    """Arrays under which a model's file keeps trees."""
    views = {"source": trees.views.source, "start": trees.views.start, "table": trees.views.table}
    pointers = {} if isinstance(trees, CompleteTrees) else {"roots": trees.roots, "child": trees.child}
    return {**views, "view": trees.view, "threshold": trees.threshold, **pointers}


def trees_from_arrays(arrays: Mapping[str, np.ndarray], depth: int, schema: Schema) -> CompleteTrees:
    """Complete trees from the arrays of a model's file, checked: kernels trust them."""
    views = Views(arrays["source"], arrays["start"], arrays["table"])
    trees = CompleteTrees(views, arrays["view"], arrays["threshold"], depth)
    check_structure(trees, schema)
    return trees


def multiway_from_arrays(arrays: Mapping[str, np.ndarray], schema: Schema) -> MultiwayTrees:
    """The same for multi-way trees, which have pointers."""
    views = Views(arrays["source"], arrays["start"], arrays["table"])
    trees = MultiwayTrees(views, arrays["roots"], arrays["view"], arrays["threshold"], arrays["child"])
    check_structure(trees, schema)
    return trees
