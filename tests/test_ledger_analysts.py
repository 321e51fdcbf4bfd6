"""Analysts with caps within one total, keys that are charged once, and what is committed with a charge."""

from __future__ import annotations

import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction

import pytest

from privet.errors import BudgetError, BudgetExceeded, KeyReused, UnknownAccount
from privet.privacy import Budget, Charge, Cost, Ledger


def charge(epsilon, question="how many") -> Charge:
    return Charge(question, Cost.pure(epsilon))


@pytest.fixture
def ledger(tmp_path):
    found = Ledger(tmp_path / "people.ledger")
    found.create("patients", Budget(1), analysts={"ada": Budget("0.6"), "bob": Budget("0.6")})
    return found


def test_a_cap_is_within_the_total_and_the_total_over_everyone(ledger):
    patients = ledger.account("patients")
    ada, bob = patients.by("ada"), patients.by("bob")
    ada.reserve([charge("0.5")])
    with pytest.raises(BudgetExceeded, match=r"0.1 of 0.6 remains on 'patients, cap of ada'"):
        ada.reserve([charge("0.2")])
    bob.reserve([charge("0.4")])
    with pytest.raises(BudgetExceeded, match=r"0.1 of 1 remains on 'patients'"):
        bob.reserve([charge("0.2")])
    patients.reserve([charge("0.1")])
    state = ledger.state("patients")
    assert state.spent().epsilon == 1
    assert [state.analysts[name].spending.on().epsilon for name in ("ada", "bob")] == [
        Fraction(1, 2),
        Fraction(2, 5),
    ]


def test_analysts_without_a_cap_are_refused(ledger):
    stranger = ledger.account("patients").by("eve")
    with pytest.raises(BudgetError, match="'eve' may not ask of 'patients'"):
        stranger.reserve([charge("0.1")])
    ledger.set_cap("patients", "eve", Budget("0.1"))
    stranger.reserve([charge("0.1")])
    ledger.set_cap("patients", "eve", None)
    with pytest.raises(BudgetError, match="may not ask"):
        stranger.reserve([charge("1e-9")])
    ledger.set_cap("patients", "eve", Budget("0.15"))
    with pytest.raises(BudgetExceeded, match="cap of eve"):
        stranger.reserve([charge("0.1")])
    with pytest.raises(BudgetError, match="above the budget"):
        ledger.set_cap("patients", "eve", Budget(2))
    with pytest.raises(UnknownAccount):
        ledger.set_cap("nobody", "eve", Budget(1))
    for name in ("", " ", "a\nb", 7, "x" * 201):
        with pytest.raises(BudgetError, match="printable"):
            ledger.set_cap("patients", name, Budget("0.1"))


def test_a_cap_counts_batches_in_parallel_as_the_total_does(ledger):
    for name in ("spring", "autumn"):
        ledger.declare_batch("patients", name)
    ada = ledger.account("patients").by("ada")
    ada.batch("spring").reserve([charge("0.6")])
    ada.batch("autumn").reserve([charge("0.6")])
    with pytest.raises(BudgetExceeded, match="cap of ada"):
        ada.reserve([charge("0.1")])
    ledger.account("patients").reserve([charge("0.4")])
    with pytest.raises(BudgetExceeded, match="'patients'"):
        ledger.account("patients").by("bob").batch("spring").reserve([charge("0.1")])


def test_a_charge_that_is_given_back_is_given_back_to_who_asked(ledger):
    ada = ledger.account("patients").by("ada")
    receipt = ada.reserve([charge("0.6")])
    with ledger.transaction() as at_once:
        at_once.give_back(receipt, "cancelled before it ran")
    ada.reserve([charge("0.6")])
    assert ledger.state("patients").spent().epsilon == Fraction(3, 5)


def test_the_same_request_with_the_same_key_is_charged_once(ledger, tmp_path):
    plan = [charge("0.1"), charge("0.2")]
    asked = {"analyst": "ada", "key": "k1", "learner": "BoostingClassifier", "schema": "f00"}
    first = ledger.reserve("patients", plan, **asked)
    again = Ledger(tmp_path / "people.ledger")
    assert again.reserve("patients", plan, **asked) == first == again.charged("patients", "k1", "ada")
    assert ledger.state("patients").spent().epsilon == Fraction(3, 10)
    for other in ({"analyst": "ada", "key": "k1"}, asked | {"learner": "x"}, asked | {"schema": "f01"}):
        with pytest.raises(KeyReused, match="k1"):
            ledger.reserve("patients", plan, **other)
    with pytest.raises(KeyReused):
        ledger.reserve("patients", plan[:1], **asked)
    # Keys are an analyst's own: nobody learns of another's.
    ledger.reserve("patients", plan, **(asked | {"analyst": "bob"}))
    assert ledger.charged("patients", "k1", "bob") != first
    assert ledger.charged("patients", "k1") is None and ledger.charged("patients", "k2", "ada") is None
    assert ledger.state("patients").spent().epsilon == Fraction(6, 10)


def test_the_key_of_a_charge_that_was_given_back_pays_for_nothing(ledger):
    asked = {"analyst": "ada", "key": "k1"}
    first = ledger.reserve("patients", [charge("0.6")], **asked)
    with ledger.transaction() as at_once:
        at_once.give_back(first, "cancelled before it ran")
    assert ledger.charged("patients", "k1", "ada") is None
    with pytest.raises(KeyReused, match="given back"):
        ledger.reserve("patients", [charge("0.6")], **asked)
    assert ledger.state("patients").spent().epsilon == 0
    other = ledger.reserve("patients", [charge("0.6")], **(asked | {"key": "k2"}))
    assert other.number > first.number and ledger.state("patients").spent().epsilon == Fraction(3, 5)


def test_what_a_service_writes_is_there_exactly_if_the_charge_is(ledger):
    with ledger.transaction() as at_once:
        at_once.execute("CREATE TABLE job (key TEXT PRIMARY KEY, charge INTEGER)")

    def submit(key, epsilon, dies=False):
        with ledger.transaction() as at_once:
            receipt = at_once.charge("patients", [charge(epsilon)], analyst="ada", key=key)
            at_once.execute("INSERT INTO job VALUES (?, ?)", (key, receipt.number))
            if dies:
                raise KeyboardInterrupt
            return receipt

    first = submit("a", "0.2")
    with pytest.raises(KeyboardInterrupt):
        submit("b", "0.2", dies=True)
    with pytest.raises(BudgetExceeded):
        submit("c", "0.5")
    with pytest.raises(BudgetError, match="beside the ledger"):
        submit("a", "0.2")  # the service's own row is there already
    assert ledger.execute("SELECT key, charge FROM job") == [("a", first.number)]
    assert ledger.state("patients").spent().epsilon == Fraction(1, 5)
    assert ledger.charged("patients", "b", "ada") is None
    submit("b", "0.4")
    ledger.verify()


def test_a_refusal_is_kept_with_who_asked_what(ledger):
    with pytest.raises(BudgetExceeded):
        ledger.reserve("patients", [charge("0.5"), charge("0.2")], analyst="ada", learner="CountForest")
    with ledger.transaction() as at_once, pytest.raises(BudgetExceeded):
        at_once.charge("patients", [charge(2)])
    first, second = ledger.history("patients")[-2:]
    assert (first["kind"], first["analyst"], first["learner"]) == ("refused", "ada", "CountForest")
    assert first["asked"]["epsilon"] == "0.7" and first["asked"]["question"] == "2 questions"
    assert first["reason"].startswith("this needs epsilon=0.7 but 0.6 of 0.6 remains")
    assert second["kind"] == "refused" and "analyst" not in second
    assert ledger.state("patients").spent().epsilon == 0
    ledger.verify()


def test_the_history_is_read_in_pages(ledger):
    for _ in range(5):
        ledger.reserve("patients", [charge("0.01")], analyst="ada", learner="BoostingClassifier")
    ledger.create("others", Budget(1))
    ledger.reserve("patients", [charge("0.01")])
    whole = ledger.history("patients")
    pages = [ledger.history("patients", after=0, most=4), ledger.history("patients", after=4, most=100)]
    assert pages[0] + pages[1] == whole and len(pages[0]) == 4
    assert whole[3]["learner"] == "BoostingClassifier" and whole[-1]["number"] == 10


def test_a_transaction_is_not_begun_twice(ledger):
    with ledger.transaction() as at_once:
        at_once.charge("patients", [charge("0.1")])
        with pytest.raises(BudgetError, match="in the middle of a transaction"):
            ledger.state("patients")
        assert at_once.state("patients").spent().epsilon == Fraction(1, 10)
    assert ledger.state("patients").spent().epsilon == Fraction(1, 10)


def _spend(path: str, keys: range) -> list[str]:
    """Twenty threads of one process: an own key each, and again with the key of another process."""
    ledger = Ledger(path)

    def ask(key):
        told = []
        for name in (f"key {key}", f"key {key % 250}"):
            try:
                receipt = ledger.reserve(
                    "patients", [charge("1/500")], analyst=f"a{int(name[4:]) % 7}", key=name
                )
                told.append((name, receipt.hash))
            except BudgetExceeded:
                told.append((name, "refused"))
        return told

    with ThreadPoolExecutor(20) as threads:
        return [each for told in threads.map(ask, keys) for each in told]


def test_a_thousand_spenders_spend_the_budget_exactly(tmp_path):
    """A thousand keys, each asked for by several threads and processes, for ε = 1 in parts of 1/500."""
    path = tmp_path / "people.ledger"
    ledger = Ledger(path)
    ledger.create("patients", Budget(1), analysts={f"a{i}": Budget("0.2") for i in range(7)})
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        parts = [range(i, 1000, 4) for i in range(4)]
        told = [each for part in pool.starmap(_spend, [(str(path), part) for part in parts]) for each in part]
    paid = {name: digest for name, digest in told if digest != "refused"}
    assert all(digest in ("refused", paid.get(name)) for name, digest in told)
    events = ledger.history("patients")
    charged = [event for event in events if event["kind"] == "charge"]
    assert len(charged) == len({(e["analyst"], e["key"]) for e in charged}) == len(paid) == 500
    state = ledger.state("patients")
    assert state.spent().epsilon == 1
    assert sum(each.spending.on().epsilon for each in state.analysts.values()) == 1
    assert max(each.spending.on().epsilon for each in state.analysts.values()) <= Fraction(1, 5)
    ledger.verify()


def test_a_table_of_the_ledger_cannot_be_written_beside_it(ledger, tmp_path):
    """Whoever edits totals by the database has no key: the next one who looks notices."""
    with closing(sqlite3.connect(tmp_path / "people.ledger")) as db, db:
        db.execute("UPDATE head SET hash = 'f00'")
    with pytest.raises(BudgetError, match="edited or cut"):
        ledger.reserve("patients", [charge("0.1")])
