"""Sign in by an OpenID provider: one of our own on loopback, which may also lie."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse
from joserfc import jwt
from joserfc.jwk import RSAKey

from houses import OLGA, QUICK, make_house, serving
from privet.service import members
from privet.service.serve import listen


class Provider:
    """An OpenID provider that lets everybody in as whom it is told, with claims that a test may bend."""

    def __init__(self) -> None:
        self.key, self.codes, self.bent = RSAKey.generate_key(2048, {"kid": "one"}), {}, {}
        self.app = FastAPI()
        self.app.get("/.well-known/openid-configuration")(self.configuration)
        self.app.get("/keys")(self.keys)
        self.app.get("/authorize")(self.authorize)
        self.app.post("/token")(self.token)

    def configuration(self):
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return {"issuer": self.url, **{name: f"{self.url}/{path}" for name, path in paths.items()},
                "id_token_signing_alg_values_supported": ["RS256"]}  # fmt: skip

    def keys(self):
        return {"keys": [self.key.as_dict(private=False)]}

    def authorize(self, request: Request):
        asked = dict(request.query_params)
        assert asked["code_challenge_method"] == "S256" and asked["nonce"] and asked["state"]
        self.codes["a-code"] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?code=a-code&state={asked['state']}", 302)

    async def token(self, request: Request):
        given = dict(parse_qsl((await request.body()).decode()))
        asked = self.codes.pop(given["code"])
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]
        now = int(time.time())
        claims = {"iss": self.url, "sub": "4711", "aud": "privet", "iat": now, "exp": now + 60}
        claims |= {"nonce": asked["nonce"], **self.bent}
        key = RSAKey.generate_key(2048, {"kid": "one"}) if self.bent.get("forged") else self.key
        return {
            "access_token": "nothing",
            "token_type": "Bearer",
            "id_token": jwt.encode({"alg": "RS256", "kid": "one"}, claims, key),
        }


@pytest.fixture(scope="module")
def provider():
    found = Provider()
    taken = listen("127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(found.app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    yield found
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory, provider):
    openid = {"issuer": provider.url, "client": "privet"}
    house = make_house(tmp_path_factory.mktemp("house"), replace(QUICK, openid=openid))
    members.add_member(house, OLGA, "eve", "analyst", f"{provider.url} 4711")
    with serving(house, run=False) as house.address:
        yield house


@pytest.fixture
def browser(served):
    with httpx.Client(base_url=served.address) as found:
        yield found


def travel(browser):
    """Follow a browser to the provider and back: the last answer, and where it came back."""
    answer = browser.get("/openid")
    assert answer.status_code == 302
    there = httpx.get(answer.headers["location"])
    back = urlsplit(there.headers["location"])
    return browser.get(f"{back.path}?{back.query}"), back


def test_a_member_whom_the_provider_vouches_for_is_signed_in(served, provider, browser):
    provider.bent = {}
    answer, back = travel(browser)
    assert answer.status_code == 303
    assert browser.get("/api/v1/me").json() | {"scopes": 0} == {
        "name": "eve", "role": "analyst", "via": "session", "scopes": 0
    }  # fmt: skip
    assert browser.get(f"{back.path}?{back.query}").status_code == 401, "a code works once"
    for query in (back.query, "code=a-code&state=mine"):
        assert httpx.get(f"{served.address}{back.path}?{query}").status_code == 401


@pytest.mark.parametrize(
    "bent",
    [
        {"sub": "4712"},
        {"aud": "somebody-else"},
        {"iss": "https://evil.example"},
        {"nonce": "another"},
        {"exp": 1},
        {"forged": True},
    ],
)
def test_a_provider_that_lies_lets_nobody_in(provider, browser, bent):
    provider.bent = bent
    answer, _ = travel(browser)
    assert answer.status_code == 401 and "Traceback" not in answer.text
    assert browser.get("/api/v1/me").status_code == 401
