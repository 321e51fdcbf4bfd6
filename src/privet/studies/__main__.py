"""Run studies: ``python -m privet.studies [NAME …] [--quick] [--out FOLDER]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from privet.studies import (
    bands,
    bojarski_2014,
    fletcher_islam_2015,
    fletcher_islam_2017,
    friedman_schuster_2010,
    greedy_shares,
    jagannathan_2012,
    private_id3,
    selection,
    voting,
)
from privet.studies.curves import Row, as_text, draw, figures
from privet.studies.datasets import SYNTHETIC

HEADS = {
    "AUC, strict": "AUC strict",
    "AUC, published": "publ'd",
    "AUC, paper": "paper",
    "accuracy, strict": "acc strict",
    "accuracy, published": "publ'd",
    "empty leaves": "empty",
}
"""What is shown of each row of the first study, and under which head."""


Text = Callable[[Sequence[Mapping[str, Any]]], str]


def say(text: str) -> None:
    """Print without a line's end."""
    sys.stdout.write(text)


def main() -> None:
    """Print each study's table as it grows, and keep it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m privet.studies", description=__doc__)
    parser.add_argument("study", nargs="*", choices=[*STUDIES, []], help=", ".join(STUDIES))
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.study or STUDIES:
        rows = STUDIES[name](arguments.quick)
        path = arguments.out / f"{name}.json"
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        say(f"Wrote {path}\n")
        if name in CURVES and rows:
            path.with_suffix(".txt").write_text(_curves_text(name, rows), encoding="utf-8")
            draw(rows, path.with_suffix(".png"), BOXES.get(name, ()))
            say(f"Wrote {path.with_suffix('.txt')} and {path.with_suffix('.png')}\n")
        if name in TABLES and rows:
            path.with_suffix(".txt").write_text(TABLES[name](rows), encoding="utf-8")
            say(f"Wrote {path.with_suffix('.txt')}\n")
        if name == "bojarski-2014" and rows:
            bojarski_2014.draw(rows, path.with_suffix(".png"))
            say(f"Wrote {path.with_suffix('.png')}\n")
        say("\n")


def _curves(name: str, quick: bool) -> list[dict[str, Any]]:
    if name in REAL and _lacks_data(name):
        return []
    rows = []
    for _, some in figures(CURVES[name](quick)):
        rows += some
        say(as_text(some) + "\n")
        sys.stdout.flush()
    say(VERDICTS[name](rows) if name in VERDICTS else "")
    return rows


def _curves_text(name: str, rows: Sequence[Row]) -> str:
    return as_text(rows) + ("\n" + VERDICTS[name](rows) if name in VERDICTS else "")


def _fletcher_islam_2017(quick: bool) -> list[dict[str, Any]]:
    names = fletcher_islam_2017.NAMES
    if quick or "PRIVET_DATA" not in os.environ:
        names = list(SYNTHETIC)
    folds, repeats = (2, 1) if quick else (10, 2)
    say(f"Fletcher and Islam 2017 at ε = 1, {repeats} × {folds} folds: mean±sd.\n")
    say("Strict keeps ε; published is their own mechanism, which does not.\n")
    say(f"{'':<17}" + "".join(f"{head:>10}" for head in HEADS.values()) + "\n")
    rows = []
    for row in fletcher_islam_2017.run(names, folds, repeats):
        rows.append(row)
        say(f"{row['data']:<17}" + "".join(f"{_cell(row, column):>10}" for column in HEADS) + "\n")
        sys.stdout.flush()
    return rows


def _lacks_data(name: str) -> bool:
    """Whether there are no real tables; says so."""
    lacking = "PRIVET_DATA" not in os.environ
    if lacking:
        say(f"{name}: left out, since PRIVET_DATA names no folder of data sets.\n")
    return lacking


def _bojarski_2014(quick: bool) -> list[dict[str, Any]]:
    if _lacks_data("bojarski-2014"):
        return []
    return _table(bojarski_2014.run(quick), bojarski_2014.as_text)


def _table(found: Iterator[dict[str, Any]], text: Text) -> list[dict[str, Any]]:
    """Rows of a study, printed as they come."""
    rows: list[dict[str, Any]] = []
    told = 0
    for row in found:
        rows.append(row)
        lines = text(rows).splitlines()
        say("\n".join(lines[told:]) + "\n")
        told = len(lines)
        sys.stdout.flush()
    return rows


def _voting(quick: bool) -> list[dict[str, Any]]:
    if _lacks_data("voting"):
        return []
    sizes = {"names": ("magic", "acs_income_ne"), "epsilons": (1.0,), "depths": (8,)} if quick else {}
    return _table(voting.run(**sizes), voting.as_text)  # type: ignore[arg-type]


def _bands(quick: bool) -> list[dict[str, Any]]:
    sizes: dict[str, Any] = {}
    if quick:
        sizes = {"settings": ((1.0, 0.0), (1.0, 1e-6)), "n_rows": 10_000, "fits": 6}
    say("Noise bands of shapes against what they vary from fit to fit of one table;\n")
    say("covered: points within two bands of their mean, over all features and in the worst.\n")
    say(f"{'ε':<5}{'δ':<8}{'part':<12}{'spread / band':>15}{'covered':>9}{'worst':>7}\n")
    rows = []
    for row in bands.run(**sizes):
        rows.append(row)
        ratios = row["spread / band"].values()
        told = f"{min(ratios):.2f}–{max(ratios):.2f}"
        say(f"{row['epsilon']:<5}{row['delta']:<8}{row['part']:<12}{told:>15}{row['covered']:>9.2f}")
        say(f"{row['least covered']:>7.2f}\n")
        sys.stdout.flush()
    return rows


def _cell(row: Mapping[str, float | None], column: str) -> str:
    value, spread = row.get(column), row.get(f"{column} sd")
    if value is None:
        return "–"
    text = f"{value:.3f}" if spread is None else f"{value:.3f}±{spread:.3f}"
    return text.replace("0.", ".")


CURVES: Mapping[str, Callable[[bool], Iterator[Row]]] = {
    "friedman-schuster-2010": friedman_schuster_2010.run,
    "greedy-shares": greedy_shares.run,
    "private-id3": private_id3.run,
    "fletcher-islam-2015": fletcher_islam_2015.run,
    "jagannathan-2012": jagannathan_2012.run,
    "selection": selection.run,
}
REAL = ("private-id3", "fletcher-islam-2015", "jagannathan-2012", "selection")
"""Studies that have real tables only."""

VERDICTS: Mapping[str, Callable[[Sequence[Row]], str]] = {
    "fletcher-islam-2015": fletcher_islam_2015.verdict,
    "greedy-shares": greedy_shares.verdict,
}
TABLES: Mapping[str, Text] = {"bojarski-2014": bojarski_2014.as_text, "voting": voting.as_text}
BOXES = {"jagannathan-2012": ("sum", "posterior")}
"""Ways that a study shows in box plots, as its paper does."""

STUDIES: Mapping[str, Callable[[bool], list[dict[str, Any]]]] = {
    **{name: partial(_curves, name) for name in CURVES},
    "bojarski-2014": _bojarski_2014,
    "fletcher-islam-2017": _fletcher_islam_2017,
    "voting": _voting,
    "bands": _bands,
}

if __name__ == "__main__":
    main()
