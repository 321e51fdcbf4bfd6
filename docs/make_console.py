"""Pictures of the service's console for the documentation: ``python docs/make_console.py`` writes them.

It plays an owner and an analyst on the demo's invented patients, in a real browser.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from houses import Clock, hurried  # noqa: E402
from privet.service import members  # noqa: E402
from privet.service.config import Settings  # noqa: E402
from privet.service.house import House  # noqa: E402
from privet.service.serve import links, listen, make_demo  # noqa: E402
from privet.service.web import make_app  # noqa: E402
from tests.servers.browser import started  # noqa: E402

PICTURES = Path(__file__).with_name("pictures")
SIZE = {"width": 960, "height": 700}
QUICK = Settings(start_seconds=60, row_seconds=1e-12)


def main() -> None:
    """Play, and take the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder, QUICK, Clock())
        make_demo(house)
        taken = listen("127.0.0.1", 0)
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(make_app(house), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            with hurried(house), started() as browser:
                play(browser, house, address)
        finally:
            server.should_exit = True
            thread.join()
            house.close()


def play(browser, house, address) -> None:
    """An analyst plans, submits and looks at a model; the owner sees who spent what."""
    page = enter(browser, links(house, address)["ada"])
    page.goto(f"{address}/tables/patients")
    take(page, "console-table", full=True)
    page.goto(f"{address}/tables/patients/plan?kind=fit&what=boosting&epsilon=0.5")
    take(page, "console-plan", full=True)
    page.click("text=Submit: spends")
    page.wait_for_url("**/jobs/*")
    page.wait_for_selector("text=Look at the model", timeout=120_000)
    page.click("text=Look at the model")
    page.wait_for_selector("h2:text-is('Shapes')")
    take(page, "console-model")
    asked = "kind=ask&what=noisy_moments&epsilon=0.2&p.column=blood+pressure&p.by=smoker"
    page.goto(f"{address}/tables/patients/plan?{asked}")
    page.click("text=Submit: spends")
    page.wait_for_selector("h2:text-is('Answer')", timeout=120_000)
    take(page, "console-answer")
    link = members.make_link(house, members.CONSOLE, "olga")
    owner = enter(browser, f"{address}/enter/{link}")
    owner.goto(f"{address}/people/patients")
    take(owner, "console-ledger")


def enter(browser, link):
    """A page of who follows a link."""
    page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
    page.goto(link)
    page.click("text=Sign in")
    page.wait_for_selector("nav")
    return page


def take(page, name, full=False) -> None:
    """Take a picture of a page."""
    time.sleep(0.3)
    page.screenshot(path=str(PICTURES / f"{name}.png"), full_page=full)


if __name__ == "__main__":
    main()
