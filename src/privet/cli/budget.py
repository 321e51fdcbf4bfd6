"""``privet budget``: what the owner allows, and what has been spent."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from privet.cli.arguments import (
    STANDARD,
    Accounting,
    Data,
    Json,
    LedgerFile,
    Name,
    account_name,
    epsilon_of,
    ledger_path,
    number,
    open_account,
    open_place,
)
from privet.cli.output import facts, out, require_new_file, show_json, table, warn
from privet.errors import display
from privet.notebook import plural
from privet.privacy import ZCDP, Account, Budget, Ledger
from privet.privacy.chain import Head
from privet.privacy.charges import Charge, plan_costs, settled
from privet.schema import Schema

app = typer.Typer(help="Set and read the privacy budget of a table (for its owner).", no_args_is_help=True)

FORGETS = (
    "Whoever goes on with this copy spends again what was spent after it was made. If the ledger is lost, "
    "first grant less by what models and answers since then say they cost."
)

Epsilon = Annotated[Any, epsilon_of("The most that may be learnt of one person, in all.")]

Contract = Annotated[
    Path | None,
    typer.Option(
        "--schema", metavar="FILE", help="The only schema to ask under; else the first fit's is kept."
    ),
]


@app.command()
def create(
    data: Data,
    epsilon: Epsilon,
    delta: Annotated[
        Any, typer.Option(metavar="D", parser=number, help="Chance that ε fails; 0 is the strict promise.")
    ] = 0.0,
    accounting: Accounting = ZCDP,
    finding: Annotated[
        Any,
        typer.Option(metavar="D", parser=number, help="Part of δ set aside to find values nobody listed."),
    ] = 0.0,
    schema: Contract = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Set the budget of a table, once."""
    if data != STANDARD:
        open_place(data, None, None)
    budget, contract = Budget(epsilon, delta, finding, accounting), Schema.load(schema) if schema else None
    account = Ledger(ledger_path(data, ledger)).create(account_name(data, name), budget, contract)
    show_account(account, as_json)


@app.command()
def show(data: Data, ledger: LedgerFile = None, name: Name = None, as_json: Json = False) -> None:
    """Show the budget, what is spent and what is left."""
    show_account(open_account(data, ledger, name), as_json)


@app.command()
def grant(
    data: Data,
    epsilon: Epsilon,
    delta: Annotated[
        Any, typer.Option(metavar="D", parser=number, help="New δ; by default it stays.")
    ] = None,
    finding: Annotated[
        Any, typer.Option(metavar="D", parser=number, help="New part to find values; by default it stays.")
    ] = None,
    schema: Contract = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Replace the budget by another total: what was spent stays spent."""
    account = open_account(data, ledger, name)
    delta = account.budget.delta if delta is None else delta
    kept = account.budget.finding if delta else 0
    budget = Budget(epsilon, delta, kept if finding is None else finding)
    account.ledger.grant(account.name, budget, Schema.load(schema) if schema else None)
    show_account(account, as_json)


@app.command()
def declare(
    data: Data,
    batch: Annotated[str, typer.Option(metavar="NAME", help="Name of the batch, say spring.")],
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Declare a batch of people of whom no other batch holds any: it is charged in parallel to others."""
    account = open_account(data, ledger, name)
    account.ledger.declare_batch(account.name, batch)
    show_account(account.batch(batch), as_json)


@app.command()
def backup(
    data: Data,
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the copy.")],
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Copy the ledger, as it stands between two charges, to a new file.

    The copy's chain is verified. The ledger's key is not copied: keep it elsewhere.
    """
    require_new_file(out_file)
    account = open_account(data, ledger, name)
    head = account.ledger.back_up(out_file)
    if as_json:
        show_json({"copy": str(out_file)} | _head(head))
        return
    out.print(f"Wrote {out_file}: {plural(head.number, 'event')}, verified.", soft_wrap=True)
    warn("A COPY FORGETS WHAT IS SPENT LATER", FORGETS)


@app.command()
def check(data: Data, ledger: LedgerFile = None, name: Name = None, as_json: Json = False) -> None:
    """Replay the whole ledger: links, totals, and the last signature.

    Exit code 5 if anything was changed.
    """
    account = open_account(data, ledger, name)
    head = account.ledger.verify()
    if as_json:
        show_json({"ledger": str(account.ledger.path), "holds": True} | _head(head))
        return
    out.print(f"{account.ledger.path} holds: {plural(head.number, 'event')}.", soft_wrap=True)
    signed = f"by {head.key}" if head.key else "not signed: install the package cryptography"
    out.print(facts([("ends at", head.hash), ("signed", signed)]))


@app.command()
def history(data: Data, ledger: LedgerFile = None, name: Name = None, as_json: Json = False) -> None:
    """Show every event of the ledger; each is chained to the one before by a hash."""
    account = open_account(data, ledger, name)
    if as_json:
        show_json(account.ledger.history(account.name))
    else:
        out.print(history_table(account))


def _head(head: Head) -> dict[str, Any]:
    return {"events": head.number, "hash": head.hash, "signed_by": head.key or None}


def account_state(account: Account) -> dict[str, Any]:
    """Budget, spending and what is left, as plain data; ``rho`` only where the budget has a δ."""
    budget, spent = account.budget, account.spent()
    rows = {"epsilon": (budget.epsilon, spent.epsilon)}
    if budget.delta:
        rows["rho"] = (budget.rho, spent.rho)
    left = {unit: _left(limit, used) for unit, (limit, used) in rows.items()}
    return {
        "account": account.name,
        "ledger": str(account.ledger.path),
        "delta": float(budget.delta),
        "accounting": budget.accounting,
        "budget": {unit: float(limit) for unit, (limit, _) in rows.items()},
        "spent": {unit: None if used is None else float(used) for unit, (_, used) in rows.items()},
        "left": left,
    }


def show_account(account: Account, as_json: bool = False) -> None:
    """Print an account's state."""
    if as_json:
        show_json(account_state(account))
    else:
        out.print(account_table(account))


def account_table(account: Account) -> Group:
    """An account's state to look at."""
    state = account_state(account)
    parts = ("budget", "spent", "left")
    rows = [(_symbol(unit), *(_number(state[part][unit]) for part in parts)) for unit in state["budget"]]
    lines: list[RenderableType] = [Text.assemble((account.name, "bold"), f"  ({state['ledger']})")]
    lines.append(table(["", *parts], rows, parts))
    if state["delta"]:
        unit = "ρ of zCDP" if state["accounting"] == ZCDP else "half of μ² of Gaussian DP"
        note = f"  δ = {state['delta']:g}: the sum of all fits must stay within ε, or within {unit}."
        lines.append(Text(note, style="dim"))
    return Group(*lines)


def history_table(account: Account) -> Group:
    """An account's events to look at."""
    events = account.ledger.history(account.name)
    plans = settled(events)
    rows = [_event_row(event, plans) for event in events]
    note = "  The chain of hashes holds: nothing was edited or cut."
    head = ["no.", "time (UTC)", "event", "cost", "what"]
    return Group(table(head, rows, ["no."]), Text(note, style="dim"))


def _left(limit: Fraction, used: Fraction | None) -> float | None:
    return None if used is None else float(max(limit - used, Fraction(0)))


def _symbol(unit: str) -> str:
    return {"epsilon": "ε", "rho": "ρ"}[unit]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


def _event_row(event: Mapping[str, Any], plans: Mapping[int, str]) -> tuple[object, ...]:
    time = event["time"].replace("T", " ").removesuffix("+00:00")
    return event["number"], time, event["kind"], *_cost_and_text(event, plans)


def _cost_and_text(event: Mapping[str, Any], plans: Mapping[int, str]) -> tuple[str, str]:
    match event["kind"]:
        case "budget" | "grant":
            return "", f"budget of {_limit(event)}"
        case "cap":
            given = "nothing more" if event["epsilon"] is None else _limit(event)
            return "", f"{event['analyst']} may spend {given}"
        case "charge":
            costs = plan_costs(event, plans)
            unsettled = " (not settled: the dearer counts)" if len(costs) > 1 else ""
            return " or ".join(map(str, costs)) + unsettled, _asked(event)
        case "refused":
            return f"({Charge.from_dict(event['asked']).cost})", f"{_who(event)}{event['reason']}"
        case "cancel":
            return "", f"event {event['number_cancelled']} given back: {event['reason']}"
        case "settle":
            return "", f"event {event['number_settled']} goes on with one of its two plans"
        case "batch":
            return "", f"batch {event['batch']} declared disjoint"
    return "", ""


def _limit(event: Mapping[str, Any]) -> str:
    delta = Fraction(event["delta"])
    return f"ε = {display(Fraction(event['epsilon']))}" + (f", δ = {display(delta)}" if delta else "")


def _who(event: Mapping[str, Any]) -> str:
    """Who asked: an analyst, a learner, both or nobody that is known."""
    names = [event[what] for what in ("analyst", "learner") if event.get(what)]
    return f"{', '.join(names)}: " if names else ""


def _asked(event: Mapping[str, Any]) -> str:
    """Questions of a charge; those that follow each other under one name are told once, and counted."""
    runs = [(name, len(list(same))) for name, same in groupby(c["question"] for c in event["charges"])]
    told = "; ".join(name + (f" ({times} times)" if times > 1 else "") for name, times in runs)
    return _who(event) + told + (f" (batch {event['batch']})" if event["batch"] else "")
