"""What can be asked for, and how it is done: the same function says the price and does the work.

A request is plain data, checked against the schema alone. `price` runs it on no rows with an account that
refuses every charge and notes what would be charged; `perform` runs it on rows with a `Prepaid` account that
accepts exactly that. So no price depends on a row, and what is charged is what is done.

======  =============================  ============================================================
kind    what                           params
======  =============================  ============================================================
fit     name of a learner              ``epsilon`` and the learner's declared parameters
ask     name of a question of columns  ``epsilon`` (or ``rho``) and the question's arguments
score   a metric of `private_score`    ``epsilon`` and ``model``, the id of a model
======  =============================  ============================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from math import prod
from typing import Any

from privet.answers import NoisyChoices, NoisyCounts, NoisyMoments, NoisyTable
from privet.checks import exact
from privet.errors import BudgetError, QuestionError
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.estimators.base import PrivateEstimator
from privet.estimators.score import private_score
from privet.learners.parameters import check_parameters, declared
from privet.learners.plan import FitPlan
from privet.learners.score import check_metric
from privet.model.protocol import Model
from privet.privacy import Protected, Quote, quotes
from privet.privacy.budget import positive
from privet.privacy.questions import QUESTIONS
from privet.privacy.questions.columns import OfColumns
from privet.schema import Schema, Target
from privet.service.refusals import ServiceError

KINDS = ("fit", "ask", "score")
ASKS = {name: kind for name, kind in QUESTIONS.items() if issubclass(kind, OfColumns)}
"""Questions of columns: those that need no structure of trees."""

MOST_LEAVES, MOST_TREES, MOST_TEXT = 1 << 22, 2000, 4000
"""Sizes that a request may ask for, so that no plan takes long."""

MOST_STEPS = 1 << 18
"""Steps of a row through a model that is scored: as many as the largest fits lead to."""

MOST_CELLS = 1 << 14
"""Numbers of an answer: it is kept in the database, and shown on a page."""

CONFIDENCE = 0.95
STATISTICS = ("count", "sum", "mean", "variance")
Models = Callable[[str], Model]
"""Finds a model by its id, or refuses."""


@dataclass(frozen=True)
class Request:
    """What is asked for: checked, and the same text for the same request."""

    kind: str
    what: str
    params: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": self.kind, "what": self.what, "params": dict(self.params)}

    @property
    def text(self) -> str:
        """The same for the same request."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @property
    def epsilon(self) -> Fraction:
        """The ε that it names; 0 where it names a ρ."""
        return exact(self.params.get("epsilon") or 0)

    @property
    def delta(self) -> Fraction:
        """The δ that it names."""
        return exact(self.params.get("delta") or 0)

    @property
    def model(self) -> str | None:
        """Id of the model that it scores."""
        return self.params["model"] if self.kind == "score" else None


def read_request(data: Any) -> Request:
    """A request of plain data, of plain types alone; what it asks for is checked by `price`."""
    if not isinstance(data, Mapping) or not isinstance(data.get("params", {}), Mapping):
        raise ServiceError("a request is an object with kind, what and params.", 'say, {"kind": "fit", …}.')
    kind, what = data.get("kind"), data.get("what")
    if kind not in KINDS or not isinstance(what, str) or set(data) - {"kind", "what", "params"}:
        raise ServiceError(f"kind must be one of {', '.join(KINDS)}, and what a name.", "see the reference.")
    params = {str(name): value for name, value in data.get("params", {}).items() if value is not None}
    if len(params) > 50 or not all(map(_plain, params.values())):
        raise ServiceError("params are numbers, texts, and lists of texts.", "see the reference.")
    request = Request(kind, what, params)
    if len(request.text) > MOST_TEXT:
        raise ServiceError(f"a request has {MOST_TEXT:,} characters at most.", "shorten it.")
    for name in ("epsilon", "rho"):
        if name in params:
            positive(params[name], name)
    _ = request.delta
    return request


def _plain(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= 1000
    if isinstance(value, list):
        return len(value) <= 100 and all(isinstance(each, str) and len(each) <= 1000 for each in value)
    return isinstance(value, bool | int | float) and value == value and abs(value) < 1e18


def price(request: Request, schema: Schema, models: Models, accounting: str) -> list[Quote]:
    """What it would be charged, worked out on no rows: one quote, or several to be tried in their order."""
    if request.kind == "ask" and request.what in ASKS:
        _check_size(request, schema)
    return quotes(lambda rows: perform(request, rows, models), schema, accounting=accounting)


def perform(request: Request, rows: Protected, models: Models) -> Model | dict[str, Any]:
    """Do the work: a model, or an answer as plain data."""
    if request.kind == "fit":
        return fitted(request, rows)
    if request.kind == "ask":
        return _answer(request, rows)
    return _score(request, rows, models)


def estimator(request: Request, schema: Schema) -> PrivateEstimator:
    """The estimator of a fit, with its parameters checked and its size bounded."""
    known: Mapping[str, type[PrivateEstimator]] = (
        REGRESSORS if isinstance(schema.label, Target) else CLASSIFIERS
    )
    if request.what not in known:
        raise QuestionError(f"there is no learner {request.what!r} here.", f"learners: {', '.join(known)}.")
    kind = known[request.what]
    allowed = {"epsilon", *(each.name for each, _ in declared(kind))}
    for name in request.params:
        if name not in allowed:
            raise QuestionError(f"{request.what} has no {name!r}.", f"it has {', '.join(sorted(allowed))}.")
    if "epsilon" not in request.params:
        raise QuestionError("a fit needs an epsilon.", "say, 0.5.")
    given = dict(request.params)
    for name in ("epsilon", "delta"):
        if isinstance(given.get(name), str):
            given[name] = _shortest(given[name])
    made = kind(**given)
    seed = request.params.get("random_state")
    if seed is not None and not (type(seed) is int and 0 <= seed < 1 << 32):
        raise QuestionError("random_state must be a whole number.", "leave it out.")
    check_parameters(made)
    trees, depth = getattr(made, "n_trees", None) or 1, getattr(made, "max_depth", None) or 1
    if trees > MOST_TREES or depth > 40 or trees << depth > MOST_LEAVES:
        raise QuestionError(
            f"{MOST_TREES:,} trees and {MOST_LEAVES:,} leaves are the most.", "take fewer or shallower trees."
        )
    if (getattr(made, "passes", None) or 1) > 1000:
        raise QuestionError("1,000 passes are the most.", "take fewer.")
    _ = made.budget
    return made


def _shortest(number: Any) -> Any:
    """A number as a float where it is one to the last digit: a card then says 0.5, and not 1/2."""
    found = exact(number)
    return float(found) if exact(float(found)) == found else number


def outline(request: Request, schema: Schema) -> FitPlan | None:
    """What a fit would ask and build if it saw the most rows that there may be; None for what is no fit."""
    return estimator(request, schema).plan(schema) if request.kind == "fit" else None


def fitted(request: Request, rows: Protected) -> Model:
    """The model of a fit."""
    model: Model = estimator(request, rows.schema).fit(rows).model_
    return model


def _check_size(request: Request, schema: Schema) -> None:
    """Refuse a question whose answer would be too long; what it does not take is told where it is asked."""
    kind = ASKS[request.what]
    named = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    with suppress(TypeError):
        asked = kind(
            **{
                name: tuple(value) if isinstance(value, list) else value
                for name, value in request.params.items()
                if name in named
            }
        )
        if prod(axis.n_cells for axis in asked.groups(schema)) > MOST_CELLS:
            raise QuestionError(
                f"an answer has {MOST_CELLS:,} numbers at most here.", "name fewer columns, or fewer bins."
            )


def _answer(request: Request, rows: Protected) -> dict[str, Any]:
    if request.what not in ASKS:
        raise QuestionError(f"there is no question {request.what!r} here.", f"ask {', '.join(ASKS)}.")
    try:
        answer = getattr(rows, request.what)(**request.params)
    except TypeError:
        raise QuestionError(
            f"{request.what} was asked with other arguments than it has.", "see the reference of questions."
        ) from None
    (charge,) = rows.asked
    told: dict[str, Any] = {"question": charge.question, "cost": charge.to_dict(), "confidence": CONFIDENCE}
    if isinstance(answer, NoisyMoments):
        return {**told, "answers": _moments(answer), "margin": None}
    if isinstance(answer, NoisyTable | NoisyChoices):
        names = [*answer.columns, "answer"]
        cells = [dict(zip(names, map(_json, row), strict=True)) for row in answer.rows()]
        return {**told, "answers": cells, "margin": _json(answer.margin(CONFIDENCE))}
    if isinstance(answer, NoisyCounts):
        values = [{"answer": int(value)} for value in answer.values.reshape(-1)]
        return {**told, "answers": values, "margin": _json(answer.margin(CONFIDENCE))}
    return {**told, "answers": [{"answer": str(answer)}], "margin": None}


def _moments(answer: NoisyMoments) -> list[dict[str, Any]]:
    """A group a line: each statistic with its value and the ends of its range."""
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for statistic in STATISTICS:
        for *names, value, low, high in answer.rows(statistic, CONFIDENCE):
            cell = groups.setdefault(tuple(names), dict(zip(answer.columns, map(_json, names), strict=True)))
            cell[statistic] = {"value": value, "low": low, "high": high}
    return list(groups.values())


def _score(request: Request, rows: Protected, models: Models) -> dict[str, Any]:
    check_metric(request.what, rows.schema)
    if set(request.params) != {"epsilon", "model"} or not isinstance(request.params["model"], str):
        raise QuestionError("a score needs an epsilon and a model.", "name the model by its id.")
    model, epsilon = models(request.params["model"]), _shortest(request.params["epsilon"])
    score = private_score(model, rows, metric=request.what, epsilon=epsilon)
    low, high = score.interval
    return {
        "metric": score.metric,
        "value": score.value,
        "low": low,
        "high": high,
        "margin": max(high - score.value, score.value - low),
        "rows": score.noisy_rows,
        "confidence": CONFIDENCE,
        "epsilon": score.epsilon,
        "account": score.account,
        "receipt": score.receipt,
        "counted": score.counted,
        "curve": [point._asdict() for point in score.curve],
    }


def _json(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def affordable(offered: list[Quote], fits: Callable[[Quote], None]) -> Quote:
    """The first quote that a check lets through; else the refusal that leaves most to ask for."""
    refusals: list[BudgetError] = []
    for quote in offered:
        try:
            fits(quote)
        except BudgetError as refusal:
            refusals.append(refusal)
        else:
            return quote
    raise refusals[0]
