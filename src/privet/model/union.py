"""Forests over different attributes of the same people, as one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import row_shares
from privet.model.card import PrivacyCard
from privet.model.counts import CountForest
from privet.model.file import write_model
from privet.model.voting import VOTINGS
from privet.schema import Schema
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees, Views

MAX_VIEWS = 1 << 16
MAX_CELLS = 1 << 28


@dataclass(frozen=True)
class UnionForest:
    """Count forests that each know some of the features; they may differ in depth, trees and noise.

    Attributes
    ----------
    forests : sequence of CountForest
        Each under a schema of its own features and the common label.
    voting : str
    schema : Schema
        All features, forest after forest.
    card : PrivacyCard
    """

    forests: Sequence[CountForest]
    voting: str
    schema: Schema
    card: PrivacyCard
    kind = "union-forest"

    def __post_init__(self) -> None:
        features = tuple(feature for forest in self.forests for feature in forest.schema.features)
        labels = {forest.schema.label for forest in self.forests}
        if (features, labels) != (self.schema.features, {self.schema.label}):
            raise QuestionError("the forests of this union do not fit its schema.")
        if len({type(forest.trees) for forest in self.forests}) > 1:
            raise QuestionError(
                "complete trees and trees with a child for every category cannot be united.",
                "agree on a structure.",
            )
        n_views = sum(len(forest.trees.views.source) for forest in self.forests)
        n_trees = sum(forest.trees.n_trees for forest in self.forests)
        complete = isinstance(self.forests[0].trees, CompleteTrees)
        n_leaves = n_trees << max(f.trees.depth for f in self.forests) if complete else 0
        if n_views > MAX_VIEWS or n_leaves * len(self.schema.label.values) > MAX_CELLS:
            raise QuestionError("this union has too many leaves.", "unite fewer or shallower trees.")
        if self.voting not in VOTINGS:
            raise QuestionError(f"voting must be one of {', '.join(VOTINGS)}.")
        object.__setattr__(self, "forests", tuple(f.with_voting(self.voting) for f in self.forests))

    @cached_property
    def predictor(self) -> LeafVotes:
        """What predictions are made of: the trees of all forests, made equally deep."""
        trees, values = stacked(self.forests), [forest.values for forest in self.forests]
        if isinstance(trees, CompleteTrees):
            # Wherever a row goes below what was a leaf, it hears what the leaf says.
            values = [np.repeat(v, trees.n_leaves // v.shape[1], axis=1) for v in values]
        prior = np.mean([forest.prior for forest in self.forests], axis=0)
        return LeafVotes(trees, np.concatenate(values), prior if self.voting == "posterior" else None)

    def shares(self, source: Any) -> np.ndarray:
        """Weight of each label for each row, ``(rows, labels)``: all trees of all forests vote."""
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        return row_shares(self.predictor, codes.features, len(self.schema.label.values))

    def with_voting(self, voting: str) -> UnionForest:
        """The same release, read another way."""
        return replace(self, voting=voting)

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        told = [forest.describe() for forest in self.forests]
        kept = [t.get("leaves kept", t["leaves"]) for t in told]
        return {
            "kind": self.kind,
            "forests": len(told),
            "trees": sum(t["trees"] for t in told),
            "depth": [t["depth"] for t in told],
            "leaves": sum(t["leaves"] for t in told),
            **({"leaves kept": sum(kept)} if any("leaves kept" in t for t in told) else {}),
            "labels": list(self.schema.label.values),
            "splits by feature": {n: s for t in told for n, s in t["splits by feature"].items()},
            "voting": self.voting,
            "noise per count": [t["noise per count"] for t in told],
        }

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""
        parts = [forest.to_file() for forest in self.forests]
        header = {
            "kind": self.kind,
            "schema": self.schema.to_dict(),
            "card": self.card.to_dict(),
            "voting": self.voting,
            "forests": [head for head, _ in parts],
        }
        arrays = {f"{i}.{name}": a for i, (_, own) in enumerate(parts) for name, a in own.items()}
        write_model(path, header, arrays)

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        own: list[dict[str, np.ndarray]] = [{} for _ in header["forests"]]
        for name, array in arrays.items():
            number, _, plain = name.partition(".")
            own[int(number)][plain] = array
        forests = [CountForest.from_file(head, a) for head, a in zip(header["forests"], own, strict=True)]
        schema = Schema.from_dict(header["schema"])
        return cls(forests, header["voting"], schema, PrivacyCard(**header["card"]))


def stacked(forests: Sequence[CountForest]) -> CompleteTrees | MultiwayTrees:
    """Trees of all forests over the features of all; complete ones split on to the depth of the deepest."""
    views, n_views = _joint_views(forests), [len(f.trees.views.source) for f in forests]
    complete = [f.trees for f in forests if isinstance(f.trees, CompleteTrees)]
    if complete:
        depth = max(trees.depth for trees in complete)
        view = _shifted([_deeper(trees.view, depth) for trees in complete], n_views)
        threshold = np.concatenate([_deeper(trees.threshold, depth) for trees in complete])
        return CompleteTrees(views, view, threshold, depth)
    trees = [f.trees for f in forests if isinstance(f.trees, MultiwayTrees)]
    leaf, n_nodes = np.concatenate([t.view < 0 for t in trees]), [len(t.view) for t in trees]
    leaf_numbers = _shifted([t.child for t in trees], [t.n_leaves for t in trees])
    return MultiwayTrees(
        views,
        _shifted([t.roots for t in trees], n_nodes),
        np.where(leaf, np.int32(-1), _shifted([t.view for t in trees], n_views)),
        np.concatenate([t.threshold for t in trees]),
        np.where(leaf, leaf_numbers, _shifted([t.child for t in trees], n_nodes)),
    )


def _joint_views(forests: Sequence[CountForest]) -> Views:
    views = [forest.trees.views for forest in forests]
    source = _shifted([v.source for v in views], [len(forest.schema.features) for forest in forests])
    start = _shifted([v.start for v in views], [len(v.table) for v in views])
    plain = np.concatenate([v.start < 0 for v in views])
    return Views(source, np.where(plain, -1, start), np.concatenate([v.table for v in views]))


def _shifted(arrays: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """Arrays one after the other, each moved on by the sizes of those before it."""
    first = np.cumsum([0, *sizes])
    return np.concatenate([a + a.dtype.type(n) for a, n in zip(arrays, first[:-1], strict=True)])


def _deeper(nodes: np.ndarray, depth: int) -> np.ndarray:
    out = np.zeros((len(nodes), 1 << depth), nodes.dtype)
    out[:, : nodes.shape[1]] = nodes
    return out
