"""Run the sections of the bench, print their tables, and keep what a full run measured."""

import argparse
import time
import warnings

from bench import accuracy, encode, fit, kernel, noise, report

SECTIONS = {
    "kernel": kernel.run,
    "encode": encode.run,
    "noise": noise.run,
    "fit": fit.run,
    "accuracy": accuracy.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is kept")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]!r}; choose among {', '.join(SECTIONS)}")
    warnings.simplefilter("error")
    for name in arguments.sections or SECTIONS:
        start = time.perf_counter()
        result = SECTIONS[name](arguments.quick)
        seconds = time.perf_counter() - start
        print(report.as_text(result, seconds), flush=True)
        if not arguments.quick:
            report.keep(name, result, seconds)


if __name__ == "__main__":
    main()
