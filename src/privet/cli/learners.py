"""Options of the command line that choose a learner and its parameters, read off what learners declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, Optional

import typer

from privet.errors import QuestionError
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.estimators.base import PrivateClassifier, PrivateEstimator
from privet.learners.parameters import Parameter, declared
from privet.schema import Schema, Target

OF = "of_learner_"
"""Before the names of learners' parameters: a command may have one of the same name."""

PANEL = "Parameters of learners"

METAVARS = {int: "N", float: "X", str: "NAME"}

Learner = Annotated[str, typer.Option(metavar="NAME", help=f"One of: {', '.join(CLASSIFIERS)}.")]


def declared_options() -> dict[str, list[tuple[str, Parameter]]]:
    """Learners that have a parameter and what it may be there, by the parameter's name."""
    found: dict[str, list[tuple[str, Parameter]]] = {}
    for learner, kind in CLASSIFIERS.items():
        for each, parameter in declared(kind):
            found.setdefault(each.name, []).append((learner, parameter))
    return found


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes every declared parameter besides its own, and gets those that were given."""

    @wraps(command)
    def wrapper(**given: Any) -> None:
        chosen = {name: given.pop(OF + name) for name in declared_options()}
        command(**given, parameters={name: value for name, value in chosen.items() if value is not None})

    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "parameters"]
    more = [_option(name, having) for name, having in declared_options().items()]
    wrapper.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in [*own, *more]}
    return wrapper


def make_estimator(learner: str, epsilon: Any, parameters: Mapping[str, Any]) -> PrivateClassifier:
    """An estimator by name, with the parameters that were given; one that it does not have is refused."""
    if learner not in CLASSIFIERS:
        raise QuestionError(f"there is no learner {learner!r}.", f"learners are {', '.join(CLASSIFIERS)}.")
    options = declared_options()
    for name in parameters:
        if learner not in [having for having, _ in options[name]]:
            raise QuestionError(f"{learner} has no {flag(name, options[name][0][1])}.", "leave it out.")
    estimator = CLASSIFIERS[learner](epsilon=epsilon, **parameters)
    _ = estimator.budget
    return estimator


def predicting(estimator: PrivateClassifier, schema: Schema) -> PrivateEstimator:
    """The estimator, or that of numbers with the same name and parameters where the schema has a target."""
    if not isinstance(schema.label, Target):
        return estimator
    if estimator.name not in REGRESSORS:
        raise QuestionError(f"{estimator.name} predicts no numbers.", f"use {' or '.join(REGRESSORS)}.")
    kind = REGRESSORS[estimator.name]
    known = kind().get_params()
    return kind(**{name: value for name, value in estimator.get_params().items() if name in known})


def flag(name: str, parameter: Parameter) -> str:
    """How a parameter is written on the command line."""
    return parameter.flag or f"--{name.replace('_', '-')}"


def _bounds(having: list[tuple[str, Parameter]]) -> dict[str, Any]:
    """Bounds that no learner goes beyond; what one of them alone refuses, it tells itself."""
    least, most = ([getattr(p, side) for _, p in having] for side in ("least", "most"))
    low = {} if None in least else {"min": min(least)}
    return low if None in most else {**low, "max": max(most)}


def _option(name: str, having: list[tuple[str, Parameter]]) -> inspect.Parameter:
    first = having[0][1]
    among = list(dict.fromkeys(value for _, parameter in having for value in parameter.among))
    of = "" if len(having) == len(CLASSIFIERS) else f" ({', '.join(learner for learner, _ in having)})"
    told = " ".join([first.help, *([f"One of: {', '.join(among)}."] if among else [])]).strip()
    words = flag(name, first)
    option = (
        typer.Option(f"{words}/--no-{words[2:]}", rich_help_panel=PANEL, help=told + of)
        if first.kind is bool
        else typer.Option(
            words, rich_help_panel=PANEL, metavar=METAVARS[first.kind], help=told + of, **_bounds(having)
        )
    )
    kind: Any = Annotated[Optional[first.kind], option]  # noqa: UP045 – a type known at run time alone
    return inspect.Parameter(OF + name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
