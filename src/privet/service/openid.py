"""Sign in by an OpenID provider: all of the protocol is Authlib's.

The house's settings name the provider and the client; the client's secret is the environment's
``PRIVET_OPENID_SECRET``. Who signs in must be a member whose subject an owner wrote down: a provider vouches
for who somebody is, and lets nobody in by itself.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from authlib.integrations.starlette_client import OAuth
from fastapi import APIRouter, FastAPI, Request
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import Response

from privet.errors import QuestionError
from privet.service import fresh, members
from privet.service.doors import with_session
from privet.service.refusals import NotSignedIn
from privet.service.web import service_of

SECRET = "PRIVET_OPENID_SECRET"
SECONDS = 600
"""For which somebody may be away at the provider."""

router = APIRouter(include_in_schema=False)


def add_openid(app: FastAPI, settings: Mapping[str, str], secure: bool) -> None:
    """Let people sign in by a provider."""
    if set(settings) != {"issuer", "client"}:
        raise QuestionError("openid needs an issuer and a client.", "see the documentation of the service.")
    oauth = OAuth()
    oauth.register(
        "openid",
        client_id=settings["client"],
        client_secret=os.environ.get(SECRET),
        server_metadata_url=f"{settings['issuer'].rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid", "code_challenge_method": "S256", "timeout": 20},
    )
    app.state.openid = oauth.openid
    # What is kept while somebody is at the provider: a signed cookie that only these two pages get.
    app.add_middleware(
        SessionMiddleware,
        secret_key=fresh.secret(),
        session_cookie="privet-openid",
        max_age=SECONDS,
        path="/openid",
        same_site="lax",
        https_only=secure,
    )
    app.include_router(router)


@router.get("/openid")
async def leave_for_provider(request: Request) -> Response:
    """Go to the provider."""
    client: Any = request.app.state.openid
    try:
        answer: Response = await client.authorize_redirect(request, str(request.url_for("come_back")))
    except Exception:
        raise _unknown() from None
    return answer


@router.get("/openid/back")
async def come_back(request: Request) -> Response:
    """Come back from it: the member whom it vouches for is signed in."""
    client: Any = request.app.state.openid
    try:
        token = await client.authorize_access_token(request)
        claims = token["userinfo"]
        subject = f"{claims['iss']} {claims['sub']}"
    except Exception:  # whatever a provider sends, and a network does
        raise _unknown() from None
    _, session = await asyncio.to_thread(members.sign_in, service_of(request).house, subject)
    return with_session(request, session)


def _unknown() -> NotSignedIn:
    return NotSignedIn("the provider did not say who this is.", "try again, or ask for a link.")
