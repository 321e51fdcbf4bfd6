"""What goes over the wire: requests with a token, retried while the network fails, and errors as ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from privet.errors import BudgetError, PrivetError, QuestionError

PATIENCE = 120.0
"""Seconds for which a request that reached nobody is tried again."""

GREETING, SLOW = 8.0, 1.0
"""The same for the first of all; a pause of which somebody who waits is told."""

BUSY = (429, 502, 503, 504)


class RemoteError(PrivetError, RuntimeError):
    """A service refused; ``status`` says how."""

    def __init__(self, message: str, hint: str = "", status: int = 0) -> None:
        super().__init__(message, hint)
        self.status = status


class Wire:
    """A service that is asked as one member of it."""

    def __init__(self, url: str, token: str, show: Callable[[str], None]) -> None:
        try:
            import httpx
        except ModuleNotFoundError:
            raise PrivetError("a service is asked by httpx.", "pip install 'privet[serve]'") from None
        if not url.startswith(("https://", "http://")):
            raise QuestionError("a service has an address such as https://privet.example.", "write it whole.")
        token = token.strip()
        if not token.isascii() or not token.isprintable() or " " in token:
            raise QuestionError("a token is one word of letters, digits, - and _.", "copy it whole.")
        self.url, self._show = url.rstrip("/"), show
        self._errors = httpx.TransportError
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        try:
            self._client = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60)
        except httpx.InvalidURL:
            raise QuestionError(f"{url!r} is no address.", "say, https://privet.example.") from None

    def ask(self, method: str, path: str, **more: Any) -> Any:
        """What a service answers, as plain data; requests are such that asking twice does no harm."""
        return _read(self.url, self._ask(method, path, PATIENCE, **more))

    def greet(self) -> str:
        """As whom it knows the token; who is not there is told soon."""
        told = _read(self.url, self._ask("GET", "/me", GREETING))
        if not isinstance(told, dict) or "name" not in told:
            raise _stranger(self.url)
        return str(told["name"])

    def fetch(self, path: str) -> bytes:
        """The bytes of a file."""
        content: bytes = self._ask("GET", path, PATIENCE).content
        return content

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _ask(self, method: str, path: str, patience: float, **more: Any) -> Any:
        until, pause, told = time.monotonic() + patience, 0.25, False
        while True:
            try:
                answer = self._client.request(method, path, **more)
            except self._errors as error:
                refusal = RemoteError(
                    f"{self.url} cannot be reached ({type(error).__name__}).",
                    "see that it runs and that the address is right; the same request again costs once.",
                )
            else:
                if answer.is_success:
                    return answer
                if answer.is_redirect:
                    raise RemoteError(f"{self.url} sends elsewhere.", "give the address where it leads.")
                refusal = _refusal(answer)
                if answer.status_code not in BUSY or _cooldown(answer) > until - time.monotonic():
                    raise refusal
                pause = max(pause, _cooldown(answer))
            if time.monotonic() + pause > until:
                raise refusal from None
            if pause >= SLOW and not told:
                told = True
                self._show(f"{refusal.message} Trying again for {until - time.monotonic():.0f} seconds.")
            time.sleep(pause)
            pause = min(2 * pause, 5.0)


def _read(url: str, answer: Any) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise _stranger(url) from None


def _stranger(url: str) -> RemoteError:
    return RemoteError(f"what answers at {url} is no service of privet.", "check the address.")


def _cooldown(answer: Any) -> float:
    told = answer.headers.get("retry-after", "0")
    return float(told) if told.isdecimal() else 0.0


def _refusal(answer: Any) -> Any:
    try:
        told = answer.json()
        message, hint = told.get("detail") or told.get("told") or "", told.get("hint", "")
    except (ValueError, AttributeError):
        message, hint = "", ""
    message = message or f"the service answered {answer.status_code}."
    if answer.status_code == 403:
        return BudgetError(message, hint)
    if answer.status_code == 400:
        return QuestionError(message, hint)
    return RemoteError(message, hint, answer.status_code)
