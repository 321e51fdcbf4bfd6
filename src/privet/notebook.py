"""What a prompt or a notebook shows of a value: a line of text, or a small table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

CELL = "padding: .15em .8em .15em 0; text-align: left; vertical-align: top;"


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def facts_html(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A heading and a line a fact; whatever stands in them is text.

    >>> facts_html("A card", [("promise", "1-differential privacy")]).count("<td")
    2
    """
    lines = "".join(
        f'<tr><td style="{CELL} opacity: .7;">{escape(name)}</td>'
        f'<td style="{CELL} white-space: pre-wrap;">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"
