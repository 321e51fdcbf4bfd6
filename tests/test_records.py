"""Statements, witnesses and copies of a ledger."""

from __future__ import annotations

import copy
import json

import pytest

from privet.errors import BudgetError, LedgerTampered, ModelFileError
from privet.privacy import Budget, Charge, Cost, Ledger
from privet.privacy.records import check_witness, read_heads, read_statement, statement, write_head


def charge(epsilon) -> list[Charge]:
    return [Charge("how many", Cost.pure(epsilon))]


@pytest.fixture
def ledger(tmp_path):
    found = Ledger(tmp_path / "people.ledger")
    found.create("patients", Budget(1), analysts={"ada": Budget("0.6")})
    found.create("staff", Budget(2))
    found.account("patients").by("ada").reserve(charge("0.25"))
    found.account("staff").reserve([Charge("how many secrets", Cost.pure("0.5"))])
    found.account("patients").reserve(charge("0.125"))
    return found


def test_a_statement_adds_up_and_hides_all_other_accounts(ledger):
    told = json.loads(json.dumps(statement(ledger, "patients")))
    state, head = read_statement(told, ledger.head().key)
    assert state == ledger.state("patients") and head == ledger.head()
    assert "secrets" not in json.dumps(told) and "staff" not in json.dumps(told)


@pytest.mark.parametrize("place", range(6))
def test_a_statement_that_was_edited_is_noticed(ledger, place):
    told = statement(ledger, "patients")
    for change in ("drop", "edit", "cut"):
        forged = copy.deepcopy(told)
        if change == "drop":
            del forged["events"][place]
        elif change == "cut":
            forged["events"] = forged["events"][:place]
        elif "body" in forged["events"][place]:
            forged["events"][place]["body"] = forged["events"][place]["body"].replace("0.25", "0.05") + " "
        else:
            forged["events"][place]["unseen"] = "ab" * 32
        with pytest.raises((BudgetError, ModelFileError)):
            read_statement(forged)


def test_a_statement_of_another_key_is_refused(ledger, tmp_path):
    other = Ledger(tmp_path / "other.ledger")
    other.create("patients", Budget(1))
    with pytest.raises(LedgerTampered, match="another key"):
        read_statement(statement(other, "patients"), ledger.head().key)
    for nonsense in ({}, {"account": "a", "head": {}, "events": []}, {"account": 1, "head": 2, "events": 3}):
        with pytest.raises(ModelFileError):
            read_statement(nonsense)


def test_a_witness_tells_a_ledger_that_was_put_back(ledger, tmp_path):
    witness, copy_of = tmp_path / "witness", tmp_path / "copy"
    write_head(ledger, witness)
    ledger.back_up(copy_of)
    assert check_witness(ledger, read_heads(witness)) == 1
    ledger.account("staff").reserve(charge("0.5"))
    write_head(ledger, witness)
    assert check_witness(ledger, read_heads(witness)) == 2
    key = tmp_path / "people.ledger.key"
    older = Ledger(copy_of, key)
    assert check_witness(older, read_heads(witness)[:1]) == 1
    with pytest.raises(LedgerTampered, match="a witness saw"):
        check_witness(older, read_heads(witness))
    older.account("staff").reserve(charge("0.25"))
    with pytest.raises(LedgerTampered, match="a witness saw"):
        check_witness(older, read_heads(witness))
