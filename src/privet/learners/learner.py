"""What every learner is: its parameters, and what it does with protected rows."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

from privet.checks import exact
from privet.errors import QuestionError
from privet.learners.finding import FINDING_PART, Given, Search, Stamp, find, guessed, search_of
from privet.learners.parameters import Parameter, check_parameters
from privet.learners.plan import FitPlan, public_rows
from privet.learners.purse import Purse
from privet.model import PrivacyCard
from privet.privacy import ZCDP, Budget, Charge, Protected
from privet.schema import Categorical, Continuous, Schema
from privet.version import __version__

DELTA = Parameter(float, help="Chance that ε fails; by default 0, the strict promise.", flag="--delta")


@dataclass(eq=False, repr=False)
class Learner(ABC):
    """Base of the learners: a dataclass of parameters. What it asks, it asks of `Protected`."""

    name: ClassVar[str]
    """Under which models, cards and the command line know it."""

    accounting: ClassVar[str] = ZCDP
    """How its costs add up under a δ, where it has an account of its own."""

    epsilon: float = 1.0

    def learn(self, protected: Protected) -> Any:
        """Find what the contract leaves open, ask, learn, and return a model."""
        self.check_contract(protected.schema)
        before = len(protected.asked)
        # On an account that others share costs add up as they do there.
        search = self.search(protected.schema, protected.accounting)
        if search is None:
            purse = Purse.of(self.budget_for(protected.schema, protected.accounting))
            return self._learn(Given(protected, purse, self.stamp(protected)))
        for charge in self._known_charges(guessed(protected.schema), search.rest(math.inf)):
            _ = charge.law
        protected.note_learner(self.name)
        rows, purse, ranks = find(protected, search)
        return self._learn(Given(rows, purse, self.stamp(rows, before), ranks, True))

    def outline(self, schema: Schema, n_rows: float) -> FitPlan:
        """What `learn` would ask and build, by the functions that it plans with itself."""
        self.check_contract(schema)
        search = self.search(schema)
        if search is None:
            return self._outline(schema, n_rows, self.purse, False)
        rest = self._outline(guessed(schema), n_rows, search.rest(n_rows), True)
        questions, passes = [*search.charges(n_rows), *rest.questions], "passes over the rows"
        facts = {**rest.facts, passes: len(questions), **search.facts}
        return replace(rest, budget=self.budget_for(schema), questions=questions, facts=facts)

    def check_contract(self, schema: Schema) -> None:
        """Refuse what this learner would not keep, while that is free."""
        for feature in schema.features:
            if isinstance(feature, Continuous) and feature.monotone:
                raise QuestionError(
                    f"{self.name} does not keep predictions monotone in {feature.name!r}.",
                    "use boosting, or leave monotone out of the schema.",
                )

    def search(self, schema: Schema, accounting: str | None = None) -> Search | None:
        """What is to be found before it begins; a refusal where that cannot be paid for."""
        budget = self.budget_for(schema, accounting)
        return search_of(schema, Purse.of(budget), budget.finding, self._zooms)

    def _known_charges(self, schema: Schema, purse: Purse) -> list[Charge]:
        """Questions that are known beforehand: what refuses them does so before anything is charged."""
        raise NotImplementedError

    def _learn(self, given: Given) -> Any:
        """Ask, learn, and return a model."""
        raise NotImplementedError

    def _outline(self, schema: Schema, n_rows: float, purse: Purse, searched: bool) -> FitPlan:
        """What `_learn` would ask and build."""
        raise NotImplementedError

    @property
    def _zooms(self) -> bool:
        """Whether it looks where people are in ranges that are stated, too."""
        return False

    def plan(self, schema: Schema, n_rows: float | None = None) -> FitPlan:
        """What a fit would ask and build, from public quantities alone; nothing is charged.

        Parameters
        ----------
        schema : Schema
        n_rows : number, optional
            Publicly known, or a guess; by default the schema's ``max_rows``.

        Returns
        -------
        FitPlan
        """
        _ = self.budget
        check_parameters(self)
        return self.outline(schema, public_rows(schema, n_rows))

    @property
    def budget(self) -> Budget:
        """What a fit may spend; a refusal where the parameters name no budget."""
        return Budget(self.epsilon, getattr(self, "delta", 0), accounting=self.accounting)

    def budget_for(self, schema: Schema, accounting: str | None = None) -> Budget:
        """The same, a part of δ set aside where the contract leaves categories open."""
        budget = self.budget
        budget = replace(budget, accounting=accounting or budget.accounting)
        some = any(isinstance(schema.features[j], Categorical) for j in schema.open_features)
        return replace(budget, finding=budget.delta * FINDING_PART) if some else budget

    @property
    def purse(self) -> Purse:
        """The same, to be shared out."""
        return Purse.of(self.budget)

    def stamp(self, protected: Protected, before: int | None = None) -> Stamp:
        """A privacy card for what is asked from now on, or after so many questions, once that is learnt."""
        protected.note_learner(self.name)
        before = len(protected.asked) if before is None else before

        def card(facts: Mapping[str, Any]) -> PrivacyCard:
            caveats = [] if protected.private else ["noise was drawn from a repeatable generator"]
            delta = getattr(self, "delta", 0)
            return PrivacyCard(
                epsilon=written(self.epsilon),
                delta=written(delta) if delta else "0",
                neighbours=protected.schema.neighbours,
                private=not caveats,
                caveats=caveats,
                questions=[charge.to_dict() for charge in protected.asked[before:]],
                schema=protected.schema.fingerprint,
                account=protected.account_name,
                receipt=protected.receipt.hash if protected.receipt else "",
                learner={"name": self.name} | dict(facts),
                version=__version__,
                accounting=protected.accounting if delta else ZCDP,
            )

        return card


def delta() -> Any:
    """0 for pure ε; a small number, say 1e-6, for less noise under a slightly weaker promise."""
    return field(default=0.0, metadata={"parameter": DELTA, "unchecked": True})


def written(value: Any) -> str:
    """A number as a card states it: what was promised; what is charged is that, rounded down to the grid."""
    return str(exact(value)) if isinstance(value, Fraction | str) else repr(float(value))
