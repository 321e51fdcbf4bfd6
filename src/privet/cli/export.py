"""``privet export``: a model as a program for another engine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from privet.cli.arguments import Json
from privet.cli.model import Coverage, Model
from privet.cli.output import out, require_new_file, show_json
from privet.exports import export_onnx, export_sql
from privet.model import load_model


class Form(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    duckdb = "duckdb"
    postgresql = "postgresql"


def export(
    model: Model,
    form: Annotated[Form, typer.Option("--to", help="What to write.")],
    out_file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="New file; by default MODEL.onnx or MODEL.sql."),
    ] = None,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="Of SQL: table or view whose rows are predicted.")
    ] = "rows",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Of SQL: column to pass through, such as a key."),
    ] = None,
    coverage: Coverage = None,
    as_json: Json = False,
) -> None:
    """Write a model as an ONNX file, or as one SELECT, that gives the same answers without PRIVET.

    Made of released values alone: it costs nothing.
    """
    ending = ".onnx" if form is Form.onnx else ".sql"
    path = out_file or model.with_name(model.name + ending)
    require_new_file(path)
    released = load_model(model)
    if form is Form.onnx:
        export_onnx(released, path, coverage)
    else:
        path.write_text(export_sql(released, table, form, keep or (), coverage), encoding="utf-8")
    if as_json:
        show_json({"file": str(path), "form": str(form)})
    else:
        out.print(f"Wrote {path}.", soft_wrap=True)
