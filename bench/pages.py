"""Write what the bench kept into the documentation: ``python -m bench.pages``, and after every full run."""

import json
import re
from pathlib import Path

from bench.report import RESULTS

PAGES = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- begin: written by python -m bench.pages -->", "<!-- end -->"

MEANS = re.compile(
    r"ε = (?P<epsilon>\S+), mean R² of (?P<tables>\d+) tables: "
    r"boosting (?P<pure>\S+), boosting δ (?P<delta>\S+); DP-EBM .* (?P<rival>\S+)\. "
    r"Ahead .*: boosting (?P<pure_ahead>\d+), boosting δ (?P<delta_ahead>\d+)\."
)
SHOWN = 1.0
"""ε at which every table is listed."""


def written(page: str) -> str:
    """A page about regression, its measured part made of the result that was kept."""
    kept = json.loads((RESULTS / "regression.json").read_text(encoding="utf-8"))
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n\n".join([f"{before}{BEGIN}", *measured(kept), f"{END}{after}"])


def measured(kept: dict) -> list[str]:
    """Paragraphs and tables of a result."""
    means = [found.groupdict() for note in kept["notes"] if (found := MEANS.fullmatch(note))]
    others = [f"- {note.strip()}" for note in kept["notes"] if not MEANS.fullmatch(note)]
    lines = [
        "| ε | δ = 10⁻⁶ | pure | DP-EBM, δ = 10⁻⁶ | tables ahead of its best rate, δ / pure |",
        "|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {m['epsilon']} | {m['delta']} | {m['pure']} | {m['rival']} "
        f"| {m['delta_ahead']} / {m['pure_ahead']} |"
        for m in means
    ]
    by_table = ["| table | δ = 10⁻⁶ | pure | DP-EBM, its best rate |", "|---|--:|--:|--:|"]
    by_table += [
        f"| {row['table']} | {row['R² δ']['mean']:.3f} | {row['R² pure']['mean']:.3f} | {row['DP-EBM']:.3f} |"
        for row in kept["rows"]
        if row["ε"] == SHOWN
    ]
    return [
        f"Mean R² of {means[0]['tables']} public tables, of DP-EBM with the rate that is best on the mean "
        f"({kept['machine']['date']}, privet {kept['machine']['versions']['privet']}):",
        "\n".join(lines),
        f"By table, at ε = {SHOWN:g}:",
        "\n".join(by_table),
        "\n".join(others),
    ]


def write() -> None:
    """Bring the pages up to date."""
    path = PAGES / "regression.md"
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
