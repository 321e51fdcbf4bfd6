"""Entry point of the ``privet`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ModuleNotFoundError:
        sys.stderr.write("Error: the command line needs typer and rich.\nHint: pip install 'privet[cli]'\n")
        return 1
    from privet.cli.app import run

    return run(arguments)
