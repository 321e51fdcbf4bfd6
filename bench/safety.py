"""Is boosting ever worse than saying the class prior, or worse with more? Real tables and odd ones."""

import os

import numpy as np

from bench import zoo
from bench.report import Result, Skipped, spread
from bench.runner import ask_kept
from bench.safety_job import MOST_ROWS

SMALL = (
    *("house_votes", "heart_cleveland", "transfusion", "tic_tac_toe", "mammographic", "german_credit"),
    *("banknote", "car"),
)
LARGER = (
    *("wall_following_4", "mushroom", "acs_income_ne", "clave", "pendigits", "nursery", "magic", "krkopt"),
    *("credit_default", "bank_marketing", "adult", "diabetes130", "connect4", "covertype"),
)
EPSILONS = (0.05, 0.1, 0.5, 1.0, 8.0)
AIM = 1.05
NAMED = 12
"""Most cases that a note names."""


def run(quick: bool) -> Result:
    if "PRIVET_DATA" not in os.environ:
        raise Skipped("the tables are not here; set PRIVET_DATA to the folder that holds them.")
    tables, epsilons = (SMALL[:3], EPSILONS[1:3]) if quick else (SMALL + LARGER, EPSILONS)
    jobs = [
        {"table": table, "epsilons": epsilons, "repeats": 5 if table in SMALL and not quick else 1}
        for table in tables
    ]
    real = _asked("bench.safety_job", jobs)
    made = _asked("bench.zoo", _zoo_jobs(quick))
    rows = [*map(_row, real), *map(_zoo_row, made)]
    notes = [*_counted(real), _worst("real tables", real), *_zoo_notes(made), *_explained()]
    return Result("boosting beside the class prior", rows, notes)


def _asked(module, jobs):
    return [found for answer in ask_kept(module, jobs) for found in answer["found"]]


def _zoo_jobs(quick):
    if quick:
        return zoo.jobs(["heavy", "rare"], zoo.ROWS[:1], (0.1, 1.0), 2)
    small, large = (zoo.jobs(zoo.ZOO, [n], zoo.EPSILONS, k) for n, k in zip(zoo.ROWS, (5, 3), strict=True))
    return small + large


def _row(case):
    rows = "known" if case["stated"] else "unknown"
    return _line(case, rows, None, None, AIM)


def _zoo_row(case):
    return _line(case, f"{case['rows']:,}", case["passes"], float(np.mean(case["aucs"])), zoo.allowed(case))


def _line(case, rows, passes, auc, most):
    return {
        "table": case["table"],
        "rows": rows,
        "ε": case["epsilon"],
        "δ": case["delta"],
        "passes": passes,
        "AUC": auc,
        "loss/prior": spread(case["ratios"]),
        "worst": max(case["ratios"]),
        "met": "yes" if np.mean(case["ratios"]) <= most else "no",
    }


def _counted(found):
    for stated in (False, True):
        chosen = [f | {"mean": np.mean(f["ratios"])} for f in found if f["stated"] is stated]
        above = [f for f in chosen if f["mean"] > AIM]
        named = "; ".join(
            f"{f['table']}, ε = {f['epsilon']:g}, δ = {f['delta']:g}: {f['mean']:.3f}" for f in above
        )
        how = "With" if stated else "Without"
        yield f"{how} a public bound on the rows: above {AIM} in {len(above)} of {len(chosen)} cases. {named}"


def _zoo_notes(found):
    above = sorted(zoo.unsafe(found), key=lambda case: -np.mean(case["ratios"]))
    yield (
        f"Made-up tables: log loss above {zoo.MOST} times the class prior's, or what the noise of a private "
        f"class prior does, beyond two errors in {len(above)} of {len(found)} cases. {_named(above)}"
    )
    yield _worst("made-up tables", found)
    for along, what in (("epsilon", "budget"), ("passes", "questions")):
        worse = zoo.setbacks(found, along)
        yield (
            f"Made-up tables: more {what} made AUC worse by {zoo.WORSE_AUC}, or log loss by "
            f"{zoo.WORSE_LOSS} of the prior's, beyond two errors in {len(worse)} cases. "
            + _named([case for _, case in worse])
        )


def _named(cases):
    return "; ".join(
        f"{c['table']}, {c['rows']:,} rows, ε = {c['epsilon']:g}, δ = {c['delta']:g}, "
        f"passes = {c['passes']}: {np.mean(c['ratios']):.3f}"
        for c in cases[:NAMED]
    )


def _worst(what, found):
    worst = max(found, key=lambda f: max(f["ratios"]))
    return (
        f"The worst fit, {what}: {worst['table']}, ε = {worst['epsilon']:g}, δ = {worst['delta']:g}: "
        f"{max(worst['ratios']):.3f}"
    )


def _explained():
    return [
        "Real tables: log loss on test folds over that of the exact class shares of the training rows; at "
        f"most {MOST_ROWS:,} rows; 3-fold, 5 times on small tables. Rows known: the schema bounds the rows "
        f"of a fit by the size of the table. The aim is {AIM}.",
        f"Made-up tables: on {zoo.NEW_ROWS:,} fresh rows; 5 fits of the small tables, 3 of the large ones, "
        "whose trees and noise differ. Passes: the most questions after the labels.",
    ]
