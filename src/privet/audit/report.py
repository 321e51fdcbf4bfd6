"""An audit of many defendants: hold all hearings, and say whether each came out as it must."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.audit.defendants import DEFENDANTS, Defendant
from privet.audit.trial import Effort
from privet.audit.verdict import Verdict
from privet.version import __version__


@dataclass(frozen=True)
class Finding:
    """A verdict, and whether it is what must come out."""

    kind: str
    verdict: Verdict
    expected: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {"kind": self.kind, **self.verdict.to_dict(), "expected": self.expected}


def audit(
    defendants: Iterable[Defendant],
    effort: Effort,
    epsilon: Fraction | None = None,
    told: Callable[[float], None] | None = None,
    heard: Callable[[Finding], None] | None = None,
) -> list[Finding]:
    """Hold every trial of some defendants.

    Parameters
    ----------
    defendants : iterable of Defendant
    effort : Effort
    epsilon : Fraction, optional
        Instead of those at which each is tried by default.
    told : callable, optional
        Told which share of the trials has been held.
    heard : callable, optional
        Given every finding as soon as there is one.
    """
    hearings = [(each, hearing) for each in defendants for hearing in each.hearings(effort, epsilon)]
    findings = []
    for number, (each, hearing) in enumerate(hearings, start=1):
        verdict = hearing()
        findings.append(Finding(each.kind, verdict, verdict.broken == each.guilty))
        if heard is not None:
            heard(findings[-1])
        if told is not None:
            told(number / len(hearings))
    return findings


def audit_all(
    effort: Effort,
    told: Callable[[float], None] | None = None,
    heard: Callable[[Finding], None] | None = None,
) -> list[Finding]:
    """Everything that can be put on the stand: what is strict must hold, what is not must be convicted."""
    return audit(DEFENDANTS.values(), effort, None, told, heard)


def to_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """Findings as plain data, with the version that they speak of."""
    return {
        "privet": __version__,
        "as expected": all(finding.expected for finding in findings),
        "findings": [finding.to_dict() for finding in findings],
    }
