"""The API over real HTTP on loopback."""

from __future__ import annotations

import json
import time

import httpx
import pytest

from houses import ADA, BOB, COUNT, OLGA, hurried, make_house, serving, write_rows
from privet.model import load_model
from privet.service import members


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A house with its address."""
    house = make_house(tmp_path_factory.mktemp("house"))
    with serving(house) as house.address, hurried(house):
        yield house


def caller(house, who, **more):
    secret, _ = members.make_token(house, who, "test", **more)
    headers = {"authorization": f"Bearer {secret}"}
    return httpx.Client(base_url=f"{house.address}/api/v1", headers=headers, timeout=60)


@pytest.fixture(scope="module")
def ada(served):
    with caller(served, ADA) as client:
        yield client


@pytest.fixture(scope="module")
def bob(served):
    with caller(served, BOB) as client:
        yield client


@pytest.fixture(scope="module")
def olga(served):
    with caller(served, OLGA) as client:
        yield client


def wait(client, job, state="released"):
    until = time.monotonic() + 90
    while time.monotonic() < until:
        found = client.get(f"/jobs/{job}").json()
        if found["state"] not in ("queued", "running"):
            assert found["state"] == state, found
            return found
        time.sleep(0.1)
    raise AssertionError("the job is not over")


def submit(client, data, key, table="visits"):
    return client.post(f"/tables/{table}/jobs", json=data, headers={"idempotency-key": key})


def test_a_job_is_answered_with_the_same_bytes_for_every_get(served, ada, bob, olga):
    fit = {"kind": "fit", "what": "majority-forest", "params": {"epsilon": 0.1, "n_trees": 3, "max_depth": 3}}
    first = submit(ada, fit, "fit-of-ada-1")
    assert first.status_code == 202 and first.json()["state"] in ("queued", "running")
    assert submit(ada, fit, "fit-of-ada-1").json()["id"] == first.json()["id"]
    other = {**fit, "params": {"epsilon": 0.2}}
    assert submit(ada, other, "fit-of-ada-1").status_code == 422
    job = wait(ada, first.json()["id"])
    files = {ada.get(f"/models/{job['id']}/file").content for _ in range(3)}
    assert len(files) == 1
    for what in ("", "/card", "/receipt", "/rules", "/trees/0"):
        assert ada.get(f"/models/{job['id']}{what}").status_code == 200, what
    assert ada.get(f"/models/{job['id']}/shapes").status_code == 400
    assert bob.get(f"/models/{job['id']}/file").status_code == 404
    verdict = olga.post("/verify", content=files.pop()).json()
    assert verdict["holds"] and {c["name"]: c["holds"] for c in verdict["checks"]}["released"]


def test_hidden_and_missing_are_told_alike(served, ada, olga):
    staff = {"name": "staff", "epsilon": 1, "delta": 1e-6, "accounting": "gdp"}
    assert olga.post("/people", json=staff).json()["accounting"] == "gdp"
    assert olga.post("/people", json={**staff, "name": "more", "accounting": "x"}).status_code == 400
    write_rows(served.tables / "staff.csv")
    contract = ada.get("/tables/visits").json()["schema"]
    contract.pop("fingerprint")
    body = {"name": "payroll", "people": "staff", "address": "file:staff.csv", "schema": contract}
    assert olga.post("/tables", json=body).json()["state"] == "ready"
    hidden, missing = ada.get("/tables/payroll"), ada.get("/tables/payrolx")
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace("payroll", "payrolx") == missing.text
    assert [each["name"] for each in ada.get("/tables").json()] == ["visits"]
    assert submit(ada, COUNT, "hidden-table-key", "payroll").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/people/patients/burn", 403), ("GET", "/audit", 403), ("POST", "/people", 403)],
)
def test_analysts_are_no_owners(ada, method, path, status):
    body = {"name": "mine", "epsilon": 1}
    answer = ada.request(method, path, json=body if method == "POST" else None)
    assert answer.status_code == status and answer.headers["content-type"] == "application/problem+json"


def test_a_scope_is_kept_and_a_token_ends(served, ada):
    with caller(served, ADA, scopes=["read"]) as reader:
        assert reader.get("/tables").status_code == 200
        assert submit(reader, COUNT, "a-key-of-reader").status_code == 403
        for scopes in (["submit"], ["read"], None):
            assert reader.post("/tokens", json={"label": "more", "scopes": scopes}).status_code == 403
            assert ada.post("/tokens", json={"label": "more", "scopes": scopes}).status_code == 403
        (own,) = [t for t in reader.get("/tokens").json() if t["scopes"] == ["read"]]
        assert ada.delete(f"/tokens/{own['id']}").status_code == 204
        assert reader.get("/tables").status_code == 401


def test_a_stranger_and_another_site_are_refused(served):
    secret = members.make_link(served, members.CONSOLE, "ada")
    with httpx.Client(base_url=served.address) as browser:
        assert browser.get("/api/v1/tables").status_code == 401
        site = {"sec-fetch-site": "cross-site"}
        assert browser.post("/enter", data={"secret": secret}, headers=site).status_code == 403
        site = {"sec-fetch-site": "same-origin"}
        assert browser.post("/enter", data={"secret": secret}, headers=site).status_code == 303
        assert browser.post("/enter", data={"secret": secret}, headers=site).status_code == 401
        assert browser.get("/api/v1/me").json()["name"] == "ada"
        plan = "/api/v1/tables/visits/plans"
        for headers in ({}, {"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
            assert browser.post(plan, json=COUNT, headers=headers).status_code == 403, headers
        assert browser.post(plan, json=COUNT, headers=site).status_code == 200
        browser.post("/leave", headers=site)
        assert browser.get("/api/v1/me").status_code == 401


def test_what_is_too_large_or_no_json_is_refused(ada):
    assert ada.post("/tables/visits/plans", content=b" " * (3 << 20)).status_code == 413

    def drip():
        for _ in range(4):
            yield b" " * (1 << 20)

    assert ada.post("/tables/visits/plans", content=drip()).status_code == 413
    answer = ada.post("/tables/visits/plans", content=b'{"kind": "fit", "secret": "a row"}')
    assert answer.status_code == 400 and "a row" not in answer.text
    assert ada.post("/models", content=b"no model").status_code == 400


def test_a_brought_model_is_scored_at_a_price(served, ada, tmp_path):
    fit = {"kind": "fit", "what": "boosting", "params": {"epsilon": 0.1}}
    job = wait(ada, submit(ada, fit, "fit-of-ada-2").json()["id"])
    data = ada.get(f"/models/{job['id']}/file").content
    (tmp_path / "a.privet").write_bytes(data)
    assert load_model(tmp_path / "a.privet").card.receipt == job["receipt"]["hash"]
    brought = ada.post("/models", content=data).json()["id"]
    score = {"kind": "score", "what": "accuracy", "params": {"epsilon": 0.05, "model": brought}}
    scored = wait(ada, submit(ada, score, "score-of-ada").json()["id"])
    assert 0 <= scored["answer"]["value"] <= 1
    assert ada.get(f"/models/{job['id']}/shapes").json()


def test_the_description_names_every_path(served):
    described = httpx.get(f"{served.address}/api/v1/openapi.json").json()
    assert len(described["paths"]) > 30 and "row" not in json.dumps(described["info"]["version"])
