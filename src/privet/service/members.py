"""Members, and how they sign in: tokens, one-time links, sessions.

A secret has 256 random bits; its SHA-256 is all that is stored, so that whoever reads the database can sign
in as nobody. There are no passwords. A link signs in once and becomes a session; a session is a cookie; a
token goes with every request of a program. All of them expire, and owners revoke them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from privet.privacy import Transaction
from privet.service import fresh
from privet.service.house import House, one
from privet.service.journal import note
from privet.service.refusals import Conflict, NotSignedIn, ServiceError, check_text, no_such
from privet.service.who import OWNER, ROLES, Who, check_role, require

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}")
HOUR, DAY = 3600, 24 * 3600
LINK_SECONDS, SESSION_SECONDS, LONGEST = 2 * DAY, 12 * HOUR, 366 * DAY
CONSOLE = Who("console", OWNER, ROLES[OWNER], "console")
"""Whoever can write to the house's folder, and so needs no token: the command line on its machine."""


@dataclass(frozen=True)
class Member:
    """Somebody who may sign in."""

    name: str
    role: str
    subject: str | None
    made: int
    closed: int | None


@dataclass(frozen=True)
class Token:
    """A token as its owner sees it: ``id`` are the first digits of its hash, which revoke it."""

    id: str
    member: str
    label: str
    scopes: tuple[str, ...]
    made: int
    expires: int
    used: int | None
    revoked: int | None


def add_member(house: House, who: Who, name: str, role: str, subject: str | None = None) -> Member:
    """Let somebody sign in. ``subject`` is who they are to an OpenID provider: ``ISSUER SUBJECT``."""
    require(who, "own")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ServiceError("a member's name is 1 to 100 letters, digits and . _ @ + -.", "say, ada.")
    check_text(subject or "", "who somebody is to a provider", 500)
    row = (name, check_role(role), subject, house.now(), None)
    with house.write() as at_once:
        if at_once.execute("SELECT 1 FROM member WHERE name = ?", (name,)):
            raise Conflict(f"there is a member {name!r} already.", "choose another name.")
        at_once.execute("INSERT INTO member (name, role, subject, made, closed) VALUES (?, ?, ?, ?, ?)", row)
        note(house, at_once, who.name, "member added", f"{name} as {role}")
    return Member(*row)


def close_member(house: House, who: Who, name: str) -> None:
    """Let somebody sign in no more: tokens, links and sessions end now. What they were charged stays."""
    require(who, "own")
    with house.write() as at_once:
        _member(house, name, at_once)
        at_once.execute("UPDATE member SET closed = ? WHERE name = ?", (house.now(), name))
        at_once.execute("UPDATE token SET revoked = ? WHERE member = ?", (house.now(), name))
        at_once.execute("DELETE FROM link WHERE member = ?", (name,))
        at_once.execute("DELETE FROM session WHERE member = ?", (name,))
        note(house, at_once, who.name, "member closed", name)


def members(house: House, who: Who) -> list[Member]:
    """All members, for owners and officers."""
    require(who, "own", "audit")
    return [
        Member(*row)
        for row in house.read("SELECT name, role, subject, made, closed FROM member ORDER BY name")
    ]


def make_link(house: House, who: Who, member: str, seconds: int = LINK_SECONDS) -> str:
    """The secret of a link that signs a member in once; it is told now and never again."""
    require(who, "own")
    secret = fresh.secret()
    with house.write() as at_once:
        _member(house, member, at_once)
        row = (_hashed(secret), member, house.now() + min(seconds, LONGEST))
        at_once.execute("INSERT INTO link (hash, member, expires, used) VALUES (?, ?, ?, NULL)", row)
        note(house, at_once, who.name, "link made", member)
    return secret


def follow_link(house: House, secret: str) -> tuple[Who, str]:
    """Sign in by a link: who it is, and the secret of their session. It works once."""
    known = "SELECT member, expires, used FROM link WHERE hash = ?"
    if not house.read(known, _hashed(secret)):  # without the lock that charges wait for
        raise NotSignedIn("this link was used, has expired, or never was.", "ask the owner for another.")
    with house.write() as at_once:
        found = one(at_once.execute(known, (_hashed(secret),)))
        if found is None or found[2] is not None or found[1] <= house.now():
            raise NotSignedIn("this link was used, has expired, or never was.", "ask the owner for another.")
        at_once.execute("UPDATE link SET used = ? WHERE hash = ?", (house.now(), _hashed(secret)))
        return _session(house, at_once, found[0], "link")


def sign_in(house: House, subject: str) -> tuple[Who, str]:
    """Sign in whom an OpenID provider vouches for: who it is, and the secret of their session."""
    with house.write() as at_once:
        found = one(
            at_once.execute("SELECT name FROM member WHERE subject = ? AND closed IS NULL", (subject,))
        )
        if found is None:
            raise NotSignedIn("nobody here is known under that name.", "ask the owner to add you.")
        return _session(house, at_once, found[0], "OpenID")


def _session(house: House, at_once: Transaction, member: str, by: str) -> tuple[Who, str]:
    found, secret = _member(house, member, at_once), fresh.secret()
    row = (_hashed(secret), member, house.now() + SESSION_SECONDS)
    at_once.execute("DELETE FROM session WHERE expires <= ?", (house.now(),))
    at_once.execute("INSERT INTO session (hash, member, expires) VALUES (?, ?, ?)", row)
    note(house, at_once, member, "signed in", by)
    return Who(found.name, found.role, ROLES[found.role], "session"), secret


def of_session(house: House, secret: str) -> Who:
    """Who has a session, or a refusal."""
    found = one(
        house.read(
            "SELECT m.name, m.role FROM session s JOIN member m ON m.name = s.member"
            " WHERE s.hash = ? AND s.expires > ? AND m.closed IS NULL",
            *(_hashed(secret), house.now()),
        )
    )
    if found is None:
        raise NotSignedIn("this session has ended.", "sign in again.")
    return Who(found[0], found[1], ROLES[found[1]], "session")


def sign_out(house: House, secret: str) -> None:
    """End a session."""
    with house.write() as at_once:
        at_once.execute("DELETE FROM session WHERE hash = ?", (_hashed(secret),))


def make_token(
    house: House,
    who: Who,
    label: str,
    scopes: Sequence[str] | None = None,
    seconds: int = 90 * DAY,
    member: str | None = None,
) -> tuple[str, Token]:
    """A token for oneself, or by an owner for somebody else; the secret is told now and never again.

    It carries no more than the scopes of whoever makes it, or of whom it is for.
    """
    named = member or who.name
    if named != who.name or who.via == "token":
        # A token that was stolen must not outlive itself.
        require(who, "own")
    if not isinstance(label, str) or not label.isprintable() or not 0 < len(label.strip()) <= 100:
        raise ServiceError("a token's label is 1 to 100 printable characters.", "say, notebook.")
    secret = fresh.secret()
    with house.write() as at_once:
        found = _member(house, named, at_once)
        most = set(ROLES[found.role]) & (set(who.scopes) if named == who.name else set(ROLES[found.role]))
        wanted = sorted(most if scopes is None else set(scopes))
        if not wanted or not set(wanted) <= most:
            raise ServiceError(f"{named!r} can have {', '.join(sorted(most))}.", "name some of these.")
        expires = house.now() + max(60, min(int(seconds), LONGEST))
        token = Token(_hashed(secret)[:12], named, label, tuple(wanted), house.now(), expires, None, None)
        row = (_hashed(secret), named, label, " ".join(wanted), token.made, expires)
        at_once.execute(
            "INSERT INTO token (hash, member, label, scopes, made, expires) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        note(house, at_once, who.name, "token made", f"{named}: {label} ({', '.join(wanted)})")
    return secret, token


def of_token(house: House, secret: str) -> Who:
    """Who has a token, or a refusal."""
    found = one(
        house.read(
            "SELECT m.name, m.role, t.scopes, t.used FROM token t JOIN member m ON m.name = t.member"
            " WHERE t.hash = ? AND t.expires > ? AND t.revoked IS NULL AND m.closed IS NULL",
            *(_hashed(secret), house.now()),
        )
    )
    if found is None:
        raise NotSignedIn("this token was revoked, has expired, or never was.", "ask for another.")
    if found[3] is None or found[3] < house.now() - HOUR:
        with house.write() as at_once:
            at_once.execute("UPDATE token SET used = ? WHERE hash = ?", (house.now(), _hashed(secret)))
    return Who(found[0], found[1], tuple(found[2].split()), "token")


def tokens(house: House, who: Who) -> list[Token]:
    """Own tokens; an owner sees all."""
    rows = house.read(
        "SELECT hash, member, label, scopes, made, expires, used, revoked FROM token"
        " WHERE member = ? OR 1 = ? ORDER BY made, hash",
        *(who.name, int(who.may("own"))),
    )
    return [Token(row[0][:12], row[1], row[2], tuple(row[3].split()), *row[4:]) for row in rows]


def revoke_token(house: House, who: Who, token: str) -> None:
    """End a token now, by its id."""
    found = [each for each in tokens(house, who) if each.id == token]
    if not found:
        raise no_such("token", token)
    with house.write() as at_once:
        at_once.execute(
            "UPDATE token SET revoked = ? WHERE substr(hash, 1, 12) = ? AND revoked IS NULL",
            (house.now(), token),
        )
        note(house, at_once, who.name, "token revoked", f"{found[0].member}: {found[0].label}")


def _member(house: House, name: str, at_once: Transaction) -> Member:
    row = one(at_once.execute("SELECT name, role, subject, made, closed FROM member WHERE name = ?", (name,)))
    if row is None or row[4] is not None:
        raise no_such("member", name)
    return Member(*row)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
