"""Boosting of numbers beside DP-EBM at its three learning rates, on the same folds; and its intervals."""

import os

import numpy as np

from bench.regression_job import COVERAGE, DELTA, FEW_ROWS, FOLDS, MOST_ROWS, OURS, REPEATS
from bench.report import Result, Skipped, spread
from bench.runner import ask_kept

TABLES = (
    *("abalone", "airfoil", "concrete", "insurance_charges", "wine_quality", "kin8nm", "cpu_act"),
    *("power_plant", "pol", "elevators", "bike_sharing", "california_housing", "nyc_flights"),
    "acs_income_numeric",
)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
MARK = ("abalone", 0.54)
"""Where a paper prints an R² of .47: `docs/boosting.md`."""

LEAST = -0.02


def run(quick: bool) -> Result:
    if "PRIVET_MORE_DATA" not in os.environ:
        raise Skipped("the tables are not here; set PRIVET_MORE_DATA to the folder that holds them.")
    tables, epsilons = (TABLES[:2], (1.0,)) if quick else (TABLES, EPSILONS)
    jobs = [{"table": table, "epsilon": epsilon} for table in tables for epsilon in epsilons]
    jobs += [{"table": MARK[0], "epsilon": MARK[1]}]
    answers = ask_kept("bench.regression_job", jobs)
    scores = {
        (job["table"], job["epsilon"], learner): score
        for job, answer in zip(jobs, answers, strict=True)
        for learner, score in answer["scores"]
    }
    rows = [_row(job, dict(answer["scores"])) for job, answer in zip(jobs, answers, strict=True)]
    versions = answers[0]["versions"]
    return Result("regression", rows, [*_compared(scores, epsilons), *_marks(scores), *_told(versions)])


def _row(job, scores):
    rivals = [np.mean(score["r2"]) for learner, score in scores.items() if learner not in OURS]
    found = {"table": job["table"], "ε": job["epsilon"]}
    for learner, named in zip(OURS, ("pure", "δ"), strict=True):
        score = scores[learner]
        found |= {
            f"R² {named}": spread(score["r2"]),
            f"held {named}": float(np.mean(score["coverage"])) if score["coverage"] else None,
        }
    return found | {"DP-EBM": round(float(max(rivals)), 3)}


def _compared(scores, epsilons):
    rates = {learner for _, _, learner in scores if learner not in OURS}
    tables = list(dict.fromkeys(table for table, epsilon, _ in scores if epsilon in epsilons))
    for epsilon in epsilons:
        mean = {of: np.mean([_mean(scores, t, epsilon, of) for t in tables]) for of in (*OURS, *rates)}
        best = max(rates, key=lambda rate: mean[rate])
        told = ", ".join(f"{learner} {mean[learner]:.3f}" for learner in OURS)
        ahead = {
            learner: sum(
                _mean(scores, t, epsilon, learner) > max(_mean(scores, t, epsilon, r) for r in rates)
                for t in tables
            )
            for learner in OURS
        }
        counted = ", ".join(f"{learner} {n}" for learner, n in ahead.items())
        yield (
            f"ε = {epsilon:g}, mean R² of {len(tables)} tables: {told}; {best} (the rate that is best on the "
            f"mean) {mean[best]:.3f}. Ahead of the best rate of each table: {counted}."
        )


def _marks(scores):
    known = {of: _mean(scores, *MARK, of) for of in OURS}
    yield f"{MARK[0]} at ε = {MARK[1]}: " + ", ".join(f"{of} {value:.3f}" for of, value in known.items())
    below = [(key, np.mean(s["r2"])) for key, s in scores.items() if key[2] in OURS]
    named = [f"{t}, ε = {e:g}, {of}: {value:.3f}" for (t, e, of), value in below if value < LEAST]
    yield f"Mean R² below {LEAST}: {len(named)} of {len(below)}. " + "; ".join(named)
    held = [np.mean(s["coverage"]) for key, s in scores.items() if key[2] in OURS and s["coverage"]]
    yield (
        f"Intervals for {COVERAGE:.0%} of all rows hold {np.mean(held):.1%} of the test rows' numbers on the "
        f"mean, {min(held):.1%} to {max(held):.1%} over {len(held)} cases; "
        f"{sum(abs(h - COVERAGE) <= 0.05 for h in held)} are within 5 points."
    )


def _mean(scores, table, epsilon, learner):
    return float(np.mean(scores[table, epsilon, learner]["r2"]))


def _told(versions):
    yield (
        f"At most {MOST_ROWS:,} random rows of a table; {FOLDS}-fold, {REPEATS} times over below "
        f"{FEW_ROWS:,} rows, the same folds for all; mean±sd over the folds. δ = {DELTA:g}, also that of "
        "DP-EBM, which has no pure ε. DP-EBM: interpret's, learning rates 0.01 (its default), 0.03 and 0.1, "
        "the best of each table in its column; which that is is known only afterwards, and no budget pays "
        "for it. It is told the target's public range, and what it predicts is cut to it. It sees codes of "
        f"the same public schema. held: share of the numbers in intervals for {COVERAGE:.0%}. No bound on "
        f"the rows was stated. interpret-core {versions['interpret-core']}."
    )
