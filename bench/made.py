"""Made-up rows: twenty numbers of which four decide the label."""

import numpy as np

from privet import Continuous, Label, Schema

WIDTH = 20


def schema() -> Schema:
    """The public contract of made-up rows."""
    features = [Continuous(f"x{j}", 0, 1, missing=False) for j in range(WIDTH)]
    return Schema(features, Label("y", [0, 1]))


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    numbers = random.random((n, WIDTH))
    labels = (numbers[:, :4].sum(axis=1) > 2) ^ (random.random(n) < 0.1)
    return numbers, labels.astype(np.int64)
