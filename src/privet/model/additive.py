"""What boosting releases: shapes, oblivious trees, and the link from scores to probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from privet.data import encode, open_table
from privet.kernels.predict import row_shares
from privet.model.card import PrivacyCard
from privet.model.effects import effects
from privet.model.file import write_model
from privet.schema import Schema
from privet.soundness import check_additive
from privet.structure import Additive, Bins, Views


@dataclass(frozen=True)
class AdditiveModel:
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
    kind = "additive"

    @property
    def predictor(self) -> Additive:
        """What predictions are made of."""
        return self.additive

    def shares(self, source: Any) -> np.ndarray:
        """Probability of each label for each row, ``(rows, labels)``."""
        codes = encode(open_table(source, self.schema), self.schema, with_label=False)
        return row_shares(self.predictor, codes.features, len(self.schema.label.values))

    def importances(self) -> dict[str, float]:
        """Mean absolute effect of each feature, trees included, over the noisy rows; largest first."""
        found = dict(zip(self.schema.feature_names, effects(self).importances.tolist(), strict=True))
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def describe(self) -> dict[str, Any]:
        """Structure and size, as plain data."""
        return {
            "kind": self.kind,
            "bins": self.additive.bins.n_bins,
            "trees": self.additive.n_trees,
            "depth": self.additive.depth,
            "leaves": int(np.prod(self.additive.leaves.shape[:2])),
            "labels": list(self.schema.label.values),
            "importance by feature": self.importances(),
        }

    def save(self, path: str | Path) -> None:
        """Write the model to one file."""
        header = {"kind": self.kind, "schema": self.schema.to_dict(), "card": self.card.to_dict()}
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
        write_model(path, header, arrays)

    @classmethod
    def from_file(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Build the model from what its file holds."""
        bins = Bins(Views(arrays["source"], arrays["start"], arrays["table"]), arrays["first"])
        parts = (arrays[name] for name in ("intercept", "shapes", "features", "turns", "leaves"))
        additive, schema = Additive(bins, *parts), Schema.from_dict(header["schema"])
        check_additive(additive, schema)
        card = PrivacyCard(**header["card"])
        return cls(additive, arrays["bin_shares"], arrays["bands"], schema, card)
