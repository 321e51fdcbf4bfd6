"""A forest whose leaves released rows below and above a number: what it says is worked out of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from privet.errors import QuestionError
from privet.model.base import largest_first
from privet.model.card import PrivacyCard
from privet.model.consistent import Told, consistent
from privet.model.forest import describe_trees, trees_from_arrays, trees_to_arrays
from privet.model.numbers import NumberModel, ResidualSizes
from privet.model.pruning import node_counts
from privet.model.rules import Rules
from privet.model.sections import ONE_TREE, Section, Sizes, TreePicture
from privet.model.tree import Said, ShownTree, check_tree
from privet.model.voting import rows_around
from privet.schema import Scalar, Schema
from privet.structure import CompleteTrees, LeafVotes

SPREADS = (0.2, 0.4)
"""How far a node's mean is expected to lie from its parent's, in deviations: near the root, and in a leaf."""

BOLDER = 1.4
"""By how much the trees' mean is moved away from that of all rows: each tree alone is too timid."""

MATTERS = (
    "How far the splits on each feature move what leaves say, squared and weighted by noisy rows, as a share "
    "of what all splits do. Noise is not taken off."
)


class Ground(NamedTuple):
    """How rows were shared out: about which number, by which width, and how widely numbers spread."""

    centre: float
    width: float
    deviation: float
    mean: float


@dataclass(frozen=True, repr=False)
class NumberForest(NumberModel):
    """Complete trees whose leaves each released rows below and above a number.

    Attributes
    ----------
    trees : CompleteTrees
    rows : float64 (trees, leaves, 2)
        Noisy, of every leaf, empty ones included.
    sd : float
        Of the noise of one of them.
    ground : Ground
    sizes : ResidualSizes
    schema : Schema
    card : PrivacyCard
    """

    trees: CompleteTrees
    rows: np.ndarray
    sd: float
    ground: Ground
    sizes: ResidualSizes
    schema: Schema
    card: PrivacyCard
    kind: ClassVar[str] = "number-forest"
    title: ClassVar[str] = "A forest of noisy means"

    @cached_property
    def levels(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Mean, its deviation and rows of every node, ``(trees, nodes)``, level by level from the root."""
        return node_means(self.rows, self.sd**2, self.ground)

    @property
    def predictor(self) -> LeafVotes:
        """What predictions are made of: the mean of the trees."""
        mean = self.ground.mean
        told = mean + BOLDER * (self.levels[-1][0] - mean)
        return LeafVotes(self.trees, told[..., None].astype(np.float32))

    @property
    def leaf_rows(self) -> np.ndarray:
        """Noisy rows of every leaf."""
        return np.asarray(self.rows.sum(axis=2))

    def importances(self) -> dict[str, float]:
        """Share of each feature in what all splits move; largest first."""
        return largest_first(self.schema.feature_names, self._moved())

    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """Rules are about labels: refused."""
        raise QuestionError("this model says numbers, rules are of labels.", "look at its trees.")

    def tree(self, number: int = 0) -> ShownTree:
        """One tree, to be shown: what a node says is its mean, with its rows."""
        check_tree(number, self.trees.n_trees)
        counts, variance = node_counts(self.rows, self.sd**2)
        told = consistent(
            self.trees, number, self.schema, counts.sum(axis=2, keepdims=True), 2 * variance, True
        )
        return ShownTree(self.trees, number, self.schema, lambda node: self._said(number, node, told), 2)

    def sections(self) -> Iterator[Section]:
        """What matters, and a tree."""
        yield Section("Before any feature is looked at", f"The noisy mean is {self.ground.mean:,.6g}.")
        yield Sizes("What matters", MATTERS, self.schema.feature_names, self._moved())
        yield TreePicture("One tree", ONE_TREE, self.tree())

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        target = self.schema.target
        told = describe_trees(self.trees, self.schema)
        told |= {"target": f"{target.name} from {target.lower:,} to {target.upper:,}"}
        return {"kind": self.kind, **told, "noise per leaf": round(self.sd, 3)}

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        header = self._header(depth=self.trees.depth, sd=self.sd, ground=list(self.ground))
        arrays = {"rows": self.rows, "edges": self.sizes.edges, "sizes": self.sizes.rows}
        return header, {**trees_to_arrays(self.trees), **arrays}

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        schema = Schema.from_dict(header["schema"])
        _ = schema.target
        trees, rows = trees_from_arrays(arrays, header["depth"], schema), arrays["rows"]
        ground, sd = Ground(*map(float, header["ground"])), float(header["sd"])
        sound = rows.shape == (trees.n_trees, trees.n_leaves, 2) and rows.dtype == np.float64
        if not sound or not np.isfinite(rows).all() or not all(map(isfinite, (*ground, sd))):
            raise QuestionError("the rows of this model do not fit its trees.")
        if min(ground.width, ground.deviation) <= 0 or sd < 0:
            raise QuestionError("this model has widths that cannot be.")
        sizes = ResidualSizes.checked(arrays["edges"], arrays["sizes"])
        return cls(trees, rows, sd, ground, sizes, schema, PrivacyCard(**header["card"]))

    def _moved(self) -> np.ndarray:
        total = np.zeros(len(self.schema.features))
        for level, ((above, _, _), (mean, _, rows)) in enumerate(
            zip(self.levels, self.levels[1:], strict=False)
        ):
            moved = (np.maximum(rows, 0) * (mean - np.repeat(above, 2, axis=1)) ** 2).reshape(*above.shape, 2)
            view = self.trees.view[:, 1 << level : 2 << level]
            np.add.at(total, self.trees.views.source[view], moved.sum(axis=2))
        return np.asarray(total / max(float(total.sum()), 1e-12))

    def _said(self, tree: int, node: int, told: Told) -> Said:
        level, (rows, variance) = node.bit_length() - 1, told(node)
        mean, sd, _ = (float(part[tree, node - (1 << level)]) for part in self.levels[level])
        return Said((f"{rows[0]:,.0f} ± {variance**0.5:,.0f} rows", f"{mean:,.4g} ± {sd:,.2g}"))


def node_means(
    noisy_rows: np.ndarray, variance: float, ground: Ground
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Mean, its deviation and noisy rows of every node, from the root down.

    A node's mean is its parent's, moved towards its own rows by as much as these weigh against noise and
    sampling: where few rows are, a leaf says what its nearest ancestor that has something to say does.
    """
    levels = [noisy_rows]
    while levels[0].shape[1] > 1:
        levels.insert(0, levels[0][:, 0::2] + levels[0][:, 1::2])
    offset, width = ground.mean - ground.centre, ground.width
    root = np.full(levels[0].shape[:2], offset)
    told = [(root + ground.centre, np.zeros(root.shape), levels[0].sum(axis=2))]
    means, spread = root, np.zeros(root.shape)
    for level, step in zip(levels[1:], np.linspace(*SPREADS, len(levels))[1:], strict=True):
        noise = variance * noisy_rows.shape[1] / level.shape[1]
        means, spread = np.repeat(means, 2, axis=1), np.repeat(spread, 2, axis=1)
        below, above = level[..., 0], level[..., 1]
        rows = rows_around(below + above, 2 * noise)
        residual = width * (above - below) - means * (below + above)
        scale = (step * ground.deviation) ** 2
        unsure = noise * ((width - means) ** 2 + (width + means) ** 2) + rows * ground.deviation**2
        gain = rows * scale / (rows**2 * scale + unsure)
        means = np.clip(means + gain * residual, -width, width)
        spread = np.sqrt((spread**2 + scale) * (1 - gain * rows).clip(0, 1))
        told.append((means + ground.centre, spread, below + above))
    return told
