"""The console: pages of the domain, each with a twin that ends in ``.json``.

A page is a function that returns the name of its template and what it shows; the twin tells the same as plain
data. Forms post, and are answered by the page that shows what came of it, so that everything works without a
script; with one, prices follow while a plan is written, and jobs tell of themselves.
"""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, File, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from privet.data.condition import as_written
from privet.errors import PrivetError
from privet.estimators import CLASSIFIERS, REGRESSORS
from privet.learners.score import METRICS
from privet.privacy import ZCDP, Budget
from privet.schema import Continuous, Target
from privet.service import jobs, journal, members, models, people, plans, tables, verifying
from privet.service.composer import Given, form_fields, request_of
from privet.service.drawn import burn_picture, differences, shape_pictures
from privet.service.refusals import ServiceError
from privet.service.told import told
from privet.service.web import At, SignedIn, perhaps, service_of
from privet.service.who import Who
from privet.service.work import ASKS

router = APIRouter(include_in_schema=False)
HOME = Path(__file__).with_name("console")
Text = Annotated[str, Form(max_length=10_000)]
Short = Annotated[str, Form(max_length=500)]
Long = Annotated[str, Form(max_length=tables.LONGEST_SCHEMA)]
Shown = tuple[str, dict[str, Any]]
LATEST = 6
EVENTS = 100
"""Of a ledger on one page."""


def _time(seconds: int | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _number(value: Any) -> str:
    return "–" if value is None else f"{float(value):.4g}"


def _value(value: Any) -> str:
    """A value of an answer or a sample: numbers short, what is missing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 10_000 else f"{value:,.4g}"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _span(seconds: float) -> str:
    """A time to wait, in words."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "0 s"


ENVIRONMENT = Environment(
    loader=PackageLoader("privet.service", "console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters |= {
    "time": _time,
    "number": _number,
    "value": _value,
    "span": _span,
    "listed": _listed,
    "part": lambda text: quote(str(text), safe=""),
}


def _middle(feature: Continuous) -> object:
    """A value that a condition may name: from the schema alone, as all that is shown of a table."""
    middle = (feature.lower + feature.upper) / 2
    return feature.shown(round(middle) if feature.integer else middle)


ENVIRONMENT.globals["middle"] = _middle
ENVIRONMENT.filters["written"] = as_written


def add_pages(app: FastAPI) -> None:
    """Put the console into an application."""
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=HOME / "static"), name="static")
    app.state.service.shown = refusal_page


def render(
    request: Request, template: str, data: Mapping[str, Any], who: Who | None, status: int = 200
) -> Response:
    """A page."""
    text = ENVIRONMENT.get_template(template).render(
        **data, who=who, path=request.url.path, now=service_of(request).house.now()
    )
    return HTMLResponse(text, status)


def refusal_page(request: Request, status: int, message: str, hint: str) -> Response | None:
    """A refusal, where a browser asked for a page."""
    path = request.url.path
    if (
        path.startswith("/api/")
        or path.endswith(".json")
        or "text/html" not in request.headers.get("accept", "")
    ):
        return None
    who = perhaps(request) if status not in (401, 429) else None
    data = {"status": status, "message": message, "hint": hint}
    return render(request, "refused.html", data, who, status)


def page(path: str) -> Callable[[Callable[..., Shown]], Callable[..., Shown]]:
    """A page at a path, and its twin."""

    def register(work: Callable[..., Shown]) -> Callable[..., Shown]:
        @wraps(work)
        def shown(request: Request, who: SignedIn, **given: Any) -> Response:
            template, data = work(who=who, **given)
            return render(request, template, data, who)

        @wraps(work)
        def twin(who: SignedIn, **given: Any) -> Response:
            return JSONResponse(told(work(who=who, **given)[1]))

        signature = inspect.signature(work, eval_str=True)
        own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values()]
        asks = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        for function, taken in ((shown, [asks, *own]), (twin, own)):
            # What is asked of a request is read off the signature: that of the page, and the request itself.
            del function.__dict__["__wrapped__"]
            function.__dict__["__signature__"] = signature.replace(
                parameters=taken, return_annotation=Response
            )
        # The twin first: a page's name may be anything.
        router.get(("/tables" if path == "/" else path) + ".json")(twin)
        router.get(path)(shown)
        return work

    return register


def back(path: str) -> Response:
    """The page that shows what came of a form."""
    return RedirectResponse(path, 303)


@page("/")
def tables_page(house: At, who: SignedIn) -> Shown:
    """Tables, what is left, and own jobs by state."""
    shown = tables.tables(house, who) if who.may("read") else []
    own = jobs.jobs(house, who) if who.may("read") or who.may("submit") else []
    states = {
        state: sum(each.state == state for each in own) for state in dict.fromkeys(j.state for j in own)
    }
    waiting = jobs.approvals(house, who) if who.may("own") else []
    data = {"tables": shown, "states": states, "approvals": len(waiting), "latest": own[:LATEST]}
    return "tables.html", data


@page("/tables/{name}")
def table_page(house: At, who: SignedIn, name: str) -> Shown:
    """One table: schema, invented rows, rules, and the budget."""
    found = tables.table(house, who, name)
    picture = burn_picture(people.burn(house, who, found.people)) if who.may("own") else None
    columns = [(each.name, each.told) for each in (*found.schema.features, found.schema.label)]
    data = {"table": found, "columns": columns, "sample": tables.sample(house, who, name, 8), "burn": picture}
    return "table.html", data


@page("/tables/{name}/plan")
def plan_page(
    house: At,
    who: SignedIn,
    name: str,
    parameters: Given,
    kind: Annotated[str, Query(max_length=10)] = "fit",
    what: Annotated[str, Query(max_length=100)] = "",
    epsilon: Annotated[str, Query(max_length=100)] = "",
    delta: Annotated[str, Query(max_length=100)] = "",
    where: Annotated[str, Query(max_length=4000)] = "",
    model: Annotated[str, Query(max_length=100)] = "",
) -> Shown:
    """Write a plan, and read what it would cost and tell before it is submitted."""
    found = tables.table(house, who, name)
    learners = REGRESSORS if isinstance(found.schema.label, Target) else CLASSIFIERS
    metrics = [metric for metric in METRICS if isinstance(found.schema.label, METRICS[metric].predicts)]
    known = {"fit": found.rules.learners or list(learners), "ask": list(ASKS), "score": metrics}
    kind = kind if kind in known else "fit"
    chosen = known[kind][0] if what not in known[kind] and not epsilon else what
    given = {"kind": kind, "what": chosen, "epsilon": epsilon, "delta": delta}
    given |= {"where": where if kind == "ask" else "", "model": model if kind == "score" else ""}
    taken = form_fields(kind, chosen, learners.get(chosen), found.schema, parameters)
    plan, refusal, data = None, "", None
    if epsilon:
        try:
            data = request_of(given, taken)
            plan = plans.plan(house, who, name, data)
        except PrivetError as error:
            refusal = f"{error.message} {error.hint}"
    own = models.models(house, who) if who.may("read") else []
    return "plan.html", {
        "table": found,
        "known": list(dict.fromkeys([*known[kind], *([chosen] if chosen else [])])),
        "given": given,
        "fields": taken,
        "models": own,
        "plan": plan,
        "refusal": refusal,
        "body": json.dumps(data) if data else "",
        "key": f"page-{uuid.uuid4()}",
    }


def _json(text: str) -> Any:
    """What a field says; None where it is no JSON, or is nested deeper than is read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@router.post("/tables/{name}/jobs")
def submit(
    request: Request, house: At, who: SignedIn, name: str, body: Text, key: Short, max_cost: Short = ""
) -> Response:
    """Submit what was planned, at the price that was shown."""
    data = _json(body)
    if data is None:
        raise ServiceError("there is no plan in this form.", "plan again.")
    found = jobs.submit(house, who, name, data, key, max_cost or None)
    return back(f"/jobs/{found.id}")


@page("/jobs")
def jobs_page(
    house: At,
    who: SignedIn,
    table: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[str | None, Query(max_length=20)] = None,
) -> Shown:
    """Own jobs, newest first; of an owner, all of them."""
    found = jobs.jobs(house, who, table or None, state or None)
    return "jobs.html", {"jobs": found, "table": table or "", "state": state or ""}


@page("/jobs/{id}")
def job_page(house: At, who: SignedIn, id: str) -> Shown:
    """One job, as it is now."""
    return "job.html", {"job": jobs.job(house, who, id)}


@router.post("/jobs/{id}/cancel")
def cancel(house: At, who: SignedIn, id: str) -> Response:
    """Cancel a job."""
    jobs.cancel(house, who, id)
    return back(f"/jobs/{id}")


@page("/approvals")
def approvals_page(house: At, who: SignedIn) -> Shown:
    """Jobs that wait for an owner."""
    return "approvals.html", {"jobs": jobs.approvals(house, who)}


@router.post("/jobs/{id}/decision")
def decide(
    house: At, who: SignedIn, id: str, decision: Short, note: Annotated[str, Form(max_length=2000)] = ""
) -> Response:
    """Approve a job that waits, or refuse it."""
    jobs.decide(house, who, id, decision == "approve", note)
    return back("/approvals")


@page("/models")
def models_page(house: At, who: SignedIn) -> Shown:
    """Models that may be looked at."""
    return "models.html", {"models": models.models(house, who)}


@page("/models/{id}")
def model_page(
    house: At,
    who: SignedIn,
    id: str,
    tree: Annotated[int, Query(ge=0, le=1 << 20)] = 0,
    other: Annotated[str, Query(max_length=100)] = "",
) -> Shown:
    """A model: its shapes with their noise, a tree, rules, its card, and what differs from another."""
    entry, found = models.model_entry(house, who, id), models.model_of(house, who, id)
    compared = [] if not other else differences(found, models.model_of(house, who, other))
    return "model.html", {
        "entry": entry,
        "kind": found.kind,
        "card": _joined(found.card.rows()),
        "facts": {
            name: value for name, value in found.describe().items() if not isinstance(value, dict | list)
        },
        "shapes": _perhaps(lambda: shape_pictures(found)) or [],
        "rules": _perhaps(lambda: found.rules(15).to_dicts()),
        "tree": tree,
        "trees": found.describe().get("trees"),
        "text": _perhaps(lambda: found.to_text(tree=tree)),
        "models": [each for each in models.models(house, who) if each.id != id],
        "other": other,
        "compared": compared,
    }


def _joined(rows: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Lines of one name together."""
    lines: dict[str, list[str]] = {}
    for name, value in rows:
        lines.setdefault(name, []).append(value)
    return list(lines.items())


def _perhaps(make: Callable[[], Any]) -> Any:
    """What a model tells, or None where its kind has no such thing."""
    try:
        return make()
    except PrivetError:
        return None


@page("/people")
def accounts_page(house: At, who: SignedIn) -> Shown:
    """Accounts, and what is left of each."""
    return "accounts.html", {"accounts": people.accounts(house, who)}


@page("/people/{name}")
def ledger_page(
    house: At, who: SignedIn, name: str, after: Annotated[int | None, Query(ge=0, le=1 << 60)] = None
) -> Shown:
    """The ledger of an account: its newest events, or those after another."""
    purse = people.purse(house, who, name)
    start = people.last_page(house, who, name, most=EVENTS) if after is None else after
    events = people.ledger(house, who, name, start, EVENTS)
    earlier = people.last_page(house, who, name, start, EVENTS) if start else None
    picture = burn_picture(people.burn(house, who, name)) if who.may("own") or who.may("audit") else None
    return "ledger.html", {
        "purse": purse,
        "events": events,
        "burn": picture,
        "earlier": earlier,
        "full": len(events) == EVENTS,
    }


@router.post("/people")
def add_people(
    house: At,
    who: SignedIn,
    name: Short,
    epsilon: Short,
    delta: Short = "0",
    finding: Short = "0",
    about: Short = "",
    accounting: Short = ZCDP,
) -> Response:
    """Name people, and the most that may ever be learnt of any one of them."""
    budget = Budget(epsilon, delta or "0", finding or "0", accounting)
    people.create_people(house, who, name, budget, about)
    return back(f"/people/{quote(name, safe='')}")


@router.post("/people/{name}/caps")
def cap(
    house: At,
    who: SignedIn,
    name: str,
    analyst: Short,
    epsilon: Short = "",
    delta: Short = "0",
    finding: Short = "0",
) -> Response:
    """Set the most that an analyst may spend; without an ε they may ask nothing more."""
    limit = Budget(epsilon, delta or "0", finding or "0") if epsilon else None
    people.set_cap(house, who, name, analyst, limit)
    return back(f"/people/{quote(name, safe='')}")


@router.post("/people/{name}/grants")
def grant(
    house: At,
    who: SignedIn,
    name: str,
    epsilon: Short,
    key: Short,
    delta: Short = "0",
    finding: Short = "0",
) -> Response:
    """Replace the total."""
    people.grant(house, who, name, Budget(epsilon, delta or "0", finding or "0"), key)
    return back(f"/people/{quote(name, safe='')}")


@router.post("/tables")
def register(
    house: At, who: SignedIn, name: Short, people: Short, address: Short, contract: Long
) -> Response:
    """Register a table: checked and copied now."""
    schema = _json(contract)
    if schema is None:
        raise ServiceError("a schema is written as JSON.", "`privet schema draft` writes one.")
    tables.register(house, who, name, people, address, schema)
    return back(f"/tables/{quote(name, safe='')}")


@router.post("/tables/{name}/refresh")
def refresh(house: At, who: SignedIn, name: str) -> Response:
    """Check and copy a table anew."""
    tables.refresh(house, who, name)
    return back(f"/tables/{quote(name, safe='')}")


@router.post("/tables/{name}/withdraw")
def withdraw(house: At, who: SignedIn, name: str) -> Response:
    """Take a table back."""
    tables.withdraw(house, who, name)
    return back("/")


@router.post("/tables/{name}/rules")
def set_rules(
    house: At,
    who: SignedIn,
    name: str,
    learners: Short = "",
    asks: Short = "",
    scores: Short = "",
    most_epsilon: Short = "",
    most_delta: Short = "0",
    cooldown: Short = "0",
    approval_above: Short = "",
) -> Response:
    """Replace the rules of a table."""
    if not cooldown.isdecimal() or len(cooldown) > 9:
        raise ServiceError("a cool-down is a whole number of seconds.", "say, 60.")
    given: dict[str, Any] = {
        "learners": [each.strip() for each in learners.split(",") if each.strip()] or None,
        "asks": bool(asks),
        "scores": bool(scores),
        "most_epsilon": most_epsilon or None,
        "most_delta": most_delta or "0",
        "cooldown": int(cooldown),
        "approval_above": approval_above or None,
    }
    tables.set_rules(house, who, name, given)
    return back(f"/tables/{quote(name, safe='')}")


@page("/verify")
def verify_page(house: At, who: SignedIn) -> Shown:
    """Drop a model file."""
    return "verify.html", {"verdict": None}


@router.post("/verify")
def verify(
    request: Request,
    house: At,
    who: SignedIn,
    model: Annotated[bytes, File()],
    witness: Annotated[bytes, File()] = b"",
) -> Response:
    """What the ledger says of a model file, and a witness of the ledger."""
    heads = verifying.read_witness(witness) if witness else ()
    return render(request, "verify.html", {"verdict": verifying.verify(house, who, model, heads)}, who)


@page("/audit")
def audit_page(
    house: At, who: SignedIn, before: Annotated[int | None, Query(ge=1, le=1 << 60)] = None
) -> Shown:
    """The audit log, newest first."""
    return "audit.html", {"notes": journal.notes(house, who, before, 100)}


@page("/members")
def members_page(house: At, who: SignedIn) -> Shown:
    """Members, for owners."""
    return "members.html", {"members": members.members(house, who), "link": "", "name": ""}


@router.post("/members")
def add_member(house: At, who: SignedIn, name: Short, role: Short, subject: Short = "") -> Response:
    """Let somebody sign in."""
    members.add_member(house, who, name, role, subject or None)
    return back("/members")


@router.post("/members/{name}/close")
def close_member(house: At, who: SignedIn, name: str) -> Response:
    """Let somebody sign in no more."""
    members.close_member(house, who, name)
    return back("/members")


@router.post("/members/{name}/link")
def link(request: Request, house: At, who: SignedIn, name: str) -> Response:
    """A link that signs a member in once, shown now and never again."""
    made = f"{str(request.base_url).rstrip('/')}/enter/{members.make_link(house, who, name)}"
    return render(
        request, "members.html", {"members": members.members(house, who), "link": made, "name": name}, who
    )


@page("/tokens")
def tokens_page(house: At, who: SignedIn) -> Shown:
    """Own tokens."""
    return "tokens.html", {"tokens": members.tokens(house, who), "secret": ""}


@router.post("/tokens")
def make_token(request: Request, house: At, who: SignedIn, label: Short, days: Short = "90") -> Response:
    """A token; its secret is shown now and never again."""
    if not days.isdecimal() or not 1 <= int(days) <= 366:
        raise ServiceError("a token lasts 1 to 366 days.", "say, 90.")
    secret, _ = members.make_token(house, who, label, None, int(days) * members.DAY)
    return render(request, "tokens.html", {"tokens": members.tokens(house, who), "secret": secret}, who)


@router.post("/tokens/{id}/revoke")
def revoke(house: At, who: SignedIn, id: str) -> Response:
    """End a token now."""
    members.revoke_token(house, who, id)
    return back("/tokens")


@router.get("/sign-in")
def sign_in(request: Request) -> Response:
    """How one gets in."""
    if perhaps(request) is not None:
        return back("/")
    return render(request, "sign-in.html", {"openid": bool(service_of(request).house.settings.openid)}, None)
