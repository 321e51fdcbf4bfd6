"""What boosting releases: shapes, oblivious trees, and the link from scores to probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import probabilities
from privet.kernels.score import score
from privet.model.card import PrivacyCard
from privet.model.effects import effects
from privet.model.frames import Explanation, explanation, leaves_frame, shapes_frame
from privet.model.labels import LabelModel, largest_first
from privet.model.rules import Rules, places
from privet.model.sections import FeaturePairs, FeatureShapes, LabelShares, Section, Sizes
from privet.model.tree import Said, ShownTree, check_tree
from privet.schema import Scalar, Schema
from privet.soundness import check_additive
from privet.structure import Additive, Bins, CompleteTrees, Views

AVERAGE = "What the model says of an average row."
MATTERS = (
    "How far each feature alone moves a prediction, on average over the noisy rows. The dark line is "
    "what noise alone would do: a bar that does not pass it, in grey, may be nothing else."
)
CHANCES = "The chance of “{}” as one feature changes and all others stay average"
ODDS = (
    "The odds of a label as one feature changes and all others stay average, times or divided by "
    "what they are for an average row; labels that a feature moves little are grey"
)
BANDS = (
    "The band is two standard deviations on either side: what would change if noise and trees "
    "were drawn anew. Grey hills show where rows are."
)
TOGETHER = (
    "The {} trees also see features together: what remains of them after "
    "each feature's own part, pair by pair, those that matter most first. Noise is not drawn here: small "
    "patterns may be nothing."
)


@dataclass(frozen=True, repr=False)
class AdditiveModel(LabelModel):
    """An additive model: a shape for every feature, and trees for what shapes cannot say.

    Attributes
    ----------
    additive : Additive
    bin_shares : float64 (bins,)
        Noisy share of the rows in each bin of a feature.
    bands : float64 (bins,)
        Standard deviation that the noise leaves in a shape.
    schema : Schema
    card : PrivacyCard
    """

    additive: Additive
    bin_shares: np.ndarray
    bands: np.ndarray
    schema: Schema
    card: PrivacyCard
    kind: ClassVar[str] = "additive"
    title: ClassVar[str] = "An additive model"

    @property
    def predictor(self) -> Additive:
        """What predictions are made of."""
        return self.additive

    def importances(self) -> dict[str, float]:
        """Mean absolute effect of each feature, trees included, over the noisy rows; largest first."""
        return largest_first(self.schema.feature_names, effects(self).importances)

    def rules(self, top: int | None = None, *, label: Scalar | None = None) -> Rules:
        """An additive model has none: refused."""
        raise QuestionError("this model has shapes, not rules.", "look at them with privet.explain(model).")

    def tree(self, number: int = 0) -> ShownTree:
        """One tree, to be shown: what its leaves add to the scores."""
        check_tree(number, self.additive.n_trees)
        trees, n_labels = oblivious(self.additive, number, self.schema), self.schema.n_labels
        return ShownTree(trees, 0, self.schema, lambda node: self._said(number, node), n_labels)

    def explain(self, source: Any) -> Explanation:
        """Why rows are told what they are told: what each feature adds to their scores, with its noise.

        Parameters
        ----------
        source : as for ``predict``

        Returns
        -------
        Explanation
            Its parts add up to the scores of the rows.
        """
        codes = encode(open_table(source, self.schema), self.schema, with_label=False).features
        return explanation(self, codes, score(self.additive, codes))

    def shapes_frame(self) -> pa.Table:
        """Shapes as a frame, a line a bin: see `privet.model.frames.shapes_frame`."""
        return shapes_frame(self)

    def trees_frame(self) -> pa.Table:
        """Leaves of all trees as a frame, a line a leaf: see `privet.model.frames.leaves_frame`."""
        trees = range(self.additive.n_trees)
        return leaves_frame(self, (oblivious(self.additive, number, self.schema) for number in trees))

    def sections(self) -> Iterator[Section]:
        """What an average row hears, what matters, every feature's shape, and pairs of features."""
        told, names = effects(self), list(map(str, self.schema.classes))
        drawn = (self.schema, self.additive.bins, self.bin_shares, told)
        base = probabilities(told.base[None], len(names))[0]
        yield LabelShares("Before any feature is looked at", AVERAGE, names, base)
        yield Sizes("What matters", MATTERS, self.schema.feature_names, told.importances, told.noise)
        axis = CHANCES.format(names[-1]) if self.additive.n_scores == 1 else ODDS
        yield FeatureShapes("Feature by feature", f"{axis}. {BANDS}", *drawn)
        if told.pairs:
            yield FeaturePairs("Together", TOGETHER.format(self.additive.n_trees), *drawn)

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        return {
            "kind": self.kind,
            "bins": self.additive.bins.n_bins,
            "trees": self.additive.n_trees,
            "depth": self.additive.depth,
            "leaves": int(np.prod(self.additive.leaves.shape[:2])),
            "labels": list(self.schema.classes),
            "importance by feature": self.importances(),
        }

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        additive, views = self.additive, self.additive.bins.views
        arrays = {
            "source": views.source,
            "start": views.start,
            "table": views.table,
            "first": additive.bins.first,
            "intercept": additive.intercept,
            "shapes": additive.shapes,
            "features": additive.features,
            "turns": additive.turns,
            "leaves": additive.leaves,
            "bin_shares": self.bin_shares,
            "bands": self.bands,
        }
        return self._header(), arrays

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        bins = Bins(Views(arrays["source"], arrays["start"], arrays["table"]), arrays["first"])
        parts = (arrays[name] for name in ("intercept", "shapes", "features", "turns", "leaves"))
        additive, schema = Additive(bins, *parts), Schema.from_dict(header["schema"])
        check_additive(additive, schema)
        card = PrivacyCard(**header["card"])
        return cls(additive, arrays["bin_shares"], arrays["bands"], schema, card)

    def _said(self, tree: int, node: int) -> Said:
        """What a leaf adds to the scores; an inner node adds nothing itself."""
        leaves = self.additive.leaves[tree]
        if node < len(leaves):
            return Said(())
        scores, values = leaves[node - len(leaves)], self.schema.classes
        clear = float(np.abs(scores).max() / max(np.abs(leaves).max(), 1e-12))
        if len(scores) == 1:
            return Said((f"{scores[0]:+.3f} for {values[-1]}",), int(scores[0] > 0), clear)
        order = np.argsort(-np.abs(scores))[:2]
        return Said(tuple(f"{scores[k]:+.3f} for {values[k]}" for k in order), int(scores.argmax()), clear)


def oblivious(additive: Additive, tree: int, schema: Schema) -> CompleteTrees:
    """One tree of an additive model as a complete tree: all nodes of a level ask the same."""
    tables, views, depth = [], additive.bins.views, additive.depth
    for level, feature in enumerate(additive.features[tree]):
        bins = places(views, int(feature), schema.features[feature].n_codes)
        turns = additive.turns[additive.bins.slices[feature], tree]
        tables.append((int(feature), turns[bins] >> (depth - 1 - level) & 1))
    levels = np.array([0, *(node.bit_length() - 1 for node in range(1, 1 << depth))])
    view = (len(schema.features) + levels).astype(np.uint16)[None]
    return CompleteTrees(Views.of(len(schema.features), tables), view, np.ones_like(view), depth)
