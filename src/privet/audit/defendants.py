"""What can be put on the stand, and by which trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from privet.answers import EXPONENTIAL, PERMUTE_AND_FLIP
from privet.audit import floats, published_2015, published_2017
from privet.audit.mechanism_trials import (
    ONE_COUNT,
    exact_gaussian,
    exact_laplace,
    exact_selection,
    exact_sparse,
    noisy_counts,
    sampled_count,
    sampled_selection,
    sampled_sparse,
)
from privet.audit.mutants import MUTANTS, WeakNoise, clip_left_out, low_threshold, unpaid_batch
from privet.audit.persons import PERSON_MUTANTS, PERSON_PROGRAMS, transcripts_of_persons
from privet.audit.program_trials import exact_program, sampled_program, transcripts_of_toy
from privet.audit.programs import (
    LEARNERS,
    LEARNERS_WITH_DELTA,
    NUMBER_LEARNERS,
    NUMBER_LEARNERS_WITH_DELTA,
    NUMBER_QUESTIONS,
    NUMBERS,
    OPEN,
    OPEN_LEARNERS,
    OPEN_QUESTIONS,
    QUESTIONS,
    TOY,
    UNIVERSE,
)
from privet.audit.selection_trials import exact_best_run
from privet.audit.stand import Program
from privet.audit.trial import DELTA, QUICK, Effort, Trial, timed
from privet.audit.verdict import Verdict
from privet.errors import QuestionError
from privet.privacy import Budget, Cost, Secure, law_of
from privet.schema import Schema

EPSILONS = (Fraction(1, 10), Fraction(1), Fraction(4))


@dataclass(frozen=True)
class Defendant:
    """Something that promises ε, and the trials that it stands.

    Attributes
    ----------
    name, kind : str
        Kinds are mechanism, question, learner, published, planted.
    trials, slow : sequence of Trial
        Those that are always held, and those that a quick audit leaves out.
    epsilons : sequence of Fraction
        At which it is tried unless the caller says otherwise.
    guilty : bool
        Whether it is known not to keep its promise: then every trial must say so.
    """

    name: str
    kind: str
    trials: Sequence[Trial]
    epsilons: Sequence[Fraction] = EPSILONS
    guilty: bool = False
    slow: Sequence[Trial] = ()

    def hearings(self, effort: Effort, epsilon: Fraction | None = None) -> list[Callable[[], Verdict]]:
        """Every trial at every ε, not yet held."""
        chosen = self.epsilons if epsilon is None else [epsilon]
        held = self.trials if effort == QUICK else [*self.trials, *self.slow]
        return [partial(timed, trial, each, effort) for each in chosen for trial in held]


def _sampled_laplace(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    return sampled_count(name, epsilon, effort, lambda exact: noisy_counts(exact, epsilon, Secure()))


def _sampled_gaussian(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    law = law_of(ONE_COUNT, Cost.zcdp(Budget(epsilon, DELTA).rho))
    return sampled_count(name, epsilon, effort, lambda exact: Secure().add(exact, law), float(DELTA))


def _sampled_weak(name: str, epsilon: Fraction, effort: Effort) -> Verdict:
    weak = WeakNoise(Secure())
    return sampled_count(name, epsilon, effort, lambda exact: noisy_counts(exact, epsilon, weak))


def _selection(name: str, rounds: int | None) -> list[Trial]:
    return [partial(exact_selection, name, rounds), partial(sampled_selection, name)]


def _by_transcripts(
    name: str, make: Callable[[Fraction], Program], delta: Fraction, schema: Schema = TOY
) -> Trial:
    return lambda epsilon, effort: transcripts_of_toy(name, make(epsilon), epsilon, effort, delta, schema)


def _by_runs(name: str, make: Callable[[Fraction], Program], delta: Fraction, schema: Schema) -> Trial:
    return lambda epsilon, effort: sampled_program(name, make(epsilon), epsilon, effort, delta, schema=schema)


def _by_law(name: str, make: Callable[[Fraction], Program]) -> Trial:
    return lambda epsilon, effort: exact_program(name, make(epsilon), epsilon, effort)


def _mechanisms() -> Iterator[Defendant]:
    own = partial(floats.sampled_float, "laplace", noisy=floats.ours)
    yield Defendant(
        "laplace", "mechanism", [partial(exact_laplace, "laplace"), partial(_sampled_laplace, "laplace"), own]
    )
    yield Defendant(
        "gaussian", "mechanism", [partial(exact_gaussian, "gaussian"), partial(_sampled_gaussian, "gaussian")]
    )
    yield Defendant("permute-and-flip", "mechanism", _selection(PERMUTE_AND_FLIP, None))
    yield Defendant("exponential", "mechanism", _selection(EXPONENTIAL, 2))
    yield Defendant(
        "sparse-histogram",
        "mechanism",
        [partial(exact_sparse, "sparse-histogram"), partial(sampled_sparse, "sparse-histogram")],
    )
    yield Defendant("private-selection", "mechanism", [partial(exact_best_run, "private-selection")])


def _programs() -> Iterator[Defendant]:
    none = Fraction(0)
    for name, make in QUESTIONS.items():
        yield Defendant(name, "question", [_by_transcripts(name, make, none)])
    for name, make in NUMBER_QUESTIONS.items():
        yield Defendant(name, "question", [_by_transcripts(name, make, none, NUMBERS)])
    for name, make in OPEN_QUESTIONS.items():
        yield Defendant(name, "question", [_by_transcripts(name, make, DELTA, OPEN)])
    for name, make in LEARNERS.items():
        law = [_by_law(name, make)] if name == "majority-forest" else []
        yield _learner(name, make, none, law)
    for name, make in LEARNERS_WITH_DELTA.items():
        yield _learner(name, make, DELTA, [])
    for name, make in OPEN_LEARNERS.items():
        yield _learner(name, make, DELTA, [], OPEN)
    for name, make in NUMBER_LEARNERS.items():
        yield _learner(name, make, none, [], NUMBERS)
    for name, make in NUMBER_LEARNERS_WITH_DELTA.items():
        yield _learner(name, make, DELTA, [], NUMBERS)


def _persons() -> Iterator[Defendant]:
    for kind, programs, delta, schema in PERSON_PROGRAMS:
        for name, make in programs.items():
            trial = _by_persons(name, make, delta, schema)
            yield Defendant(f"{name}-of-persons", kind, [trial], (Fraction(1),))
    for name, make in PERSON_MUTANTS.items():
        trial = _by_persons(name, make, Fraction(0), TOY)
        yield Defendant(name, "planted", [trial], (Fraction(1),), guilty=True)


def _by_persons(name: str, make: Callable[[Fraction], Program], delta: Fraction, schema: Schema) -> Trial:
    return lambda epsilon, effort: transcripts_of_persons(name, make(epsilon), epsilon, effort, delta, schema)


def _learner(
    name: str,
    make: Callable[[Fraction], Program],
    delta: Fraction,
    law: Sequence[Trial],
    schema: Schema = TOY,
) -> Defendant:
    trials = [*law, _by_transcripts(name, make, delta, schema)]
    return Defendant(name, "learner", trials, slow=[_by_runs(name, make, delta, schema)])


def _guilty() -> Iterator[Defendant]:
    at = (Fraction(1, 2), Fraction(1))
    name = "fletcher-islam-2017"
    trials: list[Trial] = [
        partial(published_2017.exact_label, name),
        partial(published_2017.sampled_label, name),
    ]
    yield Defendant(name, "published", trials, at, guilty=True)
    name = "fletcher-islam-2015"
    trials = [partial(published_2015.accounted_path, name), partial(published_2015.exact_node, name)]
    yield Defendant(name, "published", trials, at, guilty=True)
    name = "float-laplace"
    trials = [partial(floats.exact_float, name), partial(floats.sampled_float, name)]
    yield Defendant(name, "published", trials, at, guilty=True)
    name = "threshold-too-low"
    trials = [_by_transcripts(name, low_threshold, DELTA, OPEN)]
    yield Defendant(name, "planted", trials, (Fraction(1),), guilty=True)
    name = "clip-left-out"
    trials = [_by_transcripts(name, clip_left_out, Fraction(0), NUMBERS)]
    yield Defendant(name, "planted", trials, (Fraction(1),), guilty=True)
    name = "unpaid-batch"
    trials = [_by_transcripts(name, unpaid_batch, Fraction(0))]
    yield Defendant(name, "planted", trials, (Fraction(1),), guilty=True)
    for name, make in MUTANTS.items():
        trials = [_by_transcripts(name, make, Fraction(0)), _mutant_runs(name, make)]
        if name == "parts-by-position":
            trials.append(_by_law(name, make))
        yield Defendant(name, "planted", trials, (Fraction(1),), guilty=True)


def _mutant_runs(name: str, make: Callable[[Fraction], Program]) -> Trial:
    """Runs of a mutant: on the pair of tables that shows its fault, in bulk where that takes many."""
    if name == "noise-times-0.8":
        return partial(_sampled_weak, name)
    a, b = UNIVERSE[0], UNIVERSE[1]
    pair = ((a, b, a, b), (b, a, b)) if name == "parts-by-position" else None

    def trial(epsilon: Fraction, effort: Effort) -> Verdict:
        enough = replace(effort, runs=4000, seconds=60)
        return sampled_program(name, make(epsilon), epsilon, enough, pair=pair)

    return trial


DEFENDANTS: dict[str, Defendant] = {
    each.name: each for make in (_mechanisms, _programs, _persons, _guilty) for each in make()
}
"""Everything that can be put on the stand by name."""


def defendant(name: str, kinds: Sequence[str]) -> Defendant:
    """Look up a defendant of some kinds, or say which there are."""
    known = [each.name for each in DEFENDANTS.values() if each.kind in kinds]
    if name not in known:
        raise QuestionError(f"{name!r} cannot be put on the stand.", f"name one of: {'; '.join(known)}.")
    return DEFENDANTS[name]
