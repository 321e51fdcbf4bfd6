"""Trials of private selection: the best of a random number of runs, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any

from privet.audit.exact import Worst, compare, pairs, permute_and_flip_law, tables
from privet.audit.exponentials import exponential
from privet.audit.mechanism_trials import LABELS, counts_of
from privet.audit.trial import Effort, from_laws
from privet.audit.verdict import Verdict
from privet.privacy.questions.runs import RunLaw

RUNS = 6
"""Mean number of runs."""


def exact_best_run(name: str, epsilon: Fraction, effort: Effort, factor: Fraction | None = None) -> Verdict:
    """The best of a geometric number of choices of a label, later labels being better.

    Each choice has ε/(2 + η). With G(z) = γz/(1 − (1 − γ)z), the generating function of the number of
    runs, and F the distribution function of one run, the best is at most s with probability G(F(s)); so it is
    s with probability γ·p(s)/(d(s)·d(s − 1)), where d(s) = 1 − (1 − γ)·F(s).
    """
    law = RunLaw.of_mean(RUNS, 1)
    each = epsilon / (law.factor if factor is None else factor)
    listed = tables(LABELS, effort.rows + 1)
    chosen = {table: permute_and_flip_law(counts_of(table), exponential(each)) for table in listed}
    found = [
        _compared(table, chosen[table], fewer, chosen[fewer], law.gamma, epsilon)
        for table, fewer in pairs(listed)
    ]
    worst = max(found, key=lambda one: one.loss)
    keeps = all(one.keeps for one in found)
    return from_laws(
        name, epsilon, Worst(worst.loss, worst.pair, worst.event, keeps, len(found), len(LABELS))
    )


def _compared(
    table: Any, chosen: list[Any], fewer: Any, other: list[Any], gamma: Fraction, epsilon: Fraction
) -> Worst:
    """Probabilities of the best on two tables, brought to one denominator."""
    laws: dict[Any, Any] = {}
    for one, law, against in ((table, chosen, other), (fewer, other, chosen)):
        below = [Fraction(0), *accumulate(against)]
        rest = [1 - (1 - gamma) * each for each in below]
        laws[one] = {LABELS[s]: law[s] * rest[s] * rest[s + 1] for s in range(len(law))}
    return compare(laws, [(table, fewer)], epsilon, one_total=True)
