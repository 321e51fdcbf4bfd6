"""What the trees of an additive model say, sorted by the features that say it together.

A tree's value is a function of a few features. Under rows in which features are independent, with the noisy
shares of the model's bins, it parts into a mean, an effect of each feature, an effect of each pair beyond
those, and a rest of more features (analysis of variance). Effects of all trees add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privet.model.additive import AdditiveShapes


@dataclass(frozen=True)
class Effects:
    """Effects of single features and of pairs of them; each has mean zero over the noisy rows.

    Attributes
    ----------
    base : float64 (scores,)
        Mean of all scores.
    single : float64 (bins, scores)
        Of every feature's bins: its shape and what the trees add to it.
    bands : float64 (bins,)
        Standard deviation of ``single`` from one fit to another: what noise leaves in the shape, and what
        the trees, which are drawn anew and have noise of their own, scatter about their mean.
    importances : float64 (features,)
        Mean absolute value of each feature's effect.
    noise : float64 (features,)
        Mean absolute value that bands alone would give an effect.
    pairs : dict from (feature, feature) to float64 (bins, bins, scores)
    weights : dict from (feature, feature) to float
        Mean absolute value of each pair's effect, largest first.
    """

    base: np.ndarray
    single: np.ndarray
    bands: np.ndarray
    importances: np.ndarray
    noise: np.ndarray
    pairs: Mapping[tuple[int, int], np.ndarray]
    weights: Mapping[tuple[int, int], float]


def effects(model: AdditiveShapes) -> Effects:
    """Part all trees of a model, and add up what each feature and each pair of features does."""
    additive, places = model.additive, model.additive.bins.slices
    shares = [model.bin_shares[place] for place in places]
    base, single, squares = additive.intercept.copy(), additive.shapes.copy(), np.zeros(additive.shapes.shape)
    pairs: dict[tuple[int, int], np.ndarray] = {}
    for tree in range(additive.n_trees):
        features = [int(f) for f in np.unique(additive.features[tree])]
        turns = [additive.turns[places[f], tree] for f in features]
        patterns, found = zip(*(np.unique(t, return_inverse=True) for t in turns), strict=True)
        held = [np.bincount(where, shares[f]) for f, where in zip(features, found, strict=True)]
        value = _table(additive.leaves[tree], patterns)
        base += _centred(value, held, ())
        for a, feature in enumerate(features):
            effect = _centred(value, held, (a,))[found[a]]
            single[places[feature]] += effect
            squares[places[feature]] += effect**2
        for a, b in combinations(range(len(features)), 2):
            effect = _centred(value, held, (a, b))[np.ix_(found[a], found[b])]
            pairs[features[a], features[b]] = pairs.get((features[a], features[b]), 0.0) + effect
    # Trees are exchangeable, so that their scatter tells how far their sum would vary.
    scatter = squares - (single - additive.shapes) ** 2 / max(additive.n_trees, 1)
    bands = np.sqrt(model.bands**2 + np.maximum(scatter, 0).mean(axis=1))
    for place, share in zip(places, shares, strict=True):
        base += share @ single[place]
        single[place] -= share @ single[place]
    sizes = {pair: float(shares[pair[0]] @ _size(value) @ shares[pair[1]]) for pair, value in pairs.items()}
    return Effects(
        base,
        single,
        bands,
        np.array([share @ _size(single[place]) for place, share in zip(places, shares, strict=True)]),
        sqrt(2 / pi) * np.array([s @ bands[place] for place, s in zip(places, shares, strict=True)]),
        pairs,
        dict(sorted(sizes.items(), key=lambda item: -item[1])),
    )


def _table(leaves: np.ndarray, patterns: Sequence[np.ndarray]) -> np.ndarray:
    """Values of a tree by the bits that each of its features sets, ``(patterns of each feature, scores)``."""
    leaf = np.zeros((), np.int64)
    for pattern in patterns:
        leaf = leaf[..., None] + pattern
    return leaves[leaf]


def _centred(value: np.ndarray, held: list[np.ndarray], kept: tuple[int, ...]) -> np.ndarray:
    """Mean over all features but the kept ones, less what fewer of them say."""
    for axis in reversed(range(len(held))):
        mean = np.tensordot(held[axis], value, (0, axis))
        value = value - np.expand_dims(mean, axis) if axis in kept else mean
    return value


def _size(value: np.ndarray) -> np.ndarray:
    """Mean absolute value over the scores."""
    return np.abs(value).mean(axis=-1)
