"""What the domain returns, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from privet.schema import Schema
from privet.service.jobs import Job
from privet.service.models import Entry

HIDDEN = {Job: {"key", "decided"}, Entry: {"file"}}


def told(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Schema):
        return {**value.to_dict(), "fingerprint": value.fingerprint}
    if is_dataclass(value) and not isinstance(value, type):
        hidden = HIDDEN.get(type(value), set())
        return {
            each.name: told(getattr(value, each.name)) for each in fields(value) if each.name not in hidden
        }
    if isinstance(value, Mapping):
        return {str(name): told(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [told(each) for each in value]
    if isinstance(value, Fraction | Path):
        return str(value)
    plain = value.item() if hasattr(value, "item") else value
    # JSON has no word for what is not finite, such as the end of a range that is open.
    return None if isinstance(plain, float) and not isfinite(plain) else plain
