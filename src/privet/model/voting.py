"""From noisy label counts of leaves to what each leaf says: five ways of voting, all post-processing."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from privet.kernels.predict import normalised
from privet.structure import MultiwayTrees

VOTINGS = ("sum", "majority", "threshold", "probabilistic", "posterior")

SPREADS = (0.1, 0.35)
"""How far a node's share of a label that half of the rows have is expected to lie from its parent's: near the
root, where a node moves all that is below it, and in a leaf."""


def leaf_values(
    counts: np.ndarray,
    variance: float,
    prior: np.ndarray,
    voting: str,
    multiway: MultiwayTrees | None = None,
) -> np.ndarray:
    """What every leaf contributes, in the shape of the counts: of complete trees, unless others are given.

    - ``sum``: its noisy counts as they are, negative ones too, so that noise cancels over the trees
      (Jagannathan et al. 2012);
    - ``threshold``, ``probabilistic``: its shares, negative counts taken as zero, an empty leaf's equal
      (Bojarski et al. 2014, whose random share for such leaves carries no bound);
    - ``majority``: one vote for its most frequent label, shared by those that are level;
    - ``posterior``: its shares as far as their noise lets them speak, otherwise its ancestors'.
    """
    if voting == "sum":
        return counts.astype(np.float32)
    if voting == "posterior" and multiway is not None:
        return multiway_posterior(multiway, counts, variance, prior)
    if voting == "posterior":
        return path_posterior(counts, variance, prior)
    shares = normalised(np.maximum(counts, 0))
    if voting == "majority":
        return normalised(shares == shares.max(axis=-1, keepdims=True)).astype(np.float32)
    return shares


def path_posterior(counts: np.ndarray, variance: float, prior: np.ndarray) -> np.ndarray:
    """Label shares of every leaf, estimated from the root down.

    A node's counts are the sums of its leaves' counts, with the sum of their noise. Its shares are its
    parent's, moved towards its own counts by as much as these weigh against noise and sampling: where
    few rows are, a leaf says what its nearest ancestor that has something to say does. A root says the
    prior: all rows are in it.
    """
    levels = [counts.astype(np.float64)]
    while levels[0].shape[1] > 1:
        levels.insert(0, levels[0][:, 0::2] + levels[0][:, 1::2])
    shares = np.broadcast_to(prior, (len(counts), 1, len(prior)))
    for level, spread in zip(levels[1:], _spreads(len(levels)), strict=True):
        noise = variance * counts.shape[1] / level.shape[1]
        shares = _moved(np.repeat(shares, 2, axis=1), level, noise, spread)
    return shares.astype(np.float32)


def multiway_posterior(
    trees: MultiwayTrees, counts: np.ndarray, variance: float, prior: np.ndarray
) -> np.ndarray:
    """The same for multi-way trees, ``(leaves, labels)``."""
    shares = node_posterior(trees, *node_sums(trees, counts, variance), prior)
    leaf = np.flatnonzero(trees.view < 0)
    values = np.empty(counts.shape, np.float32)
    values[trees.child[leaf]] = shares[leaf]
    return values


def node_posterior(
    trees: MultiwayTrees, counts: np.ndarray, variance: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Label shares of every node of multi-way trees from the counts of each, ``(nodes, labels)``."""
    shares = np.broadcast_to(prior, counts.shape).copy()
    for level, spread in zip(trees.levels[1:], _spreads(len(trees.levels)), strict=True):
        shares[level] = _moved(shares[trees.parent[level]], counts[level], variance[level, None], spread)
    return shares


def node_sums(trees: MultiwayTrees, counts: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts of every node of multi-way trees, ``(nodes, labels)``, and their variance, ``(nodes,)``."""
    sums, noise = np.zeros((len(trees.view), counts.shape[1])), np.zeros(len(trees.view))
    leaf = np.flatnonzero(trees.view < 0)
    sums[leaf], noise[leaf] = counts[trees.child[leaf]], variance
    for level in reversed(trees.levels[1:]):
        np.add.at(sums, trees.parent[level], sums[level])
        np.add.at(noise, trees.parent[level], noise[level])
    return sums, noise


def _spreads(n_levels: int) -> np.ndarray:
    """Spread of every level but the root's."""
    return np.linspace(*SPREADS, n_levels)[1:]


def _moved(shares: np.ndarray, counts: np.ndarray, noise: float | np.ndarray, spread: float) -> np.ndarray:
    """One step of the posterior: shares moved towards counts that carry noise."""
    n_labels = counts.shape[-1]
    total = counts.sum(axis=-1, keepdims=True)
    rows = _rows_around(total, n_labels * noise)
    residual = counts - shares * total
    uncertain = noise * ((1 - shares) ** 2 + (n_labels - 1) * shares**2) + rows * shares * (1 - shares)
    # The share of a rare label moves less, or noise would make it common.
    expected = 4 * spread**2 * shares * (1 - shares)
    gain = rows * expected / (rows**2 * expected + uncertain + 1e-9)
    return normalised(np.clip(shares + gain * residual, 1e-4, 1.0))


def _rows_around(noisy_total: np.ndarray, variance: float | np.ndarray) -> np.ndarray:
    """How many rows a node that a row falls into is expected to hold: at least none, by a flat prior.

    A row falls into large nodes more often than into small ones, by their size. Where nothing is known
    of the sizes, their law is as 1/size, and that of the sizes that rows meet is flat. A node whose noisy
    total is negative may thus still hold rows, and its counts still speak, though softly.
    """
    sd = np.sqrt(variance) + 1e-9
    # Further below zero the mean stays as it is there, next to nothing.
    z = np.maximum(noisy_total / sd, -30.0)
    return np.asarray(sd * (z + np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)))
