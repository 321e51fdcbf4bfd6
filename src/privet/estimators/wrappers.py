"""What scikit-learn does around a learner that would break its promise, where it can be recognised."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from privet.errors import PrivacyLeakWarning, QuestionError

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
    "sklearn.semi_supervised": (
        "self-training chooses among private rows by what a model says of all of them, without noise",
        "fit the learner to the rows that have a label.",
    ),
    "sklearn.model_selection._classification_threshold.TunedThreshold": (
        "a threshold is tuned on private rows without noise",
        "fit the learner itself, and choose the threshold by what a mistake costs.",
    ),
    "sklearn.model_selection._search": (
        "a search scores its candidates on private rows without noise, and pays for none of the scores",
        "use PrivateSelection, which chooses privately.",
    ),
    "sklearn.feature_selection._rfe.RFECV": (
        "features are chosen by scores on private rows without noise",
        "give the learner all of them, and look at its importances.",
    ),
    "sklearn.feature_selection._sequential": (
        "features are chosen by scores on private rows without noise",
        "give the learner all of them, and look at its importances.",
    ),
    "imblearn.": (
        "resampling copies rows, or makes new ones of several people's",
        "fit the learner to the rows as they are; its shares say how rare a label is.",
    ),
}
"""How what copies or fits a learner is called, up to the class, what is wrong with it, what to do instead."""

PIPELINE = "sklearn.pipeline.Pipeline.fit"
FITTED_BEFORE = (
    "leave it out: a schema says bounds and categories, and missing values have a code of their own; "
    "or fit it to public rows and wrap it in FrozenEstimator."
)


def refuse_wrappers() -> None:
    """Refuse a fit, or a copy to be fitted in another thread or process, that one of them has called for."""
    for name, frame in _callers():
        for known, (cause, instead) in LEAKY.items():
            if name.startswith(known):
                raise QuestionError(f"{cause}.", instead)
        if name == PIPELINE:
            _refuse_fitted(frame.f_locals["self"].steps[:-1])


def warn_of_wrappers() -> None:
    """Warn where something is fitted to what a fitted model says of rows: they may be public, or not."""
    for name, _ in _callers():
        for known, (cause, _) in LEAKY.items():
            if name.startswith(known) and name.endswith((".fit", "._fit")):
                warnings.warn(
                    f"{cause}: unless these rows are public, what comes of it is not private.",
                    PrivacyLeakWarning,
                    stacklevel=3,
                )
                return


def _refuse_fitted(steps: Iterable[tuple[Any, ...]]) -> None:
    """Refuse what scikit-learn has fitted to the rows before the learner, and warn of what others have."""
    for step in _flat(steps):
        if not isinstance(step, BaseEstimator) or isinstance(step, FrozenEstimator):
            continue
        listed = getattr(step, "categories", "auto")
        is_told = not isinstance(listed, str) and getattr(step, "min_frequency", None) is None
        if is_told or not get_tags(step).requires_fit:
            continue
        kind = type(step)
        cause = f"{kind.__name__} was fitted to private rows without noise, before the learner saw them"
        if kind.__module__.startswith("sklearn."):
            raise QuestionError(f"{cause}.", FITTED_BEFORE)
        warnings.warn(
            f"{cause}. If it learnt anything from them, the model is not private; if it learns nothing, let "
            "its tags say requires_fit=False.",
            PrivacyLeakWarning,
            stacklevel=4,
        )


def _flat(steps: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Transformers, those within others in their place."""
    for _, step, *_ in steps:
        for name in ("steps", "transformers", "transformer_list"):
            if hasattr(step, name):
                yield from _flat(getattr(step, name))
                break
        else:
            yield step


def _callers() -> Iterator[tuple[str, FrameType]]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}", frame
        frame = frame.f_back
