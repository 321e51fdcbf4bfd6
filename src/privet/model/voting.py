"""From noisy label counts of leaves to what each leaf says: five ways of voting, all post-processing."""

from __future__ import annotations

import numpy as np

from privet.kernels.predict import normalised

VOTINGS = ("sum", "majority", "threshold", "probabilistic", "posterior")

SPREAD = 0.3
"""How far the label shares of a node are expected to lie from its parent's, as a standard deviation."""


def leaf_values(counts: np.ndarray, variance: float, prior: np.ndarray, voting: str) -> np.ndarray:
    """What every leaf contributes, ``(trees, leaves, labels)``.

    - ``sum``: its noisy counts as they are, negative ones too, so that noise cancels over the trees
      (Jagannathan et al. 2012);
    - ``threshold``, ``probabilistic``: its shares, negative counts taken as zero, an empty leaf's equal
      (Bojarski et al. 2014, whose random share for such leaves carries no bound);
    - ``majority``: one vote for its most frequent label;
    - ``posterior``: its shares as far as their noise lets them speak, otherwise its ancestors'.
    """
    if voting == "sum":
        return counts.astype(np.float32)
    if voting == "posterior":
        return path_posterior(counts, variance, prior)
    shares = normalised(np.maximum(counts, 0))
    if voting == "majority":
        return np.eye(counts.shape[-1], dtype=np.float32)[shares.argmax(axis=-1)]
    return shares


def path_posterior(counts: np.ndarray, variance: float, prior: np.ndarray) -> np.ndarray:
    """Label shares of every leaf, estimated from the root down.

    A node's counts are the sums of its leaves' counts, with the sum of their noise. Its shares are its
    parent's, moved towards its own counts by as much as these weigh against noise and sampling: where
    few rows are, a leaf says what its nearest ancestor that has something to say does.
    """
    levels = [counts.astype(np.float64)]
    while levels[0].shape[1] > 1:
        levels.insert(0, levels[0][:, 0::2] + levels[0][:, 1::2])
    shares = np.broadcast_to(prior, (len(counts), 1, len(prior)))
    for level in levels:
        if level.shape[1] > 1:
            shares = np.repeat(shares, 2, axis=1)
        noise = variance * counts.shape[1] / level.shape[1]
        shares = _moved(shares, level, noise)
    return shares.astype(np.float32)


def _moved(shares: np.ndarray, counts: np.ndarray, noise: float) -> np.ndarray:
    """One step of the posterior: shares moved towards counts that carry noise."""
    n_labels = counts.shape[-1]
    total = counts.sum(axis=-1, keepdims=True)
    rows = np.maximum(total, 0.0)
    # A total that noise could have made stands for fewer rows than it says.
    rows = rows**3 / (rows**2 + n_labels * noise + 1e-9)
    residual = counts - shares * total
    uncertain = noise * ((1 - shares) ** 2 + (n_labels - 1) * shares**2) + rows * shares * (1 - shares)
    gain = rows * SPREAD**2 / (rows**2 * SPREAD**2 + uncertain + 1e-9)
    return normalised(np.clip(shares + gain * residual, 1e-4, 1.0))
