"""When an answer comes: a time that follows from the request, the schema and its ``max_rows`` alone.

A job's answer is released ``D`` seconds after it started, however long it took, and its slot stays taken till
then; so neither a time nor a queue tells of rows. ``D`` is three times what the most rows that there may be
would take, by two numbers measured on invented rows of this machine (`measured`), and is rounded up to a
coarse grid. Of a score it counts the steps that a row takes through the model at most: whoever brings a model
chooses how long each of them is. A job that overruns all the same is released at 2D or at 4D, and is stopped
then: a few bits.
"""

from __future__ import annotations

import json

from privet.learners.plan import FitPlan
from privet.privacy import Charge
from privet.schema import Schema
from privet.service.house import House
from privet.service.processes import run_measure

SAFETY = 3
LATER = (1, 2, 4)
"""Multiples of D at which an answer may come."""

SECONDS_A_LEAF = 2e-6
STEPS = (1, 2, 3, 5, 8)


def seconds(
    plan: FitPlan | None, schema: Schema, pace: tuple[float, float], n_steps: int = 0, n_questions: int = 1
) -> int:
    """D, in whole seconds; of a score with the steps of its model, and for so many questions."""
    units, leaves = size(plan, schema)
    if plan is None:
        units = n_questions * (units + n_steps)
    rows = schema.max_rows or 0
    exact = pace[0] + rows * units * pace[1] + leaves * SECONDS_A_LEAF
    return rounded(SAFETY * exact)


def rounded(value: float) -> int:
    """The next number of seconds of a coarse grid: 1, 2, 3, 5 or 8 times a power of ten."""
    power = 1
    while True:
        for step in STEPS:
            if step * power >= value:
                return step * power
        power *= 10


def release(started: int, needed: int, finished: float | None) -> int:
    """When an answer that was there at a time is released."""
    ended = started if finished is None else finished
    return next((started + k * needed for k in LATER if ended <= started + k * needed), started + 4 * needed)


def size(plan: FitPlan | None, schema: Schema) -> tuple[float, float]:
    """Units of work for a row, and leaves that get noise."""
    width = len(schema.features) + 1
    if plan is None:
        return 4.0 * width, 1 << 20
    facts = {name: value for name, value in plan.facts.items() if isinstance(value, int | float)}
    trees, depth = facts.get("trees", 1), facts.get("depth", facts.get("depth at most", 1))
    passes = max(facts.get("passes over the rows", 1), sum(map(_weight, plan.questions)))
    leaves = trees * facts.get("leaves of each tree", 1)
    return passes * (4.0 * width + trees * (depth + 1)), leaves * schema.n_scores


SLOW = {"choose_split": 10.0, "noisy_cells": 20.0, "noisy_split_counts": 3.0}
"""Questions for which a row is more work than in a pass of boosting, by which times are measured: about how
often, on fifty columns."""


def _weight(charge: Charge) -> float:
    return SLOW.get(getattr(charge.kind, "method", ""), 1.0)


CAREFUL = (5.0, 5e-9)
"""Seconds to start and for a row in a unit of work, where nothing was measured."""

FEW, MANY = 200, 100_000
LEAST = 1e-10
KEPT = "pace"


def pace(house: House) -> tuple[float, float]:
    """Seconds that a job takes to start, and for a row in a unit of work."""
    start, row = house.settings.start_seconds, house.settings.row_seconds
    if start is None or row is None:
        kept = house.read("SELECT value FROM setting WHERE name = ?", KEPT)
        measured_start, measured_row = json.loads(kept[0][0]) if kept else CAREFUL
        start = measured_start if start is None else start
        row = measured_row if row is None else row
    return start, row


def is_measured(house: House) -> bool:
    """Whether times are known: they are given, or were measured once."""
    given = (house.settings.start_seconds, house.settings.row_seconds)
    return None not in given or bool(house.read("SELECT 1 FROM setting WHERE name = ?", KEPT))


def measure(house: House) -> tuple[float, float]:
    """Measure this machine, once for a house: a fit on few and on many invented rows.

    Rows are timed within a process: how long one takes to start differs by more than they take.
    """
    if not is_measured(house):
        run_measure(house, FEW)  # compiles, where nothing is compiled yet
        few, many = run_measure(house, FEW), run_measure(house, MANY)
        found = (few.process, max((many.fit - few.fit) / (MANY * many.units), LEAST))
        with house.write() as at_once:
            at_once.execute("INSERT INTO setting (name, value) VALUES (?, ?)", (KEPT, json.dumps(found)))
    return pace(house)
