"""Read any model from its file."""

from __future__ import annotations

from pathlib import Path

from privet.errors import ModelFileError, PrivetError
from privet.model.additive import AdditiveModel
from privet.model.counts import CountForest
from privet.model.file import read_model
from privet.model.forest import LabelForest
from privet.model.rule_forest import RuleForest
from privet.model.union import UnionForest

Model = LabelForest | CountForest | RuleForest | AdditiveModel | UnionForest
KINDS = {model.kind: model for model in (LabelForest, CountForest, RuleForest, AdditiveModel, UnionForest)}


def load_model(path: str | Path) -> Model:
    """Read a model from its file."""
    header, arrays = read_model(path)
    kind = header.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFileError(f"{str(path)!r} holds a {kind!r}.", "give a model, or update privet.")
    try:
        model: Model = KINDS[kind].from_file(header, arrays)
        model.card.rows()
    except (PrivetError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{str(path)!r} does not hold a sound model ({error}).", "fetch it again."
        ) from None
    return model
