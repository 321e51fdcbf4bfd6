"""A zoo of made-up tables that have gone wrong, or might: is boosting safe on them, and better with more?

More budget and more questions may not make it worse, and nothing may make it worse than the class prior
as that can be told privately.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from bench.folds import SURE
from privet import BoostingClassifier, Categorical, Continuous, Label, Schema

DELTA = 1e-6
ROWS = (2_000, 60_000)
WIDE_ROWS = 20_000
"""Of a table of hundreds of features, at most."""

NEW_ROWS = 20_000
EPSILONS = (0.1, 0.5, 1.0, 8.0, 64.0)
PASSES = (2, 6, None)
"""Most questions; None leaves their number to the plan."""

MOST = 1.02
"""Log loss beside the class prior's, or what the noise of a private class prior does if that is more."""

WORSE_AUC, WORSE_LOSS = 0.01, 0.02
"""By which more budget or more questions may seem to be worse, beyond two errors of the repeats' means."""

Zoo = tuple[Sequence[np.ndarray], Sequence[Any], np.ndarray]
"""Columns, the public upper bound of each (or how many categories it has), and the score of a row."""


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
    """Five hundred features, of which four matter."""
    x = random.random((500, n), np.float32)
    return [*x], (1,) * 500, 6 * x[:4].mean(axis=0) * 2 - 6


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


def compare(job: dict) -> dict:
    """AUC and log loss beside the prior's of some fits at every budget and number of questions."""
    found = []
    X_new, y_new, _ = zoo_table(job["table"], NEW_ROWS, seed=1)
    X, y, schema = zoo_table(job["table"], job["rows"])
    exact = log_loss(y_new, _told(np.array([1 - y.mean(), y.mean()]), len(y_new)))
    for epsilon, delta in product(job["epsilons"], (0.0, DELTA)):
        noise = private_prior(y, epsilon, y_new) / exact
        for passes in job["passes"]:
            scores = []
            for repeat in range(job["repeats"]):
                learner = BoostingClassifier(
                    epsilon, delta, passes=passes, schema=schema, random_state=repeat
                )
                shares = np.clip(learner.fit(X, y).model_.shares(X_new), SURE, 1 - SURE)
                scores.append((roc_auc_score(y_new, shares[:, 1]), log_loss(y_new, shares) / exact))
            aucs, ratios = map(list, zip(*scores, strict=True))
            case = {"table": job["table"], "rows": job["rows"], "epsilon": epsilon, "delta": delta}
            found.append(case | {"passes": passes, "aucs": aucs, "ratios": ratios, "noise": noise})
    return {"found": found}


def private_prior(labels: np.ndarray, epsilon: float, y_new: np.ndarray, draws: int = 100) -> float:
    """Mean log loss of class shares that all of a budget in pure ε was spent on."""
    random = np.random.default_rng(0)
    noisy = np.bincount(labels, minlength=2) + random.laplace(scale=1 / epsilon, size=(draws, 2))
    shares = np.maximum(noisy, 1)
    shares /= shares.sum(axis=1, keepdims=True)
    return float(np.mean([log_loss(y_new, _told(share, len(y_new))) for share in shares]))


def _told(shares: np.ndarray, n: int) -> np.ndarray:
    return np.tile(np.clip(shares, SURE, 1 - SURE), (n, 1))


def allowed(case: dict) -> float:
    """Most that the mean log loss of a case may be, in that of the class prior."""
    return max(MOST, case["noise"]) + 2 * _error(case["ratios"])


def unsafe(found: Iterable[dict]) -> list[dict]:
    """Cases whose mean log loss is above that of the class prior by more than noise."""
    return [case for case in found if np.mean(case["ratios"]) > allowed(case)]


def setbacks(found: Sequence[dict], along: str) -> list[tuple[float, dict]]:
    """Cases that more of something made worse beyond noise, and by how much; worst first.

    ``along`` is "epsilon" or "passes". AUC counts as it is, log loss in that of the class prior.
    """
    keys = [key for key in ("table", "rows", "epsilon", "delta", "passes") if key != along]
    lines: dict[tuple, list[dict]] = {}
    for case in found:
        lines.setdefault(tuple(case[key] for key in keys), []).append(case)
    worse = []
    for less, more in (pair for line in lines.values() for pair in pairwise(line)):
        down, down_error = _change(less["aucs"], more["aucs"], -1)
        up, up_error = _change(less["ratios"], more["ratios"], 1)
        beyond = max(down - WORSE_AUC - 2 * down_error, up - WORSE_LOSS - 2 * up_error)
        if beyond > 0:
            worse.append((max(down, up), more))
    return sorted(worse, key=lambda pair: -pair[0])


def _change(before: list[float], after: list[float], sign: int) -> tuple[float, float]:
    return sign * float(np.mean(after) - np.mean(before)), float(np.hypot(_error(before), _error(after)))


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def jobs(tables: Iterable[str], rows: Iterable[int], epsilons: Sequence[float], repeats: int) -> list[dict]:
    """What `compare` is asked."""
    asked = {"epsilons": epsilons, "passes": PASSES, "repeats": repeats}
    return [
        {"table": table, "rows": min(n, WIDE_ROWS) if table == "many" else n} | asked
        for table, n in product(tables, rows)
    ]


if __name__ == "__main__":
    print(json.dumps(compare(json.loads(Path(sys.argv[1], "job.json").read_text()))))
