"""Choices among thresholds: which ranges of equal score a leaf has, and how far two of them are apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privet.audit.exact import Law
from privet.audit.exponentials import exponential
from privet.noise.ranges import Locate, WeightTable

Range = tuple[int, int, int]
"""First and last threshold, and the score that they share."""

Choices = dict[int, tuple[Range, ...]]
"""Ranges of every choice that a leaf may take; a choice without thresholds has one range, (0, 0)."""


def ranges_of(
    best: np.ndarray, mass: np.ndarray, thresholds: np.ndarray, locate: Locate, table: WeightTable
) -> list[Choices]:
    """Ranges of equal score of every leaf, found through the mechanism's own look-up."""
    leaves = []
    for leaf in range(len(best)):
        choices: Choices = {}
        for choice in np.flatnonzero(mass[leaf]).tolist():
            score, size = int(best[leaf, choice]), int(thresholds[leaf, choice])
            choices[choice] = _walk(leaf, choice, score, size, locate, table) if size else ((0, 0, score),)
        leaves.append(choices)
    return leaves


def _walk(
    leaf: int, choice: int, best: int, size: int, locate: Locate, table: WeightTable
) -> tuple[Range, ...]:
    """Ranges of one choice: thresholds follow each other, each as wide as the weight of its gap."""

    def at(point: int) -> tuple[int, int]:
        threshold, gap, _ = locate(np.array([leaf]), np.array([choice]), np.array([point]))[:, 0].tolist()
        return threshold, gap

    found: list[Range] = []
    point, left = 0, size
    while left:
        first, gap = at(point)
        width = table.bound(gap)
        low, high = 1, left
        while low < high:
            middle = (low + high + 1) // 2
            alike = at(point + (middle - 1) * width) == (first + middle - 1, gap)
            low, high = (middle, high) if alike else (low, middle - 1)
        found.append((first, first + low - 1, best - gap))
        point, left = point + low * width, left - low
    return tuple(found)


def refined(a: Choices, b: Choices) -> list[tuple[int, int, int, int, int]]:
    """Ranges on which both scores are constant: choice, first, last, and the two scores."""
    out = []
    for choice in a:
        starts = sorted({first for first, _, _ in (*a[choice], *b[choice])})
        last = a[choice][-1][1]
        ends = [start - 1 for start in starts[1:]] + [last]
        out += [
            (choice, start, end, _score(a[choice], start), _score(b[choice], start))
            for start, end in zip(starts, ends, strict=True)
        ]
    return out


def _score(ranges: tuple[Range, ...], threshold: int) -> int:
    return next(score for first, last, score in ranges if first <= threshold <= last)


def laws_of(a: Choices, b: Choices, rate: Fraction) -> tuple[Law, Law]:
    """Weights of all refined ranges on two tables; a choice's thresholds share the weight of one."""
    listed = refined(a, b)
    sizes = {choice: ranges[-1][1] - ranges[0][0] + 1 for choice, ranges in a.items()}
    shares = {each[:3]: Fraction(each[2] - each[1] + 1, sizes[each[0]]) for each in listed}
    laws: list[Law] = []
    for scores in ({each[:3]: each[3] for each in listed}, {each[:3]: each[4] for each in listed}):
        top = max(scores.values())
        laws.append({key: exponential(rate * (top - scores[key])) * shares[key] for key in scores})
    return laws[0], laws[1]


def drawn(choices: Choices, random: np.random.Generator) -> tuple[int, int]:
    """Some choice and threshold: any may come out."""
    choice = list(choices)[int(random.integers(len(choices)))]
    first, last, _ = choices[choice][int(random.integers(len(choices[choice])))]
    return choice, int(random.integers(first, last + 1))
