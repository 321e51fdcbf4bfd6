"""Two additive models as one: their bins are cut where either cuts, their values are weighed and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.schema import Schema
from privet.structure import Additive, Bins


@dataclass(frozen=True)
class Part:
    """An additive model, and what goes with its bins.

    Attributes
    ----------
    additive : Additive
    bin_shares, bands : float64 (bins,)
        Shares of the rows, and standard deviations of shapes.
    """

    additive: Additive
    bin_shares: np.ndarray
    bands: np.ndarray


@dataclass(frozen=True)
class Common:
    """Bins that are cut where either of two models cuts.

    Attributes
    ----------
    bins : Bins
    first, second : int64 (bins,)
        Bin of either model that a bin lies in.
    shares : float64 (bins,)
        Share of the rows: the second model's, parted within a bin of its as the first model has it.
    """

    bins: Bins
    first: np.ndarray
    second: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, first: Part, second: Part, schema: Schema) -> Common:
        """Of two models under one schema."""
        tables, sizes, places, shares = [], [], [], []
        for j, feature in enumerate(schema.features):
            codes = [_bins_of(part.additive.bins, j, feature.n_codes) for part in (first, second)]
            width = second.additive.bins.n_bins
            pairs, table, held = np.unique(
                codes[0] * width + codes[1], return_inverse=True, return_counts=True
            )
            tables.append(table)
            sizes.append(len(pairs))
            places.append((pairs // width, pairs % width))
            shares.append(_shares(places[-1], held, first.bin_shares, second.bin_shares))
        both = [np.concatenate(of) for of in zip(*places, strict=True)]
        return cls(Bins.of(tables, sizes), both[0], both[1], np.concatenate(shares))


def _bins_of(bins: Bins, feature: int, n_codes: int) -> np.ndarray:
    """Number, among all bins, of the bin of every code of a feature."""
    start = bins.views.start[feature]
    return np.asarray(bins.first[feature] + bins.views.table[start : start + n_codes].astype(np.int64))


def _shares(
    places: tuple[np.ndarray, np.ndarray], held: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """The second's share of a bin, parted by the first's; codes of a bin are taken as equally frequent."""
    within = held / np.bincount(places[0], held)[places[0]]
    likely = np.maximum(first[places[0]], 0.0) * within + 1e-9 * held
    return np.asarray(second[places[1]] * likely / np.bincount(places[1], likely)[places[1]])


def merged(first: Part, second: Part, common: Common, weights: Sequence[float], shift: np.ndarray) -> Part:
    """One model whose scores are ``shift`` and the weighed scores of both."""
    a, b = weights
    depth = max(first.additive.depth, second.additive.depth)
    left, right = _deepened(first.additive, depth), _deepened(second.additive, depth)
    additive = Additive(
        common.bins,
        a * left.intercept + b * right.intercept + shift,
        a * left.shapes[common.first] + b * right.shapes[common.second],
        np.concatenate([left.features, right.features]),
        np.concatenate([left.turns[common.first], right.turns[common.second]], axis=1),
        np.concatenate([a * left.leaves, b * right.leaves]),
    )
    bands = np.hypot(a * first.bands[common.first], b * second.bands[common.second])
    return Part(additive, common.shares, bands)


def _deepened(additive: Additive, depth: int) -> Additive:
    """The same with more levels, at which all rows go left, and leaves that none comes to."""
    more, leaves = depth - additive.depth, additive.leaves
    features = additive.features[:, :1] if additive.depth else np.zeros((len(leaves), 1), np.int32)
    empty = np.zeros((len(leaves), (1 << depth) - leaves.shape[1], additive.n_scores))
    return replace(
        additive,
        features=np.concatenate([np.repeat(features, more, axis=1), additive.features], axis=1),
        leaves=np.concatenate([leaves, empty], axis=1),
    )


def scaled(part: Part, factor: float) -> Part:
    """A model whose scores are multiplied."""
    additive = part.additive
    values = {name: factor * getattr(additive, name) for name in ("intercept", "shapes", "leaves")}
    return replace(part, additive=replace(additive, **values), bands=factor * part.bands)


def drawn_scores(parts: Sequence[Part], common: Common, n_rows: int, together: float) -> list[np.ndarray]:
    """Scores that one or both models give to made-up rows, ``(rows, scores)``.

    ``together`` is the correlation of features, each in the order of what its bins do to the scores.
    """
    random, places = np.random.default_rng(0), (common.first, common.second)[: len(parts)]
    factor, bins = random.normal(size=n_rows), []
    values = sum(part.additive.shapes[of][:, 0] for part, of in zip(parts, places, strict=True))
    for where in common.bins.slices:
        order = np.argsort(np.asarray(values)[where], kind="stable")
        own = np.sqrt(together) * factor + np.sqrt(1 - together) * random.normal(size=n_rows)
        rank = (np.argsort(np.argsort(own)) + 0.5) / n_rows
        below = np.cumsum(np.maximum(common.shares[where][order], 0.0) + 1e-12)
        bins.append(where.start + order[np.searchsorted(below[:-1] / below[-1], rank, side="right")])
    drawn = np.stack(bins, axis=1)
    return [_scores(part.additive, of[drawn]) for part, of in zip(parts, places, strict=True)]


def _scores(additive: Additive, bins: np.ndarray) -> np.ndarray:
    scores = additive.intercept + additive.shapes[bins].sum(axis=1)
    leaf = np.zeros((len(bins), additive.n_trees), np.int64)
    for column in bins.T:
        leaf += additive.turns[column]
    for tree, leaves in enumerate(additive.leaves):
        scores += leaves[leaf[:, tree]]
    return np.asarray(scores)
