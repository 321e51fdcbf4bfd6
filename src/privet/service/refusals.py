"""What a service refuses, each with the status that HTTP has for it."""

from __future__ import annotations

from typing import ClassVar

from privet.errors import (
    BudgetError,
    DataError,
    KeyReused,
    LedgerTampered,
    LedgerUnavailable,
    ModelFileError,
    PrivetError,
    QuestionError,
    SchemaError,
    SourceError,
    UnknownAccount,
)


class ServiceError(PrivetError):
    """Base of what a service refuses."""

    status: ClassVar[int] = 400


class NotSignedIn(ServiceError):
    """Nobody knows who asks."""

    status = 401


class Forbidden(ServiceError):
    """A rule, a role or the scope of a token does not allow it."""

    status = 403


class NotFound(ServiceError):
    """There is no such thing, or none that whoever asks may know of."""

    status = 404


class Conflict(ServiceError):
    """It is too late, or something else is under way."""

    status = 409


class TooLarge(ServiceError):
    """More than is read."""

    status = 413


class OtherRequest(ServiceError):
    """A key that was used for another request."""

    status = 422


class TooSoon(ServiceError):
    """Ask again after some seconds."""

    status = 429

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, f"try again in {seconds} seconds.")
        self.seconds = seconds


STATUS: tuple[tuple[type[PrivetError], int], ...] = (
    (LedgerTampered, 503),
    (LedgerUnavailable, 503),
    (UnknownAccount, 404),
    (KeyReused, 422),
    (BudgetError, 403),
    (QuestionError, 400),
    (SchemaError, 400),
    (DataError, 400),
    (ModelFileError, 400),
    (SourceError, 503),
)
"""First match counts."""


def status_of(error: PrivetError) -> int:
    """The status that HTTP has for an error."""
    if isinstance(error, ServiceError):
        return error.status
    return next((status for kind, status in STATUS if isinstance(error, kind)), 400)


def check_text(text: object, what: str, most: int) -> None:
    """Refuse text that is too long, or has characters that not every database can keep."""
    if not isinstance(text, str) or len(text) > most:
        raise ServiceError(f"{what} has {most:,} characters at most.", "shorten it.")
    if not storable(text):
        raise ServiceError(f"{what} has characters that cannot be kept.", "leave out what is no text.")


def storable(text: str) -> bool:
    """Whether every database can keep a text: no zero, and no half of a character."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def no_such(what: str, name: str) -> NotFound:
    """What is said of what is not there and of what is hidden: the same."""
    return NotFound(f"there is no {what} {name!r}.", "check its name, or ask the owner for it.")
