"""``privet owner``: what an owner does to a house on its own machine, without a token."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.arguments import Accounting
from privet.cli.houses import opened
from privet.cli.output import out, require_new_file, show_json, table
from privet.privacy import ZCDP, Budget
from privet.privacy.records import write_head
from privet.schema import Schema
from privet.service import jobs, members, people, tables, verifying
from privet.service.house import House

app = typer.Typer(help="Keep a house: members, budgets, tables, approvals.", no_args_is_help=True)
OLGA = members.CONSOLE

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the house.")]
People = Annotated[str, typer.Argument(metavar="PEOPLE", help="Whom it is about.")]
Epsilon = Annotated[str, typer.Option(metavar="E", help="The most that may be learnt of one person.")]
Delta = Annotated[str, typer.Option(metavar="D", help="Chance that ε fails; 0 is the strict promise.")]
Finding = Annotated[str, typer.Option(metavar="D", help="Part of --delta kept to find open lists with.")]
TableName = Annotated[str, typer.Argument(metavar="TABLE", help="Name of the table.")]


@app.command()
def member(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="owner, analyst or officer.")] = "analyst",
    subject: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Who they are to OpenID: 'ISSUER SUBJECT'.")
    ] = None,
    close: Annotated[bool, typer.Option("--close", help="Let them sign in no more.")] = False,
) -> None:
    """Let somebody sign in, or no more."""
    with opened(folder) as house:
        if close:
            members.close_member(house, OLGA, name)
            out.print(f"{name} can sign in no more.")
            return
        members.add_member(house, OLGA, name, role, subject)
        out.print(f"{name} is a member: {role}. Make a link with `privet owner link`.")


@app.command()
def link(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    url: Annotated[
        str, typer.Option(metavar="URL", help="Address of the service.")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Print a link that signs a member in once."""
    with opened(folder) as house:
        out.print(f"{url.rstrip('/')}/enter/{members.make_link(house, OLGA, name)}", soft_wrap=True)


@app.command()
def token(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    label: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "command line",
    scope: Annotated[list[str] | None, typer.Option(metavar="SCOPE", help="May be repeated.")] = None,
    days: Annotated[int, typer.Option(metavar="N", min=1, max=366)] = 90,
) -> None:
    """Print a token for a member's programs; it is told now and never again."""
    with opened(folder) as house:
        secret, _ = members.make_token(house, OLGA, label, scope, days * members.DAY, name)
        out.print(secret, soft_wrap=True)


@app.command("people")
def add_people(
    folder: Folder,
    name: People,
    epsilon: Epsilon,
    delta: Delta = "0",
    finding: Finding = "0",
    accounting: Accounting = ZCDP,
    about: Annotated[str, typer.Option(metavar="TEXT", help="Who they are, for analysts.")] = "",
) -> None:
    """Name people, and the most that may ever be learnt of any one of them by all analysts together."""
    with opened(folder) as house:
        people.create_people(house, OLGA, name, Budget(epsilon, delta, finding, accounting), about)
        _show(house, name)


@app.command()
def grant(folder: Folder, name: People, epsilon: Epsilon, delta: Delta = "0", finding: Finding = "0") -> None:
    """Replace a total by another: what was spent stays spent."""
    with opened(folder) as house:
        key = f"console {house.now()} {house.ledger.head().number}"
        people.grant(house, OLGA, name, Budget(epsilon, delta, finding), key)
        _show(house, name)


@app.command()
def cap(
    folder: Folder,
    name: People,
    analyst: Annotated[str, typer.Argument(metavar="ANALYST")],
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="Left out: nothing more.")] = None,
    delta: Delta = "0",
    finding: Finding = "0",
) -> None:
    """Set the most that an analyst may spend; without --epsilon, nothing more."""
    with opened(folder) as house:
        limit = None if epsilon is None else Budget(epsilon, delta, finding)
        people.set_cap(house, OLGA, name, analyst, limit)
        _show(house, name)


@app.command("table")
def add_table(
    folder: Folder,
    name: TableName,
    of: Annotated[str, typer.Option("--people", metavar="PEOPLE", help="Whom it is about.")],
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="file:NAME below tables/, or SOURCE:TABLE.")
    ],
    schema: Annotated[Path, typer.Option(metavar="FILE", help="Schema in JSON, with max_rows.")],
) -> int:
    """Register a table: it is checked and copied now. Exit code 3 if it does not fit its schema."""
    contract = Schema.load(schema).to_dict()
    with opened(folder) as house:
        return _told(tables.register(house, OLGA, name, of, address, contract))


@app.command()
def withdraw(folder: Folder, name: TableName) -> None:
    """Take a table back: its copy goes, its name is free; what was charged and released stays."""
    with opened(folder) as house:
        tables.withdraw(house, OLGA, name)
        out.print(f"{name} can be asked no more.")


@app.command()
def refresh(folder: Folder, name: TableName) -> int:
    """Check and copy a table anew."""
    with opened(folder) as house:
        return _told(tables.refresh(house, OLGA, name))


@app.command()
def rules(
    folder: Folder,
    name: TableName,
    learner: Annotated[list[str] | None, typer.Option(metavar="NAME", help="May be repeated; all.")] = None,
    asks: Annotated[bool, typer.Option(help="Questions without a model.")] = True,
    scores: Annotated[bool, typer.Option(help="Scores of models.")] = True,
    most_epsilon: Annotated[str | None, typer.Option(metavar="E", help="Of one job.")] = None,
    most_delta: Annotated[str, typer.Option(metavar="D", help="Of one job.")] = "0",
    cooldown: Annotated[int, typer.Option(metavar="SECONDS", help="Between two jobs.")] = 0,
    approval_above: Annotated[str | None, typer.Option(metavar="E", help="More waits for an owner.")] = None,
) -> None:
    """Replace the rules of a table."""
    given: dict[str, Any] = {
        "learners": learner,
        "asks": asks,
        "scores": scores,
        "most_epsilon": most_epsilon,
        "most_delta": most_delta,
        "cooldown": cooldown,
        "approval_above": approval_above,
    }
    with opened(folder) as house:
        show_json(tables.set_rules(house, OLGA, name, given).rules.to_dict())


@app.command("jobs")
def list_jobs(
    folder: Folder, state: Annotated[str | None, typer.Option(metavar="STATE", help="Of one state.")] = None
) -> None:
    """Show all jobs, newest first."""
    with opened(folder) as house:
        found = jobs.jobs(house, OLGA, state=state)
        rows = [
            (j.id, j.member, j.table, f"{j.request.kind} {j.request.what}", j.cost, j.state) for j in found
        ]
        out.print(table(["job", "who", "table", "what", "cost", "state"], rows))


@app.command()
def approve(
    folder: Folder,
    job: Annotated[str, typer.Argument(metavar="JOB")],
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse it: its charge is given back.")] = False,
    note: Annotated[str, typer.Option(metavar="TEXT", help="For the analyst.")] = "",
) -> None:
    """Approve a job that waits, or refuse it."""
    with opened(folder) as house:
        out.print(f"{job}: {jobs.decide(house, OLGA, job, not refuse, note).state}")


@app.command()
def statement(
    folder: Folder,
    name: People,
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file.")],
) -> None:
    """Write all events of an account, in a chain that ends in a signature; other accounts stay hidden."""
    require_new_file(file)
    with opened(folder) as house:
        told = verifying.signed_statement(house, OLGA, name)
    file.write_text(json.dumps(told), encoding="utf-8")
    out.print(f"Wrote {file}: check it with `privet verify {file}`.")


@app.command()
def witness(
    folder: Folder, file: Annotated[Path, typer.Argument(metavar="FILE", help="On another machine.")]
) -> None:
    """Append the signed end of the ledger to a file that lies elsewhere; call it every hour."""
    with opened(folder) as house:
        head = write_head(house.ledger, file)
    out.print(f"Event {head.number} is witnessed.")


@app.command()
def backup(folder: Folder, file: Annotated[Path, typer.Argument(metavar="FILE", help="New file.")]) -> None:
    """Copy ledger and service to a file, while the service runs; the key is not in it."""
    require_new_file(file)
    with opened(folder) as house:
        head = house.ledger.back_up(file)
    out.print(f"Wrote {file}, up to event {head.number}. Keep a copy of private/house.db.key elsewhere.")


@app.command()
def check(folder: Folder) -> int:
    """Replay ledger and audit log from their beginnings. Exit code 5 if one does not hold."""
    with opened(folder) as house:
        return show_checks(verifying.check_house(house, OLGA))


def show_checks(checks: Iterable[verifying.Check]) -> int:
    """Print checks; 5 if one fails."""
    listed = list(checks)
    marks = {True: "holds", False: "FAILS", None: "–"}
    out.print(table(["check", "", ""], [(c.name, marks[c.holds], c.told) for c in listed]))
    return 5 if any(c.holds is False for c in listed) else 0


def _show(house: House, name: str) -> None:
    found = people.purse(house, OLGA, name)
    assert found.total is not None
    rows = [("everyone", found.total), *(found.analysts or {}).items()]
    cells = [(who, *_epsilons(money)) for who, money in rows]
    out.print(table([name, "ε at most", "ε left"], cells, ["ε at most", "ε left"]))
    if found.accounting != ZCDP:
        out.print("Costs with a δ add up in μ² of Gaussian differential privacy.")


def _epsilons(money: people.Money | None) -> tuple[str, str]:
    if money is None:
        return "–", "–"
    left = money.left["epsilon"]
    return f"{money.budget['epsilon']:.6g}", "–" if left is None else f"{left:.6g}"


def _told(view: tables.TableView) -> int:
    out.print(f"{view.name}: {view.state}. {view.told}")
    return 0 if view.state == tables.READY else 3
