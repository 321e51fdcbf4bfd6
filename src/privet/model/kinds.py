"""Every kind of model: declared once, read from its file, found in an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, overload

from privet.errors import ModelFileError, PrivetError, QuestionError
from privet.model.additive import AdditiveModel, AdditiveNumbers
from privet.model.counts import CountForest
from privet.model.file import read_model
from privet.model.forest import LabelForest
from privet.model.labels import LabelModel
from privet.model.number_forest import NumberForest
from privet.model.protocol import Model
from privet.model.rule_forest import RuleForest
from privet.model.union import UnionForest
from privet.model.weights import Weights

M = TypeVar("M", bound=Model)

MODELS: tuple[type[Model], ...] = (
    AdditiveModel,
    AdditiveNumbers,
    CountForest,
    LabelForest,
    NumberForest,
    RuleForest,
    UnionForest,
)
"""All classes of models. A further one needs this line and its own file."""

KINDS: Mapping[str, type[Model]] = {model.kind: model for model in MODELS}


@overload
def load_model(path: str | Path) -> Model: ...
@overload
def load_model(path: str | Path, wanted: type[M]) -> M: ...
def load_model(path: str | Path, wanted: type[Any] | None = None) -> Any:
    """Read a model from its file.

    Parameters
    ----------
    path : str or Path
    wanted : class of a model, optional
        A file that holds another is refused.

    Returns
    -------
    Model
        Of the class whose kind the file names: see `privet.model.Model` for what all of them answer.
    """
    header, arrays = read_model(path)
    kind = header.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFileError(f"{str(path)!r} holds a {kind!r}.", "give a model, or update privet.")
    if wanted is not None and kind != wanted.kind:
        raise ModelFileError(f"{str(path)!r} holds a {kind!r}, not a {wanted.kind!r}.", "give another file.")
    try:
        model = KINDS[kind].from_file(header, arrays)
        if "weights" in header and isinstance(model, LabelModel):
            weights = Weights.from_dict(header["weights"], model.schema.n_labels)
            model = replace(model, weights=weights)
        model.card.check()
    except (PrivetError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{str(path)!r} does not hold a sound model ({error}).", "fetch it again."
        ) from None
    return model


def released(model: Any) -> Model:
    """The model of a fitted estimator, or the model itself."""
    found = getattr(model, "model_", model)
    if not isinstance(found, MODELS):
        raise QuestionError(f"{type(model).__name__} is not a fitted model of trees.", "fit it first.")
    return found
