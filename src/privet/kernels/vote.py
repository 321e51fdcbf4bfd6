"""Add up what the leaves that a row falls into say."""

from __future__ import annotations

import numba
import numpy as np

from privet.kernels.route import route
from privet.structure import CompleteTrees, MultiwayTrees

CHUNK = 32_768


def vote(structure: CompleteTrees | MultiwayTrees, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of leaf values over trees, ``(rows, outputs)``.

    ``values`` is ``(trees, leaves, outputs)`` for complete trees, ``(leaves, outputs)`` for
    multi-way trees.
    """
    per_tree = values if values.ndim == 3 else values[None]
    out = np.zeros((codes.shape[1], values.shape[-1]), np.float64)
    for first in range(0, codes.shape[1], CHUNK):
        leaves = route(structure, codes[:, first : first + CHUNK])
        _add(leaves, per_tree, out[first : first + CHUNK])
    return out


@numba.njit(parallel=True, cache=True)
def _add(leaves, values, out):  # type: ignore[no-untyped-def]
    for i in numba.prange(leaves.shape[1]):
        for t in range(leaves.shape[0]):
            said = values[t if len(values) > 1 else 0, leaves[t, i]]
            for k in range(out.shape[1]):
                out[i, k] += said[k]
