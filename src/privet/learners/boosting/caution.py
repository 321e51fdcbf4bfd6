"""How sure of several labels a model should be: one factor for all its scores, by how often it is right.

Steps that are safe wherever rows are leave scores too close together where labels are told apart easily, and
too far apart where noise is much of what was learnt. By how much, one count at the end can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from privet.learners.boosting.loss import Labels, Loss
from privet.learners.boosting.merge import Common, Part, drawn_scores, scaled
from privet.learners.boosting.numbers import Numbers
from privet.learners.purse import LEAST_SD, Purse, sd_of
from privet.privacy import Charge
from privet.privacy.question import Question
from privet.privacy.questions.scores import SureRows
from privet.schema import Schema

SHARES = (Fraction(1, 100), Fraction(1, 50), Fraction(1, 25))
"""What the question may have: the first that tells enough."""

LEAST_ROWS = (120, 60, 20)
"""Rows by deviation of a number's noise from which on each of them does."""

FEWEST_PASSES = 4
"""Questions after the labels, when their number is limited, of which this may be one."""

FACTORS = np.geomspace(0.4, 4.0, 93)
"""By which scores may be multiplied."""

SPREAD = 0.35
"""Deviation of the logarithm of the right factor, about 0, before the rows are asked."""

OPTIMISM, OF_SHAPES = 0.75, 32
"""How far rows that taught a model flatter it: the slope that is no more than that, for a leaf of a round's
trees each, and for as many as the shapes count, where both labels are equally likely."""

PARTS = 8
"""Of made-up rows, equally many, by how sure the model is of them; two cells of surer rows come after."""

DRAWN, LIKELY = 2048, 0.2
"""Made-up rows, and the correlation of their features."""

LEAST_DRAWN = 20
"""Made-up rows of a cell from which on they stand for its rows."""

SUREST = 12.0
"""Log-odds beyond which cells are not cut."""


def caution_share(purse: Purse, n_rows: float, loss: Loss, passes: int | None) -> Fraction:
    """Share of the question, or 0 where there are no several labels or the answer would be noise."""
    too_few = passes is not None and passes < FEWEST_PASSES
    if isinstance(loss, Numbers) or loss.n_labels <= 2 or too_few:
        return Fraction(0)
    for share, least in zip(SHARES, LEAST_ROWS, strict=True):
        if n_rows * loss.balance >= least * sd_of(SureRows.plan(purse.cost(share))):
            return share
    return Fraction(0)


def caution_charge(purse: Purse, share: Fraction) -> list[Charge]:
    """The question, if it is asked."""
    return [SureRows.plan(purse.cost(share))] if share else []


def sharpened(
    part: Part, schema: Schema, loss: Labels, n_leaves: int, ask: Callable[[Question[Any]], Any]
) -> tuple[Part, float]:
    """A model whose scores are multiplied by what the rows say, and that factor.

    ``n_leaves`` is that of one tree of each round.
    """
    common = Common.of(part, part, schema)
    sure, rivals = _sureness(drawn_scores((part,), common, DRAWN, LIKELY)[0])
    edges = _edges(sure)
    noisy = ask(SureRows(part.additive, loss.share_of(edges)[0].tolist()))
    places = _places(np.searchsorted(edges, sure, side="right"), sure, rivals, edges)
    factor = factor_by(*places, noisy.values, max(sqrt(noisy.variance), LEAST_SD), loss, n_leaves)
    return scaled(part, factor), factor


def _sureness(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of each row's likeliest label, and the logarithm of how many others share the rest."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = np.sort(shares / shares.sum(axis=1, keepdims=True), axis=1)
    rest = np.maximum(shares[:, :-1], 1e-300)
    total = rest.sum(axis=1, keepdims=True)
    rivals = -(rest / total * np.log(rest / total)).sum(axis=1)
    return np.log(shares[:, -1]) - np.log(total[:, 0]), rivals


def _edges(sure: np.ndarray) -> np.ndarray:
    """Equal parts of made-up rows, a little apart at least; real ones may be surer."""
    parts = np.minimum(np.quantile(sure, np.arange(1, PARTS) / PARTS), SUREST)
    return np.append(parts, parts[-1] + np.array([1.0, 2.0])) + 0.01 * np.arange(PARTS + 1)


def _places(
    cells: np.ndarray, sure: np.ndarray, rivals: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean sureness and rivals in every cell: of made-up rows, or what is likely where these are few."""
    held = np.bincount(cells, minlength=len(edges) + 1)
    n, many = np.maximum(held, 1), held >= LEAST_DRAWN
    middle = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:] + 0.5])
    places = np.where(many, np.bincount(cells, sure, len(n)) / n, middle)
    return places, np.where(many, np.bincount(cells, rivals, len(n)) / n, rivals.mean())


def factor_by(
    sure: np.ndarray, rivals: np.ndarray, noisy: np.ndarray, sd: float, loss: Labels, n_leaves: int
) -> float:
    """Factor at which the log loss of noisy rows by cell and by whether they were told rightly is least.

    What is taken for it is where the slope of the log loss is nothing beside its own noise, less likely the
    further from 1. The slope is not weighted by what is known of each cell: no factor is right for all. What
    rows that the model learnt from flatter it by is taken off.
    """
    wrong, right = noisy[:, 0], noisy[:, 1]
    rows = np.maximum(wrong + right, 0.0)
    # Far cells that hold next to nobody would add nothing but noise.
    away = (sure + rivals) * rows**2 / (rows**2 + 2 * sd**2)
    share, steepness = loss.share_of(FACTORS[:, None] * (sure + rivals) - rivals)
    up, down = steepness / share, steepness / np.maximum(1 - share, 1e-12)
    unsure = (share * (1 - share)) @ rows / max(rows.sum(), 1.0)
    slope = (up * right - down * wrong) @ away - 4 * OPTIMISM * (n_leaves + OF_SHAPES) * unsure
    spread = rows * share * (1 - share) * (up + down) ** 2 + sd**2 * (up**2 + down**2)
    logs = np.log(FACTORS)
    odds = -0.5 * (slope**2 / (spread @ away**2 + 1e-9) + (logs / SPREAD) ** 2)
    odds = np.exp(odds - odds.max())
    return float(np.exp(odds @ logs / odds.sum()))
