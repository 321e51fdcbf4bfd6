"""From findings to verdicts, and how much effort a trial takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numba
import numpy as np

from privet.audit.exact import Worst
from privet.audit.losses import epsilon_at
from privet.audit.one_run import OneRun
from privet.audit.statistical import LowerBound
from privet.audit.transcripts import Comparison
from privet.audit.verdict import BROKEN, HOLDS, NOT_REFUTED, Verdict
from privet.privacy import ZCDP

DELTA = Fraction(1, 10**6)
FINDING = DELTA / 10
"""The δ of promises that have one."""


@dataclass(frozen=True)
class Effort:
    """How much a trial looks at.

    Attributes
    ----------
    rows : int
        Rows of the largest tables that are enumerated.
    pairs : int
        Most pairs of neighbours whose transcripts are compared.
    draws : int
        Runs on each table, where runs are drawn in bulk.
    runs, seconds : int
        Most runs on each table, where each is a program of its own, and seconds for all of them.
    canaries : int
        Of a one-run audit.
    pilot : int
        Runs on each table that a search looks at; 0 for no search.
    """

    rows: int
    pairs: int
    draws: int
    runs: int
    seconds: int
    canaries: int
    pilot: int


QUICK = Effort(rows=2, pairs=10, draws=60_000, runs=1000, seconds=1, canaries=1000, pilot=0)
FULL = Effort(rows=3, pairs=100, draws=1_000_000, runs=20_000, seconds=20, canaries=10_000, pilot=120)

Trial = Callable[[Fraction, Effort], Verdict]
"""A trial of a promise of ε."""


def timed(trial: Trial, epsilon: Fraction, effort: Effort) -> Verdict:
    """Hold a trial and note how long it took. Its tables are small: other threads would only wait."""
    start, threads = time.perf_counter(), numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        verdict = trial(epsilon, effort)
    finally:
        numba.set_num_threads(threads)
    return replace(verdict, seconds=round(time.perf_counter() - start, 3))


def in_turn(runs: Sequence[Callable[[], Any]], effort: Effort) -> list[np.ndarray]:
    """Outputs of two programs, run in turn till there are enough of them or the time is over."""
    outputs = [[run()] for run in runs]
    end = time.monotonic() + effort.seconds
    while len(outputs[0]) < effort.runs and time.monotonic() < end:
        for run, collected in zip(runs, outputs, strict=True):
            collected.append(run())
    return [np.array(collected) for collected in outputs]


def from_laws(name: str, epsilon: Fraction, worst: Worst) -> Verdict:
    """Verdict on exact laws of all small tables."""
    looked_at = f"{worst.pairs:,} pairs, {worst.outcomes:,} outcomes"
    table, neighbour = worst.pair
    witness = {"table": shown(table), "neighbour": shown(neighbour), "event": shown(worst.event)}
    outcome = HOLDS if worst.keeps else BROKEN
    return Verdict(name, "exact", outcome, float(epsilon), worst.loss, looked_at, witness=witness)


def from_transcripts(
    name: str,
    epsilon: Fraction,
    compared: Sequence[tuple[Any, Any, Comparison]],
    delta: Fraction = Fraction(0),
    accounting: str = ZCDP,
) -> Verdict:
    """Verdict on transcripts of tables and of their neighbours without one of the rows."""
    losses = [_loss(comparison, delta, accounting) for _, _, comparison in compared]
    worst = max(range(len(compared)), key=lambda i: (losses[i], not compared[i][2].keeps))
    table, row, comparison = compared[worst]
    if any(each.broken for _, _, each in compared):
        outcome = BROKEN
    else:
        outcome = HOLDS if all(each.keeps for _, _, each in compared) else NOT_REFUTED
    answers = sum(each.answers for _, _, each in compared)
    witness = {"table": shown(table), "without": shown(row), "why": comparison.leak or _why(comparison)}
    looked_at = f"{len(compared):,} pairs, {answers:,} answers"
    return Verdict(
        name, "transcripts", outcome, float(epsilon), losses[worst], looked_at, float(delta), witness=witness
    )


def _loss(comparison: Comparison, delta: Fraction, accounting: str) -> float:
    if comparison.leak:
        return float("inf")
    if comparison.loss.bound.epsilon is not None:
        sure = comparison.broken or (comparison.keeps and not comparison.in_parts)
        return (comparison.loss.attained if sure else 0.0) or float(comparison.loss.bound.epsilon)
    return epsilon_at(comparison.loss.bound.rho, delta, accounting)


def _why(comparison: Comparison) -> str:
    return f"answers lose {comparison.loss.bound}, {comparison.charged} was charged"


def from_runs(name: str, epsilon: Fraction, bound: LowerBound, tables: Any, delta: float = 0.0) -> Verdict:
    """Verdict on many runs on two neighbouring tables."""
    outcome = BROKEN if bound.epsilon > epsilon else NOT_REFUTED
    likelier, other = tables[::-1] if bound.swapped else tables
    witness = {
        "table": shown(likelier),
        "neighbour": shown(other),
        "event": bound.event,
        "seen": [bound.seen, bound.seen_other],
        "of": bound.tested,
    }
    return Verdict(
        name,
        "statistical",
        outcome,
        float(epsilon),
        bound.epsilon,
        f"{bound.runs:,} runs each",
        delta,
        bound.confidence,
        witness,
    )


def from_one_run(name: str, epsilon: Fraction, run: OneRun, delta: float = 0.0) -> Verdict:
    """Verdict on one fit with canaries."""
    outcome = BROKEN if run.epsilon > epsilon else NOT_REFUTED
    looked_at = f"{run.canaries:,} canaries, {run.right:,} of {run.guesses:,} right"
    return Verdict(name, "one run", outcome, float(epsilon), run.epsilon, looked_at, delta, run.confidence)


def shown(value: Any) -> str:
    """A table or an outcome as text: rows that are alike are counted."""
    if isinstance(value, tuple) and value and all(isinstance(row, tuple) for row in value):
        kinds = dict.fromkeys(value)
        return ", ".join(f"{value.count(kind)} × {kind}" for kind in kinds)
    return str(value)
