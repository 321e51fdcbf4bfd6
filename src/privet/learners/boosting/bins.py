"""Cells, bins, class shares and starting shapes: public, or worked out from noisy counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, floor, inf, log2, pi, sqrt

import numpy as np

from privet.schema import Categorical, Feature, Schema
from privet.structure import Bins

N_BINS = 32
"""Bins that an ordered feature is cut into, about."""

FEWEST_CELLS, MOST_CELLS = 8, 1024

SHARE_STEPS = 2000
"""Of an integral over what a share may be."""

CELLS_OF_NOISE = 4
"""Cells where noise is all that even the fewest of them would show."""

UNKNOWN = 1e18
"""Variance of what was not asked."""

APART = 4.0
"""Distance of such cells from first to last, in shares of the rows: they say little of each other."""


def truncated_normal(mean: float, sd: float, low: float, high: float) -> tuple[float, float]:
    """Mean and variance of a normal law cut to a range: what a flat prior makes of a noisy answer."""
    a, b = (low - mean) / sd, (high - mean) / sd
    if a > 30 or b < -30:
        # All mass lies at the end of the range that is nearer.
        return (low if a > 30 else high), sd**2 / 900
    # From the nearer end, where the law has its mass: far out, one minus almost one has no digits.
    mass = max(_upper_mass(a) - _upper_mass(b) if a > 0 else _upper_mass(-b) - _upper_mass(-a), 1e-300)
    at_a, at_b = _density(a), _density(b)
    shift = (at_a - at_b) / mass
    spread = 1 + ((a * at_a if a > -inf else 0.0) - (b * at_b if b < inf else 0.0)) / mass - shift**2
    return min(max(mean + sd * shift, low), high), sd**2 * max(spread, 0.0)


def _density(x: float) -> float:
    return exp(-x * x / 2) / sqrt(2 * pi) if abs(x) < inf else 0.0


def _upper_mass(x: float) -> float:
    return 0.5 * erfc(x / sqrt(2))


def n_cells(n_rows: float, cell_mass: float, cell_sd: float) -> int:
    """Cells that the range of a continuous feature is cut into: a power of two."""
    wanted = max(n_rows / (cell_mass * cell_sd), 1.0)
    return int(np.clip(2 ** floor(log2(wanted)), FEWEST_CELLS, MOST_CELLS))


def is_noise(n_rows: float, cell_mass: float, cell_sd: float) -> bool:
    """Whether noise is all that cells of so many rows would show.

    In pure ε cells should hold more, and no later question mends what they hide: the mass counts twice.
    """
    return n_rows < FEWEST_CELLS * cell_mass**2 * cell_sd


def is_ordered(feature: Feature) -> bool:
    """Whether neighbouring codes of a feature mean nearly the same."""
    return not isinstance(feature, Categorical) or feature.ordered


def cell_table(feature: Feature, n_cells: int, ranks: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """Table from code to cell, and the number of cells without that of *missing*, which comes last.

    Cells are equally wide, or with ``ranks``, of the codes in [0, 1), equally high.
    Missing values have a cell of their own where the schema says that there are some. A value that
    should not be there is taken for missing, else for the middle of the range or the first category.
    """
    if isinstance(feature, Categorical):
        cells = len(feature.categories)
        table = np.arange(cells + 2)
        table[cells:] = cells if feature.missing else 0
        return table, cells
    if feature.n_cells <= n_cells:
        found, cells = np.arange(feature.n_cells), feature.n_cells
    elif ranks is None:
        found, cells = np.arange(feature.n_cells) * n_cells // feature.n_cells, n_cells
    else:
        kept, found = np.unique(np.floor(ranks * n_cells), return_inverse=True)
        cells = len(kept)
    return np.append(found, cells if feature.missing else cells // 2), cells


def make_cells(schema: Schema, cells: int, ranks: Sequence[np.ndarray | None] = ()) -> tuple[Bins, list[int]]:
    """Cells of every feature, and how many of them are not *missing*."""
    known = ranks or [None] * len(schema.features)
    # So few values are kept, however few cells are wanted.
    wanted = (max(cells, FEWEST_CELLS) if f.n_codes <= FEWEST_CELLS + 1 else cells for f in schema.features)
    made = map(cell_table, schema.features, wanted, known)
    tables, present = zip(*made, strict=True)
    sizes = [n + feature.missing for n, feature in zip(present, schema.features, strict=True)]
    return Bins.of(list(tables), sizes), list(present)


def join_cells(noisy_rows: np.ndarray, sd: float, kept: int = 2) -> np.ndarray:
    """Bin of every cell of an ordered feature.

    Cells with significantly many rows, and more than a bin's share, stand alone; the others are cut
    from left to right into bins of equal mass; a bin that stays weak joins its lighter neighbour.
    No more cells than ``kept`` stay as they are.
    """
    n = len(noisy_rows)
    if n <= kept:
        return np.arange(n)
    significant = noisy_rows > 3 * sd
    rest = np.maximum.accumulate(np.maximum(np.cumsum(np.where(significant, 0.0, noisy_rows)), 0))
    mass = np.where(significant, noisy_rows, 0.0) + np.diff(rest, prepend=0.0)
    alone = mass > max(max(mass.sum(), 1.0) / N_BINS, 3 * sd)
    target = max(mass[~alone].sum() / N_BINS, 2 * sd)
    return _join_weak(*_cut(mass, alone, target), target / 3)


def _cut(mass: np.ndarray, alone: np.ndarray, target: float) -> tuple[np.ndarray, list[float]]:
    bin_of, bins = np.zeros(len(mass), np.int64), []
    full = True
    for i in range(len(mass)):
        if full or alone[i]:
            bins.append(0.0)
        bins[-1] += mass[i]
        bin_of[i] = len(bins) - 1
        full = bool(alone[i]) or bins[-1] >= target
    return bin_of, bins


def _join_weak(bin_of: np.ndarray, bins: list[float], least: float) -> np.ndarray:
    while len(bins) > 2 and min(bins) < least:
        weak = int(np.argmin(bins))
        to_right = weak == 0 or (weak < len(bins) - 1 and bins[weak + 1] < bins[weak - 1])
        left = weak if to_right else weak - 1
        bin_of[bin_of > left] -= 1
        bins[left : left + 2] = [bins[left] + bins[left + 1]]
    return bin_of


@dataclass(frozen=True)
class Margin:
    """What the noisy counts say of one feature.

    Attributes
    ----------
    rows : (bins, labels)
        Noisy rows by bin and label, made consistent with the totals of all features.
    variance : (bins,)
        Of the noise on each number of a bin.
    mass : (bins,)
        Rows by bin, shrunk to equality as far as their noise demands.
    order : (bins,)
        Positions of the bins of an ordered feature; NaN for bins without a place in the order.
    sums : (bins, scores), optional
        Noisy sums of gradients, where these were asked in the place of rows.
    """

    rows: np.ndarray
    variance: np.ndarray
    mass: np.ndarray
    order: np.ndarray
    sums: np.ndarray | None = None

    @property
    def shares(self) -> np.ndarray:
        """Share of the rows in each bin."""
        return self.mass / self.mass.sum()

    def centred(self, shape: np.ndarray) -> np.ndarray:
        """A shape less its mean over the rows, which is the intercept's to say.

        A bin that nearly all rows are in would else shift them all by its noise.
        """
        return np.asarray(shape - self.shares @ shape)


@dataclass(frozen=True)
class Totals:
    """Noisy rows by label from all answers so far, and the standard deviation of each."""

    rows: np.ndarray
    sd: float

    def merge(self, other: Totals) -> Totals:
        """Both, weighted by their precision."""
        weight = other.sd**2 / (self.sd**2 + other.sd**2)
        return Totals(
            weight * self.rows + (1 - weight) * other.rows,
            self.sd * other.sd / sqrt(self.sd**2 + other.sd**2),
        )

    def heard(self, slopes: tuple[float, float], noisy_sum: float, sum_sd: float) -> Totals:
        """The same after a noisy sum of the rows of two labels, each times its slope."""
        of = np.array(slopes)
        gain = self.sd**2 / (self.sd**2 * (of @ of) + sum_sd**2)
        rows = self.rows + gain * (noisy_sum - of @ self.rows) * of
        return Totals(rows, self.sd * sqrt(1 - gain * (of @ of) / 2))


def pooled_totals(bins: Bins, noisy_rows: np.ndarray, sd: float) -> Totals:
    """Rows by label from every feature's table: the fewer its cells, the surer its sum."""
    weights = 1 / np.diff(bins.first)
    sums = np.add.reduceat(noisy_rows, bins.first[:-1], axis=0)
    return Totals(weights @ sums / weights.sum(), sd / sqrt(weights.sum()))


def class_shares(totals: Totals, n_rows: float) -> np.ndarray:
    """Class shares: posterior means, shrunk to equality as far as their noise demands."""
    sd = max(totals.sd / n_rows, 1e-6)
    means = np.array([likely_share(rows / n_rows, sd, len(totals.rows)) for rows in totals.rows])
    means = np.clip(means, 0.002, 1)
    return np.asarray(means / means.sum())


def likely_share(noisy: float, sd: float, n_labels: int) -> float:
    """Posterior mean of a label's share of the rows, under Jeffreys' prior.

    A flat prior would take a rare label, of which noise is all that is seen, for one far more frequent.
    """
    # By an angle whose squared sine is the share: for two labels the prior is flat in it.
    near = np.clip(np.array([min(noisy, 1.0) - 8 * sd, max(noisy, 0.0) + 8 * sd]), 0.0, 1.0)
    first, last = np.arcsin(np.sqrt(near))
    angles = first + (np.arange(SHARE_STEPS) + 0.5) / SHARE_STEPS * (last - first)
    shares = np.sin(angles) ** 2
    logs = -0.5 * ((shares - noisy) / sd) ** 2 + (n_labels - 2) * np.log(np.cos(angles))
    odds = np.exp(logs - logs.max())
    return float(odds @ shares / odds.sum())


def gather(
    schema: Schema,
    cells: Bins,
    present: list[int],
    noisy_rows: np.ndarray,
    sd: float,
    totals: Totals,
    kept: int = 2,
) -> tuple[Bins, list[Margin]]:
    """Bins of every feature, and what is known of them, from noisy cells; at most ``kept`` are not joined."""
    tables, margins = [], []
    for j, (feature, where) in enumerate(zip(schema.features, cells.slices, strict=True)):
        cell_rows = noisy_rows[where]
        bin_of = np.arange(len(cell_rows))
        if is_ordered(feature):
            joined = join_cells(cell_rows[: present[j]].sum(axis=1), sd * sqrt(cell_rows.shape[1]), kept)
            bin_of = np.concatenate([joined, joined[-1] + 1 + np.arange(len(cell_rows) - present[j])])
        start = cells.views.start[j]
        tables.append(bin_of[cells.views.table[start : start + feature.n_codes]])
        margins.append(_margin(cell_rows, bin_of, sd, totals, int(bin_of[present[j] - 1]) + 1, feature))
    return Bins.of(tables, [len(margin.rows) for margin in margins]), margins


def likely_margins(
    schema: Schema,
    cells: Bins,
    present: list[int],
    noisy_sums: np.ndarray,
    sd: float,
    n_rows: float,
    asked: list[int],
) -> list[Margin]:
    """What sums of gradients by cell say of every feature: how many rows a cell has is not known."""
    margins = []
    for j, (feature, where) in enumerate(zip(schema.features, cells.slices, strict=True)):
        n = where.stop - where.start
        mass, order = np.full(n, n_rows / n), np.full(n, np.nan)
        if is_ordered(feature):
            order[: present[j]] = APART * _positions(mass[: present[j]])
        variance = np.full(n, sd**2 if j in asked else UNKNOWN)
        margins.append(Margin(np.zeros((n, 2)), variance, mass, order, noisy_sums[where]))
    return margins


def pooled_sum(bins: Bins, noisy_sums: np.ndarray, sd: float, asked: list[int]) -> tuple[float, float]:
    """Sum over all rows by every asked feature's sums, the surer the fewer its cells, and its deviation."""
    weights = 1 / np.diff(bins.first)[asked]
    sums = np.add.reduceat(noisy_sums[:, 0], bins.first[:-1])[asked]
    return float(weights @ sums / weights.sum()), sd / sqrt(weights.sum())


def _margin(
    cell_rows: np.ndarray, bin_of: np.ndarray, sd: float, totals: Totals, placed: int, feature: Feature
) -> Margin:
    n = int(bin_of[-1]) + 1
    rows = np.zeros((n, cell_rows.shape[1]))
    np.add.at(rows, bin_of, cell_rows)
    variance = np.bincount(bin_of, minlength=n) * sd**2
    part = variance / variance.sum()
    rows += part[:, None] * (totals.rows - rows.sum(axis=0))
    variance *= np.maximum(1 - part, 0.02)
    mass = _believed_mass(rows.sum(axis=1), np.sqrt(variance * rows.shape[1]), totals)
    order = np.full(n, np.nan)
    if is_ordered(feature):
        order[:placed] = _positions(mass[:placed])
    return Margin(rows, variance, mass, order)


def _believed_mass(noisy_mass: np.ndarray, sd: np.ndarray, totals: Totals) -> np.ndarray:
    """Posterior means of the rows by bin under a flat prior, scaled to the total."""
    total = max(totals.rows.sum(), totals.sd, 10.0)
    laws = (truncated_normal(m, s, 0.0, total) for m, s in zip(noisy_mass, sd, strict=True))
    means = np.array([mean for mean, _ in laws]) + 1e-9
    return np.maximum(means * total / means.sum(), 1.0)


def _positions(mass: np.ndarray) -> np.ndarray:
    """Half quantile, half rank."""
    quantile = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    rank = (np.arange(len(mass)) + 0.5) / len(mass)
    return (quantile + rank) / 2
