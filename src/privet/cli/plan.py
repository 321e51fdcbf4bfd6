"""``privet plan``: what a fit would ask and build, from public quantities, before anything is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.arguments import Json
from privet.cli.fit import LEARNERS, Passes, Structure, Voting, make_estimator
from privet.cli.output import facts, out, require_new_picture, show_json, table
from privet.learners.plan import FitPlan
from privet.pictures.plan import draw_plan
from privet.pictures.style import require_matplotlib, save_picture
from privet.schema import Schema


def plan(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema in JSON.")],
    epsilon: Annotated[float, typer.Option(metavar="E", help="Privacy budget of the fit.")],
    rows: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Rows, publicly known or guessed; by default max_rows."),
    ] = None,
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
        int | None, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Fixes the public structure.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New file for a picture: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a fit would ask and build. Reads no row and costs nothing."""
    options = {
        "delta": delta, "passes": passes, "n_trees": trees, "max_depth": depth, "structure": structure,
        "voting": voting, "random_state": seed,
    }  # fmt: skip
    estimator = make_estimator(learner, epsilon, options)
    if plot is not None:
        require_matplotlib()
        require_new_picture(plot)
    planned = estimator.plan(Schema.load(schema), rows)
    if plot is not None:
        save_picture(draw_plan(planned), plot)
    if as_json:
        show_json(planned.to_dict())
    else:
        _show(planned)
        if plot is not None:
            out.print(f"\nWrote {plot}.", soft_wrap=True)


def _show(planned: FitPlan) -> None:
    out.print(f"[bold]{planned.learner}[/bold], {planned.budget}, {planned.n_rows:,.0f} rows")
    asked = [
        (name, times, f"{share:.1%}", "a choice" if sd is None else f"± {sd:,.3g}")
        for name, times, share, sd in planned.shares()
    ]
    out.print(table(["question", "times", "budget", "noise"], asked, ["times", "budget", "noise"]))
    out.print(facts(planned.told()))
