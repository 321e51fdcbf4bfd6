"""``privet score``: how good a model is, paid for by the rows that say so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.arguments import (
    Data,
    Encoding,
    Json,
    Key,
    LedgerFile,
    Name,
    Separator,
    epsilon_of,
    open_account,
    open_place,
)
from privet.cli.budget import account_state, show_account
from privet.cli.model import Model
from privet.cli.output import facts, out, show_json, table
from privet.estimators import PrivateScore, private_score
from privet.learners.score import METRICS, check_metric
from privet.model import load_model
from privet.privacy import Account, Budget


def score(
    model: Model,
    data: Data,
    epsilon: Annotated[Any, epsilon_of("Privacy budget of this score.")],
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"One of: {', '.join(METRICS)}; by default accuracy, or r2."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Schema in JSON; by default the model's.")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Score a model on held-out rows and charge them for it: they are people too.

    The table needs the model's features and its label.
    """
    if metric is not None:
        check_metric(metric)
    Budget(epsilon)
    released = load_model(model)
    rows = open_place(data, separator, encoding)
    account = open_account(data, ledger, name)
    found = private_score(
        released, rows, metric=metric, epsilon=epsilon, schema=schema, account=account, key=key
    )
    _report(found, account, as_json)


def _report(found: PrivateScore, account: Account, as_json: bool) -> None:
    if as_json:
        show_json({"score": found.to_dict(), "account": account_state(account)})
        return
    low, high = found.interval
    rows = [
        (found.metric.replace("_", " "), f"{found.value:.4f}"),
        ("interval", f"{low:.4f} to {high:.4f} (95 %: noise, sample, bins)"),
        ("rows", f"about {found.noisy_rows:,.0f}"),
    ]
    out.print(facts(rows))
    if found.curve:
        out.print(table(["told", "mean told", "as told", "± (95 %)", "rows"], _curve(found)))
    out.print("On the account:")
    show_account(account)


def _curve(found: PrivateScore) -> list[tuple[str, ...]]:
    """A line a bin that seems to hold rows."""
    return [
        (
            f"{point.lower:.1f} to {point.upper:.1f}",
            f"{point.predicted:.3f}",
            f"{point.observed:.3f}",
            f"{min(point.margin, 1.0):.3f}",
            f"{point.noisy_rows:,.0f}",
        )
        for point in found.curve
        if point.margin < 1
    ]
