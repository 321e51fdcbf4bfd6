"""Every question that may cross the wall, one file a family."""

from typing import Any

from privet.privacy.question import Question
from privet.privacy.questions import (
    boosting,
    columns,
    errors,
    finding,
    moments,
    numbers,
    pairs,
    runs,
    scores,
    trees,
)

FAMILIES = (boosting, columns, errors, finding, moments, numbers, pairs, runs, scores, trees)

QUESTIONS: dict[str, type[Question[Any]]] = {
    kind.method: kind
    for family in FAMILIES
    for kind in vars(family).values()
    if isinstance(kind, type)
    and issubclass(kind, Question)
    and kind.__module__ == family.__name__
    and "method" in vars(kind)
}
"""Kinds of questions by the name under which `Protected` asks them. No other is ever answered."""
