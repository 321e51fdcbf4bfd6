"""Made-up rows: twenty numbers of which four decide the label, and a zoo of tables that go wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet import Categorical, Continuous, Label, Schema

WIDTH = 20

Zoo = tuple[Sequence[np.ndarray], Sequence[Any], np.ndarray]
"""Columns, the public upper bound of each (or how many categories it has), and the score of a row."""


def schema() -> Schema:
    """The public contract of made-up rows."""
    features = [Continuous(f"x{j}", 0, 1, missing=False) for j in range(WIDTH)]
    return Schema(features, Label("y", [0, 1]))


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    numbers = random.random((n, WIDTH))
    labels = (numbers[:, :4].sum(axis=1) > 2) ^ (random.random(n) < 0.1)
    return numbers, labels.astype(np.int64)


def heavy(random: np.random.Generator, n: int) -> Zoo:
    """As credit tables are: heavy tails, mostly zeros, codes that stand for missing, 8 % positives."""
    z = random.normal(size=(4, n))
    use = np.exp(1.2 * z[0] - 1.5) * np.where(random.random(n) < 0.02, 2000, 1)
    debt = np.exp(z[1] - 1) * np.where(random.random(n) < 0.2, 3000, 1)
    late = random.poisson(np.exp(0.8 * z[0] - 1.6 - 0.3 * np.arange(3)[:, None]))
    late = np.where(random.random(n) < 0.002, 98, late)
    few = random.poisson([[8], [1], [1]], (3, n))
    columns = [use, debt, np.exp(8.6 + 0.6 * z[2]), np.clip(52 + 15 * z[3], 18, 109), *late, *few]
    score = 1.1 * np.tanh(use - 0.5) + np.minimum(late, 4).sum(axis=0) - 0.02 * columns[3] - 3
    return columns, (60_000, 400_000, 5_000_000, 120, *[100] * 6), score


def near_constant(random: np.random.Generator, n: int) -> Zoo:
    """Thirty features that one row in two hundred varies in, and two that matter."""
    columns = [*np.where(random.random((30, n)) < 0.005, random.random((30, n)), 0), *random.random((2, n))]
    return columns, (1,) * 32, 3 * columns[-1] + 3 * columns[-2] - 3


def copied(random: np.random.Generator, n: int) -> Zoo:
    """One feature twenty times, and two others."""
    x = random.random((3, n))
    return [x[0]] * 20 + [x[1], x[2]], (1,) * 22, 3 * x[0] + 2 * x[1] - 3.5


def collinear(random: np.random.Generator, n: int) -> Zoo:
    """Fifteen features that are one and a little noise each."""
    x = random.random(n)
    columns = [*(0.95 * x + 0.05 * random.random((15, n)))]
    return columns, (1,) * 15, 20 * (columns[0] - columns[1]) + 2 * x - 2


def rare(random: np.random.Generator, n: int) -> Zoo:
    """One positive in two hundred."""
    x = random.random((8, n))
    return [*x], (1,) * 8, 4 * x[0] + 3 * x[1] - 9.5


def separable(random: np.random.Generator, n: int) -> Zoo:
    """The label is one comparison."""
    x = random.random((8, n))
    return [*x], (1,) * 8, np.where(x[0] > 0.4, np.inf, -np.inf)


def dominating(random: np.random.Generator, n: int) -> Zoo:
    """Categories of which one has nearly all rows, and one number."""
    x = np.where(random.random((10, n)) < 0.97, 0, random.integers(0, 20, (10, n)))
    number = random.random(n)
    return [*x, number], (*[("category", 20)] * 10, 1), 2 * (x[0] > 0) + 2 * (x[1] > 9) + 2 * number - 2


def missing(random: np.random.Generator, n: int) -> Zoo:
    """Nothing is known of anybody."""
    return [np.full(n, np.nan)] * 10, (1,) * 10, np.full(n, -1.0)


def two(random: np.random.Generator, n: int) -> Zoo:
    """Two features that matter together."""
    x = random.random((2, n))
    return [*x], (1, 1), 6 * ((x[0] > 0.5) ^ (x[1] > 0.5)) - 3


def many(random: np.random.Generator, n: int) -> Zoo:
    """Two hundred features, of which four matter."""
    x = random.random((200, n))
    return [*x], (1,) * 200, 6 * x[:4].mean(axis=0) * 2 - 6


ZOO = {
    make.__name__.replace("_", " "): make
    for make in (heavy, near_constant, copied, collinear, rare, separable, dominating, missing, two, many)
}
"""Tables that have gone wrong, or might."""


def zoo_table(name: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Schema]:
    """Rows of a table of the zoo, labels, and the public contract."""
    random = np.random.default_rng(seed)
    columns, tops, score = ZOO[name](random, n)
    features = [_feature(f"x{j}", top) for j, top in enumerate(tops)]
    labels = (random.random(n) < 1 / (1 + np.exp(-score))).astype(np.int64)
    return np.column_stack(columns), labels, Schema(features, Label("y", [0, 1]))


def _feature(name: str, top: int | tuple[str, int]) -> Categorical | Continuous:
    if isinstance(top, tuple):
        return Categorical(name, [float(value) for value in range(top[1])])
    return Continuous(name, 0, top)
