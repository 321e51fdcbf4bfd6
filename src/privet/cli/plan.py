"""``privet plan``: what a fit would ask and build, from public quantities, before anything is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from privet.cli.arguments import Json, epsilon_of
from privet.cli.learners import Learner, make_estimator, predicting, with_parameters
from privet.cli.output import facts, out, require_new_picture, show_json, table
from privet.errors import QuestionError
from privet.estimators.start import StartedEstimator
from privet.learners.plan import FitPlan
from privet.pictures.plan import draw_plan
from privet.pictures.style import require_matplotlib, save_picture
from privet.schema import Schema


@with_parameters
def plan(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema in JSON.")],
    epsilon: Annotated[Any, epsilon_of("Privacy budget of the fit.")],
    parameters: Any,
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="N", min=1, help="Rows, known or guessed; by default max_rows."),
    ] = None,
    learner: Learner = "boosting",
    start: Annotated[bool, typer.Option("--start", help="The fit has a start (boosting).")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New file for a picture: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a fit would ask and build. Reads no row and costs nothing."""
    asked = make_estimator(learner, epsilon, parameters)
    if plot is not None:
        require_matplotlib()
        require_new_picture(plot)
    contract = Schema.load(schema)
    estimator = predicting(asked, contract)
    if start and not isinstance(estimator, StartedEstimator):
        raise QuestionError(f"{estimator.name} starts from nothing.", "leave --start out.")
    planned = estimator.plan(contract, rows, **({"start": True} if start else {}))
    if plot is not None:
        save_picture(draw_plan(planned), plot)
    if as_json:
        show_json(planned.to_dict())
    else:
        _show(planned)
        if plot is not None:
            out.print(f"\nWrote {plot}.", soft_wrap=True)


def _show(planned: FitPlan) -> None:
    out.print(Text.assemble((planned.learner, "bold"), f", {planned.budget}, {planned.n_rows:,.0f} rows"))
    asked = [
        (name, times, f"{share:.1%}", "a choice" if sd is None else f"± {sd:,.3g}")
        for name, times, share, sd in planned.shares()
    ]
    out.print(table(["question", "times", "budget", "noise"], asked, ["times", "budget", "noise"]))
    out.print(facts(planned.told()))
