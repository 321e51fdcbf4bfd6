"""Wrappers of scikit-learn that would break the promise of what they wrap, where they can be recognised."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from privet.errors import QuestionError

LEAKY = {
    "sklearn.ensemble._bagging": (
        "bagging copies rows: one person would be counted many times at the price of once",
        "fit the learner itself; a forest of privet has trees enough.",
    ),
    "sklearn.calibration": (
        "calibration fits a curve to private rows without noise",
        "fit the learner itself: its probabilities are corrected for its noise.",
    ),
    "sklearn.ensemble._stacking": (
        "stacking fits its last estimator to private rows without noise",
        "fit one learner, or let PrivateSelection choose among several.",
    ),
    "sklearn.model_selection._search": (
        "a search scores its candidates on private rows without noise, and pays for none of the scores",
        "use PrivateSelection, which chooses privately.",
    ),
}
"""Modules that call ``fit``, what is wrong with that, and what to do instead."""


def refuse_wrappers() -> None:
    """Refuse a fit that one of them has called for, while it is free."""
    for module in _callers():
        if module in LEAKY:
            cause, instead = LEAKY[module]
            raise QuestionError(f"{cause}.", instead)


def _callers() -> Iterator[str]:
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_globals.get("__name__", "")
        frame = frame.f_back  # type: ignore[assignment]
