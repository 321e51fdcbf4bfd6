"""Accounts worked out anew: what agrees, and what a forged card or ledger gives away."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from math import inf

import pandas as pd
import pytest

from privet import Budget, CountForestClassifier, Ledger, protect
from privet.audit.accounting import account_for, checks, exposure, in_epsilon
from privet.audit.defendants import DEFENDANTS
from privet.audit.programs import LEARNERS, LEARNERS_WITH_DELTA, TOY, UNIVERSE, rows_of
from privet.audit.published_2015 import path_charges
from privet.audit.trial import FULL, QUICK
from privet.audit.verdict import HOLDS
from privet.cli.app import run
from privet.errors import BudgetExceeded
from privet.privacy import Charge, Cost, Protected

ONE = Fraction(1)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "people.ledger")


@pytest.fixture
def model(schema, people, ledger):
    account = ledger.create("people", Budget(2))
    forest = CountForestClassifier(epsilon=1, n_trees=3, max_depth=2, random_state=0)
    return forest.fit(protect(pd.DataFrame(people), schema, account)).model_


def disagreements(card, schema, ledger=None) -> set[str]:
    return {check.what for check in checks(card, schema, ledger) if not check.agrees}


def test_a_fitted_model_agrees_with_its_card_and_ledger(model, schema, ledger):
    verdict, listed = account_for("model", model.card, model.schema, ledger)
    assert not verdict.broken and verdict.loss == 1
    assert len(listed) == 7 and all(check.agrees for check in listed)


def test_a_card_that_promises_too_little_disagrees(model, schema, ledger):
    batches = [{**model.card.batches[0], "epsilon": "0.9"}]
    assert disagreements(replace(model.card, epsilon="0.9", batches=batches), schema) == {
        "questions within the promise"
    }


def test_one_question_left_off_the_ledger_disagrees(model, schema, ledger):
    """The card says more than the ledger was charged."""
    more = {**model.card.questions[0], "epsilon": "1/20", "rho": "1/800"}
    card = replace(model.card, questions=[*model.card.questions, more])
    assert "the ledger was charged what was asked" in disagreements(card, schema, ledger)


def test_cards_and_ledgers_of_an_older_version_agree_in_fractions(model, schema, ledger):
    """Three thirds are one: rounded up to the grid they would be more than was promised."""
    third = {"question": "q", "epsilon": "1/3", "rho": "1/18", "composition": "sequence"}
    batches = [{**model.card.batches[0], "epsilon": "1"}]
    card = replace(model.card, epsilon="1", questions=[third] * 3, batches=batches)
    assert disagreements(card, schema) == set()
    more = {**third, "epsilon": "1/1000000000000000"}
    assert disagreements(replace(card, questions=[third] * 3 + [more]), schema) == {
        "questions within the promise"
    }
    gaussian = {**third, "epsilon": None, "rho": str(Budget(1, "1e-6").rho)}
    batches = [{**batches[0], "delta": "1/1000000"}]
    card = replace(card, delta="1/1000000", questions=[gaussian], batches=batches)
    assert disagreements(card, schema) == set()
    more = {**gaussian, "rho": "1/10000000000000000000000000000"}
    assert disagreements(replace(card, questions=[gaussian, more]), schema) == {
        "questions within the promise"
    }


def test_a_composition_without_a_proof_disagrees(model, schema):
    odd = [{**question, "composition": "parallel over wishes"} for question in model.card.questions]
    assert disagreements(replace(model.card, questions=odd), schema) == {"compositions that are proved"}


def test_another_schema_account_or_receipt_disagrees(model, schema, ledger):
    assert "card and model have one schema" in disagreements(replace(model.card, schema="0"), schema)
    other = replace(model.card, account="strangers")
    assert disagreements(other, schema, ledger) == {"charged to this account and schema"}
    batches = [{**model.card.batches[0], "receipt": "0" * 64}]
    lost = replace(model.card, receipt="0" * 64, batches=batches)
    assert disagreements(lost, schema, ledger) == {"receipts are in the ledger"}
    assert disagreements(model.card, schema, Ledger()) == {"receipts are in the ledger"}


def test_batches_add_up_only_where_they_may_hold_the_same_people(schema, people, ledger):
    account = ledger.create("people", Budget(3))
    for name in ("first", "second"):
        ledger.declare_batch("people", name)
    frame = pd.DataFrame(people)
    forest = CountForestClassifier(
        epsilon=1, n_trees=2, max_depth=2, schema=schema, account=account, random_state=0
    )
    labels = frame.pop("ill")
    forest.partial_fit(frame[:200], labels[:200], batch="first")
    forest.partial_fit(frame[200:], labels[200:], batch="second")
    card = forest.model_.card
    assert exposure(card.batches) == (1, 0)
    assert disagreements(card, schema, ledger) == set()
    undeclared = [{**batch, "batch": None} for batch in card.batches]
    assert exposure(undeclared) == (2, 0)
    assert "batches add up to the promise" in disagreements(replace(card, batches=undeclared), schema)
    forest.set_params(epsilon=0.5).partial_fit(frame[:50], labels[:50])
    verdict, _ = account_for("updated", forest.privacy_card_, schema, ledger)
    assert verdict.outcome == HOLDS and verdict.loss == verdict.epsilon == 1.5


def test_models_of_several_parties_agree_with_what_each_published(model, schema, ledger):
    """Parties of other people cost the most of any, parties of the same people the sum."""
    asked = [{**question, "composition": "parallel over 2 parties"} for question in model.card.questions]
    parties = [
        {"batch": name, "party": name, "epsilon": "1", "delta": "0", "receipt": receipt}
        for name, receipt in (("north", model.card.receipt), ("south", "of another ledger"))
    ]
    card = replace(model.card, questions=asked, batches=parties, account="north, south", receipt="")
    assert disagreements(card, schema, ledger) == set()
    same_people = [{**party, "batch": None} for party in parties]
    assert disagreements(replace(card, batches=same_people), schema) == {"batches add up to the promise"}
    assert disagreements(card, schema, Ledger()) == {"receipts are in the ledger"}


def test_a_twin_without_privacy_is_broken(schema, people):
    twin = CountForestClassifier(epsilon=inf, n_trees=2, max_depth=2, schema=schema)
    frame = pd.DataFrame(people)
    twin.fit(frame.drop(columns="ill"), frame["ill"])
    verdict, _ = account_for("twin", twin.privacy_card_, schema)
    assert verdict.broken and verdict.loss == inf


def test_a_card_that_says_it_protects_nobody_is_broken(model, schema):
    verdict, _ = account_for("model", replace(model.card, private=False), schema)
    assert verdict.broken


def test_a_cost_without_an_epsilon_needs_a_delta():
    assert in_epsilon(Cost.zcdp("1/50"), Fraction(0)) == float("inf")
    assert in_epsilon(Cost.zcdp("1/50"), Fraction(1, 10**6)) == pytest.approx(0.9, abs=0.05)


def test_fletcher_and_islam_2015_is_refused_by_a_ledger():
    account = Ledger().create("people", Budget(1))
    with pytest.raises(BudgetExceeded):
        account.reserve(path_charges(ONE))


def test_the_command_line_tells_broken_from_sound(capsys, tmp_path, model, ledger):
    path = tmp_path / "model.privet"
    model.save(path)
    assert run(["audit", "model", str(path), "--ledger", str(ledger.path)]) == 0
    assert "✓ receipts are in the ledger" in capsys.readouterr().out
    Ledger(tmp_path / "other.ledger").create("people", Budget(1))
    assert run(["audit", "model", str(path), "--ledger", str(tmp_path / "other.ledger"), "--json"]) == 6
    data = json.loads(capsys.readouterr().out)
    assert data["outcome"] == "broken" and "receipts" in data["witness"]["why"]
    assert run(["audit", "model", str(path), "--ledger", str(tmp_path / "none.ledger")]) == 2
    assert not (tmp_path / "none.ledger").exists()


def test_the_command_line_convicts_and_acquits(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["audit", "mechanism", "fletcher-islam-2015", "--epsilon", "1"]) == 6
    printed = capsys.readouterr().out
    assert "BROKEN" in printed and "charged: ε=1.22222" in printed
    assert run(["audit", "mechanism", "number-of-rows", "--quick", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["as expected"] and {f["outcome"] for f in data["findings"]} == {"holds exactly"}
    assert run(["audit", "learner", "majority-forest", "--quick", "--epsilon", "1"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert max(map(len, table)) <= 80
    assert run(["audit", "mechanism", "nothing"]) == 2
    assert "laplace" in capsys.readouterr().err


def test_the_command_line_tries_a_learner_on_a_schema(capsys, tmp_path, schema):
    path = tmp_path / "schema.json"
    schema.save(path)
    arguments = ["audit", "learner", "count-forest", "--schema", str(path), "--quick", "--json"]
    assert run([*arguments, "--epsilon", "1", "--delta", "1e-6"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [f["method"] for f in findings] == ["transcripts", "one run"]
    assert findings[0]["outcome"] == "holds exactly" and findings[0]["delta"] == 1e-6
    assert run(["audit", "learner", "majority-forest", "--schema", str(path), "--delta", "1e-6"]) == 2
    assert run(["audit", "learner", "oracle", "--schema", str(path)]) == 2
    assert run(["audit", "learner", "greedy-tree", "--schema", str(path), "--quick"]) == 0


def test_auditing_everything_says_what_is_not_as_it_must_be(capsys, monkeypatch):
    few = {name: DEFENDANTS[name] for name in ("number-of-rows", "fletcher-islam-2015")}
    monkeypatch.setattr("privet.audit.report.DEFENDANTS", few)
    assert run(["audit", "all", "--quick"]) == 0
    assert "0 of them not as they must be" in capsys.readouterr().out
    few["number-of-rows"] = replace(few["number-of-rows"], guilty=True)
    assert run(["audit", "all", "--quick"]) == 6
    assert "(!)" in capsys.readouterr().out


def test_a_quick_audit_leaves_slow_trials_out():
    learner = DEFENDANTS["majority-forest"]
    assert len(learner.hearings(QUICK, ONE)) == 2 < len(learner.hearings(FULL, ONE))


@pytest.mark.parametrize("name", [*LEARNERS, *LEARNERS_WITH_DELTA])
def test_models_of_all_learners_agree_with_the_ledger(name, ledger):
    delta = "1e-6" if name in LEARNERS_WITH_DELTA else 0
    account = ledger.create("people", Budget(3, delta))
    account.reserve([Charge("something before", Cost.pure("1/10"))])
    released = (LEARNERS | LEARNERS_WITH_DELTA)[name](ONE)(Protected(rows_of(UNIVERSE), TOY, account))
    verdict, listed = account_for(name, released.card, TOY, ledger)
    assert [check for check in listed if not check.agrees] == []
    assert len(listed) >= 6 and verdict.loss <= 1
