"""Finding: what a contract leaves open, and where people are in public ranges that may be far too wide.

A learner's first questions, at a stated share of its budget. It goes on with the rows as they are read under
what was found, and with what is left of the budget. Proof note: ``docs/proofs/finding.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, inf, isinf
from typing import Any

import numpy as np

from privet.answers import CommonKeys
from privet.learners.purse import Purse, sd_of
from privet.learners.whereabouts import Place, Ranks, found_place, line_edges
from privet.model import PrivacyCard
from privet.privacy import Charge, Protected
from privet.privacy.questions.columns import RowCount
from privet.privacy.questions.finding import CommonValues, RangeRows, threshold
from privet.schema import MAX_CATEGORIES, Categorical, Continuous, Feature, Schema
from privet.structure import Bins

RANGE_SHARE, VALUE_SHARE = Fraction(1, 10), Fraction(1, 20)
"""What finding open ranges, and open categories, has of the budget."""

COUNT_SHARE = Fraction(1, 100)
"""What the number of rows has of it, where all ranges are stated, to see whether looking pays."""

ENOUGH_ROWS, LEAST_ROWS = 25, 15
"""Rows by deviation of a cell's noise with which that question tells where people are, and below which it
says too little to be asked."""

MOST_ZOOM = 6
"""Hundredths of the budget that it may have."""

FINDING_PART = Fraction(1, 10)
"""Part of δ that is set aside to find values."""

FEW_VALUES = 64
"""A stated range of no more values is taken as it is."""

FEWEST_CELLS = 8
"""A range with fewer cells to look into is taken as it is."""

REST = "learning, under what was found"
NONE_FOUND = "(no common value)"
GUESSED_VALUES = 10
"""Values that a plan supposes an open feature to have."""

Stamp = Callable[[Mapping[str, Any]], PrivacyCard]


@dataclass(frozen=True)
class Given:
    """What a learner begins with: rows with nothing left open, and what it may spend.

    Attributes
    ----------
    rows : Protected
    purse : Purse
    stamp : callable
        Makes the privacy card, of everything that was asked.
    ranks : sequence
        About which share of the rows lies below each code of each feature; empty where that was not asked.
    searched : bool
        Whether something was asked before, so that the budget is settled on a law.
    """

    rows: Protected
    purse: Purse
    stamp: Stamp
    ranks: Ranks = ()
    searched: bool = False


@dataclass(frozen=True)
class Search:
    """What is to be found, and what that costs: from public quantities alone.

    Attributes
    ----------
    schema : Schema
    ranges, values : tuple of int
        Features whose whereabouts, and whose common values, are asked for; where all ranges are stated the
        former are, if rows are enough.
    purse : Purse
        The whole budget.
    delta : Fraction
        What of δ is set aside for the values.
    """

    schema: Schema
    ranges: tuple[int, ...]
    values: tuple[int, ...]
    purse: Purse
    delta: Fraction

    @property
    def counts(self) -> bool:
        """Whether rows are counted first, to see whether anything is worth asking."""
        return bool(self.ranges) and not self._n_open

    @property
    def n_ranges(self) -> int:
        """How many ranges are asked for, the target's among them."""
        return len(self.ranges) + self.schema.target_is_open

    def range_share(self, n_rows: float) -> Fraction:
        """Share of the question where people are, for a noisy or public number of rows."""
        if not self.counts:
            return RANGE_SHARE if self.n_ranges else Fraction(0)
        sd = sd_of(RangeRows.plan(self.purse.cost(Fraction(1)), self.n_ranges))

        def hundredths(deviations: int) -> int:
            needed = deviations * sd / max(n_rows, 1.0)
            return ceil(100 * min(needed if self.purse.pure else needed**2, 1.0))

        if hundredths(LEAST_ROWS) > MOST_ZOOM:
            return Fraction(0)
        return Fraction(min(hundredths(ENOUGH_ROWS), MOST_ZOOM), 100)

    def rest(self, n_rows: float) -> Purse:
        """What the learner goes on with."""
        spent = self.range_share(n_rows) + self.counts * COUNT_SHARE + bool(self.values) * VALUE_SHARE
        return replace(self.purse, total=self.purse.total * (1 - spent))

    def charges(self, n_rows: float) -> list[Charge]:
        """The questions, in order; refused where no δ pays for one."""
        charges = [RowCount().charge(self.schema, self.purse.cost(COUNT_SHARE))] * self.counts
        if share := self.range_share(n_rows):
            charges.append(RangeRows.plan(self.purse.cost(share), self.n_ranges))
        if self.values:
            cost = self.purse.cost(VALUE_SHARE).with_delta(self.delta)
            threshold(cost, len(self.values))
            charges.append(CommonValues.plan(cost, len(self.values)))
        return charges

    @property
    def facts(self) -> dict[str, int]:
        """What a plan tells of it."""
        facts = {}
        if self._n_open:
            facts["ranges to be found"] = self._n_open
        if self.values:
            facts["lists of categories to be found"] = len(self.values)
            cost = self.charges(1)[-1].cost
            facts["rows that a category needs to be found, about"] = threshold(cost, len(self.values))
        return facts

    @property
    def _n_open(self) -> int:
        return sum(self.schema.features[j].is_open for j in self.ranges) + self.schema.target_is_open


def guessed(schema: Schema) -> Schema:
    """A contract of the same columns with nothing open, to plan by."""
    guesses: dict[int, Feature] = {}
    for j, feature in enumerate(schema.features):
        if isinstance(feature, Categorical) and feature.is_open:
            names = [f"value {i + 1}" for i in range(GUESSED_VALUES)]
            guesses[j] = replace(feature, categories=names, missing=True)
        elif isinstance(feature, Continuous) and feature.is_open:
            guesses[j] = replace(feature, lower=0, upper=999 if feature.integer else 1)
    if schema.target_is_open:
        guesses[len(schema.features)] = replace(schema.target, lower=0, upper=999)
    return schema.filled(guesses)


def search_of(schema: Schema, purse: Purse, delta: Fraction, zooms: bool) -> Search | None:
    """What there is to be found before a learner begins, if there is anything."""
    ranges = tuple(j for j, feature in enumerate(schema.features) if _is_asked(feature, zooms))
    values = tuple(
        j for j, feature in enumerate(schema.features) if feature.is_open and isinstance(feature, Categorical)
    )
    search = Search(schema, ranges, values, purse, delta)
    return search if search.n_ranges or values else None


def _is_asked(feature: Feature, zooms: bool) -> bool:
    if not isinstance(feature, Continuous):
        return False
    if feature.is_open:
        return True
    return zooms and feature.n_cells > FEW_VALUES and len(line_edges(feature)) > FEWEST_CELLS


def find(protected: Protected, search: Search) -> tuple[Protected, Purse, Ranks]:
    """Charge the whole fit, ask, and return the rows under what was found, and what is left to spend.

    Privacy
    -------
    One question for all ranges, and one for all lists of categories; what is left of the charge goes along
    to the rows that are returned. Proofs: *Reading again*, *Rows by range*, *Common values*.
    """
    schema = protected.schema
    rows = protected.under(schema.filled({j: _range(schema, j).opened for j in search.ranges}))
    n_rows = inf
    if search.counts:
        count = search.charges(1)[0]
        left = search.purse.cost(1 - COUNT_SHARE).with_delta(search.delta)
        rows.reserve([count, Charge(REST, left)])
        n_rows = float(rows.ask(RowCount(), count.cost).values.sum())
        rows.refine(_planned(search, n_rows)[1:])
    else:
        rows.reserve(_planned(search, n_rows))
    found: dict[int, Feature] = {}
    ranks: list[np.ndarray | None] = [None] * len(schema.features)
    for charge in search.charges(n_rows):
        if charge.kind is RangeRows:
            for j, place in _places(rows, search, charge, n_rows).items():
                if j < len(ranks):
                    ranks[j] = place.ranks
                if place.feature is not _range(schema, j):
                    found[j] = place.feature
        elif charge.kind is CommonValues:
            common = rows.ask(CommonValues(search.values), charge.cost)
            found |= {j: _listed(schema.features[j], common, j) for j in search.values}
    return rows.under(schema.filled(found)), search.rest(n_rows), ranks


def _planned(search: Search, n_rows: float) -> list[Charge]:
    return [*search.charges(n_rows), _reserve(search.rest(n_rows))]


def _reserve(rest: Purse) -> Charge:
    return Charge(REST, rest.cost(Fraction(1)))


def _range(schema: Schema, j: int) -> Continuous:
    """A feature that holds numbers, or the target, which stands behind them."""
    feature = schema.features[j] if j < len(schema.features) else schema.target
    assert isinstance(feature, Continuous)
    return feature


def _places(rows: Protected, search: Search, charge: Charge, n_rows: float) -> dict[int, Place]:
    """Where people are, by feature; ``n_rows`` is infinite where nobody counted."""
    schema = search.schema
    last = [len(schema.features)] if schema.target_is_open else []
    edges = {j: line_edges(_range(schema, j)) for j in (*search.ranges, *last)}
    target = tuple(edges[j][1:-1].tolist() for j in last)
    question = RangeRows(_line_bins(rows.schema, edges), search.ranges, target[0] if target else ())
    answer = rows.ask(question, charge.cost).values.astype(np.float64)
    sd, parts, at = sd_of(charge), {}, 0
    for j in edges:
        size = len(edges[j]) - 1
        parts[j] = answer[at : at + size]
        # A cell of missing values follows, which a target has none of.
        at += size + 1
    if isinf(n_rows):
        n_rows = float(np.median([part.sum() for part in parts.values()]))
    law = sd, max(n_rows, 1.0), search.purse.pure
    return {j: found_place(_range(schema, j), part, *law) for j, part in parts.items()}


def _line_bins(schema: Schema, edges: Mapping[int, np.ndarray]) -> Bins:
    """Cells of the features that are asked about, and one for missing values; a single one of any other."""
    tables, sizes = [], []
    for j, feature in enumerate(schema.features):
        if j in edges:
            codes = np.arange(feature.n_codes)
            tables.append(np.searchsorted(edges[j], codes, side="right") - 1)
            sizes.append(len(edges[j]))
        else:
            tables.append(np.zeros(feature.n_codes, np.int64))
            sizes.append(1)
    return Bins.of(tables, sizes)


def _listed(feature: Feature, common: CommonKeys, j: int) -> Categorical:
    """An open feature with the values that were found; all others are treated as missing."""
    assert isinstance(feature, Categorical)
    names = [text for text, _ in common.of(j)][:MAX_CATEGORIES]
    before = feature.declared or feature
    return Categorical(feature.name, names or [NONE_FOUND], declared=before)
