"""Pieces of a page that stands alone: no script, no font, nothing fetched. It follows the reader's theme."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #616e7c; --faint: #e4e7eb; --line: #cbd2d9;
  --blue: #1f6f8b; --accent: #1f6f8b; --paper: #ffffff; --wash: #f5f7fa; --chip: #eef2f6; --alarm: #fdf1ee; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #9aa5b1; --faint: #323f4b;
  --line: #52606d; --blue: #5ab0cf; --accent: #5ab0cf; --paper: #1f2933; --wash: #151c23; --chip: #323f4b;
  --alarm: #3b2420; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--wash); color: var(--ink); line-height: 1.55;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: clamp(1.6rem, 4vw, 2.3rem); line-height: 1.2; margin: .2rem 0 .6rem; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .3rem; }
p { max-width: 46rem; margin: .3rem 0 1rem; }
.kicker { color: var(--accent); font-weight: 600; font-size: .85rem; letter-spacing: .06em;
  text-transform: uppercase; margin: 0; }
.lead { font-size: 1.08rem; color: var(--soft); }
.warning { border-left: 4px solid #c8553d; background: var(--alarm); padding: .7rem 1rem;
  border-radius: 4px; }
.card, figure { background: var(--paper); border: 1px solid var(--faint); border-radius: 10px; }
.card { padding: 1rem 1.2rem; overflow-x: auto; }
dl { display: grid; grid-template-columns: minmax(6rem, 11rem) 1fr; gap: .35rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin-top: .8rem; } summary { cursor: pointer; color: var(--accent); }
.grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); }
figure { margin: 0; padding: .6rem .7rem .8rem; }
.scroll { overflow-x: auto; scrollbar-width: thin; background:
  linear-gradient(to right, var(--paper) 30%, transparent) left / 3rem 100%,
  linear-gradient(to left, var(--paper) 30%, transparent) right / 3rem 100%,
  linear-gradient(to right, #0004, transparent) left / 1rem 100%,
  linear-gradient(to left, #0004, transparent) right / 1rem 100%;
  background-repeat: no-repeat; background-attachment: local, local, scroll, scroll; }
.scroll:focus-visible { outline: 2px solid var(--accent); }
.scroll svg { width: auto; max-width: none; margin: auto; }
.hint { display: none; color: var(--accent); font-size: .86rem; margin: .2rem .3rem; }
.spot { fill: transparent; } .spot:hover { fill: var(--ink); fill-opacity: .09; }
figcaption { color: var(--soft); font-size: .86rem; padding: .2rem .3rem 0; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--ink);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif !important; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th { text-align: left; color: var(--soft); font-weight: 500; }
th, td { padding: .42rem .7rem .42rem 0; border-bottom: 1px solid var(--faint); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.number:not(:first-child) { width: 5.5rem; }
td:has(> .bar) { vertical-align: middle; width: 30%; } td:nth-child(2):has(> .bar) { width: 50%; }
 td.number + td:has(> .bar) { width: 60%; }
td:first-child + td:last-child:has(> .bar) { width: 75%; }
.grid + .card { margin-top: 1rem; }
h3 { font-size: .98rem; margin: .1rem .3rem .3rem; overflow-wrap: anywhere; }
.bar { display: block; position: relative; height: .75em; }
.bar > i { position: absolute; inset: 0 auto 0 0; min-width: 2px; border-radius: 2px;
  background: var(--accent); }
.bar > i.weak { background: var(--line); }
.bar > b { position: absolute; top: -.3em; bottom: -.3em; width: 2px; background: var(--ink); }
.chip { display: inline-block; background: var(--chip); border-radius: 4px; padding: 0 .4em;
  margin: 0 .25em .2em 0; }
footer { color: var(--soft); font-size: .86rem; margin-top: 3rem; }
@media (max-width: 520px) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  main { padding: 1.4rem .8rem 3rem; }
  .tall table, .tall thead, .tall tbody { display: block; }
  .tall tr { display: grid; grid-template-columns: 1fr auto auto; gap: 0 .9rem; padding: .35rem 0;
    align-items: center; border-bottom: 1px solid var(--faint); } .tall tr:last-child { border-bottom: 0; }
  .tall th, .tall td, .tall td.number:not(:first-child) { border: 0; padding: .12rem 0; width: auto; }
  .tall tr > :first-child, .whole tr > * { grid-column: 1 / -1; overflow-wrap: anywhere; } }
@page { margin: 1.5cm; }
@media print { :root { color-scheme: light; --ink: #1f2933; --soft: #616e7c; --faint: #e4e7eb;
  --line: #cbd2d9; --blue: #1f6f8b; --accent: #1f6f8b; --paper: #ffffff; --wash: #ffffff; --chip: #eef2f6; }
  main { max-width: none; padding: 0; } figure, .card, tr { break-inside: avoid; }
  h2, h2 + p { break-after: avoid; } p { break-inside: avoid; }
  .scroll { overflow: visible; background: none; } .scroll svg { width: 100%; }
  .hint { display: none !important; }
  .bar > i { print-color-adjust: exact; } .grid { grid-template-columns: repeat(2, 1fr); } }
"""


WIDEST, MARGINS = 1056, 66
"""Pixels that a page has for a picture at most, and those beside it on a small screen."""


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, text: str, *parts: str) -> str:
    """A heading, a paragraph and what follows."""
    return f"<section>\n<h2>{escape(title)}</h2>\n<p>{escape(text)}</p>\n" + "\n".join(parts) + "\n</section>"


def definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Names and what they stand for."""
    return "<dl>" + "".join(f"<dt>{escape(n)}</dt><dd>{escape(v)}</dd>" for n, v in rows) + "</dl>"


def figure(svg: str, title: str = "", caption: str = "", wide: bool = False) -> str:
    """A picture under a title, and a line about it, which also tells it to those who do not see it."""
    head = f"<h3>{escape(title)}</h3>" if title else ""
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    shown = svg.replace("<svg", f'<svg role="img" aria-label="{escape(caption or title)}"', 1)
    if not wide:
        return f"<figure>{head}{shown}{told}</figure>"
    found = re.search(r'width="([0-9.]+)pt"', svg)
    pixels = math.ceil(float(found[1]) * 4 / 3) if found else 0
    shown_when = "all" if pixels > WIDEST else f"(max-width: {pixels + MARGINS}px)"
    rule = f"<style>@media {shown_when} {{ .to-{pixels} {{ display: block; }} }}</style>"
    hint = f'{rule}<p class="hint to-{pixels}">→ wider than the page: scroll it sideways</p>'
    scrolled = f'<div class="scroll" tabindex="0">{shown}</div>'
    return f"<figure>{head}{hint}{scrolled}{told}</figure>"


def bar(share: float, mark: float | None = None) -> str:
    """A bar as long as a share of its column, and a mark; a bar that does not pass its mark is grey."""
    weak = " class=weak" if mark is not None and share <= mark else ""
    line = "" if mark is None else f'<b style="left:{100 * min(max(mark, 0), 1):.1f}%"></b>'
    return f'<span class="bar"><i{weak} style="width:{100 * max(share, 0):.1f}%"></i>{line}</span>'


def chips(texts: Iterable[str]) -> str:
    """Short texts, each in a frame of its own."""
    return "".join(f'<span class="chip">{escape(text)}</span>' for text in texts)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; cells are HTML, and the columns named in ``numbers`` are aligned to the right."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        kinds = (' class="number"' if i in numbers else "" for i in range(len(texts)))
        return "".join(f"<{tag}{kind}>{text}</{tag}>" for kind, text in zip(kinds, texts, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
