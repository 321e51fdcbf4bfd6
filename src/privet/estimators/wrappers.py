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
    "sklearn.model_selection._classification_threshold.TunedThreshold": (
        "a threshold is tuned on private rows without noise",
        "fit the learner itself, and choose the threshold by what a mistake costs.",
    ),
    "sklearn.model_selection._search": (
        "a search scores its candidates on private rows without noise, and pays for none of the scores",
        "use PrivateSelection, which chooses privately.",
    ),
}
"""How what copies or fits a learner is called, up to the class, what is wrong with it, what to do instead."""


def refuse_wrappers() -> None:
    """Refuse a fit, or a copy to be fitted in another thread or process, that one of them has called for."""
    for name in _callers():
        for known, (cause, instead) in LEAKY.items():
            if name.startswith(known):
                raise QuestionError(f"{cause}.", instead)


def _callers() -> Iterator[str]:
    frame = sys._getframe(1)
    while frame is not None:
        yield f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}"
        frame = frame.f_back  # type: ignore[assignment]
