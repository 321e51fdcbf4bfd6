"""``privet fit``: learn a model and pay for it."""

from __future__ import annotations

import sys
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
    SchemaFile,
    Separator,
    Spill,
    epsilon_of,
    open_account,
    open_place,
    spilling,
)
from privet.cli.budget import account_state, show_account
from privet.cli.learners import Learner, make_estimator, predicting, with_parameters
from privet.cli.output import out, require_new_file, show_json
from privet.errors import QuestionError
from privet.estimators.base import PrivateEstimator
from privet.estimators.start import StartedEstimator
from privet.model import load_model
from privet.privacy import Account, protect
from privet.progress import progress_bar
from privet.schema import Schema


@with_parameters
def fit(
    data: Data,
    schema: SchemaFile,
    epsilon: Annotated[Any, epsilon_of("Privacy budget of this fit.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the model.")],
    parameters: Any,
    learner: Learner = "boosting",
    start: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Start from this model (boosting).")
    ] = None,
    public: Annotated[
        Path | None, typer.Option(metavar="DATA", help="Start from these rows, which are public (boosting).")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    key: Key = None,
    spill: Spill = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Fit a model and charge its ε to the table's budget.

    Everything that can be checked without reading rows is checked before anything is charged.
    """
    asked = make_estimator(learner, epsilon, parameters)
    require_new_file(out_file)
    contract = Schema.load(schema)
    estimator = predicting(asked, contract)
    begin = _start(estimator, start, public, separator, encoding)
    rows = open_place(data, separator, encoding)
    account = open_account(data, ledger, name)
    with progress_bar("fitting", sys.stderr.isatty() and not as_json) as progress:
        protected = protect(rows, contract, account, progress=progress, spill=spilling(spill), key=key)
        estimator.fit(protected, **begin)
    estimator.model_.save(out_file)
    _report(estimator, account, out_file, as_json)


def _start(
    estimator: PrivateEstimator, start: Path | None, public: Path | None, *form: str | None
) -> dict[str, Any]:
    """What a fit starts from, if it does."""
    if start is None and public is None:
        return {}
    if not isinstance(estimator, StartedEstimator):
        raise QuestionError(f"{estimator.name} starts from nothing.", "leave --start and --public out.")
    model = None if start is None else load_model(start)
    return {"start": model, "public": None if public is None else (open_place(public, *form), None)}


def _report(estimator: PrivateEstimator, account: Account, path: Path, as_json: bool) -> None:
    card = estimator.privacy_card_
    if as_json:
        show_json({"model": str(path), "card": card.to_dict(), "account": account_state(account)})
        return
    out.print(f"Wrote {path}: {card.learner['name']}, {card.promise}.", soft_wrap=True)
    out.print("On the account:")
    show_account(account)
