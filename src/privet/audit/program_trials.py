"""Trials of questions and learners: laws of whole small forests, transcripts, samples, one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from privet.audit.exact import Explorer, Law, Table, compare, pairs, permute_and_flip_law, tables
from privet.audit.exponentials import exponential
from privet.audit.interception import SealedBits, choose_uniformly, replaced
from privet.audit.one_run import one_run
from privet.audit.programs import TOY, UNIVERSE, Program, random_tables, rows_of
from privet.audit.search import search
from privet.audit.statistical import lower_bound, repeated
from privet.audit.transcripts import Comparison, compare_without
from privet.audit.trial import Effort, from_laws, from_one_run, from_runs, from_transcripts, in_turn
from privet.audit.verdict import Verdict
from privet.model import CountForest, LabelForest
from privet.privacy import Budget, Charge, Ledger, Protected, Receipt, mechanisms, protect, tree_questions
from privet.privacy.bits import uniform_below
from privet.schema import Categorical, Feature, Schema
from privet.structure import CompleteTrees

SEED = 20_170_601
LIFT = 20_000
"""Added to every noisy number of some transcripts: a learner that believes in many rows asks all it can."""


def enumerated_choices(explorer: Explorer) -> Callable[..., np.ndarray]:
    """Permute-and-flip with every outcome of every row enumerated, by the law of its own code."""

    def choose(exact_scores: np.ndarray, rate: Fraction, bits: Any) -> np.ndarray:
        laws = [permute_and_flip_law(row, exponential(rate)) for row in exact_scores.tolist()]
        return np.array([explorer.choose(list(enumerate(law))) for law in laws])

    return choose


def program_law(program: Program, table: Table, epsilon: Fraction) -> Law:
    """Exact law of what a program releases whose answers are all chosen among finitely many."""
    explorer = Explorer()
    rows, choose = rows_of(table), enumerated_choices(explorer)

    def run() -> Hashable:
        released = program(Protected(rows, TOY, Paid(), SealedBits()))  # type: ignore[arg-type]
        return tuple(numbers(released).astype(int).tolist())

    def parts(bounds: np.ndarray, bits: Any) -> np.ndarray:
        return choose_uniformly(explorer, bounds)

    with (
        replaced({mechanisms.permute_and_flip: choose}),
        replaced({uniform_below: parts}, [tree_questions]),
    ):
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
    name: str, program: Program, epsilon: Fraction, effort: Effort, delta: Fraction = Fraction(0)
) -> Verdict:
    """Transcripts of a program on small tables of the toy schema."""
    compared = compare_transcripts(program, TOY, Budget(epsilon, delta), toy_pairs(effort))
    return from_transcripts(name, epsilon, compared, delta)


def transcripts_of_schema(
    name: str, program: Program, schema: Schema, epsilon: Fraction, effort: Effort, delta: Fraction
) -> Verdict:
    """Transcripts of a program on tables drawn over a schema."""
    random = np.random.default_rng(SEED)
    sizes = [1 + 4 * (i % 8) for i in range(effort.pairs)]
    listed = [(table, int(random.integers(len(table)))) for table in random_tables(schema, sizes, random)]
    return from_transcripts(
        name, epsilon, compare_transcripts(program, schema, Budget(epsilon, delta), listed), delta
    )


def sampled_program(
    name: str,
    program: Program,
    epsilon: Fraction,
    effort: Effort,
    delta: Fraction = Fraction(0),
    pair: tuple[Table, Table] | None = None,
) -> Verdict:
    """Run a program many times on two tables: those given, found by a search, or a row and none."""
    both = pair or ((UNIVERSE[0],), ())
    if pair is None and effort.pilot and _is_fast(program):
        random = np.random.default_rng(SEED)
        found = search(
            repeated(partial(run_once, program)), UNIVERSE, runs=effort.pilot, steps=6, most_rows=3,
            random=random, restarts=3,
        )  # fmt: skip
        both = found.table, found.neighbour
    outputs = in_turn([partial(run_once, program, table) for table in both], effort)
    bound = lower_bound(outputs[0], outputs[1], delta=float(delta))
    return from_runs(name, epsilon, bound, both, float(delta))


class Paid:
    """An account that pays anything: of many runs, all but the answers are looked at elsewhere."""

    name = "audit"
    batch_name = None

    def reserve(
        self, charges: Sequence[Charge], schema: str | None = None, instead: Sequence[Charge] = ()
    ) -> Receipt:
        """Say yes."""
        return Receipt(self.name, 1, "")

    def settle(self, receipt: Receipt, plan: str) -> None:
        """Say yes."""


def _is_fast(program: Program) -> bool:
    """Whether a run takes so little that thousands of them may be spent on a search."""
    start = time.perf_counter()
    for _ in range(3):
        run_once(program, (UNIVERSE[0],))
    return time.perf_counter() - start < 0.03


def run_once(program: Program, table: Table) -> np.ndarray:
    """What a program released in one run, as numbers; its noise is that of its users."""
    return numbers(program(Protected(rows_of(table), TOY, Paid())))  # type: ignore[arg-type]


def numbers(release: Any) -> np.ndarray:
    """A release as a vector of a length that depends neither on rows nor on noise."""
    if isinstance(release, tuple | list):
        return np.concatenate([numbers(part) for part in release])
    if isinstance(release, LabelForest):
        return release.labels.ravel()
    if isinstance(release, CountForest) and isinstance(release.trees, CompleteTrees):
        return release.counts.ravel()
    if hasattr(release, "shares"):
        return np.asarray(np.round(release.shares(PROBE), 3)).ravel()
    return np.asarray(getattr(release, "values", release)).ravel()


PROBE = pa.table({"town": ["north", "south"] * 2, "age": [10.0, 10.0, 70.0, 70.0], "children": [1, 1, 3, 3]})
"""Rows whose predictions stand for a model that has no other vector of fixed length."""


def one_run_of(
    name: str, estimator: Any, schema: Schema, epsilon: Fraction, effort: Effort, delta: Fraction
) -> Verdict:
    """Fit once on canaries drawn over a schema, each in by its own coin, and guess which were in.

    A canary's score is the weight that the model gives to its label.
    """
    random = np.random.default_rng(SEED)
    columns = random_columns(schema, effort.canaries, random)
    places = random.integers(len(schema.label.values), size=effort.canaries)
    labels = np.array([str(value) for value in schema.label.values])[places]

    def score(included: np.ndarray) -> np.ndarray:
        table = columns.filter(pa.array(included))
        account = Ledger().create("audit", Budget(epsilon, delta))
        model = estimator.fit(protect(table, schema, account, labels[included])).model_
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
    return (np.floor(values) if feature.integer else values).tolist()
