"""Who asks: a name, a role, and what they may do with what they signed in with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privet.service.refusals import Forbidden, ServiceError

OWNER, ANALYST, OFFICER = "owner", "analyst", "officer"

SCOPES: Mapping[str, str] = {
    "read": "look at tables, own jobs and models, plan",
    "submit": "spend budget: submit and cancel jobs",
    "own": "register tables, set budgets, caps and rules, approve, name members",
    "audit": "read the ledger of everyone, cards and the audit log",
}
"""What can be allowed, and what it means."""

ROLES: Mapping[str, tuple[str, ...]] = {
    OWNER: ("read", "submit", "own", "audit"),
    ANALYST: ("read", "submit"),
    OFFICER: ("audit",),
}
"""What each role may be allowed at most."""


@dataclass(frozen=True)
class Who:
    """Somebody who is signed in.

    Attributes
    ----------
    name : str
    role : str
        One of `ROLES`.
    scopes : tuple of str
        Those of the role, or fewer where a token has fewer.
    via : str
        token, session or console (whoever has the machine).
    """

    name: str
    role: str
    scopes: tuple[str, ...]
    via: str = "session"

    @property
    def is_owner(self) -> bool:
        """Whether all of the house is theirs."""
        return self.role == OWNER

    @property
    def analyst(self) -> str | None:
        """Whose cap pays; owners are under no cap, and under the total like all."""
        return None if self.is_owner else self.name

    def may(self, scope: str) -> bool:
        """Whether they may do something."""
        return scope in self.scopes


def require(who: Who, *scopes: str) -> None:
    """Refuse who has none of some scopes."""
    if not any(who.may(scope) for scope in scopes):
        raise Forbidden(
            f"this needs the right {' or '.join(map(repr, scopes))}, which {who.name!r} has not here.",
            "sign in as somebody who has it, or with a token that carries it.",
        )


def check_role(role: str) -> str:
    """Refuse what is no role."""
    if role not in ROLES:
        raise ServiceError("there is no such role.", f"roles are {', '.join(ROLES)}.")
    return role
