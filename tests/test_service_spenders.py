"""A thousand requests at once: the budget is spent exactly, and each key is charged once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import httpx

from houses import ADA, BOB, COUNT, QUICK, make_house, serving
from privet.service import jobs, members

KEYS, PRICE = 250, "0.01"


def test_a_thousand_spenders_spend_the_budget_exactly(tmp_path):
    house = make_house(tmp_path / "house", replace(QUICK, slots=0, burst=10**6, a_second=10**6))
    tokens = {who: members.make_token(house, who, "spender")[0] for who in (ADA, BOB)}
    body = {**COUNT, "params": {"epsilon": PRICE}}
    with serving(house) as address, httpx.Client(base_url=address, timeout=120) as client:

        def spend(number):
            who = (ADA, BOB)[number % 2]
            headers = {"authorization": f"Bearer {tokens[who]}", "idempotency-key": f"spender-{number % 500}"}
            answer = client.post("/api/v1/tables/visits/jobs", json=body, headers=headers)
            return answer.status_code, answer.json()["id"]

        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(spend, range(4 * KEYS)))
        assert {status for status, _ in answers} == {202, 403}
        assert answers[: 2 * KEYS] == answers[2 * KEYS :]
        state = house.ledger.state("patients")
        assert state.spent().epsilon == 1
        own = [state.analysts[who.name].spending.on().epsilon for who in (ADA, BOB)]
        assert sum(own) == 1 and max(own) <= Fraction("0.6")
        charged = [event["key"] for event in house.ledger.history("patients") if event["kind"] == "charge"]
        assert len(charged) == len(set(charged)) == 100
        assert len(jobs.stored(house, jobs.QUEUED)) == 100
        assert len(jobs.stored(house, jobs.REFUSED)) == 2 * KEYS - 100
        house.ledger.verify()
