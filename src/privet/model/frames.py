"""What was released as frames, and why a row is told what it is told.

Frames are Arrow tables: pandas, polars and DuckDB take them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privet.model.effects import effects
from privet.model.rules import Rules, path_masks, places
from privet.model.words import condition_text
from privet.notebook import facts_html
from privet.schema import Target
from privet.structure import CompleteTrees

if TYPE_CHECKING:
    from privet.model.additive import AdditiveShapes

SHOWN_ROWS = 5
"""Rows of an explanation that a notebook shows."""


@dataclass(frozen=True)
class Explanation:
    """Why rows are told what they are told: parts that add up to their scores.

    Attributes
    ----------
    features : sequence of str
    scores : sequence of str
        What the scores are of: the second of two labels, every label (also of two in a forest), or the number
        itself.
    base : float64 (scores,)
        What an average row hears.
    parts : float64 (rows, features, scores)
        What each feature alone adds.
    noise : float64 (rows, features)
        Standard deviation that the noise leaves in these parts; of forests also what drawing trees anew
        would change, and NaN of a single tree.
    together : float64 (rows, scores)
        What features add together, beyond what each adds alone; noise is not known here. Nothing in forests,
        where a split's step belongs to its feature.
    """

    features: Sequence[str]
    scores: Sequence[str]
    base: np.ndarray
    parts: np.ndarray
    noise: np.ndarray
    together: np.ndarray

    @property
    def totals(self) -> np.ndarray:
        """Scores of the rows, ``(rows, scores)``: the sum of everything here."""
        return np.asarray(self.base + self.parts.sum(axis=1) + self.together)

    def to_frame(self) -> pa.Table:
        """A line a row, feature and score: ``row``, ``feature``, ``score_of``, ``part``, ``noise``."""
        rows, names, scores = (range(len(self.parts)), self.features, self.scores)
        index = [(i, name, score) for i in rows for name in names for score in scores]
        listed = list(zip(*index, strict=True)) or [(), (), ()]
        columns = {
            "row": pa.array(listed[0], pa.int64()),
            "feature": pa.array(listed[1], pa.string()),
            "score_of": pa.array(listed[2], pa.string()),
            "part": self.parts.ravel(),
            "noise": np.repeat(self.noise.ravel(), len(scores)),
        }
        return pa.table(columns)

    def _repr_html_(self) -> str:
        return "".join(facts_html(f"Row {i}", self._row(i)) for i in range(min(len(self.parts), SHOWN_ROWS)))

    def _row(self, row: int) -> list[tuple[str, str]]:
        """Parts of one row, the largest first."""
        size = np.abs(self.parts[row]).max(axis=1)
        told = [
            (self.features[j], self._text(self.parts[row, j], self.noise[row, j])) for j in np.argsort(-size)
        ]
        together = [("together", self._text(self.together[row]))] if self.together.any() else []
        return [("an average row", self._text(self.base)), *told, *together]

    def _text(self, values: np.ndarray, noise: float | None = None) -> str:
        numbers = ", ".join(f"{v:+.3f} for {name}" for v, name in zip(values, self.scores, strict=True))
        return numbers + ("" if noise is None or np.isnan(noise) else f" ± {noise:.3f}")


def explanation(model: AdditiveShapes, codes: np.ndarray, scores: np.ndarray) -> Explanation:
    """Parts of the scores that rows of some codes have."""
    told, bins = effects(model), model.additive.bins
    found = np.stack([bin_of(model, j)[column] + bins.first[j] for j, column in enumerate(codes)])
    parts = told.single[found].transpose(1, 0, 2)
    together = scores - told.base - parts.sum(axis=1)
    names = model.schema.feature_names
    return Explanation(names, score_names(model), told.base, parts, told.bands[found].T, together)


def shapes_frame(model: AdditiveShapes) -> pa.Table:
    """A line a bin of a feature: ``feature``, ``values``, ``share`` of the noisy rows, ``band``, and effects.

    ``effect`` (of several labels ``effect of …``, one each) is what the bin adds to a score, trees included;
    ``released`` is the same column of the shapes alone, as they were released.
    """
    told, places_of = effects(model), model.additive.bins.slices
    lines = [
        (feature.name, condition_text(feature, bin_of(model, j) == b) or "any value")
        for j, feature in enumerate(model.schema.features)
        for b in range(places_of[j].stop - places_of[j].start)
    ]
    names, values = zip(*lines, strict=True)
    columns: dict[str, Any] = {"feature": names, "values": values}
    columns |= {"share": model.bin_shares, "band": told.bands}
    columns |= _scores("effect", score_names(model), told.single)
    return pa.table(columns | _scores("released", score_names(model), model.additive.shapes))


def leaves_frame(model: AdditiveShapes, trees: Iterable[CompleteTrees]) -> pa.Table:
    """A line a leaf: ``tree``, ``leaf``, ``conditions`` that lead to it, and what it adds to each score."""
    lines = []
    for number, tree in enumerate(trees):
        n_leaves = len(model.additive.leaves[number])
        for leaf in range(n_leaves):
            masks = path_masks(tree, model.schema, 0, n_leaves + leaf)
            told = [condition_text(model.schema.features[j], mask) for j, mask in masks.items()]
            lines.append({"tree": number, "leaf": leaf, "conditions": [text for text in told if text]})
    form = pa.schema({"tree": pa.int64(), "leaf": pa.int64(), "conditions": pa.list_(pa.string())})
    table = pa.Table.from_pylist(lines, form)
    values = model.additive.leaves.reshape(-1, model.additive.n_scores)
    for name, column in _scores("adds", score_names(model), values).items():
        table = table.append_column(name, pa.array(column))
    return table


def rules_frame(rules: Rules) -> pa.Table:
    """A line a rule: ``tree``, ``node``, ``conditions``, ``label``, and what numbers were released of it."""
    kept = ("support", "support_sd", "confidence", "confidence_sd") if rules.counted else ()
    return pa.Table.from_pylist(
        [
            {"tree": rule.tree, "node": rule.node, "conditions": rule.conditions, "label": str(rule.label)}
            | {name: getattr(rule, name) for name in kept}
            for rule in rules
        ]
    )


def bin_of(model: AdditiveShapes, feature: int) -> np.ndarray:
    """Bin of every code of a feature."""
    return places(model.additive.bins.views, feature, model.schema.features[feature].n_codes)


def score_names(model: AdditiveShapes) -> list[str]:
    """What the scores are of."""
    if isinstance(model.schema.label, Target):
        return [model.schema.label.name]
    names = list(map(str, model.schema.classes))
    return names[-1:] if model.additive.n_scores == 1 else names


def _scores(name: str, scores: Sequence[str], values: np.ndarray) -> dict[str, Any]:
    if len(scores) == 1:
        return {name: values[:, 0]}
    return {f"{name} of {score}": values[:, k] for k, score in enumerate(scores)}
