"""Send rows through trees: codes in, leaf numbers out."""

from __future__ import annotations

import numba
import numpy as np

from privet.structure import CompleteTrees, MultiwayTrees, Structure

BLOCK = 1024
"""Rows whose codes stay in the first cache while all trees pass over them."""

FEW = 1 << 14
"""Walks for which waking other threads would take longer than walking."""

TILE = 32
"""Rows that are turned around at a time: what is written stays in the first cache."""

INTERLEAVED = 8
"""Rows walked together, so that one row's load hides behind the others'."""


def route(structure: Structure, codes: np.ndarray) -> np.ndarray:
    """Leaf of every row in every tree, ``(trees, rows)``.

    ``codes`` is ``(features, rows)``. Leaves of complete and level-wise trees are numbered within
    their tree, those of multi-way trees over all trees.
    """
    views = structure.views
    shape = (structure.n_trees, codes.shape[1])
    if isinstance(structure, CompleteTrees):
        out = np.empty(shape, np.int32)
        nodes = packed_nodes(structure)
        _complete(codes, views.source, views.start, views.table, nodes, structure.depth, out)
    elif isinstance(structure, MultiwayTrees):
        out = np.empty(shape, np.int64)
        tree = (structure.roots, structure.view, structure.threshold, structure.child)
        walk = _multiway if out.size > FEW else _multiway_few
        walk(codes, views.source, views.start, views.table, *tree, out)
    else:
        out = np.empty(shape, np.int64)
        levels = (structure.view, structure.threshold, structure.radix)
        _levels(codes, views.source, views.start, views.table, *levels, out)
    return out


def route_assigned(structure: CompleteTrees, codes: np.ndarray, tree: np.ndarray) -> np.ndarray:
    """Leaf of every row in the one tree it was assigned to, ``(rows,)``."""
    out = np.empty(codes.shape[1], np.int32)
    views, nodes = structure.views, packed_nodes(structure)
    _assigned(codes, views.source, views.start, views.table, nodes, structure.depth, tree, out)
    return out


def packed_nodes(structure: CompleteTrees) -> np.ndarray:
    """View and threshold of a node in one 32-bit word, read with one load."""
    return (structure.view.astype(np.uint32) << np.uint32(16)) | structure.threshold


@numba.njit(cache=True, inline="always")
def _seen(codes, source, start, table, view, row):  # type: ignore[no-untyped-def]
    """Code that a view shows of a row."""
    code = codes[source[view], row]
    return np.uint16(code) if start[view] < 0 else table[start[view] + code]


@numba.njit(cache=True, inline="always")
def _step(node, packed, block, row):  # type: ignore[no-untyped-def]
    """Child of a node that a row goes to, without a branch."""
    code = block[np.uint32(row + (packed >> np.uint32(16)))]
    return np.uint32((node << np.uint32(1)) | np.uint32(code >= (packed & np.uint32(0xFFFF))))


@numba.njit(cache=True)
def _load_block(codes, source, start, table, first, rows, block):  # type: ignore[no-untyped-def]
    """Codes of some rows, row after row, so that a row lies on one or two cache lines."""
    width = np.uint32(len(source))
    for tile in range(0, rows, TILE):
        last = min(rows, tile + TILE)
        for view in range(len(source)):
            line, begin = codes[source[view]], start[view]
            if begin < 0:
                for i in range(tile, last):
                    block[np.uint32(i) * width + np.uint32(view)] = line[first + i]
            else:
                for i in range(tile, last):
                    block[np.uint32(i) * width + np.uint32(view)] = table[begin + line[first + i]]


@numba.njit(parallel=True, cache=True)
def _complete(codes, source, start, table, nodes, depth, out):  # type: ignore[no-untyped-def]
    n_rows, width = codes.shape[1], np.uint32(len(source))
    n_leaves, one = np.uint32(1 << depth), np.uint32(1)
    for b in numba.prange((n_rows + BLOCK - 1) // BLOCK):
        first = b * BLOCK
        rows = min(n_rows, first + BLOCK) - first
        block = np.zeros((BLOCK + INTERLEAVED) * width, np.uint16)
        _load_block(codes, source, start, table, first, rows, block)
        for t in range(len(nodes)):
            tree = nodes[t]
            i = 0
            while i + INTERLEAVED <= rows:
                n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = one
                r0 = np.uint32(i) * width
                r1, r2, r3 = r0 + width, r0 + width * 2, r0 + width * 3
                r4, r5, r6, r7 = r0 + width * 4, r0 + width * 5, r0 + width * 6, r0 + width * 7
                for _ in range(depth):
                    n0 = _step(n0, tree[n0], block, r0)
                    n1 = _step(n1, tree[n1], block, r1)
                    n2 = _step(n2, tree[n2], block, r2)
                    n3 = _step(n3, tree[n3], block, r3)
                    n4 = _step(n4, tree[n4], block, r4)
                    n5 = _step(n5, tree[n5], block, r5)
                    n6 = _step(n6, tree[n6], block, r6)
                    n7 = _step(n7, tree[n7], block, r7)
                base = first + i
                out[t, base], out[t, base + 1] = n0 - n_leaves, n1 - n_leaves
                out[t, base + 2], out[t, base + 3] = n2 - n_leaves, n3 - n_leaves
                out[t, base + 4], out[t, base + 5] = n4 - n_leaves, n5 - n_leaves
                out[t, base + 6], out[t, base + 7] = n6 - n_leaves, n7 - n_leaves
                i += INTERLEAVED
            while i < rows:
                node, row = one, np.uint32(i) * width
                for _ in range(depth):
                    node = _step(node, tree[node], block, row)
                out[t, first + i] = node - n_leaves
                i += 1


@numba.njit(parallel=True, cache=True)
def _assigned(codes, source, start, table, nodes, depth, assigned, out):  # type: ignore[no-untyped-def]
    n_leaves = np.uint32(1 << depth)
    one, sixteen, low = np.uint32(1), np.uint32(16), np.uint32(0xFFFF)
    for row in numba.prange(codes.shape[1]):
        tree, node = nodes[assigned[row]], one
        for _ in range(depth):
            p = tree[node]
            code = _seen(codes, source, start, table, p >> sixteen, row)
            node = np.uint32((node << one) | np.uint32(code >= (p & low)))
        out[row] = node - n_leaves


@numba.njit(cache=True)
def _walk(codes, source, start, table, roots, view, threshold, child, row, out):  # type: ignore[no-untyped-def]
    """Leaves of one row in all multi-way trees."""
    for t in range(len(roots)):
        node = roots[t]
        while view[node] >= 0:
            code = np.int64(_seen(codes, source, start, table, view[node], row))
            cut = np.int64(threshold[node])
            node = child[node] + (code if cut == 0 else np.int64(code >= cut))
        out[t, row] = child[node]


@numba.njit(parallel=True, cache=True)
def _multiway(codes, source, start, table, roots, view, threshold, child, out):  # type: ignore[no-untyped-def]
    for row in numba.prange(codes.shape[1]):
        _walk(codes, source, start, table, roots, view, threshold, child, row, out)


@numba.njit(cache=True)
def _multiway_few(codes, source, start, table, roots, view, threshold, child, out):  # type: ignore[no-untyped-def]
    for row in range(codes.shape[1]):
        _walk(codes, source, start, table, roots, view, threshold, child, row, out)


@numba.njit(parallel=True, cache=True)
def _levels(codes, source, start, table, view, threshold, radix, out):  # type: ignore[no-untyped-def]
    for row in numba.prange(codes.shape[1]):
        for t in range(len(view)):
            leaf = np.int64(0)
            for level in range(view.shape[1]):
                code = np.int64(_seen(codes, source, start, table, view[t, level], row))
                cut = np.int64(threshold[t, level])
                leaf = leaf * radix[t, level] + (code if cut == 0 else np.int64(code >= cut))
            out[t, row] = leaf
