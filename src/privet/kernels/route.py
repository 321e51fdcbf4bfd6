"""Send rows through trees: codes in, leaf numbers out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privet.compiled import compiled, compiled_with_room, part, run
from privet.structure import CompleteTrees, MultiwayTrees, Structure

BLOCK = 1024
"""Rows whose codes stay in cache while all trees pass over them."""

STRIDE = BLOCK + 32
"""From one column of a block to the next: columns a power of two apart would share few lines of the cache."""

SWEPT = 6
"""Levels whose every node looks at all rows of a block; even, since a sweep goes down two of them."""

SWARM = 64
"""Rows for which that is faster than following each on its way, since many are compared at a time."""

FEW = 1 << 13
"""Walks for which waking another thread would take longer than walking."""

VISITS = 1 << 22
"""Leaf numbers found at a time: they stay in cache until they are used."""


def route(structure: Structure, codes: np.ndarray, first: int = 0, last: int | None = None) -> np.ndarray:
    """Leaf of every row, or of those from ``first`` to ``last``, in every tree, ``(trees, rows)``.

    ``codes`` is ``(features, rows)``. Leaves of complete and level-wise trees are numbered within
    their tree, those of multi-way trees over all trees.
    """
    n_rows = (codes.shape[1] if last is None else last) - first
    views, shape = structure.views, (structure.n_trees, n_rows)
    seen = (codes, views.source, views.start, views.table)
    grain = -(-FEW // max(structure.n_trees, 1))
    if isinstance(structure, CompleteTrees):
        out = np.empty(shape, np.uint16 if structure.depth <= 16 else np.int32)
        run(_complete, n_rows, BLOCK, *seen, packed_nodes(structure), structure.depth, first, out)
    elif isinstance(structure, MultiwayTrees):
        out, nodes = np.empty(shape, np.int32), roots(structure, n_rows)
        walk_down(structure, codes, first, nodes, out)
    else:
        out = np.empty(shape, np.int64)
        levels = (structure.view, structure.threshold, structure.radix)
        run(_levels, n_rows, grain, *seen, *levels, first, out)
    return out


def stretches(structure: Structure, n_rows: int) -> Iterator[tuple[int, int]]:
    """Rows to be routed at a time; none once, where there are none, so that what routes them is compiled."""
    step = max(VISITS // max(structure.n_trees, 1), BLOCK)
    return ((first, min(first + step, n_rows)) for first in range(0, max(n_rows, 1), step))


def roots(structure: MultiwayTrees, n_rows: int) -> np.ndarray:
    """Where rows stand at first, int32 ``(trees, rows)``."""
    return np.repeat(structure.roots.astype(np.int32)[:, None], n_rows, axis=1)


def walk_down(
    structure: MultiwayTrees, codes: np.ndarray, offset: int, nodes: np.ndarray, leaves: np.ndarray
) -> None:
    """Send rows from their nodes to their leaves; both arrays are written, ``(trees, rows)``."""
    views, grain = structure.views, -(-FEW // max(structure.n_trees, 1))
    tree = (structure.view, structure.threshold, structure.child)
    arrays = (codes, views.source, views.start, views.table, *tree, offset, nodes, leaves)
    run(_multiway, nodes.shape[1], grain, *arrays)


def route_assigned(structure: CompleteTrees, codes: np.ndarray, tree: np.ndarray) -> np.ndarray:
    """Leaf of every row in the one tree it was assigned to, ``(rows,)``."""
    out = np.empty(codes.shape[1], np.int32)
    views, nodes = structure.views, packed_nodes(structure)
    arrays = (codes, views.source, views.start, views.table, nodes, structure.depth, tree, out)
    run(_assigned, len(out), FEW, *arrays)
    return out


def packed_nodes(structure: CompleteTrees) -> np.ndarray:
    """View and threshold of a node in one 32-bit word, read with one load."""
    return (structure.view.astype(np.uint32) << np.uint32(16)) | structure.threshold


@part
def _seen(codes, source, start, table, view, row):  # type: ignore[no-untyped-def]
    """Code that a view shows of a row."""
    code = codes[source[view], row]
    return np.uint16(code) if start[view] < 0 else table[start[view] + code]


@part
def _load_block(codes, source, start, table, first, rows, block):  # type: ignore[no-untyped-def]
    """Codes of some rows, view after view."""
    for view in range(len(source)):
        line, begin, column = codes[source[view]], start[view], block[view]
        if begin < 0:
            for i in range(rows):
                column[i] = line[first + i]
        else:
            for i in range(rows):
                column[i] = table[begin + line[first + i]]


@part
def _sweep(block, tree, node, place):  # type: ignore[no-untyped-def]
    """Send the rows that stand at a node two levels down; all rows are looked at, and none branches."""
    root, left, right = tree[node], tree[2 * node], tree[2 * node + 1]
    by_root, by_left, by_right = block[root >> 16], block[left >> 16], block[right >> 16]
    cut, left_cut, right_cut = np.uint16(root), np.uint16(left), np.uint16(right)
    here, first, third = np.uint16(node), np.uint16(4 * node), np.uint16(4 * node + 2)
    for i in range(len(place)):
        below_left = np.uint16(first | np.uint16(by_left[i] >= left_cut))
        below_right = np.uint16(third | np.uint16(by_right[i] >= right_cut))
        below = below_right if by_root[i] >= cut else below_left
        place[i] = below if place[i] == here else place[i]


@part
def _walk_down(block, tree, levels, place, node):  # type: ignore[no-untyped-def]
    """Nodes that rows reach from their places.

    All rows go down a level before any goes down the next: one row's loads hide behind the others'. Nodes are
    numbered from 2: what is taken from twice the number is then the borrow of the comparison, and no further
    instruction is needed to fetch it.
    """
    codes, one = block.reshape(-1), np.uint64(1)
    for i in range(len(place)):
        node[i] = np.uint64(place[i]) + one
    for _ in range(levels):
        for i in range(len(node)):
            number = np.uint64(node[i])
            packed = tree[number - one]
            code = codes[np.uint64(packed >> np.uint32(16)) * np.uint64(STRIDE) + np.uint64(i)]
            node[i] = number + number - np.uint64(code < np.uint16(packed))


@compiled_with_room
def _complete(first, last, codes, source, start, table, nodes, depth, offset, out):  # type: ignore[no-untyped-def]
    block = np.empty((len(source), STRIDE), np.uint16)
    places, reached = np.empty(BLOCK, np.uint16), np.empty(BLOCK, np.uint32)
    for row in range(first, last, BLOCK):
        rows = min(last - row, BLOCK)
        _load_block(codes, source, start, table, offset + row, rows, block)
        swept = min(SWEPT, depth // 2 * 2) if rows >= SWARM else 0
        place, node = places[:rows], reached[:rows]
        for t in range(len(nodes)):
            tree, leaf = nodes[t], out[t, row : row + rows]
            place[:] = 1
            for level in range(0, swept, 2):
                for above in range(1 << level, 2 << level):
                    _sweep(block, tree, above, place)
            _walk_down(block, tree, depth - swept, place, node)
            for i in range(rows):
                leaf[i] = node[i] - np.uint32((1 << depth) + 1)


@compiled
def _assigned(first, last, codes, source, start, table, nodes, depth, assigned, out):  # type: ignore[no-untyped-def]
    """All rows of a block go down a level before any goes down the next, as in `_walk_down`."""
    sixteen, low = np.uint32(16), np.uint32(0xFFFF)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        for row in range(begin, end):
            out[row] = 1
        for _ in range(depth):
            for row in range(begin, end):
                node = np.uint32(out[row])
                p = nodes[assigned[row], node]
                code = _seen(codes, source, start, table, p >> sixteen, row)
                out[row] = np.int32((node << np.uint32(1)) | np.uint32(code >= (p & low)))
        for row in range(begin, end):
            out[row] -= np.int32(1 << depth)


@compiled
def _multiway(first, last, codes, source, start, table, view, threshold, child, offset, nodes, leaves):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for t in range(nodes.shape[0]):
            node = np.int64(nodes[t, i])
            while view[node] >= 0:
                code = np.int64(_seen(codes, source, start, table, view[node], offset + i))
                cut = np.int64(threshold[node])
                node = child[node] + (code if cut == 0 else np.int64(code >= cut))
            nodes[t, i], leaves[t, i] = node, child[node]


@compiled
def _levels(first, last, codes, source, start, table, view, threshold, radix, offset, out):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for t in range(len(view)):
            leaf = np.int64(0)
            for level in range(view.shape[1]):
                code = np.int64(_seen(codes, source, start, table, view[t, level], offset + i))
                cut = np.int64(threshold[t, level])
                leaf = leaf * radix[t, level] + (code if cut == 0 else np.int64(code >= cut))
            out[t, i] = leaf
