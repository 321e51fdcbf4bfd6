"""How boosting begins: the labels, and by their answer whether to go on in pure ε or in ρ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from privet.learners.boosting.loss import Loss, loss_of
from privet.learners.boosting.numbers import width_share
from privet.learners.boosting.plan import GAUSSIAN_TREES, WIDEST_SD, are_few
from privet.learners.purse import Purse, sd_of
from privet.privacy import Budget, Charge, Cost
from privet.privacy.questions.boosting import BinRows
from privet.schema import Schema

REST = "boosting, planned from the noisy number of rows"

LEAST_LABEL_SHARE, MOST_LABEL_SHARE = Fraction(1, 100), Fraction(9, 10)
ALL_BUT_ALL = Fraction(1, 3)
"""Share from which on labels get the most where one is rare: features say nothing of it."""

WORTH_CLEAR = Fraction(1, 3)
"""The most share that is spent on whether one is rare."""

MOST_FIRST = Fraction(1, 20)
"""Of ρ, for a first question in pure ε."""

FEW_ROWS = 4
"""Rows by standard deviation of a cell's noise below which the features say next to nothing."""

WORTH_ASKING = Fraction(5, 4)
"""Share that labels should have, by what they had, from which on they are asked again."""

ALONE_ERROR = 0.01
"""`share_error` of a number where nothing else can be told."""

FEW_FOR_GAUSSIAN, MOST_RATIO, LESS_NOISE = 12.0, 1.5, 8
"""Where Gaussian noise begins to pay, and how fast it does where it is less: see `prefers_pure`."""

TELLING_ROWS, FEW_SHARE = 0.5, Fraction(1, 20)
"""The same, and what labels have at least, where features are asked for sums of gradients: they tell more,
and their total tells the labels too."""


def too_wide(budget: Budget, n_features: int) -> bool:
    """Whether a budget asks for wider Gaussian noise than can be drawn, of labels, bins or shapes."""
    if not budget.rho:
        return True
    # A pass over the shapes, where labels have had most: gradients are drawn in halves, or finer.
    least = Cost.zcdp(budget.rho * LEAST_LABEL_SHARE / 6)
    return sd_of(BinRows.plan(least, max(n_features, GAUSSIAN_TREES))) > WIDEST_SD


def prefers_pure(budget: Budget, n_rows: float, n_features: int, loss: Loss) -> bool:
    """Whether a budget that has a δ is better spent in pure ε, which is within (ε, δ) too.

    Gaussian noise adds up slowly over features and questions but is wider for a single number. Where
    there are so few rows that little more than one question can be asked, of few features, pure ε has less
    noise.
    """
    if too_wide(budget, n_features):
        return True
    deviation = sqrt(n_features / (2 * budget.rho))
    ratio = deviation / (sqrt(2) * n_features / float(budget.epsilon))
    # Two labels ask but one large question where rows are few, in the law that has less noise for it.
    power = LESS_NOISE if ratio < 1 and loss.n_labels == 2 else 3
    return n_rows / deviation < FEW_FOR_GAUSSIAN * min(ratio, MOST_RATIO) ** power


@dataclass(frozen=True)
class Opening:
    """The first question, rows by label: its share, and the laws between which its answer decides.

    Attributes
    ----------
    budget : Budget
    loss : Loss
    share : Fraction
        Of the budget in the first law, in which it is asked.
    laws : one or two of Purse
        Pure ε comes before ρ.
    """

    budget: Budget
    loss: Loss
    share: Fraction
    laws: tuple[Purse, ...]

    @property
    def purse(self) -> Purse:
        """The law of the first question."""
        return self.laws[0]

    @property
    def first(self) -> Charge:
        """The first question."""
        return self.loss.label_kind.plan(self.purse.cost(self.share))

    def plans(self) -> list[list[Charge]]:
        """It, and all that comes after as one reserve, in each of the laws."""
        return [[self.first, Charge(REST, law.cost(1 - self.spent(law)))] for law in self.laws]

    def law(self, n_rows: float, n_features: int) -> Purse:
        """Law of all other questions, after the first answer: ρ if there are rows enough."""
        if self.loss.n_labels != 2:
            n_rows -= sqrt(self.loss.n_columns) * sd_of(self.first)  # surely as many
        return self.laws[0 if prefers_pure(self.budget, n_rows, n_features, self.loss) else -1]

    def spent(self, law: Purse) -> Fraction:
        """Share of the budget that the first question has, in one of the laws."""
        return (
            self.share
            if law == self.purse
            else self.first.cost.priced(self.budget.accounting).rho / law.total
        )


def openings(budget: Budget, schema: Schema, settled: Purse | None = None) -> list[Opening]:
    """How to begin, by public quantities alone: the best way first, then what an account may still pay.

    On an account that adds up in ρ pure ε is dear, and on one that adds up in ε there may be no ρ left. Where
    something was asked before, the law is ``settled``, and what is left of the budget in it.
    """
    n_features, bound, loss = len(schema.features), schema.max_rows, loss_of(schema)
    if settled is not None:
        return [Opening(budget, loss, 2 * LEAST_LABEL_SHARE, (settled,))]
    unknown, pure = 2 * LEAST_LABEL_SHARE, Purse(budget.epsilon, True)
    share = unknown if bound is None else _label_share(pure, bound, n_features, loss)
    in_pure = Opening(budget, loss, max(share, LEAST_LABEL_SHARE), (pure,))
    if not budget.delta or too_wide(budget, n_features):
        return [in_pure]
    gaussian = Purse.of(budget)
    in_rho = Opening(budget, loss, unknown, (gaussian,))
    if bound is not None and prefers_pure(budget, bound, n_features, loss):
        return [in_pure, in_rho]
    either = Opening(budget, loss, unknown, (pure, gaussian))
    # With a large ε, or a tiny δ, even so small a share of ε is much of ρ.
    return [*([either] if either.spent(gaussian) <= MOST_FIRST else []), in_rho, in_pure]


def further_share(purse: Purse, n_rows: float, n_features: int, loss: Loss, spent: Fraction) -> Fraction:
    """Share of one more count of the labels, or 0 where the counts so far will do."""
    wanted = _label_share(purse, n_rows, n_features, loss)
    if wanted <= WORTH_ASKING * spent:
        return Fraction(0)
    # Laplace noise of several counts averages out badly: the next one is to do alone.
    return min(wanted, MOST_LABEL_SHARE - spent) if purse.pure else wanted - spent


def further_shares(
    purse: Purse, n_rows: float, n_features: int, loss: Loss, spent: Fraction
) -> list[Fraction]:
    """Shares of all further counts of the labels, were every answer to say ``n_rows``."""
    shares: list[Fraction] = []
    while share := further_share(purse, n_rows, n_features, loss, sum(shares, spent)):
        shares.append(share)
    return shares


def label_charges(purse: Purse, loss: Loss, share: Fraction, spent: Fraction) -> list[Charge]:
    """One more count of the labels, and all that comes after as one reserve."""
    return [loss.label_kind.plan(purse.cost(share)), rest(purse, spent + share)]


def rest(purse: Purse, spent: Fraction) -> Charge:
    """All that comes after, as one reserve."""
    return Charge(REST, purse.cost(1 - spent))


def _label_share(purse: Purse, n_rows: float, n_features: int, loss: Loss) -> Fraction:
    """What the labels are worth: enough to tell their shares, all but all if nothing else can be told."""
    per_row = 1 / (purse.strength * max(n_rows, 1.0))
    cell_noise = per_row * (sqrt(2) * n_features if purse.pure else sqrt(n_features))
    few = are_few(n_rows, n_features, loss, purse)
    worth, least = (TELLING_ROWS, FEW_SHARE) if few else (FEW_ROWS, 10 * LEAST_LABEL_SHARE)
    most, error = Fraction(worth * cell_noise / loss.balance).limit_denominator(100), loss.share_error
    if loss.finds_width and not width_share(purse, n_rows, loss, None):
        error, most = ALONE_ERROR, MOST_LABEL_SHARE
    enough = max(
        _counted(purse, per_row / error), min(_counted(purse, per_row / loss.clear_error), WORTH_CLEAR)
    )
    share = min(enough, max(most, least), MOST_LABEL_SHARE)
    return MOST_LABEL_SHARE if loss.balance < 1 and share > ALL_BUT_ALL else share


def _counted(purse: Purse, needed: float) -> Fraction:
    """Share of a count whose noise is so small."""
    return Fraction(sqrt(2) * needed if purse.pure else needed**2).limit_denominator(1000)
