"""The recommended learner, by its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sklearn.utils import check_random_state

from privet.learners.boosting.fit import Fit
from privet.learners.boosting.monotone import check_monotone
from privet.learners.boosting.opening import openings
from privet.learners.boosting.preview import preview
from privet.learners.boosting.start import Start, check_closed, started
from privet.learners.finding import Given
from privet.learners.learner import Learner, delta
from privet.learners.parameters import check_parameters, seed, whole
from privet.learners.plan import FitPlan, public_rows
from privet.learners.purse import Purse
from privet.model import AdditiveModel, AdditiveNumbers
from privet.privacy import GDP, Charge, Protected
from privet.schema import Schema


@dataclass(eq=False, repr=False)
class Boosting(Learner):
    """Shapes and interaction trees, boosted from a handful of noisy answers.

    A private learner loses most where it asks many small questions one after another. This one asks
    few, of all features at once, and shrinks every answer as far as its known noise demands.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the fit.
    delta : float
        0 for pure ε; a small number, say 1e-6, for less noise under a slightly weaker promise.
    passes : int, optional
        Most questions to ask after the rows by label; each reads all rows once. By default as many as
        the number of rows and the budget make worthwhile.
    schema : Schema, path, dict or "from-data"
        The public contract. "from-data" reads it from the rows, which no budget covers.
    random_state : int, RandomState or None
        Fixes the structure of the trees alone. Noise always comes from the operating system.
    account : Account, optional
        Account of a `Ledger` to charge; by default a ledger of this fit alone.
    verbose : bool
        Show progress.

    Attributes
    ----------
    classes_ : ndarray
    feature_names_in_ : ndarray
    model_ : AdditiveModel
        What was released.
    privacy_card_ : PrivacyCard

    Privacy
    -------
    (ε, δ)-DP under adding or removing one row, and ε-DP with δ = 0. The questions are rows by label, rows
    by cell and label of every feature, twice where rows are enough, and sums of bounded gradients by bin
    and by leaf; their costs add up to the budget. Proof notes: *Sums of gradients*, *Sequence*.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import BoostingClassifier, Continuous, Label, Schema
    >>> schema = Schema([Continuous("x", 0, 1), Continuous("z", 0, 1)], Label("y", [0, 1]))
    >>> X = np.random.default_rng(0).random((20_000, 2))
    >>> y = (X.sum(axis=1) > 1).astype(int)
    >>> model = BoostingClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    name = "boosting"
    accounting = GDP

    delta: float = delta()
    passes: int | None = whole(
        None, 1, help="Most questions of boosting after the labels; fewer are faster.", flag="--passes"
    )
    random_state: Any = seed()

    def learn(
        self, protected: Protected, start: Any = None, public: bool = False
    ) -> AdditiveModel | AdditiveNumbers:
        """See `Learner.learn`; ``start`` is a model, perhaps of public rows, trusted as far as rows agree."""
        if start is None:
            found: AdditiveModel | AdditiveNumbers = super().learn(protected)
            return found
        self.check_contract(protected.schema)
        known = started(start, protected, self.passes, public)
        purse = Purse.of(self.budget_for(protected.schema, protected.accounting))
        return self._learn(Given(protected, purse, self.stamp(protected)), known)

    def plan(self, schema: Schema, n_rows: float | None = None, start: bool = False) -> FitPlan:
        """What a fit would ask and build, from public quantities alone; nothing is charged.

        Parameters
        ----------
        schema : Schema
        n_rows : number, optional
            Publicly known, or a guess; by default the schema's ``max_rows``.
        start : bool
            Whether the fit has a start.

        Returns
        -------
        FitPlan
        """
        if not start:
            return super().plan(schema, n_rows)
        _ = self.budget
        check_parameters(self)
        self.check_contract(schema)
        check_closed(schema)
        return preview(self.budget, schema, public_rows(schema, n_rows), self.passes, started=True)

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        _ = check_random_state(self.random_state)
        return [opening.first for opening in openings(self.budget, schema, purse)]

    def check_contract(self, schema: Schema) -> None:
        """See `Learner.check_contract`."""
        check_monotone(schema)

    def _learn(self, given: Given, start: Start | None = None) -> AdditiveModel | AdditiveNumbers:
        budget = replace(self.budget, accounting=given.rows.accounting)
        fit = Fit(given, budget, check_random_state(self.random_state), start)
        return fit.learn(self.passes)

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        return preview(self.budget, schema, n_rows, self.passes, purse if searched else None)
