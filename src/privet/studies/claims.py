"""What a paper says in words, as a test of points; and the verdict on a result, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from scipy.stats import wilcoxon

from privet.studies.results import Point, Result
from privet.studies.study import Study, Value

REPRODUCED, IN_PART, NOT = "reproduced", "reproduced in part", "not reproduced"
NOTHING = "nothing to compare"
BETTER, WORSE = "better", "worse"
LEAST = 0.0005
"""A difference that is spoken of."""

FEWEST_PAIRS = 6
"""Differences without which no test is made."""

NEARLY = 0.8
"""Share of printed numbers that are to be met."""

FURTHEST = 3
"""Numbers that are named among those which are missed."""

SURE = 2.0
"""Standard errors that a mean may be away from a printed number."""

Judged = tuple[bool, str]


class Points:
    """Points of a result, as claims look at them."""

    def __init__(self, study: Study, result: Result) -> None:
        self.study = study
        self.by_place = {(point.panel, point.x, point.way): point for point in result.points}
        self.places = list(dict.fromkeys((point.panel, point.x) for point in result.points))

    def mean(self, way: str, place: tuple[str, Value]) -> float | None:
        """Mean of a way at a place; None where it was not measured."""
        point = self.by_place.get((*place, way))
        return None if point is None else point.mean

    def gaps(self, way: str, of: str, wanted: Callable[[str, Value], bool]) -> list[float]:
        """By how much one way is ahead of another, at all places where both were measured."""
        pairs = [(self.mean(way, p), self.mean(of, p)) for p in self.places if wanted(*p)]
        sign = -1 if self.study.lower else 1
        return [sign * (a - b) for a, b in pairs if a is not None and b is not None]

    def chance(self, way: str, of: str, wanted: Callable[[str, Value], bool]) -> str:
        """How likely such differences are by chance: Wilcoxon's signed-rank test over pairs of values.

        Values of two ways at a place belong to the same rows, folds and seeds, one by one.
        """
        gaps: list[float] = []
        for place in self.places:
            both = self.by_place.get((*place, way)), self.by_place.get((*place, of))
            if wanted(*place) and both[0] and both[1] and len(both[0].values) == len(both[1].values):
                gaps += [a - b for a, b in zip(both[0].values, both[1].values, strict=True)]
        moved = [gap for gap in gaps if gap]
        if len(moved) < FEWEST_PAIRS:
            return ""
        return f", p = {wilcoxon(moved).pvalue:.1g} over {len(gaps)} pairs (Wilcoxon)"

    def told(self, gap: float) -> str:
        """A difference of scores in words."""
        return f"{round(100 * gap, 1) + 0.0:+.1f} points" if self.study.percent else f"{gap:+.3g}"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, or one of ours, and whether it holds; None where it was not measured."""

    text: str
    judge: Callable[[Points], Judged | None]
    ours: bool = False


def beyond(claim: Claim) -> Claim:
    """The same as a statement of ours, which the verdict on a paper does not count."""
    return replace(claim, ours=True)


def everywhere(panel: str, x: Value) -> bool:
    """All places."""
    return True


def at(*xs: Value) -> Callable[[str, Value], bool]:
    """Places with one of these x."""
    return lambda panel, x: x in xs


def within(*panels: str) -> Callable[[str, Value], bool]:
    """Places of one of these panels."""
    return lambda panel, x: panel in panels


def ahead(
    text: str, way: str, of: str, where: Callable[[str, Value], bool] = everywhere, most: bool = False
) -> Claim:
    """One way is ahead of another: in the mean, or at most places too."""

    def judge(points: Points) -> Judged | None:
        gaps = points.gaps(way, of, where)
        if not gaps:
            return None
        wins = sum(gap > 0 for gap in gaps)
        told = f"{points.told(fmean(gaps))} in the mean, ahead at {wins} of {len(gaps)} places"
        told += points.chance(way, of, where)
        return fmean(gaps) > 0 and (not most or 2 * wins > len(gaps)), told

    return Claim(text, judge)


def near(
    text: str, way: str, of: str, tolerance: float, where: Callable[[str, Value], bool] = everywhere
) -> Claim:
    """One way is about as good as another."""

    def judge(points: Points) -> Judged | None:
        gaps = points.gaps(way, of, where)
        return (abs(fmean(gaps)) <= tolerance, f"{points.told(fmean(gaps))} in the mean") if gaps else None

    return Claim(text, judge)


def moves(text: str, way: str, up: bool, where: Callable[[str, Value], bool] = everywhere) -> Claim:
    """A way's score rises (or falls) from the first x to the last, over all panels together."""

    def judge(points: Points) -> Judged | None:
        ends = []
        for panel in dict.fromkeys(panel for panel, _ in points.places):
            means = [points.mean(way, p) for p in points.places if p[0] == panel and where(*p)]
            known = [mean for mean in means if mean is not None]
            if len(known) > 1:
                ends.append(known[-1] - known[0])
        if not ends:
            return None
        return (fmean(ends) > 0) == up, f"{points.told(fmean(ends))} from the first to the last"

    return Claim(text, judge)


def least(text: str, way: str, number: float, where: Callable[[str, Value], bool] = everywhere) -> Claim:
    """A way's score is at least this."""

    def judge(points: Points) -> Judged | None:
        means = [points.mean(way, place) for place in points.places if where(*place)]
        known = [mean for mean in means if mean is not None]
        return (min(known) >= number, f"{min(known):.3f}") if known else None

    return Claim(text, judge)


def gap(
    text: str,
    way: str,
    of: str,
    bounds: tuple[float, float],
    where: Callable[[str, Value], bool] = everywhere,
) -> Claim:
    """One way is ahead of another by about so much in the mean."""

    def judge(points: Points) -> Judged | None:
        gaps = points.gaps(way, of, where)
        low, high = bounds
        return (low <= fmean(gaps) <= high, f"{points.told(fmean(gaps))} in the mean") if gaps else None

    return Claim(text, judge)


def narrower(text: str, way: str, than: str) -> Claim:
    """Values of one way lie closer together at the same place than those of another, in the mean."""

    def judge(points: Points) -> Judged | None:
        wide: dict[str, list[float]] = {way: [], than: []}
        for place in points.places:
            both = [points.by_place.get((*place, each)) for each in wide]
            if all(both):
                for each, point in zip(wide, both, strict=True):
                    wide[each].append(point.box[4] - point.box[0] if point else 0.0)
        if not wide[way]:
            return None
        a, b = fmean(wide[way]), fmean(wide[than])
        return a < b, f"{a:.3f} from the least to the greatest, against {b:.3f}"

    return Claim(text, judge)


@dataclass(frozen=True)
class Verdict:
    """What a result comes to: one of four outcomes, and a sentence."""

    outcome: str
    sentence: str
    judged: Sequence[tuple[Claim, Judged | None]]


def compared(study: Study, result: Result) -> list[tuple[Point, float]]:
    """Points for which the paper prints a number."""
    return [
        (point, study.paper[point.panel, point.x, point.way])
        for point in result.points
        if (point.panel, point.x, point.way) in study.paper
    ]


def verdict(study: Study, result: Result) -> Verdict:
    """Judge a result by printed numbers first, by what the paper says where it prints none."""
    if study.view:
        return Verdict(*study.view.judge(study, result), ())
    points = Points(study, result)
    pairs, judged = compared(study, result), [(claim, claim.judge(points)) for claim in study.claims]
    known = [each for claim, each in judged if each is not None and not claim.ours]
    parts, outcome = [], REPRODUCED
    if pairs:
        gaps = [(-1 if study.lower else 1) * (point.mean - paper) for point, paper in pairs]
        close = [_is_met(study, point, paper) for point, paper in pairs]
        outcome = _outcome(gaps, close, study)
        own = ", the paper's own margin" if study.margins else ""
        parts.append(
            f"{sum(close)} of {len(pairs)} printed numbers are met "
            f"(within {points.told(study.tolerance)[1:]}{own} or {SURE:g} standard errors), "
            f"{points.told(fmean(gaps))} in the mean{_furthest(study, pairs, close)}"
        )
    if known:
        held = sum(holds for holds, _ in known)
        parts.append(f"{held} of {len(known)} statements of the paper hold")
        outcome = outcome if pairs or held == len(known) else NOT if held == 0 else IN_PART
    strict = points.gaps(study.strict, study.published, everywhere) if study.strict else []
    if strict:
        promise = study.promises[study.published]
        behind = f": {study.behind}" if fmean(strict) <= -LEAST and study.behind else ""
        parts.append(
            f"strict is {points.told(fmean(strict))} against as published ({promise}) in the mean{behind}"
        )
    if not pairs and not known:
        parts.insert(0, "nothing is printed or stated that could be tested")
        outcome = NOTHING
    return Verdict(outcome, "; ".join(parts) + ".", judged)


def _is_met(study: Study, point: Point, paper: float) -> bool:
    """Whether a mean is near a printed number, as far as either is known."""
    margin = study.margins.get((point.panel, point.x, point.way), 0.0)
    return abs(point.mean - paper) <= max(study.tolerance, margin, SURE * point.error)


def _furthest(study: Study, pairs: Sequence[tuple[Point, float]], close: Sequence[bool]) -> str:
    """The numbers that are missed by most."""
    missed = [pair for pair, met in zip(pairs, close, strict=True) if not met]
    missed.sort(key=lambda pair: -abs(pair[0].mean - pair[1]))
    told = [
        f"{' '.join(filter(None, [p.panel, str(p.x), p.way]))} {p.mean:.3g} (paper {paper:.3g})"
        for p, paper in missed[:FURTHEST]
    ]
    return f"; furthest: {', '.join(told)}" if told else ""


def _outcome(gaps: Sequence[float], close: Sequence[bool], study: Study) -> str:
    """Reproduced where nearly all numbers are met; else on which side they lie."""
    if sum(close) >= NEARLY * len(close):
        return REPRODUCED
    if study.neutral:
        return IN_PART if any(close) else NOT
    far = [gap for gap, met in zip(gaps, close, strict=True) if not met]
    if all(gap > 0 for gap in far):
        return BETTER
    if all(gap < 0 for gap in far):
        return WORSE
    mean, most = fmean(gaps), study.tolerance
    return BETTER if mean > most else WORSE if mean < -most else IN_PART
