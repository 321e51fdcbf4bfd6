"""Persons on the stand: tables in which one person has several rows, and neighbours that lack a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from privet.audit.exact import Table
from privet.audit.program_trials import LIFT, SEED
from privet.audit.programs import (
    LEARNERS,
    NUMBER_LEARNERS,
    NUMBER_QUESTIONS,
    NUMBERS,
    OPEN,
    OPEN_QUESTIONS,
    QUESTIONS,
    TOY,
    UNIVERSE,
    Programs,
    rows_of,
)
from privet.audit.stand import Mutant, Program, Rows
from privet.audit.transcripts import Comparison, compare_without
from privet.audit.trial import DELTA, FINDING, Effort, from_transcripts
from privet.audit.verdict import Verdict
from privet.data.persons import Persons, own_rows
from privet.engines import Batch
from privet.engines.protocol import Draws, Engine, Total
from privet.privacy import Budget
from privet.privacy.question import Tally
from privet.schema import Schema

KEY = b"persons on trial, by a known key"
MOST_ROWS, MOST_PERSONS = 8, 4


class PersonRows(Rows):
    """One row of each person as an engine, by the code that reads tables; all rows stand beside it.

    Attributes
    ----------
    every : Rows
    who : array (rows, 2)
        The person of each of them.
    """

    def __init__(self, every: Rows, who: np.ndarray) -> None:
        self.every, self.who, self._own = every, who, own_rows(who)
        own = every.only(self._own)
        super().__init__(own.features, own.labels, own.identities, own.texts, own.read)

    def person(self, row: int) -> np.ndarray:
        """Who a row stands for."""
        return np.asarray(self.who[self._own[row]])

    def without(self, row: int) -> PersonRows:
        """The neighbour that lacks a person, with all their rows."""
        gone = (self.who == self.person(row)).all(axis=1)
        left = np.flatnonzero(~gone)
        return PersonRows(self.every.only(left), self.who[left])


def person_rows(table: Table, persons: Sequence[int], schema: Schema = TOY) -> PersonRows:
    """A table of which the person of each row is told."""
    identities = Persons("person", KEY, list(persons)).identities({}, len(persons))
    return PersonRows(rows_of(table, schema), identities)


def every_row(sound: Engine) -> Engine:
    """All rows of everyone: the unit is ignored."""
    assert isinstance(sound, PersonRows)
    return sound.every


class PartsByRow(Engine):
    """One row a person, but where rows draw parts all of them do: someone may be in several parts."""

    def __init__(self, one: Engine, every: Engine) -> None:
        self.one, self.every = one, every

    def sum(self, tally: Callable[[Batch], Total]) -> Total:
        """See `Engine`."""
        parted = isinstance(tally, Tally) and getattr(tally.question, "own_rows", False)
        return (self.every if parted else self.one).sum(tally)

    def part(self, draws: Draws, bound: int, taken: range) -> PartsByRow:
        """See `Engine`."""
        return PartsByRow(self.one.part(draws, bound, taken), self.every.part(draws, bound, taken))

    def under(self, schema: Schema) -> PartsByRow:
        """See `Engine`."""
        return PartsByRow(self.one.under(schema), self.every.under(schema))


def drawn_tables(n: int) -> Iterator[tuple[Table, tuple[int, ...], int]]:
    """Tables in which persons have several rows, the person of each row, and who is to be left out."""
    random = np.random.default_rng(SEED)
    for i in range(n):
        size = 2 + i % (MOST_ROWS - 1)
        table = tuple(UNIVERSE[j] for j in random.integers(len(UNIVERSE), size=size))
        persons = tuple(random.integers(1, MOST_PERSONS + 1, size).tolist())
        yield table, persons, int(random.integers(len(set(persons))))


def compare_persons(
    program: Program,
    schema: Schema,
    budget: Budget,
    listed: Sequence[tuple[Table, tuple[int, ...], int]],
) -> list[tuple[Table, Table, Comparison]]:
    """Compare transcripts of tables with those of neighbours that lack a person."""
    found = []
    for i, (table, persons, row) in enumerate(listed):
        rows = person_rows(table, persons, schema)
        compared = compare_without(program, rows, row, schema, budget, SEED + i, (i % 2) * LIFT)
        person = rows.person(row)
        gone = tuple(r for r, who in zip(table, rows.who, strict=True) if (who == person).all())
        found.append((table, gone, compared))
    return found


def transcripts_of_persons(
    name: str,
    program: Program,
    epsilon: Fraction,
    effort: Effort,
    delta: Fraction = Fraction(0),
    schema: Schema = TOY,
) -> Verdict:
    """Transcripts of a program on small tables and on those that lack one of the persons."""
    budget = Budget(epsilon, delta, FINDING if delta and schema.open_features else 0)
    listed = list(drawn_tables(effort.pairs))
    return from_transcripts(name, epsilon, compare_persons(program, schema, budget, listed), delta)


PERSON_PROGRAMS: Sequence[tuple[str, Programs, Fraction, Schema]] = (
    ("question", QUESTIONS, Fraction(0), TOY),
    ("question", NUMBER_QUESTIONS, Fraction(0), NUMBERS),
    ("question", OPEN_QUESTIONS, DELTA, OPEN),
    ("learner", {n: LEARNERS[n] for n in ("boosting", "count-forest-own-rows")}, Fraction(0), TOY),
    ("learner", NUMBER_LEARNERS, Fraction(0), NUMBERS),
)
"""What is tried by persons: every question, and learners whose rows draw parts, or that ask again."""

PERSON_MUTANTS: Programs = {
    "unit-ignored": lambda e: Mutant(QUESTIONS["rows-by-column"](e), engine=every_row),
    "parts-by-row": lambda e: Mutant(
        QUESTIONS["labels-of-own-rows"](e), engine=lambda sound: PartsByRow(sound, every_row(sound))
    ),
}
"""Programs with a planted fault that only persons with several rows show."""
