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

SQUARE_BOUND = 1 << 14
"""A squared distance of 1 in the whole units in which they are added up."""

SHARE_BINS, SHARE_UNITS = 10, 1 << 14
"""Equal bins of a share for its reliability, and a share of 1 in the whole units that are added up."""

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


@quiet
def row_squares(shares: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Half the squared distance of each row's shares from its label, in units from 0 to ``SQUARE_BOUND``.

    Of two labels that is the squared error of either's share. An undefined one is the largest.
    """
    own = labels[:, None] == np.arange(shares.shape[1])
    units = np.floor(((shares - own) ** 2).sum(axis=1) * (SQUARE_BOUND / 2) + 0.5)
    return np.where(units == units, np.clip(units, 0, SQUARE_BOUND), SQUARE_BOUND).astype(np.int64)


@quiet
def row_powers(errors: np.ndarray, power: int) -> np.ndarray:
    """Each error to a power, in units from 0 to ``SQUARE_BOUND``, which is an error of 1; undefined: that."""
    units = np.floor(np.abs(errors) ** power * SQUARE_BOUND + 0.5)
    return np.where(units == units, np.clip(units, 0, SQUARE_BOUND), SQUARE_BOUND).astype(np.int64)


def count_predicted(shares: np.ndarray, labels: np.ndarray, values: Sequence[Scalar]) -> np.ndarray:
    """Rows by the label that is predicted and the one that they have, ``(labels, labels)``."""
    n_labels = shares.shape[1]
    place = n_labels * best_labels(shares, values) + labels
    return np.bincount(place, minlength=n_labels**2).reshape(n_labels, n_labels)


@quiet
def sum_reliability(shares: np.ndarray, labels: np.ndarray, values: Sequence[Scalar]) -> np.ndarray:
    """Shares by bin, ``(bins, 2, 2)``: of rows not as told and as told, what is missing to one, and they.

    Of two labels it is the second's share that is told, of more the predicted one's. Every row adds
    ``SHARE_UNITS``, parted in two, to one bin.
    """
    rows = np.arange(len(labels))
    told = np.ones(len(rows), np.int64) if shares.shape[1] == 2 else best_labels(shares, values)
    share = shares[rows, told]
    share = np.where(share == share, np.clip(share, 0, 1), 0)
    units = np.floor(share * SHARE_UNITS + 0.5).astype(np.int64)
    cell = np.minimum((share * SHARE_BINS).astype(np.int64), SHARE_BINS - 1)
    sums = np.zeros((SHARE_BINS, 2, 2), np.int64)
    np.add.at(sums, (cell, (told == labels).astype(np.int64)), np.stack([SHARE_UNITS - units, units], axis=1))
    return sums


def count_sure(
    shares: np.ndarray, labels: np.ndarray, values: Sequence[Scalar], edges: np.ndarray
) -> np.ndarray:
    """Rows by cell of the predicted label's share, and by whether that is theirs, ``(edges + 1, 2)``."""
    told = best_labels(shares, values)
    # What is undefined sorts behind all edges: into the last cell.
    cell = np.searchsorted(edges, shares[np.arange(len(labels)), told], side="right")
    return np.bincount(2 * cell + (told == labels), minlength=2 * len(edges) + 2).reshape(-1, 2)


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
