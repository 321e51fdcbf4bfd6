"""How much work a model is for one row: of a file that anybody may have written, nobody else says so."""

from __future__ import annotations

import numpy as np

from privet.structure import Additive, CompleteTrees, MultiwayTrees, Scored, Weighed


def steps(scored: Scored) -> int:
    """Steps that a row takes through a model at most: what it shows, where it goes, what it is told."""
    if isinstance(scored, Weighed):
        return steps(scored.predictor)
    if isinstance(scored, Additive):
        width = len(scored.bins.views.source)
        return (width + scored.n_trees) * (scored.n_scores + 1) + width * scored.n_trees // 8
    trees, told = scored.trees, scored.values.shape[-1]
    return len(trees.views.source) + _splits(trees) + trees.n_trees * (told + 1)


def n_trees(scored: Scored) -> int:
    """Trees of a model."""
    if isinstance(scored, Weighed):
        return n_trees(scored.predictor)
    return scored.n_trees if isinstance(scored, Additive) else scored.trees.n_trees


def _splits(trees: CompleteTrees | MultiwayTrees) -> int:
    """Splits of the longest path of every tree, added up."""
    if isinstance(trees, CompleteTrees):
        return trees.n_trees * trees.depth
    longest = np.zeros(trees.n_trees, np.int64)
    for depth, nodes in enumerate(trees.levels):
        longest[trees.tree_of[nodes]] = depth
    return int(longest.sum())
