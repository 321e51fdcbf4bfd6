"""Everything on the stand comes out as it must: what is strict holds, what is broken is convicted."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from numpy.random import RandomState

import privet
from laws import Noiseless
from privet import Budget, Continuous, Label, Protected, Schema
from privet.answers import Law
from privet.audit import published_2015
from privet.audit.defendants import DEFENDANTS, defendant
from privet.audit.losses import Bound, Loss, together
from privet.audit.mutants import MUTANTS, Faulty, WeakNoise
from privet.audit.program_trials import (
    one_run_of,
    run_once,
    sampled_program,
    transcripts_of_schema,
    transcripts_of_toy,
)
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
    random_tables,
    rows_of,
)
from privet.audit.report import audit, to_json
from privet.audit.selection_trials import exact_best_run
from privet.audit.stand import Mutant
from privet.audit.transcripts import Comparison, Witness, compare_without, digest, watch
from privet.audit.trial import FINDING, QUICK, from_transcripts
from privet.audit.verdict import BROKEN, HOLDS, NOT_REFUTED
from privet.errors import QuestionError
from privet.learners.random_trees import random_complete_trees
from privet.noise.bits import RowDraws
from privet.privacy import Cost, Ledger, Repeatable, Secure, questions
from privet.privacy.questions.runs import BestOfRuns
from privet.privacy.questions.trees import LeafLabelRows, LeafLabels

ONE = Fraction(1)


@pytest.mark.parametrize("name", DEFENDANTS)
def test_every_defendant_comes_out_as_it_must(name):
    findings = audit([DEFENDANTS[name]], QUICK)
    assert [f.verdict for f in findings if not f.expected] == []
    assert {f.verdict.outcome for f in findings} <= {HOLDS, NOT_REFUTED, BROKEN}
    methods = {f.verdict.method for f in findings}
    if not DEFENDANTS[name].guilty:
        assert methods & {"exact", "transcripts"}
        assert all(f.verdict.outcome == HOLDS for f in findings if f.verdict.method != "statistical")


def test_every_learner_and_every_kind_of_fault_is_there():
    learners = {name for name in privet.__all__ if name.endswith(("Classifier", "Regressor"))}
    programs = LEARNERS | NUMBER_LEARNERS
    fitted = [cell.cell_contents for make in programs.values() for cell in make.__closure__]
    assert {estimator.__name__ for estimator in fitted if isinstance(estimator, type)} == learners
    planted = {each.name for each in DEFENDANTS.values() if each.guilty}
    assert len(planted) == 12


def test_an_unknown_name_is_told_what_there_is():
    with pytest.raises(QuestionError, match="laplace"):
        defendant("nothing", ("mechanism",))
    with pytest.raises(QuestionError, match="boosting"):
        defendant("laplace", ("learner",))


def broken(program, lift=0) -> list:
    """Comparisons of a program on some toy tables."""
    a, b, c, d = (UNIVERSE[i] for i in (0, 1, 3, 5))
    tables = [(a,), (a, b), (a, c), (a, d), (a, a, a), tuple(UNIVERSE[:6])]
    return [
        compare_without(program, rows_of(table), row, TOY, Budget(1), seed, lift)
        for seed, table in enumerate(tables)
        for row in range(len(table))
    ]


class Sharp(Faulty):
    """Everything is chosen at twice the rate that is paid for."""

    def law_of(self, charge):
        law = super().law_of(charge)
        return Law(law.name, law.parameter * (2 if law.name in ("permute-and-flip", "exponential") else 1))


def test_a_tree_that_chooses_its_splits_too_sharply_is_convicted():
    program = LEARNERS["greedy-tree"](ONE)
    assert all(each.keeps for each in broken(program, lift=300))
    assert any(each.broken for each in broken(Mutant(program, Sharp), lift=300))


class Listening(Faulty):
    """Lets a program learn what exact answers the wall hands to its mechanisms."""

    seen: int = 0

    def add(self, exact, law):
        Listening.seen = int(exact.sum())
        return super().add(exact, law)


def peeking(protected):
    return protected.noisy_count(epsilon="1/2"), Listening.seen


def curious(protected):
    first = protected.noisy_count(epsilon="1/2")
    return first, protected.noisy_count(epsilon="1/2" if Listening.seen % 2 else "1/3")


def insatiable(protected):
    protected.noisy_count(epsilon="1/8")
    return [protected.noisy_count(epsilon="1/8") for _ in range(Listening.seen % 2)]


def sly(protected):
    """Catches whatever it can: what gives it away is no error."""
    first = protected.noisy_count(epsilon="1/2")
    with contextlib.suppress(Exception):
        protected.noisy_count(epsilon="1/2" if Listening.seen % 2 else "1/3")
    return first


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (peeking, "the release differs"),
        (curious, "another question"),
        (insatiable, "question"),
        (sly, "another question"),
    ],
)
def test_a_learner_that_peeks_is_convicted(program, why):
    compared = broken(Mutant(program, Listening))
    assert any(why in each.leak and each.broken for each in compared)


class ByHalves(RowDraws):
    """Two rows draw together."""

    def __init__(self, sound):
        super().__init__(b"")
        self._sound = sound

    def below(self, bound, rows):
        return np.repeat(self._sound.below(bound, rows[: (len(rows) + 1) // 2]), 2)[: len(rows)]


class DrawnByHalves(Faulty):
    def row_draws(self):
        return ByHalves(super().row_draws())


def test_parts_that_are_not_drawn_by_row_are_convicted():
    by_halves = Mutant(QUESTIONS["labels-of-own-rows"](ONE), DrawnByHalves)
    assert any("parts are not drawn once a row" in each.leak for each in broken(by_halves))


class Fresh(Faulty):
    """Noise that the auditor does not see."""

    def add(self, exact, law):
        return Secure().add(exact, law)


class Unpriced(Faulty):
    """Draws noise of its own beside what it was asked for."""

    def add(self, exact, law):
        return super().add(exact, law) + self.sound.noise(law, exact.size)


def test_noise_that_the_auditor_does_not_know_is_no_acquittal():
    program = QUESTIONS["rows-by-leaf"](ONE)
    assert any("the release differs" in each.leak for each in broken(Mutant(program, Fresh)))
    with pytest.raises(QuestionError, match="auditor"):
        broken(Mutant(program, Unpriced))


def test_two_walls_of_one_process_do_not_touch():
    """While one is audited in a thread, paid answers of the other get secure noise, and its own."""
    audited, paid = threading.Event(), threading.Event()
    trees = random_complete_trees(TOY, 2, 2, RandomState(1))

    class Waiting(Faulty):
        """Answers under audit while another thread asks."""

        def add(self, exact, law):
            audited.set()
            assert paid.wait(60)
            return super().add(exact, law)

    def audit_one():
        program = Mutant(lambda p: p.noisy_histogram(trees, epsilon=ONE), Waiting)
        compared.append(compare_without(program, rows_of(UNIVERSE), 0, TOY, Budget(1), 7))

    def ask():
        account = Ledger().create("other", Budget(10))
        walls = [Protected(rows_of(UNIVERSE), TOY, account) for _ in range(2)]
        assert all(wall.private for wall in walls)
        return [wall.noisy_histogram(trees, epsilon=1).values for wall in walls]

    compared: list[Comparison] = []
    thread = threading.Thread(target=audit_one)
    thread.start()
    assert audited.wait(60)
    answers = ask()
    paid.set()
    thread.join(60)
    # Discrete Laplace noise of scale 2 on sixteen counts: alike by chance less often than once in 10^10.
    assert not np.array_equal(*answers)
    repeated = [
        Protected(rows_of(UNIVERSE), TOY, Ledger().create("x", Budget(1)), Repeatable(7)) for _ in range(2)
    ]
    alike = [wall.noisy_histogram(trees, epsilon=1).values for wall in repeated]
    assert np.array_equal(*alike)
    assert compared[0].keeps and compared[0].loss.attained == pytest.approx(1)


def test_the_loss_that_is_charged_is_attained():
    """The bound is not a loose one: some neighbours lose all that was paid."""
    for name in ("number-of-rows", "labels-of-leaves", "rows-by-leaf", "frequent-cells"):
        compared = broken(QUESTIONS[name](ONE))
        assert max(each.loss.attained for each in compared) == pytest.approx(1)
        assert all(each.keeps and each.charged.epsilon == 1 for each in compared)


def test_what_may_not_be_attained_is_not_called_broken():
    """Losses of two selections that go opposite ways do not add up, nor is one choice of parts the truth."""
    up, down = Loss(Bound.pure(ONE), (1.0, 0.2)), Loss(Bound.pure(ONE), (0.2, 1.0))
    total = together([up, down])
    assert total.bound.epsilon == 2 and total.attained == pytest.approx(1.2)
    unsure = Comparison(total, Cost.pure("1.5"), 2)
    assert not unsure.keeps and not unsure.broken
    assert Comparison(total, Cost.pure("1.1"), 2).broken
    assert not Comparison(total, Cost.pure("1.1"), 2, in_parts=True).broken
    verdict = from_transcripts("unsure", ONE, [((), (), unsure)])
    assert verdict.outcome == NOT_REFUTED and verdict.text == "not proved, bound 2"
    gaussian = Loss(Bound(None, Fraction(1, 2)), rho=Fraction(1, 2))
    assert (
        Comparison(gaussian, Cost.zcdp("1/3"), 1).broken and Comparison(gaussian, Cost.zcdp("1/2"), 1).keeps
    )


def test_losses_are_exact_where_costs_are_rounded():
    """A hair above what was charged, far below the grid of costs, is not covered."""
    charged = Cost.pure("1/3")
    exactly = Bound.pure(charged.epsilon)
    assert Comparison(Loss(exactly), charged, 1).keeps
    assert not Comparison(Loss(Bound.pure(charged.epsilon + Fraction(1, 10**40))), charged, 1).keeps
    assert not Comparison(Loss(Bound(None, charged.rho + Fraction(1, 10**60))), charged, 1).keeps


def test_weak_noise_in_random_parts_is_not_proved():
    trees = random_complete_trees(TOY, 2, 1, RandomState(0))
    compared = broken(Mutant(lambda p: p.split(2).noisy_histogram(trees, epsilon=1), WeakNoise))
    assert not any(each.broken for each in compared) and not all(each.keeps for each in compared)


def test_lifted_transcripts_make_boosting_ask_for_gradients():
    program = LEARNERS["boosting"](ONE)
    witness = Witness(len(UNIVERSE), 0, lift=20_000)
    watch(program, rows_of(UNIVERSE), TOY, Budget(1), witness)
    assert len(witness.answers) > 5


def test_releases_are_compared_by_their_values():
    card = {"private": True, "caveats": [], "questions": [], "schema": "", "learner": {}, "version": ""}
    cards = [privet.PrivacyCard("1", "0", "", account="", receipt=str(i), **card) for i in (1, 2)]
    assert digest(cards[0]) == digest(cards[1])
    assert digest(np.array([1, 2])) != digest(np.array([1, 3])) != digest(np.array([1.0, 3.0]))
    assert digest({"a": [1, (2, None)]}) == digest({"a": [1, (2, None)]}) != digest({"a": [1, (2, 0)]})
    assert digest(np.array(["x", 3], object)) == digest(np.array(["x", 3], object))


def test_a_learner_can_be_tried_on_the_tables_of_a_schema(schema):
    forest = privet.MajorityForestClassifier(epsilon=ONE, n_trees=5, max_depth=3, random_state=0)
    program = lambda p: forest.fit(p).model_  # noqa: E731
    verdict = transcripts_of_schema("forest", program, schema, ONE, QUICK, Fraction(0))
    assert verdict.outcome == HOLDS and verdict.loss == pytest.approx(1)
    verdict = one_run_of("forest", forest, schema, ONE, QUICK, Fraction(0))
    assert verdict.outcome == NOT_REFUTED and verdict.loss < 1


def test_one_run_convicts_a_full_size_forest_without_noise():
    wide = Schema([Continuous(f"x{i}", 0, 1) for i in range(8)], Label("y", ["a", "b"]))
    forest = privet.CountForestClassifier(
        epsilon=ONE, n_trees=20, max_depth=12, structure="fletcher-islam", voting="sum", random_state=0
    )
    assert one_run_of("forest", forest, wide, ONE, QUICK, Fraction(0)).loss < 1
    noiseless = Noiseless()
    verdict = one_run_of("forest", forest, wide, ONE, QUICK, Fraction(0), noiseless)
    assert verdict.broken and verdict.loss > 1.5


def test_tables_are_searched_for_where_there_is_time():
    effort = replace(QUICK, pilot=40, runs=200, seconds=60)
    verdict = sampled_program("labels", QUESTIONS["labels-of-leaves"](ONE), ONE, effort)
    assert not verdict.broken and verdict.looked_at.startswith("200 runs")


@pytest.mark.parametrize("name", [*LEARNERS, *LEARNERS_WITH_DELTA, *NUMBER_LEARNERS])
def test_releases_of_all_learners_become_vectors_of_one_length(name):
    program = (LEARNERS | LEARNERS_WITH_DELTA | NUMBER_LEARNERS)[name](Fraction(4))
    schema = NUMBERS if name in NUMBER_LEARNERS else TOY
    lengths = {len(run_once(program, table, schema)) for table in ((), UNIVERSE[:1], UNIVERSE, UNIVERSE)}
    assert len(lengths) == 1


def test_fletcher_and_islam_2015_fails_twice():
    accounts = published_2015.accounted_path("published", ONE, QUICK)
    assert accounts.broken and accounts.loss == pytest.approx(11 / 9)
    node = published_2015.exact_node("published", ONE, QUICK)
    assert node.broken and node.loss > 6 * 2 and node.epsilon == 2
    assert published_2015.published_sensitivity(100) == pytest.approx(0.0196, abs=2e-4)


def test_selection_that_charges_one_run_is_convicted():
    assert exact_best_run("selection", ONE, QUICK).outcome == HOLDS
    assert exact_best_run("selection", ONE, QUICK, factor=ONE).broken


def test_random_tables_hold_every_code(schema):
    (table,) = random_tables(schema, [4000], np.random.default_rng(0))
    codes = np.array(table)
    assert codes[:, 2].max() == schema.features[2].n_codes - 1 and set(codes[:, 3]) == {0, 1}


def test_findings_as_json():
    findings = audit([DEFENDANTS["fletcher-islam-2015"]], QUICK, ONE)
    data = to_json(findings)
    assert data["as expected"] and len(data["findings"]) == 2
    assert data["findings"][0]["outcome"] == BROKEN and data["findings"][0]["kind"] == "published"
    verdict = transcripts_of_toy("left out", MUTANTS["empty-leaves-left-out"](ONE), ONE, QUICK)
    assert verdict.loss == inf and verdict.to_dict()["loss"] == "infinite"


def test_every_question_of_the_wall_is_asked_on_the_stand():
    """A question that is added must be put on the stand: by itself, or by a learner that asks it."""
    asked, in_parts = set(), set()

    def listening(program):
        def run(protected):
            released = program(protected)
            asked.update(charge.kind for charge in protected.asked)
            in_parts.update(c.kind for c in protected.asked if "random parts" in c.composition)
            return released

        return run

    programs = {
        (TOY, 0): QUESTIONS | LEARNERS,
        (TOY, "1e-6"): LEARNERS_WITH_DELTA,
        (NUMBERS, 0): NUMBER_QUESTIONS | NUMBER_LEARNERS,
        (NUMBERS, "1e-6"): NUMBER_LEARNERS_WITH_DELTA,
    }
    for (schema, delta), named in programs.items():
        for make in named.values():
            witness = Witness(len(UNIVERSE), 0, lift=20_000)
            watch(listening(make(ONE)), rows_of(UNIVERSE, schema), schema, Budget(1, delta), witness)
    for make in (OPEN_QUESTIONS | OPEN_LEARNERS).values():
        witness, budget = Witness(len(UNIVERSE), 0, lift=20_000), Budget(1, "1e-6", FINDING)
        watch(listening(make(ONE)), rows_of(UNIVERSE, OPEN), OPEN, budget, witness)
    by_law = {BestOfRuns}
    assert set(questions.QUESTIONS.values()) - asked == by_law
    assert in_parts == {LeafLabels, LeafLabelRows}
