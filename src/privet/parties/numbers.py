"""What the moments that parties published tell of a number before any leaf is looked at."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from privet.learners.boosting.bins import truncated_normal
from privet.learners.boosting.numbers import Numbers
from privet.model.number_forest import Ground

LEAST_VARIANCE = 1e-9
"""Of a number, in its squared range."""


def ground_of(about: Numbers, shared_out: np.ndarray, sd: float) -> Ground:
    """Mean and deviation from rows by (1 − p)², 2p(1 − p) and p², p being a number's place in its range.

    ``sd`` is that of the noise on each of the three.
    """
    bound = about.schema.max_rows or inf
    rows = truncated_normal(float(shared_out.sum()), sqrt(3) * sd, 1.0, bound)[0]

    def share(weights: np.ndarray, most: float) -> float:
        noise = sd * float(np.linalg.norm(weights)) / rows
        return truncated_normal(float(shared_out @ weights) / rows, noise, 0.0, most)[0]

    place = share(np.array([0.0, 0.5, 1.0]), 1.0)
    apart = np.array([place**2, place * (place - 1), (1 - place) ** 2])
    variance = max(share(apart, max(place * (1 - place), LEAST_VARIANCE)), LEAST_VARIANCE)
    mean = about.centre + about.width * (2 * place - 1)
    return Ground(about.centre, about.width, 2 * about.width * sqrt(variance), mean)
