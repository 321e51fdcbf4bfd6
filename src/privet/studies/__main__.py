"""Run a study: ``python -m privet.studies [--quick] [--out FOLDER]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from privet.studies import fletcher_islam_2017
from privet.studies.datasets import SYNTHETIC

COLUMNS = {
    "AUC, strict": "AUC strict",
    "AUC, published": "publ'd",
    "AUC, paper": "paper",
    "accuracy, strict": "acc strict",
    "accuracy, published": "publ'd",
    "empty leaves": "empty",
}
"""What is shown of each row, and under which head."""


def main() -> None:
    """Print a table as it grows, and keep it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m privet.studies", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two folds of the synthetic tables")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    arguments = parser.parse_args()
    names = (
        list(SYNTHETIC) if arguments.quick or "PRIVET_DATA" not in os.environ else fletcher_islam_2017.NAMES
    )
    folds, repeats = (2, 1) if arguments.quick else (10, 2)
    say = sys.stdout.write
    say(f"Fletcher and Islam 2017 at ε = 1, {repeats} × {folds} folds: mean±sd.\n")
    say("Strict keeps ε; published is their own mechanism, which does not.\n")
    say(f"{'':<17}" + "".join(f"{head:>10}" for head in COLUMNS.values()) + "\n")
    rows = []
    for row in fletcher_islam_2017.run(names, folds, repeats):
        rows.append(row)
        say(f"{row['data']:<17}" + "".join(f"{_cell(row, column):>10}" for column in COLUMNS) + "\n")
        sys.stdout.flush()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "fletcher-islam-2017.json"
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    say(f"Wrote {path}\n")


def _cell(row: dict[str, float | None], column: str) -> str:
    value, spread = row.get(column), row.get(f"{column} sd")
    if value is None:
        return "–"
    text = f"{value:.3f}" if spread is None else f"{value:.3f}±{spread:.3f}"
    return text.replace("0.", ".")


if __name__ == "__main__":
    main()
