"""The sparse release is the thresholded full release: its law, its neighbours, its speed."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from laws import PRECISE, exp_minus, follows
from privet.answers import sparse_threshold
from privet.noise import sparse
from privet.noise.bits import SecureBits
from privet.noise.samplers import discrete_laplace

SCALE = Fraction(2)
THRESHOLD = 4


def keep_probability(scale: float, threshold: int, count: int = 0) -> float:
    """P(count + noise ≥ threshold) for a count at or below the threshold."""
    q = np.exp(-1 / scale)
    return float(q ** (threshold - count) / (1 + q))


def binomial(n: int, p: float) -> dict[int, float]:
    from scipy import stats

    return {k: float(stats.binom.pmf(k, n, p)) for k in range(n + 1)}


def dense(exact: np.ndarray, threshold: int) -> tuple[np.ndarray, np.ndarray]:
    """The plain twin: noise on every cell, then the threshold."""
    noisy = exact + discrete_laplace(SCALE, exact.size, SecureBits())
    kept = np.flatnonzero(noisy >= threshold)
    return kept, noisy[kept]


def test_thinning_makes_every_empty_cell_equally_likely_exactly():
    """P(marked) × P(kept | marked) = P(noise ≥ threshold), to a hundred digits."""
    for n_cells, threshold in ((50, 1), (10**6, 20), (2**61, 60)):
        mean, thinning = sparse.marking(n_cells, SCALE, threshold)
        top, tail = exp_minus(threshold / SCALE), exp_minus(1 / SCALE)
        p = PRECISE.divide(top, PRECISE.add(Decimal(1), tail))
        unmarked = exp_minus(Fraction(mean, n_cells))
        wanted = PRECISE.divide(p, PRECISE.subtract(Decimal(1), unmarked))
        low, high = thinning(0, 200)
        scaled = PRECISE.multiply(wanted, Decimal(1 << 200))
        assert low <= scaled <= high
        assert high - low <= 4
        assert 0 < wanted <= 1


def test_marks_leave_each_cell_with_an_independent_coin():
    n_cells, p = 400, keep_probability(2, THRESHOLD)
    runs = [sparse._kept_empty_cells(n_cells, SCALE, THRESHOLD, SecureBits()) for _ in range(1500)]
    assert follows(np.array([len(run) for run in runs]), binomial(n_cells, p))
    assert not follows(np.array([len(run) for run in runs]), binomial(n_cells, p * 1.08))
    halves = np.array([(run < 200).sum() for run in runs])
    assert follows(halves, binomial(200, p))
    where = np.concatenate(runs)
    assert follows(where // 10, dict.fromkeys(range(40), 1 / 40))


def test_release_has_the_law_of_the_dense_twin():
    exact = np.zeros(60, np.int64)
    exact[[3, 17, 40]] = [1, 3, 9]
    cells = np.flatnonzero(exact)
    ours, twin = [], []
    for _ in range(6000):
        release = sparse.sparse_laplace(cells, exact[cells], 60, SCALE, THRESHOLD, SecureBits())
        ours.append(release)
        twin.append(dense(exact, THRESHOLD))
    for cell in (0, 3, 17, 40, 59):
        p = np.mean([cell in kept for kept, _ in ours])
        q = np.mean([cell in kept for kept, _ in twin])
        assert abs(p - q) < 5 * np.sqrt(2 * 0.25 / 6000)
    excess = np.concatenate([values[~np.isin(kept, cells)] for kept, values in ours]) - THRESHOLD
    ratio = np.exp(-1 / 2)
    assert follows(excess, {k: (1 - ratio) * ratio**k for k in range(80)})
    assert all((values >= THRESHOLD).all() and (np.diff(kept) > 0).all() for kept, values in ours)


def test_forgetting_the_empty_cells_is_told_apart(monkeypatch):
    """The classic mistake: store visited leaves alone. A stored cell then says who is there."""
    visited = np.array([5])
    shown = [
        sparse.sparse_laplace(visited, np.array([1]), 60, SCALE, THRESHOLD, SecureBits())[0]
        for _ in range(2000)
    ]
    assert any((kept != 5).any() for kept in shown)
    monkeypatch.setattr(sparse, "_kept_empty_cells", lambda *_: np.zeros(0, np.int64))
    shown = [
        sparse.sparse_laplace(visited, np.array([1]), 60, SCALE, THRESHOLD, SecureBits())[0]
        for _ in range(2000)
    ]
    assert not any((kept != 5).any() for kept in shown)


def test_neighbours_of_a_cell_keep_epsilon_exactly():
    """A cell's outcomes are absent or a value; with odds of 1/2 per unit all of them are fractions."""
    q = Fraction(1, 2)

    def law(count: int, top: int = 40) -> dict[int | None, Fraction]:
        atom = (1 - q) / (1 + q)
        stored = {v: atom * q ** abs(v - count) for v in range(THRESHOLD, top)}
        stored[top] = q ** (top - count) / (1 + q)
        return {**stored, None: 1 - sum(stored.values())}

    for count in range(12):
        a, b = law(count), law(count + 1)
        assert max(max(a[v] / b[v], b[v] / a[v]) for v in a) <= 2
        assert max(a[v] / b[v] for v in a) > Fraction(3, 2) or count < THRESHOLD


def test_the_time_does_not_follow_the_number_of_cells():
    cells = np.arange(100, dtype=np.int64)
    counts = np.full(100, 50)

    def seconds(n_cells: int) -> float:
        threshold = sparse_threshold(n_cells, SCALE, 100)
        start = time.perf_counter()
        sparse.sparse_laplace(cells, counts, n_cells, SCALE, threshold, SecureBits())
        return time.perf_counter() - start

    seconds(10**4)
    assert min(seconds(10**17) for _ in range(5)) < 10 * max(seconds(10**5) for _ in range(5)) + 0.05


@pytest.mark.parametrize("n_cells", [10, 10**6, 2**61])
def test_threshold_keeps_about_as_many_empty_cells_as_asked(n_cells):
    threshold = sparse_threshold(n_cells, SCALE, 200)
    assert threshold >= 1
    assert n_cells * keep_probability(2.0, threshold) <= 200
    if n_cells > 10**3:
        assert n_cells * keep_probability(2.0, threshold - 1) > 100
