"""The wall: charge first, read then, and let only noise out. Nothing else in the product calls an engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import RLock
from typing import NoReturn, TypeVar

from privet.data.discreet import read_discreetly
from privet.engines import Engine
from privet.errors import DataError, QuestionError
from privet.privacy.budget import Cost, in_sequence
from privet.privacy.charges import PLANS, Charge, Receipt
from privet.privacy.ledger import Account
from privet.privacy.mechanisms import Mechanisms, Secure
from privet.privacy.prepaid import Payer
from privet.privacy.question import Answer, Question, Terms, one_of
from privet.privacy.questions import QUESTIONS
from privet.schema import Schema

Result = TypeVar("Result")

KINDS = tuple(QUESTIONS.values())


class Wall:
    """Rows, the account that pays for them, and the only way to reach them."""

    __slots__ = (
        *("_account", "_asked", "_carried", "_engine", "_instead", "_lock", "_mechanisms", "_planned"),
        *("_process", "_receipt", "_schema", "_unsettled"),
    )

    def __init__(
        self, engine: Engine, schema: Schema, account: Payer, mechanisms: Mechanisms | None = None
    ) -> None:
        self._schema = schema
        self._engine = engine
        self._account = account
        self._mechanisms: Mechanisms = mechanisms or Secure()
        self._asked: list[Charge] = []
        self._planned: list[Charge] = []
        self._instead: list[Charge] = []
        self._unsettled = False
        self._carried = False
        self._process = os.getpid()
        self._receipt: Receipt | None = None
        # One thread at a time: between a look at the plan and a change of it nobody else may take from it.
        self._lock = RLock()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise QuestionError("protected rows cannot be copied or pickled.", "pass the object itself.")

    @property
    def schema(self) -> Schema:
        """The public contract under which rows are read."""
        return self._schema

    @property
    def account_name(self) -> str:
        """Name of the data set that pays."""
        return self._account.name

    @property
    def accounting(self) -> str:
        """How costs with a δ add up on the account: ``zcdp`` or ``gdp``."""
        return self._account.accounting

    @property
    def batch_name(self) -> str | None:
        """Name of the disjoint batch that pays, if it is one."""
        return self._account.batch_name

    @property
    def asked(self) -> tuple[Charge, ...]:
        """What has been asked through this object, and wherever its rows were read anew, in order."""
        return tuple(self._asked)

    @property
    def receipt(self) -> Receipt | None:
        """Where the last charge stands in the ledger."""
        return self._receipt

    @property
    def private(self) -> bool:
        """False where the noise can be repeated, as in studies and tests."""
        return self._mechanisms.private

    def note_learner(self, name: str) -> None:
        """Let the ledger say who asks from now on: a learner by its name."""
        if type(self._account) is Account:  # a payer of another kind keeps no history
            self._account = replace(self._account, learner=name)

    def ask(self, question: Question[Answer], cost: Cost) -> Answer:
        """Charge a question, read the rows, and return what a mechanism lets through.

        Privacy
        -------
        Within the cost: what is released is noise whose law follows from the cost and from the most that
        one person moves the exact answer. The question is copied before it is checked, its price does not
        depend on rows, and the charge is on disk before a row is read. Proof: *Sequence*.
        """
        if not one_of(type(question), KINDS) or type(cost) is not Cost:
            # No subclass: it could bring code along.
            raise QuestionError("this is not a question that the wall knows.", f"ask {', '.join(QUESTIONS)}.")
        question, cost = type(question).copied(question), replace(cost)
        question.check_predicted(self.schema)
        question.check(self.schema)
        charge = question.charge(self.schema, cost)
        terms = Terms(self.schema, cost, self._mechanisms.law_of(charge), self._mechanisms.row_draws())
        question.rehearse(terms, self._mechanisms)
        process = os.getpid()
        with self._lock:
            self._pay(charge)
            self._asked.append(charge)
            terms = replace(terms, again=bool(self._planned))
            try:
                exact = self._quietly(lambda: question.read(self._engine, terms))
            except DataError:
                self._give_back(charge)
                raise
        released = self._quietly(lambda: question.release(exact, terms, self._mechanisms))
        if os.getpid() != process:
            # Code that is called while rows are read, or a run of a selection, parted from who paid.
            raise QuestionError("this was paid for by another process.", "protect the rows in each.")
        return released

    def reserve(self, plan: Sequence[Charge], instead: Sequence[Charge] = ()) -> None:
        """Charge a whole plan before its first question, or refuse it whole.

        The questions that follow must be those of the plan, in its order and at no higher cost.
        What is planned and not asked stays spent. Of two plans that begin alike, answers may decide
        which is followed: see `settle`. Where rows are read anew in the middle of a plan, what is left
        of that pays for the first plan after.
        """
        plans = _charges(plan), _charges(instead)
        with self._lock:
            if self._carried:
                if plans[1]:
                    raise QuestionError("what is left of a plan pays for one plan.", "reserve one.")
                self.refine(plans[0])
                return
            self._receipt = self._account.reserve(plans[0], self.schema.declared.fingerprint, plans[1])
            self._planned, self._instead = plans
            self._unsettled = bool(self._instead)
            self._process = os.getpid()

    def settle(self, instead: bool) -> None:
        """Go on with the plan that was reserved, or with the one to be followed instead of it.

        Privacy
        -------
        Answers so far may decide which, also between a plan that is within (ε, δ) by its sum in ε and one
        that is by its sum in ρ. Proof: *Either accounting*.
        """
        other = bool(instead)
        with self._lock:
            if not self._unsettled or self._receipt is None:
                raise QuestionError("there are no two plans to settle between.", "reserve both first.")
            self._account.settle(self._receipt, PLANS[other])
            self._planned, self._instead = self._instead if other else self._planned, []
            self._unsettled = False

    def refine(self, plan: Sequence[Charge]) -> None:
        """Replace what is left of the plan by questions that cost no more than it.

        Privacy
        -------
        Whatever the answers so far, the questions left cost no more than was reserved for them, in what the
        account adds up: the two compose in sequence. Proof: *Sequence*.
        """
        charges, accounting = _charges(plan), self.accounting
        with self._lock:
            if self._unsettled:
                raise QuestionError("there are two plans to settle between.", "settle first.")
            # Priced: where μ² adds up, the sum of what an ε and a ρ cost elsewhere bounds nothing.
            wanted, left = (
                in_sequence(c.cost.priced(accounting) for c in part) for part in (charges, self._planned)
            )
            if charges and wanted.exceeds(left):
                raise QuestionError(f"{left} is left of the plan, not {wanted}.", "plan within what is left.")
            self._planned, self._carried = charges, False

    def _carry_on(self, earlier: Wall) -> None:
        """Take over what another has asked, and what is left of its plan; that one is left with none."""
        with earlier._lock:
            if earlier._unsettled:
                raise QuestionError("there are two plans to settle between.", "settle first.")
            self._planned, earlier._planned, earlier._carried = earlier._planned, [], False
            # One list: whoever holds either object sees what was asked through both.
            self._asked, self._receipt = earlier._asked, earlier._receipt
            self._process, self._carried = earlier._process, bool(self._planned)

    def _pay(self, charge: Charge) -> None:
        """Charge a question that stands alone, or take it off the plan that was paid for."""
        if not self._planned or self._carried:
            self.reserve([charge])
        if os.getpid() != self._process:
            raise QuestionError("this plan was paid for by another process.", "protect the rows in each.")
        planned = self._planned.pop(0)
        if self._unsettled:
            other = self._instead.pop(0) if self._instead else None
            if other is None or (other.kind, other.cost) != (planned.kind, planned.cost):
                raise QuestionError("two plans are reserved and differ in this question.", "settle first.")
        # The text decides nothing about privacy: the ledger must say what was asked.
        told = planned.question == charge.question
        if planned.kind is not charge.kind or not told or charge.cost.exceeds(planned.cost):
            raise QuestionError(
                f"the plan has {planned.question!r} at {planned.cost} next, "
                f"not {charge.question!r} at {charge.cost}.",
                "ask what was planned, in its order.",
            )

    def _give_back(self, charge: Charge) -> None:
        """The table does not fit its schema, as its owner learns: nothing was answered, nothing is spent."""
        # The only question ever: another one may still be reading, and be answered.
        if len(self._asked) == 1 and self._receipt is not None:
            self._account.give_back(self._receipt, "the table does not fit its schema")
            self._planned, self._instead, self._unsettled, self._receipt = [], [], False, None
            # Itself alone: in another thread these rows, read otherwise, may have been asked since.
            self._asked.remove(charge)

    def _quietly(self, work: Callable[[], Result]) -> Result:
        """Work on exact numbers: no warning, and no error but ours, may tell of them."""
        failure = QuestionError("this question could not be answered.", "what it cost stays spent.")
        return read_discreetly(work, failure, revealing=not self.private)


def _charges(plan: Sequence[Charge]) -> list[Charge]:
    """A plan, read once and copied: nobody else holds what the wall goes by."""
    listed = list(plan)
    if not all(type(charge) is Charge and type(charge.cost) is Cost for charge in listed):
        raise QuestionError("a plan is a list of charges.", "make them with the questions' `plan`.")
    return [replace(charge, cost=replace(charge.cost)) for charge in listed]
