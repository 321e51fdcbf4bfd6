"""Trials of the wall's mechanisms: exact laws from their own code, and samples of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import islice, pairwise, product
from math import isqrt
from typing import Any

import numpy as np

from privet.answers import Law as NoiseLaw
from privet.audit.enumeration import Enumerated
from privet.audit.exact import Explorer, Law, compare, pairs, tables
from privet.audit.exponentials import exponential
from privet.audit.statistical import lower_bound
from privet.audit.trial import DELTA, Effort, from_laws, from_runs, in_turn
from privet.audit.verdict import BROKEN, HOLDS, Verdict
from privet.noise.gaussian import REACH, magnitude_brackets
from privet.noise.inversion import Bracket, exp_bracket
from privet.noise.sparse import marking
from privet.privacy import Budget, Change, Cost, Mechanisms, Secure, law_of

LABELS = ("a", "b", "c")
WINDOW = 12
"""Outcomes of additive noise to either side that are written out: beyond them the ratio stays the same."""

WIDTH = 160
"""Bits of the brackets of a Gaussian law."""

REST = Fraction(1, 10**17)
"""More than all that lies nine standard deviations from the middle, which is below e^(−40)."""

ONE_COUNT = Change(1, 1)
"""A person moves one count by one."""


def counts_of(table: Sequence[Hashable]) -> list[int]:
    """Rows by label."""
    return [sum(row == label for row in table) for label in LABELS]


def selection_law(law: NoiseLaw, table: Sequence[Hashable], rounds: int | None) -> Law:
    """Exact law of a selection's own code: its coins and its choices enumerated."""
    explorer = Explorer()

    def run() -> Hashable:
        return LABELS[int(Enumerated(explorer, rounds).choose(np.array([counts_of(table)]), law)[0])]

    return explorer.law(run)


def exact_selection(name: str, rounds: int | None, epsilon: Fraction, effort: Effort) -> Verdict:
    """Most frequent label, over all tables of up to some rows and all their neighbours."""
    listed, law = tables(LABELS, effort.rows + 1), NoiseLaw(name, epsilon)
    laws = {table: selection_law(law, table, rounds) for table in listed}
    return from_laws(name, epsilon, compare(laws, pairs(listed), epsilon))


def sampled_selection(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """A tie against one row more: where the loss of a selection is largest."""
    table, law = (("a",) * 3 + ("b",) * 3, ("a",) * 3 + ("b",) * 2), NoiseLaw(name, epsilon)
    counts = [np.tile(counts_of(each)[:2], (effort.draws, 1)) for each in table]
    outputs = [Secure().choose(each, law) for each in counts]
    return from_runs(name, epsilon, lower_bound(outputs[0], outputs[1]), table)


def noisy_counts(exact: np.ndarray, epsilon: Fraction, mechanisms: Mechanisms) -> np.ndarray:
    """Counts with the noise that an ε pays for where a person moves one of them by one."""
    return mechanisms.add(exact, law_of(ONE_COUNT, Cost.pure(epsilon)))


def additive_law(count: int, epsilon: Fraction) -> Law:
    """Law of a noisy count near it, from its own code with the noise enumerated."""
    explorer = Explorer()

    def run() -> Hashable:
        return int(noisy_counts(np.array([count]), epsilon, Enumerated(explorer, reach=2 * WINDOW))[0])

    law: dict[Any, Any] = explorer.law(run)
    return {x: weight for x, weight in law.items() if abs(x) <= WINDOW}


def exact_laplace(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """A noisy count, over all counts of up to some rows: the loss is ε, whatever the outcome."""
    counts = range(effort.rows + 3)
    laws = {count: additive_law(count, epsilon) for count in counts}
    return from_laws(
        name, epsilon, compare(laws, zip(counts[1:], counts, strict=False), epsilon, one_total=True)
    )


def sampled_count(
    name: str,
    epsilon: Fraction,
    effort: Effort,
    noisy: Callable[[np.ndarray], np.ndarray],
    delta: float = 0.0,
) -> Verdict:
    """Noisy numbers of rows, drawn in bulk."""
    outputs = [noisy(np.full(effort.draws, count)) for count in (6, 5)]
    return from_runs(
        name, epsilon, lower_bound(outputs[0], outputs[1], delta=delta), ("6 rows", "5 rows"), delta
    )


def exact_gaussian(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """Smallest ε that Gaussian noise keeps with its δ: certain bounds on the whole sum."""
    variance = law_of(ONE_COUNT, Cost.zcdp(Budget(epsilon, DELTA).rho)).parameter
    low, high = Fraction(0), epsilon
    kept = hockey_stick(variance, epsilon)[1] <= DELTA
    while kept and high - low > epsilon / 1000:
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(variance, middle)[1] <= DELTA else (middle, high)
    spent = float(hockey_stick(variance, epsilon)[1])
    witness = {
        "table": "1 row",
        "neighbour": "0 rows",
        "event": f"counts with a log ratio above ε: δ={spent:.3g}",
    }
    outcome, loss = (HOLDS, float(high)) if kept else (BROKEN, float("inf"))
    return Verdict(name, "exact", outcome, float(epsilon), loss, "all counts", float(DELTA), witness=witness)


def hockey_stick(variance: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Brackets of Σ max(0, P(x) − e^ε·P(x − 1)) over all x, for a rounded Gaussian P."""
    masses = gaussian_masses(variance)
    reach = len(masses) - 2
    e_epsilon = [Fraction(1 << WIDTH, end) for end in reversed(exp_bracket(epsilon, WIDTH))]
    low = high = Fraction(0)
    for x in range(-reach, reach + 1):
        here, before = masses[abs(x)], masses[abs(x - 1)]
        most = here[1] - e_epsilon[0] * before[0]
        if most <= 0:
            break  # the ratio falls with x, since P is log-concave
        low += max(here[0] - e_epsilon[1] * before[1], Fraction(0))
        high += most
    return low / (1 << WIDTH), high / (1 << WIDTH) + REST


@lru_cache(maxsize=8)
def gaussian_masses(variance: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Brackets of P(x) for x = 0, 1, … up to nine standard deviations."""
    reach = REACH * (isqrt(int(variance)) + 1)
    within = list(islice(magnitude_brackets(variance, WIDTH), reach + 1))
    outside = [
        (Fraction(after[0] - before[1], 2), Fraction(after[1] - before[0], 2))
        for before, after in pairwise(within)
    ]
    return [(Fraction(within[0][0]), Fraction(within[0][1])), *outside]


def exact_sparse(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """One cell of a sparse histogram, absent or shown with a count, over all counts of up to some rows.

    Cells are independent, so one cell is all there is to see. That an empty cell is kept with the
    probability that its noise would have is checked for the code's own marks and coins.
    """
    threshold = 3
    counts = range(threshold + effort.rows + 2)
    laws = {count: cell_law(count, 1 / epsilon, threshold) for count in counts}
    worst = compare(laws, zip(counts[1:], counts, strict=False), epsilon)
    verdict = from_laws(name, epsilon, worst)
    sizes = product((50, 10**6, 2**61), (1, threshold, 60))
    if all(thinning_is_exact(n_cells, 1 / epsilon, least) for n_cells, least in sizes):
        return verdict
    return Verdict(name, "exact", BROKEN, float(epsilon), float("inf"), "the marks of empty cells")


def cell_law(count: int, scale: Fraction, threshold: int) -> Law:
    """Law of one cell, times 1 + e^(−1/scale): absent, shown with a count, or shown with a large one."""
    a = exponential(1 / scale)
    stored: dict[Hashable, Any] = {v: (1 - a) * a ** abs(v - count) for v in range(threshold, 2 * WINDOW)}
    stored["more"] = a ** (2 * WINDOW - count)
    absent = 1 + a - a ** (threshold - count) if count < threshold else a ** (count - threshold + 1)
    return {**stored, "absent": absent}


def thinning_is_exact(
    n_cells: int,
    scale: Fraction,
    threshold: int,
    marks: Callable[[int, Fraction, int], tuple[int, Bracket]] = marking,
) -> bool:
    """Whether P(marked)·P(kept | marked) is P(noise ≥ threshold), to all bits that are asked for."""
    width = 200
    mean, thinning = marks(n_cells, scale, threshold)
    kept = thinning(0, width)
    marked = 1 - exponential(Fraction(mean, n_cells))
    wanted = exponential(threshold / scale) * (1 << width)
    low, high = (end * marked * (1 + exponential(1 / scale)) for end in kept)
    return (wanted - low).sign() >= 0 and (high - wanted).sign() >= 0 and kept[1] <= 1 << width


def sampled_sparse(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """The whole sparse release of eight cells, one or none of them holding a row."""

    def release(cells: Sequence[int]) -> tuple[int, ...]:
        held, counts = np.unique(np.array(cells, np.int64), return_counts=True)
        kept, values = Secure().keep_frequent(held, counts, 8, 1 / epsilon, 1)
        shown = dict(zip(kept.tolist(), values.tolist(), strict=True))
        return tuple(min(shown.get(cell, 0), 9) for cell in range(2))

    both = ((0, 0), (0,))
    outputs = in_turn([partial(release, cells) for cells in both], effort)
    return from_runs(name, epsilon, lower_bound(outputs[0], outputs[1]), both)
