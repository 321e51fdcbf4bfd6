"""A ledger in PostgreSQL keeps what one in a file keeps: for several processes, whoever is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from contextlib import suppress
from fractions import Fraction

import pytest

from privet.errors import BudgetError, BudgetExceeded, KeyReused, LedgerTampered
from privet.privacy import Budget, Charge, Cost, Ledger


def charge(epsilon, question="how many") -> list[Charge]:
    return [Charge(question, Cost.pure(epsilon))]


@pytest.fixture
def place(postgres, tmp_path):
    """An empty database for each test, and where the key is."""
    return postgres.empty(), tmp_path / "ledger.key"


def test_it_charges_as_one_in_a_file_does(place):
    ledger = Ledger(*place)
    ledger.create("patients", Budget(1), analysts={"ada": Budget("0.6")})
    ada = ledger.account("patients").by("ada")
    ada.reserve(charge("0.5"))
    with pytest.raises(BudgetExceeded, match="cap of ada"):
        ada.reserve(charge("0.2"))
    first = ledger.reserve("patients", charge("0.1"), key="a key")
    assert ledger.reserve("patients", charge("0.1"), key="a key") == first
    with pytest.raises(KeyReused):
        ledger.reserve("patients", charge("0.2"), key="a key")
    assert ledger.holds(first) and ledger.signed
    assert ledger.verify().number == ledger.head().number == 5
    other = Ledger(*place)
    assert other.state("patients") == ledger.state("patients")
    other.account("patients").reserve(charge("0.4"))
    with pytest.raises(BudgetExceeded):
        ledger.account("patients").reserve(charge("0.001"))
    assert [event["kind"] for event in ledger.history("patients")][-1] == "refused"


def test_what_a_service_writes_is_there_exactly_if_the_charge_is(place):
    ledger = Ledger(*place)
    ledger.create("patients", Budget(1))
    with ledger.transaction() as at_once:
        at_once.execute("CREATE TABLE job (key TEXT PRIMARY KEY, charge BIGINT)")
        receipt = at_once.charge("patients", charge("0.25"))
        at_once.execute("INSERT INTO job VALUES (?, ?)", ("a", receipt.number))

    def enter(key, price):
        with ledger.transaction() as at_once:
            at_once.execute("INSERT INTO job VALUES (?, ?)", (key, 1))
            at_once.charge("patients", charge(price))

    with pytest.raises(BudgetExceeded):
        enter("b", "0.8")
    with pytest.raises(BudgetError, match="job_pkey"):
        enter("a", "0.25")
    assert ledger.execute("SELECT key FROM job") == [("a",)]
    assert ledger.state("patients").spent().epsilon == Fraction(1, 4)


def spend(place, number):
    ledger = Ledger(*place)
    for each in range(40):
        with suppress(BudgetExceeded):
            ledger.reserve("patients", charge("0.01"), key=f"key {(number * 20 + each) % 160}")


def test_processes_that_spend_at_once_spend_the_budget_exactly(place):
    ledger = Ledger(*place)
    ledger.create("patients", Budget(1))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spend, args=(place, number)) for number in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    assert ledger.state("patients").spent().epsilon == 1
    keys = [event["key"] for event in ledger.history("patients") if event["kind"] == "charge"]
    assert len(keys) == len(set(keys)) == 100
    ledger.verify()


def hold(place, held):
    ledger = Ledger(*place)
    with ledger.transaction() as at_once:
        at_once.charge("patients", charge("0.5"))
        held.set()
        time.sleep(60)


def test_a_writer_that_is_killed_leaves_nothing_and_lets_go(place):
    ledger = Ledger(*place)
    ledger.create("patients", Budget(1))
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    process = context.Process(target=hold, args=(place, held))
    process.start()
    assert held.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    ledger.account("patients").reserve(charge("0.9"))
    assert ledger.state("patients").spent().epsilon == Fraction(9, 10)
    process.join()


def test_an_edited_table_is_noticed(place):
    ledger = Ledger(*place)
    ledger.create("patients", Budget(1))
    ledger.account("patients").reserve(charge("0.5"))
    with ledger.transaction() as at_once:
        at_once.execute("UPDATE event SET body = replace(body, '0.5', '0.1') WHERE number = 2")
    for opened in (ledger, None):
        with pytest.raises(LedgerTampered):
            (opened or Ledger(*place)).verify()


def test_it_needs_a_key_and_a_server(place, tmp_path):
    with pytest.raises(BudgetError, match="needs a key"):
        Ledger(place[0])
    with pytest.raises(BudgetError, match="cannot be used now"):
        Ledger("postgresql://127.0.0.1:1/none?connect_timeout=1", tmp_path / "other.key")
