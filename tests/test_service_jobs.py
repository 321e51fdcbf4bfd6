"""Jobs from plan to answer: charged once, run once, released by the clock."""

from __future__ import annotations

import time

import pytest

from houses import ADA, BOB, COUNT, OLGA, finish, make_house
from privet.service import jobs, models, people, plans, tables
from privet.service.refusals import Conflict, NotFound
from privet.service.runner import Runner


@pytest.fixture
def house(tmp_path):
    return make_house(tmp_path / "house")


def test_a_question_is_planned_charged_and_answered(house):
    planned = plans.plan(house, ADA, "visits", COUNT)
    assert planned.epsilon == 0.1 and not planned.refusals and planned.left_after["epsilon"] == 0.5
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    assert job.state == jobs.QUEUED and job.charge
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0.1
    done = finish(house, ADA, job.id)
    assert done.state == jobs.RELEASED
    assert abs(done.answer["answers"][0]["answer"] - 250) < 200
    assert jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada") == done
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0.1


def test_a_fit_leaves_a_model_whose_card_is_its_charge(house):
    fit = {"kind": "fit", "what": "boosting", "params": {"epsilon": 0.5}}
    job = finish(house, ADA, jobs.submit(house, ADA, "visits", fit, "a-key-of-ada").id)
    assert job.state == jobs.RELEASED, job
    model = models.model_of(house, ADA, job.id)
    assert model.card.receipt == job.receipt.hash and model.card.private
    assert models.model_bytes(house, ADA, job.id) == models.model_bytes(house, OLGA, job.id)
    with pytest.raises(NotFound):
        models.model_bytes(house, BOB, job.id)


def test_one_runner_works_for_a_house_and_another_is_refused(house):
    working = Runner(house)
    working.start()
    with pytest.raises(Conflict, match="another service"):
        Runner(house).start()
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    until = time.monotonic() + 60
    while jobs.stored(house, jobs.QUEUED) and time.monotonic() < until:
        time.sleep(0.05)
    assert jobs.job(house, ADA, job.id).state == jobs.RUNNING
    cancelled = jobs.cancel(house, ADA, job.id)
    assert cancelled.state == jobs.CANCELLED and jobs.taken(house) == 1
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0.1
    working.stop()
    again = Runner(house)
    again.start()
    again.stop()
    assert jobs.job(house, ADA, job.id).state == jobs.CANCELLED
    house.clock.ahead += 2 * job.seconds
    assert jobs.taken(house) == 0


def test_a_copy_that_was_changed_fails_without_a_word_and_keeps_the_charge(house):
    found = tables.listed(house, OLGA, "visits")
    tables.copy_of(house, found).write_bytes(b"not a table")
    job = finish(house, ADA, jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada").id)
    assert job.state == jobs.FAILED and job.told == jobs.FAILURE and job.answer is None
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == 0.1
