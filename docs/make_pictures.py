"""Draw the pictures of the pages anew, on invented people: ``python docs/make_pictures.py``.

The picture of a report is taken by Chromium, if that is installed.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from privet import BoostingClassifier, CountForestClassifier, explain, plot_tree
from privet.cli.population import SCHEMA, invent_people
from privet.pictures.plan import draw_plan
from privet.pictures.report import main_figure

FOLDER = Path(__file__).parent / "pictures"


def main() -> None:
    """Fit and draw."""
    FOLDER.mkdir(exist_ok=True)
    people = pd.DataFrame(invent_people(40_000, seed=1))
    X, y = people.drop(columns=SCHEMA.label.name), people[SCHEMA.label.name]
    boosting = BoostingClassifier(epsilon=1.0, schema=SCHEMA, random_state=0).fit(X, y)
    forest = CountForestClassifier(epsilon=1.0, schema=SCHEMA, random_state=0).fit(X, y)
    pictures = {
        "shapes": main_figure(boosting),
        "tree": plot_tree(forest, max_depth=2),
        "plan": draw_plan(forest.plan(SCHEMA, 40_000)),
    }
    for name, figure in pictures.items():
        figure.savefig(FOLDER / f"{name}.png", dpi=110)
    picture_report(boosting)


def picture_report(model: BoostingClassifier) -> None:
    """Take a picture of the upper part of a report."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.stderr.write("No Chromium: report.png is left as it is.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        explain(model, page)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
        flags += [f"--user-data-dir={folder}/profile", "--hide-scrollbars", "--window-size=1120,2060"]
        picture = f"--screenshot={FOLDER / 'report.png'}"
        subprocess.run(
            [browser, *flags, picture, page.as_uri()], check=True, capture_output=True, timeout=120
        )


if __name__ == "__main__":
    main()
