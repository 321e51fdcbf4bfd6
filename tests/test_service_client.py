"""`privet.connect` over real HTTP: fit as on a frame, ask, and find the answer again after a crash."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import privet
from houses import ADA, hurried, make_house, serving
from privet.client import RemoteError
from privet.errors import BudgetError, QuestionError
from privet.service import jobs, members, people


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    house = make_house(tmp_path_factory.mktemp("house"))
    with serving(house) as house.address, hurried(house):
        house.token, _ = members.make_token(house, ADA, "notebook")
        yield house


@pytest.fixture
def remote(served, tmp_path):
    lines = []
    house = privet.connect(served.address, served.token, state=tmp_path / "state", show=lines.append)
    house.lines = lines
    yield house
    house.close()


def spent(house):
    return people.purse(house, ADA, "patients").own.spent["epsilon"]


def test_a_classifier_learns_from_a_table_elsewhere_as_from_a_frame(served, remote):
    table, before = remote.table("visits"), spent(served)
    assert remote.tables() == ["visits"] and table.left()["epsilon"] <= 0.6
    model = privet.BoostingClassifier(epsilon=0.1, random_state=3).fit(table)
    sample = table.sample(50)
    assert sample.num_rows == 50
    assert set(model.predict(sample.to_pandas())) <= {"no", "yes"}
    assert model.privacy_card_.learner["name"] == "boosting" and model.privacy_card_.private
    assert model.privacy_card_.promise == "0.1-differential privacy"
    assert spent(served) == pytest.approx(before + 0.1)
    assert any("running" in line for line in remote.lines) and "released" in remote.lines[-1]
    scored = table.score(model, epsilon="0.05")
    assert scored["low"] <= scored["value"] <= scored["high"] and scored["margin"] > 0
    score = privet.private_score(model, table, metric="calibration_error", epsilon=0.05)
    assert score.epsilon == "0.05" and score.curve and score.account == "patients"
    assert served.ledger.history("patients")[-1]["hash"] == score.receipt
    with pytest.raises(QuestionError, match="leave these out"):
        privet.private_score(model, table, ["no"], epsilon=0.05)


def test_a_question_is_asked_by_its_name(served, remote):
    answer = remote.table("visits").noisy_count("age > 60", epsilon="0.05")
    assert isinstance(answer.value, int) and answer.margin > 0
    with pytest.raises(QuestionError, match="no column 'wage'"):
        remote.table("visits").noisy_count("wage > 60", epsilon="0.05")
    with pytest.raises(AttributeError, match="it answers"):
        remote.table("visits").exact_count("age > 60")


def test_what_is_refused_is_told_with_its_hint(remote, tmp_path):
    with pytest.raises(BudgetError, match="remains on"):
        privet.BoostingClassifier(epsilon=50).fit(remote.table("visits"))
    with pytest.raises(RemoteError, match="there is no table 'other'"):
        remote.table("other")
    with pytest.raises(QuestionError, match="leave them out"):
        privet.BoostingClassifier(epsilon=0.1).fit(remote.table("visits"), ["no"])
    assert not list((tmp_path / "state").glob("*.json"))


DYING = """
import os, privet, privet.client.table as table
def die(job):
    os._exit(9)
table.RemoteJob.wait = die
house = privet.connect({address!r}, {token!r}, state={state!r})
house.table("visits").noisy_count("age > 70", epsilon="0.03")
"""


def test_a_notebook_that_died_finds_its_answer_and_pays_once(served, remote, tmp_path):
    before, state = spent(served), tmp_path / "state"
    program = DYING.format(address=served.address, token=served.token, state=str(state))
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], env=os.environ, check=False)
        assert done.returncode == 9
    assert spent(served) == pytest.approx(before + 0.03)
    answer = remote.table("visits").noisy_count("age > 70", epsilon="0.03")
    assert spent(served) == pytest.approx(before + 0.03)
    (job,) = [j for j in jobs.jobs(served, ADA) if j.request.params.get("where") == "age > 70"]
    assert job.answer["answers"][0]["answer"] == answer.value
    assert not list(state.glob("*.json"))
    remote.table("visits").noisy_count("age > 70", epsilon="0.03")
    assert spent(served) == pytest.approx(before + 0.06)


@pytest.mark.parametrize(
    ("args", "more"),
    [(("age > 1", "age > 2"), {}), (("age > 1",), {"where": "age > 2"}), ((), {"when": "now"})],
)
def test_an_argument_that_a_question_does_not_take_is_refused(served, remote, args, more):
    before = spent(served)
    with pytest.raises(QuestionError, match="noisy_count takes where"):
        remote.table("visits").noisy_count(*args, **more, epsilon="0.05")
    assert spent(served) == before and "noisy_count" in dir(remote.table("visits"))


def test_a_token_that_is_none_is_told_at_once(served, tmp_path):
    secret, token = members.make_token(served, ADA, "to be revoked")
    house = privet.connect(served.address, f" {secret}\n", state=tmp_path)
    members.revoke_token(served, members.CONSOLE, token.id)
    for act in (house.tables, lambda: privet.connect(served.address, "no-such-token")):
        with pytest.raises(RemoteError, match="revoked, has expired, or never was") as refused:
            act()
        assert refused.value.status == 401
    house.close()
    for wrong in ("a b", "tök", ""):
        with pytest.raises(QuestionError, match="token"):
            privet.connect(served.address, wrong)


def test_what_is_no_service_is_told_soon(served, monkeypatch):
    lines = []
    with pytest.raises(RemoteError, match="no service of privet"):
        privet.connect(f"{served.address}/sign-in?", "token", show=lines.append)
    for url in ("privet.example", "http://[::1", "ftp://privet.example"):
        with pytest.raises(QuestionError, match="address"):
            privet.connect(url, "token")
    monkeypatch.setattr("privet.client.wire.GREETING", 3.0)
    with pytest.raises(RemoteError, match="cannot be reached"):
        privet.connect("http://127.0.0.1:9", "token", show=lines.append)
    assert len(lines) == 1 and "Trying again" in lines[0]
