"""What the API and the pages share: the application, who is signed in, and errors in our words.

``make_app(house)`` is the whole service. Routes take ``house_of`` and ``who_of`` as dependencies::

    def page(house: At, who: SignedIn) -> Response: ...

Errors are `PrivetError`; `problem` makes them RFC 9457 problems, unless a page was asked for and `pages` says
how it looks. Whatever else goes wrong is told as 500 without a word of what it was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from privet.errors import LedgerUnavailable, PrivetError
from privet.service import members
from privet.service.guard import Guard, Pace
from privet.service.house import House
from privet.service.refusals import NotSignedIn, TooSoon, status_of
from privet.service.runner import Runner
from privet.service.who import Who
from privet.version import __version__

log = logging.getLogger("privet.service")

TITLES = {
    400: "This request cannot be read",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed",
    409: "Too late, or under way",
    413: "Too large",
    422: "Key used for another request",
    429: "Too soon",
    503: "Not now",
}
Shown = Callable[[Request, int, str, str], Response | None]
"""How a page shows a refusal; None where JSON is what was asked for."""


class Service:
    """What an application holds.

    Attributes
    ----------
    house : House
    runner : Runner or None
    secure : bool
        Whether it is reached by HTTPS: cookies are sent by it alone then.
    shown : Shown or None
        Set by pages.
    """

    def __init__(self, house: House, runner: Runner | None, secure: bool) -> None:
        self.house, self.runner, self.secure = house, runner, secure
        self.pace = Pace(house.settings.burst, house.settings.a_second)
        self.strangers = Pace(20, 0.5)
        self.shown: Shown | None = None

    @property
    def cookie(self) -> str:
        """The name of the cookie of a session."""
        return "__Host-privet" if self.secure else "privet"


def make_app(house: House, run: bool = True, secure: bool = False) -> Any:
    """The service as an ASGI application, with the runner of jobs in it."""
    from privet.service import api, doors, pages

    service = Service(house, Runner(house) if run else None, secure)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        if service.runner is not None:
            await asyncio.to_thread(service.runner.start)
        yield
        if service.runner is not None:
            await asyncio.to_thread(service.runner.stop)

    app = FastAPI(
        title="PRIVET",
        version=__version__,
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        description=api.__doc__ or "",
    )
    app.state.service = service
    app.include_router(api.router)
    app.include_router(doors.router)
    pages.add_pages(app)
    if house.settings.openid:
        from privet.service.openid import add_openid

        add_openid(app, house.settings.openid, secure)
    app.add_exception_handler(PrivetError, _told)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _missing)
    app.add_exception_handler(Exception, _fault)
    return Guard(app, problem, secure)


def service_of(request: Request) -> Service:
    """The service that answers."""
    found: Service = request.app.state.service
    return found


def house_of(request: Request) -> House:
    """Its house."""
    return service_of(request).house


def who_of(request: Request) -> Who:
    """Who asks, by a token or a session; refused where nobody is, or asks too often."""
    service = service_of(request)
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    cookie = request.cookies.get(service.cookie)
    with unknown_slowly(request):
        if kind.lower() == "bearer" and secret:
            who = members.of_token(service.house, secret.strip())
        elif cookie:
            who = members.of_session(service.house, cookie)
        else:
            raise NotSignedIn("nobody is signed in.", "send a token: Authorization: Bearer …")
    _slowly(service.pace, who.name)
    return who


@contextmanager
def unknown_slowly(request: Request) -> Iterator[None]:
    """Let whoever turns out to be nobody try again at a slow pace."""
    try:
        yield
    except NotSignedIn:
        _slowly(service_of(request).strangers, request.client.host if request.client else "?")
        raise


def perhaps(request: Request) -> Who | None:
    """Who asks, if anybody is signed in."""
    try:
        return who_of(request)
    except NotSignedIn:
        return None


At = Annotated[House, Depends(house_of)]
SignedIn = Annotated[Who, Depends(who_of)]


def problem(status: int, message: str, hint: str = "", seconds: int = 0) -> JSONResponse:
    """A refusal as RFC 9457 has it."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": TITLES.get(status, "Something went wrong"),
        "status": status,
        "detail": message,
        **({"hint": hint} if hint else {}),
    }
    headers = {"retry-after": str(seconds)} if seconds else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def _slowly(pace: Pace, caller: str) -> None:
    if seconds := pace.wait(caller):
        raise TooSoon("these are too many requests.", seconds)


def _answer(request: Request, status: int, message: str, hint: str = "", seconds: int = 0) -> Response:
    shown = service_of(request).shown
    page = shown(request, status, message, hint) if shown is not None else None
    return page or problem(status, message, hint, seconds)


def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, PrivetError)
    if isinstance(error, LedgerUnavailable):
        # Where it lies, and what its database says, is for whoever runs the service.
        log.error("%s", error.message)
        return _answer(request, 503, "the ledger cannot be used now: nothing was done.", "try again later.")
    return _answer(request, status_of(error), error.message, error.hint, getattr(error, "seconds", 0))


def _misread(request: Request, error: Exception) -> Response:
    """Where a body is not what the OpenAPI says: the places, and never what stood there."""
    assert isinstance(error, RequestValidationError)
    places = sorted({".".join(map(str, each["loc"]))[:80] for each in error.errors()})[:5]
    return _answer(
        request,
        400,
        f"not as the OpenAPI description has it: {', '.join(places)}.",
        "see /api/v1/openapi.json.",
    )


def _missing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = ("there is no such thing here.", "check the address.")
    if error.status_code == 413:
        said = ("this is more than is read.", "send less.")
    elif error.status_code != 404:
        said = ("this cannot be asked in this way.", "see /api/v1/openapi.json.")
    answer = _answer(request, error.status_code, *said)
    answer.headers.update(error.headers or {})
    return answer


def _fault(request: Request, error: Exception) -> Response:
    log.error("a request failed: %s", type(error).__name__)
    return _answer(request, 500, "the service failed. What it was is withheld: it might quote a row.")
