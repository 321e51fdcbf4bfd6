"""Plans: what a request would cost and tell, for nothing, from public quantities alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import exp
from typing import Any

from privet.checks import exact
from privet.errors import BudgetError, PrivetError
from privet.learners.plan import FitPlan
from privet.model.steps import steps
from privet.privacy import Charge, Cost, Quote, State, in_parallel, in_sequence
from privet.privacy.totals import check_charge
from privet.service.clock import pace, seconds
from privet.service.house import House
from privet.service.models import model_of
from privet.service.people import purse
from privet.service.refusals import Forbidden, ServiceError, TooSoon
from privet.service.tables import Listed, Rules, listed
from privet.service.who import Who, require
from privet.service.work import Request, affordable, outline, price, read_request

Execute = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs a statement: of a transaction, or by itself."""


@dataclass(frozen=True)
class Asked:
    """A kind of question of a plan: how often, what share of the price, and the noise on a number of it."""

    question: str
    times: int
    cost: str
    noise_sd: float | None


@dataclass(frozen=True)
class Plan:
    """What a request would cost and tell.

    Attributes
    ----------
    request : Request
    cost : str
        For people: ``ε=0.5``.
    epsilon, rho : float
        The price in both units; ``epsilon`` is None where there is none.
    odds : float
        The most that the odds of anything said of one person change: e^ε.
    asked : sequence of Asked
        What would be reserved; ``later`` is decided by noisy answers within it.
    later : sequence of Asked
        What a fit would ask if there were as many rows as ``max_rows``.
    facts : sequence of (name, value)
        Sizes, in the order a reader wants them.
    thin : float or None
        Share of leaves too thin to speak.
    seconds : int
        After which the answer comes, once it starts.
    needs_approval : bool
    refusals : sequence of str
        Why it would be refused now; empty where it could be submitted.
    left_after : dict
        What would be left, by unit.
    """

    request: Request
    cost: str
    epsilon: float | None
    rho: float
    delta: float
    odds: float | None
    asked: Sequence[Asked]
    later: Sequence[Asked]
    facts: Sequence[tuple[str, str]]
    thin: float | None
    seconds: int
    needs_approval: bool
    refusals: Sequence[str]
    left_after: Mapping[str, float | None]


@dataclass(frozen=True)
class Priced:
    """A request with its prices: what submitting goes by."""

    request: Request
    offered: Sequence[Quote]
    outline: FitPlan | None
    seconds: int
    accounting: str

    def cost(self, plan: Sequence[Charge]) -> Cost:
        """What a plan costs on the account that pays."""
        return in_sequence(charge.cost.priced(self.accounting) for charge in plan)

    def dearer(self, quote: Quote) -> Cost:
        """What a quote costs till it is settled: the dearer of its plans."""
        return in_parallel(self.cost(plan) for plan in filter(None, quote))


def plan(house: House, who: Who, name: str, data: Any) -> Plan:
    """The plan of a request on a table; nothing is charged, and no row is read."""
    require(who, "read", "submit")
    found = listed(house, who, name)
    priced = priced_request(house, who, found, data)
    state, refusals = house.ledger.state(found.people), []
    try:
        quote = chosen(priced, state, found, who)
    except BudgetError as refusal:
        quote = priced.offered[0]
        refusals.append(_words(refusal))
    cost = priced.dearer(quote)
    for check in (
        partial(check_rules, who, priced.request, cost, found.rules),
        partial(check_cooldown, house, who, found, house.ledger.execute),
    ):
        try:
            check()
        except ServiceError as refusal:
            refusals.append(_words(refusal))
    return Plan(
        priced.request,
        str(cost),
        None if cost.epsilon is None else float(cost.epsilon),
        float(cost.rho),
        float(cost.delta),
        _odds(priced.request, cost),
        _asked(quote.charges),
        [] if priced.outline is None else _asked(priced.outline.questions),
        [] if priced.outline is None else priced.outline.told(),
        None if priced.outline is None or priced.outline.leaves is None else priced.outline.leaves.thin,
        priced.seconds,
        needs_approval(who, priced.request, cost, found.rules),
        refusals,
        _left_after(purse(house, who, found.people).left, cost),
    )


def priced_request(house: House, who: Who, found: Listed, data: Any) -> Priced:
    """A request, read and priced; refused where it is none, or where it would take too long."""
    request, schema = read_request(data), found.schema
    outlined = outline(request, schema)
    accounting = house.ledger.state(found.people).budget.accounting
    # Read once: a file of a model is large, and what is scored is what is priced.
    found_model = cache(lambda model: model_of(house, who, model))
    offered = price(request, schema, found_model, accounting)
    through = 0 if request.model is None else steps(found_model(request.model).scored)
    asked = max(len(plan) for quote in offered for plan in quote)
    needed = seconds(outlined, schema, pace(house), through, asked)
    if needed > house.settings.longest:
        raise ServiceError("this would take longer than jobs may here.", "ask for less.")
    return Priced(request, offered, outlined, needed, accounting)


def check_rules(who: Who, request: Request, cost: Cost, rules: Rules) -> None:
    """Refuse what the rules of a table do not allow."""
    if who.is_owner:
        return
    if request.kind == "fit" and rules.learners is not None and request.what not in rules.learners:
        raise Forbidden(
            f"{request.what} may not be fitted here.", f"allowed: {', '.join(rules.learners) or 'none'}."
        )
    if (request.kind == "ask" and not rules.asks) or (request.kind == "score" and not rules.scores):
        raise Forbidden(f"nobody may {request.kind} here.", "ask the owner.")
    if rules.most_epsilon is not None and _exceeds(request, cost, exact(rules.most_epsilon)):
        raise Forbidden(f"one job may have ε={rules.most_epsilon} at most here.", "lower epsilon.")
    if max(request.delta, cost.delta) > exact(rules.most_delta, "delta"):
        raise Forbidden(f"one job may have δ={rules.most_delta} at most here.", "lower delta.")


def check_cooldown(house: House, who: Who, found: Listed, execute: Execute) -> None:
    """Refuse an analyst who asked a moment ago."""
    if who.is_owner or not found.rules.cooldown:
        return
    ((last,),) = execute(
        "SELECT max(made) FROM job WHERE member = ? AND listed = ? AND state <> 'refused'",
        (who.name, found.name),
    )
    if last is not None and (left := last + found.rules.cooldown - house.now()) > 0:
        raise TooSoon(f"jobs on {found.name!r} are {found.rules.cooldown} seconds apart.", int(left))


def needs_approval(who: Who, request: Request, cost: Cost, rules: Rules) -> bool:
    """Whether an owner must look at it first."""
    if who.is_owner or rules.approval_above is None:
        return False
    return _exceeds(request, cost, exact(rules.approval_above))


def chosen(priced: Priced, state: State, found: Listed, who: Who) -> Quote:
    """The first of the quotes that what is left can pay."""

    def fits(quote: Quote) -> None:
        for plan in filter(None, quote):
            check_charge(state, found.people, priced.cost(plan), None, who.analyst)

    return affordable(list(priced.offered), fits)


def _words(error: PrivetError) -> str:
    return " ".join(part for part in (error.message, error.hint) if part)


def _exceeds(request: Request, cost: Cost, most: Fraction) -> bool:
    """Whether a request names more than some ε; one that names a ρ, more than what that ε costs in ρ."""
    if request.epsilon:
        return request.epsilon > most
    return cost.rho > most**2 / 2 if cost.epsilon is None else cost.epsilon > most


def _odds(request: Request, cost: Cost) -> float | None:
    stated = request.epsilon if request.epsilon else cost.epsilon
    return None if stated is None or stated > 700 else exp(stated)


def _asked(charges: Sequence[Charge]) -> list[Asked]:
    return [
        Asked(charge.question, times, str(charge.cost), charge.noise_sd)
        for charge, times in Counter(charges).items()
    ]


def _left_after(left: Mapping[str, float | None], cost: Cost) -> dict[str, float | None]:
    price = {"epsilon": None if cost.epsilon is None else float(cost.epsilon), "rho": float(cost.rho)}
    return {
        unit: None if value is None or (of := price[unit]) is None else max(value - of, 0.0)
        for unit, value in left.items()
    }
