"""Owners let analysts learn from tables that they never see.

Sign in with `Authorization: Bearer TOKEN`. What you may not know of is not there (404). A POST that charges
or grants needs an `Idempotency-Key` of your own choice: the same request with the same key is done once, for
ever. Errors are problems (RFC 9457) with a `hint`. Answers come at a time that follows from the plan alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from privet.privacy import Budget
from privet.service import jobs, journal, members, models, people, plans, tables, verifying
from privet.service.refusals import ServiceError
from privet.service.told import told
from privet.service.web import At, SignedIn

FAULTS: dict[int | str, dict[str, Any]] = {
    status: {"description": what, "content": {"application/problem+json": {}}}
    for status, what in {
        400: "It cannot be read, or does not fit the schema",
        401: "Nobody is signed in",
        403: "A role, a rule or the budget does not allow it",
        404: "There is no such thing for you",
        409: "Too late, or under way",
        413: "Too large",
        422: "The key was used for another request",
        429: "Too soon",
        503: "Not now",
    }.items()
}
router = APIRouter(prefix="/api/v1", responses=FAULTS)

Name = Annotated[str, Path(max_length=200)]
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=8, max_length=90)]
Told = dict[str, Any]
Number = float | str


class Strict(BaseModel):
    """A body: nothing else may stand in it."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Asked(Strict):
    """A request, see `POST …/plans`."""

    kind: Literal["fit", "ask", "score"]
    what: str = Field(max_length=100, description="a learner, a question of columns, or a metric")
    params: dict[str, Any] = Field(default_factory=dict, description="epsilon, and what belongs to it")

    @property
    def data(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "what": self.what, "params": self.params}


class Submitted(Asked):
    """A request, and the price agreed to."""

    max_cost: Number | None = None


class Money(Strict):
    """A budget, or a cap."""

    epsilon: Number
    delta: Number = 0
    finding: Number = Field(0, description="a part of delta, for questions that have one of their own")

    @property
    def budget(self) -> Budget:
        """It, exactly."""
        return Budget(self.epsilon, self.delta, self.finding)


class NewPeople(Money):
    """People, and the most that may be learnt of any one of them."""

    name: str
    about: str = ""
    accounting: Literal["zcdp", "gdp"] = Field(
        "zcdp", description="how costs with a delta add up, for good: gdp has less noise for Gaussian answers"
    )

    @property
    def budget(self) -> Budget:
        """It, exactly."""
        return Budget(self.epsilon, self.delta, self.finding, self.accounting)


class NewTable(Strict):
    """A table by its address."""

    name: str
    people: str
    address: str
    # "schema" is what pydantic calls something of its own.
    contract: dict[str, Any] = Field(alias="schema")
    rules: dict[str, Any] | None = None


class Decision(Strict):
    """What an owner says of a job that waits."""

    decision: Literal["approve", "refuse"]
    note: str = Field("", max_length=2000)


class NewMember(Strict):
    """Somebody who may sign in."""

    name: str
    role: Literal["owner", "analyst", "officer"]
    subject: str | None = Field(None, max_length=500, description="ISSUER SUBJECT of OpenID")


class NewToken(Strict):
    """A token for a program."""

    label: str
    scopes: list[str] | None = None
    seconds: int = Field(90 * 24 * 3600, ge=60, le=366 * 24 * 3600)
    member: str | None = None


@router.get("/me")
def me(who: SignedIn) -> Told:
    """Who is signed in."""
    return told(who)


@router.get("/tables")
def list_tables(house: At, who: SignedIn) -> list[Told]:
    """Tables that may be asked."""
    return told(tables.tables(house, who))


@router.post("/tables", status_code=201)
def add_table(house: At, who: SignedIn, body: NewTable) -> Told:
    """Register a table: checked and copied now; `state` says whether it fits."""
    return told(tables.register(house, who, body.name, body.people, body.address, body.contract, body.rules))


@router.get("/tables/{table}")
def one_table(house: At, who: SignedIn, table: Name) -> Told:
    """A table: schema, rules, and what is left."""
    return told(tables.table(house, who, table))


@router.delete("/tables/{table}", status_code=204)
def withdraw(house: At, who: SignedIn, table: Name) -> None:
    """Take a table back: what was charged and released stays."""
    tables.withdraw(house, who, table)


@router.get("/tables/{table}/sample")
def sample(
    house: At, who: SignedIn, table: Name, n: Annotated[int, Query(ge=1, le=10_000)] = 20
) -> list[Told]:
    """Invented rows, from the schema alone."""
    return tables.sample(house, who, table, n)


@router.post("/tables/{table}/refresh")
def refresh(house: At, who: SignedIn, table: Name) -> Told:
    """Check and copy a table anew."""
    return told(tables.refresh(house, who, table))


@router.put("/tables/{table}/rules")
def set_rules(house: At, who: SignedIn, table: Name, body: dict[str, Any]) -> Told:
    """Replace the rules of a table."""
    return told(tables.set_rules(house, who, table, body))


@router.post("/tables/{table}/plans")
def plan(house: At, who: SignedIn, table: Name, body: Asked) -> Told:
    """What a request would cost and tell; free."""
    return told(plans.plan(house, who, table, body.data))


@router.post("/tables/{table}/jobs", status_code=202)
def submit(house: At, who: SignedIn, table: Name, body: Submitted, key: Key, response: Response) -> Told:
    """Submit a request: charged at once. Refused ones are there too, with 403."""
    job = jobs.submit(house, who, table, body.data, key, body.max_cost)
    response.headers["location"] = f"/api/v1/jobs/{job.id}"
    if job.state == jobs.REFUSED:
        response.status_code = 403
    return told(job)


@router.get("/jobs")
def list_jobs(house: At, who: SignedIn, table: str | None = None, state: str | None = None) -> list[Told]:
    """Own jobs, newest first."""
    return told(jobs.jobs(house, who, table, state))


@router.get("/jobs/{job}")
def one_job(house: At, who: SignedIn, job: Name) -> Told:
    """A job, as it is now."""
    return told(jobs.job(house, who, job))


@router.delete("/jobs/{job}")
def cancel(house: At, who: SignedIn, job: Name) -> Told:
    """Cancel a job: given back before it runs; kept after."""
    return told(jobs.cancel(house, who, job))


@router.post("/jobs/{job}/approval")
def approve(house: At, who: SignedIn, job: Name, body: Decision) -> Told:
    """Approve a job that waits, or refuse it."""
    return told(jobs.decide(house, who, job, body.decision == "approve", body.note))


@router.get("/approvals")
def approvals(house: At, who: SignedIn) -> list[Told]:
    """Jobs that wait for an owner."""
    return told(jobs.approvals(house, who))


@router.get("/models")
def list_models(house: At, who: SignedIn) -> list[Told]:
    """Models that may be looked at."""
    return told(models.models(house, who))


@router.post("/models", status_code=201)
def bring_model(
    house: At, who: SignedIn, body: Annotated[bytes, Body(media_type="application/octet-stream")]
) -> Told:
    """Bring a model to have it scored at a price."""
    return {"id": verifying.upload(house, who, body)}


@router.get("/models/{model}")
def one_model(house: At, who: SignedIn, model: Name) -> Told:
    """A model: what it is."""
    entry, found = models.model_entry(house, who, model), models.model_of(house, who, model)
    return {**told(entry), "kind": found.kind, "describe": told(found.describe())}


@router.get("/models/{model}/file", response_class=Response)
def model_file(house: At, who: SignedIn, model: Name) -> Response:
    """Its file: the same bytes whenever it is asked for."""
    headers = {
        "content-disposition": f'attachment; filename="{models.model_entry(house, who, model).id}.privet"'
    }
    data = models.model_bytes(house, who, model)
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/models/{model}/card")
def card(house: At, who: SignedIn, model: Name) -> Told:
    """Its privacy card."""
    return told(models.model_of(house, who, model).card.to_dict())


@router.get("/models/{model}/receipt")
def receipt(house: At, who: SignedIn, model: Name) -> Told:
    """The receipt of its charge, signed."""
    found = jobs.job(house, who, models.model_entry(house, who, model).id)
    return told(found.receipt)


@router.get("/models/{model}/shapes")
def shapes(house: At, who: SignedIn, model: Name) -> list[Told]:
    """What each feature does to a prediction, with its noise."""
    frame = getattr(models.model_of(house, who, model), "shapes_frame", None)
    if frame is None:
        raise ServiceError("this model has no shapes.", "look at its rules or trees.")
    return told(frame().to_pylist())


@router.get("/models/{model}/trees/{number}")
def tree(house: At, who: SignedIn, model: Name, number: Annotated[int, Path(ge=0, le=1 << 20)]) -> Told:
    """One of its trees, as text."""
    return {"tree": number, "text": models.model_of(house, who, model).to_text(tree=number)}


@router.get("/models/{model}/rules")
def rules(
    house: At, who: SignedIn, model: Name, top: Annotated[int, Query(ge=1, le=1000)] = 20
) -> list[Told]:
    """Its strongest rules."""
    return told(models.model_of(house, who, model).rules(top).to_dicts())


@router.post("/verify")
def verify(
    house: At, who: SignedIn, body: Annotated[bytes, Body(media_type="application/octet-stream")]
) -> Told:
    """Whether a model is what it says, and is paid for."""
    verdict = verifying.verify(house, who, body)
    return {"holds": verdict.holds, **told(verdict)}


@router.get("/people")
def list_people(house: At, who: SignedIn) -> list[Told]:
    """Accounts that may be looked at."""
    return told(people.accounts(house, who))


@router.post("/people", status_code=201)
def add_people(house: At, who: SignedIn, body: NewPeople) -> Told:
    """Name people, and the most that may ever be learnt of any one of them."""
    return told(people.create_people(house, who, body.name, body.budget, body.about))


@router.get("/people/{name}")
def one_account(house: At, who: SignedIn, name: Name) -> Told:
    """An account."""
    return told(people.purse(house, who, name))


@router.post("/people/{name}/grants", status_code=201)
def grant(house: At, who: SignedIn, name: Name, body: Money, key: Key) -> Told:
    """Replace the total by another: what was spent stays spent."""
    return told(people.grant(house, who, name, body.budget, key))


@router.put("/people/{name}/caps/{analyst}")
def cap(house: At, who: SignedIn, name: Name, analyst: Name, body: Money) -> Told:
    """Set the most that an analyst may spend."""
    return told(people.set_cap(house, who, name, analyst, body.budget))


@router.delete("/people/{name}/caps/{analyst}")
def end_cap(house: At, who: SignedIn, name: Name, analyst: Name) -> Told:
    """Let an analyst ask nothing more."""
    return told(people.set_cap(house, who, name, analyst, None))


@router.get("/people/{name}/ledger")
def ledger(
    house: At,
    who: SignedIn,
    name: Name,
    after: Annotated[int, Query(ge=0, le=1 << 60)] = 0,
    most: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> list[Told]:
    """Events of an account; of an analyst, their own."""
    return told(people.ledger(house, who, name, after, most))


@router.get("/people/{name}/burn")
def burn(house: At, who: SignedIn, name: Name) -> list[Told]:
    """What was spent over time, by analyst."""
    return told(people.burn(house, who, name))


@router.get("/people/{name}/statement")
def statement(house: At, who: SignedIn, name: Name) -> Told:
    """All events of an account in a chain that ends in a signature."""
    return verifying.signed_statement(house, who, name)


@router.get("/people/{name}/head")
def head(house: At, who: SignedIn, name: Name) -> Told:
    """Where the chain ends, signed: for a witness elsewhere."""
    people.purse(house, who, name)
    return verifying.signed_head(house, who)


@router.get("/audit")
def audit(
    house: At,
    who: SignedIn,
    before: Annotated[int | None, Query(ge=1, le=1 << 60)] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> list[Told]:
    """The audit log, newest first."""
    return told(journal.notes(house, who, before, most))


@router.get("/members")
def list_members(house: At, who: SignedIn) -> list[Told]:
    """All members."""
    return told(members.members(house, who))


@router.post("/members", status_code=201)
def add_member(house: At, who: SignedIn, body: NewMember) -> Told:
    """Let somebody sign in."""
    return told(members.add_member(house, who, body.name, body.role, body.subject))


@router.delete("/members/{member}", status_code=204)
def close_member(house: At, who: SignedIn, member: Name) -> None:
    """Let somebody sign in no more."""
    members.close_member(house, who, member)


@router.post("/members/{member}/links", status_code=201)
def link(house: At, who: SignedIn, member: Name, request: Request) -> Told:
    """A link that signs a member in once."""
    return {"link": f"{str(request.base_url).rstrip('/')}/enter/{members.make_link(house, who, member)}"}


@router.get("/tokens")
def list_tokens(house: At, who: SignedIn) -> list[Told]:
    """Own tokens, without their secrets."""
    return told(members.tokens(house, who))


@router.post("/tokens", status_code=201)
def make_token(house: At, who: SignedIn, body: NewToken) -> Told:
    """A token; its secret is told now and never again."""
    secret, token = members.make_token(house, who, body.label, body.scopes, body.seconds, body.member)
    return {"secret": secret, **told(token)}


@router.delete("/tokens/{token}", status_code=204)
def revoke(house: At, who: SignedIn, token: Name) -> None:
    """End a token now."""
    members.revoke_token(house, who, token)
