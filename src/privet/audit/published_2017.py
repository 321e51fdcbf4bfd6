"""Fletcher and Islam 2017 as published, on the stand: smooth sensitivity in the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privet.audit.exact import Worst
from privet.audit.search import search
from privet.audit.statistical import lower_bound
from privet.audit.trial import Effort, from_laws, from_runs
from privet.audit.verdict import Verdict
from privet.studies.fletcher_islam_2017 import published
from privet.theory.fletcher_islam import published_label_loss

LEAF_ROWS = 40
"""Rows of the largest leaf that is looked at."""


def exact_label(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """The label of a leaf, over all leaves of rows with one label and one row more."""
    losses = {
        rows: published_label_loss((rows - 1, 0), (rows, 0), float(epsilon))
        for rows in range(1, LEAF_ROWS + 1)
    }
    rows = max(losses, key=lambda each: losses[each])
    pair = (f"({rows - 1}, 0)", f"({rows}, 0)")
    keeps = losses[rows] <= epsilon
    worst = Worst(losses[rows], pair, "the label that no row has", keeps, len(losses), 2)
    return from_laws(name, epsilon, worst)


def sampled_label(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """The label of a leaf, by its outputs alone, on tables that a search found."""
    random = np.random.default_rng(2017)

    def sample(table: Sequence[int], n: int) -> np.ndarray:
        counts = np.bincount(np.array(table, int), minlength=2)
        return published(np.tile(counts, (n, 1)), random, float(epsilon))

    most_rows = min(3 + int(4 / epsilon), LEAF_ROWS)
    found = search(sample, (0, 1), runs=4000, steps=20, most_rows=most_rows, random=random)
    both = found.table, found.neighbour
    bound = lower_bound(sample(both[0], effort.draws), sample(both[1], effort.draws))
    return from_runs(name, epsilon, bound, both)
