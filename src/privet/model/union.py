"""Forests over different attributes of the same people, as one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privet.errors import QuestionError
from privet.model.base import largest_first
from privet.model.card import PrivacyCard
from privet.model.counts import CountForest
from privet.model.gains import as_shares, told_apart
from privet.model.labels import LabelModel
from privet.model.rules import Rules
from privet.model.sections import Section
from privet.model.tree import ShownTree
from privet.model.voting import WAYS, check_voting
from privet.schema import Scalar, Schema
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees, Views

MAX_VIEWS = 1 << 16
MAX_CELLS = 1 << 28


@dataclass(frozen=True, repr=False)
class UnionForest(LabelModel):
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
    kind: ClassVar[str] = "union-forest"
    title: ClassVar[str] = CountForest.title

    def __post_init__(self) -> None:
        check_forests(self.forests)
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
        if n_views > MAX_VIEWS or n_leaves * self.schema.n_labels > MAX_CELLS:
            raise QuestionError("this union has too many leaves.", "unite fewer or shallower trees.")
        check_voting(self.voting)
        object.__setattr__(self, "forests", tuple(f.with_voting(self.voting) for f in self.forests))

    @cached_property
    def predictor(self) -> LeafVotes:
        """What predictions are made of: the trees of all forests, made equally deep."""
        trees, values = stacked(self.forests), [forest.values for forest in self.forests]
        if isinstance(trees, CompleteTrees):
            # Wherever a row goes below what was a leaf, it hears what the leaf says.
            values = [np.repeat(v, trees.n_leaves // v.shape[1], axis=1) for v in values]
        prior = np.mean([forest.prior for forest in self.forests], axis=0)
        return LeafVotes(trees, np.concatenate(values), prior if WAYS[self.voting].sharpens else None)

    def with_voting(self, voting: str) -> UnionForest:
        """The same release, read another way."""
        return replace(self, voting=voting)

    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """A union has none of its own: refused."""
        raise QuestionError("a union has no rules of its own.", "look at its forests, one by one.")

    def importances(self) -> dict[str, float]:
        """Share of each feature in what all splits of all forests tell apart."""
        gains = [told_apart(forest.trees, *forest.every_count(), forest.schema) for forest in self.forests]
        return largest_first(self.schema.feature_names, as_shares(np.concatenate(gains)))

    def tree(self, number: int = 0) -> ShownTree:
        """A union has none of its own: refused."""
        raise QuestionError("a union has no trees of its own.", "look at its forests, one by one.")

    def sections(self) -> Iterator[Section]:
        """What every forest has to show, under the features that it knows."""
        for i, forest in enumerate(self.forests, 1):
            known = f"It knows {', '.join(forest.schema.feature_names)}. {forest.card.promise}."
            yield Section(f"Forest {i} of {len(self.forests)}", known)
            yield from forest.sections()

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
            "labels": list(self.schema.classes),
            "splits by feature": {n: s for t in told for n, s in t["splits by feature"].items()},
            "voting": self.voting,
            "noise per count": [t["noise per count"] for t in told],
        }

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        parts = [forest.to_file() for forest in self.forests]
        arrays = {f"{i}.{name}": a for i, (_, own) in enumerate(parts) for name, a in own.items()}
        return self._header(voting=self.voting, forests=[head for head, _ in parts]), arrays

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


def check_forests(models: Sequence[Any]) -> None:
    """Refuse models that cannot be parts of a union."""
    if not all(isinstance(model, CountForest) for model in models):
        raise QuestionError(
            "only forests of counts of labels can be united.", "fit with --learner count-forest for a label."
        )


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
