"""Planted faults, each as small as those that have been shipped: the auditor must convict them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from privet.answers import Law
from privet.audit.programs import LEARNERS, NUMBER_QUESTIONS, OPEN_QUESTIONS, QUESTIONS
from privet.audit.stand import Mutant, Program
from privet.engines import Batch, Engine
from privet.engines.protocol import Draws, Total
from privet.noise.bits import RowDraws
from privet.privacy import Account, Charge, Mechanisms, Protected, Receipt
from privet.privacy.mechanisms import Key
from privet.privacy.question import Tally
from privet.privacy.questions.numbers import BinResiduals
from privet.schema import Schema

WEAK = Fraction(4, 5)
"""What the weak mutants leave of the noise."""


class Faulty(Mechanisms):
    """Mechanisms with a fault: what a subclass does not change is done by sound ones."""

    def __init__(self, sound: Mechanisms) -> None:
        self.sound = sound
        self.private = sound.private

    def law_of(self, charge: Charge) -> Law:
        """See `Mechanisms`."""
        return self.sound.law_of(charge)

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        """See `Mechanisms`."""
        return self.sound.add(exact, law)

    def choose(self, exact_scores: np.ndarray, law: Law) -> np.ndarray:
        """See `Mechanisms`."""
        return self.sound.choose(exact_scores, law)

    def choose_in_ranges(self, *exact_ranges: Any) -> tuple[np.ndarray, np.ndarray]:
        """See `Mechanisms`."""
        return self.sound.choose_in_ranges(*exact_ranges)

    def keep_frequent(self, *given: Any) -> tuple[np.ndarray, np.ndarray]:
        """See `Mechanisms`."""
        return self.sound.keep_frequent(*given)

    def keep_common(self, *given: Any) -> tuple[list[Key], np.ndarray]:
        """See `Mechanisms`."""
        return self.sound.keep_common(*given)

    def row_draws(self) -> RowDraws:
        """See `Mechanisms`."""
        return self.sound.row_draws()

    def below(self, bounds: np.ndarray) -> np.ndarray:
        """See `Mechanisms`."""
        return self.sound.below(bounds)

    def coin(self, probability: Fraction) -> bool:
        """See `Mechanisms`."""
        return self.sound.coin(probability)


class WeakNoise(Faulty):
    """Noise of four fifths of its scale."""

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        """See `Mechanisms`."""
        return self.sound.add(exact, Law(law.name, law.parameter * WEAK))


class VisitedLeavesOnly(Faulty):
    """Empty cells are left as they are: zero, without noise."""

    def add(self, exact: np.ndarray, law: Law) -> np.ndarray:
        """See `Mechanisms`."""
        return np.where(exact == 0, 0, self.sound.add(exact, law))


class LowThreshold(Faulty):
    """Values are shown from four fifths of the threshold on."""

    def keep_common(
        self, keys: Sequence[Key], exact: np.ndarray, law: Law, threshold: int
    ) -> tuple[list[Key], np.ndarray]:
        """See `Mechanisms`."""
        return self.sound.keep_common(keys, exact, law, int(threshold * WEAK))


class ByPosition(RowDraws):
    """Row i draws i modulo the bound."""

    def below(self, bound: int, rows: np.ndarray) -> np.ndarray:
        """See `RowDraws.below`."""
        return np.arange(len(rows)) % bound


class PartsByPosition(Faulty):
    """Row i goes to part i modulo the number of parts."""

    def row_draws(self) -> RowDraws:
        """See `Mechanisms`."""
        return ByPosition(self.sound.row_draws().key)


class Forgetful(Account):
    """An account that pays once, then says yes and writes nothing."""

    def __init__(self, sound: Account) -> None:
        super().__init__(sound.ledger, sound.name)
        self._once = iter([sound.reserve])

    def reserve(
        self,
        charges: Sequence[Charge],
        schema: str | None = None,
        instead: Sequence[Charge] = (),
        learner: str | None = None,
    ) -> Receipt:
        """See `Account`."""
        for pay in self._once:
            return pay(charges, schema, instead, learner)
        return Receipt(self.name, 0, "")


class Unclipped(BinResiduals):
    """Residuals that are cut at four times what is paid for: integers beyond it are left as they are."""

    def grid(self, terms: Any) -> Any:
        """See `BinResiduals`."""
        sound = super().grid(terms)
        return replace(sound, bound=4 * sound.bound)


class ClipLeftOut(Engine):
    """Rows whose residuals are summed up unclipped."""

    def __init__(self, sound: Engine) -> None:
        self.sound = sound

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine`."""
        if isinstance(tally, Tally) and type(tally.question) is BinResiduals:
            asked = tally.question
            unclipped = Unclipped(*(getattr(asked, field.name) for field in fields(asked)))
            return self.sound.sum(replace(tally, question=unclipped))
        return self.sound.sum(tally)

    def part(self, draws: Draws, bound: int, taken: range) -> ClipLeftOut:
        """See `Engine`."""
        return ClipLeftOut(self.sound.part(draws, bound, taken))

    def under(self, schema: Schema) -> ClipLeftOut:
        """See `Engine`."""
        return ClipLeftOut(self.sound.under(schema))


def clip_left_out(epsilon: Fraction) -> Mutant:
    """Sums of residuals that are not cut where the noise takes them to be."""
    return Mutant(NUMBER_QUESTIONS["residuals-by-bin"](epsilon), engine=ClipLeftOut)


def asked_twice(epsilon: Fraction) -> Program:
    """Rows by label, two times."""

    def program(protected: Protected) -> Any:
        return [protected.noisy_label_rows(epsilon=epsilon) for _ in range(2)]

    return program


def unpaid_batch(epsilon: Fraction) -> Mutant:
    """A batch that is counted in the trees of the first, and not charged."""
    return Mutant(LEARNERS["count-forest-batches"](epsilon), account=Forgetful)


def low_threshold(epsilon: Fraction) -> Mutant:
    """Values that people share, with a threshold that δ does not pay for."""
    return Mutant(OPEN_QUESTIONS["common-values"](epsilon), LowThreshold)


MUTANTS: Mapping[str, Callable[[Fraction], Mutant]] = {
    "noise-times-0.8": lambda e: Mutant(QUESTIONS["number-of-rows"](e), WeakNoise),
    "unpaid-question": lambda e: Mutant(asked_twice(e), account=Forgetful),
    "empty-leaves-left-out": lambda e: Mutant(QUESTIONS["rows-by-leaf"](e), VisitedLeavesOnly),
    "parts-by-position": lambda e: Mutant(QUESTIONS["labels-of-own-rows"](e), PartsByPosition),
}
"""Programs with a planted fault."""
