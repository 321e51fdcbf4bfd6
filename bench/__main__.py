"""Run the sections of the bench, print their tables, and keep what a full run measured."""

import argparse
import time
import warnings

from bench import (
    accuracy,
    boosting,
    calibration,
    counts,
    encode,
    engines,
    fit,
    greedy,
    kernel,
    learners,
    ledger,
    memory,
    noise,
    pages,
    parts,
    ranges,
    reading,
    regression,
    report,
    safety,
    scale,
    small,
    stand,
)

SECTIONS = {
    "kernel": kernel.run,
    "encode": encode.run,
    "noise": noise.run,
    "fit": fit.run,
    "counts": counts.run,
    "boosting": boosting.run,
    "greedy": greedy.run,
    "memory": memory.run,
    "accuracy": accuracy.run,
}
BY_NAME = {
    "learners": learners.run,
    "learners-all": learners.run_all,
    "synthf": learners.run_synthetic,
    "engines": engines.run,
    "engines-large": engines.run_large,
    "engines-rivals": engines.run_rivals,
    "safety": safety.run,
    "reading": reading.run,
    "scale": scale.run,
    "small": small.run,
    "parts": parts.run,
    "regression": regression.run,
    "ranges": ranges.run,
    "attacks": stand.run_attacks,
    "calibration": calibration.run,
    "ledger": ledger.run,
    "stand": stand.run,
}
"""Sections of minutes, or many, which run only when they are named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"{', '.join(SECTIONS)}: all of these if none is named; {', '.join(BY_NAME)}: only when named",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is kept")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS | BY_NAME]
    if unknown:
        parser.error(f"there is no section {unknown[0]!r}; choose among {', '.join(SECTIONS | BY_NAME)}")
    warnings.simplefilter("error")
    if arguments.quick:
        print("Small sizes: aims are meant for the full ones, and nothing is kept.\n")
    for name in arguments.sections or SECTIONS:
        run_section(name, arguments.quick)


def run_section(name: str, quick: bool) -> None:
    start = time.perf_counter()
    try:
        result = (SECTIONS | BY_NAME)[name](quick)
    except report.Skipped as reason:
        print(f"== {name} left out: {reason}\n")
        return
    seconds = time.perf_counter() - start
    print(report.as_text(result, seconds), flush=True)
    if not quick:
        report.keep(name, result, seconds)
        pages.write()


if __name__ == "__main__":
    main()
