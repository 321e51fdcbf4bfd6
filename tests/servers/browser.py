"""A browser for tests: Chromium of the system, installed where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def found() -> str:
    """Where it is; a person is told how to install it, and root has it installed."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    if os.getuid() != 0 or shutil.which("apt-get") is None:
        raise RuntimeError("no browser to test with: install Chromium (Debian's package chromium).")
    subprocess.run(["apt-get", "-qq", "update"], check=True)
    options = ["-y", "-qq", "--no-install-recommends"]
    subprocess.run(["apt-get", "install", *options, "chromium", "fonts-dejavu-core"], check=True)
    return found()


@contextmanager
def started() -> Iterator[Any]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=found(), args=list(QUIET))
        try:
            yield browser
        finally:
            browser.close()


if __name__ == "__main__":
    print(found())
