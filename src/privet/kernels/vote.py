"""Add up what the leaves that a row falls into say."""

from __future__ import annotations

import numpy as np

from privet.compiled import compiled, run
from privet.kernels.route import BLOCK, route, stretches
from privet.structure import CompleteTrees, MultiwayTrees


def vote(structure: CompleteTrees | MultiwayTrees, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of leaf values over trees, ``(rows, outputs)``.

    ``values`` is ``(trees, leaves, outputs)`` for complete trees, ``(leaves, outputs)`` for
    multi-way trees.
    """
    codes = np.ascontiguousarray(codes)
    per_tree = values if values.ndim == 3 else values[None]
    out = np.zeros((codes.shape[1], values.shape[-1]), np.float64)
    for first, last in stretches(structure, codes.shape[1]):
        leaves = route(structure, codes, first, last)
        run(_add, last - first, BLOCK, leaves, per_tree, first, out)
    return out


@compiled
def _add(first, last, leaves, values, offset, out):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for t in range(leaves.shape[0]):
            said = values[t if len(values) > 1 else 0, leaves[t, i]]
            for k in range(out.shape[1]):
                out[offset + i, k] += said[k]
