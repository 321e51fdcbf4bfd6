"""A forest of noisy counts, as it was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Self

import numpy as np

from privet.errors import QuestionError
from privet.model.card import PrivacyCard
from privet.model.counted import CountedModel
from privet.model.forest import describe_trees, multiway_from_arrays, trees_from_arrays, trees_to_arrays
from privet.model.pruning import ends, kept_nodes, node_counts, pruned_counts
from privet.model.rules import Rules, counted_rules
from privet.model.sections import ONE_TREE
from privet.model.voting import VOTINGS, WAYS, check_voting, leaf_values, node_sums
from privet.schema import Scalar, Schema
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees

SPARSE = "cells"
"""What a card says of its learner where counts below a threshold were not released."""

ADAPTIVE = "adaptive"
"""The structure whose trees are pruned, as a card names it."""


@dataclass(frozen=True, repr=False)
class CountForest(CountedModel):
    """Trees whose leaves each carry a noisy count of every label.

    Attributes
    ----------
    trees : CompleteTrees or MultiwayTrees
    counts : int64 (trees, leaves, labels), of multi-way trees (leaves, labels)
        Noisy, of every leaf, empty ones included; zero where a sparse release shows nothing.
    variance : float
        Of the noise of one count, all batches together.
    prior : float64 (labels,)
        Shares of the labels, estimated from noisy counts.
    voting : str
        How leaves are combined; it can be changed without asking anything anew.
    schema : Schema
    card : PrivacyCard
    """

    trees: CompleteTrees | MultiwayTrees
    counts: np.ndarray
    variance: float
    prior: np.ndarray
    voting: str
    schema: Schema
    card: PrivacyCard
    kind: ClassVar[str] = "count-forest"
    title: ClassVar[str] = "A forest of noisy counts"
    tree_words: ClassVar[str] = (
        f"{ONE_TREE} Noisy counts of the leaves are made consistent: none is below zero, children add up to "
        "their parent, and what all trees counted together stands at the root."
    )

    @cached_property
    def values(self) -> np.ndarray:
        """What every leaf contributes to a vote."""
        multiway, counts = self.trees if isinstance(self.trees, MultiwayTrees) else None, self.counts
        if self.kept is not None and not WAYS[self.voting].weighs_noise:
            counts = pruned_counts(counts, self.kept)
        return leaf_values(counts, self.variance, self.prior, self.voting, multiway)

    @cached_property
    def kept(self) -> np.ndarray | None:
        """Nodes of adaptive trees that speak over their noise, ``(trees, nodes)``: see `kept_nodes`.

        Rows that fall into another branch are answered by their nearest kept node, and rules and pictures end
        there. None for structures of the papers, whose leaves all speak.
        """
        complete = isinstance(self.trees, CompleteTrees)
        adaptive = complete and self.card.learner.get("structure") == ADAPTIVE
        return kept_nodes(self.counts, self.variance) if adaptive else None

    @property
    def predictor(self) -> LeafVotes:
        """What predictions are made of."""
        return LeafVotes(self.trees, self.values, self.prior if WAYS[self.voting].sharpens else None)

    @property
    def every_leaf(self) -> np.ndarray | None:
        """Counts of all leaves, where trees are complete."""
        return self.counts if isinstance(self.trees, CompleteTrees) else None

    @property
    def leaf_rows(self) -> np.ndarray:
        """Noisy rows of every leaf."""
        return np.asarray(self.counts.sum(axis=-1), float)

    @property
    def draws(self) -> bool:
        """Whether an estimator draws its predictions by their shares."""
        return WAYS[self.voting].draws

    @property
    def is_sparse(self) -> bool:
        """Whether counts below a threshold were not released."""
        return SPARSE in self.card.learner

    @property
    def alike(self) -> bool:
        """Whether every tree counted all rows, not a part of its own."""
        return self.card.learner.get("rows") != "disjoint"

    def every_count(self) -> tuple[np.ndarray, np.ndarray]:
        """Noisy counts of every node, those of inner nodes sums over leaves, and their variance."""
        if isinstance(self.trees, MultiwayTrees):
            return node_sums(self.trees, self.counts, self.variance)
        return node_counts(self.counts, self.variance)

    def with_voting(self, voting: str) -> CountForest:
        """The same release, read another way."""
        check_voting(voting)
        return replace(self, voting=voting)

    def rules(
        self,
        top: int | None = None,
        *,
        label: Scalar | None = None,
        min_support: float = 0,
        sort: str = "strength",
        inner: bool = False,
    ) -> Rules:
        """Rules of the leaves, strongest first; of every node with ``inner``.

        The counts of an inner node are sums over its leaves, and so is their noise. Adaptive trees have the
        rules of kept nodes alone: a branch below them holds no more rows than noise. See `Rules.select`
        for the other parameters.
        """
        found = counted_rules(self.trees, self.schema, *self._nodes(inner), self.prior)
        return found.select(top, label=label, min_support=min_support, sort=sort)

    def _nodes(self, inner: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Tree, number, counts and variance of every leaf, or of every node."""
        counts, variance = self.every_count()
        if isinstance(self.trees, MultiwayTrees):
            node = np.flatnonzero((self.trees.view < 0) | inner)
            return self.trees.tree_of[node], node, counts[node], variance[node]
        kept = self.kept
        if kept is None:
            kept = np.ones(counts.shape[:2], bool)
            kept[:, 0] = False
        tree, node = np.nonzero(kept if inner else ends(kept))
        return tree, node, counts[tree, node], variance[node]

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        n_kept = None if self.kept is None else int(ends(self.kept).sum())
        return {
            "kind": self.kind,
            **describe_trees(self.trees, self.schema, n_kept),
            "voting": self.voting,
            "noise per count": round(self.variance**0.5, 3),
        }

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        header = self._header(depth=self.trees.depth, variance=self.variance, voting=self.voting)
        return header, {**trees_to_arrays(self.trees), "counts": self.counts, "prior": self.prior}

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        schema = Schema.from_dict(header["schema"])
        trees: CompleteTrees | MultiwayTrees = (
            multiway_from_arrays(arrays, schema)
            if "roots" in arrays
            else trees_from_arrays(arrays, header["depth"], schema)
        )
        n_labels = schema.n_labels
        per_tree = (trees.n_trees,) if isinstance(trees, CompleteTrees) else ()
        fits = arrays["counts"].shape == (*per_tree, trees.n_leaves, n_labels)
        if not fits or arrays["prior"].shape != (n_labels,) or header["voting"] not in VOTINGS:
            raise QuestionError("the counts of this model do not fit its trees.")
        numbers = arrays["counts"].dtype.kind == "i" and arrays["prior"].dtype.kind == "f"
        if not numbers or not 0 <= float(header["variance"]) < inf:
            raise QuestionError("the counts of this model are no noisy counts.")
        return cls(
            trees,
            arrays["counts"],
            header["variance"],
            arrays["prior"],
            header["voting"],
            schema,
            PrivacyCard(**header["card"]),
        )
