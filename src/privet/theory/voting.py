"""A bound for private voting that can be proved, in the place of theorems of Bojarski et al. that fail."""

from __future__ import annotations

from math import log

from privet.theory.bojarski import Voting, shortfall
from privet.theory.bound import Bound, check, probability


def private_vote_bound(
    voting: Voting,
    n_rows: int,
    height: int,
    n_trees: int,
    epsilon: float,
    tree_error: float,
    margin: float,
    thinness: float,
) -> Bound:
    """Bound the training error of private majority voting or threshold averaging.

    Holds for two labels, complete binary trees whose structure does not depend on rows, Laplace noise, real
    or discrete, of scale k/ε on every count, and negative noisy counts set to 0. The proof is in
    ``docs/theory.md``; parameters are named as in :mod:`privet.theory.bojarski`.

    >>> bound = private_vote_bound("threshold", 10**10, 4, 9000, 1.0, 0.05, margin=0.1, thinness=20)
    >>> f"{bound.error:.4f} {bound.failure:.1e}"
    '0.3625 2.9e-10'
    >>> private_vote_bound("threshold", 10**6, 4, 9000, 1.0, 0.05, margin=0.1, thinness=20).vacuous
    True
    """
    check(n_rows=n_rows, height=height, n_trees=n_trees, epsilon=epsilon, tree_error=tree_error)
    check(margin=margin, thinness=thinness)
    # Whole votes lose rows where noise flips a leaf; a mean of shares moves by half the margin, which leaves
    # the other half to the draw of the trees.
    moved, rate = (margin, 2.0) if voting == "majority" else (0.0, 0.5)
    error = (shortfall(voting, tree_error) + 1 / thinness + moved) / (0.5 - margin)
    noise = margin / 2 * n_rows * epsilon / (thinness * 2**height * n_trees)
    vote = probability(log(n_rows) - rate * n_trees * margin**2)
    failure = vote + probability(log(2 ** (height + 2) * n_trees) - noise)
    return Bound(min(1.0, error), min(1.0, failure), n_trees, {"moved": moved, "noise": noise})
