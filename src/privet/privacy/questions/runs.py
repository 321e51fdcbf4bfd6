"""Private selection: a random number of runs on the same people, of which only the best is let out.

Nobody may learn how many runs there were, nor anything of those that were not the best. Then the whole
costs little more than a single run, however many there are.

Proof note: ``docs/proofs/selection.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, isnan
from typing import Any, Self

import numpy as np

from privet.answers import BestRun
from privet.checks import Number, exact, whole
from privet.engines import Engine, nobody
from privet.errors import QuestionError
from privet.privacy.budget import Budget, Cost
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.privacy.question import Question, Terms, pure_only, taken
from privet.schema import Label, Schema, Target

MOST_RUNS = 10_000
PARTS = 1000
"""Rows are held out in thousandths."""

Run = Callable[[Any, Any, Fraction], tuple[Any, float]]
"""Learns from protected rows, scores on others, each within ε; returns what it made and its score."""


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
        whole(runs, "the mean number of runs", 2, MOST_RUNS)
        low, high = -80.0, 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _mean(float(shape), middle) > runs else (low, middle)
        return cls(shape, Fraction(1, max(round(exp(-low)), 2)))

    @property
    def factor(self) -> Fraction:
        """What selection costs, in costs of a run."""
        return 2 + self.eta

    def draw(self, mechanisms: Mechanisms) -> int:
        """A number of runs, by exact coins alone."""
        runs = 0
        while not runs:
            runs = self.attempt(mechanisms)
        return runs

    def attempt(self, mechanisms: Mechanisms) -> int:
        """A number of runs, or 0 to try anew.

        k is reached with probability Π_{l<k} (1 − γ)(l + η)/(l + 1), and kept with probability γ.
        """
        runs = 1
        while not mechanisms.coin(self.gamma):
            if not mechanisms.coin((runs + self.eta) / (runs + 1)):
                return 0
            runs += 1
        return runs


@dataclass(frozen=True)
class BestOfRuns(Question[BestRun]):
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

    method = "choose_run"
    text = "the best of a random number of runs, {} on average, over {} candidates"
    predicts = (Label, Target)
    candidates: Sequence[Run]
    runs: int
    eta: Number = 1
    held_out: Number = "0.2"

    def copied(self) -> Self:
        values = (taken(value) for value in (self.runs, self.eta, self.held_out))
        return type(self)(tuple(self.candidates), *values)

    @staticmethod
    def change(cost: Cost, *sizes: int) -> None:
        pure_only(cost)

    def sizes(self, schema: Schema) -> tuple[int, int]:
        return self.runs, len(self.candidates)

    def check(self, schema: Schema) -> None:
        _ = self._law, held_out_share(self.held_out)
        if not self.candidates:
            raise QuestionError("there is no candidate to choose.", "give one at least.")

    def rehearse(self, terms: Terms, mechanisms: Mechanisms) -> None:
        for run in self.candidates:
            self._run(run, nobody(terms.schema), nobody(terms.schema), terms, mechanisms)

    def read(self, rows: Engine, terms: Terms) -> tuple[Engine, Engine]:
        held = int(held_out_share(self.held_out) * PARTS)
        return rows.part(terms.draws, PARTS, range(held, PARTS)), rows.part(terms.draws, PARTS, range(held))

    def release(self, exact: tuple[Engine, Engine], terms: Terms, mechanisms: Mechanisms) -> BestRun:
        best = BestRun(-1, None, -inf)
        for _ in range(self._law.draw(mechanisms)):
            candidate = int(mechanisms.below(np.array([len(self.candidates)]))[0])
            made, score = self._run(self.candidates[candidate], *exact, terms, mechanisms)
            if best.candidate < 0 or score > best.score:
                best = BestRun(candidate, made, score)
        return best

    def _run(
        self, run: Run, learnt: Engine, held: Engine, terms: Terms, mechanisms: Mechanisms
    ) -> tuple[Any, float]:
        """One run, its rows behind walls of their own with budgets that end with them."""
        from privet.privacy.protected import Protected  # it offers this question

        budget = Budget(pure_only(terms.cost) / self._law.factor)
        accounts = (Ledger().create("one run of a selection", budget) for _ in range(2))
        to_learn, to_score = (
            Protected(rows, terms.schema, account, mechanisms)
            for rows, account in zip((learnt, held), accounts, strict=True)
        )
        return _scored(run(to_learn, to_score, budget.epsilon))

    @property
    def _law(self) -> RunLaw:
        return RunLaw.of_mean(self.runs, self.eta)


def _scored(outcome: tuple[Any, Any]) -> tuple[Any, float]:
    """What a run made and its score; what is not a number is the worst."""
    try:
        made, score = outcome
        return made, -inf if isnan(score) else float(score)
    except (TypeError, ValueError, OverflowError):
        raise QuestionError("a run must return what it made and its score, a number.") from None


def held_out_share(held_out: Number) -> Fraction:
    """Share of the rows to score on, in whole thousandths."""
    share = exact(held_out, "held_out")
    if not 0 < share < 1 or (share * PARTS).denominator != 1:
        raise QuestionError("held_out must be a share of the rows, in thousandths.", "say, 0.2.")
    return share


def _mean(eta: float, log_gamma: float) -> float:
    """Mean number of runs; γ must be below 1."""
    odds = expm1(-log_gamma)  # (1 − γ)/γ
    return odds / -log_gamma if eta == 0 else eta * odds / -expm1(eta * log_gamma)
