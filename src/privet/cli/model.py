"""``privet predict`` and ``privet describe``: use a model, and read what it promises."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from privet.cli.arguments import Data, Encoding, Json, Separator, open_place
from privet.cli.output import facts, out, require_new_file, show_json
from privet.data.opened import read_texts
from privet.model import load_model
from privet.model.deployment import deployment, deployment_text
from privet.model.protocol import Predictions

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.")]
STANDARD_OUTPUT = Path("-")


def predict(
    model: Model,
    data: Data,
    out_file: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="New CSV file, or - for the terminal.")
    ] = STANDARD_OUTPUT,
    key: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Write this column before each prediction.")
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Predict the label of every row: the label, and the share of votes for each.

    The table needs the model's features; a label, if it has one, is not read.
    """
    if out_file != STANDARD_OUTPUT:
        require_new_file(out_file)
    released = load_model(model)
    place = open_place(data, separator, encoding)
    keys = {} if key is None else {key: read_texts(place, key)}
    told = released.predictions(place)
    if out_file == STANDARD_OUTPUT and as_json:
        show_json(_plain(told, keys))
        return
    if out_file == STANDARD_OUTPUT:
        _write_csv(sys.stdout, told, keys)
        return
    with out_file.open("w", newline="", encoding="utf-8") as lines:
        _write_csv(lines, told, keys)
    n_rows = len(told.values)
    if as_json:
        show_json({"predictions": str(out_file), "rows": n_rows})
    else:
        out.print(f"Wrote {n_rows:,} predictions to {out_file}.", soft_wrap=True)


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
        sys.stdout.write(deployment_text(released))
        return
    if card is Paper.json:
        show_json(deployment(released))
        return
    if as_json:
        show_json(released.to_dict())
        return
    out.print("[bold]Privacy card[/bold]")
    out.print(facts(released.card.rows()))
    out.print("\n[bold]Structure[/bold]")
    out.print(facts((name, _text(value)) for name, value in released.describe().items()))


Keys = Mapping[str, Sequence[str | None]]
"""The column that was asked for beside the predictions, by its name; or none."""


def _plain(told: Predictions, keys: Keys) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"prediction": value} for value in told.values]
    for line, row in zip(lines, _rounded(told), strict=False):
        line["shares"] = dict(zip(told.shares, row, strict=True))
    for name, column in keys.items():
        lines = [{name: key, **line} for key, line in zip(column, lines, strict=True)]
    return lines


def _write_csv(stream: TextIO, told: Predictions, keys: Keys) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*keys, "prediction", *(f"share_{label}" for label in told.shares)])
    columns = [*keys.values(), told.values, *zip(*_rounded(told), strict=True)]
    writer.writerows(zip(*columns, strict=True))


def _rounded(told: Predictions) -> list[list[float]]:
    """Shares row by row."""
    return np.array(list(told.shares.values())).T.round(6).tolist()


def _text(value: object) -> str:
    if isinstance(value, Mapping) and value:
        width = max(map(len, value))
        return "\n".join(f"{name:<{width}}  {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
