"""What stands before every request: its size and pace, where it comes from, and what browsers may do then.

A cookie is believed for a request that changes something only if the browser says that it comes from this
very site (``Sec-Fetch-Site``, or ``Origin`` where that is missing). A token needs no such thing, for no
browser sends it by itself.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SMALL, LARGE = 2 << 20, (64 << 20) + (1 << 20)
"""Bytes of a request: of all, and of those that bring a model."""

UPLOADS = ("/api/v1/models", "/api/v1/verify", "/models", "/verify")
SAFE = ("GET", "HEAD", "OPTIONS")
POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; " + "; ".join(
    f"{kind} 'self'"
    for kind in ("script-src", "style-src", "img-src", "connect-src", "form-action", "font-src")
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Pace:
    """How often each caller may ask: so many times at once, and so many times a second on average."""

    def __init__(self, burst: float, a_second: float, most: int = 10_000) -> None:
        self._burst, self._rate, self._most = burst, a_second, most
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, caller: str) -> int:
        """Seconds that a caller must wait; 0 where the request may pass, which is then counted."""
        with self._lock:
            now = time.monotonic()
            left, last = self._known.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - last) * self._rate)
            passes = left >= 1
            self._known[caller] = (left - passes, now)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
            return 0 if passes else max(1, int((1 - left) / self._rate + 0.999))


class Guard:
    """The outermost application."""

    def __init__(self, app: App, refuse: Callable[[int, str, str, int], Any], secure: bool) -> None:
        self._app, self._refuse, self._secure = app, refuse, secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        most = LARGE if scope["path"] in UPLOADS else SMALL
        if refusal := self._refusal(scope["method"], headers, most):
            await self._refuse(*refusal, 0)(scope, receive, self._headed(send))
            return
        read = 0

        async def counted() -> MutableMapping[str, Any]:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413)
            return message

        begun = False

        async def noticed(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        # What went wrong was told, by its kind alone, where the application handles it: a server would print
        # all of it, and what an error says may quote a row.
        try:
            await self._app(scope, counted, self._headed(noticed))
        except Exception:
            if not begun:
                await self._refuse(500, "the service failed.", "", 0)(scope, receive, self._headed(send))

    def _refusal(self, method: str, headers: dict[str, str], most: int) -> tuple[int, str, str] | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            return 413, f"a request has {most >> 20} MB at most here.", "send less."
        if method not in SAFE and "cookie" in headers and not same_site(headers):
            return 403, "this request comes from another site.", "use the pages of this service."
        return None

    def _headed(self, send: Send) -> Send:
        async def headed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                more = dict(HEADERS)
                if self._secure:
                    more["strict-transport-security"] = "max-age=31536000"
                message["headers"] = [
                    *message["headers"],
                    *((n.encode(), v.encode()) for n, v in more.items() if n.encode() not in present),
                ]
            await send(message)

        return headed


def same_site(headers: MutableMapping[str, str]) -> bool:
    """Whether a browser says that a request comes from this very site."""
    fetched = headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return "authorization" in headers  # no browser sends it by itself
    return bool(origin) and urlsplit(origin).netloc == headers.get("host")
