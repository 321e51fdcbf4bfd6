"""Private selection: a random number of runs on the same people, of which only the best is let out.

Nobody may learn how many runs there were, nor anything of those that were not the best. Then the whole
costs little more than a single run, however many there are.

Proof note: ``docs/proofs/selection.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, isnan
from typing import Any, NamedTuple, Self

import numpy as np

from privet.data import Codes
from privet.data.codes import code_dtype
from privet.engines import Batch, MemoryEngine
from privet.errors import QuestionError
from privet.privacy.bits import Bits, uniform_below, uniform_integers
from privet.privacy.budget import Budget, Cost, Number, exact
from privet.privacy.charges import Charge
from privet.privacy.ledger import Ledger
from privet.privacy.wall import Wall

MOST_RUNS = 10_000
PARTS = 1000
"""Rows are held out in thousandths."""

Run = Callable[[Any, Any, Fraction], tuple[Any, float]]
"""Learns from protected rows, scores on others, each within ε; returns what it made and its score."""


class BestRun(NamedTuple):
    """Which candidate won, what it made, and the score that made it win."""

    candidate: int
    made: Any
    score: float


@dataclass(frozen=True)
class RunLaw:
    """Truncated negative binomial law of the number of runs (Papernot and Steinke 2022).

    P(K = k) ∝ (1 − γ)^k·Π_{l<k} (l + η)/(l + 1), k ≥ 1. η = 1 is geometric, η = 0 logarithmic.

    Attributes
    ----------
    eta : Fraction
        From 0 to 1. Selection costs 2 + η times a run.
    gamma : Fraction
        The smaller, the more runs.
    """

    eta: Fraction
    gamma: Fraction

    @classmethod
    def of_mean(cls, runs: int, eta: Number) -> RunLaw:
        """The law with about so many runs on average."""
        shape = exact(eta, "eta")
        if not 0 <= shape <= 1:
            raise QuestionError("eta must lie between 0 and 1.", "less would at times need very many runs.")
        whole = isinstance(runs, int | np.integer) and not isinstance(runs, bool)
        if not whole or not 2 <= runs <= MOST_RUNS:
            raise QuestionError(f"the mean number of runs must be a whole number from 2 to {MOST_RUNS}.")
        low, high = -80.0, 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _mean(float(shape), middle) > runs else (low, middle)
        return cls(shape, Fraction(1, max(round(exp(-low)), 2)))

    @property
    def factor(self) -> Fraction:
        """What selection costs, in costs of a run."""
        return 2 + self.eta

    def draw(self, bits: Bits) -> int:
        """A number of runs, by exact coins alone."""
        runs = 0
        while not runs:
            runs = self.attempt(bits)
        return runs

    def attempt(self, bits: Bits) -> int:
        """A number of runs, or 0 to try anew.

        k is reached with probability Π_{l<k} (1 − γ)(l + η)/(l + 1), and kept with probability γ.
        """
        runs = 1
        while not coin(self.gamma, bits):
            if not coin((runs + self.eta) / (runs + 1), bits):
                return 0
            runs += 1
        return runs


def coin(probability: Fraction, bits: Bits) -> bool:
    """A coin that shows heads with a rational probability, exactly."""
    return uniform_integers(probability.denominator, 1, bits)[0] < probability.numerator


class SelectionQuestions(Wall):
    """What can be asked by trying several ways and keeping the best."""

    __slots__ = ()

    def choose_run(
        self,
        candidates: Sequence[Run],
        *,
        epsilon: Number,
        runs: int,
        eta: Number = 1,
        held_out: Number = "0.2",
    ) -> BestRun:
        """The best of a random number of runs, each of a candidate drawn anew.

        Every row goes to one of two parts, once for all runs: most to learn from, the others to score on.
        A run gets both, each behind a wall of its own with a budget of ε/(2 + η), and nothing else of the
        rows. What a run does may not depend on earlier runs.

        Each candidate is first tried on no rows, which costs nothing, so that one that cannot run is
        refused before anything is charged. An error in a later run ends the selection, and what it
        cost stays spent.

        Parameters
        ----------
        candidates : sequence of callables
            Called with the rows to learn from, those to score on, and the ε of each; return anything and its
            score, the higher the better.
        epsilon : number
            Cost of the whole.
        runs : int
            Mean number of runs. It costs time, not budget.
        eta : number
            Shape of the law of their number.
        held_out : number
            Share of the rows to score on.

        Privacy
        -------
        ε-DP. A run is ε/(2 + η)-DP over both parts, which are disjoint. Proof: *Private selection*,
        *Parallel composition*.
        """
        law, share = RunLaw.of_mean(runs, eta), held_out_share(held_out)
        if not candidates:
            raise QuestionError("there is no candidate to choose.", "give one at least.")
        cost = Cost.pure(epsilon)
        each = Budget(epsilon).epsilon / law.factor
        self._rehearse(candidates, each)
        charge = Charge(selection(len(candidates), runs), cost)
        learnt, held = self._ask(charge, lambda batch: Parted.of(batch, share, self._bits)).codes()
        best = BestRun(-1, None, -inf)
        for _ in range(law.draw(self._bits)):
            candidate = int(uniform_below(np.array([len(candidates)]), self._bits)[0])
            run = candidates[candidate]
            with warnings.catch_warnings(action="ignore"):  # nothing may be seen of a run that does not win
                made, score = _scored(run(self._part(learnt, each), self._part(held, each), each))
            if best.candidate < 0 or score > best.score:
                best = BestRun(candidate, made, score)
        return best

    def _part(self, codes: Codes, epsilon: Fraction) -> Self:
        """Some of the rows behind a wall of their own, with a budget that ends with them."""
        account = Ledger().create("one run of a selection", Budget(epsilon))
        return type(self)(MemoryEngine(lambda: codes), self.schema, account, self._bits)

    def _rehearse(self, candidates: Sequence[Run], epsilon: Fraction) -> None:
        n_codes = max(feature.n_codes for feature in self.schema.features)
        nobody = Codes(
            np.zeros((len(self.schema.features), 0), code_dtype(n_codes)),
            np.zeros(0, code_dtype(len(self.schema.label.values) + 2)),
        )
        for run in candidates:
            _scored(run(self._part(nobody, epsilon), self._part(nobody, epsilon), epsilon))


@dataclass(frozen=True)
class Parted:
    """Rows of some batches: those to learn from, and those to score on."""

    batches: tuple[tuple[Batch, Batch], ...]

    @classmethod
    def of(cls, batch: Batch, share: Fraction, bits: Bits) -> Parted:
        """Part a batch: every row draws for itself."""
        drawn = uniform_below(np.full(len(batch.labels), PARTS), bits)
        held = drawn < share * PARTS
        return cls(((_rows(batch, ~held), _rows(batch, held)),))

    def __add__(self, other: Parted) -> Parted:
        return Parted(self.batches + other.batches)

    def codes(self) -> list[Codes]:
        """Both parts, each in one piece."""
        both = zip(*self.batches, strict=True)
        return [
            Codes(
                np.concatenate([b.features for b in part], axis=1), np.concatenate([b.labels for b in part])
            )
            for part in both
        ]


def _scored(outcome: tuple[Any, Any]) -> tuple[Any, float]:
    """What a run made and its score; what is not a number is the worst."""
    try:
        made, score = outcome
        return made, -inf if isnan(score) else score
    except (TypeError, ValueError, OverflowError):
        raise QuestionError("a run must return what it made and its score, a number.") from None


def held_out_share(held_out: Number) -> Fraction:
    """Share of the rows to score on, in whole thousandths."""
    share = exact(held_out, "held_out")
    if not 0 < share < 1 or (share * PARTS).denominator != 1:
        raise QuestionError("held_out must be a share of the rows, in thousandths.", "say, 0.2.")
    return share


def selection(n_candidates: int, runs: int) -> str:
    """The question that `choose_run` asks."""
    return f"the best of a random number of runs, {runs} on average, over {n_candidates} candidates"


def _joined(batches: Sequence[Batch]) -> Codes:
    features = np.concatenate([batch.features for batch in batches], axis=1)
    return Codes(features, np.concatenate([batch.labels for batch in batches]))


def _rows(batch: Batch, kept: np.ndarray) -> Batch:
    return Batch(np.ascontiguousarray(batch.features[:, kept]), batch.labels[kept])


def _mean(eta: float, log_gamma: float) -> float:
    """Mean number of runs; γ must be below 1."""
    odds = expm1(-log_gamma)  # (1 − γ)/γ
    return odds / -log_gamma if eta == 0 else eta * odds / -expm1(eta * log_gamma)
