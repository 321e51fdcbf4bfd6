"""The ledger: nothing is spent twice, lost or overspent, whoever asks, and whenever a process dies."""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import multiprocessing
import signal
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Schema
from privet.errors import BudgetError, BudgetExceeded, LedgerTampered, QuestionError, UnknownAccount
from privet.privacy import Account, Budget, Charge, Cost, Ledger, Protected, Receipt, in_sequence
from privet.privacy.chain import linked
from privet.privacy.store import Sqlite


def on_grid(epsilon: Fraction) -> Fraction:
    return Cost.pure(epsilon).epsilon


def charge(epsilon, question="how many") -> Charge:
    return Charge(question, Cost.pure(epsilon))


def with_batches(*names) -> Account:
    """An account of ε = 1 whose owner declared some batches."""
    account = Ledger().create("census", Budget(1))
    for name in names:
        account.ledger.declare_batch("census", name)
    return account


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "people.ledger"


def test_an_account_remembers_what_was_asked_of_whom_and_how(path):
    account = Ledger(path).create("census", Budget(1))
    receipt = account.reserve([charge("1/4"), Charge("labels", Cost.pure("1/2"), "parallel")], "f00")
    again = Ledger(path)
    assert again.account("census").spent().epsilon == Fraction(3, 4)
    created, charged = again.history("census")
    assert (created["kind"], created["epsilon"]) == ("budget", "1")
    assert [c["question"] for c in charged["charges"]] == ["how many", "labels"]
    assert [c["composition"] for c in charged["charges"]] == ["sequence", "parallel"]
    assert charged["schema"] == "f00"
    assert again.holds(receipt)
    assert again.accounts() == ["census"]


def test_a_plan_is_charged_whole_or_not_at_all(path):
    account = Ledger(path).create("census", Budget(1))
    account.reserve([charge("0.7")])
    with pytest.raises(BudgetExceeded, match=r"needs epsilon=0.4 but 0.3 of 1 remains") as refused:
        account.reserve([charge("0.2"), charge("0.2")])
    assert refused.value.left == Fraction(3, 10)
    assert account.spent().epsilon == Fraction(7, 10)
    account.reserve([charge("0.3")])
    with pytest.raises(BudgetExceeded, match="is spent"):
        account.reserve([charge("1e-9")])


def test_there_is_no_spending_without_a_budget():
    with pytest.raises(UnknownAccount, match="privet budget create"):
        Ledger().account("census")


def test_a_budget_is_set_once_and_can_be_granted_anew():
    ledger = Ledger()
    account = ledger.create("census", Budget(1))
    account.reserve([charge(1)])
    with pytest.raises(BudgetError, match="already has a budget"):
        ledger.create("census", Budget(5))
    ledger.grant("census", Budget(3))
    account.reserve([charge(2)])
    assert account.spent().epsilon == 3
    with pytest.raises(BudgetExceeded):
        account.reserve([charge("0.001")])


def test_an_account_is_asked_under_one_schema_alone(schema):
    other = Schema(schema.features, schema.label, max_rows=7)
    ledger = Ledger()
    fixed = ledger.create("fixed", Budget(1), schema)
    first = ledger.create("first", Budget(1))
    fixed.reserve([charge("1/10")], schema.fingerprint)
    ledger._cancel(first.reserve([charge("1/10")], schema.fingerprint), "does not fit")
    for account in (fixed, first):
        with pytest.raises(BudgetError, match="another schema"):
            account.reserve([charge("1/10")], other.fingerprint)
    ledger.grant("first", Budget(1), other)
    first.reserve([charge("1/10")], other.fingerprint)


def test_accounts_do_not_pay_for_each_other():
    ledger = Ledger()
    a, b = ledger.create("a", Budget(1)), ledger.create("b", Budget(1))
    a.reserve([charge(1)])
    b.reserve([charge(1)])
    assert a.spent().epsilon == b.spent().epsilon == 1


def test_batches_declared_disjoint_cost_in_parallel():
    account = with_batches("spring", "autumn")
    spring, autumn = account.batch("spring"), account.batch("autumn")
    spring.reserve([charge("0.6")])
    autumn.reserve([charge("0.5")])
    assert account.spent().epsilon == Fraction(6, 10)
    account.reserve([charge("0.4")])
    assert account.spent().epsilon == 1
    autumn.reserve([charge("0.1")])
    with pytest.raises(BudgetExceeded):
        spring.reserve([charge("0.01")])
    with pytest.raises(BudgetExceeded):
        account.reserve([charge("0.01")])


def test_a_batch_nobody_declared_is_refused():
    ledger = Ledger()
    account = ledger.create("census", Budget(1))
    with pytest.raises(BudgetError, match="never declared"):
        ledger.reserve("census", [charge("0.1")], batch="spring")
    with pytest.raises(BudgetError, match="never declared"):
        account.batch("spring")
    ledger.create("strangers", Budget(1))
    ledger.declare_batch("strangers", "spring")
    with pytest.raises(BudgetError, match="never declared"):
        account.batch("spring")
    assert [event["kind"] for event in ledger.history("census")] == ["budget", "refused"]


def test_a_declaration_is_the_owners_and_kept(path):
    """Nothing that holds an account alone can declare: neither the account nor protected rows."""
    account = Ledger(path).create("census", Budget(1))
    with pytest.raises(UnknownAccount):
        account.ledger.declare_batch("strangers", "spring")
    for odd in ("", "  ", None, 7):
        with pytest.raises(BudgetError, match="needs a name"):
            account.ledger.declare_batch("census", odd)
    for _ in range(2):
        account.ledger.declare_batch("census", "spring")
    assert [event["kind"] for event in Ledger(path).history("census")] == ["budget", "batch"]
    assert Ledger(path).account("census").batch("spring").batch_name == "spring"
    assert not any("declare" in name for name in (*dir(Account), *dir(Protected)))


def test_a_budget_in_pure_epsilon_refuses_what_needs_a_delta():
    account = Ledger().create("census", Budget(1))
    with pytest.raises(BudgetError, match="pure ε"):
        account.reserve([Charge("sum", Cost.zcdp("1e-9"))])


def test_a_budget_with_a_delta_composes_in_rho():
    account = Ledger().create("census", Budget(1, "1e-6"))
    rho = account.budget.rho
    account.reserve([Charge("sum", Cost.zcdp(rho / 2))] * 2)
    assert account.spent().rho == rho
    with pytest.raises(BudgetExceeded, match="rho"):
        account.reserve([Charge("sum", Cost.zcdp("1e-12"))])


def test_of_two_plans_the_dearer_counts_until_one_is_settled(path):
    budget = Budget(1, "1e-6")
    pure, gaussian = [Charge("sum", Cost.pure("0.8"))], [Charge("sum", Cost.zcdp(budget.rho / 2))]
    for settle, spent in (("instead", gaussian), ("charges", pure)):
        account = Ledger(path).create(f"followed: {settle}", budget)
        receipt = account.reserve(pure, instead=gaussian)
        assert Account(Ledger(path), account.name).spent() == Cost(None, pure[0].cost.rho_units)
        with pytest.raises(BudgetExceeded):
            account.reserve([charge("0.1")])
        account.settle(receipt, settle)
        assert Account(Ledger(path), account.name).spent() == spent[0].cost
        with pytest.raises(BudgetError, match="settle"):
            account.settle(receipt, settle)
        with pytest.raises(BudgetError, match="was settled, so it was answered"):
            account.ledger._cancel(receipt, "not asked")
    account = Ledger().create("census", budget)
    receipt = account.reserve(pure, instead=gaussian)
    account.ledger._cancel(receipt, "not asked")
    with pytest.raises(BudgetError, match="no such charge"):
        account.settle(receipt, "charges")
    assert account.spent() == Cost(0, 0)


def test_two_plans_must_both_fit():
    budget = Budget(1, "1e-6")
    account = Ledger().create("census", budget)
    fits, exceeds = Charge("sum", Cost.pure(1)), Charge("sum", Cost.zcdp(2 * budget.rho))
    for plans in ((fits, exceeds), (exceeds, fits)):
        with pytest.raises(BudgetExceeded):
            account.reserve(plans[:1], instead=plans[1:])
    assert account.spent().rho == 0


def test_only_a_charge_of_two_plans_can_be_settled():
    account = Ledger().create("census", Budget(1, "1e-6"))
    one, two = account.reserve([charge("0.1")]), account.reserve([charge("0.1")], instead=[charge("0.2")])
    wrong = [(one, "instead"), (one, "charges"), (two, "kind"), (replace(two, hash="0"), "charges")]
    for receipt, plan in wrong:
        with pytest.raises(BudgetError):
            account.settle(receipt, plan)
    assert account.spent().epsilon == Fraction("0.3")


def test_a_refusal_in_rho_names_an_epsilon_that_fits():
    account = Ledger().create("census", Budget(1, "1e-6"))
    account.reserve([Charge("sum", Cost.zcdp(Budget("0.5", "1e-6").rho))])
    with pytest.raises(BudgetExceeded, match=r"lower epsilon to 0.\d\d or less with delta=1e-06") as refused:
        account.reserve([Charge("sum", Cost.zcdp(Budget("0.9", "1e-6").rho))])
    fits = refused.value.hint.split()[3]
    assert Budget("0.8", "1e-6").rho < Budget(fits, "1e-6").rho
    account.reserve([Charge("sum", Cost.zcdp(Budget(fits, "1e-6").rho))])


def test_pure_questions_of_a_budget_with_a_delta_are_refused_in_epsilon_while_some_is_left():
    account = Ledger().create("census", Budget(1, "1e-6"))
    account.reserve([charge("0.8")])
    with pytest.raises(BudgetExceeded, match=r"needs epsilon=0.5 but 0.2 of 1 remains"):
        account.reserve([charge("0.5")])
    account.reserve([charge("0.2")])
    with pytest.raises(BudgetExceeded, match="is spent"):
        account.reserve([charge("0.1")])


def test_many_small_pure_questions_may_fill_rho_beyond_epsilon():
    account = Ledger().create("census", Budget(1, "1e-6"))
    for _ in range(400):
        account.reserve([charge("0.01")])
    assert account.spent().epsilon > 1
    with pytest.raises(BudgetExceeded, match=r"needs rho=0.405 but about 0.004"):
        account.reserve([charge("0.9")])


def test_a_cancelled_charge_is_given_back_and_stays_in_the_history(path):
    ledger = Ledger(path)
    account = ledger.create("census", Budget(1))
    receipt = account.reserve([charge(1)])
    ledger._cancel(receipt, "the table does not fit")
    assert account.spent().epsilon == 0
    assert [event["kind"] for event in ledger.history("census")] == ["budget", "charge", "cancel"]
    account.reserve([charge(1)])


def test_only_a_charge_that_is_there_can_be_given_back_and_once():
    ledger = Ledger()
    account = ledger.create("census", Budget(1))
    other = ledger.create("other", Budget(1))
    receipt = account.reserve([charge("1/2")])
    forged = [
        Receipt("census", 99, receipt.hash),
        Receipt("census", receipt.number, "nonsense"),
        Receipt("other", receipt.number, receipt.hash),
        Receipt("census", 1, ledger.history("census")[0]["hash"]),
    ]
    for wrong in forged:
        with pytest.raises(BudgetError, match="no such charge"):
            ledger._cancel(wrong, "because")
    ledger._cancel(receipt, "because")
    with pytest.raises(BudgetError, match="no such charge"):
        ledger._cancel(receipt, "again")
    assert account.spent().epsilon == other.spent().epsilon == 0


def test_threads_of_one_process_take_turns():
    account = Ledger().create("census", Budget(1))

    def spend(_) -> bool:
        try:
            account.reserve([charge("1/20")])
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(60))) == 20


def test_a_forked_child_cannot_spend_a_copy_of_what_is_in_memory(path):
    fork = multiprocessing.get_context("fork")
    kept, lost = Ledger(path), Ledger()
    kept.create("census", Budget(1))
    lost.create("census", Budget(1))

    def child(queue) -> None:
        for ledger in (kept, lost):
            try:
                ledger.reserve("census", [charge("1/2")])
                queue.put("charged")
            except BudgetError as error:
                queue.put(str(error))

    queue = fork.Queue()
    process = fork.Process(target=child, args=(queue,))
    process.start()
    answers = [queue.get(timeout=60) for _ in range(2)]
    process.join()
    assert answers[0] == "charged" and "another process" in answers[1]
    assert kept.account("census").spent().epsilon == Fraction(1, 2)


def test_a_delta_taken_away_leaves_an_account_that_says_why_it_refuses():
    ledger = Ledger()
    account = ledger.create("census", Budget(1, "1e-6"))
    account.reserve([Charge("sum", Cost.zcdp("1e-3"))])
    ledger.grant("census", Budget(1))
    with pytest.raises(BudgetError, match="has none now"):
        account.reserve([charge("1/10")])


def test_copies_of_an_account_spend_from_the_same_purse():
    account = Ledger().create("census", Budget(1))
    copy.deepcopy(account).reserve([charge("0.6")])
    assert account.spent().epsilon == Fraction(3, 5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "a", "b"]),
            st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50).map(on_grid),
        ),
        max_size=25,
    )
)
def test_no_person_is_ever_exposed_beyond_the_budget(asked):
    account = with_batches("a", "b")
    accounts = {None: account, "a": account.batch("a"), "b": account.batch("b")}
    exposed = {"a": Fraction(0), "b": Fraction(0), "other": Fraction(0)}
    for batch, epsilon in asked:
        try:
            accounts[batch].reserve([charge(epsilon)])
        except BudgetExceeded:
            people = exposed if batch is None else [batch]
            assert max(exposed[person] for person in people) + epsilon > 1
            continue
        for person in exposed if batch is None else [batch]:
            exposed[person] += epsilon
        assert max(exposed.values()) <= 1
    assert account.spent().epsilon == max(exposed.values())


EDITS = {
    "a charge made smaller": "UPDATE event SET body=replace(body, '\"0.5\"', '\"0.1\"') WHERE number=2",
    "a budget made larger": 'UPDATE event SET body=replace(body, \'"epsilon": "1"\', \'"epsilon": "9"\')'
    " WHERE number=1",
    "a hash": "UPDATE event SET hash=lower(hex(randomblob(32))) WHERE number=3",
    "the first event": "DELETE FROM event WHERE number=1",
    "one in the middle": "DELETE FROM event WHERE number=2",
    "the last": "DELETE FROM event WHERE number=3",
    "two changed places": "UPDATE event SET number=9 WHERE number=2",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_file_is_noticed(path, edit):
    account = Ledger(path).create("census", Budget(1))
    account.reserve([charge("1/2")])
    account.reserve([charge("1/8")])
    with closing(sqlite3.connect(path)) as other, other:
        assert other.execute(edit).rowcount == 1
    with pytest.raises(LedgerTampered):
        Ledger(path).account("census")
    with pytest.raises(LedgerTampered):
        account.ledger.verify()


def test_a_receipt_tells_an_older_copy_of_the_file(path, tmp_path):
    ledger = Ledger(path)
    ledger.create("census", Budget(1))
    ledger.close()
    older = path.read_bytes()
    ledger = Ledger(path)
    receipt = ledger.account("census").reserve([charge("1/2")])
    assert ledger.holds(receipt)
    ledger.close()
    path.write_bytes(older)
    restored = Ledger(path)
    assert restored.account("census").spent().epsilon == 0
    assert not restored.holds(receipt)


def test_a_file_that_is_no_ledger_is_refused(path):
    path.write_text("not a database at all, but long enough to look like one" * 20)
    with pytest.raises(BudgetError, match="cannot open"):
        Ledger(path)


def _spend(path: str, times: int) -> int:
    account = Ledger(path).account("census")
    accepted = 0
    for _ in range(times):
        try:
            account.reserve([charge("1/20")])
            accepted += 1
        except BudgetExceeded:
            pass
    return accepted


def test_processes_that_spend_at_once_never_exceed_the_budget(path):
    Ledger(path).create("census", Budget(1))
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        accepted = pool.starmap(_spend, [(str(path), 10)] * 4)
    assert sum(accepted) == 20
    assert Ledger(path).account("census").spent().epsilon == 1


KILLED = textwrap.dedent(
    """
    import itertools, os, signal, sqlite3, sys
    from privet import Continuous, Label, Ledger, Schema
    from privet.data import no_rows
    from privet.engines import MemoryEngine
    from privet.privacy import Protected, Secure
    from privet.privacy import store

    path = sys.argv[1]
    connect = sqlite3.connect
    schema = Schema([Continuous("x", 0, 1)], Label("y", [0, 1]))

    def ask(last_step, log):
        steps = itertools.count()

        def step(name):
            log.write(name + ",")
            log.flush()
            if next(steps) == last_step:
                os.kill(os.getpid(), signal.SIGKILL)

        class Connection(sqlite3.Connection):
            def execute(self, sql, *args):
                step("before " + sql.split()[0])
                result = super().execute(sql, *args)
                step("after " + sql.split()[0])
                return result

        def load():
            step("before load")
            codes = no_rows(schema)
            step("after load")
            return codes

        class Stepping(Secure):
            def add(self, exact, law):
                step("before add")
                noisy = super().add(exact, law)
                step("after add")
                return noisy

        store.sqlite3.connect = lambda *a, **k: connect(*a, factory=Connection, **k)
        people = Protected(MemoryEngine(load), schema, Ledger(path).account("census"), Stepping())
        people.noisy_count(epsilon="1/4")
        log.write("answered")

    for step in itertools.count():
        told, log = os.pipe()
        child = os.fork()
        if not child:
            with open(log, "w") as log:
                ask(step, log)
            os._exit(0)
        os.close(log)
        text = open(told).read()
        how = os.waitpid(child, 0)[1]
        print(how, Ledger(path).account("census").spent().epsilon, text, sep=";", flush=True)
        if text.endswith("answered"):
            break
    """
)


def test_killed_at_any_step_no_answer_is_uncharged_and_no_charge_is_lost(path):
    """SIGKILL before and after every statement and every read: the ledger is whole, and an answer paid."""
    Ledger(path).create("census", Budget(100))
    run = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True)
    spent, log, lines = Fraction(0), "", run.stdout.splitlines()
    for line in lines:
        how, now, log = line.split(";")
        assert Fraction(now) - spent in (0, Fraction(1, 4))
        assert int(how) == (0 if "answered" in log else signal.SIGKILL), run.stderr
        committed = "after COMMIT" in log.partition("after INSERT")[2]
        assert Fraction(now) - spent == Fraction(1, 4) if committed else True
        if "load" in log or "answered" in log:
            assert committed
        spent = Fraction(now)
    assert "before load" in log and "after add" in log and len(lines) > 30, run.stderr
    Ledger(path).verify()


def test_a_crash_while_reading_counts_as_spent(path, schema):
    class Broken:
        def sum(self, tally):
            raise OSError("the disk is gone at row 4711")

    account = Ledger(path).create("census", Budget(1))
    people = Protected(Broken(), schema, account)
    with pytest.raises(QuestionError, match="stays spent") as refused:
        people.noisy_count(epsilon="1/2")
    assert refused.value.__context__ is None and refused.value.__cause__ is None
    assert account.spent().epsilon == Fraction(1, 2)


def test_spending_equals_the_sum_of_all_charges(path):
    account = Ledger(path).create("census", Budget(50))
    costs = [Cost.pure(Fraction(1, k)) for k in range(2, 30)]
    for cost in costs:
        account.reserve([Charge("q", cost)])
    assert account.spent() == in_sequence(costs)


def write_older(path, events) -> list[str]:
    """A ledger as version 0.1 wrote it: fractions, and no salt. Returns the hashes of its events."""
    digest, hashes = "privet ledger 1", []
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE event (number INTEGER PRIMARY KEY AUTOINCREMENT,"
            " body TEXT NOT NULL, hash TEXT NOT NULL)"
        )
        for event in events:
            body = json.dumps(
                {**event, "account": "census", "time": "2026-01-01T00:00:00+00:00"}, sort_keys=True
            )
            digest = hashlib.sha256(f"{digest}\n{body}".encode()).hexdigest()
            db.execute("INSERT INTO event (body, hash) VALUES (?, ?)", (body, digest))
            hashes.append(digest)
    return hashes


def test_a_batch_of_an_older_ledger_that_nobody_declared_is_charged_to_everyone(path):
    half = {"question": "q", "epsilon": "1/2", "rho": "1/8", "composition": "sequence"}
    charges = [{"kind": "charge", "batch": batch, "schema": None, "charges": [half]} for batch in ("a", "b")]
    write_older(path, [{"kind": "budget", "epsilon": "1", "delta": "0", "schema": None}, *charges])
    ledger = Ledger(path)
    assert ledger.account("census").spent().epsilon == 1
    ledger.declare_batch("census", "a")
    with pytest.raises(BudgetExceeded):
        ledger.account("census").batch("a").reserve([charge("0.1")])


def test_ledgers_with_fractions_still_open_and_their_receipts_hold(path):
    third = {"question": "q", "epsilon": "1/3", "rho": "1/18", "composition": "sequence"}
    gaussian = {"question": "q", "epsilon": None, "rho": "1/7000", "composition": "sequence"}
    hashes = write_older(
        path,
        [
            {"kind": "budget", "epsilon": "2/3", "delta": "1/1000000", "schema": None},
            {"kind": "charge", "batch": None, "schema": "f00", "charges": [third]},
            {"kind": "batch", "batch": "spring"},
            {"kind": "charge", "batch": "spring", "schema": "f00", "charges": [gaussian], "instead": [third]},
            {"kind": "settle", "number_settled": 4, "plan": "instead"},
        ],
    )
    ledger = Ledger(path)
    account = ledger.account("census")
    spent = account.spent()
    assert Fraction(2, 3) <= spent.epsilon < Fraction(2, 3) + Fraction(1, 10**11)
    assert Fraction(1, 9) <= spent.rho < Fraction(1, 9) + Fraction(1, 10**20)
    for number in (2, 4):
        assert ledger.holds(Receipt("census", number, hashes[number - 1]))
    assert not ledger.holds(Receipt("census", 2, hashes[3]))
    # What is charged now follows on the same chain, on the grid.
    with pytest.raises(BudgetExceeded):
        account.reserve([charge(1)])
    ledger.grant("census", Budget(2))
    receipt = account.reserve([charge("1/3")], "f00")
    assert Ledger(path).holds(receipt) and Ledger(path).history("census")[-1]["charges"][0]["epsilon"] == (
        "0.333333333333"
    )


def test_a_ledger_stays_short_after_a_thousand_questions():
    account = Ledger().create("census", Budget(100))
    account.reserve([charge(Fraction(1, 1000 + 2 * k + 1)) for k in range(1000)])
    (event,) = [e for e in account.ledger.history("census") if e["kind"] == "charge"]
    assert max(len(c[unit]) for c in event["charges"] for unit in ("epsilon", "rho")) <= 26
    assert account.spent() == in_sequence(Charge.from_dict(c).cost for c in event["charges"])
    assert len(str(account.spent().rho)) < 60


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6), st.booleans())
def test_what_a_ledger_keeps_of_a_charge_is_what_it_cost(epsilon, with_epsilon):
    cost = Cost.pure(epsilon) if with_epsilon else Cost(None, Cost.pure(epsilon).rho_units)
    assert Charge.from_dict(json.loads(json.dumps(Charge("q", cost).to_dict()))).cost == cost


def test_a_receipt_cannot_be_recomputed_from_what_is_public():
    """The same events at the same second have other hashes: fresh secret bits are under each."""
    receipts = []
    for _ in range(2):
        account = Ledger().create("census", Budget(1))
        receipts.append(account.reserve([charge("1/2")]))
        events = account.ledger.history("census")
        assert all(len(bytes.fromhex(event["salt"])) == 16 for event in events)
        assert len({event["salt"] for event in events}) == len(events)
    assert receipts[0].hash != receipts[1].hash
    # The attack: all that is public, at the very time of the events, without the salts.
    digest = "privet ledger 1"
    for event in events:
        public = {key: value for key, value in event.items() if key not in ("salt", "number", "hash")}
        digest = linked(digest, json.dumps(public, sort_keys=True))
    assert digest != receipts[1].hash
    # With them it is the hash: nothing else is under it.
    digest = "privet ledger 1"
    for event in events:
        body = {key: value for key, value in event.items() if key not in ("number", "hash")}
        digest = linked(digest, json.dumps(body, sort_keys=True))
    assert digest == receipts[1].hash


def test_a_ledger_keeps_what_is_set_aside_to_find_values_and_charges_it(tmp_path):
    path = tmp_path / "ledger"
    account = Ledger(path).create("census", Budget(1, "1e-6", "1e-7"))
    account.reserve([Charge("values", Cost.pure("0.1").with_delta("6e-8"))])
    again = Ledger(path).account("census")
    assert again.budget == Budget(1, "1e-6", "1e-7")
    assert again.spent() == Cost.pure("0.1").with_delta("6e-8")
    with pytest.raises(BudgetError, match="4e-08 left to find values with, not 6e-08"):
        again.reserve([Charge("values", Cost.pure("0.1").with_delta("6e-8"))])
    again.reserve([Charge("rows", Cost.pure("0.9"))])
    with pytest.raises(BudgetError, match="left to find values with"):
        Ledger().create("census", Budget(1, "1e-6")).reserve(
            [Charge("values", Cost.pure("0.1").with_delta("1e-9"))]
        )


def test_a_store_that_nobody_uses_is_closed():
    store = Sqlite(None)
    database = store._db
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        database.execute("SELECT 1")
