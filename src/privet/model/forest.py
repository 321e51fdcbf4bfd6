"""A forest as it was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import row_shares
from privet.model.card import PrivacyCard
from privet.model.file import write_model
from privet.model.rules import Rules
from privet.schema import Scalar, Schema
from privet.soundness import check_structure
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees, Views


@dataclass(frozen=True)
class LabelForest:
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
    kind = "label-forest"

    @property
    def predictor(self) -> LeafVotes:
        """What predictions are made of: one vote a tree."""
        return LeafVotes(self.trees, np.eye(len(self.schema.label.values), dtype=np.uint8)[self.labels])

    def shares(self, source: Any) -> np.ndarray:
        """Share of the trees that vote for each label, ``(rows, labels)``."""
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        return row_shares(self.predictor, codes.features, len(self.schema.label.values))

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

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        return {"kind": self.kind, **describe_trees(self.trees, self.schema)}

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""
        header = {
            "kind": self.kind,
            "schema": self.schema.to_dict(),
            "card": self.card.to_dict(),
            "depth": self.trees.depth,
        }
        write_model(path, header, {**trees_to_arrays(self.trees), "labels": self.labels})

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        schema = Schema.from_dict(header["schema"])
        trees, labels = trees_from_arrays(arrays, header["depth"], schema), arrays["labels"]
        n_labels = len(schema.label.values)
        if labels.shape != (trees.n_trees, trees.n_leaves) or labels.max() >= n_labels:
            raise QuestionError("the labels of this model do not fit its trees.")
        return cls(trees, labels, schema, PrivacyCard(**header["card"]))


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
        "labels": list(schema.label.values),
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
