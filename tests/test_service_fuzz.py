"""Bodies that nobody would write: no 5xx, no traceback, no row's value, whoever sends them."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from houses import ADA, OLGA, QUICK, make_house, serving, write_rows
from privet.service import members, tables

EXAMPLES = int(os.environ.get("PRIVET_FUZZ", "6"))
CANARY = "canary-7261"
"""A value of rows, unknown to the schema: no answer may hold it."""

KNOWN = {"table": "visits", "name": "patients", "analyst": "bob"}
DEADLY = {
    ("delete", "/api/v1/members/{member}"),
    ("delete", "/api/v1/tokens/{token}"),
    ("delete", "/api/v1/tables/{table}"),
}
"""What could end whoever asks, or what is asked."""

SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
NEVER = ("Traceback", 'File "', CANARY, "sqlite", "site-packages")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    house = make_house(tmp_path_factory.mktemp("house"), replace(QUICK, slots=0, burst=10**9, a_second=10**9))
    write_rows(house.tables / "patients.csv", 500, more=[CANARY] * 500)
    with (house.tables / "patients.csv").open("a") as file:
        file.write(f"50,{CANARY},yes,{CANARY}\n" * 20)
    tables.refresh(house, OLGA, "visits")
    with serving(house) as house.address:
        house.tokens = {who.name: members.make_token(house, who, "fuzz")[0] for who in (ADA, OLGA)}
        yield house


@pytest.mark.parametrize("who", ["ada", "olga", "nobody"])
def test_no_body_breaks_the_service(served, who):
    described = schemathesis.openapi.from_url(f"{served.address}/api/v1/openapi.json")
    headers = {"authorization": f"Bearer {served.tokens.get(who, 'no-such-token')}"}
    codes: Counter[int] = Counter()

    def send(case):
        if case.path_parameters:
            # Mostly names that lead somewhere.
            case.path_parameters |= {n: v for n, v in KNOWN.items() if n in case.path_parameters}
        answer = case.call(headers=headers)
        text = answer.text_lossy()
        codes[answer.status_code] += 1
        assert answer.status_code < 500, (case.as_curl_command(), text)
        assert not [word for word in NEVER if word in text], (case.as_curl_command(), text)
        if answer.status_code >= 400 and answer.headers["content-type"] == ["application/json"]:
            assert '"state":"refused"' in text, (case.as_curl_command(), text)

    for found in described.get_all_operations():
        operation = found.ok()
        if (operation.method, operation.path) not in DEADLY:
            SETTINGS(given(operation.as_strategy())(send))()
    assert codes.total() >= 20 * EXAMPLES
    assert set(codes) <= {401, 400, 404, 405, 413, 429} if who == "nobody" else codes[200] > EXAMPLES
