"""One look for all pictures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from privet.errors import PrivetError

INK, SOFT, FAINT, GRID = "#1f2933", "#7b8794", "#cbd2d9", "#e4e7eb"
BLUE, ORANGE = "#1f6f8b", "#c8553d"
WASH = "#f5f7fa"
ON_COLOUR = "#1f292f"
"""Ink on a coloured ground, which is the same in the dark."""

BY_THEME = {INK: "ink", SOFT: "soft", FAINT: "line", GRID: "faint", BLUE: "blue", WASH: "wash"}
"""Colours that a page chooses by its theme, and what it calls them."""
LABEL_COLOURS = (
    "#1f6f8b", "#c8553d", "#6a994e", "#8e6c8a", "#d4a017",
    "#3d5a80", "#b5838d", "#2a9d8f", "#7f5539", "#5e548e",
)  # fmt: skip
"""Colours of the labels, in their order; they repeat after ten."""


def require_matplotlib() -> None:
    """Say how to install what pictures need, before any work is done."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise PrivetError("pictures need matplotlib.", "pip install 'privet[plot]'") from None


def new_figure(width: float, height: float) -> Any:
    """An empty figure, its size in inches."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=160, layout="constrained")


def clean(axes: Any, title: str = "") -> None:
    """Take away what says nothing: two spines, ticks, heavy grids."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=8, length=0)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    if title:
        axes.set_title(plain(title), loc="left", color=INK, weight="bold", fontsize=10)


def plain(text: str, most: int = 200) -> str:
    """A name as it stands, cut where it is too long; a dollar sign begins no formula."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return cut.replace("$", r"\$")


def label_colour(label: int, n_labels: int) -> str:
    """Colour of a label; of two labels the second stands out."""
    return LABEL_COLOURS[(1 - label if n_labels == 2 else label) % len(LABEL_COLOURS)]


def blended(colour: str, strength: float) -> tuple[float, float, float]:
    """A colour on white, from not at all (0) to wholly (1)."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def save_picture(figure: Any, path: str | Path) -> None:
    """Write a figure to a file whose name says the format."""
    try:
        with _any_letters():
            figure.savefig(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "unknown format"
        raise PrivetError(
            f"cannot write {str(path)!r} ({reason}).", "name a .png, .svg or .pdf file."
        ) from None


@contextmanager
def _any_letters() -> Iterator[None]:
    """Letters that the font of a picture lacks are shown as boxes; nobody needs to be told of each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        yield


@dataclass(frozen=True)
class Spot:
    """A rectangle of a picture, in its axes' own units, that tells something to whoever points at it."""

    x: tuple[float, float]
    y: tuple[float, float]
    text: str


def svg_of(figure: Any) -> str:
    """A figure as an SVG element that can stand in a page, the same each time it is drawn."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "privet"}), _any_letters():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def page_svg(figure: Any, spots: Iterable[Spot] = ()) -> str:
    """The same with the colours of the page's theme, and with spots on the first axes of the figure."""
    text = svg_of(figure)
    for colour, name in BY_THEME.items():
        text = text.replace(colour, f"var(--{name}, {colour})")
    return text.replace("</svg>", "".join(_spot(figure, spot) for spot in spots) + "</svg>")


def _spot(figure: Any, spot: Spot) -> str:
    """Drawn over the picture, in points from its upper left corner."""
    corners = figure.axes[0].transData.transform(list(zip(spot.x, spot.y, strict=True))) * 72 / figure.dpi
    (left, right), (low, high) = (sorted(part) for part in corners.T.tolist())
    top = figure.get_figheight() * 72 - high
    return (
        f'<rect class="spot" x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" '
        f'height="{high - low:.2f}"><title>{escape(spot.text)}</title></rect>'
    )
