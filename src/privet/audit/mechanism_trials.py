"""Trials of the wall's mechanisms: exact laws from their own code, and samples of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from math import isqrt
from typing import Any

import numpy as np

from privet.audit.exact import Explorer, Law, compare, pairs, tables
from privet.audit.exponentials import exponential
from privet.audit.interception import SealedBits, enumerated, replaced
from privet.audit.statistical import lower_bound
from privet.audit.trial import DELTA, Effort, from_laws, from_runs, in_turn
from privet.audit.verdict import BROKEN, HOLDS, Verdict
from privet.privacy import Budget, SecureBits, mechanisms, samplers, sparse
from privet.privacy.inversion import exp_bracket
from privet.privacy.samplers import discrete_gaussian, discrete_laplace

LABELS = ("a", "b", "c")
WINDOW = 12
"""Outcomes of additive noise to either side that are written out: beyond them the ratio stays the same."""

WIDTH = 160
"""Bits of the brackets of Gaussian weights."""

REST = Fraction(1, 10**80)
"""More than all weights beyond twenty standard deviations, e^(−200) and what follows."""

Selection = Callable[[np.ndarray, Fraction, Any], np.ndarray]


def counts_of(table: Sequence[Hashable]) -> list[int]:
    """Rows by label."""
    return [sum(row == label for row in table) for label in LABELS]


def selection_law(mechanism: Selection, table: Sequence[Hashable], rate: Fraction, rounds: int | None) -> Law:
    """Exact law of a selection's own code: its coins and its choices enumerated."""
    explorer = Explorer()

    def run() -> Hashable:
        with enumerated(explorer, rounds):
            return LABELS[int(mechanism(np.array([counts_of(table)]), rate, SealedBits())[0])]

    return explorer.law(run)


def exact_selection(
    name: str, mechanism: Selection, rounds: int | None, epsilon: Fraction, effort: Effort, rate: Fraction
) -> Verdict:
    """Most frequent label, over all tables of up to some rows and all their neighbours."""
    listed = tables(LABELS, effort.rows + 1)
    laws = {table: selection_law(mechanism, table, rate, rounds) for table in listed}
    return from_laws(name, epsilon, compare(laws, pairs(listed), epsilon))


def sampled_selection(
    name: str, mechanism: Selection, epsilon: Fraction, effort: Effort, rate: Fraction
) -> Verdict:
    """A tie against one row more: where the loss of a selection is largest."""
    table = ("a",) * 3 + ("b",) * 3, ("a",) * 3 + ("b",) * 2
    outputs = [
        mechanism(np.tile(counts_of(each)[:2], (effort.draws, 1)), rate, SecureBits()) for each in table
    ]
    return from_runs(name, epsilon, lower_bound(outputs[0], outputs[1]), table)


def additive_law(count: int, epsilon: Fraction, noisy: Callable[[np.ndarray, Fraction], np.ndarray]) -> Law:
    """Law of a noisy count near it, from its own code with the noise enumerated."""
    explorer = Explorer()

    def noise(scale: Fraction, size: int, bits: Any) -> np.ndarray:
        reach = range(-2 * WINDOW, 2 * WINDOW + 1)
        options = [(x, exponential(abs(x) / scale)) for x in reach]
        return np.array([explorer.choose(options), *[0] * (size - 1)])

    def run() -> Hashable:
        with replaced({discrete_laplace: noise}):
            return int(noisy(np.array([count, 0]), epsilon)[0])

    law: dict[Any, Any] = explorer.law(run)
    return {x: weight for x, weight in law.items() if abs(x) <= WINDOW}


def laplace_count(exact: np.ndarray, epsilon: Fraction) -> np.ndarray:
    """The wall's noisy count."""
    return mechanisms.laplace_counts(exact, 1 / epsilon, SealedBits())  # type: ignore[arg-type]


def exact_laplace(
    name: str,
    epsilon: Fraction,
    effort: Effort,
    noisy: Callable[[np.ndarray, Fraction], np.ndarray] = laplace_count,
) -> Verdict:
    """A noisy count, over all counts of up to some rows: the loss is ε, whatever the outcome."""
    counts = range(effort.rows + 3)
    laws = {count: additive_law(count, epsilon, noisy) for count in counts}
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
    variance = 1 / (2 * Budget(epsilon, DELTA).rho)
    used: list[Fraction] = []

    def noise(sigma_squared: Fraction, size: int, bits: Any) -> np.ndarray:
        used.append(sigma_squared)
        return np.zeros(size, np.int64)

    with replaced({discrete_gaussian: noise}):
        mechanisms.gaussian_counts(np.array([1]), variance, SealedBits())  # type: ignore[arg-type]
    low, high = Fraction(0), epsilon
    kept = hockey_stick(used[0], epsilon)[1] <= DELTA
    while kept and high - low > epsilon / 1000:
        middle = (low + high) / 2
        low, high = (low, middle) if hockey_stick(used[0], middle)[1] <= DELTA else (middle, high)
    spent = float(hockey_stick(used[0], epsilon)[1])
    witness = {
        "table": "1 row",
        "neighbour": "0 rows",
        "event": f"counts with a log ratio above ε: δ={spent:.3g}",
    }
    outcome, loss = (HOLDS, float(high)) if kept else (BROKEN, float("inf"))
    return Verdict(name, "exact", outcome, float(epsilon), loss, "all counts", float(DELTA), witness=witness)


def hockey_stick(variance: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Brackets of Σ max(0, P(x) − e^ε·P(x − 1)) over all x, for a discrete Gaussian P."""
    weights, total = gaussian_weights(variance)
    reach = len(weights) - 2
    e_epsilon = [Fraction(1 << WIDTH, end) for end in reversed(exp_bracket(epsilon, WIDTH))]
    low = high = Fraction(0)
    for x in range(-reach, reach + 1):
        # log P(x) − log P(x − 1) = (1 − 2x)/2σ² falls with x.
        if Fraction(1 - 2 * x) / (2 * variance) <= epsilon:
            break
        here, before = weights[abs(x)], weights[abs(x - 1)]
        low += here[0] - e_epsilon[1] * before[1]
        high += here[1] - e_epsilon[0] * before[0]
    return max(low / total[1], Fraction(0)), high / total[0] + REST


@lru_cache(maxsize=8)
def gaussian_weights(variance: Fraction) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """Brackets of exp(−x²/2σ²) up to twenty standard deviations, and of their sum over both signs."""
    reach = 20 * (isqrt(int(variance)) + 1)
    weights = [exp_bracket(Fraction(x * x) / (2 * variance), WIDTH) for x in range(reach + 2)]
    low, high = (weights[0][i] + 2 * sum(weight[i] for weight in weights[1:]) for i in (0, 1))
    return weights, (low, high)


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


def thinning_is_exact(n_cells: int, scale: Fraction, threshold: int) -> bool:
    """Whether P(marked)·P(kept | marked) is P(noise ≥ threshold), to all bits that are asked for."""
    width = 200
    seen: dict[str, Any] = {}

    def poisson(mean: int, bits: Any) -> int:
        seen["mean"] = mean
        return 0

    def bernoulli(probability: Callable[[int, int], tuple[int, int]], size: int, bits: Any) -> np.ndarray:
        seen["kept"] = probability(0, width)
        return np.zeros(size, bool)

    with replaced({samplers.poisson: poisson, samplers.bernoulli: bernoulli}, [sparse]):
        empty = np.zeros(0, np.int64)
        sparse.sparse_laplace(empty, empty, n_cells, scale, threshold, SecureBits())
    marked = 1 - exponential(Fraction(seen["mean"], n_cells))
    wanted = exponential(threshold / scale) * (1 << width)
    low, high = (end * marked * (1 + exponential(1 / scale)) for end in seen["kept"])
    return (wanted - low).sign() >= 0 and (high - wanted).sign() >= 0 and seen["kept"][1] <= 1 << width


def sampled_sparse(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    """The whole sparse release of eight cells, one or none of them holding a row."""

    def release(cells: Sequence[int]) -> tuple[int, ...]:
        held, counts = np.unique(np.array(cells, np.int64), return_counts=True)
        kept, values = sparse.sparse_laplace(held, counts, 8, 1 / epsilon, 1, SecureBits())
        shown = dict(zip(kept.tolist(), values.tolist(), strict=True))
        return tuple(min(shown.get(cell, 0), 9) for cell in range(2))

    both = ((0, 0), (0,))
    outputs = in_turn([partial(release, cells) for cells in both], effort)
    return from_runs(name, epsilon, lower_bound(outputs[0], outputs[1]), both)
