"""Exact tallies of how well shares of the labels fit the labels: only the wall may call these.

What a row adds is an integer within known bounds whatever its shares are, undefined ones included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.compiled import quiet
from privet.kernels.predict import best_labels
from privet.schema import Scalar

LARGEST_LOSS = 7
"""Log loss of a row, in nats, beyond which it is cut: a share below e^−7, about 0.0009, counts as that."""

LOSS_BOUND = LARGEST_LOSS << 14
"""The same in the whole units in which losses are added up."""

CELLS = 256
"""Cells of a share: equal in log-odds between −8 and 8, so that shares near 0 and 1 are told apart too."""

CELL_EDGES = 1 / (1 + np.exp(-np.linspace(-8, 8, CELLS + 1)[1:-1]))


def row_errors(shares: np.ndarray, labels: np.ndarray, values: Sequence[Scalar]) -> np.ndarray:
    """One for each row whose best label is not its own."""
    return (best_labels(shares, values) != labels).astype(np.int64)


@quiet
def row_losses(shares: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log loss of each row in whole units, from 0 to ``LOSS_BOUND``; an undefined one is the largest."""
    loss = -np.log(shares[np.arange(len(labels)), labels])
    units = np.floor(loss * (LOSS_BOUND / LARGEST_LOSS) + 0.5)
    # Cut as floats: what is undefined or infinite has no integer form.
    return np.where(units == units, np.clip(units, 0, LOSS_BOUND), LOSS_BOUND).astype(np.int64)


def sum_losses(losses: np.ndarray, bound: int) -> np.ndarray:
    """Sums of the losses, of what is missing to the bound, and of the squares by eight times the bound."""
    squares = (losses * losses + 4 * bound) // (8 * bound)
    return np.array([losses.sum(), (bound - losses).sum(), squares.sum()])


def scored_labels(n_labels: int) -> range:
    """Labels whose shares are ranked: of two the second alone, since the first's are the rest."""
    return range(1, 2) if n_labels == 2 else range(n_labels)


def own_weight(n_labels: int) -> int:
    """How often a row counts under its own label: as often as under all others together."""
    return max(n_labels - 1, 1)


def count_scores(shares: np.ndarray, labels: np.ndarray, bins: np.ndarray, n_bins: int) -> np.ndarray:
    """Rows by bin of each ranked label's share, ``(labels, bins, 2)``; the last axis: has it not, has it.

    ``bins`` has the bin of every cell. Rows that have the label count `own_weight` times.
    """
    n_labels = shares.shape[1]
    asked = scored_labels(n_labels)
    counts = np.empty((len(asked), n_bins, 2), np.int64)
    for out, label in zip(counts, asked, strict=True):
        # An undefined share sorts behind all others: into the last cell.
        cell = np.searchsorted(CELL_EDGES, shares[:, label], side="right")
        place = 2 * bins[cell].astype(np.int64) + (labels == label)
        out[:] = np.bincount(place, minlength=2 * n_bins).reshape(n_bins, 2)
    return counts * np.array([1, own_weight(n_labels)])
