"""Fresh secrets and names, from the operating system's generator."""

from __future__ import annotations

import secrets


def secret() -> str:
    """256 random bits, as text that fits an address."""
    return secrets.token_urlsafe(32)


def name() -> str:
    """64 random bits: the name of a job or a file."""
    return secrets.token_hex(8)
