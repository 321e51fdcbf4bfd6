"""Plain, slow twins of the kernels, and random structures to compare them on."""

from __future__ import annotations

import numpy as np

from privet.structure import CompleteTrees, LevelTrees, MultiwayTrees, Structure, Views


def seen(views: Views, codes: np.ndarray, view: int, row: int) -> int:
    code = int(codes[views.source[view], row])
    return code if views.start[view] < 0 else int(views.table[views.start[view] + code])


def leaf(structure: Structure, codes: np.ndarray, tree: int, row: int) -> int:
    """Leaf of one row in one tree, followed node by node."""
    views = structure.views
    if isinstance(structure, CompleteTrees):
        node = 1
        while node < structure.n_leaves:
            code = seen(views, codes, structure.view[tree, node], row)
            node = 2 * node + (code >= structure.threshold[tree, node])
        return node - structure.n_leaves
    if isinstance(structure, MultiwayTrees):
        node = structure.roots[tree]
        while structure.view[node] >= 0:
            code = seen(views, codes, structure.view[node], row)
            cut = structure.threshold[node]
            node = structure.child[node] + (code if cut == 0 else code >= cut)
        return int(structure.child[node])
    number = 0
    for view, cut, radix in zip(
        structure.view[tree], structure.threshold[tree], structure.radix[tree], strict=True
    ):
        code = seen(views, codes, view, row)
        number = number * int(radix) + (code if cut == 0 else int(code >= cut))
    return number


def route(structure: Structure, codes: np.ndarray) -> np.ndarray:
    rows = range(codes.shape[1])
    return np.array([[leaf(structure, codes, t, i) for i in rows] for t in range(structure.n_trees)])


def random_codes(rng, sizes, n_rows, dtype) -> np.ndarray:
    return np.array([rng.integers(0, size, n_rows) for size in sizes], dtype)


def random_views(rng, sizes) -> Views:
    tables = [(j, rng.integers(0, size, size)) for j, size in enumerate(sizes)]
    return Views.of(len(sizes), tables)


def random_complete(rng, sizes, n_trees, depth) -> CompleteTrees:
    views = random_views(rng, sizes)
    view = rng.integers(0, len(views.source), (n_trees, 1 << depth)).astype(np.uint16)
    sizes_of = np.array(sizes)[views.source]
    threshold = (rng.random(view.shape) * sizes_of[view]).astype(np.uint16)
    return CompleteTrees(views, view, threshold, depth)


def random_multiway(rng, sizes, n_trees, depth) -> MultiwayTrees:
    views = random_views(rng, sizes)
    roots, view, threshold, child = [], [], [], []
    leaves = 0

    def add() -> int:
        view.append(-1)
        threshold.append(0)
        child.append(0)
        return len(view) - 1

    for _ in range(n_trees):
        roots.append(add())
        open_ = [(roots[-1], 0)]
        while open_:
            node, level = open_.pop()
            if level == depth or rng.random() < 0.2:
                child[node] = leaves
                leaves += 1
                continue
            view[node] = int(rng.integers(len(views.source)))
            size = sizes[views.source[view[node]]]
            threshold[node] = int(rng.integers(1, size)) if rng.random() < 0.5 else 0
            children = [add() for _ in range(2 if threshold[node] else size)]
            child[node] = children[0]
            open_ += [(c, level + 1) for c in children]
    return MultiwayTrees(
        views,
        np.array(roots, np.int64),
        np.array(view, np.int32),
        np.array(threshold, np.uint16),
        np.array(child, np.int64),
    )


def random_levels(rng, sizes, n_trees, depth) -> LevelTrees:
    views = random_views(rng, sizes)
    view = rng.integers(0, len(views.source), (n_trees, depth)).astype(np.int32)
    sizes_of = np.array(sizes)[views.source][view]
    multiway = rng.random(view.shape) < 0.5
    threshold = np.where(multiway, 0, 1 + rng.integers(0, sizes_of - 1)).astype(np.uint16)
    radix = np.where(multiway, sizes_of, 2).astype(np.int64)
    return LevelTrees(views, view, threshold, radix)
