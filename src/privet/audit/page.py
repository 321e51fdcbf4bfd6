"""Findings on one page, with pictures: what was measured against what is allowed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from privet.audit.attack import Attack
from privet.audit.statistical import at_least, at_most
from privet.audit.verdict import BROKEN, HOLDS, NOT_REFUTED, Verdict
from privet.errors import PrivetError
from privet.pictures.page import figure, page, section, table
from privet.pictures.style import BLUE, FAINT, INK, ORANGE, SOFT, clean, new_figure, page_svg

COLOURS = {HOLDS: BLUE, NOT_REFUTED: SOFT, BROKEN: ORANGE}
MOST_CURVES = 12


def write_page(
    path: str | Path, verdicts: Sequence[Verdict], attacks: Mapping[str, Attack] | None = None
) -> None:
    """Write the page of an audit to a file."""
    try:
        Path(path).write_text(audit_page(verdicts, attacks or {}), encoding="utf-8")
    except OSError as error:
        raise PrivetError(f"cannot write {str(path)!r} ({error.strerror}).", "check the folder.") from None


def audit_page(verdicts: Sequence[Verdict], attacks: Mapping[str, Attack]) -> str:
    """An HTML page that stands alone."""
    parts = [_head(verdicts), _losses_section(verdicts)]
    tested = _most_telling(verdicts)
    if tested:
        parts.append(_trade_offs(tested))
    if attacks:
        parts.append(_attacks(attacks))
    parts.append(section("All findings", "A pair of tables is given where one was found.", _table(verdicts)))
    return page("Does it keep its ε?", parts)


def _most_telling(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Of everyone on the stand the test that came nearest to its promise or went farthest beyond it."""
    tested = sorted((v for v in verdicts if "of" in v.witness), key=lambda v: v.loss / v.epsilon)
    best = {verdict.defendant: verdict for verdict in tested}
    return sorted(best.values(), key=lambda v: -v.loss / v.epsilon)[:MOST_CURVES]


def _head(verdicts: Sequence[Verdict]) -> str:
    counts = {kind: sum(v.outcome == kind for v in verdicts) for kind in COLOURS}
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    lead = f"{len(verdicts)} findings: {told}. The command that wrote this page can be run again."
    return (
        '<header><p class="kicker">PRIVET audit</p><h1>Does it keep its ε?</h1>'
        f'<p class="lead">{escape(lead)}</p></header>'
    )


def _losses_section(verdicts: Sequence[Verdict]) -> str:
    text = (
        "How far apart two neighbouring tables were told, as a multiple of the ε promised. "
        "Right of the line the promise is broken. Exact findings give the largest loss there is; the others "
        "a lower bound, which says nothing about what was not found."
    )
    return section("Loss against promise", text, figure(page_svg(draw_losses(verdicts)), wide=True))


def draw_losses(verdicts: Sequence[Verdict]) -> Any:
    """One dot a finding: its loss over its ε."""
    chart = new_figure(9.5, 0.8 + 0.19 * len(verdicts))
    axes = chart.subplots()
    ratios = [verdict.loss / verdict.epsilon if verdict.epsilon else 0.0 for verdict in verdicts]
    most = max([2.0, *(2 * ratio for ratio in ratios if math.isfinite(ratio))])
    most = min(most, 100.0)
    for place, (verdict, ratio) in enumerate(zip(verdicts, ratios, strict=True)):
        colour, beyond = COLOURS[verdict.outcome], ratio > most
        shown = most if beyond else max(ratio, 0.0)
        axes.plot([0, shown], [place, place], color=FAINT, linewidth=1, zorder=1)
        axes.plot(shown, place, ">" if beyond else "o", color=colour, markersize=5, clip_on=False, zorder=3)
    names = [f"{v.defendant}, ε = {v.epsilon:.3g}, {v.method}" for v in verdicts]
    axes.set_yticks(range(len(names)), names, fontsize=7.5)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("symlog", linthresh=2)
    ticks = [tick for tick in (0, 0.5, 1, 2, 5, 10, 20, 50, 100) if tick <= most]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(0, most)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("loss / ε", fontsize=8, color=INK)
    clean(axes)
    axes.grid(visible=False, axis="y")
    return chart


def _trade_offs(verdicts: Sequence[Verdict]) -> str:
    text = (
        "An event was chosen on one half of the runs and counted on the other half. How often it "
        "happens on a table, and on its neighbour: the promise keeps the point out of the shaded corner. The "
        "box holds the true point with the stated confidence."
    )
    figures = [
        figure(page_svg(draw_trade_off(each)), f"{each.defendant}, ε = {each.epsilon:.3g}", each.text)
        for each in verdicts
    ]
    return section("Events", text, f'<div class="grid">{"".join(figures)}</div>')


def allowed_curve(epsilon: float, delta: float, false_positives: np.ndarray) -> np.ndarray:
    """Most true positives at given false positives."""
    grown = math.exp(epsilon) * false_positives + delta
    shrunk = 1 - math.exp(-epsilon) * (1 - delta - false_positives)
    return np.clip(np.minimum(grown, shrunk), 0.0, 1.0)


def _square(epsilon: float, delta: float) -> tuple[Any, Any]:
    chart = new_figure(3.3, 3.1)
    axes = chart.subplots()
    grid = np.linspace(0, 1, 401)
    allowed = allowed_curve(epsilon, delta, grid)
    axes.fill_between(grid, allowed, 1, color=ORANGE, alpha=0.12, linewidth=0)
    axes.plot(grid, allowed, color=ORANGE, linewidth=1.2)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    clean(axes)
    return chart, axes


def draw_trade_off(verdict: Verdict) -> Any:
    """The event of a finding, against what its promise allows."""
    chart, axes = _square(verdict.epsilon, verdict.delta)
    seen, seen_other = verdict.witness["seen"]
    n, doubt = verdict.witness["of"], (1 - (verdict.confidence or 0.95)) / 2
    sides = [(float(at_least(k, n, doubt)), float(at_most(k, n, doubt))) for k in (seen_other, seen)]
    (left, right), (low, high) = sides
    colour = COLOURS[verdict.outcome]
    axes.fill_between([left, right], low, high, color=colour, alpha=0.3, linewidth=0)
    axes.plot(seen_other / n, seen / n, "o", color=colour, markersize=4)
    axes.set_xlabel("on the neighbour", fontsize=8, color=INK)
    axes.set_ylabel("on the table", fontsize=8, color=INK)
    return chart


def _attacks(attacks: Mapping[str, Attack]) -> str:
    text = (
        "Who sees the model guesses whether a person's row was learnt from. The curve is what the guesses "
        "reach; the promise keeps it out of the shaded corner."
    )
    figures = [figure(page_svg(draw_attack(each)), name, attack_text(each)) for name, each in attacks.items()]
    return section("Membership", text, f'<div class="grid">{"".join(figures)}</div>')


def attack_text(attack: Attack) -> str:
    """An attack in a line."""
    between = f"{attack.least:.3f} to {attack.most:.3f}"
    return f"advantage {attack.advantage:.3f} ({between}), allowed {attack.allowed:.3f}"


def draw_attack(attack: Attack) -> Any:
    """The curve of an attack, against what the promise allows."""
    chart, axes = _square(attack.epsilon, attack.delta)
    axes.plot(attack.false_positives, attack.true_positives, color=BLUE, linewidth=1.4)
    axes.set_xlabel("others taken for members", fontsize=8, color=INK)
    axes.set_ylabel("members found", fontsize=8, color=INK)
    return chart


def _table(verdicts: Sequence[Verdict]) -> str:
    heads = ["", "ε", "looked at by", "finding", "how much", "s"]
    rows = [
        [
            f"<strong>{escape(v.defendant)}</strong>",
            f"{v.epsilon:.3g}",
            escape(v.method),
            f'<span style="color:{COLOURS[v.outcome]}">{escape(v.text)}</span>{_witness(v)}',
            escape(v.looked_at),
            f"{v.seconds:.1f}",
        ]
        for v in verdicts
    ]
    return f'<div class="card">{table(heads, rows, numbers=(1, 5))}</div>'


def _witness(verdict: Verdict) -> str:
    if not verdict.witness:
        return ""
    told = "; ".join(f"{name}: {value}" for name, value in verdict.witness.items())
    return f"<details><summary>shown by</summary>{escape(told)}</details>"
