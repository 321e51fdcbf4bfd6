"""``privet explain``: a page about what a model promises and what it has learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.arguments import Json
from privet.cli.model import Model
from privet.cli.output import out, require_new_file, require_new_picture, show_json
from privet.model import load_model
from privet.pictures.report import explain as write_report
from privet.pictures.report import main_figure
from privet.pictures.style import require_matplotlib, save_picture


def explain(
    model: Model,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="New HTML file; by default MODEL.html.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New file for the main picture: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a page about a model: its promise, what it has learnt, and how far noise lets that be seen.

    Drawn from released values alone: it costs nothing. The page stands alone, without a network.
    """
    require_matplotlib()
    page = out_file or model.with_name(model.name + ".html")
    require_new_file(page)
    if plot is not None:
        require_new_picture(plot)
    released = load_model(model)
    picture = None if plot is None else main_figure(released)
    write_report(released, page)
    if plot is not None:
        save_picture(picture, plot)
    if as_json:
        show_json({"page": str(page), "picture": None if plot is None else str(plot)})
        return
    for path in (page, plot):
        if path is not None:
            out.print(f"Wrote {path}.", soft_wrap=True)
