"""What kernels compile, and whether numpy warns, follows from schema and structure, never from the rows."""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numba import typeof
from numba.core.registry import CPUDispatcher
from pyarrow import parquet

import twins
from privet import Budget, Categorical, Continuous, Label, Ledger, Schema, compiled, protect
from privet.data import Codes, encode, open_table
from privet.data.codes import _cells
from privet.engines import Batch, MemoryEngine
from privet.kernels import splits
from privet.kernels.count import count_assigned, count_cells, count_leaves
from privet.kernels.gradients import (
    Grid,
    count_bins,
    count_leaves_of_last,
    sum_gradients_by_bin,
    sum_gradients_by_leaf,
)
from privet.kernels.predict import best_labels, row_shares
from privet.kernels.splits import (
    GINI,
    Pairs,
    Scoring,
    _compact,
    count_labels,
    count_pairs,
    count_rows,
    count_splits,
    find_thresholds,
    score_pairs,
)
from privet.kernels.tally import LOSS_BOUND, count_scores, row_errors, row_losses
from privet.noise.bits import StudyBits
from privet.noise.inversion import InverseTable
from privet.structure import Additive, Bins, LeafVotes, Splits

SIZES = [5, 2, 40]
GRIDS = [Grid(20, 1, 1 << 19), Grid(20, 2, 1 << 38)]
ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0]


def additive(n_scores: int) -> Additive:
    """Two features' bins, shapes of all three, two trees."""
    bins = Bins.of([np.arange(size) for size in SIZES], SIZES)
    rng = np.random.default_rng(0)
    turns = np.zeros((bins.n_bins, 2), np.uint8)
    turns[2:5, 0], turns[6, 0], turns[6, 1] = 1, 2, 1
    features = np.array([[1, 0], [0, 1]], np.int32)
    intercept, shapes = rng.normal(size=n_scores), rng.normal(size=(bins.n_bins, n_scores))
    return Additive(bins, intercept, shapes, features, turns, rng.normal(size=(2, 4, n_scores)))


def ask_everything(codes: np.ndarray, labels: np.ndarray, as_they_are: bool = False) -> None:
    """Every kernel that rows reach, through an engine or as they are, and look-ups of as many draws."""
    rng = np.random.default_rng(0)
    complete, deep = twins.random_complete(rng, SIZES, 3, 2), twins.random_complete(rng, SIZES, 1, 17)
    multiway, levels = twins.random_multiway(rng, SIZES, 3, 2), twins.random_levels(rng, SIZES, 3, 2)
    binary, ternary = additive(1), additive(3)
    votes = [
        LeafVotes(complete, rng.random((3, 4, 2))),
        LeafVotes(multiway, rng.random((multiway.n_leaves, 2)), np.array([0.3, 0.7])),
    ]
    shape = (multiway.n_leaves, 2)
    splits = Splits(
        np.array([0, 2], np.int32), np.tile([0, 1], (shape[0], 1)), np.tile([0, 39], (shape[0], 1))
    )
    splits = replace(splits, lowest=splits.lowest.astype(np.int32), highest=splits.highest.astype(np.int32))
    one = np.ones(1, np.int64)
    scoring = Scoring(GINI, 8, np.zeros(1, np.int64), one << 31, one << 31, 0)

    def kernel(batch) -> int:
        rows, kept = batch[:2], batch.kept
        count_leaves(complete, *rows, 2), count_leaves(multiway, *rows, 2)
        count_assigned(complete, *rows, 2, np.zeros(len(batch.labels), np.int64))
        count_cells(levels, *rows, 2), count_leaves(deep, *rows, 2)
        count_bins(binary.bins, *rows, 2)
        (
            count_rows(multiway, batch.features, kept),
            count_splits(multiway, splits, np.array([5, 40]), *rows, 2),
        )
        for model in (binary, ternary):
            for memory in (None, kept):
                count_leaves_of_last(model, 1, batch.features, memory)
                for grid in GRIDS:
                    sum_gradients_by_bin(model, np.array([0, 2]), *rows, grid, memory)
                    sum_gradients_by_leaf(model, 1, *rows, grid, memory)
        for predictor in (*votes, binary, ternary):
            row_shares(predictor, batch.features, max(2, predictor is ternary and 3))
        return 1

    def summed(kernel):
        batch = Batch(codes, labels, np.arange(len(labels)), {})
        return kernel(batch) if as_they_are else MemoryEngine(lambda: Codes(codes, labels)).sum(kernel)

    summed(kernel)
    pairs, sizes = Pairs(*np.nonzero(splits.allowed)), np.array([5, 40])
    totals = summed(lambda batch: count_labels(multiway, *batch[:2], 2, batch.kept))
    cells = summed(lambda batch: count_pairs(multiway, splits.view, sizes, pairs, *batch[:2], 2, batch.kept))
    cells = (
        (cells + cells)
        if as_they_are
        else replace(cells, runs=(_compact(cells.run, cells.sizes, cells.table),))
    )
    score_pairs(cells, pairs, totals, splits, scoring)
    find_thresholds(cells, pairs, totals, splits, scoring, np.array([0, 1]), np.array([3, 4]))
    draws = InverseTable(lambda k, bits: (1 << bits, 1 << bits), np.array([1 << 30, 2**32 - 1], np.uint32))
    draws.draw(codes.shape[1], StudyBits(0))


def signatures() -> dict[str, list]:
    """What every kernel of the product has been compiled for."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("privet."):
            kernels = {k: v for k, v in vars(module).items() if isinstance(v, CPUDispatcher)}
            found |= {f"{name}.{k}": list(v.signatures) for k, v in kernels.items()}
    return found


def table(n_rows: int, dtype, all_alike: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_rows)
    codes = twins.random_codes(rng, [1] * 3 if all_alike else SIZES, n_rows, dtype)
    return codes, (codes[0] % 2).astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_rows_do_not_decide_what_is_compiled(dtype):
    ask_everything(*table(40, dtype, False))
    before = signatures()
    assert sum(map(bool, before.values())) > 15  # those called from Python: others may lie in the cache
    # One and none, few and many, one batch and several, cells empty and full.
    for n_rows in (1, 2, 32_768, 33_000, 70_000, 300_000, (1 << 18) + 1):
        for all_alike in (False, True):
            ask_everything(*table(n_rows, dtype, all_alike))
    codes, labels = table(1600, dtype, False)
    for layout in (codes[:, 100:900], np.asfortranarray(codes[:, 100:900]), codes[:, ::2]):
        ask_everything(layout, labels[100:900], as_they_are=True)
    assert signatures() == before


def test_the_number_of_rows_does_not_decide_which_kernels_split_trees(monkeypatch):
    """Words of a split are brought together only where they are many."""
    trees = twins.random_multiway(np.random.default_rng(0), SIZES, 3, 2)
    leaves = np.arange(trees.n_leaves)
    pairs, view = Pairs(leaves, 0 * leaves), np.array([2], np.int32)
    seen = []

    def noted(kernel, *arguments, **more):
        seen[-1].add(kernel)
        compiled.run(kernel, *arguments, **more)

    monkeypatch.setattr(splits, "run", noted)
    monkeypatch.setattr(splits, "LOOSE", 1000)
    for n_rows in (1, 5000):
        seen.append(set())
        codes, labels = table(n_rows, np.uint16, False)
        cells = [count_pairs(trees, view, np.array([40]), pairs, codes, labels, 2) for _ in range(3)]
        whole = cells[0] + cells[1] + cells[2]
    assert len(whole.runs) < 3  # brought together
    assert seen[0] == seen[1]


def test_no_missing_value_decides_what_is_compiled():
    """Arrow lends an array that may not be written into, and copies one that lacks a value."""
    schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))
    numbers = [[0.5] * 5, [0.5, None, 0.5], [0.5], [None]]
    columns = [pa.chunked_array([pa.array(values, pa.float64())]) for values in numbers]
    for column in [*columns, pa.chunked_array([*columns[0].chunks, *columns[2].chunks])]:
        encode(open_table(pa.table({"x": column}), schema), schema, with_label=False)
    locked = np.full((5, 1), 0.5)
    for writeable in (True, False):
        locked.flags.writeable = writeable
        for array in (locked, locked[:1], np.full((5, 3), 0.5)[:, 1:2]):
            encode(open_table(array, schema), schema, with_label=False)
    assert len({types[2] for types in _cells.signatures}) == 1  # of the rows, whatever type codes have


PLAIN = {"x": 0.5, "k": 3, "c": "a", "o": 7.0, "w": "u", "y": 1}
KINDS = pa.schema(
    {"x": pa.float64(), "k": pa.int64(), "c": pa.string(), "o": pa.float64()}
    | {"w": pa.string(), "y": pa.int64()}
)
ODD_VALUES = [
    *({name: None} for name in PLAIN if name != "y"),
    *({name: value} for name in "xo" for value in (np.inf, -np.inf, np.nan, -0.0, 5e-324, -1.7e308)),
    *({"k": value} for value in (-(2**63), 2**53 + 1, 2**63 - 1)),
    *({name: value} for name in "cw" for value in ("", "never seen", "ü" * 2000, "a\x01")),
]


def as_parquet(table: pa.Table, folder: Path) -> Path:
    parquet.write_table(table, folder / "t.parquet", row_group_size=7)
    return folder / "t.parquet"


HELD = {
    "arrow": lambda table, _: table,
    "pandas": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "nullable": lambda table, _: table.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype()}.get
    ),
    "polars": lambda table, _: pl.from_arrow(table),
    "parquet": as_parquet,
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_no_value_of_a_row_decides_what_is_compiled_loaded_or_said(
    held, tmp_path, capfd, recwarn, caplog, monkeypatch
):
    """Tables of twenty rows, of which one is odd."""
    schema = Schema(
        [
            *(Continuous("x", 0, 1), Continuous("k", 0, 9, integer=True), Categorical("c", ["a", "b"])),
            *(Continuous("o"), Categorical("w")),
        ],
        Label("y", [0, 1]),
    )
    one_bin = Bins.of([np.zeros(feature.n_codes, int) for feature in schema.features], [1] * 5)
    caplog.set_level(logging.DEBUG, "privet")
    types, contiguous = set(), compiled._contiguous

    def noted(argument):
        types.add(str(typeof(contiguous(argument))))
        return contiguous(argument)

    monkeypatch.setattr(compiled, "_contiguous", noted)

    def ask(odd):
        rows = [PLAIN] * 11 + [PLAIN | odd] + [PLAIN] * 8
        table = held(pa.Table.from_pylist(rows, KINDS), tmp_path)
        people = protect(table, schema, Ledger().create("people", Budget(9, "0.5", "0.1")))
        people.noisy_column_rows(["x", "k", "c"], epsilon=1)
        people.common_values([4], epsilon=1, delta="0.01")
        people.noisy_bin_rows(one_bin, epsilon=1)
        return set(types), set(sys.modules)

    ask({})
    capfd.readouterr(), recwarn.clear(), caplog.clear()
    types.clear()
    before = ask({})
    for odd in ODD_VALUES:
        types.clear()
        assert ask(odd) == before, odd
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list and not caplog.records


def test_no_kernel_is_compiled_twice_for_rows_of_one_schema():
    """Specialisations by name: two of a kernel must differ in a type, not in a layout."""
    ask_everything(*table(40, np.uint8, False))
    ask_everything(*table(70_000, np.uint8, False))
    for name, known in signatures().items():
        outer = [types for types in known if name.startswith("privet.kernels")]
        kinds = [
            tuple((str(getattr(t, "dtype", t)), getattr(t, "ndim", 0)) for t in types) for types in outer
        ]
        if not name.endswith("_add_gradients"):  # by bin of neighbours in memory, by leaf of every n-th
            assert len(set(kinds)) == len(kinds), name


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("odd", ODD)
def test_odd_scores_neither_warn_nor_break_a_bound(odd, n_scores):
    codes, labels = table(1000, np.uint8, False)
    labels, n_labels = (codes[2] % max(2, n_scores)).astype(np.uint8), max(2, n_scores)
    plain = additive(n_scores)
    models = [plain]
    for name in ("intercept", "shapes", "leaves"):
        values = getattr(plain, name).copy()
        values.reshape(-1)[::2] = odd
        models += [replace(plain, **{name: values}), replace(models[-1], **{name: values})]
    models.append(replace(plain, shapes=plain.shapes * 0 + 1e308, intercept=plain.intercept * 0 - np.inf))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for model in models:
            for grid in GRIDS:
                for i in range(0, 1000, 100):
                    row = codes[:, i : i + 1], labels[i : i + 1]
                    found = sum_gradients_by_bin(model, np.array([0]), *row, grid)
                    assert (np.abs(found) ** grid.norm).sum() <= grid.bound
                    found = sum_gradients_by_leaf(model, 2, *row, grid)
                    assert (np.abs(found) ** grid.norm).sum() <= 2 * grid.bound
            shares = row_shares(model, codes, n_labels)
            best_labels(shares, list(range(n_labels))), row_errors(shares, labels, list(range(n_labels)))
            losses = row_losses(shares, labels)
            assert losses.min() >= 0 and losses.max() <= LOSS_BOUND
            count_scores(shares, labels, np.arange(256), 256)


@pytest.mark.parametrize("odd", ODD)
def test_odd_votes_do_not_warn(odd):
    codes, _ = table(1000, np.uint8, False)
    trees = twins.random_complete(np.random.default_rng(0), SIZES, 3, 2)
    values = np.random.default_rng(0).random((3, 4, 2))
    values[0], values[1, 1] = odd, -odd
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for prior in (None, np.array([0.3, 0.7]), np.array([odd, 0.0])):
            row_shares(LeafVotes(trees, values, prior), codes, 2)


def test_ranges_of_threads_hold_everything_once(monkeypatch):
    for threads in (1, 3, 16):
        monkeypatch.setattr(compiled.numba, "get_num_threads", lambda n=threads: n)
        for size in (0, 1, 5, 16, 17, 1000):
            seen = np.zeros(size, np.int64)

            def mark(first, last, out):
                out[first:last] += 1

            compiled.run(mark, size, 4, seen)
            assert (seen == 1).all()
            found = compiled.total(lambda first, last, sums: sums.__iadd__(last - first), size, 4, (1,))
            assert found.tolist() == [size]


def test_what_breaks_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(compiled.numba, "get_num_threads", lambda: 2)

    def broken(first, last):
        if first:
            raise KeyError(first)

    with pytest.raises(KeyError):
        compiled.run(broken, 10, 1)
