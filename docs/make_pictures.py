"""Draw the pictures of the pages anew, on invented people: ``python docs/make_pictures.py``."""

from pathlib import Path

import pandas as pd

from privet import BoostingClassifier, CountForestClassifier, plot_tree
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


if __name__ == "__main__":
    main()
