"""Finding: what a contract leaves open, and where people are in public ranges that may be far too wide.

A learner's first questions, at a stated share of its budget. It goes on with the rows as they are read under
what was found, and with what is left of the budget. Proof note: ``docs/proofs/finding.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.answers import CommonKeys
from privet.learners.purse import Purse, sd_of
from privet.learners.whereabouts import Place, Ranks, found_place, line_edges
from privet.model import PrivacyCard
from privet.privacy import Charge, Protected
from privet.privacy.questions.finding import CommonValues, RangeRows, threshold
from privet.schema import MAX_CATEGORIES, Categorical, Continuous, Feature, Schema
from privet.structure import Bins

RANGE_SHARE, VALUE_SHARE = Fraction(1, 10), Fraction(1, 20)
"""What finding open ranges, and open categories, has of the budget."""

ZOOM_SHARE = Fraction(3, 100)
"""What looking where people are has of it, where all ranges are stated."""

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
        Features whose whereabouts, and whose common values, are asked for.
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
    def spent(self) -> Fraction:
        """Share of the budget."""
        return self._range_share + (VALUE_SHARE if self.values else 0)

    @property
    def rest(self) -> Purse:
        """What the learner goes on with."""
        return Purse(self.purse.total * (1 - self.spent), self.purse.pure)

    @property
    def charges(self) -> list[Charge]:
        """The questions, in order; refused where no δ pays for one."""
        charges = []
        if self.ranges:
            charges.append(RangeRows.plan(self.purse.cost(self._range_share), len(self.ranges)))
        if self.values:
            cost = self.purse.cost(VALUE_SHARE).with_delta(self.delta)
            threshold(cost, len(self.values))
            charges.append(CommonValues.plan(cost, len(self.values)))
        return charges

    @property
    def facts(self) -> dict[str, int]:
        """What a plan tells of it."""
        facts = {}
        if opened := self._open_ranges:
            facts["ranges to be found"] = len(opened)
        if self.values:
            facts["lists of categories to be found"] = len(self.values)
            facts["rows that a category needs to be found, about"] = threshold(
                self.charges[-1].cost, len(self.values)
            )
        return facts

    @property
    def guessed(self) -> Schema:
        """A contract of the same columns with nothing open, to plan by."""
        guesses: dict[int, Feature] = {}
        for j, feature in enumerate(self.schema.features):
            if isinstance(feature, Categorical) and feature.is_open:
                names = [f"value {i + 1}" for i in range(GUESSED_VALUES)]
                guesses[j] = replace(feature, categories=names, missing=True)
            elif isinstance(feature, Continuous) and feature.is_open:
                guesses[j] = replace(feature, lower=0, upper=999 if feature.integer else 1)
        return self.schema.filled(guesses)

    @property
    def _open_ranges(self) -> list[int]:
        return [j for j in self.ranges if self.schema.features[j].is_open]

    @property
    def _range_share(self) -> Fraction:
        if not self.ranges:
            return Fraction(0)
        return RANGE_SHARE if self._open_ranges else ZOOM_SHARE


def search_of(schema: Schema, purse: Purse, delta: Fraction, zooms: bool) -> Search | None:
    """What there is to be found before a learner begins, if there is anything."""
    ranges = tuple(j for j, feature in enumerate(schema.features) if _is_asked(feature, zooms))
    values = tuple(
        j for j, feature in enumerate(schema.features) if feature.is_open and isinstance(feature, Categorical)
    )
    return Search(schema, ranges, values, purse, delta) if ranges or values else None


def _is_asked(feature: Feature, zooms: bool) -> bool:
    if not isinstance(feature, Continuous):
        return False
    if feature.is_open:
        return True
    return zooms and feature.n_cells > FEW_VALUES and len(line_edges(feature)) > FEWEST_CELLS


def find(protected: Protected, search: Search) -> tuple[Protected, Ranks]:
    """Charge the whole fit, ask, and return the rows as they are read under what was found.

    Privacy
    -------
    One question for all ranges, and one for all lists of categories; what is left of the charge goes along
    to the rows that are returned. Proofs: *Reading again*, *Rows by range*, *Common values*.
    """
    schema = protected.schema
    rows = protected.under(schema.filled({j: _range(schema, j).opened for j in search.ranges}))
    rows.reserve([*search.charges, Charge(REST, search.purse.cost(1 - search.spent))])
    charges = iter(search.charges)
    found: dict[int, Feature] = {}
    ranks: list[np.ndarray | None] = [None] * len(schema.features)
    if search.ranges:
        for j, place in _places(rows, search, next(charges)).items():
            ranks[j] = place.ranks
            if place.feature is not schema.features[j]:
                found[j] = place.feature
    if search.values:
        common = rows.ask(CommonValues(search.values), next(charges).cost)
        found |= {j: _listed(schema.features[j], common, j) for j in search.values}
    return rows.under(schema.filled(found)), ranks


def _range(schema: Schema, j: int) -> Continuous:
    feature = schema.features[j]
    assert isinstance(feature, Continuous)
    return feature


def _places(rows: Protected, search: Search, charge: Charge) -> dict[int, Place]:
    """Where people are, by feature."""
    schema = search.schema
    bins = _line_bins(rows.schema, {j: line_edges(_range(schema, j)) for j in search.ranges})
    answer = rows.ask(RangeRows(bins, search.ranges), charge.cost).values.astype(np.float64)
    sd, parts, at = sd_of(charge), {}, 0
    for j in search.ranges:
        size = len(line_edges(_range(schema, j))) - 1
        parts[j] = answer[at : at + size]
        at += size + 1
    n_rows = max(float(np.median([part.sum() for part in parts.values()])), 1.0)
    return {j: found_place(_range(schema, j), part, sd, n_rows) for j, part in parts.items()}


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
