"""The chain: signed, followed step by step, replayed on demand, taken over from older ledgers."""

from __future__ import annotations

import json
import pickle
import sqlite3
import sys
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from privet.errors import BudgetError, LedgerTampered, PrivetError
from privet.keys import load_key, new_key, public_key
from privet.privacy import Budget, Charge, Cost, Ledger, in_parallel, in_sequence
from privet.privacy import book as book_module
from privet.privacy.chain import linked
from privet.privacy.charges import cancelled, plan_costs, settled


def charge(epsilon, question="how many") -> Charge:
    return Charge(question, Cost.pure(epsilon))


def edit(path, *statements):
    with closing(sqlite3.connect(path)) as db, db:
        for statement, *values in statements:
            assert db.execute(statement, values).rowcount


def rewritten(path):
    """An editor without the key: a charge made smaller, and every hash from there on made to fit."""
    with closing(sqlite3.connect(path)) as db, db:
        previous = "privet ledger 1"
        for number, body in db.execute("SELECT number, body FROM event ORDER BY number").fetchall():
            body = body.replace('"0.5"', '"0.1"')
            previous = linked(previous, body)
            db.execute("UPDATE event SET body=?, hash=? WHERE number=?", (body, previous, number))
        db.execute("UPDATE head SET hash=?", (previous,))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.ledger"


@pytest.fixture
def account(path):
    made = Ledger(path).create("census", Budget(1))
    made.reserve([charge("1/2")])
    return made


def test_a_ledger_is_signed_by_a_key_that_lies_beside_it_for_its_owner_alone(path, account):
    key = path.with_name("people.ledger.key")
    assert key.stat().st_mode & 0o777 == 0o600
    head = account.ledger.verify()
    assert account.ledger.signed and head.holds and head.key == public_key(load_key(key))
    assert not replace(head, hash="0" * 64).holds and not replace(head, number=1).holds
    receipt = account.reserve([charge("1/8")])
    assert receipt.signature and Ledger(path).head().signature == receipt.signature
    files = {each.name for each in path.parent.iterdir()}
    assert files == {f"people.ledger{end}" for end in ("", "-shm", "-wal", ".key")}


def test_an_editor_without_the_key_is_noticed_though_every_hash_fits(path, account):
    rewritten(path)
    with pytest.raises(LedgerTampered, match="not signed by its key"):
        Ledger(path).account("census")


def test_without_a_signature_only_what_does_not_fit_is_noticed(path, monkeypatch):
    monkeypatch.setattr(book_module, "can_sign", lambda: False)
    account = Ledger(path).create("census", Budget(1))
    assert account.reserve([charge("1/2")]).signature == "" and not account.ledger.signed
    assert not path.with_name("people.ledger.key").exists()
    rewritten(path)
    assert Ledger(path).verify().key == "" and Ledger(path).account("census").spent().epsilon == Fraction(
        1, 10
    )


def test_a_ledger_that_was_not_signed_is_once_it_can_be(path, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(book_module, "can_sign", lambda: False)
        account = Ledger(path).create("census", Budget(1))
        receipt = account.reserve([charge("1/4")])
    later = Ledger(path).account("census").reserve([charge("1/4")])
    ledger = Ledger(path)
    assert later.signature and ledger.verify().holds and ledger.holds(receipt)
    rewritten(path)
    edit(path, ("UPDATE event SET body=replace(body, '0.25', '0.10') WHERE number=2",))
    with pytest.raises(LedgerTampered):
        Ledger(path).account("census")


def test_who_has_no_key_looks_and_does_not_charge(path, account, monkeypatch):
    path.with_name("people.ledger.key").unlink()
    reader = Ledger(path)
    assert reader.account("census").spent().epsilon == Fraction(1, 2) and reader.verify().holds
    for lost in (reader, Ledger(path, key=path.with_name("nothing"))):
        with pytest.raises(BudgetError, match="its key cannot be used"):
            lost.account("census").reserve([charge("1/8")])
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(PrivetError, match="cryptography"):
        Ledger(path).account("census")


def test_another_key_is_refused(path, account, tmp_path):
    new_key(tmp_path / "other")
    with pytest.raises(LedgerTampered, match="not by this one"):
        Ledger(path, key=tmp_path / "other").account("census")
    # A whole ledger signed by somebody else, put in place of ours.
    theirs = Ledger(tmp_path / "theirs")
    theirs.create("census", Budget(9))
    theirs.close()
    with pytest.raises(LedgerTampered, match="not by this one"):
        Ledger(tmp_path / "theirs", key=path.with_name("people.ledger.key")).account("census")


def test_a_key_that_is_given_is_used_and_goes_with_a_pickle(path, tmp_path):
    new_key(tmp_path / "given")
    ledger = Ledger(path, key=tmp_path / "given")
    account = ledger.create("census", Budget(1))
    pickle.loads(pickle.dumps(account)).reserve([charge("1/2")])
    assert ledger.verify().key == public_key(load_key(tmp_path / "given"))
    assert not path.with_name("people.ledger.key").exists() and account.spent().epsilon == Fraction(1, 2)


def test_an_older_copy_is_noticed_by_who_saw_the_newer(path, account):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM event WHERE number=2")
        db.execute("UPDATE head SET number=1, hash=(SELECT hash FROM event WHERE number=1)")
    with pytest.raises(LedgerTampered, match="older copy"):
        account.reserve([charge("1/8")])
    assert Ledger(path).account("census").spent().epsilon == 0  # who has not seen it needs a witness


def test_a_checkpoint_is_believed_only_if_it_is_signed(path, account, monkeypatch):
    monkeypatch.setattr(book_module, "CHECKPOINT_EVERY", 5)
    for _ in range(12):
        account.reserve([charge("1/100")])
    with closing(sqlite3.connect(path)) as db:
        ((text,),) = db.execute("SELECT totals FROM checkpoint").fetchall()
    spent = json.loads(text)["accounts"]["census"]["spending"]["everyone"][0]
    assert json.loads(text)["number"] > 5 and Ledger(path).account("census").spent().epsilon == Fraction(
        62, 100
    )
    # What is before it is not read again when the ledger is opened, but when it is verified.
    edit(path, ("UPDATE event SET body=replace(body, '\"0.5\"', '\"0.1\"') WHERE number=2",))
    reopened = Ledger(path)
    assert reopened.account("census").spent().epsilon == Fraction(62, 100)
    with pytest.raises(LedgerTampered, match="event 2"):
        reopened.verify()
    edit(path, ("UPDATE checkpoint SET totals=?", text.replace(str(spent), "1")))
    with pytest.raises(LedgerTampered):
        Ledger(path).account("census")


def test_a_key_of_an_event_cannot_be_moved_to_another_charge(path, account):
    with account.ledger.transaction() as at_once:
        at_once.charge("census", [charge("1/8")], key="paid")
    edit(path, ("UPDATE event SET key='\nunpaid' WHERE number=3",))
    with pytest.raises(LedgerTampered):
        account.ledger.verify()


class Accounts(RuleBasedStateMachine):
    """Whatever is done, the running totals are those of a replay, in this process and in a new one."""

    analysts = (None, "ada", "bob")
    batches = (None, "spring", "autumn")

    @initialize(delta=st.sampled_from(("0", "1e-6")))
    def start(self, delta):
        self.ledger = Ledger()
        self.ledger.create("census", Budget(1, delta, "1e-8" if delta != "0" else 0))
        for name in self.analysts[1:]:
            self.ledger.set_cap("census", name, Budget("0.7", delta))
        for name in self.batches[1:]:
            self.ledger.declare_batch("census", name)
        self.receipts = []

    costs = st.one_of(
        st.integers(1, 10**12).map(lambda units: Cost(units, units**2 // 2 + 1)),
        st.integers(1, 10**23).map(lambda units: Cost(None, units)),
        st.integers(1, 10**11).map(lambda units: Cost(units, units**2 // 2 + 1, units)),
    )
    plans = st.lists(costs.map(lambda cost: Charge("q", cost)), min_size=1, max_size=3)

    @rule(
        plan=plans,
        other=st.one_of(st.just([]), plans),
        who=st.sampled_from(analysts),
        of=st.sampled_from(batches),
    )
    def ask(self, plan, other, who, of):
        try:
            receipt = self.ledger.reserve("census", plan, of, None, other, analyst=who)
        except BudgetError:
            return
        self.receipts.append(receipt)

    @rule(which=st.integers(0, 30), plan=st.sampled_from(("charges", "instead")))
    def settle(self, which, plan):
        self._try(self.ledger.settle, which, plan)

    @rule(which=st.integers(0, 30))
    def cancel(self, which):
        self._try(self.ledger._cancel, which, "not asked")

    @rule(epsilon=st.sampled_from(("0.5", "1", "2")), delta=st.sampled_from(("0", "1e-6")))
    def grant(self, epsilon, delta):
        self.ledger.grant("census", Budget(epsilon, delta))

    def _try(self, work, which, *more):
        if which < len(self.receipts):
            with suppress(BudgetError):
                work(self.receipts[which], *more)

    @invariant()
    def totals_are_those_of_a_replay(self):
        if not hasattr(self, "ledger"):
            return
        self.ledger.verify()
        state, events = self.ledger.state("census"), self.ledger.history("census")
        assert state.spending == self._by_hand(events, self.analysts)
        for name, analyst in state.analysts.items():
            assert analyst.spending == self._by_hand(events, (name,))

    def _by_hand(self, events, analysts):
        """The oracle: all charges that were not given back, each by its plan, or by the dearer of two."""
        given_back, plans = cancelled(events), settled(events)
        sums = {batch: [] for batch in self.batches}
        for event in events:
            if (
                event["kind"] == "charge"
                and event["number"] not in given_back
                and event.get("analyst") in analysts
            ):
                sums[event["batch"]].append(in_parallel(plan_costs(event, plans)))
        return Spent({batch: in_sequence(costs) for batch, costs in sums.items()})


class Spent:
    """Equal to a spending that says the same of everyone and of each batch."""

    def __init__(self, costs):
        self.costs = costs

    def __eq__(self, spending):
        told = {batch: each.cost for batch, each in spending.batches.items()} | {None: spending.everyone.cost}
        nothing = Cost(0, 0)
        return all(told.get(b, nothing) == self.costs.get(b, nothing) for b in {*told, *self.costs})


TestAccounts = Accounts.TestCase
TestAccounts.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
