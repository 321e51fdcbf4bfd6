"""``privet threshold``: the share above which a model names a label, chosen and paid for by held-out rows."""

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
from privet.cli.output import out, require_new_file, show_json
from privet.estimators import private_threshold
from privet.model import load_model
from privet.privacy import Budget


def threshold(
    model: Model,
    data: Data,
    epsilon: Annotated[Any, epsilon_of("Privacy budget of this choice.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the model.")],
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="What is to be largest: f1, balanced_accuracy, accuracy.")
    ] = "f1",
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Choose the share above which the second of two labels is named, and charge held-out rows for it."""
    Budget(epsilon)
    require_new_file(out_file)
    released = load_model(model)
    rows = open_place(data, separator, encoding)
    account = open_account(data, ledger, name)
    found = private_threshold(released, rows, metric=metric, epsilon=epsilon, account=account, key=key)
    found.save(out_file)
    change = found.card.changes[-1]
    if as_json:
        show_json({"model": str(out_file), "change": change, "account": account_state(account)})
        return
    out.print(f"Wrote {out_file}: {change['what']}.", soft_wrap=True)
    out.print("On the account:")
    show_account(account)
