"""A forest as it was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.data import encode, open_table
from privet.kernels.vote import vote
from privet.model.card import PrivacyCard
from privet.model.file import write_model
from privet.schema import Schema
from privet.structure import CompleteTrees, Views


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

    def shares(self, source: Any) -> np.ndarray:
        """Share of the trees that vote for each label, ``(rows, labels)``."""
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        ballots = np.eye(len(self.schema.label.values), dtype=np.uint8)[self.labels]
        return vote(self.trees, codes.features, ballots) / self.trees.n_trees

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        used = np.bincount(
            self.trees.views.source[self.trees.view[:, 1:].ravel()],
            minlength=len(self.schema.features),
        )
        return {
            "kind": self.kind,
            "trees": self.trees.n_trees,
            "depth": self.trees.depth,
            "leaves": self.trees.n_trees * self.trees.n_leaves,
            "labels": list(self.schema.label.values),
            "splits by feature": dict(
                zip(self.schema.feature_names, (int(times) for times in used), strict=True)
            ),
        }

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""
        header = {
            "kind": self.kind,
            "schema": self.schema.to_dict(),
            "card": self.card.to_dict(),
            "depth": self.trees.depth,
        }
        arrays = {
            "source": self.trees.views.source,
            "start": self.trees.views.start,
            "table": self.trees.views.table,
            "view": self.trees.view,
            "threshold": self.trees.threshold,
            "labels": self.labels,
        }
        write_model(path, header, arrays)

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        views = Views(arrays["source"], arrays["start"], arrays["table"])
        trees = CompleteTrees(views, arrays["view"], arrays["threshold"], header["depth"])
        schema = Schema.from_dict(header["schema"])
        return cls(trees, arrays["labels"], schema, PrivacyCard(**header["card"]))
