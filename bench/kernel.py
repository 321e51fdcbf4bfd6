"""Routing and counting: nanoseconds a node visit and core."""

import numba
import numpy as np

from bench import made
from bench.clock import best_and_median, seconds
from bench.report import Result, at_most
from privet.data import encode, open_table
from privet.kernels.count import count_assigned, count_leaves
from privet.learners.random_trees import random_complete_trees

TREES, DEPTH = 100, 12
AIM = 1.2


def run(quick: bool) -> Result:
    n_rows, repeats = (100_000, 3) if quick else (1_000_000, 7)
    schema = made.schema()
    numbers, labels = made.rows(n_rows)
    codes = encode(open_table(numbers, schema), schema, labels)
    trees = random_complete_trees(schema, TREES, DEPTH, np.random.RandomState(0))
    tree = np.random.default_rng(0).integers(TREES, size=n_rows)
    rows = [
        _row(
            "every row in every tree",
            lambda: count_leaves(trees, codes.features, codes.labels, 2),
            n_rows * TREES * DEPTH,
            repeats,
            AIM,
        ),
        _row(
            "every row in one tree",
            lambda: count_assigned(trees, codes.features, codes.labels, 2, tree),
            n_rows * DEPTH,
            repeats,
        ),
    ]
    notes = [
        f"{n_rows:,} rows x {made.WIDTH} continuous features, {TREES} complete trees of depth {DEPTH}, "
        f"{repeats} repeats on {numba.get_num_threads()} threads.",
        "ns = seconds x threads / (rows x trees x depth); seconds are the best repeat's.",
    ]
    return Result("route and count, ns a node visit and core", rows, notes)


def _row(what, count, visits, repeats, aim=None):
    count()
    times = best_and_median(seconds(count, repeats))
    visit = {name: time * numba.get_num_threads() / visits * 1e9 for name, time in times.items()}
    met = at_most(visit["best"], aim) if aim else {"aim": "", "met": ""}
    return {
        "what": what,
        "seconds": times["best"],
        "ns best": visit["best"],
        "ns median": visit["median"],
        **met,
    }
