"""Jobs from plan to answer: charged once, run once, released by the clock."""

from __future__ import annotations

import os
import time

import pytest

from houses import ADA, BOB, COUNT, OLGA, finish, make_house
from privet import Budget
from privet.errors import DataError, LedgerUnavailable
from privet.privacy.charges import PLANS
from privet.service import jobs, models, people, plans, tables, verifying
from privet.service.refusals import Conflict, Forbidden, NotFound, status_of
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


def test_a_result_that_finds_no_room_is_kept_later_and_no_slot_is_lost(house):
    fit = {"kind": "fit", "what": "majority-forest", "params": {"epsilon": 0.1, "n_trees": 2, "max_depth": 2}}
    job = jobs.submit(house, ADA, "visits", fit, "a-key-of-ada")
    working = Runner(house)
    working.step()
    working._running[job.id].wait()
    house.jobs.rmdir()
    house.jobs.touch()
    with pytest.raises(OSError, match="jobs"):
        working.step()
    house.jobs.unlink()
    house.jobs.mkdir()
    working.step()
    house.clock.ahead += 2 * job.seconds
    assert jobs.job(house, ADA, job.id).state == jobs.RELEASED and jobs.taken(house) == 0
    assert models.model_of(house, ADA, job.id).card.private


def test_a_job_that_could_not_be_started_keeps_no_slot(house, monkeypatch):
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    with monkeypatch.context() as broken:
        broken.setattr("privet.service.runner.start", lambda *args: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            Runner(house).step()
    working = Runner(house)
    working.step()
    house.clock.ahead += 2 * job.seconds
    assert jobs.job(house, ADA, job.id).state == jobs.FAILED and jobs.taken(house) == 0


def test_a_refresh_beside_another_leaves_a_copy_that_is_there(house, monkeypatch):
    copied, others = tables.checked_copy, []

    def refreshed_meanwhile(*args):
        if not others:
            others.append(1)
            tables.refresh(house, OLGA, "visits")
            raise DataError("it does not fit.")
        return copied(*args)

    monkeypatch.setattr(tables, "checked_copy", refreshed_meanwhile)
    assert tables.refresh(house, OLGA, "visits").state == tables.READY
    found = tables.copy_of(house, tables.listed(house, OLGA, "visits"))
    assert [found] == list(house.copies.iterdir())


def test_a_refresh_while_a_job_starts_is_no_failure(house, monkeypatch):
    found = tables.copy_of

    def taken_away(house, listed):
        path = found(house, listed)
        monkeypatch.undo()
        tables.refresh(house, OLGA, "visits")
        return path

    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    monkeypatch.setattr("privet.service.runner.copy_of", taken_away)
    assert finish(house, ADA, job.id).state == jobs.RELEASED


def test_rows_that_a_killed_service_left_go(house):
    job = jobs.submit(house, ADA, "visits", COUNT, "a-key-of-ada")
    finish(house, ADA, job.id)
    old, new = house.work / "copy-old", house.work / "copy-new"
    for folder in (house.work / job.id, old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    Runner(house).recover()
    assert [each.name for each in house.work.iterdir() if each.is_dir()] == ["copy-new"]


def test_a_full_disk_charges_nothing_and_is_no_refusal(house):
    database = house.ledger._book.store._db
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    free = database.execute("PRAGMA freelist_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count={pages}")
    little = {**COUNT, "params": {"epsilon": "1e-6"}}

    def fill():
        for number in range(500 + free):
            jobs.submit(house, ADA, "visits", little, f"full-disk-{number}")

    with pytest.raises(LedgerUnavailable) as refused:
        fill()
    assert status_of(refused.value) == 503
    there = jobs.jobs(house, ADA)
    assert {job.state for job in there} == {jobs.QUEUED}
    assert people.purse(house, ADA, "patients").own.spent["epsilon"] == pytest.approx(1e-6 * len(there))
    database.execute("PRAGMA max_page_count=1000000")
    assert jobs.submit(house, ADA, "visits", little, f"full-disk-{len(there)}").state == jobs.QUEUED
    house.ledger.verify()


def test_lists_are_long_and_a_page_shows_the_end(house, monkeypatch):
    little = {**COUNT, "params": {"epsilon": "1e-6"}}
    first = jobs.submit(house, ADA, "visits", little, "a-first-key")
    for number in range(12):
        jobs.submit(house, BOB, "visits", little, f"a-key-of-bob-{number}")
    last = jobs.submit(house, ADA, "visits", little, "a-last-key")
    jobs.cancel(house, ADA, last.id)
    monkeypatch.setattr(people, "CHUNK", 3)
    seen = [(each.kind, each.who) for each in people.ledger(house, ADA, "patients")]
    assert seen == [("cap", "ada"), ("charge", "ada"), ("charge", "ada"), ("cancel", "")]
    assert people.ledger(house, ADA, "patients", most=2) == people.ledger(house, ADA, "patients")[:2]
    events = people.ledger(house, OLGA, "patients")
    start = people.last_page(house, OLGA, "patients", most=5)
    assert people.ledger(house, OLGA, "patients", start) == events[-5:]
    before = people.last_page(house, OLGA, "patients", start, most=5)
    assert people.ledger(house, OLGA, "patients", before, 5) == events[-10:-5]
    assert people.last_page(house, OLGA, "patients", 3, most=5) == 0
    assert [job.id for job in jobs.jobs(house, OLGA, state=jobs.CANCELLED)] == [last.id]
    assert [job.id for job in jobs.jobs(house, ADA, "visits", jobs.QUEUED)] == [first.id]
    assert jobs.jobs(house, ADA, "other") == []


def test_a_picture_of_what_was_spent_has_few_points_and_the_right_end(house, monkeypatch):
    monkeypatch.setattr(people, "MOST_POINTS", 8)
    for number in range(23):
        jobs.submit(house, BOB, "visits", {**COUNT, "params": {"epsilon": "0.01"}}, f"a-key-of-bob-{number}")
        if number % 5 == 0:
            points = people.burn(house, OLGA, "patients")
            assert points[-1]["spent"]["epsilon"] == pytest.approx(0.01 * (number + 1))
            assert len(points) <= 9
            numbers = [each["number"] for each in points]
            assert numbers == sorted(set(numbers)) and numbers[-1] == house.ledger.head().number


def test_a_member_brings_no_end_of_models(house, monkeypatch):
    monkeypatch.setattr(verifying, "looked_at", lambda house, model: {"trees": 1, "steps": 1})
    monkeypatch.setattr(verifying, "MOST_UPLOADS", 2)
    for _ in range(2):
        verifying.upload(house, ADA, b"a model")
    with pytest.raises(Forbidden, match="2 models at most"):
        verifying.upload(house, ADA, b"a model")
    verifying.upload(house, BOB, b"a model")


@pytest.fixture
def ended(tmp_path):
    """A house with a job of two plans that has ended while its clock still runs."""
    house = make_house(tmp_path / "house", rules={"most_delta": "1e-5"})
    people.grant(house, OLGA, "patients", Budget(2, "1e-5"), "a-key-of-olga")
    people.set_cap(house, OLGA, "patients", "ada", Budget(2, "1e-5"))
    fit = {"kind": "fit", "what": "boosting", "params": {"epsilon": 1, "delta": "1e-6"}}
    job = jobs.submit(house, ADA, "visits", fit, "a-key-of-ada")
    assert jobs.claim(house).id == job.id
    return house, job.id


def shown(house, id):
    """All that an analyst may look at."""
    head = people.head(house, ADA)
    return jobs.job(house, ADA, id), people.purse(house, ADA, "patients"), head.number


def test_nothing_tells_when_a_job_has_ended_before_its_clock_has_run(ended):
    house, id = ended
    before = shown(house, id)
    assert house.ledger.state("patients").open, "a fit with a δ has two plans"
    jobs.settle(house, id, jobs.RELEASED, PLANS[0], house.now())
    working = Runner(house)
    working.step()
    assert shown(house, id) == before
    house.clock.ahead += 2 * before[0].seconds
    working.step()
    assert not house.ledger.state("patients").open
    job, purse, number = shown(house, id)
    assert job.state == jobs.RELEASED and number == before[2] + 1 and purse.left != before[1].left
    working.step()
    assert shown(house, id)[2] == number


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_job_is_cancelled_in_the_same_words_whether_it_has_ended_or_not(ended, has_ended):
    house, id = ended
    if has_ended:
        jobs.settle(house, id, jobs.RELEASED, PLANS[0], house.now())
    running = jobs.job(house, ADA, id)
    job = jobs.cancel(house, ADA, id)
    assert (job.state, job.told) == (jobs.CANCELLED, "Cancelled while it ran: the charge stays.")
    assert job.due == running.due and jobs.taken(house) == 1
    house.clock.ahead += 2 * job.seconds
    Runner(house).step()
    assert house.ledger.state("patients").open and not jobs.taken(house)
    with pytest.raises(Conflict):
        jobs.cancel(house, ADA, id)


def test_a_model_that_is_not_shown_yet_is_compared_with_nothing(ended):
    house, id = ended
    charge = jobs.job(house, ADA, id).charge
    before = verifying._released(house, charge, b"a model of somebody")
    models.model_file(house, id).parent.mkdir()
    models.model_file(house, id).write_bytes(b"the model of the job")
    jobs.settle(house, id, jobs.RELEASED, PLANS[0], house.now())
    assert verifying._released(house, charge, b"a model of somebody") == before
    assert before.holds is None
    house.clock.ahead += 2 * jobs.job(house, ADA, id).seconds
    assert verifying._released(house, charge, b"a model of somebody").holds is False
