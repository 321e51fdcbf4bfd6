"""What a thousand million rows and more cost on many cores: worked out from what `engines` measured."""

import json

from bench.report import RESULTS, Result, Skipped

CORES = 100
SIZES = (10**9, 10**10)
BYTES_A_ROW = 41
"""Of codes and a label: 20 columns of two bytes, one of one."""

MEASURED_AT = 10**6
ATTEMPTS = 1.3
"""How much longer the last of many cores takes than their mean: tasks that wait, or run twice."""


def run(quick: bool) -> Result:
    kept = RESULTS / "engines.json"
    if not kept.exists():
        raise Skipped("nothing was measured yet; run `python -m bench engines` first.")
    measured = [row for row in json.loads(kept.read_text())["rows"] if row["rows"] == MEASURED_AT]
    rows = []
    for row in measured:
        if row["place"] not in ("parquet", "duckdb"):
            continue
        for n in SIZES:
            seconds = row["busy"] * n / MEASURED_AT / CORES * ATTEMPTS
            rows.append(
                {
                    "fit": row["fit"],
                    "place": row["place"],
                    "rows": n,
                    "minutes": seconds / 60,
                    "codes GB": n * BYTES_A_ROW / 1e9,
                }
            )
    notes = [
        f"On paper: processor seconds of one fit of {MEASURED_AT:,} rows, by this machine's cores, times the "
        f"rows, over {CORES} cores, times {ATTEMPTS:g} for the last of them. Rows are taken to be cut into "
        "as many shares, each read by its own process; sums of all shares are small beside that.",
    ]
    return Result(f"a fit on {CORES} cores, on paper", rows, notes)
