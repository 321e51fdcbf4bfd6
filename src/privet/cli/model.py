"""``privet predict`` and ``privet describe``: use a model, and read what it promises."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from privet.cli.arguments import Data, Json
from privet.cli.output import facts, out, require_new_file, show_json
from privet.kernels.predict import best_labels
from privet.model import load_model
from privet.schema import Scalar

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by fit.")]
STANDARD_OUTPUT = Path("-")


def predict(
    model: Model,
    data: Data,
    out_file: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="New CSV file, or - for the terminal.")
    ] = STANDARD_OUTPUT,
    as_json: Json = False,
) -> None:
    """Predict the label of every row: the label, and the share of votes for each.

    The table needs the model's features; a label, if it has one, is not read.
    """
    if out_file != STANDARD_OUTPUT:
        require_new_file(out_file)
    released = load_model(model)
    values = released.schema.label.values
    shares = released.shares(data)
    if out_file == STANDARD_OUTPUT and as_json:
        show_json(_predictions(values, shares))
        return
    if out_file == STANDARD_OUTPUT:
        _write_csv(sys.stdout, values, shares)
        return
    with out_file.open("w", newline="", encoding="utf-8") as lines:
        _write_csv(lines, values, shares)
    if as_json:
        show_json({"predictions": str(out_file), "rows": len(shares)})
    else:
        out.print(f"Wrote {len(shares):,} predictions to {out_file}.", soft_wrap=True)


def describe(model: Model, as_json: Json = False) -> None:
    """Show a model's privacy card and its structure."""
    released = load_model(model)
    structure = released.describe()
    if as_json:
        show_json({"card": released.card.to_dict(), "structure": structure})
        return
    out.print("[bold]Privacy card[/bold]")
    out.print(facts(released.card.rows()))
    out.print("\n[bold]Structure[/bold]")
    out.print(facts((name, _text(value)) for name, value in structure.items()))


def _predictions(values: Sequence[Scalar], shares: np.ndarray) -> list[dict[str, Any]]:
    rows = zip(best_labels(shares, values), shares.round(6).tolist(), strict=True)
    names = [str(value) for value in values]
    return [{"prediction": values[i], "shares": dict(zip(names, row, strict=True))} for i, row in rows]


def _write_csv(lines: TextIO, values: Sequence[Scalar], shares: np.ndarray) -> None:
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["prediction", *(f"share_{value}" for value in values)])
    rows = zip(best_labels(shares, values), shares.round(6).tolist(), strict=True)
    writer.writerows([values[i], *row] for i, row in rows)


def _text(value: object) -> str:
    if isinstance(value, Mapping) and value:
        width = max(map(len, value))
        return "\n".join(f"{name:<{width}}  {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
