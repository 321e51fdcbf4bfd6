"""Jobs from plan to answer: charged once, run once, released by the clock."""

from __future__ import annotations

import pytest

from houses import ADA, BOB, COUNT, OLGA, finish, make_house
from privet.service import jobs, models, people, plans, tables
from privet.service.refusals import NotFound

LEARNERS = tables.LEARNERS


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
