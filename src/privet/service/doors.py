"""Doors: how people sign in and out with a browser. One-time links, OpenID, and the way out."""

from __future__ import annotations

from html import escape
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from privet.service import members
from privet.service.guard import same_site
from privet.service.refusals import Forbidden
from privet.service.web import At, service_of, unknown_slowly

router = APIRouter(include_in_schema=False)

ENTER = """<!doctype html><html lang="en"><title>Sign in – PRIVET</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/static/console.css"><link rel="icon" href="/static/privet.svg">
<main><div class="door"><h1>Welcome to PRIVET</h1>
<p>Learn from tables that you never see. This link signs you in once.</p>
<form method="post" action="/enter"><input type="hidden" name="secret" value="{secret}">
<button class="strong">Sign in</button></form></div></main></html>"""


@router.get("/enter/{secret}")
def enter_page(secret: str) -> Response:
    """A button: mail programs that look at links ahead must not use them up."""
    return HTMLResponse(ENTER.format(secret=escape(secret)))


@router.post("/enter")
def enter(request: Request, house: At, secret: Annotated[str, Form(max_length=200)]) -> Response:
    """Sign in by a one-time link."""
    if not same_site(dict(request.headers)):
        raise Forbidden("this request comes from another site.", "open the link itself.")
    with unknown_slowly(request):
        _, session = members.follow_link(house, secret)
    return with_session(request, session)


@router.post("/leave")
def leave(request: Request, house: At) -> Response:
    """Sign out."""
    service = service_of(request)
    if cookie := request.cookies.get(service.cookie):
        members.sign_out(house, cookie)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(service.cookie, secure=service.secure, httponly=True, samesite="lax")
    return answer


def with_session(request: Request, session: str, to: str = "/") -> Response:
    """The way in, with the cookie of a session."""
    service, answer = service_of(request), RedirectResponse(to, 303)
    answer.set_cookie(
        service.cookie,
        session,
        max_age=members.SESSION_SECONDS,
        secure=service.secure,
        httponly=True,
        samesite="lax",
        path="/",
    )
    return answer
