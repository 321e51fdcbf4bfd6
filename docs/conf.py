"""How the documentation is built."""

import json
from math import exp
from pathlib import Path

import privet
from privet.model import MODELS
from privet.model.voting import NODE_WAYS, WAYS
from privet.privacy.questions import QUESTIONS
from privet.version import __version__

project = "PRIVET"
author = "PRIVET developers"
copyright = "PRIVET developers"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"PRIVET {release}"

napoleon_google_docstring = False
napoleon_custom_sections = ["Privacy"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
myst_enable_extensions = ["substitution"]
myst_heading_anchors = 3

# Notebooks are run whenever the pages are built; one that fails, fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_execution_show_tb = True


def epsilon_table() -> str:
    """What ε promises, in numbers."""
    lines = ["| ε | odds grow at most by | certainty from even odds | advantage |", "|--:|--:|--:|--:|"]
    for epsilon in (0.01, 0.1, 0.5, 1, 2, 3, 5):
        odds = exp(epsilon)
        sure, advantage = odds / (1 + odds), (odds - 1) / (odds + 1)
        lines.append(f"| {epsilon:g} | × {odds:,.2f} | {sure:.2%} | {advantage:.2%} |")
    return "\n".join(lines)


def bands_table() -> str:
    """Noise bands against what varies from fit to fit, as the study last found it."""
    folder = Path(__file__).parent / "papers" / "results" / "ours"
    covered, spread = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["points"]
        for name in ("bands", "bands-spread")
    )
    lines = ["| δ | ε | part | spread / band, by feature | within two bands |", "|--:|--:|---|--:|--:|"]
    for row in covered:
        ratios = [
            each["values"][0]
            for each in spread
            if (each["panel"], each["x"]) == (row["panel"], row["x"])
            and each["way"].startswith(f"{row['way']}: ")
        ]
        told = f"{min(ratios):.2f} to {max(ratios):.2f}"
        delta = row["panel"].removeprefix("δ = ")
        lines.append(f"| {delta} | {row['x']:g} | {row['way']} | {told} | {row['values'][0]:.0%} |")
    return "\n".join(lines)


def voting_table() -> str:
    """The ways of voting, as they are declared."""
    lines = ["| voting | trees with counts | a leaf says |", "|---|---|---|"]
    lines += [f"| `{name}` | of leaves | {way.words} |" for name, way in WAYS.items()]
    offered = ((name, way) for name, way in NODE_WAYS.items() if way.offered)
    return "\n".join([*lines, *(f"| `{name}` | of every node | {way.words} |" for name, way in offered)])


def models() -> str:
    """The classes of models, as they are declared."""
    lines = ["```{eval-rst}"]
    for model in MODELS:
        public = model.__name__ in privet.__all__
        lines += [f".. autoclass:: {'privet' if public else model.__module__}.{model.__name__}"]
        lines += ["   :members:", "   :inherited-members:", "   :exclude-members: from_file", ""]
    return "\n".join([*lines, "```"])


def questions() -> str:
    """The kinds of questions, as they are declared."""
    lines = ["```{eval-rst}"]
    for kind in QUESTIONS.values():
        lines += [f".. autoclass:: {kind.__module__}.{kind.__name__}", ""]
        lines += [f"   Asked by ``{kind.method}``.", ""]
    return "\n".join([*lines, "```"])


myst_substitutions = {
    "epsilon_table": epsilon_table(),
    "bands_table": bands_table(),
    "voting_table": voting_table(),
    "models": models(),
    "questions": questions(),
}
