"""What every learner is: its parameters, and what it does with protected rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from privet.checks import exact
from privet.learners.parameters import Parameter, check_parameters
from privet.learners.plan import FitPlan, public_rows
from privet.learners.purse import Purse
from privet.model import PrivacyCard
from privet.privacy import Budget, Protected
from privet.schema import Schema
from privet.version import __version__

DELTA = Parameter(float, help="Chance that ε fails; by default 0, the strict promise.", flag="--delta")


@dataclass(eq=False, repr=False)
class Learner(ABC):
    """Base of the learners: a dataclass of parameters. What it asks, it asks of `Protected`."""

    name: ClassVar[str]
    """Under which models, cards and the command line know it."""

    epsilon: float = 1.0

    @abstractmethod
    def learn(self, protected: Protected) -> Any:
        """Ask, learn, and return a model."""

    @abstractmethod
    def outline(self, schema: Schema, n_rows: float) -> FitPlan:
        """What `learn` would ask and build, by the functions that it plans with itself."""

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
        return Budget(self.epsilon, getattr(self, "delta", 0))

    @property
    def purse(self) -> Purse:
        """The same, to be shared out."""
        return Purse.of(self.budget)

    def stamp(self, protected: Protected) -> Callable[[Mapping[str, Any]], PrivacyCard]:
        """A privacy card for what is asked from now on, once it is known what was learnt."""
        protected.note_learner(self.name)
        before = len(protected.asked)

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
            )

        return card


def delta() -> Any:
    """0 for pure ε; a small number, say 1e-6, for less noise under a slightly weaker promise."""
    return field(default=0.0, metadata={"parameter": DELTA, "unchecked": True})


def written(value: Any) -> str:
    """A number as a card states it: what was promised; what is charged is that, rounded down to the grid."""
    return str(exact(value)) if isinstance(value, Fraction | str) else repr(float(value))
