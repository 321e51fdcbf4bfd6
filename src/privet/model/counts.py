"""A forest of noisy counts, as it was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import row_shares
from privet.model.card import PrivacyCard
from privet.model.file import write_model
from privet.model.forest import describe_trees, multiway_from_arrays, trees_from_arrays, trees_to_arrays
from privet.model.pruning import ends, kept_nodes, node_counts, pruned_counts
from privet.model.rules import Rules, counted_rules
from privet.model.voting import VOTINGS, leaf_values, node_sums
from privet.schema import Scalar, Schema
from privet.structure import CompleteTrees, LeafVotes, MultiwayTrees

SPARSE = "cells"
"""What a card says of its learner where counts below a threshold were not released."""

ADAPTIVE = "adaptive"
"""The structure whose trees are pruned, as a card names it."""


@dataclass(frozen=True)
class CountForest:
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
    kind = "count-forest"

    @cached_property
    def values(self) -> np.ndarray:
        """What every leaf contributes to a vote."""
        multiway, counts = self.trees if isinstance(self.trees, MultiwayTrees) else None, self.counts
        # The posterior leaves thin leaves to their ancestors by itself, and more softly.
        if self.kept is not None and self.voting != "posterior":
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
        return LeafVotes(self.trees, self.values, self.prior if self.voting == "posterior" else None)

    def shares(self, source: Any) -> np.ndarray:
        """Weight of each label for each row, ``(rows, labels)``."""
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        return row_shares(self.predictor, codes.features, len(self.schema.label.values))

    def with_voting(self, voting: str) -> CountForest:
        """The same release, read another way."""
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
        if isinstance(self.trees, MultiwayTrees):
            counts, variance = node_sums(self.trees, self.counts, self.variance)
            node = np.flatnonzero((self.trees.view < 0) | inner)
            return self.trees.tree_of[node], node, counts[node], variance[node]
        counts, variance = node_counts(self.counts, self.variance)
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

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""
        write_model(path, *self.to_file())

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        header = {
            "kind": self.kind,
            "schema": self.schema.to_dict(),
            "card": self.card.to_dict(),
            "depth": self.trees.depth,
            "variance": self.variance,
            "voting": self.voting,
        }
        arrays = {**trees_to_arrays(self.trees), "counts": self.counts, "prior": self.prior}
        return header, arrays

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        schema = Schema.from_dict(header["schema"])
        trees: CompleteTrees | MultiwayTrees = (
            multiway_from_arrays(arrays, schema)
            if "roots" in arrays
            else trees_from_arrays(arrays, header["depth"], schema)
        )
        n_labels = len(schema.label.values)
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
