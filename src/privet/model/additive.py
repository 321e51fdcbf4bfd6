"""What boosting releases: shapes, oblivious trees, and the link from scores to probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from privet.data import encode, open_table
from privet.errors import QuestionError
from privet.kernels.predict import probabilities
from privet.kernels.score import score
from privet.model.base import ReleasedModel, largest_first
from privet.model.card import PrivacyCard
from privet.model.effects import effects
from privet.model.frames import Explanation, explanation, leaves_frame, shapes_frame
from privet.model.labels import LabelModel
from privet.model.numbers import NumberModel, ResidualSizes
from privet.model.rules import Rules, places
from privet.model.sections import FeaturePairs, FeatureShapes, LabelShares, Section, Sizes
from privet.model.tree import Said, ShownTree, check_tree
from privet.schema import Scalar, Schema
from privet.soundness import check_additive
from privet.structure import Additive, Bins, CompleteTrees, Views

AVERAGE = "What the model says of an average row."
MATTERS = (
    "How far each feature alone moves a prediction, on average over the noisy rows. The thin line is "
    "what noise alone would do: a bar that does not pass it, in grey, may be nothing else."
)
CHANCES = "The chance of “{}” as one feature changes and all others stay average"
ODDS = (
    "The odds of a label as one feature changes and all others stay average, times or divided by "
    "what they are for an average row; labels that a feature moves little are grey"
)
NUMBERS = "What is added to {} as one feature changes and all others stay average"
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
class AdditiveShapes(ReleasedModel):
    """What additive models of labels and of numbers have in common."""

    additive: Additive
    bin_shares: np.ndarray
    bands: np.ndarray
    schema: Schema
    card: PrivacyCard
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
        trees, n_colours = oblivious(self.additive, number, self.schema), max(self.additive.n_scores, 2)
        return ShownTree(trees, 0, self.schema, lambda node: self._said(number, node), n_colours)

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

    def with_shape(self, feature: str, values: Any) -> Self:
        """The same model with another shape of a feature, which the card names; costs nothing.

        Trees that look at the feature stay as they are.

        Parameters
        ----------
        feature : str
        values : array (bins,) or (bins, scores)
            What each bin adds to the scores: the column ``released`` of `shapes_frame`, changed.
        """
        names = list(self.schema.feature_names)
        if feature not in names:
            raise QuestionError(f"there is no feature {feature!r}.", f"features are {', '.join(names)}.")
        where = self.additive.bins.slices[names.index(feature)]
        shapes = self.additive.shapes.copy()
        try:
            given = np.array(values, float)
        except (TypeError, ValueError):
            given = np.empty(0)
        given = given[:, None] if given.ndim == 1 else given
        if given.shape != shapes[where].shape or not np.isfinite(given).all():
            raise QuestionError(
                f"a shape of {feature} has {len(shapes[where])} bins.", "give each a number for each score."
            )
        shapes[where] = given
        card = self.card.changed({"what": f"shape of {feature} set by hand"})
        return replace(self, additive=replace(self.additive, shapes=shapes), card=card)

    def shapes_frame(self) -> pa.Table:
        """Shapes as a frame, a line a bin: see `privet.model.frames.shapes_frame`."""
        return shapes_frame(self)

    def trees_frame(self) -> pa.Table:
        """Leaves of all trees as a frame, a line a leaf: see `privet.model.frames.leaves_frame`."""
        trees = range(self.additive.n_trees)
        return leaves_frame(self, (oblivious(self.additive, number, self.schema) for number in trees))

    def sections(self) -> Iterator[Section]:
        """What an average row hears, what matters, every feature's shape, and pairs of features."""
        told = effects(self)
        drawn = (self.schema, self.additive.bins, self.bin_shares, told)
        yield self._average(told.base)
        yield Sizes("What matters", MATTERS, self.schema.feature_names, told.importances, told.noise)
        yield FeatureShapes("Feature by feature", f"{self._axis}. {BANDS}", *drawn)
        if told.pairs:
            yield FeaturePairs("Together", TOGETHER.format(self.additive.n_trees), *drawn)

    @abstractmethod
    def _average(self, base: np.ndarray) -> Section:
        """What an average row hears."""

    @property
    @abstractmethod
    def _predicted(self) -> dict[str, Any]:
        """What is predicted, as plain data."""

    @property
    @abstractmethod
    def _axis(self) -> str:
        """What shapes are drawn in."""

    @abstractmethod
    def _scored(self, scores: np.ndarray) -> tuple[str, ...]:
        """What the leaf of a tree adds to the scores, in words."""

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        return {
            "kind": self.kind,
            "bins": self.additive.bins.n_bins,
            "trees": self.additive.n_trees,
            "depth": self.additive.depth,
            "leaves": int(np.prod(self.additive.leaves.shape[:2])),
            **self._predicted,
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
        return cls(additive, arrays["bin_shares"], arrays["bands"], schema, card, **cls._more(schema, arrays))

    @classmethod
    def _more(cls, schema: Schema, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """What else a kind of model holds; a schema that predicts something else is refused."""
        _ = schema.classes
        return {}

    def _said(self, tree: int, node: int) -> Said:
        """What a leaf adds to the scores; an inner node adds nothing itself."""
        leaves = self.additive.leaves[tree]
        if node < len(leaves):
            return Said(())
        scores = leaves[node - len(leaves)]
        clear = float(np.abs(scores).max() / max(np.abs(leaves).max(), 1e-12))
        leans = int(scores[0] > 0) if len(scores) == 1 else int(scores.argmax())
        return Said(self._scored(scores), leans, clear)


@dataclass(frozen=True, repr=False)
class AdditiveModel(AdditiveShapes, LabelModel):
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

    kind: ClassVar[str] = "additive"

    @property
    def label_shares(self) -> Sequence[float]:
        """Shares of the labels, as they were released."""
        shares = self.card.learner.get("shares")
        return super().label_shares if shares is None else [float(share) for share in shares]

    @property
    def _predicted(self) -> dict[str, Any]:
        return {"labels": list(self.schema.classes)}

    def _average(self, base: np.ndarray) -> Section:
        names = list(map(str, self.schema.classes))
        shares = probabilities(base[None], len(names))[0]
        return LabelShares("Before any feature is looked at", AVERAGE, names, shares)

    @property
    def _axis(self) -> str:
        return CHANCES.format(self.schema.classes[-1]) if self.additive.n_scores == 1 else ODDS

    def _scored(self, scores: np.ndarray) -> tuple[str, ...]:
        values = self.schema.classes
        if len(scores) == 1:
            return (f"{scores[0]:+.3f} for {values[-1]}",)
        order = np.argsort(-np.abs(scores))[:2]
        return tuple(f"{scores[k]:+.3f} for {values[k]}" for k in order)


@dataclass(frozen=True, repr=False)
class AdditiveNumbers(AdditiveShapes, NumberModel):
    """An additive model of a number: its scores are numbers in the target's own unit.

    Attributes
    ----------
    additive, bin_shares, bands, schema, card : as for `AdditiveModel`
    sizes : ResidualSizes
        What was released of how far rows are from their prediction.
    """

    sizes: ResidualSizes
    kind: ClassVar[str] = "additive-numbers"

    def to_file(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of the model's file."""
        header, arrays = super().to_file()
        return header, {**arrays, "edges": self.sizes.edges, "sizes": self.sizes.rows}

    @classmethod
    def _more(cls, schema: Schema, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        _ = schema.target
        return {"sizes": ResidualSizes.checked(arrays["edges"], arrays["sizes"])}

    @property
    def _predicted(self) -> dict[str, Any]:
        target = self.schema.target
        return {"target": f"{target.name} from {target.lower:,} to {target.upper:,}"}

    def _average(self, base: np.ndarray) -> Section:
        return Section("Before any feature is looked at", f"{AVERAGE} {base[0]:,.6g}.")

    @property
    def _axis(self) -> str:
        return NUMBERS.format(self.schema.label.name)

    def _scored(self, scores: np.ndarray) -> tuple[str, ...]:
        return (f"{scores[0]:+,.4g}",)


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
