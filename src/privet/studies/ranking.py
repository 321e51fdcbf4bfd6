"""Many learners on many tables: mean ranks, tests over tables, and pictures of both.

After Demšar 2006, *Statistical comparisons of classifiers over multiple data sets*: a table is one
observation, whatever its folds say. A learner that could not learn from a table has the last rank there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from privet.pictures.style import BLUE, INK, ORANGE, SOFT, clean, new_figure, svg_of
from privet.studies.results import Result
from privet.studies.study import Study, View

LEVEL = 0.05
FEWEST = 6
"""Tables without which no test is made."""

TIE = 0.0005
"""A difference of means that is none."""

ROW, WIDE = 0.17, 5.2
"""Height of a learner in a picture, and width of a panel."""


@dataclass(frozen=True)
class Block:
    """Mean scores of learners on tables at one ε, larger being better; what is not there is NaN."""

    panel: str
    tables: Sequence[str]
    learners: Sequence[str]
    scores: np.ndarray

    @property
    def ranks(self) -> np.ndarray:
        """Ranks on every table, 1 for the first; ties share theirs."""
        known = np.where(np.isnan(self.scores), -np.inf, self.scores)
        return rankdata(-known, axis=1)

    @property
    def mean_ranks(self) -> dict[str, float]:
        """Mean rank of every learner, the first one first."""
        means = dict(zip(self.learners, self.ranks.mean(axis=0).tolist(), strict=True))
        return dict(sorted(means.items(), key=lambda item: item[1]))

    def without(self, learners: Iterable[str]) -> Block:
        """The same without some learners."""
        keep = [number for number, name in enumerate(self.learners) if name not in set(learners)]
        return Block(
            self.panel, self.tables, [self.learners[number] for number in keep], self.scores[:, keep]
        )

    def of(self, learner: str) -> np.ndarray:
        """Scores of a learner by table."""
        return self.scores[:, self.learners.index(learner)]

    def best(self, learners: Iterable[str]) -> np.ndarray:
        """The best score of some learners on every table."""
        return np.nanmax(np.stack([self.of(each) for each in learners]), axis=0)

    @property
    def friedman(self) -> float | None:
        """How likely ranks this uneven are where all learners are alike."""
        if len(self.tables) < FEWEST or len(self.learners) < 3:
            return None
        return float(friedmanchisquare(*np.where(np.isnan(self.scores), -np.inf, self.scores).T).pvalue)

    @property
    def critical(self) -> float:
        """Nemenyi's critical difference of mean ranks."""
        k, n = len(self.learners), len(self.tables)
        return float(studentized_range.isf(LEVEL, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))


def blocks(study: Study, result: Result) -> list[Block]:
    """One for every panel."""
    found = []
    for panel, points in result.panels().items():
        tables = list(dict.fromkeys(str(point.x) for point in points))
        learners = list(dict.fromkeys(point.way for point in points))
        scores = np.full((len(tables), len(learners)), np.nan)
        for point in points:
            mean = -point.mean if study.lower else point.mean
            scores[tables.index(str(point.x)), learners.index(point.way)] = mean
        found.append(Block(panel, tables, learners, scores))
    return found


def holm(chances: Mapping[str, float]) -> dict[str, float]:
    """p-values of several tests, corrected so that the chance of any false one stays at the level."""
    corrected, least = {}, 0.0
    for number, (name, p) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, (len(chances) - number) * p))
        corrected[name] = least
    return corrected


def view(controls: Sequence[str], unfair: Sequence[str] = ()) -> View:
    """Ranks, with tests against the learners that are ours to defend.

    Parameters
    ----------
    controls : sequence of str
        Forms of one learner, each compared with all others.
    unfair : sequence of str
        Learners that were told what nobody may know.
    """
    return View(
        partial(_draw_ranks, controls), partial(_lines, controls, unfair), partial(_judge, controls, unfair)
    )


def _judge(controls: Sequence[str], unfair: Sequence[str], study: Study, result: Result) -> tuple[str, str]:
    found = blocks(study, result)
    told = [_firsts(controls, found)]
    if set(unfair) & set(found[0].learners):
        named = " and ".join(f"*{name}*" for name in unfair)
        told.append(f"without {named}, which know what nobody may: ")
        told[-1] += _firsts(controls, [block.without(unfair) for block in found])
    outcome = told[0].partition(" (")[0]
    learners, tables = len(found[0].learners), len(found[0].tables)
    return outcome, f"ranks of {learners} learners over {tables} tables: {'; '.join(told)}."


def _firsts(controls: Sequence[str], found: Sequence[Block]) -> str:
    """At how many ε one of the controls has the first mean rank, and who has which."""
    firsts = [next(iter(block.mean_ranks)) for block in found]
    won = sum(first in controls for first in firsts)
    each = ", ".join(
        f"{block.panel}: {first} {block.mean_ranks[first]:.2f}"
        + ("" if first in controls else f" before {_foremost(block, controls)}")
        for block, first in zip(found, firsts, strict=True)
    )
    return f"{controls[0]} has the first mean rank at {won} of {len(found)} ε ({each})"


def _foremost(block: Block, controls: Sequence[str]) -> str:
    means = block.mean_ranks
    name = min((each for each in controls if each in means), key=means.__getitem__, default=controls[0])
    return f"{name} {means.get(name, float('nan')):.2f}"


def _lines(controls: Sequence[str], unfair: Sequence[str], study: Study, result: Result) -> list[str]:
    found = blocks(study, result)
    present = [name for name in controls if name in found[0].learners]
    lines = ["Mean ranks, the first learner of each ε in bold:", "", *_ranks_table(study, found), ""]
    lines += [f"Means of {study.score} over the tables:", "", *_means_table(study, found), ""]
    if len(found[0].tables) >= FEWEST:
        lines += [
            "Tables won, level and lost, over all ε, and how likely such differences are by chance: "
            "Wilcoxon's signed-rank test over tables (each its mean over ε), corrected after Holm.",
            "",
            *_tests_table(study, found, present),
            "",
        ]
    return [*lines, *_losses(found, present, unfair), ""]


def _ranks_table(study: Study, found: Sequence[Block]) -> Iterable[str]:
    mean = {
        name: fmean(block.mean_ranks[name] for block in found if name in block.learners)
        for name in found[0].learners
    }
    yield f"| learner | {' | '.join(block.panel for block in found)} | mean |"
    yield f"|---|{'--:|' * (len(found) + 1)}"
    for name in sorted(mean, key=mean.__getitem__):
        ranks = [block.mean_ranks for block in found]
        cells = [
            f"**{each[name]:.2f}**" if name == next(iter(each)) else f"{each[name]:.2f}" for each in ranks
        ]
        yield f"| {_named(study, name)} | {' | '.join(cells)} | {mean[name]:.2f} |"
    chances = ["–" if block.friedman is None else f"{block.friedman:.1g}" for block in found]
    yield f"| *Friedman's p* | {' | '.join(chances)} | |"
    yield f"| *critical difference* | {' | '.join(f'{block.critical:.2f}' for block in found)} | |"


def _named(study: Study, name: str) -> str:
    return f"{name} ({study.promises[name]})" if name in study.promises else name


def _means_table(study: Study, found: Sequence[Block]) -> Iterable[str]:
    sign = -1 if study.lower else 1
    yield f"| learner | {' | '.join(block.panel for block in found)} |"
    yield f"|---|{'--:|' * len(found)}"
    for name in found[0].learners:
        cells = [f"{sign * np.nanmean(block.of(name)):.3f}" for block in found]
        yield f"| {name} | {' | '.join(cells)} |"


def _tests_table(study: Study, found: Sequence[Block], controls: Sequence[str]) -> Iterable[str]:
    others = [name for name in found[0].learners if name not in controls]
    yield f"| learner | {' | '.join(f'{name}: won/level/lost | p' for name in controls)} |"
    yield f"|---|{'--:|--:|' * len(controls)}"
    chances = {
        name: holm({other: _chance(_gaps(found, name, other).mean(axis=0)) for other in others})
        for name in controls
    }
    for other in others:
        cells = []
        for name in controls:
            gaps = _gaps(found, name, other)
            won, lost = (gaps > TIE).sum(), (gaps < -TIE).sum()
            cells.append(f"{won}/{gaps.size - won - lost}/{lost} | {chances[name][other]:.1g}")
        yield f"| {other} | {' | '.join(cells)} |"


def _gaps(found: Sequence[Block], ours: str, other: str) -> np.ndarray:
    """By how much ours is ahead, ``(ε, tables)``; where the other could not learn it is by the whole."""
    return np.stack([np.nan_to_num(block.of(ours) - block.of(other), nan=1.0) for block in found])


def _chance(gaps: np.ndarray) -> float:
    return float(wilcoxon(gaps).pvalue) if np.any(gaps) else 1.0


def _losses(found: Sequence[Block], controls: Sequence[str], unfair: Sequence[str]) -> Iterable[str]:
    """Tables on which another learner is ahead of all forms of ours."""
    yield f"Where {controls[0]} is behind, in either form, and who is ahead of it by how much:"
    yield ""
    for block in found:
        ours, told = block.best(controls), []
        others = [name for name in block.learners if name not in controls]
        for number, table in enumerate(block.tables):
            ahead = {name: block.of(name)[number] - ours[number] for name in others}
            known = {name: gap for name, gap in ahead.items() if gap > TIE}
            if known:
                best = max(known, key=known.__getitem__)
                mark = ", unfair" if best in unfair else ""
                told.append((known[best], f"{table} ({best}{mark}, {known[best]:+.3f})"))
        told.sort(key=lambda item: -item[0])
        listed = ", ".join(text for _, text in told) or "none"
        yield f"- {block.panel}, {len(told)} of {len(block.tables)} tables: {listed}"


def _draw_ranks(controls: Sequence[str], study: Study, result: Result, path: Path) -> None:
    """Mean ranks with a critical difference around each: learners whose lines do not overlap differ."""
    found = blocks(study, result)
    across = min(2, len(found))
    down = -(-len(found) // across)
    figure = new_figure(WIDE * across, (1.0 + ROW * len(found[0].learners)) * down)
    for number, block in enumerate(found, start=1):
        axes = figure.add_subplot(down, across, number)
        clean(axes, block.panel)
        means = block.mean_ranks
        places = range(len(means))
        axes.hlines(
            places,
            [mean - block.critical / 2 for mean in means.values()],
            [mean + block.critical / 2 for mean in means.values()],
            color=SOFT,
            linewidth=1,
        )
        for place, (name, mean) in enumerate(means.items()):
            axes.plot(mean, place, "o", color=ORANGE if name in controls else BLUE, markersize=4)
        axes.set_yticks(places, list(means), fontsize=7)
        axes.set_ylim(len(means) - 0.5, -0.5)
        axes.set_xlabel(f"mean rank over {len(block.tables)} tables", color=INK, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_of(figure), encoding="utf-8")


def front(cost: str, gain: str) -> View:
    """What learners give for what they take: a study whose scores these two are."""
    return View(
        partial(_draw_front, cost, gain), partial(_front_lines, cost, gain), partial(_judge_front, cost, gain)
    )


def _means(result: Result, cost: str, gain: str) -> dict[str, tuple[float, float]]:
    """Mean cost and gain of every learner."""
    by_place: dict[Any, float] = {(point.x, point.way): point.mean for point in result.points}
    names = list(dict.fromkeys(str(point.x) for point in result.points))
    return {name: (by_place[name, cost], by_place[name, gain]) for name in names if (name, gain) in by_place}


def _undominated(means: Mapping[str, tuple[float, float]]) -> list[str]:
    """Learners than which none is both cheaper and better, the cheapest first."""
    return sorted(
        (
            name
            for name, (cost, gain) in means.items()
            if not any(c <= cost and g >= gain and (c, g) != (cost, gain) for c, g in means.values())
        ),
        key=lambda name: means[name][0],
    )


def _judge_front(cost: str, gain: str, study: Study, result: Result) -> tuple[str, str]:
    best = _undominated(_means(result, cost, gain))
    return f"{len(best)} learners on the front", f"none is both faster and better than {', '.join(best)}."


def _front_lines(cost: str, gain: str, study: Study, result: Result) -> list[str]:
    means = _means(result, cost, gain)
    best = _undominated(means)
    lines = [f"| learner | {cost} | {gain} |", "|---|--:|--:|"]
    for name in sorted(means, key=lambda name: -means[name][1]):
        mark = "**" if name in best else ""
        lines.append(f"| {mark}{name}{mark} | {means[name][0]:.3g} | {means[name][1]:.3f} |")
    return [*lines, "", "In bold: none is both faster and better.", ""]


def _draw_front(cost: str, gain: str, study: Study, result: Result, path: Path) -> None:
    means = _means(result, cost, gain)
    best = _undominated(means)
    figure = new_figure(7.5, 5)
    axes = figure.add_subplot()
    clean(axes)
    axes.plot(*zip(*(means[name] for name in best), strict=True), color=SOFT, linewidth=1, zorder=1)
    for name, (x, y) in means.items():
        axes.plot(x, y, "o", color=BLUE if name in best else SOFT, markersize=5)
        axes.annotate(name, (x, y), (4, 3), textcoords="offset points", fontsize=7, color=INK)
    axes.set_xscale("log")
    axes.set_xlabel(cost, color=INK, fontsize=9)
    axes.set_ylabel(f"mean {gain}", color=INK, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_of(figure), encoding="utf-8")
