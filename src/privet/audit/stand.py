"""What a program on the stand is given: invented rows, an account, and a wall that may have a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.engines import Batch
from privet.engines.protocol import Draws, Engine, Total
from privet.errors import QuestionError
from privet.privacy import Account, Budget, Charge, Ledger, Mechanisms, Protected, Receipt
from privet.schema import Schema

Program = Callable[[Protected], Any]
"""Asks protected rows and returns what it would release."""


class Rows:
    """Some rows as an engine, handed over in one batch.

    Attributes
    ----------
    features : array (features, rows)
        Codes.
    labels : array (rows,)
    identities : int64 (rows,), optional
        Who the rows are: a neighbour's rows draw what they drew with the missing row beside them.
    texts : dict, optional
        What they have in features whose categories are open.
    read : callable, optional
        Reads rows by their identities under another schema.
    """

    def __init__(
        self,
        features: np.ndarray,
        labels: np.ndarray,
        identities: np.ndarray | None = None,
        texts: Mapping[int, np.ndarray] | None = None,
        read: Callable[[Schema, np.ndarray], Rows] | None = None,
    ) -> None:
        self.features = features
        self.labels = labels
        self.identities = np.arange(len(labels)) if identities is None else identities
        self.texts = texts or {}
        self.read = read
        self._kept: dict[str, Any] = {}

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine.sum`."""
        return tally(Batch(self.features, self.labels, self.identities, self._kept, self.texts))

    def part(self, draws: Draws, bound: int, drawn: range) -> Rows:
        """See `Engine.part`."""
        own = draws.below(bound, self.identities)
        return self.only(np.flatnonzero((own >= drawn.start) & (own < drawn.stop)))

    def under(self, schema: Schema) -> Rows:
        """See `Engine.under`."""
        if self.read is None:
            raise QuestionError("these rows are codes.", "put open schemas on the stand by `read_rows`.")
        return self.read(schema, self.identities)

    def without(self, row: int) -> Rows:
        """The neighbour that lacks a row."""
        return self.only(np.delete(np.arange(len(self.labels)), row))

    def only(self, places: np.ndarray) -> Rows:
        """Some of the rows."""
        features = np.ascontiguousarray(self.features[:, places])
        texts = {j: values[places] for j, values in self.texts.items()}
        return Rows(features, self.labels[places], self.identities[places], texts, self.read)


class Paid(Account):
    """An account that pays anything: of many runs, all but the answers are looked at elsewhere."""

    def __init__(self) -> None:
        super().__init__(Ledger(), "audit")
        self.ledger.create(self.name, Budget(1))

    def reserve(
        self,
        charges: Sequence[Charge],
        schema: str | None = None,
        instead: Sequence[Charge] = (),
        learner: str | None = None,
    ) -> Receipt:
        """Say yes."""
        return Receipt(self.name, 1, "")

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say yes."""


@dataclass(frozen=True)
class Mutant:
    """A program behind a wall that has a fault.

    Attributes
    ----------
    program : Program
    mechanisms : callable
        What the wall draws from, given sound mechanisms.
    account : callable
        What pays, given a sound account.
    engine : callable
        What sums the rows, given a sound engine.
    """

    program: Program
    mechanisms: Callable[[Mechanisms], Mechanisms] = lambda sound: sound
    account: Callable[[Account], Account] = lambda sound: sound
    engine: Callable[[Engine], Engine] = lambda sound: sound

    def __call__(self, protected: Protected) -> Any:
        """Ask as the program does."""
        return self.program(protected)


def ask(program: Program, rows: Rows, schema: Schema, account: Account, mechanisms: Mechanisms) -> Any:
    """Run a program behind a wall that is handed everything: rows, account and mechanisms."""
    engine: Engine = rows
    if isinstance(program, Mutant):
        account, mechanisms = program.account(account), program.mechanisms(mechanisms)
        engine = program.engine(rows)
    return program(Protected(engine, schema, account, mechanisms))
