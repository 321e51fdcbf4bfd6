"""``privet predict`` and ``privet describe``: use a model, and read what it promises."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from privet.cli.arguments import Data, Encoding, Json, Separator, open_place, where
from privet.cli.output import facts, out, plain, require_new_file, show_json
from privet.data.sinks import text_lines
from privet.model import load_model
from privet.model.deployment import deployment, deployment_text
from privet.model.streaming import DIGITS, predict_into, prediction_tables

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.")]
STANDARD_OUTPUT = Path("-")
Coverage = Annotated[
    float | None,
    typer.Option(metavar="C", help="Of numbers: intervals, too, that hold this share of all rows, say 0.9."),
]


def predict(
    model: Model,
    data: Data,
    into: Annotated[
        Any,
        typer.Option(
            "--out",
            metavar="PLACE",
            parser=where,
            help="New file, .csv or .parquet, or address of a new table; - for the terminal.",
        ),
    ] = STANDARD_OUTPUT,
    key: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Write this column before each prediction.")
    ] = None,
    coverage: Coverage = None,
    separator: Separator = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Predict every row: its label and the share of votes for each, or its number.

    The table needs the model's features; a label, if it has one, is not read. Rows are read and written some
    at a time.
    """
    if isinstance(into, Path) and into != STANDARD_OUTPUT:
        require_new_file(into)
    released = load_model(model)
    place = open_place(data, separator, encoding)
    if into == STANDARD_OUTPUT:
        tables = prediction_tables(released, place, key, DIGITS, coverage)
        if as_json:
            show_json([line for table in tables for line in _lines(table, key)])
            return
        write = text_lines(sys.stdout)
        for table in tables:
            write(table)
        return
    n_rows = predict_into(released, place, into, key, coverage)
    if as_json:
        show_json({"predictions": str(into), "rows": n_rows})
    else:
        out.print(f"Wrote {n_rows:,} predictions to {into}.", soft_wrap=True)


class Paper(StrEnum):
    """What `describe` can write for officers."""

    json = "json"
    md = "md"


def describe(
    model: Model,
    card: Annotated[
        Paper | None,
        typer.Option("--card", help="Write the record for privacy officers instead: json or md."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a model's privacy card and its structure, or write the record that officers ask for."""
    released = load_model(model)
    if card is Paper.md:
        sys.stdout.write(plain(deployment_text(released)))
        return
    if card is Paper.json:
        show_json(deployment(released))
        return
    if as_json:
        show_json(released.to_dict())
        return
    out.print("Privacy card", style="bold")
    out.print(facts(released.card.rows()))
    out.print("\nStructure", style="bold")
    out.print(facts((name, _text(value)) for name, value in released.describe().items()))


def _lines(table: pa.Table, key: str | None) -> Iterator[dict[str, Any]]:
    """Rows of predictions, their shares by label."""
    for row in table.to_pylist():
        own = {} if key is None else {key: row.pop(key)}
        shares = {
            name.removeprefix("share_"): row.pop(name) for name in list(row) if name.startswith("share_")
        }
        yield {**own, **row, **({"shares": shares} if shares else {})}


def _text(value: object) -> str:
    if isinstance(value, Mapping) and value:
        width = max(map(len, value))
        return "\n".join(f"{name:<{width}}  {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
