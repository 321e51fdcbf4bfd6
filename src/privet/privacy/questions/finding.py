"""Questions that find what a contract leaves open: where numbers lie, and which values people share.

Proof note: ``docs/proofs/finding.md``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from privet.answers import CommonKeys
from privet.engines import Batch
from privet.errors import QuestionError
from privet.kernels.gradients import count_bins
from privet.privacy.budget import Cost
from privet.privacy.charges import Charge
from privet.privacy.laws import common_threshold
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Counts, Question, Terms
from privet.schema import Categorical, Continuous, Label, Schema, Target
from privet.structure import Bins

LONGEST_VALUE = 100
"""Characters of a value that can be found; a longer one is some free text, and stays unknown."""


def _check_places(places: Sequence[int], schema: Schema, kind: type[Continuous] | type[Categorical]) -> None:
    known = {j for j, feature in enumerate(schema.features) if isinstance(feature, kind)}
    # A feature asked twice: its cells would change by twice a row.
    if not {*map(type, places)} <= {int} or not known.issuperset(places) or len(set(places)) != len(places):
        raise _none_asked()


def _none_asked() -> QuestionError:
    return QuestionError("ask each feature of this kind once at most, and one at least.")


@dataclass(frozen=True)
class RangeRows(Counts):
    """Rows by bin of some features that hold numbers, one after the other, ``(bins of these features,)``.

    With ``target``, codes at which cells of the number to be predicted begin, rows by those cells follow.

    Privacy
    -------
    ε-DP or ρ-zCDP over all asked features together, the target among them; a row is in one bin of each, so
    the L1 sensitivity and the squared L2 sensitivity are their number. Proof: *Rows by range*.
    """

    method = "noisy_range_rows"
    text = "rows by cell of {0} ranges, to find where people are"
    predicts = (Label, Target)
    bins: Bins
    features: Sequence[int]
    target: Sequence[int] = ()

    def check(self, schema: Schema) -> None:
        super().check(schema)
        _check_places(self.features, schema, Continuous)
        if not len(self.features) + len(self.target):
            raise _none_asked()
        if len(self.target):
            cells, edges = schema.target.n_cells, np.array(self.target)
            whole = {*map(type, self.target)} == {int}
            if not whole or edges[0] <= 0 or edges[-1] >= cells or (np.diff(edges) <= 0).any():
                raise QuestionError("cells of the target begin at rising codes.", "leave out the first.")

    def sizes(self, schema: Schema) -> tuple[int]:
        return (len(self.features) + bool(len(self.target)),)

    def looks_at(self, schema: Schema) -> Iterable[int]:
        return self.features

    def tally(self, batch: Batch, terms: Terms) -> np.ndarray:
        # One column for all labels: a row is counted wherever it is, once a feature.
        counts = count_bins(self.bins, batch.features, np.zeros(len(batch.labels), np.uint8), 1)[:, 0]
        slices = self.bins.slices
        asked = [counts[slices[j]] for j in self.features]
        if len(self.target):
            cells = np.searchsorted(np.array(self.target), batch.labels, side="right")
            asked.append(np.bincount(cells, minlength=len(self.target) + 1))
        return np.concatenate(asked)


@dataclass(frozen=True)
class CommonValues(Question[CommonKeys]):
    """Values of some open features that many people share, each with a noisy number of rows.

    Values are found under their texts (`privet.data.values.text`). Values longer than a hundred characters,
    and those that hold characters which cannot be printed, are never found.

    Privacy
    -------
    ε-DP or ρ-zCDP but for the δ of its own: with that probability, at most, a value that one person alone
    has is shown. What is shown are values whose noisy number of rows reaches a threshold that follows from
    the cost. Refused without a δ. Proof: *Common values*.
    """

    method = "common_values"
    text = "values that many people share, of {0} features"
    has_delta = True
    predicts = (Label, Target)
    features: Sequence[int]

    def check(self, schema: Schema) -> None:
        super().check(schema)
        numbers = {j for j, feature in enumerate(schema.features) if isinstance(feature, Continuous)}
        if numbers.intersection(j for j in self.features if type(j) is int):
            raise QuestionError("numbers have no list of values.", "ask for a histogram, or a quantile.")
        _check_places(self.features, schema, Categorical)
        if not len(self.features):
            raise _none_asked()
        if not set(schema.open_features).issuperset(self.features):
            raise QuestionError("the values of these features are listed.", "ask of open features.")

    def sizes(self, schema: Schema) -> tuple[int]:
        return (len(self.features),)

    def charge(self, schema: Schema, cost: Cost) -> Charge:
        threshold(cost, len(self.features))
        return super().charge(schema, cost)

    def looks_at(self, schema: Schema) -> Iterable[int]:
        return self.features

    def tally(self, batch: Batch, terms: Terms) -> Counter[tuple[int, str]]:
        assert batch.texts is not None
        found: Counter[tuple[int, str]] = Counter()
        for j in self.features:
            rows = Counter(batch.texts[j].tolist())
            found.update({(j, text): n for text, n in rows.items() if can_be_found(text)})
        return found

    def release(self, exact: Counter[tuple[int, str]], terms: Terms, mechanisms: Mechanisms) -> CommonKeys:
        # Sorted, so that nothing tells in which order they were read.
        keys = sorted(exact)
        counts = np.array([exact[key] for key in keys], np.int64)
        least = threshold(terms.cost, len(self.features))
        kept, noisy = mechanisms.keep_common(keys, counts, terms.law, least)
        return CommonKeys(tuple(kept), noisy, least, *terms.law)


def threshold(cost: Cost, n_features: int) -> int:
    """Noisy rows from which a value is shown; refused where no δ pays for the chance that it fails."""
    return common_threshold(CommonValues.plan(cost, n_features).law, n_features, cost.delta)


def can_be_found(text: str | None) -> bool:
    """Whether a value is one that may be shown at all: by its own text alone."""
    return text is not None and 0 < len(text) <= LONGEST_VALUE and text.isprintable()
