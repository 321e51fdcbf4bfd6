"""How a greedy tree shares its budget over its levels, and what it knows of the counts of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

SHARES = ("default", "paper")
DEEPEST = 24

ROWS_SHARE, LEAVES_SHARE = Fraction(1, 10), Fraction(3, 10)
GROWTH = 1
"""Parts of the budget that the rows of all levels and the labels of the leaves get; the rest chooses splits,
each level getting ``GROWTH`` times what the level above it gets. Found on random concepts, by the study
``greedy-shares``: accuracy hardly changes around them."""


@dataclass(frozen=True)
class LevelShares:
    """Shares of the budget, as fractions of all of it.

    Attributes
    ----------
    rows, split : tuple of Fraction (depth,)
        Of a level's numbers of rows, and of each of its choices of a split.
    last_rows : Fraction
        Of the rows of the last leaves; 0 where they are not asked.
    leaves : Fraction
        Of the leaves' label counts.
    choices : int
        How many choices make a level's splits.
    """

    rows: tuple[Fraction, ...]
    split: tuple[Fraction, ...]
    last_rows: Fraction
    leaves: Fraction
    choices: int = 1


def even_shares(depth: int, n_cut: int) -> LevelShares:
    """The same for every question: a threshold of each of ``n_cut`` features, then the split, a level."""
    each = Fraction(1, (2 + n_cut) * depth + 2)
    return LevelShares((each,) * depth, (each,) * depth, each, each, 1 + n_cut)


def default_shares(
    depth: int,
    rows: Fraction = ROWS_SHARE,
    leaves: Fraction = LEAVES_SHARE,
    growth: Fraction | int = GROWTH,
) -> LevelShares:
    """Little for rows, which only stop the growth; more for leaves and, most, for splits."""
    weights = [Fraction(growth) ** level for level in range(depth)]
    splits = [(1 - rows - leaves) * weight / sum(weights) for weight in weights]
    return LevelShares((rows / depth,) * depth, tuple(splits), Fraction(0), leaves)


@dataclass(frozen=True)
class CountEstimates:
    """Counts of every node from all that was asked about it: a mean weighted by precision.

    A leaf that is split no further is asked again with every level, at no cost: a level's question is about
    all leaves.
    """

    total: np.ndarray
    precision: np.ndarray

    @classmethod
    def none(cls, n_nodes: int, width: int) -> CountEstimates:
        """Nothing was asked yet."""
        return cls(np.zeros((n_nodes, width)), np.zeros(n_nodes))

    @property
    def mean(self) -> np.ndarray:
        """Counts of every node, ``(nodes, width)``; 0 where nothing was asked."""
        return self.total / np.where(self.precision > 0, self.precision, 1)[:, None]

    def more(self, nodes: np.ndarray, noisy_counts: np.ndarray, variance: float) -> CountEstimates:
        """The estimates after one more answer about some nodes."""
        total, precision = self.total.copy(), self.precision.copy()
        total[nodes] += noisy_counts / variance
        precision[nodes] += 1 / variance
        return CountEstimates(total, precision)

    def from_below(self, families: Sequence[tuple[int, slice]]) -> CountEstimates:
        """The estimates where a parent also hears the sum of its children; families from the root down.

        Without it the noise of a parent, which is asked at a small share, would reach all of its leaves.
        """
        heard = self
        for node, children in reversed(families):
            if (heard.precision[children] > 0).all():
                total = heard.mean[children].sum(axis=0)
                variance = float((1 / heard.precision[children]).sum())
                heard = heard.more(np.array([node]), total[None], variance)
        return heard

    def padded(self, n_nodes: int) -> CountEstimates:
        """The estimates after new nodes have grown."""
        more = n_nodes - len(self.precision)
        return CountEstimates(np.pad(self.total, ((0, more), (0, 0))), np.pad(self.precision, (0, more)))
