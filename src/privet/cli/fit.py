"""``privet fit``: learn a model and pay for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.arguments import Data, Json, LedgerFile, Name, SchemaFile, open_account
from privet.cli.budget import account_state, show_account
from privet.cli.output import out, require_new_file, show_json
from privet.data.table import require_table_file
from privet.errors import QuestionError
from privet.learners import (
    BoostingClassifier,
    CountForestClassifier,
    CountingTreeClassifier,
    GreedyForestClassifier,
    GreedyTreeClassifier,
    MajorityForestClassifier,
)
from privet.learners.base import PrivateClassifier
from privet.privacy import Account, Budget, protect
from privet.progress import progress_bar
from privet.schema import Schema

LEARNERS: Mapping[str, type[PrivateClassifier]] = {
    "boosting": BoostingClassifier,
    "count-forest": CountForestClassifier,
    "counting-tree": CountingTreeClassifier,
    "greedy-forest": GreedyForestClassifier,
    "greedy-tree": GreedyTreeClassifier,
    "majority-forest": MajorityForestClassifier,
}
OPTIONS = {
    "delta": "--delta",
    "passes": "--passes",
    "n_trees": "--trees",
    "max_depth": "--depth",
    "structure": "--structure",
    "voting": "--voting",
    "random_state": "--seed",
}
Passes = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Most questions of boosting after the labels; fewer are faster."),
]
Structure = Annotated[str | None, typer.Option(metavar="NAME", help="Structure of a count forest.")]
Voting = Annotated[str | None, typer.Option(metavar="NAME", help="Voting of a count forest.")]


def fit(
    data: Data,
    schema: SchemaFile,
    epsilon: Annotated[float, typer.Option(metavar="E", help="Privacy budget of this fit.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file for the model.")],
    learner: Annotated[
        str, typer.Option(metavar="NAME", help=f"One of: {', '.join(LEARNERS)}.")
    ] = "boosting",
    delta: Annotated[
        float | None, typer.Option(metavar="D", help="Chance that ε fails; by default 0, the strict promise.")
    ] = None,
    passes: Passes = None,
    trees: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of trees.")] = None,
    depth: Annotated[int | None, typer.Option(metavar="N", min=1, help="Depth of every tree.")] = None,
    structure: Structure = None,
    voting: Voting = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=2**32 - 1, help="Fixes the public structure, never the noise."),
    ] = None,
    ledger: LedgerFile = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Fit a model and charge its ε to the table's budget.

    Everything that can be checked without reading rows is checked before anything is charged.
    """
    options = {
        "delta": delta, "passes": passes, "n_trees": trees, "max_depth": depth, "structure": structure,
        "voting": voting, "random_state": seed,
    }  # fmt: skip
    estimator = make_estimator(learner, epsilon, options)
    require_table_file(data)
    require_new_file(out_file)
    contract = Schema.load(schema)
    account = open_account(data, ledger, name)
    with progress_bar("fitting", sys.stderr.isatty() and not as_json) as progress:
        estimator.fit(protect(data, contract, account, progress=progress))
    estimator.model_.save(out_file)
    _report(estimator, account, out_file, as_json)


def make_estimator(learner: str, epsilon: float, options: Mapping[str, Any]) -> PrivateClassifier:
    """An estimator by name, with the options that were given; one that it does not have is refused."""
    if learner not in LEARNERS:
        raise QuestionError(f"there is no learner {learner!r}.", f"learners are {', '.join(LEARNERS)}.")
    Budget(epsilon, options["delta"] or 0)
    given = {option: value for option, value in options.items() if value is not None}
    known = LEARNERS[learner]().get_params()
    for option in given:
        if option not in known:
            raise QuestionError(f"{learner} has no {OPTIONS[option]}.", "leave it out.")
    return LEARNERS[learner](epsilon=epsilon, **given)


def _report(estimator: PrivateClassifier, account: Account, path: Path, as_json: bool) -> None:
    card = estimator.privacy_card_
    if as_json:
        show_json({"model": str(path), "card": card.to_dict(), "account": account_state(account)})
        return
    out.print(f"Wrote {path}: {card.learner['name']}, {card.promise}.", soft_wrap=True)
    out.print("On the account:")
    show_account(account)
