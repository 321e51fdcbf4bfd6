"""Every kernel agrees with its plain twin, on every shape of tree and type of code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import twins
from privet.kernels import walk
from privet.kernels.count import SparseCounts, count_assigned, count_cells, count_leaves
from privet.kernels.grow import grow_complete
from privet.kernels.route import BLOCK, SWARM, SWEPT, route, route_assigned
from privet.kernels.vote import vote
from privet.kernels.walk import leaf_numbers
from privet.learners.growing import numbered
from privet.structure import CompleteTrees, MultiwayTrees, Views

SIZES = [5, 2, 9, 200]
SHAPES = {
    "complete": twins.random_complete,
    "multiway": twins.random_multiway,
    "levels": twins.random_levels,
}


@pytest.fixture(params=[np.uint8, np.uint16], ids=["uint8", "uint16"])
def codes(request):
    return twins.random_codes(np.random.default_rng(1), SIZES, 333, request.param)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("depth", [1, 3])
def test_route_agrees_with_its_twin(shape, depth, codes):
    structure = shape(np.random.default_rng(depth), SIZES, 5, depth)
    assert (route(structure, codes) == twins.route(structure, codes)).all()


@pytest.mark.parametrize("n_rows", [1, SWARM - 1, SWARM, BLOCK - 1, BLOCK, BLOCK + 13, 3 * BLOCK + 5])
def test_blocks_meet_at_every_seam(n_rows):
    rng = np.random.default_rng(2)
    codes = twins.random_codes(rng, SIZES, n_rows, np.uint16)
    structure = twins.random_complete(rng, SIZES, 2, 4)
    assert (route(structure, codes) == twins.route(structure, codes)).all()


@pytest.mark.parametrize("depth", range(SWEPT + 3))
@pytest.mark.parametrize("n_rows", [SWARM - 1, SWARM + 9])
def test_levels_that_are_swept_and_levels_that_are_walked_meet(depth, n_rows):
    rng = np.random.default_rng(depth)
    sizes = [65_536, 300, 2, 7]
    codes = twins.random_codes(rng, sizes, n_rows, np.uint16)
    structure = twins.random_complete(rng, sizes, 3, depth)
    assert (route(structure, codes) == twins.route(structure, codes)).all()


@pytest.mark.parametrize("depth", [15, 16, 17])
@pytest.mark.parametrize("n_rows", [1, SWARM])
def test_the_last_leaf_of_a_deep_tree_does_not_wrap(depth, n_rows):
    nodes = np.zeros((1, 1 << depth), np.uint16)
    structure = CompleteTrees(Views.of(1), nodes, nodes, depth)
    assert (route(structure, np.zeros((1, n_rows), np.uint8)) == (1 << depth) - 1).all()


def test_the_largest_codes_do_not_wrap():
    codes = np.array([[0, 65_534, 65_535]], np.uint16)
    threshold = np.array([[0, 65_535]], np.uint16)
    structure = CompleteTrees(Views.of(1), np.zeros((1, 2), np.uint16), threshold, 1)
    assert route(structure, codes).tolist() == [[0, 0, 1]]


def test_rows_in_slices_are_routed_as_they_stand():
    rng = np.random.default_rng(3)
    codes = twins.random_codes(rng, SIZES, 400, np.uint16)
    structure = twins.random_complete(rng, SIZES, 3, 5)
    assert (route(structure, codes[:, 37:291]) == route(structure, codes)[:, 37:291]).all()


@pytest.mark.parametrize("n_labels", [1, 2, 7])
@pytest.mark.parametrize("shape", ["complete", "multiway"])
def test_counts_agree_with_their_twin(shape, n_labels, codes):
    rng = np.random.default_rng(4)
    structure = SHAPES[shape](rng, SIZES, 4, 3)
    labels = rng.integers(0, n_labels, codes.shape[1]).astype(np.uint8)
    counts = count_leaves(structure, codes, labels, n_labels)
    expected = np.zeros_like(counts)
    for t, leaves in enumerate(twins.route(structure, codes)):
        np.add.at(expected[t] if shape == "complete" else expected, (leaves, labels), 1)
    assert (counts == expected).all()
    assert counts.sum() == 4 * codes.shape[1]


def test_assigned_rows_are_counted_in_their_own_tree_alone(codes):
    rng = np.random.default_rng(5)
    structure = twins.random_complete(rng, SIZES, 6, 3)
    labels = rng.integers(0, 3, codes.shape[1]).astype(np.uint8)
    tree = rng.integers(0, 6, codes.shape[1])
    everywhere = twins.route(structure, codes)
    own = everywhere[tree, np.arange(codes.shape[1])]
    assert (route_assigned(structure, codes, tree) == own).all()
    expected = np.zeros((6, 8, 3), np.int64)
    np.add.at(expected, (tree, own, labels), 1)
    assert (count_assigned(structure, codes, labels, 3, tree) == expected).all()


def test_sparse_counts_agree_with_their_twin_and_add_up(codes):
    rng = np.random.default_rng(6)
    structure = twins.random_levels(rng, SIZES, 3, 3)
    labels = rng.integers(0, 2, codes.shape[1]).astype(np.uint8)
    whole = count_cells(structure, codes, labels, 2)
    halves = count_cells(structure, codes[:, :100], labels[:100], 2) + count_cells(
        structure, codes[:, 100:], labels[100:], 2
    )
    for t, leaves in enumerate(twins.route(structure, codes)):
        cells, counts = np.unique(leaves * 2 + labels, return_counts=True)
        for found in (whole, halves):
            assert (found.cells[t] == cells).all()
            assert (found.counts[t] == counts).all()
    assert isinstance(halves, SparseCounts)


@pytest.mark.parametrize("shape", ["complete", "multiway"])
def test_votes_agree_with_their_twin(shape, codes):
    rng = np.random.default_rng(7)
    structure = SHAPES[shape](rng, SIZES, 4, 3)
    n_leaves = structure.n_leaves
    values = rng.integers(0, 9, (4, n_leaves, 3) if shape == "complete" else (n_leaves, 3))
    expected = np.zeros((codes.shape[1], 3))
    for t, leaves in enumerate(twins.route(structure, codes)):
        expected += (values[t] if shape == "complete" else values)[leaves]
    assert (vote(structure, codes, values) == expected).all()


@pytest.mark.parametrize("within_node", [True, False])
def test_grown_trees_split_what_a_node_can_still_hold(within_node):
    rng = np.random.default_rng(8)
    sizes = np.array([2, 3, 50])
    views = np.tile([0, 1, 2], (20, 1))
    view, threshold = grow_complete(views, sizes, 5, within_node, rng.random((2, 20, 32)))
    for t in range(20):
        ranges = {1: [(0, size) for size in sizes]}
        for node in range(1, 32):
            here, feature, cut = ranges[node], view[t, node], threshold[t, node]
            low, high = here[feature] if within_node else (0, sizes[feature])
            if cut == 0:
                assert within_node and all(last - first <= 1 for first, last in here)
                ranges[2 * node] = ranges[2 * node + 1] = here
                continue
            assert low < cut < high
            left, right = list(here), list(here)
            left[feature], right[feature] = (here[feature][0], cut), (cut, here[feature][1])
            ranges[2 * node], ranges[2 * node + 1] = (left, right) if within_node else (here, here)


def test_features_are_drawn_by_weight_among_those_that_can_be_split():
    rng = np.random.default_rng(10)
    views, sizes = np.tile([0, 1, 2], (8000, 1)), np.array([9, 9, 1])
    view, _ = grow_complete(views, sizes, 1, True, rng.random((2, 8000, 2)), np.array([3.0, 1.0, 50.0]))
    assert abs((view[:, 1] == 0).mean() - 0.75) < 0.03 and (view[:, 1] < 2).all()


def test_a_node_that_nothing_can_split_passes_all_rows_on():
    _, threshold = grow_complete(np.zeros((1, 1), int), np.array([2]), 3, True, np.zeros((2, 1, 8)))
    assert threshold[0, 1] == 1
    assert (threshold[0, 2:] == 0).all()


def test_features_and_thresholds_are_drawn_uniformly():
    rng = np.random.default_rng(9)
    sizes = np.array([101, 101])
    view, threshold = grow_complete(np.tile([0, 1], (4000, 1)), sizes, 1, True, rng.random((2, 4000, 2)))
    assert abs(view[:, 1].mean() - 0.5) < 0.05
    assert threshold[:, 1].min() == 1 and threshold[:, 1].max() == 100
    assert abs(threshold[:, 1].mean() - 50.5) < 2


def test_rows_go_on_from_where_they_stood_and_start_anew_in_other_trees():
    rng = np.random.default_rng(8)
    sizes = [3, 5, 40]
    codes = twins.random_codes(rng, sizes, 20_000, np.uint16)
    kept: dict = {}
    for seed in range(3):
        whole = twins.random_multiway(np.random.default_rng(seed), sizes, 3, 4)
        for cut in (5, 20, len(whole.view)):
            # The first splits alone: those whose children come before a node become leaves above it.
            inner = (whole.view >= 0) & (whole.child < cut) & (np.arange(len(whole.view)) < cut)
            trees = numbered(replace(whole, view=np.where(inner, whole.view, -1).astype(np.int32)))
            expected = route(trees, codes)
            assert np.array_equal(leaf_numbers(trees, codes, kept), expected)
            assert np.array_equal(leaf_numbers(trees, codes), expected)
            trees.view[:] = -1  # what the caller does to the arrays does not matter


def test_rows_that_were_stopped_on_their_way_start_anew(monkeypatch):
    codes = np.array([[0, 1]], np.uint8)
    leaf = np.array([-1], np.int32)
    small = MultiwayTrees(
        Views.of(1), np.zeros(1, np.int64), leaf, np.zeros(1, np.uint16), np.zeros(1, np.int64)
    )
    view, cut = np.array([0, -1, -1], np.int32), np.array([1, 0, 0], np.uint16)
    large = MultiwayTrees(small.views, small.roots, view, cut, np.array([1, 0, 1]))
    kept: dict = {}
    leaf_numbers(small, codes, kept)

    def stopped(*arrays):
        walk_on(*arrays)
        raise KeyboardInterrupt

    walk_on = walk.walk_down
    with monkeypatch.context() as patch:
        patch.setattr(walk, "walk_down", stopped)
        with pytest.raises(KeyboardInterrupt):
            leaf_numbers(large, codes, kept)
    assert leaf_numbers(small, codes, kept).tolist() == [[0, 0]]
