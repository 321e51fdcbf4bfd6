"""Trials of questions and learners: laws of whole small forests, transcripts, samples, one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from privet.audit.enumeration import Enumerated
from privet.audit.exact import Explorer, Law, Table, compare, pairs, tables
from privet.audit.one_run import one_run
from privet.audit.programs import TOY, UNIVERSE, random_tables, rows_of
from privet.audit.search import search
from privet.audit.stand import Paid, Program, ask
from privet.audit.statistical import lower_bound, repeated
from privet.audit.transcripts import Comparison, compare_without
from privet.audit.trial import FINDING, Effort, from_laws, from_one_run, from_runs, from_transcripts, in_turn
from privet.audit.verdict import Verdict
from privet.privacy import ZCDP, Budget, Ledger, Mechanisms, Secure, protect
from privet.schema import Categorical, Feature, Schema

SEED = 20_170_601
LIFT = 20_000
"""Added to every noisy number of some transcripts: a learner that believes in many rows asks all it can."""


def program_law(program: Program, table: Table, epsilon: Fraction) -> Law:
    """Exact law of what a program releases whose answers are all chosen among finitely many."""
    explorer, rows, account = Explorer(), rows_of(table), Paid()

    def run() -> Hashable:
        released = ask(program, rows, TOY, account, Enumerated(explorer))
        return tuple(numbers(released).astype(int).tolist())

    return explorer.law(run)


def exact_program(name: str, program: Program, epsilon: Fraction, effort: Effort) -> Verdict:
    """All tables of up to some rows of one age, and all their neighbours."""
    listed = tables([*UNIVERSE[:2], *UNIVERSE[4:6]], effort.rows)
    laws = {table: program_law(program, table, epsilon) for table in listed}
    return from_laws(name, epsilon, compare(laws, pairs(listed), epsilon))


def compare_transcripts(
    program: Program, schema: Schema, budget: Budget, listed: Sequence[tuple[Table, int]]
) -> list[tuple[Table, Hashable, Comparison]]:
    """Compare two transcripts of every table with those of its neighbour: as drawn, and lifted."""
    return [
        (
            table,
            table[row],
            compare_without(program, rows_of(table, schema), row, schema, budget, SEED + i, (i % 2) * LIFT),
        )
        for i, (table, row) in enumerate(listed)
    ]


def toy_pairs(effort: Effort) -> list[tuple[Table, int]]:
    """Small tables of the toy schema with the place of a row to leave out, or some of them."""
    random = np.random.default_rng(SEED)
    listed = [(table, row) for table in tables(UNIVERSE, effort.rows) for row in range(len(table))]
    listed += [(table, row) for table in random_tables(TOY, [6, 6], random) for row in range(6)]
    return [listed[i] for i in random.permutation(len(listed))[: effort.pairs]]


def transcripts_of_toy(
    name: str,
    program: Program,
    epsilon: Fraction,
    effort: Effort,
    delta: Fraction = Fraction(0),
    schema: Schema = TOY,
) -> Verdict:
    """Transcripts of a program on small tables of the toy schema, or of the same columns, open."""
    budget = Budget(epsilon, delta, FINDING if delta and schema.open_features else 0)
    compared = compare_transcripts(program, schema, budget, toy_pairs(effort))
    return from_transcripts(name, epsilon, compared, delta)


def transcripts_of_schema(
    name: str,
    program: Program,
    schema: Schema,
    epsilon: Fraction,
    effort: Effort,
    delta: Fraction,
    accounting: str = ZCDP,
) -> Verdict:
    """Transcripts of a program on tables drawn over a schema."""
    random = np.random.default_rng(SEED)
    sizes = [1 + 4 * (i % 8) for i in range(effort.pairs)]
    listed = [(table, int(random.integers(len(table)))) for table in random_tables(schema, sizes, random)]
    budget = Budget(epsilon, delta, accounting=accounting)
    compared = compare_transcripts(program, schema, budget, listed)
    return from_transcripts(name, epsilon, compared, delta, accounting)


def sampled_program(
    name: str,
    program: Program,
    epsilon: Fraction,
    effort: Effort,
    delta: Fraction = Fraction(0),
    pair: tuple[Table, Table] | None = None,
    schema: Schema = TOY,
) -> Verdict:
    """Run a program many times on two tables: those given, found by a search, or a row and none."""
    both = pair or ((UNIVERSE[0],), ())
    run = partial(run_once, program, schema=schema)
    if pair is None and effort.pilot and _is_fast(run):
        random = np.random.default_rng(SEED)
        found = search(
            repeated(run), UNIVERSE, runs=effort.pilot, steps=6, most_rows=3,
            random=random, restarts=3,
        )  # fmt: skip
        both = found.table, found.neighbour
    outputs = in_turn([partial(run, table) for table in both], effort)
    bound = lower_bound(outputs[0], outputs[1], delta=float(delta))
    return from_runs(name, epsilon, bound, both, float(delta))


def _is_fast(run: Callable[[Table], np.ndarray]) -> bool:
    """Whether a run takes so little that thousands of them may be spent on a search."""
    start = time.perf_counter()
    for _ in range(3):
        run((UNIVERSE[0],))
    return time.perf_counter() - start < 0.03


def run_once(program: Program, table: Table, schema: Schema = TOY) -> np.ndarray:
    """What a program released in one run, as numbers; its noise is that of its users."""
    return numbers(ask(program, rows_of(table, schema), schema, Paid(), Secure()))


def numbers(release: Any) -> np.ndarray:
    """A release as a vector of a length that depends neither on rows nor on noise."""
    if isinstance(release, tuple | list):
        return np.concatenate([numbers(part) for part in release])
    leaves = getattr(release, "every_leaf", None)
    if leaves is not None:
        return np.asarray(leaves).ravel()
    if hasattr(release, "shares"):
        return np.asarray(np.round(release.shares(PROBE), 3)).ravel()
    if hasattr(release, "predict_interval"):
        return np.asarray(np.round(release.predict(PROBE), 3))
    return np.asarray(getattr(release, "values", release)).ravel()


PROBE = pa.table({"town": ["north", "south"] * 2, "age": [10.0, 10.0, 70.0, 70.0], "children": [1, 1, 3, 3]})
"""Rows whose predictions stand for a model that has no other vector of fixed length."""


def one_run_of(
    name: str,
    estimator: Any,
    schema: Schema,
    epsilon: Fraction,
    effort: Effort,
    delta: Fraction,
    mechanisms: Mechanisms | None = None,
) -> Verdict:
    """Fit once on canaries drawn over a schema, each in by its own coin, and guess which were in.

    A canary's score is the weight that the model gives to its label.
    """
    random = np.random.default_rng(SEED)
    columns = random_columns(schema, effort.canaries, random)
    places = random.integers(schema.n_labels, size=effort.canaries)
    labels = np.array([str(value) for value in schema.classes])[places]

    def score(included: np.ndarray) -> np.ndarray:
        table = columns.filter(pa.array(included))
        account = Ledger().create("audit", Budget(epsilon, delta, accounting=estimator.accounting))
        model = estimator.fit(protect(table, schema, account, labels[included], mechanisms)).model_
        return np.asarray(model.shares(columns)[np.arange(len(places)), places])

    run = one_run(score, effort.canaries, random, delta=float(delta))
    return from_one_run(name, epsilon, run, float(delta))


def random_columns(schema: Schema, rows: int, random: np.random.Generator) -> pa.Table:
    """Rows that are uniform over the values of a schema."""
    return pa.table({feature.name: _column(feature, rows, random) for feature in schema.features})


def _column(feature: Feature, rows: int, random: np.random.Generator) -> list[Any]:
    if isinstance(feature, Categorical):
        return [feature.categories[i] for i in random.integers(len(feature.categories), size=rows)]
    values = random.uniform(feature.lower, feature.upper, rows)
    return [feature.shown(v) for v in (np.floor(values) if feature.integer else values).tolist()]
