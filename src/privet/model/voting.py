"""From noisy label counts to what each leaf says: the ways of voting, all of them post-processing.

A way of voting is declared here and nowhere else: models, estimators, parties, the command line and the
documentation read `WAYS` and `NODE_WAYS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from privet.errors import QuestionError
from privet.kernels.predict import normalised
from privet.structure import MultiwayTrees

SPREADS = (0.1, 0.35)
"""How far a node's share of a label that half of the rows have is expected to lie from its parent's: near the
root, where a node moves all that is below it, and in a leaf."""


@dataclass(frozen=True)
class LeafCounts:
    """What a way of voting may look at.

    Attributes
    ----------
    counts : (trees, leaves, labels), of multi-way trees (leaves, labels)
        Noisy.
    variance : float
        Of the noise of one count.
    prior : float64 (labels,)
        Shares of the labels at large.
    multiway : MultiwayTrees, optional
        The trees; complete ones where it is None.
    """

    counts: np.ndarray
    variance: float
    prior: np.ndarray
    multiway: MultiwayTrees | None = None


@dataclass(frozen=True)
class Way:
    """A way of voting over noisy counts of leaves.

    Attributes
    ----------
    words : str
        What a leaf says, for whoever has to choose.
    values : callable
        What every leaf contributes, in the shape of the counts.
    weighs_noise : bool
        Whether a thin leaf is left to its ancestors by the way itself. Of adaptive trees the others are given
        the counts of kept nodes: see `privet.model.pruning`.
    sharpens : bool
        Whether the trees' mean is moved away from the prior: see `privet.structure.LeafVotes`.
    draws : bool
        Whether an estimator draws its predictions by their shares.
    """

    words: str
    values: Callable[[LeafCounts], np.ndarray]
    weighs_noise: bool = False
    sharpens: bool = False
    draws: bool = False


def leaf_values(
    counts: np.ndarray,
    variance: float,
    prior: np.ndarray,
    voting: str,
    multiway: MultiwayTrees | None = None,
) -> np.ndarray:
    """What every leaf contributes, in the shape of the counts: see `WAYS`."""
    return WAYS[voting].values(LeafCounts(counts, variance, prior, multiway))


def check_voting(voting: object) -> None:
    """Refuse what is no way of voting."""
    if voting not in VOTINGS:
        raise QuestionError(f"voting must be one of {', '.join(VOTINGS)}.")


def noisy_counts(leaves: LeafCounts) -> np.ndarray:
    """Counts as they are, negative ones too, so that noise cancels over the trees."""
    return leaves.counts.astype(np.float32)


def one_vote(leaves: LeafCounts) -> np.ndarray:
    """One vote for a leaf's most frequent label, shared by those that are level."""
    shares = label_shares(leaves)
    return normalised(shares == shares.max(axis=-1, keepdims=True)).astype(np.float32)


def label_shares(leaves: LeafCounts) -> np.ndarray:
    """Shares of the labels, negative counts taken as zero, an empty leaf's equal."""
    return normalised(np.maximum(leaves.counts, 0))


def posterior(leaves: LeafCounts) -> np.ndarray:
    """Shares as far as their noise lets them speak, otherwise those of a leaf's ancestors."""
    counts, variance, prior = leaves.counts, leaves.variance, leaves.prior
    if leaves.multiway is not None:
        return multiway_posterior(leaves.multiway, counts, variance, prior)
    return path_posterior(counts, variance, prior)


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
    rows = rows_around(total, n_labels * noise)
    residual = counts - shares * total
    uncertain = noise * ((1 - shares) ** 2 + (n_labels - 1) * shares**2) + rows * shares * (1 - shares)
    # The share of a rare label moves less, or noise would make it common.
    expected = 4 * spread**2 * shares * (1 - shares)
    gain = rows * expected / (rows**2 * expected + uncertain + 1e-9)
    return normalised(np.clip(shares + gain * residual, 1e-4, 1.0))


def rows_around(noisy_total: np.ndarray, variance: float | np.ndarray) -> np.ndarray:
    """How many rows a node that a row falls into is expected to hold: at least none, by a flat prior.

    A row falls into large nodes more often than into small ones, by their size. Where nothing is known
    of the sizes, their law is as 1/size, and that of the sizes that rows meet is flat. A node whose noisy
    total is negative may thus still hold rows, and its counts still speak, though softly.
    """
    sd = np.sqrt(variance) + 1e-9
    # Further below zero the mean stays as it is there, next to nothing.
    z = np.maximum(noisy_total / sd, -30.0)
    return np.asarray(sd * (z + np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)))


@dataclass(frozen=True)
class NodeWay:
    """A way of voting over noisy counts of every node, where they were released.

    Attributes
    ----------
    words : str
    shares : callable
        Label shares of every node from trees, counts, their variance by node, and the prior.
    values : callable
        What leaves say, from their shares.
    offered : bool
        Whether forests may be asked for it.
    """

    words: str
    shares: Callable[[MultiwayTrees, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    values: Callable[[np.ndarray], np.ndarray] = np.asarray
    offered: bool = True


def node_shares(
    trees: MultiwayTrees, counts: np.ndarray, variance: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Label shares of every node from its own counts; one without rows says what its parent says."""
    known = np.maximum(counts, 0.0)
    shares, above = normalised(known), trees.parent
    for node in np.flatnonzero((known.sum(axis=1) <= 0) & (above >= 0)):
        shares[node] = shares[above[node]]
    return shares


def by_confidence(shares: np.ndarray) -> np.ndarray:
    """The most frequent label alone, weighted by its share."""
    return shares * np.eye(shares.shape[1])[shares.argmax(axis=1)]


WAYS: Mapping[str, Way] = {
    "sum": Way(
        "its noisy counts, whose noise cancels over the trees (Jagannathan et al. 2012)", noisy_counts
    ),
    "majority": Way("one vote for its most frequent label (Bojarski et al. 2014)", one_vote),
    "threshold": Way("its shares of the labels (Bojarski et al. 2014)", label_shares),
    "probabilistic": Way(
        # Their random share for empty leaves carries no bound: here an empty leaf's shares are equal.
        "its shares of the labels, by which predictions are drawn (Bojarski et al. 2014)",
        label_shares,
        draws=True,
    ),
    "posterior": Way(
        "its shares as far as their noise lets them speak, otherwise its ancestors'",
        posterior,
        weighs_noise=True,
        sharpens=True,
    ),
}
"""All ways of voting over counts of leaves, by name."""

VOTINGS = tuple(WAYS)

NODE_WAYS: Mapping[str, NodeWay] = {
    "posterior": NodeWay("its shares as far as noise lets every node on its path speak", node_posterior),
    "confidence": NodeWay("its most frequent label, weighted by its share", node_shares, by_confidence),
    "counts": NodeWay("its shares of the labels", node_shares, offered=False),
}
"""All ways of voting over counts of every node, by name."""

NODE_VOTINGS = tuple(name for name, way in NODE_WAYS.items() if way.offered)
