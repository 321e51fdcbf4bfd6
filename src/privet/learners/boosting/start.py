"""A public start: how far another model can be trusted on these rows, asked of them, and both as one.

The start and what the rows taught are weighed by one noisy table of rows by cell of both scores. A start
that does not clearly tell the label is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from privet.answers import NoisySums
from privet.errors import QuestionError, SchemaError
from privet.learners.boosting.loss import Loss
from privet.learners.boosting.merge import Common, Part, drawn_scores, merged, scaled
from privet.learners.boosting.numbers import Numbers
from privet.learners.boosting.trust import Trust, weighed
from privet.learners.purse import Purse, sd_of
from privet.model import AdditiveModel, AdditiveNumbers, released
from privet.privacy import Charge, Protected
from privet.privacy.laws import WIDEST_VARIANCE
from privet.privacy.question import Question
from privet.privacy.questions.pairs import PairRows, PairTargetRows
from privet.schema import Schema, Target

MOST_CELLS = 4
"""Of either score: parts of made-up rows that are equally many."""

FEWER = ((0.0, 2), (3.0, 3), (5.0, MOST_CELLS))
"""How many there are, from so many rows by deviation of noise on, were there most: fewer have less noise."""

CLEAR_ROWS = 2.5
"""Rows by deviation of a cell's noise, were there most, that are worth paying for."""

LEAST_ROWS = 0.25
"""The same, below which nothing is asked, and the start is left out."""

FEWEST_PASSES = 2
"""Questions after the labels, when their number is limited: cells, and this one."""

LEAST_SHARE, MOST_SHARE = Fraction(1, 50), Fraction(2, 25)

DRAWN = 8192
"""Made-up rows by which cells are cut."""

LEAST_DRAWN = 20
"""Made-up rows of a cell from which on their own mean scores are taken for those of its rows."""

TOGETHER, LIKELY = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7), 0.2
"""Correlations of features that are tried, and the one by which cells are cut."""

MISFIT = 0.02
"""Share of the rows by which a cell of made-up ones may be wrong, whatever the noise."""


@dataclass(frozen=True)
class Start:
    """Another model of the same columns, and what a card says of it."""

    part: Part
    told: dict[str, Any]


def started(start: Any, protected: Protected, passes: int | None, public: bool = False) -> Start:
    """A start that fits, or a refusal while that is free."""
    model, schema = released(start), protected.schema
    told: dict[str, Any]
    check_closed(schema)
    wanted = AdditiveNumbers if isinstance(schema.label, Target) else AdditiveModel
    if not isinstance(model, wanted):
        raise QuestionError("a start is a model of boosting that predicts the same.", "fit it by boosting.")
    if (model.schema.features, model.schema.label) != (schema.features, schema.label):
        raise SchemaError(
            "the start reads its rows under another schema than these.",
            "fit it under the same features and label.",
        )
    if schema.n_scores == 1 and not isinstance(schema.label, Target) and schema.n_labels < 2:
        raise QuestionError("one label alone needs no start.", "leave it out.")
    if passes is not None and passes < FEWEST_PASSES:
        raise QuestionError(
            "a start takes a question of its own.", f"give passes of at least {FEWEST_PASSES}, or none."
        )
    card = model.card
    told = {
        "epsilon": card.epsilon,
        "delta": card.delta,
        "account": card.account,
        "receipt": card.receipt,
        "private": card.private,
        "caveats": list(card.caveats),
        "same account": card.account == protected.account_name,
    }
    if public:
        told = {"public": True}
    return Start(Part(model.additive, model.bin_shares, model.bands), told)


def check_closed(schema: Schema) -> None:
    """Refuse ranges and categories that are to be found: under these a start would read otherwise."""
    if schema.open_features or schema.target_is_open:
        raise SchemaError(
            "a start needs all bounds and categories to be stated.",
            "fill in those of the start's own schema.",
        )


def told_of(trust: Trust | None) -> dict[str, Any]:
    """What a card says of the weights that were found."""
    if trust is None:
        return {"trust": "not asked: too few rows"}
    if not trust.accepted:
        return {"trust": "refused"}
    return {"trust": "accepted", "weight": trust.start, "own weight": trust.own}


def start_charge(purse: Purse, loss: Loss, share: Fraction) -> list[Charge]:
    """The question, if it is asked."""
    if not share:
        return []
    cost = purse.cost(share)
    return [PairTargetRows.plan(cost) if isinstance(loss, Numbers) else PairRows.plan(cost, loss.n_labels)]


def start_share(purse: Purse, n_rows: float, loss: Loss) -> Fraction:
    """Share of the question: as little as tells enough, or 0 where the answer would be noise."""
    clear = _clear_rows(purse, n_rows, loss, MOST_SHARE)
    if clear < LEAST_ROWS:
        return Fraction(0)
    # Laplace noise falls with the share, Gaussian noise with its root.
    wanted = Fraction(CLEAR_ROWS / clear).limit_denominator(1000) ** (1 if purse.pure else 2)
    share = min(max(MOST_SHARE * wanted, LEAST_SHARE), MOST_SHARE)
    can_be_drawn = purse.pure or sd_of(start_charge(purse, loss, share)[0]) <= sqrt(WIDEST_VARIANCE)
    return share if can_be_drawn else Fraction(0)


def start_cells(purse: Purse, n_rows: float, loss: Loss, share: Fraction) -> int:
    """Parts that either score is cut into."""
    clear = _clear_rows(purse, n_rows, loss, share)
    return [cells for least, cells in FEWER if clear >= least][-1]


def _clear_rows(purse: Purse, n_rows: float, loss: Loss, share: Fraction) -> float:
    """Rows by deviation of a cell's noise, were there most cells."""
    weight = max(loss.n_labels - 1, 1)
    return max(n_rows, 1.0) * weight / MOST_CELLS**2 / sd_of(start_charge(purse, loss, share)[0])


def stacked(
    start: Part, own: Part, schema: Schema, loss: Loss, n_cells: int, ask: Callable[[Question[Any]], Any]
) -> tuple[Part, Trust]:
    """Both models as one, and the weights that were found; ``own`` as it is where the start is refused."""
    if isinstance(loss, Numbers):
        start = scaled(start, 1 / loss.unit)
    common = Common.of(start, own, schema)
    edges = [_edges(column, n_cells) for column in _drawn(start, own, common, LIKELY)]
    noisy = ask(_question(start, own, edges, loss))
    sd = noisy.sd if isinstance(noisy, NoisySums) else sqrt(noisy.variance)
    rows = noisy.values.sum(axis=1)
    drawn = [_drawn(start, own, common, together) for together in TOGETHER]
    places = _places(drawn, edges, rows, sd * sqrt(noisy.values.shape[1]))
    trust = weighed(places, noisy.values, sd, loss)
    if not trust.accepted:
        return own, trust
    shift = np.full(len(own.additive.intercept), trust.shift)
    return merged(start, own, common, (trust.start, trust.own), shift), trust


def _question(start: Part, own: Part, edges: list[np.ndarray], loss: Loss) -> Question[Any]:
    if isinstance(loss, Numbers):
        first, second = loss.released(start.additive), loss.released(own.additive)
        told = [(loss.unit * of).tolist() for of in edges]
        return PairTargetRows(first, second, told[0], told[1], loss.width)
    return PairRows(start.additive, own.additive, edges[0].tolist(), edges[1].tolist())


def _contrasts(scores: np.ndarray) -> np.ndarray:
    """Differences of every two labels' scores, both ways, ``(rows, 1)``."""
    first, second = np.triu_indices(scores.shape[1], 1)
    above = (scores[:, first] - scores[:, second]).ravel()
    return np.concatenate([above, -above])[:, None]


def _edges(column: np.ndarray, n_cells: int) -> np.ndarray:
    """Equal parts of a score; further apart than nothing where it hardly differs."""
    found = np.quantile(column, np.arange(1, n_cells) / n_cells)
    least = 1e-6 * max(1.0, float(np.abs(found).max()))
    return np.asarray(found + least * (np.arange(1, n_cells) - n_cells / 2))


def _drawn(start: Part, own: Part, common: Common, together: float) -> list[np.ndarray]:
    """Scores of made-up rows under either model; of several labels their contrasts."""
    scores = drawn_scores((start, own), common, DRAWN, together)
    return [(_contrasts(of) if of.shape[1] > 1 else of)[:, 0] for of in scores]


def _places(
    drawn: list[list[np.ndarray]], edges: list[np.ndarray], noisy_rows: np.ndarray, sd: float
) -> np.ndarray:
    """Mean scores of rows in every cell, ``(cells, 2)``: by made-up ones, correlated as is likely."""
    total = max(float(noisy_rows.sum()), sd, 1.0)
    tables = [_table(columns, edges) for columns in drawn]
    misfit = np.array([((noisy_rows / total - shares) ** 2).sum() for _, shares in tables])
    odds = np.exp(-(misfit - misfit.min()) / (2 * ((sd / total) ** 2 + MISFIT**2)))
    return np.asarray(
        sum(weight * places for weight, (places, _) in zip(odds / odds.sum(), tables, strict=True))
    )


def _table(columns: list[np.ndarray], edges: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean scores of the made-up rows in every cell, and their shares."""
    n_cells = len(edges[0]) + 1
    across, along = (np.searchsorted(e, c, side="right") for c, e in zip(columns, edges, strict=True))
    alone = [_means(column, cell, n_cells) for column, cell in zip(columns, (across, along), strict=True)]
    places = np.stack([np.repeat(alone[0], n_cells), np.tile(alone[1], n_cells)], axis=1)
    cell = across * n_cells + along
    held = np.bincount(cell, minlength=n_cells**2)
    for k, column in enumerate(columns):
        clear = held >= LEAST_DRAWN
        places[clear, k] = _means(column, cell, n_cells**2)[clear]
    return places, held / held.sum()


def _means(column: np.ndarray, cell: np.ndarray, n: int) -> np.ndarray:
    return np.asarray(np.bincount(cell, column, n) / np.maximum(np.bincount(cell, minlength=n), 1))
