"""Trees whose every node has noisy label counts, as they were released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privet.errors import QuestionError
from privet.kernels.predict import normalised
from privet.model.card import PrivacyCard
from privet.model.counted import CountedModel
from privet.model.rules import Rules, counted_rules
from privet.model.voting import NODE_WAYS
from privet.schema import Scalar, Schema
from privet.soundness import check_structure
from privet.structure import LeafVotes, MultiwayTrees, Views

VOTES = tuple(NODE_WAYS)


@dataclass(frozen=True, repr=False)
class RuleForest(CountedModel):
    """Multi-way trees with noisy label counts of every node: each node is a rule.

    Attributes
    ----------
    trees : MultiwayTrees
    counts : float64 (nodes, labels)
        Noisy, of every node, as corrected by the learner.
    variance : float64 (nodes,)
        Of the noise of one count.
    votes : str
        What a leaf says: see `privet.model.voting.NODE_WAYS`.
    schema : Schema
    card : PrivacyCard
    """

    trees: MultiwayTrees
    counts: np.ndarray
    variance: np.ndarray
    votes: str
    schema: Schema
    card: PrivacyCard
    kind: ClassVar[str] = "rule-forest"
    title: ClassVar[str] = "Trees whose every node is a rule,"

    @cached_property
    def node_shares(self) -> np.ndarray:
        """Label shares of every node, as its way of voting has them."""
        return NODE_WAYS[self.votes].shares(self.trees, self.counts, self.variance, self.prior)

    @property
    def prior(self) -> np.ndarray:  # type: ignore[override]
        """Shares of the labels at large, from the counts of the roots."""
        return normalised(np.maximum(self.counts[self.trees.roots], 0.0).sum(axis=0))

    @property
    def predictor(self) -> LeafVotes:
        """What predictions are made of."""
        said = self.node_shares[self.trees.view < 0]
        return LeafVotes(self.trees, NODE_WAYS[self.votes].values(said))

    @property
    def leaf_rows(self) -> np.ndarray:
        """Noisy rows of every leaf."""
        return np.asarray(self.counts[self.trees.view < 0].sum(axis=1))

    def every_count(self) -> tuple[np.ndarray, np.ndarray]:
        """Noisy counts of every node and the variance of their noise."""
        return self.counts, self.variance

    def rules(
        self,
        top: int | None = None,
        *,
        label: Scalar | None = None,
        min_support: float = 0,
        sort: str = "strength",
        inner: bool = True,
    ) -> Rules:
        """Rules and sub-rules, strongest first; only those of the leaves without ``inner``.

        See `Rules.select` for the other parameters.
        """
        nodes = np.arange(len(self.counts)) if inner else np.flatnonzero(self.trees.view < 0)
        found = counted_rules(
            self.trees,
            self.schema,
            self.trees.tree_of[nodes],
            nodes,
            self.counts[nodes],
            self.variance[nodes],
            self.prior,
        )
        return found.select(top, label=label, min_support=min_support, sort=sort)

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        view, names = self.trees.view, self.schema.feature_names
        used = np.bincount(self.trees.views.source[view[view >= 0]], minlength=len(names))
        return {
            "kind": self.kind,
            "trees": self.trees.n_trees,
            "depth": len(self.trees.levels) - 1,
            "leaves": self.trees.n_leaves,
            "labels": list(self.schema.classes),
            "splits by feature": dict(zip(names, map(int, used), strict=True)),
            "votes": self.votes,
            "noise per count of a leaf": float(np.sqrt(self.variance[view < 0].mean())),
        }

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        trees, views = self.trees, self.trees.views
        arrays = {
            "source": views.source, "start": views.start, "table": views.table,
            "roots": trees.roots, "view": trees.view, "threshold": trees.threshold, "child": trees.child,
            "counts": self.counts, "variance": self.variance,
        }  # fmt: skip
        return self._header(votes=self.votes), arrays

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        schema = Schema.from_dict(header["schema"])
        views = Views(arrays["source"], arrays["start"], arrays["table"])
        names = ("roots", "view", "threshold", "child")
        trees = MultiwayTrees(views, *(arrays[name] for name in names))
        check_structure(trees, schema)
        counts, variance = arrays["counts"], arrays["variance"]
        shape = (len(trees.view), schema.n_labels)
        if counts.shape != shape or variance.shape != shape[:1] or counts.dtype.kind != "f":
            raise QuestionError("the counts of this model do not fit its trees.")
        if not (np.isfinite(counts).all() and (variance >= 0).all()) or header["votes"] not in tuple(
            NODE_WAYS
        ):
            raise QuestionError("this model has counts or votes that cannot be.")
        return cls(trees, counts, variance, header["votes"], schema, PrivacyCard(**header["card"]))
